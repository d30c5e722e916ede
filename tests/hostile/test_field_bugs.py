"""Bugs that matchers had in the field, by name, as far as they concern text and matching."""

from scrapy_rep import RobotsTxt
from tests.hostile.test_budgets import held_by


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
    robots = RobotsTxt.parse((names + lines).encode())
    held, answer = held_by(lambda: robots.allowed("https://e.org/2999", "bot2999"))
    assert not answer
    assert held < 2_000_000


def test_the_neighbour_in_order_is_not_the_only_prefix() -> None:
    """RFC 9309 section 2.2.2: ``/a`` matches ``/abz`` although ``/ab/c`` sorts between them."""
    assert not allowed("Disallow: /a\nDisallow: /ab/c", "/abz")
    others = "\n".join(f"Disallow: /x{number}" for number in range(100))
    few = "User-agent: *\nDisallow: /a\nDisallow: /ab/c\nDisallow: /ab/d/e\n"
    robots = RobotsTxt.parse(few + others)
    for _ in range(100):
        assert not robots.allowed("https://e.org/abz", "mybot")
        assert not robots.allowed("https://e.org/ab/d/", "mybot")
        assert robots.allowed("https://e.org/b", "mybot")


def test_repeated_groups_cost_their_lines_only() -> None:
    """RFC 9309 section 2.2.1: merging a name's groups adds their rules and doubles nothing."""
    body = b"User-agent: *\nUser-agent: mybot\nDisallow: /x\n" * 5_000
    robots = RobotsTxt.parse(body)
    held, answer = held_by(lambda: robots.allowed("https://e.org/x", "mybot"))
    assert not answer
    assert held < 32 * len(body)


def test_runs_of_stars_are_one_star() -> None:
    """RFC 9309 section 2.2.3: 0 or more of any character, twice, is the same."""
    assert not allowed("Disallow: /a" + "*" * 10_000 + "b", "/axb")
    assert allowed("Disallow: /a" + "*" * 10_000 + "b", "/ax")


def test_the_default_group_does_not_leak_into_a_named_one() -> None:
    """RFC 9309 section 2.2.1: ``*`` counts only where no group matches, delays included."""
    robots = RobotsTxt.parse(
        b"User-agent: *\nDisallow: /\nCrawl-delay: 30\n\nUser-agent: mybot\nDisallow: /x\n"
    )
    assert robots.allowed("https://e.org/", "mybot")
    assert robots.crawl_delay("mybot") is None
    assert robots.crawl_delay("other") == 30


def test_a_path_may_begin_with_two_slashes() -> None:
    """RFC 3986 section 3.3: they are part of the path."""
    assert not allowed("Disallow: //x", "//x")
    assert allowed("Disallow: //x", "/x")
    assert allowed("Disallow: /x", "//x")
