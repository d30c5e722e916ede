"""The scope of one robots.txt."""

import pytest

from scrapy_rep.access.authority import (
    Authority,
    _authority_of_origin,
    authority_in,
    authority_of,
    has_scheme,
)
from tests.rows import rows


@rows(
    "origin, urls",
    ("http://e.org", "http://e.org/a http://e.org http://e.org:80/a http://e.org:/a"),
    ("http://e.org", "HTTP://E.ORG./a http://user:pa%40ss@e.org/a"),
    ("http://e.org", "http://e.org?q=/a/b http://e.org#/a"),
    ("https://e.org", "https://e.org/a https://e.org:443/a"),
    ("http://e.org:8080", "http://e.org:8080/a http://user@e.org:8080/a"),
    ("https://e.org:80", "https://e.org:80/a"),
    ("http://xn--bcher-kva.example", "http://bücher.example/a"),
    ("http://[::1]", "http://[::1]/a"),
    ("http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/a"),
    ("http://127.0.0.1:6800", "http://127.0.0.1:6800/a"),
)
def test_a_url_names_scheme_host_and_effective_port(origin: str, urls: str) -> None:
    """RFC 9309 section 2.3: the URI of the rules is scheme, authority and /robots.txt."""
    for url in urls.split():
        authority = authority_of(url)
        assert str(authority) == origin, url
        assert authority is not None
        assert authority.robots_uri == f"{origin}/robots.txt"


@rows("url", ["", ":", "data:,x", "file:///etc/passwd", "ftp://e.org/x", "s3://b/x", "mailto:a@b"])
def test_other_schemes_have_no_robots_txt(url: str) -> None:
    """RFC 9309 section 2.3: the protocol is applied to HTTP."""
    assert authority_of(url) is None


@rows(
    "after",
    ["", "/a", ":80/", "e:99999/", "e:x/", "[::1/", "[::zz]/", "./", "../", "e../", "a b/", "e\\b/",
     "a" * 256],
)  # fmt: skip
def test_a_url_without_a_usable_host_is_an_error(after: str) -> None:
    """A failure is never permission: such a URL must not pass as one of another scheme."""
    with pytest.raises(ValueError, match="no usable host and port"):
        authority_of(f"http://{after}")


@rows(
    "is_so, urls",
    (True, ["http://e.org/", "mailto:a@b", "data:,x", "tel:+1"]),
    (False, ["localhost:8000/page", "e.org:80", "//e.org/", "/a:b", "a b", ""]),
)
def test_a_url_begins_with_a_scheme(is_so: bool, urls: list[str]) -> None:
    """RFC 3986 section 3.1: a host with a port looks like one."""
    assert [has_scheme(url) for url in urls] == [is_so] * len(urls)


def test_schemes_hosts_and_ports_are_apart() -> None:
    """RFC 9309 section 2.3: http and https, and two ports, are different services."""
    urls = ["http://e.org/", "https://e.org/", "http://e.org:8080/", "http://www.e.org/"]
    assert len({authority_of(url) for url in urls}) == 4


@rows(
    "is_so, after",
    (True, ["a/robots.txt", "a:80/robots.txt", "user:p@a/robots.txt#part"]),
    (False, ["a/robots.txt?x", "a/x/robots.txt", "a/robots.txt/", "a?x=/robots.txt"]),
    (False, ["a#/robots.txt", "a\\private/robots.txt"]),
)
def test_the_url_of_the_rules_has_several_spellings(is_so: bool, after: list[str]) -> None:
    """No other resource has one of them: what is taken for robots.txt is always allowed."""
    authority = Authority("http", "a", 80)
    assert [authority.has_its_rules_at(f"http://{one}") for one in after] == [is_so] * len(after)
    assert not authority.has_its_rules_at("/robots.txt")


@rows("text", ["http://a.example", "https://a.example:8443", "http://[::1]"])
def test_the_text_of_an_authority_names_it(text: str) -> None:
    """As a key of a queue or of a store."""
    assert str(authority_in(text)) == text


@rows("text", ["http://a.example:80", "http://A.example", "-data", "a.example", "http://[a"])
def test_another_text_names_no_authority(text: str) -> None:
    """Scrapy names its queues by slot, and others may write into the same Redis."""
    assert authority_in(text) is None


@pytest.mark.parametrize(
    "url", [" http://a", "\thttps://a/b", "ht\ntp://a", "\x01http://a", "da ta:"]
)
def test_white_space_makes_no_scheme(url: str) -> None:
    """Some clients ignore it, so such a URL may be one of http for them."""
    with pytest.raises(ValueError, match="white space in the scheme"):
        authority_of(url)


def test_a_long_url_without_a_path_is_not_remembered() -> None:
    """8,192 URLs of 16 KB would be held for the rest of the crawl."""
    before = _authority_of_origin.cache_info().currsize
    for number in range(3):
        assert str(authority_of(f"http://e.org?{number}{'a' * 2_000}")) == "http://e.org"
        assert authority_of(f"data:,{number}{'a' * 2_000}") is None
    assert _authority_of_origin.cache_info().currsize == before
