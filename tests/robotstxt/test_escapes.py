"""Rules and URIs that are not what they seem: lengths, escapes cut in half, dot segments."""

from __future__ import annotations

from urllib.parse import urlparse, urlunparse

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.normal_form import as_written, form_of, readings, within_escapes
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.hostile import oracle
from tests.rows import rows

RFC = form_of(PROFILES["rfc9309"])
OTHERS = "".join(f"Disallow: /no-{number}/\nDisallow: /*no-{number}=\n" for number in range(60))


def answers(rules: str, path: str, profile: str = "rfc9309") -> set[bool]:
    """What all ways to ask say: before and after prefixes are sorted, a bare path, a verdict."""
    found = set()
    for more in ("", OTHERS):
        robots = RobotsTxt.parse(f"User-agent: *\n{rules}\n{more}", profile=profile)
        for _ in range(40):
            found.add(robots.allowed(f"https://e.org{path}", "mybot"))
        found.add(robots.allowed(path, "mybot"))
        found.add(bool(robots.verdict(f"https://e.org{path}", "mybot")))
    return found


@rows(
    "octets, patterns",
    (1, ["*"]),
    (3, ["/%61b", "/%7Eb", "/a$"]),
    (4, ["/p$x", "/p:x", "/%", "/%25", "/a**", "/*a$"]),
    (5, ["/p*x*", "/*%"]),
    (6, ["/p%24x", "/p%2Ax", "/p%3ax", "/p%2fx", "/?a=/b", "/a b", "/a%20b", "/%zz", "/a%2"]),
    (7, ["/\xc3\xa9", "/%C3%A9"]),
    (8, ["/?a=%2Fb", "/\xc3\xa9*", "/%2F*%2f"]),
)
def test_octets_are_counted_as_written(octets: int, patterns: list[str]) -> None:
    """RFC 9309 section 2.2.2: only what must be encoded, or is unreserved, changes its length."""
    for pattern in patterns:
        assert RFC.octets(pattern) == octets, pattern
        assert oracle.octets(pattern.encode("latin-1")) == octets, pattern


@rows(
    "text",
    *("/p%24x /p*x* /p$x", "/p%24x /p*x* /p%24x", "/p%2ax /p*x* /p*x", "/a%3Ab /a:b /a:b"),
    *("/a%40b /a@b /a%40b", "/?u=%2F /?u=/ /?u=/", "/?u=%3f /?u=? /?u=?x", "/a%5Bb /a*b* /a[b"),
    "/%C3%A9 /*%A9 /%C3%A9",
)
def test_the_rule_with_more_octets_as_written_wins(text: str) -> None:
    """RFC 9309 section 2.2.2: the most specific match is the one that has the most octets."""
    longer, shorter, path = text.split()
    assert answers(f"Disallow: {longer}\nAllow: {shorter}", path) == {False}
    assert answers(f"Allow: {longer}\nDisallow: {shorter}", path) == {True}


WITHIN = [
    ("/%", ["/%41", "/%C3%A9", "/%c3%a9x", "/%2F", "/%25", "/%", "/é", "/%7Ejoe"]),
    ("/itm/*/%", ["/itm/7/%E2%98%83", "/itm/a/b/%41"]),
    ("/*URL%*", ["/x?URL%3Dhttp", "/xURL%41", "/xURL%"]),
    ("/a%$", ["/a%"]),
    ("/a%2", ["/a%2F", "/a%20b", "/a%2"]),
    ("/a%c", ["/a%C3%A9", "/a%cc"]),
    ("/*2Fb", ["/?q=a%2Fb", "/?q=a%2fb", "/a%2Fb", "/2Fb"]),
    ("/*%2fb", ["/a%2Fb"]),
    ("/*%7C", ["/a|b", "/a%7Cb"]),
    ("/*%", ["/a%7Cb"]),
    ("/*41", ["/%41", "/a%41b", "/41"]),
    ("/*1b", ["/%41b", "/?x=%31b"]),
    ("/*3Ax$", ["/a%3Ax", "/a%3ax"]),
    ("/*A9", ["/caf%C3%A9", "/caf%c3%a9/x", "/café"]),
    ("/*C3*9x", ["/%C3%A9x"]),
    ("/*2*F*b", ["/?%2Fb", "/a%2fb"]),
    ("/*2Ab", ["/a%2Ab"]),
    ("/*24", ["/a%24"]),
    ("*F", ["/?a%2F"]),
    ("/café*2Fb", ["/caf%C3%A9?q=a%2Fb"]),
    ("/*%41*2Fb", ["/%41?q=a%2Fb"]),
]
"""Patterns, and paths whose escapes they match in part."""
NOT_WITHIN = [
    ("/%", ["/a", "/A%41", "/x/%41"]),
    ("/%zz", ["/%41", "/%2F", "/%25"]),
    ("/%/x", ["/%41/x", "/%2F/x"]),
    ("/a%2x", ["/a%2Fx", "/a%2F"]),
    ("/a%$", ["/a%41", "/a%2F"]),
    ("/*2fb", ["/?q=a%2Fb", "/?q=a%2fb", "/a%2fb"]),
    ("/*%", ["/a|b"]),
    ("/*20b", ["/a b"]),
    ("/2F", ["/%2F"]),
    ("/*a9", ["/%C3%A9", "/%c3%a9"]),
]


