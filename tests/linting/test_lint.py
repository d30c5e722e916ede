"""Where findings are, what they are not about, and what they may cost."""

from __future__ import annotations

import random
import time

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.linting.checks import lint
from tests.benchmarks import inputs
from tests.rows import rows
from tests.timed import timed

ALONE = "write the path alone, beginning with /"
"""The fix of a path that may begin with a host."""

LOOK_IT_UP = "write the product token that the crawler's documentation names"


def codes(body: str) -> list[str]:
    """The codes of a file's findings, in order."""
    return [one.code for one in lint(body.encode())]


def fixes(body: str, code: str) -> list[str]:
    """The fixes of the findings of one code."""
    return [one.fix for one in lint(body.encode()) if one.code == code]


def places(body: str, code: str) -> list[tuple[int | None, int | None]]:
    """The places of one code."""
    return [(one.line, one.column) for one in lint(body.encode()) if one.code == code]


@rows(
    "body",
    "User-agent: *\nDisallow:\n",
    "User-agent: *\nDisallow: /\n",
    "User-agent: *\nAllow: /\n",
    "# all welcome\n",
    "User-agent: foo\nUser-agent: bar\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n",
    "User-agent: *\r\nDisallow: /a\r\nSitemap: https://e.org/s.xml\r\n",
    "User-agent: *\nDisallow: /a\nAllow: /a/b\n\nSitemap: https://e.org/s.xml",
    "user-agent:*\n  disallow : /*.pdf$\n",
    "User-agent: * # all\nDisallow: /a # not this\n",
    "User-agent: *\nDisallow: /caf\u00e9\nDisallow: /%7Ejoe\n",
)
def test_ordinary_file_has_no_finding(body: str) -> None:
    """RFC 9309 section 2.2."""
    assert codes(body) == []


@rows(
    "body, code, place",
    ("Disallow: /x\nUser-agent: *\n", "rule-before-group", (1, 1)),
    ("User-agent: *\nDisallow: a\n", "path-cannot-match", (2, 11)),
    ("User-agent: *\n  Disallow:\ta\n", "path-cannot-match", (2, 13)),
    ("User-agent: *\nDisallow: /a#b\n", "comment-in-path", (2, 13)),
    ("User-agent: *\nDisallow: /\u00e9\u00e9#b\n", "comment-in-path", (2, 14)),
    ("User-agent: a\n\nUser-agent: b\nDisallow: /\n", "group-read-two-ways", (3, 1)),
    ("User-agent: *\nSitemap: /s\n", "sitemap-not-absolute", (2, 10)),
    ("User-agent: *\rDisallow: a\r", "path-cannot-match", (2, 11)),
    ("User-agent: *\nDisallow: /\u00e9/ /b\n", "several-paths", (2, 15)),
    ("User-agent: *\nAllow: /\u00e9*$y\n", "dollar-in-path", (2, 11)),
    ("\ufeffDisallow: /\n", "rule-before-group", (1, 1)),
    ("User-agent: *\nContent-Usage: /x foo=n\n", "content-usage-unknown-label", (2, 19)),
    ("User-agent: *\nContent-Signal: search=yes, x=no\n", "content-signal-unknown-label", (2, 17)),
)
def test_finding_stands_where_the_mistake_is(body: str, code: str, place: tuple[int, int]) -> None:
    """Lines and columns count from 1, columns in characters; a byte order mark is not counted."""
    assert places(body, code) == [place]


@rows("is_found, values", [(False, ["10s", "1,5"]), (True, ["1,000,000", "5m", "", "one"])])
def test_a_void_delay_is_found(is_found: bool, values: list[str]) -> None:
    """RFC 9309 section 2.2.4: what a crawl reads past."""
    for value in values:
        found = codes(f"User-agent: *\nCrawl-delay: {value}\nDisallow: /x\n")
        assert found == ["value-unreadable"] * is_found, value


