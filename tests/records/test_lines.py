"""The lines of a log, one at a time: what is read, and what is not."""

from __future__ import annotations

import io
from typing import Any

import jsonschema
import msgspec

from scrapy_rep import RobotsTxt
from scrapy_rep.records.lines import DecisionLine, Line, LoggedVerdict, RunLine, read_lines
from tests.records.samples import crawl, decision, lines, run
from tests.rows import rows

MISSING = object()


def read(octets: bytes) -> list[Any]:
    """What the lines say."""
    return [*read_lines(io.BytesIO(octets))]


def test_the_samples_are_valid_by_the_schema() -> None:
    """So that these tests are about logs as they are written."""
    validator = jsonschema.Draft202012Validator(msgspec.json.schema(Line))
    for line in crawl()[:200]:
        validator.validate(line)


@rows(
    "octets",
    *[lines(decision())[:length] + end for length in (1, 9, 40, 400) for end in (b"", b"\n")],
    *(b"hello\n", b"[]\n", b"7\n", b'"text"\n', b"{}\n", b'{"type":"end"}\n', b"\xff\xfe\x00\n"),
    *(b"\x1f\x8b\x08\x00", b"[" * 100_000, b"9" * 5_000, lines(run(schema=2))),
)
def test_what_is_not_a_line_of_a_log_is_no_error(octets: bytes) -> None:
    """Cut short by a crash, of another program, or of another version."""
    assert read(octets) == [None]


def test_a_text_that_no_encoding_has_is_read_escaped() -> None:
    """Half of a surrogate pair, which Python makes of the name of a file that is not UTF-8."""
    [first, second, *others] = read(lines(run(archive="b\udce9"), decision(reason="\u00e9\ud800")))
    assert (first.archive, second.reason, others) == ("b\\udce9", "\u00e9\\ud800", [])
    assert read(b'{"a": "\\ud800"}\n[' + b'"\\ud800",[' * 9_999) == [None, None]


def test_empty_lines_are_passed_over() -> None:
    """A process that begins to write while another one writes may leave one."""
    [found] = read(b"\n\n" + lines(decision()) + b"\n")
    assert isinstance(found, DecisionLine)


@rows(
    "damage",
    *({"time": time} for time in ("yesterday", "2026-11-22T08:00:00", "2026-13-45T99:00:00.000Z")),
    *({"allowed": "yes"}, {"line": -3}, {"line": 10**30}, {"without": {"allowed": True}}),
    *({"delay": -1}, {"delay": 1e300}, {"delay": float("nan")}, {"authority": 7}, {"url": None}),
    *({"preferences": ["search"]}, {"preferences": {"search": 1}}),
    *[{name: MISSING} for name in ("time", "authority", "allowed", "reason", "digest", "url")],
)
def test_a_line_that_the_schema_forbids_is_not_read(damage: dict[str, Any]) -> None:
    """What a report would show or count must be right, and there."""
    line = {name: value for name, value in decision(**damage).items() if value is not MISSING}
    assert read(lines(line)) == [None]


def test_a_line_without_an_end_takes_no_memory() -> None:
    """One of 10 MiB is passed over; those after it are read."""
    found = read(b"x" * (10 << 20) + b"\n" + lines(run(), decision()))
    assert {*found[:-2]} == {None}
    assert [type(one) for one in found[-2:]] == [RunLine, DecisionLine]


def test_a_very_long_rule_is_cut() -> None:
    """A site can write half a megabyte, and each refusal would have it in its line."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /" + b"*" * 400_000 + b"\n")
    said = LoggedVerdict.of(robots.verdict("https://e.org/a", "mybot"))
    assert said.allowed is False
    assert (said.rule[:12], said.rule[-4:], len(said.rule)) == ("Disallow: /*", "*...", 2_003)
