"""Bugs that matchers had in the field, by name, as far as they concern text and matching."""

import tracemalloc

import pytest

from scrapy_rep.robotstxt.robotstxt import RobotsTxt


def allowed(rules: str, path: str, agent: str = "mybot") -> bool:
    """Rules of the default group allow a path."""
    robots = RobotsTxt.parse(f"User-agent: *\n{rules}\n".encode())
    return robots.allowed(f"https://e.org{path}", agent)


def test_stars_do_not_backtrack() -> None:
    """RFC 9309 section 2.2.3: each piece is found once; what follows does not bring it back."""
    assert allowed("Disallow: /" + "*a" * 60 + "*b", "/" + "a" * 5_000)
    assert not allowed("Disallow: /" + "*a" * 60 + "*b", "/" + "a" * 5_000 + "b")


def test_agents_are_not_multiplied_by_rules() -> None:
    """RFC 9309 section 3: a group of 3,000 names and 3,000 rules holds each rule once."""
    names = "".join(f"User-agent: bot{number}\n" for number in range(3_000))
    lines = "".join(f"Disallow: /{number}\n" for number in range(3_000))
    tracemalloc.start()
    robots = RobotsTxt.parse((names + lines).encode())
    assert not robots.allowed("https://e.org/2999", "bot2999")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 2_000_000


def test_the_neighbour_in_order_is_not_the_only_prefix() -> None:
    """RFC 9309 section 2.2.2: ``/a`` matches ``/abz`` although ``/ab/c`` sorts between them."""
    assert not allowed("Disallow: /a\nDisallow: /ab/c", "/abz")
    others = "\n".join(f"Disallow: /x{number}" for number in range(100))
    robots = RobotsTxt.parse(
        f"User-agent: *\nDisallow: /a\nDisallow: /ab/c\nDisallow: /ab/d/e\n{others}".encode()
    )
    for _ in range(100):
        assert not robots.allowed("https://e.org/abz", "mybot")
        assert not robots.allowed("https://e.org/ab/d/", "mybot")
        assert robots.allowed("https://e.org/b", "mybot")


def test_repeated_groups_cost_their_lines_only() -> None:
    """RFC 9309 section 2.2.1: merging a name's groups adds their rules and doubles nothing."""
    body = b"User-agent: *\nUser-agent: mybot\nDisallow: /x\n" * 5_000
    tracemalloc.start()
    robots = RobotsTxt.parse(body)
    assert not robots.allowed("https://e.org/x", "mybot")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 32 * len(body)


def test_a_path_may_begin_with_two_slashes() -> None:
    """RFC 3986 section 3.3: they are part of the path."""
    assert not allowed("Disallow: //x", "//x")
    assert allowed("Disallow: //x", "/x")
    assert allowed("Disallow: /x", "//x")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://e.org", "/$"),
        ("http://e.org?q", "/?q$"),
        ("http://e.org/?", "/?$"),
        ("http://e.org/a?", "/a?$"),
        ("http://e.org#f", "/$"),
        ("http://e.org/a#?f/b", "/a$"),
        ("HTTP://E.ORG/a", "/a$"),
        ("http://e.org:80/a", "/a$"),
        ("http://u:p@e.org/a", "/a$"),
        ("http://[::1]:8080/a", "/a$"),
        ("ftp://h/a", "/a$"),
        ("/a", "/a$"),
        ("//a", "//a$"),
        ("/a?u=http://x/y", "/a?u=http://x/y$"),
        ("http://e.org?u=/a", "/?u=/a$"),
        ("mailto:a@b", "/$"),
        ("", "/$"),
    ],
)
def test_each_form_of_url_has_its_path(url: str, path: str) -> None:
    """RFC 3986 section 3: scheme, authority and fragment are no part of the path and query."""
    robots = RobotsTxt.parse(f"User-agent: *\nDisallow: {path}\n".encode())
    assert not robots.allowed(url, "mybot")
    assert not robots.allowed(url, "mybot")
    assert robots.allowed("http://e.org/zzz", "mybot")
    assert not robots.allowed(url, "mybot")
