"""What hostile sites may say about use: nothing is raised, and nothing takes long.

RFC 9309 section 3, RFC 9651 section 6: untrusted content.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep import RobotsTxt
from scrapy_rep.preferences.licenses import licenses_of_field
from scrapy_rep.preferences.preferences import Preferences
from scrapy_rep.preferences.robots_txt import MOST_LINES
from scrapy_rep.preferences.vocabularies import (
    CATEGORIES,
    HEADER,
    Statement,
    content_signal,
    content_usage,
    tdmrep,
)
from tests.hostile.test_budgets import assert_quick
from tests.hostile.test_costly import wrong_order
from tests.preferences.answers import answers
from tests.timed import timed

URL = "https://e.org/" + "a" * 2_000
MOST = 0.050
"""Seconds for what one response says."""
MOST_OF_ROBOTS_TXT = 0.080
"""Seconds for the first answer of a robots.txt of 500 KB, as for its first verdict."""


def document(line: str, octets: int = 500_000) -> bytes:
    """A robots.txt of one group with numbered lines of a kind."""
    lines = "".join(f"{line.replace('@', str(n))}\n" for n in range(octets // (len(line) + 4)))
    return f"User-agent: *\nAllow: /\n{lines}".encode()


FIELDS: dict[str, Callable[[], Any]] = {
    "64 KB of members": lambda: content_usage(",".join(["a=n"] * 16_000), HEADER),
    "8 KB of members": lambda: content_usage(",".join(f"a{n}=n" for n in range(1_000)), HEADER),
    "8 KB of inner list": lambda: content_usage("a=(" + "1 " * 4_000 + ")", HEADER),
    "8 KB of parameters": lambda: content_usage("a=n" + ";a=1" * 2_000, HEADER),
    "8 KB of string": lambda: content_usage('a="' + '\\"' * 4_000 + '"', HEADER),
    "64 KB of brackets": lambda: content_usage("a=" + "(" * 65_000, HEADER),
    "many lines": lambda: content_usage(", ".join(["a=n"] * 500), HEADER),
    "signals": lambda: content_signal("a=no," * 1_638, HEADER),
    "64 KB of signals": lambda: content_signal("a=no," * 13_000, HEADER),
    "links": lambda: licenses_of_field(
        ["<a>;rel=license;type=application/rsl+xml," * 190] * 8, "https://e.org/"
    ),
    "link parameters": lambda: licenses_of_field(["<a>" + ";a=b" * 16_000] * 8, URL),
    "link quotes": lambda: licenses_of_field(['<a>;a="' + "\\a" * 32_000] * 8, URL),
    "link quotes without an end": lambda: licenses_of_field(['<>\\"' * 16_000] * 8, URL),
    "link blanks": lambda: licenses_of_field(["<a>" + " " * 65_000 + "x"] * 8, URL),
    "reservations": lambda: tdmrep(["1," * 32_000] * 8, ["https://" + "a" * 65_000], HEADER),
    "a long host and a space": lambda: licenses_of_field(
        [f"<https://{'a' * 8_000} b>;rel=license;type=application/rsl+xml"], URL
    ),
    "policies": lambda: tdmrep(["1"], [f"https://{'a' * 8_000} b"] * 3, HEADER),
    "lines of links": lambda: licenses_of_field(["<a>;rel=license," * 1_000] * 1_000, URL),
    "lines of reservations": lambda: tdmrep(["1," * 8_000] * 1_000, [], HEADER),
}
ROBOTS = {
    "paths": document("Content-Usage: /a@ train-ai=n"),
    "wildcards": document("Content-Usage: /*aaaaaaab*@ t=n"),
    "one path": document("Content-Usage: x@=n"),
    "long lines": document("Content-Usage: x@=n," + ",".join(f"a{n}=n" for n in range(1_100))),
    "signals": document("Content-Signal: x@=n"),
    "long signals": document("Content-Signal: x@=n" + ",a=no" * 1_600),
    "licences": document("License: https://e.org/@"),
}


@timed
@pytest.mark.parametrize("name", FIELDS)
def test_no_field_costs_much(name: str) -> None:
    """64 KB of each kind."""
    assert_quick(FIELDS[name], MOST)


def test_a_reservation_that_is_too_long_to_read_allows_nothing() -> None:
    """A reservation in what is read counts; otherwise nobody knows what the rest says."""
    for values, answer in (
        (["0"] * 10_000, "unknown"),
        (["0"] * 10_000 + ["1"], "unknown"),
        (["1"] + ["0"] * 10_000, "disallowed"),
    ):
        [said] = tdmrep(values, [], HEADER)
        assert said.answer == answer


@timed
@pytest.mark.parametrize("name", ROBOTS)
def test_no_robots_txt_costs_much(name: str) -> None:
    """500 KB of each kind."""
    assert_quick(lambda: RobotsTxt.parse(ROBOTS[name]).preferences(URL, "x"), MOST_OF_ROBOTS_TXT)


def test_more_lines_than_are_read_disallow_each_use() -> None:
    """What stands in the others is not known, and a failure is never permission."""
    usage = "Content-Usage: / train-ai=y\n" * (MOST_LINES + 1)
    signals = "".join(f"Content-Signal: search=yes, x={n}\n" for n in range(2_000))
    found = RobotsTxt.parse(f"User-agent: *\n{usage}").preferences("https://e.org/", "x")
    assert answers(found) == "train-ai=n ai-use=n search=n"
    found = RobotsTxt.parse(f"User-agent: *\n{signals}").preferences("https://e.org/", "x")
    assert answers(found) == "train-ai=n ai-use=n search=n"


def test_large_rules_disallow_each_use_and_take_no_memory() -> None:
    """Compiled, they would take eight times their octets, which no limit of memory counts."""
    usage = "".join(f"Content-Usage: /*{n:030}* train-ai=y\n" for n in range(MOST_LINES))
    robots = RobotsTxt.parse(f"User-agent: *\n{usage}")
    tracemalloc.start()
    found = robots.preferences("https://e.org/", "x")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answers(found) == "train-ai=n ai-use=n search=n"
    assert held < 50_000


def test_rules_that_are_too_costly_disallow_each_use() -> None:
    """As with Disallow rules: RFC 9309 section 3."""
    body, url = wrong_order(8_000, line="Content-Usage: /*{piece}*{telling} search=y")
    lines = body.splitlines(keepends=True)[: MOST_LINES // 2]
    found = RobotsTxt.parse(b"".join(lines)).preferences(url, "x")
    assert answers(found) == "train-ai=n ai-use=n search=n"
    assert {one.value for one in found.statements} == {"too costly to read"}


@settings(max_examples=30)
@given(st.binary(max_size=200), st.text(max_size=40))
def test_no_line_raises(octets: bytes, path: str) -> None:
    """Whatever stands behind the colon, the answers are of the three, and lines are kept raw."""
    for key in (b"Content-Usage", b"Content-Usage: /", b"Content-Signal", b"License"):
        colon = b"" if b":" in key else b": "
        robots = RobotsTxt.parse(b"User-agent: *\n" + key + colon + octets + b"\nAllow: /")
        found = robots.preferences("https://e.org/" + path, "x")
        if found is not None:
            assert_sound(found)


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=4))
def test_no_field_raises(lines: list[str]) -> None:
    """Any octets in any number of lines."""
    text = ",".join(lines)
    for found in (content_usage(text, HEADER), content_signal(text, HEADER)):
        assert_sound(Preferences(tuple(found)))
    licenses_of_field(lines, "https://e.org/")
    assert_sound(Preferences(tuple(tdmrep(lines, lines, HEADER))))


def assert_sound(found: Preferences) -> None:
    """There is an answer for each category, and it is one of three."""
    assert {found[category] for category in CATEGORIES} <= {"allowed", "disallowed", "unknown"}
    assert all(isinstance(one, Statement) for one in found.statements)
