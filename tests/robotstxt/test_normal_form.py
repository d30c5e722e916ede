"""Normal form, and parsed patterns."""

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.normal_form import form_of, origin_of
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.robotstxt.paths import match_path
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])


@rows(
    "uri, path",
    [
        ("https://e.org/a", "/a"),
        ("https://e.org/%61%7E%2d", "/a~-"),
        ("https://e.org/a%2fb%2Fc", "/a%2Fb%2Fc"),
        ("https://e.org/a?b=%2fc%3f", "/a?b=/c?"),
        ("https://e.org/%3f?%3F", "/%3F??"),
        ("https://e.org/a:b%3a@%40", "/a:b:@@"),
        ("https://e.org/*%2a$%24", "/**$$"),
        ("https://e.org/%26%3B%3d", "/%26%3B%3D"),
        ("https://e.org/%", "/%25"),
        ("https://e.org/%4", "/%254"),
        ("https://e.org/%zz", "/%25zz"),
        ("https://e.org/%25", "/%25"),
        ("https://e.org/é", "/\xc3\xa9"),
        ("https://e.org/%C3%a9", "/\xc3\xa9"),
        ("https://e.org/\udcff", "/\xff"),
        ("https://e.org/\ud800", "/\xed\xa0\x80"),
        ("https://e.org/a b%20c", "/a b c"),
        ("https://e.org;a", "/;a"),
        ("https://e.org", "/"),
        ("https://e.org?q", "/?q"),
        ("https://e.org/?", "/?"),
        ("https://e.org#f", "/"),
        ("https://e.org/a#?f/b", "/a"),
        ("HTTPS://E.ORG/a", "/a"),
        ("https://e.org:80/a", "/a"),
        ("https://u:p@e.org/a", "/a"),
        ("https://u;v:p;q@e.org/a", "/a"),
        ("https://u;v@e.org:80;a@b", "/"),
        ("https://e.org/a?b@c;d", "/a?b@c;d"),
        ("http://[::1]:8080/a", "/a"),
        ("ftp://h/a", "/a"),
        ("/a", "/a"),
        ("//a", "//a"),
        ("/a?u=http://x/y", "/a?u=http://x/y"),
        ("https://e.org?u=/a", "/?u=/a"),
        ("mailto:a@b", "/"),
        ("", "/"),
        ("?a/b", "/?a/b"),
        (";a/b", "/;a/b"),
        ("://e.org/a", "/a"),
        ("e.org/a://b/c", "/a://b/c"),
        ("e.org?u=http://e.org/a", "/?u=http://e.org/a"),
        ("/a#b", "/a"),
        ("/a?#b", "/a?"),
    ],
)
def test_uris_have_one_normal_form(uri: str, path: str) -> None:
    """RFC 9309 section 2.2.2: what the standard holds equal is the same text.

    RFC 3986 section 3: scheme, authority and fragment are no part of it.
    """
    assert match_path(uri, FORM) == path
    robots = RobotsTxt.parse(f"User-agent: *\nDisallow: {path}$\n".encode("latin-1"))
    for _ in range(2):
        assert robots.allowed("https://e.org/zzz", "mybot")
        assert not robots.allowed(uri, "mybot")


@rows(
    "uri, origin",
    [
        ("https://e.org/a?b", "https://e.org/"),
        ("http://e.org:80//a", "http://e.org:80/"),
        ("http:///a", ""),
        ("https://e.org", ""),
        ("https://e.org?/a", ""),
        ("https://e.org#/a", ""),
        ("https://é.org/a", ""),
        ("https://e%41.org/a", ""),
        ("ftp://e.org/a", ""),
        ("HTTPS://e.org/a", ""),
        ("/a", ""),
    ],
)
def test_only_a_plain_http_uri_has_an_origin_to_remember(uri: str, origin: str) -> None:
    """RFC 3986 section 3: what stands before the path, if there is no doubt about it."""
    assert origin_of(uri) == origin