@rows("pattern, paths", WITHIN)
def test_text_within_an_escape_is_matched(pattern: str, paths: list[str]) -> None:
    """RFC 9309 section 2.2.2: the form that escapes are decoded to loses no match of the text.

    A ``%`` without its digits at the end of a piece is the start of any escape.
    """
    for path in paths:
        assert answers(f"Disallow: {pattern}", path) == {False}, path
        assert answers(f"Disallow: /\nAllow: {pattern}", path) == {True}, path
        assert not oracle.allowed(
            f"User-agent: *\nDisallow: {pattern}".encode(), "x", path.encode()
        )


@rows("pattern, paths", NOT_WITHIN)
def test_half_an_escape_in_the_middle_is_a_percent_sign(pattern: str, paths: list[str]) -> None:
    """RFC 9309 section 2.2.2: elsewhere ``%`` is ``%25``; hex digits of escapes are upper case."""
    for path in paths:
        assert answers(f"Disallow: {pattern}", path) == {True}, path
        assert oracle.allowed(f"User-agent: *\nDisallow: {pattern}".encode(), "x", path.encode())


def test_a_verdict_names_the_rule_that_matched_within_an_escape() -> None:
    """RFC 9309 section 2.2.2: with its pattern as written, its line, and what it overruled."""
    body = "User-agent: *\nAllow: /x\nDisallow: /*2Fb\nDisallow: /*%\n"
    verdict = RobotsTxt.parse(body).verdict("https://e.org/x?q=a%2Fb", "mybot")
    assert not verdict
    assert str(verdict.rule) == "Disallow: /*2Fb" or str(verdict.rule) == "Disallow: /*%"
    assert (verdict.line, str(verdict.overruled)) == (3, "Allow: /x")


def test_only_rules_that_may_match_within_an_escape_are_read_so() -> None:
    """All others match a URI as it is written only where they match its normal form."""
    given = ["/a", "/a*b", "/%41", "/*.php$", "/*2F", "/a%", "/*%4*x", "/*%a$", "/*f00"]
    found = {text: within_escapes(text) for text in given if within_escapes(text) is not None}
    assert found == {"/*2F": "/*2F", "/a%": "/a%", "/*%4*x": "/*%4*x", "/*%a$": "/*%A$"}
    assert as_written("/%7ea b?c=%2f%") == "/%7Ea%20b?c=%2F%25"


WITH_DOTS = {
    "/private": "/a/../private /a/b/../../private /./private /../private /../../private"
    " /a/%2e%2e/private /a/%2E./private /%2e/private //../private",
    "/private/x": "/a/.%2e/private/x",
    "/private/": "/private/. /private/x/..",
    "/private/?q=1": "/private/x/..?q=1",
    "/a/private": "/a//../private",
    "/": "/a/.. /.. /.",
    "/private/x?y=/../z": "/private/../private/x?y=/../z",
}
DOTS = [(path, plain) for plain, paths in WITH_DOTS.items() for path in paths.split()]
NO_DOTS = ["/", "/a", "/.well-known/x", "/a/...", "/a/..b/c", "/a/b..", "/?/../x", "/a/..;/b", "//"]


@rows("path, plain", [*DOTS, *zip(NO_DOTS, NO_DOTS, strict=True)])
def test_dot_segments_are_removed(path: str, plain: str) -> None:
    """RFC 3986 sections 3.3, 5.2.4 and 6.2.2.3: whole segments ``.`` and ``..``."""
    assert readings(path, RFC) == [*dict.fromkeys([path, plain])]
    assert oracle.without_dots(path.encode()) == plain.encode()


@rows("path, plain", [pair for pair in DOTS if "private" in pair[1] and pair[0][1] != "/"])
def test_a_uri_with_dot_segments_must_be_allowed_without_them(path: str, plain: str) -> None:
    """RFC 3986 section 6.2.2.3: both name the same resource."""
    pattern = plain.partition("?")[0]
    for profile in PROFILES:
        expected = {profile == "google" and not path.startswith(pattern)}
        assert answers(f"Disallow: {pattern}", path, profile) == expected, profile


