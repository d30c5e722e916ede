"""The lines of a log, one at a time: what is read, and what is named as unread."""

from __future__ import annotations

import io
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.records.lines import DecisionLine, Line, RunLine, Unread, read_lines
from tests.records.samples import crawl, decision, lines, refusal, run


def read(octets: bytes) -> list[Any]:
    """What the lines say."""
    return [*read_lines(io.BytesIO(octets))]


def why(octets: bytes) -> Any:
    """What is made of one line."""
    [found] = read(octets)
    return found


def test_the_samples_are_valid_by_the_schema() -> None:
    """So that these tests are about logs as they are written."""
    validator = jsonschema.Draft202012Validator(msgspec.json.schema(Line))
    for line in crawl()[:200]:
        validator.validate(line)


def test_every_sample_is_read() -> None:
    """A run, and decisions of every kind."""
    found = read(lines(*crawl()))
    assert isinstance(found[0], RunLine)
    assert all(isinstance(line, DecisionLine) for line in found[1:])


def test_a_decision_is_read_as_it_was_written() -> None:
    """Times, verdict and what it rests on."""
    found = why(lines(refusal(61.5, delay=None)))
    assert found.time == "2026-11-22T08:01:01.500Z"
    verdict = (found.allowed, found.rule, found.line, found.group, found.reason)
    assert verdict == (False, "Disallow: /private", 2, "*", "rule")


@pytest.mark.parametrize("length", [1, 9, 40, 400])
def test_a_line_without_its_end_is_cut_short(length: int) -> None:
    """As the last line after a crash, or one in the middle that was never finished."""
    octets = lines(decision())[:length]
    assert why(octets) is Unread.CUT
    assert why(octets + b"\n") is Unread.CUT


@pytest.mark.parametrize(
    "octets",
    [
        b"\n",
        b"hello\n",
        b"[]\n",
        b"7\n",
        b'"text"\n',
        b"{}\n",
        b'{"type":"end"}\n',
        b"\xff\xfe\x00\n",
        b"\x1f\x8b\x08\x00",
        b"[" * 100_000,
        b"9" * 5_000,
    ],
)
def test_a_line_of_another_program_is_foreign(octets: bytes) -> None:
    """Whatever it is, it is no error."""
    assert why(octets) is Unread.FOREIGN


@pytest.mark.parametrize(
    "damage",
    [
        {"time": "yesterday"},
        {"time": "2026-11-22T08:00:00Z"},
        {"allowed": "yes"},
        {"line": -3},
        {"line": 10**30},
        {"delay": -1},
        {"delay": 1e300},
        {"preferences": ["search"]},
        {"preferences": {"search": 1}},
        {"without": {"allowed": True}},
        {"url": None},
        {"authority": 7},
    ],
)
def test_what_the_schema_forbids_damages_a_line(damage: dict[str, Any]) -> None:
    """What a report would show or count must be right."""
    assert why(lines(decision(**damage))) is Unread.DAMAGED


@pytest.mark.parametrize("name", ["time", "authority", "allowed", "reason", "digest", "url"])
def test_a_missing_value_damages_a_line(name: str) -> None:
    """A field that the schema requires, and that a report needs."""
    line = decision()
    del line[name]
    assert why(lines(line)) is Unread.DAMAGED


def test_numbers_that_json_lacks_are_not_read() -> None:
    """NaN and Infinity, which Python would read."""
    assert why(lines(decision(delay=float("nan")))) is Unread.DAMAGED


def test_another_version_of_the_schema_is_left_out_with_its_run() -> None:
    """Its decisions may mean something else."""
    other = "1" * 32
    found = read(lines(run(schema=2, crawl=other), decision(crawl=other), run(), decision()))
    assert found[:2] == [Unread.SCHEMA] * 2
    assert not any(isinstance(one, Unread) for one in found[2:])


def test_a_line_without_an_end_takes_no_memory() -> None:
    """One of 10 MiB is passed over; those after it are read."""
    found = read(b"x" * (10 << 20) + b"\n" + lines(run(), decision()))
    assert found[0] is Unread.LONG
    assert [type(one) for one in found[1:]] == [RunLine, DecisionLine]


def test_a_byte_order_mark_hides_no_line() -> None:
    """Before the first line, and where two such files were joined."""
    mark = b"\xef\xbb\xbf"
    for one in (run(), decision(), refusal()):
        first, second = read((mark + lines(one)) * 2)
        assert not isinstance(first, Unread)
        assert first == second
    assert read(mark) == []


@given(st.binary(max_size=300))
def test_any_octets_are_a_line_or_named(octets: bytes) -> None:
    """No error is raised."""
    assert all(isinstance(one, Unread) for one in read(octets))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from([decision(), run()]), st.sampled_from(sorted(decision())), JSON)
def test_any_value_of_a_field_is_read_or_named(line: dict[str, Any], name: str, value: Any) -> None:
    """Whatever JSON can hold."""
    assert len(read(lines({**line, name: value}))) == 1
