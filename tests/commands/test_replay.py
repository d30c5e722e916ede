"""`scrapy robots replay`: its exit statuses, its output, and whatever it may be given."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from scrapy_rep.recording.log_reader import read_log
from tests.commands.running import Ended, robots
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import by_hand
from tests.replies import Reply, redirect
from tests.site import Site

TEXT = "User-agent: *\nDisallow: /private\n\nUser-agent: other\nDisallow: /\n"


class Records(NamedTuple):
    """A log and the archive of its crawl."""

    log: Path
    archive: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def write(self, lines: list[Any]) -> None:
        """Other lines are put in their place."""
        self.log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def replay(self, *more: str) -> Ended:
        """The command."""
        return robots("replay", self.log, "--warc", self.archive, *more)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what one crawl recorded; no test writes to it."""
    folder = tmp_path_factory.mktemp("recorded")
    settings = by_hand(
        REP_DECISION_LOG=str(folder / "decisions.jsonl"),
        REP_DECISIONS="all",
        REP_WARC=str(folder / "robots.warc.gz"),
        ROBOTSTXT_USER_AGENT="mybot",
    )
    with Site() as site:
        shop, down = site.authority(TEXT), site.authority(Reply(503))
        plans = [shop.url("/a"), shop.url("/private/%1B[31m"), down.url("/a")]
        crawl_in_child(settings=settings, plans=plans).check(["is unreachable"])
    return folder


