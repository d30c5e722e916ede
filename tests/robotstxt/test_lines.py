"""Octets become lines, and lines become records."""

from scrapy_rep.robotstxt.lines import (
    Groups,
    Line,
    agent_lines,
    lines_before,
    lines_of,
    names_of,
    rules_of,
    values_of,
)
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.text import text_of, truncate
from tests.rows import rows

RFC = PROFILES["rfc9309"]


def rules(body: bytes, agent: str = "a", profile: str = "rfc9309") -> list[tuple[bool, str, int]]:
    """The rules of a crawler: whether they allow, their patterns and their lines."""
    chosen = PROFILES[profile]
    group = Groups(text_of(body, chosen), chosen).of((agent,))
    found = [*rules_of(group, chosen)]
    disallow, allow = values_of(group, chosen)
    assert disallow == [pattern for is_allow, pattern, _ in found if not is_allow]
    assert allow == [pattern for is_allow, pattern, _ in found if is_allow]
    return found


@rows(
    "agent, profile, expected",
    [("a", "rfc9309", [2, 6, 7]), ("c", "rfc9309", [9]), ("a", "1994", [2]), ("b", "1994", [6, 7])],
)
def test_the_user_agent_lines_of_a_group_have_numbers(
    agent: str, profile: str, expected: list[int]
) -> None:
    """RFC 9309 section 2.2.1: those of all groups that count for a crawler, ``*`` included."""
    body = b"# x\nUser-agent: a\nDisallow: /x\n\n\nUser-agent: b\nUser-agent: a\nDisallow: /y\n"
    chosen = PROFILES[profile]
    text = text_of(body + b"User-agent: *\nDisallow: /z\n", chosen)
    assert agent_lines(Groups(text, chosen).of((agent,))) == expected
    assert agent_lines(Groups(text_of(body, chosen), chosen).of(("c",))) == []


def test_thousands_of_crawlers_are_found_as_one_is() -> None:
    """Of so many names an index is made."""
    names = [f"b{number % 700}" for number in range(1_000)]
    groups = Groups("".join(f"\nUser-agent: {name}\nDisallow: /" for name in names), RFC)
    for name in dict.fromkeys(names):
        numbers = [number for number, one in enumerate(names) if one == name]
        assert groups.of((name,)).spans == tuple([range(n, n + 1) for n in numbers])
    assert groups.of(("b",)).token is None


def test_a_rule_has_a_line_and_a_pattern() -> None:
    """RFC 9309 section 2.2: lines count from 1, whatever ends them."""
    body = b"User-agent: a\r\n\r# x\nDisallow: /b # y\n\n Allow :\t/z "
    assert rules(body) == [(False, "/b", 4), (True, "/z", 6)]


@rows(
    "found, lines",
    ((False, "/b", 2), [b"disalow: /b", b"dissallow:/b"]),
    ((True, "/c", 2), [b"ALLOW /c"]),
    ((False, "/c", 2), [b"\tDisallow \t /c\t", b"Disallow /c # d"]),
    ((False, "/c d", 2), [b"Disallow: /c d"]),
    ((False, "", 2), [b"Disallow:", b"Disallow: # /x"]),
    ((False, "https://e.org/", 2), [b"Disallow: https://e.org/"]),
    (None, [b"Disallow /c d", b"Disallow/c", b"Disallow", b"Disallow\xa0: /c"]),
    (None, [b"Disallows: /c", b"x Disallow: /c", b"# Disallow: /c"]),
)
def test_a_line_is_read_in_each_usual_spelling(
    found: tuple[bool, str, int] | None, lines: list[bytes]
) -> None:
    """RFC 9309 section 2.2.4: misspellings and missing colons are accepted, and nothing else."""
    for line in lines:
        assert rules(b"useragent: a\n" + line) == ([found] if found else []), line


def test_other_lines_of_a_group_and_those_before_the_first_are_found_with_their_numbers() -> None:
    """RFC 9309 section 2.2.4: several groups of one crawler, and lines that belong to none."""
    body = b"Foo: 1\n\nfoo:2\nUser-agent: a\nFOO : 3\nBar: 4\nDisallow:\n\nUser-agent: b\nFoo: 5\n"
    body += b"Allow: /\nUser-agent: A\n\nfoo: # 6\nbar 7\n"
    group = Groups(text_of(body, RFC), RFC).of(("a",))
    assert [*lines_before(group, ("foo",), RFC)] == [Line(1, "foo", "1"), Line(3, "foo", "2")]
    assert [*lines_of(group, ("foo", "bar"), RFC)] == [
        Line(5, "foo", "3"),
        Line(6, "bar", "4"),
        Line(14, "foo", ""),
        Line(15, "bar", "7"),
    ]


def test_a_line_of_another_key_may_end_a_list_of_user_agent_lines() -> None:
    """RFC 9309 section 2.1: ``members`` says which keys belong to a group, besides the rules."""
    text = text_of(b"User-agent: a\nFoo: 1\nUser-agent: b\nFoo: 2\nDisallow: /\n", RFC)
    for members, expected in (((), ["1", "2"]), (("foo",), ["1"]), (("fo",), ["1", "2"])):
        for profile in (RFC, PROFILES["google"]):
            group = Groups(text, profile, members).of(("a",))
            assert [line.value for line in lines_of(group, ("foo",), profile)] == expected


@rows("coding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_truncation_keeps_whole_lines_only(coding: str) -> None:
    """RFC 9309 section 2.5: the partial last line is dropped, and nothing is lost at the limit.

    U+0A0A and U+0D41 hold the octets of line ends but are none.
    """
    text = "\ufeffDisallow: /\u0a0a\u0d41\r\nDisallow: /\U0001f600\u0a0a\n\u0a00Disallow: /x\r/y"
    body, whole = text.encode(coding), text.replace("\r", "\n").split("\n")
    for limit in range(len(body)):
        kept = truncate(body, limit)
        assert len(kept) <= limit
        assert body.startswith(kept)
        assert {*kept.decode(coding).replace("\r", "\n").split("\n")} <= {*whole, ""}
    assert truncate(body, len(body)) is body
    first = text.partition("\r")[0].encode(coding)
    assert truncate(body, len(first)) == first


def test_truncation_survives_broken_utf16() -> None:
    """RFC 9309 section 2.5: any octets are a body."""
    for body in (b"\xff\xfe" + b"\xd8" * 99, b"\xfe\xff" + b"\xd8\x00" * 50, b"\xff\xfe\n"):
        for limit in range(len(body)):
            assert body.startswith(truncate(body, limit))


@rows(
    "value, names",
    ("foobot", ["foobot", "foobot", "foobot", "foobot"]),
    ("FooBot/1.0", ["foobot", "foobot", "foobot/1.0", "foobot/1.0"]),
    ("MJ12bot", ["mj12bot", "mj", "mj12bot", "mj12bot"]),
    ("foo bar", ["foo", "foo", "foo bar", "foo|bar"]),
    ("*", ["*", "*", "*", "*"]),
    ("* Rex", ["*", "*", "* rex", "*|rex"]),
    ("*;", ["*", "", "*;", "*;"]),
    ("*foo", ["", "", "*foo", "*foo"]),
    ("", ["", "", "", ""]),
)
def test_each_profile_cuts_names_in_its_own_way(value: str, names: list[str]) -> None:
    """RFC 9309 section 2.2.1; 1996 section 3.2.1; Kollar: several names on a line."""
    profiles = [PROFILES[name] for name in ("rfc9309", "google", "1996", "kollar")]
    assert ["|".join(names_of(value, profile)) for profile in profiles] == names
