"""Two files differ by what they allow, not by how they are written."""

from __future__ import annotations

import random
import time
from itertools import islice, product
from string import ascii_lowercase

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.effects import difference, witnesses
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.rows import rows
from tests.timed import timed

OLD = b"User-agent: *\nDisallow: /a\nDisallow: /b/\nAllow: /a/x\n"


@rows(
    "new",
    OLD,
    OLD.replace(b"\n", b"\r\n"),
    b"# new\n" + OLD,
    b"user-AGENT: *\nAllow: /a/x\nDisallow: /b/\nDisallow: /a\n",
    OLD + b"Disallow: /a/y\n",
    b"User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b/\nAllow: /a/x\n",
    OLD + b"Sitemap: https://e.org/s.xml\n",
    OLD + b"\nUser-agent: foo\n" + OLD.partition(b"\n")[2],
)
def test_files_with_the_same_effect_do_not_differ(new: bytes) -> None:
    """RFC 9309 section 2.2."""
    assert difference(OLD, new) == []
    assert difference(new, OLD) == []


@rows(
    "new, path, rules",
    (OLD.replace(b"/b/", b"/b"), "/b", (None, "Disallow: /b")),
    (OLD.replace(b"Allow: /a/x\n", b""), "/a/x", ("Allow: /a/x", "Disallow: /a")),
    (OLD + b"Disallow: /*.php$\n", "/.php", (None, "Disallow: /*.php$")),
    (OLD + b"Allow: /*/x/*.gif\n", "/b//x/.gif", ("Disallow: /b/", "Allow: /*/x/*.gif")),
    (OLD.replace(b"/a\n", b"/a$\n"), "/a~", ("Disallow: /a", None)),
)
def test_changed_path_is_shown_with_the_rules_on_both_sides(
    new: bytes, path: str, rules: tuple[str | None, str | None]
) -> None:
    """The shortest path that shows it."""
    [one] = difference(OLD, new)
    assert one.agents == ("*",)
    shown = {
        change.path: tuple(str(v.rule) if v.rule else None for v in (change.old, change.new))
        for change in one.paths
    }
    assert shown[path] == rules


def test_crawlers_with_the_same_change_come_together() -> None:
    """``*`` stands for all that no group names."""
    old = b"User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: c\nDisallow: /y\n"
    new = b"User-agent: a\nUser-agent: b\nDisallow: /z\n\nUser-agent: c\nDisallow: /y\n"
    [one] = difference(old, new)
    assert one.agents == ("a", "b")
    assert [change.path for change in one.paths] == ["/x", "/z"]


@rows("asked, found", [((), [("foo",)]), (("bar",), []), (("foo", "bar"), [("foo",)])])
def test_new_group_changes_the_crawler_that_it_names(
    asked: tuple[str, ...], found: list[tuple[str, ...]]
) -> None:
    """Which had the rules of ``*`` before. Only the crawlers asked for are compared."""
    new = OLD + b"\nUser-agent: foo\nDisallow: /\n"
    assert [one.agents for one in difference(OLD, new, asked)] == found


def test_pace_is_a_difference() -> None:
    """RFC 9309 section 2.2.4."""
    [one] = difference(OLD, OLD + b"Crawl-delay: 7\n")
    assert (one.paths, one.old_pace, one.new_pace) == ((), {}, {"crawl delay": "7 s"})


def test_a_pace_above_another_crawler_is_not_a_difference_for_that_one() -> None:
    """RFC 9309 section 2.2.4: a line about pace ends the user-agent lines that it is for."""
    old = b"User-agent: a\nCrawl-delay: 5\nUser-agent: b\nDisallow: /x\n"
    [one] = difference(old, old.replace(b"5", b"9"))
    assert (one.agents, one.old_pace, one.new_pace) == (
        ("a",), {"crawl delay": "5 s"}, {"crawl delay": "9 s"}
    )  # fmt: skip


@rows("seed", range(60))
def test_no_change_of_plain_rules_is_missed(seed: int) -> None:
    """If any of all short paths changes its verdict, so does a witness; wildcards nearly always."""
    rnd = random.Random(seed)
    alphabet = ["a", "b", "/", "~"]
    old, new = ([(rnd.random() < 0.4, "/" + "".join(rnd.choices(alphabet[:3], k=rnd.randrange(4)))
                  + rnd.choice(("", "", "$"))) for _ in range(5)] for _ in "ab")  # fmt: skip
    bodies = [_body(rules) for rules in (old, new)]
    before, after = (RobotsTxt.parse(body) for body in bodies)
    paths = ["/"]
    for _ in range(5):
        paths += [path + letter for path in paths[-(4**5) :] for letter in alphabet]
    changed = any(before.allowed(p, "*") is not after.allowed(p, "*") for p in paths)
    assert bool(difference(*bodies)) is changed


