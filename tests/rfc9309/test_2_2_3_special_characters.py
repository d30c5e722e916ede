"""RFC 9309 section 2.2.3: the characters ``#``, ``$`` and ``*``."""

from scrapy_rep import RobotsTxt
from tests.rows import rows


def matches(pattern: str, uri: str) -> bool:
    """A pattern forbids a URI."""
    body = f"user-agent: *\ndisallow: {pattern}\n".encode()
    return not RobotsTxt.parse(body).allowed(f"https://www.example.com{uri}", "a")


def test_a_number_sign_designates_a_comment() -> None:
    """RFC 9309 section 2.2.3, figure 5: ``allow: / # comment in line`` and on its own line."""
    robots = RobotsTxt.parse(
        b"user-agent: *\ndisallow: /\n# comment on its own line\nallow: / # comment in line\n"
    )
    assert robots.allowed("https://e.org/x", "a")


def test_a_dollar_sign_designates_the_end() -> None:
    """RFC 9309 section 2.2.3, figure 5: ``/this/path/exactly$``."""
    assert matches("/this/path/exactly$", "/this/path/exactly")
    assert not matches("/this/path/exactly$", "/this/path/exactly/")
    assert not matches("/this/path/exactly$", "/this/path/exactly?x")
    assert not matches("/this/path/exactly$", "/this/path/exactl")


def test_a_star_designates_any_characters() -> None:
    """RFC 9309 section 2.2.3, figure 5: ``/this/*/exactly`` is 0 or more of any character."""
    assert matches("/this/*/exactly", "/this//exactly")
    assert matches("/this/*/exactly", "/this/path/and/more/exactly/x")
    assert matches("/this/*/exactly", "/this/?q=/exactly")
    assert not matches("/this/*/exactly", "/this/exactly")


FIGURE_6 = [
    ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
    ("/path/foo-%24", "/path/foo-$"),
]


@rows("pattern, uri", FIGURE_6)
def test_special_characters_match_verbatim_when_encoded(pattern: str, uri: str) -> None:
    """RFC 9309 section 2.2.3, figure 6: percent-encoded pattern and URI."""
    assert matches(pattern, uri)
    assert matches(pattern, pattern)
    assert matches(pattern.lower(), uri)
    assert not matches(pattern, "/path/file-with-a-b.html")
    assert not matches(pattern, "/path/foo-")


@rows(
    "text",
    *("*.gif$ /a/b.gif !/a/b.gifs", "* /", "*$ /x", "/* /", "$ !/", "/$ / !/x", "/*aa$ !/a"),
    *("/*.php$ /a.php.php /a.php?x=.php", "/*ab*cd$ /xabxabxcdxcd !/xabxcdx", "/*abc*bcd$ !/abcd"),
    *("/a*a$ !/a", "/a*$ /abc", "/a**b***c /a-b-c", f"/a{'*' * 10_000}b /axb !/ax"),
    f"/{'*a' * 60}*b /{'a' * 5_000}b !/{'a' * 5_000}",
    *("/a$b /a$bc /a%24bc", "/a$$ /a$ !/a", "/a$* /a$x !/ax", "/a*$b /axx$b", "/*%2Ab /x*b !/xb"),
    *("*/x /x", "//x //x !/x", "/x /x !//x", "/*/x /a/x !/x", "/*? /a? !/a", "/*?*= /a?b=c !/a=?b"),
    "/*/*/c /a/b/c !/a/c",
)
def test_wildcards_match_as_they_are_written(text: str) -> None:
    """RFC 9309 section 2.2.3: ``*`` anywhere, ``$`` at the end and nowhere else.

    A pattern, the URIs that it matches, and with a ``!`` those that it does not.
    """
    pattern, *uris = text.split()
    for uri in uris:
        assert matches(pattern, uri.lstrip("!")) is not uri.startswith("!"), uri


@rows(
    "is_allowed, cases",
    (True, ["/page /*.ht /page.htm", "/$ / /", "/a* /ab /abc", "/a** /ab /abc", "/a$ /a /a"]),
    (True, ["/a*$ /abc /abc", "/abc /* /abc"]),
    (False, ["/p /*.htm /page.htm", "/page /*.htm /page.htm", "/a /a* /abc", "/a /a$ /a"]),
)
def test_wildcards_count_as_octets(is_allowed: bool, cases: list[str]) -> None:
    """RFC 9309 section 2.2.2: the match with the most octets; each special character is one."""
    for allow, disallow, uri in map(str.split, cases):
        robots = RobotsTxt.parse(f"user-agent: *\nallow: {allow}\ndisallow: {disallow}\n")
        assert robots.allowed(f"https://e.org{uri}", "a") is is_allowed, (allow, disallow)