@pytest.fixture
def records(recorded: Path, tmp_path: Path) -> Records:
    """Of three decisions: allowed, disallowed, unreachable."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    (archive,) = tmp_path.glob("robots-*")
    return Records(tmp_path / "decisions.jsonl", archive)


def test_all_agree(records: Records) -> None:
    """Status 0, and one line that says so."""
    done = records.replay()
    assert done == (0, "", "scrapy robots replay: 3 decisions: 3 agree\n")


def test_the_name_in_the_setting_stands_for_the_archives_of_all_runs(
    records: Records, tmp_path: Path
) -> None:
    """Not for a file of that name, nor for one whose name only begins like it."""
    (tmp_path / "robots-other.warc.gz").write_bytes(b"not an archive")
    killed = tmp_path / "robots-20200101000000-00000000.warc.gz.open"
    killed.write_bytes(records.archive.read_bytes()[:-20])
    (tmp_path / "robots-20200101000000-00000001.warc.gz.open").touch()
    done = robots("replay", records.log, "--warc", tmp_path / "robots.warc.gz")
    assert (done.status, done.out) == (0, "")
    assert f"{killed} ends within a record" in done.err
    assert done.err.endswith("3 decisions: 3 agree\n")


def test_a_decision_that_differs_is_named(records: Records) -> None:
    """Status 1; which line, what the archive says, what the log says."""
    lines = records.lines
    number = next(n for n, line in enumerate(lines) if line.get("line") == 2)
    records.write([*lines[:number], {**lines[number], "line": 7}, *lines[number + 1 :]])
    done = records.replay()
    assert done.status == 1
    assert done.out.startswith(f"line {number + 1}: differs: http://127.")
    assert done.out.endswith(": line is 2, in the log 7\n")
    assert done.err == "scrapy robots replay: 3 decisions: 2 agree, 1 differ\n"


@pytest.mark.parametrize(
    ("which", "seconds", "said"),
    [
        (0, 3_600, "s before that of the line before it in its run"),
        (1, -3_600, "so its time and its age say nothing of the record"),
        (1, 3_600, "its time and its age contradict the record"),
    ],
)
def test_a_changed_time_is_named(records: Records, which: int, seconds: int, said: str) -> None:
    """Status 1; by the lines of the run, and by the archive."""
    lines = records.lines
    time = datetime.fromisoformat(lines[which]["time"][:-1]) + timedelta(seconds=seconds)
    lines[which]["time"] = time.isoformat(timespec="milliseconds") + "Z"
    records.write(lines)
    done = records.replay()
    assert done.status == 1
    told = [line for line in done.out.splitlines() if line.startswith("line 2: ")]
    assert any(said in line for line in told), told


def test_a_time_that_goes_back_is_named_once(records: Records) -> None:
    """Status 1, however the decisions end: nothing tells a clock from a changed time."""
    lines = records.lines
    ahead = datetime.fromisoformat(lines[0]["time"][:-1]) + timedelta(hours=1)
    first = {**lines[0], "time": ahead.isoformat(timespec="milliseconds") + "Z"}
    records.write([first, *lines[1:]])
    done = records.replay()
    assert done.status == 1
    assert done.out.startswith("line 2: time goes back: http://127.")
    assert done.out.count("\n") == 1
    assert done.err == "scrapy robots replay: 3 decisions: 3 agree; the time goes back once\n"
    records.write([first, lines[1], first, *lines[2:]])
    assert records.replay() == done


def test_a_run_begins_once(records: Records) -> None:
    """Its first line may come again, as where logs are put together, but not another one."""
    lines = records.lines
    records.write([lines[0], *lines])
    assert records.replay().status == 0
    records.write([*lines, {**lines[0], "timeout": 99.0}, *lines[1:]])
    done = records.replay()
    assert done.status == 2
    assert "line 5: another line says otherwise how its run" in done.err
    records.write([*lines[:3], lines[0], {**lines[2], "time": "2001" + lines[2]["time"][4:]}])
    assert "line 5: time goes back" in records.replay().out


def test_a_record_that_is_in_no_archive_is_status_3(records: Records) -> None:
    """What cannot be decided is not said to agree."""
    lines = records.lines
    for line in lines:
        if line.get("record"):
            line["record"] = "urn:uuid:00000000-0000-4000-8000-000000000000"
    records.write(lines)
    done = records.replay("--format", "jsonl")
    assert done.status == 3
    found = [json.loads(line) for line in done.out.splitlines()]
    assert {one["finding"] for one in found} == {"cannot be decided"}
    assert len(found) == 2
    assert "is in no archive" in found[0]["why"]
    records.write(lines[1:])
    done = records.replay()
    assert done.status == 3
    assert done.out.count("the first line of its run is not in the log") == 3


def test_what_would_change_is_listed(records: Records) -> None:
    """For another agent: status 1. By another document that says the same: 0."""
    done = records.replay("--agent", "other")
    assert done.status == 1
    (line,) = done.out.splitlines()
    assert "would change: http" in line
    assert line.endswith("allowed, then disallowed by Disallow: / (line 5, group other)")
    assert done.err == "scrapy robots replay: 3 decisions: 3 agree, 1 would change\n"
    done = records.replay("--rep-profile", "google")
    assert (done.status, done.out) == (0, "")


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """What a crawl recorded of a site that refuses, and of one that is six redirects away."""
    folder = tmp_path_factory.mktemp("refused")
    log = folder / "decisions.jsonl"
    settings = by_hand(
        REP_DECISION_LOG=str(log), REP_DECISIONS="all", REP_WARC=str(folder / "robots.warc.gz")
    )
    with Site() as site:
        hops = {f"/r{number}": redirect(f"/r{number + 1}") for number in range(1, 6)}
        far = site.authority(redirect("/r1"), pages={**hops, "/r6": Reply.text(TEXT)})
        plans = [site.authority(Reply(403)).url("/a"), far.url("/private")]
        result = crawl_in_child(settings=settings, plans=plans).check()
    assert result.downloaded == plans
    return Records(log, folder / "robots.warc.gz")


def test_a_profile_brings_its_other_defaults(refused: Records) -> None:
    """A 403 closes a site, and a redirect is followed that the crawl did not follow: status 1."""
    done = refused.replay("--rep-profile", "kollar", "--format", "jsonl")
    lines = map(json.loads, done.out.splitlines())
    found = {line["url"][-2:]: (line["finding"], line["why"]) for line in lines}
    assert found["/a"] == ("would change", "allowed, then disallowed (access denied (403))")
    finding, why = found["te"]
    assert finding == "may change"
    assert re.fullmatch("the redirect in the record urn:uuid:[0-9a-f-]+ would be followed", why)
    said = "2 decisions: 2 agree, 1 would change, 1 may change"
    assert (done.status, done.err) == (1, f"scrapy robots replay: {said}\n")


def test_what_may_change_is_status_3(refused: Records, tmp_path: Path) -> None:
    """If nothing is known to change."""
    run, *decisions = refused.lines
    records = refused._replace(log=tmp_path / "decisions.jsonl")
    records.write([run, *(line for line in decisions if line["status"] != 403)])
    done = records.replay("--rep-profile", "kollar")
    assert done.status == 3
    assert done.out.count("may change: http") == 1
    assert done.err == "scrapy robots replay: 1 decision: 1 agree, 0 would change, 1 may change\n"
    assert records.replay("--rep-profile", "google").status == 0


def test_a_profile_that_the_settings_of_a_run_do_not_allow_is_status_2(
    refused: Records, tmp_path: Path
) -> None:
    """A crawl by it would not have started."""
    run, *decisions = refused.lines
    policy = {**run["policy"], "max_ttl": 604_800.0}
    records = refused._replace(log=tmp_path / "decisions.jsonl")
    records.write([{**run, "profile": "1996", "policy": policy, "by_profile": []}, *decisions])
    done = records.replay("--rep-profile", "google")
    assert (done.status, done.out) == (2, "")
    assert "line 1: REP_MAX_TTL = 604800: must be at most 86400 seconds in the profile" in done.err


def test_the_archive_of_a_crawl_that_was_killed_is_read(records: Records, tmp_path: Path) -> None:
    """Up to its last whole record; the log, without its last, half line."""
    with records.log.open("a") as log:
        log.write('{"crawl":"half')
    octets = records.archive.read_bytes()
    (tmp_path / "cut").write_bytes(octets[:-20])
    done = robots("replay", records.log, "--warc", records.archive, "--warc", tmp_path / "cut")
    assert done.status == 0
    assert "cut ends within a record; what is before it is read\n" in done.err
    assert "1 line that is not JSON: passed over\n" in done.err


def test_a_byte_order_mark_hides_no_line(records: Records) -> None:
    """An editor may have put one before the first line, which is that of the run."""
    records.log.write_bytes(b"\xef\xbb\xbf" + records.log.read_bytes())
    assert records.replay() == (0, "", "scrapy robots replay: 3 decisions: 3 agree\n")


def test_hostile_text_never_reaches_the_terminal(records: Records) -> None:
    """Of a log that was changed: whatever is printed of it is escaped."""
    evil = "\x1b[2J\x07\u202e\r\n"
    lines = records.lines
    hostile: list[dict[str, Any]] = []
    for line in lines[1:]:
        hostile += [
            {**line, "url": line["url"] + evil},
            {**line, "url": f"http://{evil}/"},
            {**line, "rule": evil, "group": evil, "reason": evil, "override": evil},
            {**line, "without": {**dict.fromkeys(["rule", "group", "line"]), "allowed": True}},
            {**line, "authority": evil},
            {**line, "authority": line["authority"] + "/p?q#f"},
            {**line, "url": line["url"] + "\ud800"},
        ]
    for bad in hostile:
        bad["without"] = None if bad["without"] is None else {**bad["without"], "reason": evil}
    for form in ("text", "jsonl"):
        records.write([lines[0], *hostile])
        done = records.replay("--format", form)
        assert done.status == 1
        assert all(c.isprintable() or c == "\n" for c in done.out + done.err)
        assert len(done.out.splitlines()) >= 12


BAD_LINES: list[tuple[Any, str]] = [
    ([], "its type is neither run nor decision"),
    ({"type": "decision"}, "it has no crawl"),
    ({"time": "2026-13-99T99:99:99.000Z"}, "time is not a time"),
    ({"allowed": "yes"}, "allowed is not boolean"),
    ({"line": 0}, "line is less than 1"),
    ({"line": True}, "line is not integer or null"),
    ({"age": 10**400}, "age is not number or null"),
    ({"age": True}, "age is not number or null"),
    ({"digest": "md5:0"}, "digest is not of the form"),
    ({"more\x1b": 1}, r"it has an unknown field more\x1b"),
    ({"outcome": "good"}, "outcome is not one of"),
    ({"without": {}}, "without has no allowed"),
]
BAD_RUNS: list[tuple[dict[str, Any], str]] = [
    ({"schema": 2}, "its schema is version 2"),
    ({"timeout": 10**400}, "timeout is not number"),
    ({"profile": "rfc1"}, "it has no usable profile: must be one of"),
    ({"policy": {}}, "its policy has no usable max_ttl"),
    ({"by_profile": ["timeout"]}, "an item of by_profile is not one of access_denied"),
    ({"by_profile": [["max_ttl"]]}, "an item of by_profile is not one of access_denied"),
    ({"purposes": ["fun"]}, "it has no usable purposes: must be a list of"),
    ({"preferences": "maybe"}, "preferences is not one of"),
]
OVERRIDE = {
    "entry": 1,
    "authority": "http://a.example",
    "action": "agent",
    "paths": [],
    "value": None,
    "reason": "a",
    "by": "b",
    "until": "2026-12-01",
}
BAD_RUNS += [
    ({"overrides": [{**OVERRIDE, "value": 10**400}]}, "value is not number or array"),
]
BAD_RUNS += [
    ({"overrides": [{**OVERRIDE, **bad}]}, "its override 1 is not one: ")
    for bad in (
        {},
        {"action": "delay", "value": ["x"]},
        {"action": "profile", "value": ["google"]},
        {"action": "agent", "value": 3},
        {"action": "none"},
        {"until": "tomorrow"},
        {"authority": "http://["},
        {"authority": "ftp://a"},
        {"action": "forbid", "until": "9999-12-31"},
        {"action": "forbid", "paths": ["/\ud800"]},
    )
]


def test_a_log_that_is_not_right_is_status_2(records: Records) -> None:
    """With the number of the line, and what is wrong: one line, no traceback."""
    run, *decisions = records.lines
    cases = [
        (
            [run, {**decisions[0], **bad} if isinstance(bad, dict) and "type" not in bad else bad],
            2,
            said,
        )
        for bad, said in BAD_LINES
    ]
    cases += [([{**run, **bad}, *decisions], 1, said) for bad, said in BAD_RUNS]
    for lines, number, said in cases:
        records.write(lines)
        done = records.replay()
        assert done.status == 2, lines
        assert f"line {number}" in done.err
        assert said in done.err
        assert done.err.count("\n") == 1


def test_a_number_that_no_float_can_be_is_none(records: Records) -> None:
    """In JSON it is one all the same; Python makes infinity of it."""
    run, *decisions = records.lines
    text = json.dumps({**decisions[0], "age": 12345.25}).replace("12345.25", "1e400")
    records.log.write_text(f"{json.dumps(run)}\n{text}\n")
    done = records.replay()
    assert (done.status, done.out) == (2, "")
    assert "line 2 is not one of a decision log: age is not number or null" in done.err


def test_a_line_that_is_far_too_long_is_passed_over_as_one(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end is not read as a line of its own."""
    monkeypatch.setattr("scrapy_rep.recording.log_reader._LONGEST_LINE", 5_000)
    first, *rest = records.log.read_bytes().splitlines(keepends=True)
    for before in (b" " * 5_000, b"x" * 4_999, b"x" * 12_345):
        records.log.write_bytes(b"".join([first, before, *rest]))
        found = list(read_log(str(records.log)))
        assert [one if isinstance(one, int) else one.number for one in found] == [1, 2, 3, 4]
        assert found[1] == 2
    records.log.write_bytes(first + b"x" * 5_000)
    assert list(read_log(str(records.log)))[1:] == [2]


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (b"", "has no decisions"),
        (b"\x00\xff\x1b[2J", "has no decisions"),
        (b"[" * 100_000, "has no decisions"),
        (b"1" * 10_000, "has no decisions"),
        (b"{}\n", "neither run nor decision"),
    ],
)
def test_a_file_that_is_not_a_log_is_status_2(records: Records, octets: bytes, said: str) -> None:
    """Whatever is in it."""
    records.log.write_bytes(octets)
    done = records.replay()
    assert (done.status, done.out) == (2, "")
    assert said in done.err


NO_ARCHIVES = [
    b"",
    b"no archive",
    b"\x1f\x8b\x08\x00",
    b"\x1f\x8b\x08\x07",
    b"WARC/1.1\r\n",
    bytes(50_000_000),
    gzip.compress(bytes(50_000_000), mtime=0),
    gzip.compress(b"no archive", mtime=0),
    None,
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("octets", NO_ARCHIVES, ids=range(len(NO_ARCHIVES)))
def test_a_file_that_is_not_an_archive_is_status_2(
    records: Records, tmp_path: Path, octets: bytes | None
) -> None:
    """Or that is not there."""
    bad = tmp_path / "bad"
    if octets is not None:
        bad.write_bytes(octets)
    done = records._replace(archive=bad).replay()
    assert (done.status, done.out) == (2, "")
    assert "is not a WARC file" in done.err or "cannot read" in done.err
    assert done.err.count("\n") == 1


def test_an_archive_is_needed(records: Records) -> None:
    """Without one nothing can be decided."""
    done = robots("replay", records.log)
    assert done.status == 2
    assert "--warc" in done.err