@rows("profile", PROFILES)
def test_no_change_is_missed_whatever_a_document_reads_as_a_wildcard(profile: str) -> None:
    """The documents of 1994 and 1996 read ``*`` and ``$`` as characters of a path."""
    rnd = random.Random(9)
    paths = ["/" + "".join(path) for size in range(4) for path in product("ab*$", repeat=size)]
    for _ in range(60):
        rules = [(rnd.random() < 0.3, "/" + "".join(rnd.choices("ab*$", k=rnd.randrange(4))))
                 for _ in range(2)]  # fmt: skip
        bodies = [_body(rules[:1]), _body(rules[1:])]
        before, after = (RobotsTxt.parse(body, profile=profile) for body in bodies)
        if any(before.allowed(path, "*") is not after.allowed(path, "*") for path in paths):
            assert difference(*bodies, profile=profile), bodies


def _body(rules: list[tuple[bool, str]]) -> bytes:
    lines = [f"{'Allow' if allow else 'Disallow'}: {path}" for allow, path in rules]
    return "\n".join(["User-agent: *", *lines]).encode()


def test_witnesses_are_paths() -> None:
    """Whatever the rules look like, in ASCII, as a request has them."""
    patterns = ["/a#b", "*", "$", "x", "/\xe9", "*$", "/*?*=$"]
    found = witnesses(patterns, patterns)
    assert found
    assert all(path.startswith("/") and path.isascii() for path in found)


@rows("profile", PROFILES)
def test_a_rule_beyond_ascii_is_a_change(profile: str) -> None:
    """Raw octets of UTF-8 in a rule match their encoded forms in a URL."""
    [one] = difference(OLD, OLD + "Disallow: /été/\n".encode(), profile=profile)
    assert [change.path for change in one.paths] == ["/%C3%A9t%C3%A9/"]


@rows("profile", PROFILES)
def test_a_rule_with_an_escape_in_lower_case_is_a_change(profile: str) -> None:
    """Google compares such a rule as if it were in upper case, and URLs as they are."""
    [one] = difference(OLD, OLD + b"Disallow: /%c3%a4/\n", profile=profile)
    assert [change.path for change in one.paths] == ["/%C3%A4/"]


@rows("rule, path", [("/c?", "/c?~"), ("/c?$", "/c?"), ("//$?", "//$?~"), ("/c?d'$", "/c?d'")])
def test_a_path_that_is_not_requested_is_shown_only_if_it_must_be(rule: str, path: str) -> None:
    """Scrapy requests `/c` for `/c?`, of which `check` would say something else."""
    [one] = difference(OLD, OLD + f"Disallow: {rule}\n".encode())
    assert [change.path for change in one.paths] == [path]


def test_half_an_escape_matches_the_start_of_one() -> None:
    """`/%2` forbids `/%2Ab` as well, and `/%25` does not."""
    old, new = (f"User-agent: *\nDisallow: {path}\n".encode() for path in ("/%2", "/%25"))
    robots = [RobotsTxt.parse(body) for body in (old, new)]
    paths = ["/%2Ab", "/%25", "/%2", "/%2F"]
    verdicts = [[one.allowed("https://e.org" + path, "*") for path in paths] for one in robots]
    assert (verdicts[0] != verdicts[1]) is bool(difference(old, new))


@rows(
    "old, new, path",
    ("Disallow: /%24", "Disallow: /%24\nAllow: /%", "/%24"),
    ("Disallow: /x%2Dy", "Disallow: /x%2Dy\nAllow: /x%2", "/x%2Dy"),
    ("Disallow: /\nAllow: /$\nAllow: /~", "Allow: /$\nAllow: /~", "/_"),
    ("Disallow: /*a\nAllow: /~", "Allow: /~", "/a"),
)
def test_the_paths_to_ask_for_follow_from_the_other_rules(old: str, new: str, path: str) -> None:
    """What goes on half an escape, and what no other rule matches."""
    [one] = difference(*(f"User-agent: *\n{rules}\n".encode() for rules in (old, new)))
    assert path in [change.path for change in one.paths]


def test_the_order_of_groups_is_a_change_where_the_first_counts() -> None:
    """The documents before RFC 9309 read one group of a crawler."""
    one, other = b"User-agent: *\nDisallow: /x\n", b"User-agent: *\nAllow: /x\nDisallow: /y\n"
    bodies = one + b"\n" + other, other + b"\n" + one
    assert difference(*bodies, profile="1996")
    assert difference(*bodies) == []


