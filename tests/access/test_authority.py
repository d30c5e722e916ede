"""The scope of one robots.txt."""

import pytest

from scrapy_rep.access.authority import Authority, authority_of, has_scheme
from tests.rows import rows


@rows(
    "url, origin",
    [
        ("http://example.org/a", "http://example.org"),
        ("http://example.org:80/a", "http://example.org"),
        ("https://example.org:443/a", "https://example.org"),
        ("https://example.org/a", "https://example.org"),
        ("http://example.org:8080/a", "http://example.org:8080"),
        ("https://example.org:80/a", "https://example.org:80"),
        ("HTTP://EXAMPLE.org./a", "http://example.org"),
        ("http://user:pa%40ss@example.org/a", "http://example.org"),
        ("http://user@example.org:81/a", "http://example.org:81"),
        ("http://bücher.example/a", "http://xn--bcher-kva.example"),
        ("http://[::1]/a", "http://[::1]"),
        ("http://[0:0:0:0:0:0:0:1]:8080/a", "http://[::1]:8080"),
        ("http://example.org", "http://example.org"),
        ("http://example.org?q=/a/b", "http://example.org"),
        ("http://example.org#/a", "http://example.org"),
        ("http://127.0.0.1:6800/a", "http://127.0.0.1:6800"),
        ("http://example.org:/a", "http://example.org"),
    ],
)
def test_a_url_names_scheme_host_and_effective_port(url: str, origin: str) -> None:
    """RFC 9309 section 2.3: the URI of the rules is scheme, authority and /robots.txt."""
    authority = authority_of(url)
    assert str(authority) == origin
    assert authority is not None
    assert authority.robots_uri == f"{origin}/robots.txt"


@rows(
    "url",
    [
        "data:,x",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "s3://bucket/x",
        "mailto:a@b",
        "",
        ":",
    ],
)
def test_other_schemes_have_no_robots_txt(url: str) -> None:
    """RFC 9309 section 2.3: the protocol is applied to HTTP."""
    assert authority_of(url) is None


@rows(
    "url",
    [
        "http://",
        "http:///path",
        "http://:80/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://[::1/",
        "http://[::zz]/",
        "http://./",
        "http://a b/",
        "http://example.org\\private/",
    ],
)
def test_a_url_without_a_usable_host_is_an_error(url: str) -> None:
    """A failure is never permission: such a URL must not pass as one of another scheme."""
    with pytest.raises(ValueError, match="no usable host and port"):
        authority_of(url)


@rows(
    "url, is_so",
    [
        ("http://e.org/", True),
        ("mailto:a@b", True),
        ("data:,x", True),
        ("tel:+1", True),
        ("localhost:8000/page", False),
        ("e.org:80", False),
        ("//e.org/", False),
        ("/a:b", False),
        ("a b", False),
        ("", False),
    ],
)
def test_a_url_begins_with_a_scheme(url: str, is_so: bool) -> None:
    """RFC 3986 section 3.1: a host with a port looks like one."""
    assert has_scheme(url) is is_so


def test_schemes_hosts_and_ports_are_apart() -> None:
    """RFC 9309 section 2.3: http and https, and two ports, are different services."""
    urls = ["http://e.org/", "https://e.org/", "http://e.org:8080/", "http://www.e.org/"]
    assert len({authority_of(url) for url in urls}) == 4


@rows(
    "url, is_so",
    [
        ("http://a.example/robots.txt", True),
        ("http://a.example:80/robots.txt", True),
        ("http://user:p@a.example/robots.txt#part", True),
        ("http://a.example/robots.txt?x", False),
        ("http://a.example/x/robots.txt", False),
        ("http://a.example/robots.txt/", False),
        ("http://a.example?x=/robots.txt", False),
        ("http://a.example#/robots.txt", False),
        ("http://a.example\\private/robots.txt", False),
        ("/robots.txt", False),
    ],
)
def test_the_url_of_the_rules_has_several_spellings(url: str, is_so: bool) -> None:
    """No other resource has one of them: what is taken for robots.txt is always allowed."""
    assert Authority("http", "a.example", 80).has_its_rules_at(url) is is_so
