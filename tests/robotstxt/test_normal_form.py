"""Normal form, and parsed patterns."""

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
        ("?a/b", "/?a/b"),
        (";a/b", "/;a/b"),
        ("://e.org/a", "/a"),
        ("e.org/a://b/c", "/a://b/c"),
        ("e.org?u=http://e.org/a", "/?u=http://e.org/a"),
        ("e.org", "/"),
        ("/a#b", "/a"),
        ("/a?#b", "/a?"),
    ],
)
def test_uris_have_one_normal_form(uri: str, path: str) -> None:
    """RFC 9309 section 2.2.2: what the standard holds equal is the same text."""
    assert match_path(uri, FORM) == path


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