def test_lines_of_the_files_are_named() -> None:
    """Not those of the few lines that were compared."""
    head = "".join(f"User-agent: bot{n}\nDisallow: /{n}\n\n" for n in range(9))
    old = f"{head}User-agent: foo\nDisallow: /a\n"
    new = f"{head}User-agent: foo\nDisallow: /b\n\nUser-agent: foo\nDisallow: /c\n"
    [one] = difference(old.encode(), new.encode())
    lines = {change.path: (change.old.line, change.new.line) for change in one.paths}
    assert lines == {"/a": (29, None), "/b": (None, 29), "/c": (None, 32)}
    assert {change.new.group for change in one.paths if change.new.rule} == {"foo"}


@rows("profile", PROFILES)
def test_crawlers_are_those_that_the_document_finds(profile: str) -> None:
    """An argument may be a whole User-Agent."""
    new = OLD + b"\nUser-agent: FOO # one\nDisallow: /\n"
    assert [one.agents for one in difference(OLD, new, profile=profile)] == [("foo",)]
    assert [one.agents for one in difference(OLD, new, ["Foo/2"], profile)] == [("foo/2",)]


def bots(count: int, path: str, each: str = "") -> bytes:
    """One group with many crawlers, or a group for each; none is named within another's name."""
    names = islice(product(ascii_lowercase, repeat=3), count)
    lines = [f"User-agent: bot-{''.join(name)}{each}" for name in names]
    return ("\n".join(lines) + f"\nDisallow: {path}\n").encode()


@timed
@pytest.mark.parametrize("profile", [*PROFILES])
@pytest.mark.parametrize("each", ["", "\nDisallow: /of-one\nAllow: /"], ids=["agents", "groups"])
def test_thousands_of_crawlers_take_seconds(each: str, profile: str) -> None:
    """A file is split once, not for each crawler."""
    old, new = bots(4_000, "/x", each), bots(4_000, "/y", each.replace("one", "all"))
    started = time.process_time()
    found = difference(old, new, profile=profile)
    assert sum(len(one.agents) for one in found) == 4_000
    lint(old)
    assert time.process_time() - started < 5


@timed
@pytest.mark.parametrize("each", ["", "\nDisallow: /of-one\nAllow: /"], ids=["agents", "groups"])
def test_thousands_of_crawlers_may_share_thousands_of_groups(each: str) -> None:
    """Those that a file does not name have all groups of ``*``, which are put together once."""
    named = bots(4_000, "/x", each)
    shared = b"".join(b"User-agent: *\nDisallow: /%d\nCrawl-delay: 1\n" % n for n in range(4_000))
    started = time.process_time()
    for files in ((named, shared), (shared, named)):
        assert sum(len(one.agents) for one in difference(*files)) == 4_001
    assert time.process_time() - started < 5


@timed
def test_thousands_of_wildcards_take_a_few_seconds(others_set_aside: None) -> None:
    """24,000 rules, all of them changed: 1 to 2.6 s, by the processor. It must not be quadratic."""
    old, new = (
        (
            "User-agent: *\n" + "".join(f"Disallow: /*{n:X}{mark}1*7\n" for n in range(24_000))
        ).encode()
        for mark in "FG"
    )
    spent = []
    for _ in range(3):
        started = time.process_time()
        assert difference(old, new)
        spent.append(time.process_time() - started)
    assert min(spent) < 4


def test_a_long_pattern_is_not_joined_to_thousands_of_others() -> None:
    """400 KB of a wildcard rule and 20,000 others would be joined to gigabytes of paths."""
    long = "/*" + "a" * 20_000
    found = witnesses([long], [long, *[f"/{number}*" for number in range(2_000)]])
    assert len(found) > 100
    assert sum(map(len, found)) < 20_000_000


def test_a_request_rate_is_part_of_the_pace() -> None:
    """One interval may be asked for in two ways, and both are said."""
    [found] = difference(OLD, OLD + b"Request-rate: 1/10\n")
    assert (found.old_pace, found.new_pace) == ({}, {"request rate": "1/10 s"})


def test_pairs_of_wildcards_are_looked_at_up_to_a_limit() -> None:
    """RFC 9309 section 3: a file of wildcards alone costs no more than others."""
    patterns = [f"/{number}*x" for number in range(150)]
    assert len(witnesses(patterns, patterns)) < 4 * 20_000
