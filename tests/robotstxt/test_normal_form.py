"""Normal form, and parsed patterns."""

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.normal_form import form_of, origin_of
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.robotstxt.paths import match_path
from tests.rows import rows

FORM = form_of(PROFILES["rfc9309"])


PATHS = [
    *(("/a", "/a"), ("/%61%7E%2d", "/a~-"), ("/a%2fb%2Fc", "/a%2Fb%2Fc"), (":80/a", "/a")),
    *(("/a?b=%2fc%3f", "/a?b=/c?"), ("/%3f?%3F", "/%3F??"), ("?q", "/?q"), ("/?", "/?")),
    *(("/a:b%3a@%40", "/a:b:@@"), ("/*%2a$%24", "/**$$"), ("/%26%3B%3d", "/%26%3B%3D")),
    *(("/%", "/%25"), ("/%4", "/%254"), ("/%zz", "/%25zz"), ("/%25", "/%25"), ("", "/")),
    *(("/é", "/\xc3\xa9"), ("/%C3%a9", "/\xc3\xa9"), ("/\udcff", "/\xff"), (";a", "/;a")),
    *(("/\ud800", "/\xed\xa0\x80"), ("/a b%20c", "/a b c"), ("/a?b@c;d", "/a?b@c;d")),
    *(("#f", "/"), ("/a#?f/b", "/a"), ("?u=/a", "/?u=/a")),
]
"""What may stand behind ``https://e.org``, and its normal form."""

URIS = [
    *(("HTTPS://E.ORG/a", "/a"), ("https://u:p@e.org/a", "/a"), ("https://u;v:p;q@e.org/a", "/a")),
    *(("https://u;v@e.org:80;a@b", "/"), ("http://[::1]:8080/a", "/a"), ("ftp://h/a", "/a")),
    *(("/a", "/a"), ("//a", "//a"), ("/a?u=http://x/y", "/a?u=http://x/y"), ("mailto:a@b", "/")),
    *(("", "/"), ("?a/b", "/?a/b"), (";a/b", "/;a/b"), ("/a#b", "/a"), ("/a?#b", "/a?")),
    *(("://e.org/a", "/a"), ("e.org/a://b/c", "/a://b/c")),
    ("e.org?u=http://e.org/a", "/?u=http://e.org/a"),
]


@rows("uri, path", [*((f"https://e.org{text}", path) for text, path in PATHS), *URIS])
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
    "origin, uris",
    ("https://e.org/", ["https://e.org/a?b"]),
    ("http://e.org:80/", ["http://e.org:80//a"]),
    ("", ["http:///a", "https://e.org", "https://e.org?/a", "https://e.org#/a", "/a"]),
    ("", ["https://é.org/a", "https://e%41.org/a", "ftp://e.org/a", "HTTPS://e.org/a"]),
)
def test_only_a_plain_http_uri_has_an_origin_to_remember(origin: str, uris: list[str]) -> None:
    """RFC 3986 section 3: what stands before the path, if there is no doubt about it."""
    assert [origin_of(uri) for uri in uris] == [origin] * len(uris)
