"""``scrapy robots replay``: do recorded decisions follow from an archive?"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.commands.endings import Status, usage_error, why
from scrapy_rep.commands.terminal import note, painted, say
from scrapy_rep.recording.archive import NEEDS_WARCIO, SUFFIX
from scrapy_rep.recording.log_reader import LogError, LogLine, read_log
from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Replay, Replayed, Result
from scrapy_rep.recording.warc_reader import ArchiveError, ArchiveIndex
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.robotstxt.verdict import Verdict

_COLOURS = {Result.DIFFERS: "red", Result.UNKNOWN: "yellow"}
_NAMES = {
    Result.AGREES: "agree",
    Result.DIFFERS: "differ",
    Result.UNKNOWN: "cannot be decided",
    Result.ELSEWHERE: "do not follow from a robots.txt",
}
_CHANGES = "would change"
_MAY_CHANGE = "may change"
"""What the options make of a decision; the latter if the archive does not tell."""


class _Runs(NamedTuple):
    """The first line of a run, and the run as it was recorded and as it is asked for."""

    line: dict[str, Any]
    recorded: RecordedRun
    other: RecordedRun


class _DecidedAgain(NamedTuple):
    """What comes of a decision, what would under the options, and how the time goes back in it."""

    line: LogLine
    replayed: Replayed
    other: Replayed | None = None
    goes_back: str = ""


def needs_crawl(options: Namespace) -> bool:
    """Return False: a replay asks no site."""
    return False


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Decide each decision of a log again, and print those that do not agree, or would change."""
    with ArchiveIndex() as archives:
        for name in options.warc:
            for file in _files(name):
                _add(archives, file)
        return _run(options, archives)


def _run(options: Namespace, archives: ArchiveIndex) -> Status:
    found: Counter[Result] = Counter()
    otherwise: Counter[str] = Counter()
    steps = 0
    for line, replayed, other, goes_back in _replayed(options, archives):
        found[replayed.result] += 1
        if goes_back:
            steps += 1
            _show(options, line, "time goes back", goes_back)
        if replayed.result in (Result.DIFFERS, Result.UNKNOWN):
            _show(options, line, replayed.result.value, replayed.why)
        elif other is not None:
            finding, why = _otherwise(line, other)
            otherwise[finding] += 1
            if finding:
                _show(options, line, finding, why)
    if not found:
        raise usage_error(f"{options.decisions} has no decisions")
    _note_counts(options, found, otherwise, steps)
    if found[Result.DIFFERS] or otherwise[_CHANGES] or steps:
        return Status.FOUND
    return Status.UNKNOWN if found[Result.UNKNOWN] or otherwise[_MAY_CHANGE] else Status.CLEAN


def _note_counts(
    options: Namespace, found: Counter[Result], otherwise: Counter[str], steps: int
) -> None:
    """Say how many decisions have which result."""
    told = ", ".join(f"{found[one]:,} {name}" for one, name in _NAMES.items() if found[one])
    if options.agent or options.rep_profile:
        told += f", {otherwise[_CHANGES]:,} {_CHANGES}"
    if otherwise[_MAY_CHANGE]:
        told += f", {otherwise[_MAY_CHANGE]:,} {_MAY_CHANGE}"
    if steps:
        told += "; the time goes back" + (f" {steps:,} times" if steps > 1 else " once")
    decisions = found.total()
    note("replay", f"{decisions:,} decision{'s' * (decisions > 1)}: {told}")


def _otherwise(line: LogLine, other: Replayed) -> tuple[str, str]:
    """Return what the options make of a decision, and why; "" if they make no difference."""
    verdict = other.verdict
    if verdict is None:
        return _MAY_CHANGE, other.why
    if verdict.allowed == line.fields["allowed"]:
        return "", ""
    before = "allowed" if line.fields["allowed"] else "disallowed"
    return _CHANGES, f"{before}, then {_told(verdict)}"