@rows(
    "found, lines",
    ([(3, 1)], ["", "Crawl-delay: 1", "Sitemap: https://e.org/s", "Foo: bar", "what is this"]),
    ([], ["# a comment", "Disallow: /a", "Allow: /"]),
)
def test_group_is_read_two_ways_after_anything_but_a_rule_or_a_comment(
    found: list[tuple[int, int]], lines: list[str]
) -> None:
    """RFC 9309 section 2.1: only a rule ends the user-agent lines of a group."""
    for between in lines:
        body = f"User-agent: a\n{between}\nUser-agent: b\nDisallow: /\n"
        assert places(body, "group-read-two-ways") == found, between


@rows(
    "fix, paths",
    ("write /private", ["private"]),
    (ALONE, ["https://e.org/private", "https://e.org", "http://localhost:8080/"]),
    (ALONE, ["e.org/private/*.gif$", "127.0.0.1/a", "index.html"]),
    (None, ["//e.org:8080/a"]),
    ("write /company/org/private", ["company/org/private"]),
    ("write /Special:Search", ["Special:Search"]),
    ("write /*?session=", ["?session="]),
    ("write /*.pdf$", [".pdf$"]),
)
def test_fix_of_a_path_is_one_that_matches(fix: str | None, paths: list[str]) -> None:
    """What may begin with a host is left to the reader."""
    for path in paths:
        found = fixes(f"User-agent: *\nDisallow: {path}\n", "path-cannot-match")
        assert found == [fix] * (fix is not None), path


@rows(
    "are_several, paths",
    (True, ["/tmp/ /cgi-bin/", "/tmp/\t/cgi-bin/", "/foo, /bar", "/foo,/bar", "/foo , /bar, /baz"]),
    (True, ["*.gif /b"]),
    (False, ["/a b/c", "/city clerk/", "/*,*", "/*/,skiing:1", "/0,1283,48946,00.html"]),
    (False, ["/http: /", "/* */", "/\u00a0/", "/*?term=\u8005*/"]),
)
def test_several_paths_in_a_rule_are_told_from_a_path_with_a_space_or_a_comma(
    are_several: bool, paths: list[str]
) -> None:
    """RFC 9309 section 2.2.2: a rule has one path. The paths are those of real files."""
    for path in paths:
        found = places(f"User-agent: *\nDisallow: {path}\n", "several-paths")
        assert bool(found) == are_several, path


@rows(
    "severity, paths",
    (None, ["/*.php$", "/*.asp$ # $b"]),
    ("information", ["/x*$y", "/*$history", "/phones/Optus-$30"]),
    ("warning", ["/*.pdf$/", "/*.png$}", "/*.asp$$"]),
)
def test_dollar_within_a_path_is_a_character(severity: str | None, paths: list[str]) -> None:
    """RFC 9309 section 2.2.3; where it can hardly be meant as one, it is a warning."""
    for path in paths:
        found = lint(f"User-agent: *\nAllow: {path}\n".encode())
        severities = [one.severity for one in found if one.code == "dollar-in-path"]
        assert severities == [severity] * (severity is not None), path


def test_rule_of_other_letters_that_decides_is_quoted_as_it_is_written() -> None:
    """RFC 9309 section 2.2.2: paths are UTF-8."""
    body = "User-agent: *\nDisallow: /\u65e5\u672c\nDisallow: /\u65e5\u672c/a\n"
    [found] = [one for one in lint(body.encode()) if one.code == "rule-without-effect"]
    assert '"Disallow: /\u65e5\u672c" in line 2 decides without it' in found.message


@rows("key", ["Visit-time: 0600-0845", "Noindex: /a", "Comments: none"])
def test_key_that_nothing_reads_has_no_effect(key: str) -> None:
    """It says so, whichever document once defined the key."""
    assert codes(f"User-agent: *\n{key}\nDisallow: /a\n") == ["key-without-effect"]