def test_a_uri_with_dot_segments_must_be_allowed_with_them_too() -> None:
    """RFC 9309 section 2.2.2: what a rule says of the URI as it is written holds."""
    for profile in PROFILES:
        assert answers("Disallow: /a/../", "/a/../b", profile) == {False}
        assert answers("Disallow: /a/../", "/a/b", profile) == {True}


def test_what_is_forbidden_without_dots_is_not_allowed_by_a_rule_with_them() -> None:
    """RFC 9309 section 2.2.2: each reading has its own most specific match."""
    assert answers("Disallow: /b\nAllow: /a/../b", "/a/../b") == {False}
    assert answers("Disallow: /a/\nAllow: /b", "/a/../b") == {False}
    assert answers("Disallow: /a/\nAllow: /a/../b", "/a/../b") == {True}


def test_a_verdict_on_dot_segments_names_the_rule_that_forbids() -> None:
    """RFC 9309 section 2.2.2: the first reading that is forbidden decides."""
    robots = RobotsTxt.parse("User-agent: *\nAllow: /a\nDisallow: /b\n")
    verdict = robots.verdict("https://e.org/a/%2E%2e/b?c", "mybot")
    assert (verdict.allowed, verdict.line, str(verdict.rule)) == (False, 3, "Disallow: /b")
    verdict = robots.verdict("https://e.org/a/../a", "mybot")
    assert (verdict.allowed, verdict.line) == (True, 2)


@rows(
    "path, sent",
    *(("/private;", "/private"), ("/;", "/"), ("/a/b;?x=;", "/a/b?x=;"), ("/a;b/c;", "/a;b/c")),
    *(("/a;;", "/a;;"), ("/a;b", "/a;b"), ("/a?b;", "/a?b;"), ("/a;#b", "/a")),
)
def test_a_path_is_also_read_as_sent_without_its_empty_parameters(path: str, sent: str) -> None:
    """Clients that use ``urlparse``, such as Twisted's, send no ``;`` that nothing follows."""
    written = path.partition("#")[0]
    assert urlunparse(urlparse(written)) == sent
    assert readings(path, RFC) == [*dict.fromkeys([written, sent])]
    assert answers(f"Disallow: {sent}$", path) == {False}
    assert answers(f"Disallow: {written}$", path) == {False}
    assert answers(f"Disallow: {sent}$", path, "google") == {sent != written}


def test_a_path_may_have_dot_segments_and_empty_parameters() -> None:
    """Clients drop one of them, the other, both or none."""
    assert readings("/a/../b;", RFC) == ["/a/../b;", "/a/../b", "/b;", "/b"]
    for disallowed in ("/a/", "/b;", "/b$", "/a/../b$"):
        assert answers(f"Disallow: {disallowed}", "/a/../b;") == {False}


def test_robots_txt_is_allowed_by_what_it_is_and_nothing_else() -> None:
    """RFC 9309 section 2.2.2: /robots.txt is implicitly allowed, a way round it is not."""
    assert answers("Disallow: /", "/robots.txt") == {True}
    assert answers("Disallow: /", "/%72obots.txt") == {True}
    assert answers("Disallow: /*72", "/%72obots.txt") == {True}
    assert answers("Disallow: /", "/a/../robots.txt") == {False}
    assert answers("Disallow: /a", "/b/../robots.txt") == {True}


def test_dots_and_escapes_at_once() -> None:
    """Each reading of the dots is read in normal form and as it is written."""
    assert answers("Disallow: /*2Fb", "/a/../?q=a%2Fb") == {False}
    assert answers("Disallow: /%", "/a/../%41") == {False}
    assert answers("Disallow: /é", "/a/../%C3%A9#x") == {False}
    assert answers("Disallow: /é", "/a/../é") == {False}


@rows("path", ["/pri\nvate", "/pri\tvate/x", "/priv\rate", "\\private", "/a\\..\\private?\\"])
def test_a_uri_is_judged_as_clients_request_it(path: str) -> None:
    r"""Clients that read URIs as browsers do drop tabs and line ends, and take ``\`` for ``/``."""
    for profile in PROFILES:
        expected = {profile == "google"}
        assert answers("Disallow: /private", path, profile) == expected, profile
    assert answers("Disallow: /a?b\\c", "/a?b\\c") == {False}


def test_a_backslash_ends_the_host() -> None:
    r"""``http://h\private`` is requested as ``http://h/private``."""
    robots = RobotsTxt.parse("User-agent: *\nDisallow: /private\n")
    for url in (r"http://e.org\private", r"http://e.org\private/x", "http://e.\norg/private"):
        assert not robots.allowed(url, "mybot"), url
        assert not robots.verdict(url, "mybot"), url