def _files(name: str) -> list[str]:
    """Return the archive of that name, or those of all runs that had it in ``REP_WARC``.

    A run that was killed at once leaves a file without octets, which is passed over.
    """
    path = Path(name)
    if path.exists() or not path.name.endswith(SUFFIX):
        return [name]
    # Nothing but the name says what is the time and the run; the rest of the name may be a pattern.
    stem = escape(path.name.removesuffix(SUFFIX))
    runs = path.parent.glob(f"{stem}-{'[0-9]' * 14}-{'[0-9a-f]' * 8}{SUFFIX}*")
    return [str(run) for run in sorted(runs) if run.stat().st_size] or [name]


def _add(archives: ArchiveIndex, file: str) -> None:
    """Read an archive; raise ``EndingError``."""
    try:
        if not archives.add(file):
            note("replay", f"{file} ends within a record; what is before it is read")
    except ImportError:
        raise usage_error(f"reading archives {NEEDS_WARCIO}") from None
    except ArchiveError as error:
        raise usage_error(str(error)) from None
    except OSError as error:
        raise usage_error(f"cannot read {file}: {why(error)}") from None


def _replayed(options: Namespace, archives: ArchiveIndex) -> Iterator[_DecidedAgain]:
    """Yield what comes of each decision. Raises ``EndingError``."""
    replay = Replay(archives)
    other = Replay(archives, tuple(options.agent or ()) or None)
    compares = not (options.agent or options.rep_profile)
    runs: dict[str, _Runs] = {}
    broken = 0
    for line in _lines(options.decisions):
        if isinstance(line, int):
            broken += 1
            continue
        if line.is_run:
            runs[line.fields["crawl"]] = _begun(line, options, runs.get(line.fields["crawl"]))
            continue
        run = runs.get(line.fields["crawl"])
        if run is None:
            missing = "the first line of its run is not in the log"
            yield _DecidedAgain(line, Replayed(Result.UNKNOWN, missing))
            continue
        times = run.recorded.times
        goes_back = times.goes_back(line.fields)
        replayed = replay.decide(line.fields, run.recorded)
        fault = times.fault(line.fields)
        if fault and replayed.result is not Result.DIFFERS:
            replayed = Replayed(Result.DIFFERS, fault)
        again = None
        if not compares and replayed.result is Result.AGREES:
            again = other.decide(line.fields, run.other, compares=False)
        yield _DecidedAgain(line, replayed, again, goes_back)
    if broken:
        which = "line that is" if broken == 1 else "lines that are"
        note("replay", f"{broken:,} {which} not JSON: passed over")


def _begun(line: LogLine, options: Namespace, before: _Runs | None) -> _Runs:
    """Return a run that a line begins; ``before`` if the line only comes a second time."""
    if before is not None:
        if before.line != line.fields:
            said = f"another line says otherwise how its run {before.recorded.name} begins"
            raise usage_error(f"{options.decisions}, line {line.number}: {said}")
        return before
    try:
        recorded = RecordedRun(line.fields)
        other = RecordedRun(line.fields, options.rep_profile) if options.rep_profile else recorded
    except ValueError as error:
        raise usage_error(f"{options.decisions}, line {line.number}: {error}") from None
    other.times = recorded.times
    return _Runs(line.fields, recorded, other)


def _lines(file: str) -> Iterator[LogLine | int]:
    try:
        yield from read_log(file)
    except LogError as error:
        raise usage_error(f"{file}: {error}") from None
    except OSError as error:
        raise usage_error(f"cannot read {file}: {why(error)}") from None


def _told(verdict: Verdict) -> str:
    word = "allowed" if verdict.allowed else "disallowed"
    if verdict.rule is None:
        return f"{word} ({verdict.reason})"
    return f"{word} by {verdict.rule} (line {verdict.line}, group {verdict.group})"


def _show(options: Namespace, line: LogLine, result: str, why: str) -> None:
    """Print a decision that does not agree, or would change."""
    fields: dict[str, Any] = {
        "line": line.number,
        "url": line.fields["url"],
        "finding": result,
        "why": why,
    }
    if options.format == "jsonl":
        say(json.dumps(fields))
        return
    colour = next((one for key, one in _COLOURS.items() if key.value == result), "bold")
    url = escaped(line.fields["url"])
    say(f"line {line.number}: {painted(result, colour)}: {url}: {escaped(why)}")