@rows(
    "lines, files",
    ({}, ["Disallow: /a/b\nAllow: /*b", "Disallow: /a/b\nAllow: /*a*/b", "Allow: /a", "Allow:"]),
    ({}, ["Disallow: /a\nAllow: /a/b\nDisallow: /a/b/c", "Allow: /a/b\nDisallow: /a"]),
    ({}, ["Disallow: /a\nAllow: /*b\nDisallow: /a/b/c", "Disallow: /*.php$\nDisallow: /x.php"]),
    ({2: "information"}, ["Disallow: /a/b\nDisallow: /a", "Allow: /a\nDisallow: /a/b"]),
    ({2: "information"}, ["Disallow:\nDisallow:"]),
    ({2: "warning"}, ["Disallow: /\nAllow: /", "Disallow: /a/b\nAllow: /a/b"]),
    ({3: "warning"}, ["Allow: /a/b\nDisallow: /a/b", "Allow: /%61\nDisallow: /a"]),
    ({4: "warning"}, ["Disallow: /\nAllow: /a\nDisallow: /a"]),
    ({3: "information"}, ["Disallow: /a\nDisallow: /a", "Disallow: /%61\nDisallow: /a"]),
    ({3: "information"}, ["Disallow: /a\nAllow:"]),
    ({3: "information", 4: "information"}, ["Disallow: /a\nAllow: /x/b\nDisallow: /a/b/c"]),
    ({}, ["Disallow: /\nAllow: /.", "Disallow: /\nAllow: /.well-known/.."]),
)
def test_rule_without_effect(lines: dict[int, str], files: list[str]) -> None:
    """RFC 9309 section 2.2.2: the longest rule counts, and on a tie the allow rule.

    Each rule is reported once, and at least one of a group is left.
    """
    for rules in files:
        found = lint(f"User-agent: *\n{rules}\n".encode())
        without = [(one.line, one.severity) for one in found if one.code == "rule-without-effect"]
        assert without == [*lines.items()], rules


def test_group_without_rules_is_not_reported_of_a_crawler_with_rules_elsewhere() -> None:
    """The rules of all its groups count together, so that it may not fetch everything."""
    body = b"User-agent: foo\nDisallow: /\n\nUser-agent: foo\nUser-agent: bar\n"
    found = [one.message for one in lint(body) if one.code == "group-without-rules"]
    assert found == ['the group of "bar" has no rule: that crawler may fetch all']
    assert not [one for one in lint(body[:-17]) if one.code == "group-without-rules"]


def test_rule_that_another_group_of_the_same_crawler_needs_is_not_reported() -> None:
    """RFC 9309 section 2.2.1: the rules of both groups count together."""
    body = (
        "User-agent: *\nDisallow: /a\nDisallow: /a/b/c\n\n"
        "User-agent: x\nUser-agent: *\nAllow: /a/b\n"
    )
    assert "rule-without-effect" not in codes(body)


@rows("seed", range(20))
def test_fix_of_a_rule_without_effect_changes_no_verdict(seed: int) -> None:
    """Each line is removed alone, and then all together; paths are made of the rules' own words.

    A group that lost its last rule would share those of the next one.
    """
    rnd = random.Random(seed)
    pieces = ("/", "a", "b", "/a", "/b", "*", "*a", "/a/b", "%61", ".x")
    lines = ["User-agent: *"]
    for _ in range(rnd.randrange(2, 9)):
        path = "/" + "".join(rnd.choices(pieces, k=rnd.randrange(0, 4)))
        path += rnd.choice(("", "", "", "$"))
        lines.append(f"{rnd.choice(('Allow', 'Disallow', 'Disallow'))}: {path}")
        if rnd.random() < 0.15:
            lines += ["", "User-agent: foo", rnd.choice(("", "User-agent: *"))]
        if rnd.random() < 0.15:
            lines += ["", "User-agent: bar", "Allow: /x", "", "User-agent: *"]
    body = "\n".join(lines).encode()
    paths = {"/" + "".join(rnd.choices("/ab.x", k=rnd.randrange(0, 7))) for _ in range(400)}
    before = RobotsTxt.parse(body)
    agents = ("*", "foo", "bar")
    told = {(path, agent): before.allowed(path, agent) for path in paths for agent in agents}
    found = {one.line for one in lint(body)
             if one.code == "rule-without-effect" and one.severity == "information"}  # fmt: skip
    for removed in (set(), found, *({line} for line in found)):
        left = [line for number, line in enumerate(lines, 1) if number not in removed]
        after = RobotsTxt.parse("\n".join(left).encode())
        for (path, agent), verdict in told.items():
            assert after.allowed(path, agent) is verdict, (path, agent, removed)


@rows(
    "fix, values",
    ("write User-agent: foobot", ["foobot/1.0", "Mozilla/5.0 (compatible; foobot/1.0)"]),
    ("write User-agent: FooBot", ["FooBot*"]),
    ("write User-agent: *", ["* all"]),
    (LOOK_IT_UP, ["archive.org_bot", "Sogou web spider", "Yahoo! Slurp"]),
)
def test_fix_of_an_agent_is_a_name_or_says_where_to_find_it(fix: str, values: list[str]) -> None:
    """What a value was cut to at a dot or a space is the name of no crawler."""
    for value in values:
        found = fixes(f"User-agent: {value}\nDisallow: /\n", "agent-not-a-token")
        assert found == [fix], value


@rows("seed", range(30))
def test_no_octets_raise_an_exception(seed: int) -> None:
    """Nor do findings lack a place, except for two codes."""
    rnd = random.Random(seed)
    body = bytearray(inputs.file(rnd, 30))
    for _ in range(rnd.randrange(1, 60)):
        at = rnd.randrange(len(body))
        body[at : at + rnd.randrange(3)] = rnd.randbytes(rnd.randrange(4))
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    for one in lint(bytes(body)):
        assert one.line is None or 1 <= one.line <= lines
        assert one.column is None or one.column >= 1


@rows(
    "body, code",
    ("<!DOCTYPE html>\n" + "<a href='https://e.org'>x</a>\n" * 1000, "html-not-text"),
    ("User-agent: *\nDisallow: /a\n" + "Noindex: /a\n" * 1000, "key-without-effect"),
)
def test_what_is_repeated_is_reported_once(body: str, code: str) -> None:
    """The lines of a page of HTML, and a key that a file may have a thousand times."""
    assert codes(body) == [code]


HOSTILE = {
    "rules": b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(40_000)),
    "long rules": b"User-agent: *\n"
    + b"".join(b"Disallow: /" + b"a" * n + b"\n" for n in range(1_500, 1_790)),
    "wild": b"User-agent: *\n"
    + b"".join(b"Disallow: /*%d\nAllow: /%d\n" % (n, n) for n in range(999)),
    "agents": b"".join(b"User-agent: bot-%d\nDisallow: /\n" % n for n in range(12_000)),
    "stars": b"User-agent: *\nDisallow: /" + b"*a" * 200_000,
    "nul": b"\0" * 512_000,
    "bad": b"\xff\n" * 200_000,
    "keys": b"a:\n" * 150_000,
    "parens": b"User-agent: *\nContent-Usage: " + b"(" * 400_000,
    "signals": b"User-agent: *\nContent-Signal: " + b"a," * 200_000,
    "blanks before signals": b"User-agent: *\nContent-Signal:" + b" " * 490_000 + b"a," * 4_000,
    "angles": b"<" * 500_000,
}


@timed
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_linted_in_bounded_time(name: str) -> None:
    """Half a megabyte of anything takes half a second, and at most two on a slow processor."""
    spent = time.process_time()
    lint(HOSTILE[name])
    assert time.process_time() - spent < 2.0


@rows(
    "body, found",
    ("User-agent: *\n".encode("utf-16"), ["not-utf-8"]),
    (b"User-agent: *\nDisallow:\nSitemap: https://[e.org/s.xml\n", ["sitemap-not-absolute"]),
    (b"nonsense\n" * 101, ["line-not-understood"] * 100),
)
def test_what_cannot_be_read_is_said(body: bytes, found: list[str]) -> None:
    """Another encoding, a malformed URL, and lines without sense: a hundred of them."""
    wanted = set(found)
    assert [one.code for one in lint(body) if one.code in wanted] == found
