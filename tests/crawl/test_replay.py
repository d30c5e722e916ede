"""Recorded crawls are decided again from their archives: all agree, and each change is found."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from scrapy_rep.recording.chronology import Chronology
from scrapy_rep.recording.log_reader import LogLine, read_log
from scrapy_rep.recording.recorded_run import RecordedRun
from scrapy_rep.recording.replay import Replay, Result
from scrapy_rep.recording.warc_reader import ArchiveIndex
from tests.crawl.clock import Ahead, take_over
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.recorded_crawl import RecordedCrawl
from tests.replies import Reply, Reset
from tests.rows import first
from tests.site import Site


def index_of(paths: list[Path]) -> ArchiveIndex:
    """The records of some archives."""
    archives = ArchiveIndex()
    for path in paths:
        assert archives.add(str(path))
    return archives


def archives_in(folder: Path) -> list[Path]:
    """The archives in a folder."""
    return sorted(folder.glob("robots-*.warc.gz"))


def lines_of(log: Path) -> list[dict[str, Any]]:
    """The lines of a log, checked against the schema."""
    found = list(read_log(str(log)))
    assert all(isinstance(line, LogLine) for line in found)
    return [line.fields for line in found if isinstance(line, LogLine)]


def results(log: Path, archives: list[Path]) -> list[tuple[Result, str, dict[str, Any]]]:
    """What comes of each decision."""
    with index_of(archives) as index:
        replay, runs, found = Replay(index), {}, []
        for line in lines_of(log):
            if line["type"] == "run":
                runs[line["crawl"]] = RecordedRun(line)
            else:
                times = runs[line["crawl"]].times
                assert times.goes_back(line) == times.fault(line) == ""
                one = replay.decide(line, runs[line["crawl"]])
                found.append((one.result, one.why, line))
        return found


def disagreeing(found: list[tuple[Result, str, dict[str, Any]]]) -> list[Any]:
    """Those that neither agree nor follow from something else."""
    return [one for one in found if one[0] in (Result.DIFFERS, Result.UNKNOWN)]


def overrides_for(recorded: RecordedCrawl) -> list[dict[str, Any]]:
    """One of each kind, for sites that come first."""
    until = (datetime.now(timezone.utc).date() + timedelta(days=3)).isoformat()
    kinds = [
        {"action": "allow", "paths": ["/a", "/*.gif"]},
        {"action": "forbid", "paths": ["/b"]},
        {"action": "unreachable-is-allowed"},
        {"action": "agent", "agent": ["otherbot"]},
        {"action": "delay", "delay": 0},
    ]
    about = {"reason": "ours", "by": "ops", "until": until}
    return [
        {"authority": site.url("/"), **kinds[number % len(kinds)], **about}
        for number, site in enumerate(recorded.sites[:42])
    ]


async def crawled(site: Site, folder: Path, clock: Ahead, seed: int, count: int) -> RecordedCrawl:
    """Four runs with one store: two with overrides, one days later, one by another document."""
    recorded = RecordedCrawl(site, folder, seed, count)
    overrides = overrides_for(recorded)
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 3_000
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 1.5 * 86_400
    await recorded.run(REP_OVERRIDES=overrides)
    clock.seconds = 9 * 86_400
    await recorded.run(REP_PROFILE="1996", REP_PREFERENCES="report")
    return recorded


@pytest.mark.parametrize("seed", first(0, [1, 2]))
@ensureDeferred
async def test_a_random_crawl_agrees_with_its_archive(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """60 authorities of all outcomes, four runs with one store: every decision."""
    recorded = await crawled(site, tmp_path, take_over(monkeypatch), seed, 60)
    found = results(recorded.log, recorded.archives)
    assert disagreeing(found) == []
    outcomes = {line["outcome"] for _, _, line in found}
    assert {"rules", "stale", "unavailable", "denied", "unreachable"} <= outcomes
    reasons = " ".join({line["reason"] for _, _, line in found})
    for word in ("rule", "no group", "override", "disallows train-ai"):
        assert word in reasons
    assert "asks for" in reasons or seed != 1
    apart = [one for one in found if one[0] is Result.ELSEWHERE]
    assert len(apart) < len(found) / 10
    assert {line["reason"] for _, _, line in apart} == {"dont_obey_robotstxt"}


@pytest.mark.slow
@pytest.mark.timeout(600)
@ensureDeferred
async def test_a_large_random_crawl_agrees_with_its_archive(site: Site, tmp_path: Path) -> None:
    """1,000 authorities, by the clock of the machine, with a restart."""
    recorded = RecordedCrawl(site, tmp_path, 3, 1_000)
    for _ in range(2):
        await recorded.run(timeout=300, CONCURRENT_REQUESTS=64)
    found = results(recorded.log, recorded.archives)
    assert len(found) >= 6_000  # a request that does not obey may be tried again
    assert disagreeing(found) == []


FORGED = "urn:uuid:" + "0" * 8 + "-0000-4000-8000-" + "0" * 12


def later(time: str, seconds: float) -> str:
    """A time of a log, some seconds later."""
    moved = datetime.fromisoformat(time.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def tampered(
    line: dict[str, Any], others: list[dict[str, Any]]
) -> list[tuple[str, dict[str, Any]]]:
    """A line with each of its fields changed that the replay can tell, one at a time."""
    digest = line["digest"] or "sha256:" + "0" * 64
    changed = "sha256:" + digest[7:][::-1]
    without = {"allowed": True, "rule": None, "line": None, "group": None, "reason": "forged"}
    fields: dict[str, Any] = {
        "allowed": not line["allowed"],
        "line": 999,
        "digest": changed,
        "status": 299,
        "rule": "Disallow: /other",
        "group": "other",
        "reason": "forged",
        "preferences": {"tdm": "disallowed"},
        "override": "forged",
        "without": without,
        "profile": "kollar",
        "authority": "http://127.0.0.9",
        "record": FORGED,
        "failure_record": FORGED,
        "cause": "forged",
        "delay": 12_345.0,
    }
    records = [one["record"] for one in others if one["digest"] != line["digest"]]
    fields["age"] = None if line["age"] is not None else 1.0
    reasons = ("nofollow (meta)", "dont_obey_robotstxt", "unreachable")
    outcomes = ("rules", "stale", "unavailable", "denied", "unreachable", "unknown")
    changes = [
        *fields.items(),
        ("record", next(filter(None, records))),
        *(("reason", reason) for reason in reasons if reason != line["reason"]),
        *(("outcome", outcome) for outcome in outcomes if outcome != line["outcome"]),
    ]
    return [(name, {**line, name: value}) for name, value in changes]


@ensureDeferred
async def test_each_change_of_a_log_is_found(site: Site, tmp_path: Path) -> None:
    """A verdict, a line, a digest, a record, an outcome: of each decision, one change at a time."""
    recorded = RecordedCrawl(site, tmp_path, 4, 40)
    await recorded.run(each=2, REP_OVERRIDES=overrides_for(recorded))
    run, *decisions = lines_of(recorded.log)
    with index_of(recorded.archives) as index:
        replay, of_run = Replay(index), RecordedRun(run)
        count = 0
        for line in decisions:
            before = replay.decide(line, of_run)
            is_elsewhere = before.result is Result.ELSEWHERE
            assert is_elsewhere or before.result is Result.AGREES
            for name, other in tampered(line, decisions):
                after = replay.decide(other, of_run)
                # Another record, or that of another outcome, may be missing.
                may_lack = name in ("record", "failure_record", "outcome") or is_elsewhere
                expected = {Result.DIFFERS, *([Result.UNKNOWN] if may_lack else [])}
                assert after.result in expected, (name, line, after)
                count += 1
        assert count > 1_500


@pytest.mark.parametrize("seconds", first(1, [-0.5, 0.5, -3_600, 3_600]))
@ensureDeferred
async def test_each_change_of_a_time_is_found(site: Site, tmp_path: Path, seconds: float) -> None:
    """By the archive, by the age of the same copy in another line, or by the order of the lines."""
    recorded = RecordedCrawl(site, tmp_path, 4, 40)
    await recorded.run(each=2, REP_OVERRIDES=overrides_for(recorded))
    run, *decisions = lines_of(recorded.log)

    def chronology(lines: list[dict[str, Any]]) -> list[str]:
        kept = Chronology()
        return [fault for line in lines if (fault := kept.goes_back(line) or kept.fault(line))]

    assert chronology([run, *decisions]) == []
    with index_of(recorded.archives) as index:
        replay, of_run, count = Replay(index), RecordedRun(run), 0
        for number, line in enumerate(decisions):
            for name in ("time", "age") if line["age"] is not None else ("time",):
                value = later(line[name], seconds) if name == "time" else line[name] + seconds
                if name == "age" and value < 0:
                    continue
                other = {**line, name: value}
                found = replay.decide(other, of_run).result in (Result.DIFFERS, Result.UNKNOWN)
                changed = [run, *decisions[:number], other, *decisions[number + 1 :]]
                is_found = found or chronology(changed) != []
                assert is_found or _nothing_contradicts(name, line, decisions, seconds), other
                count += is_found
        assert count > 0.8 * len(decisions)


def _nothing_contradicts(
    name: str, line: dict[str, Any], decisions: list[dict[str, Any]], seconds: float
) -> bool:
    """Whether a changed time or age fits to all that is recorded."""
    names = ("record", "failure_record")
    resting = [one for one in decisions if all(one[name] == line[name] for name in names)]
    is_alone = len(resting) == 1 or not any(line[name] for name in names)
    if name == "age":
        # For how long a site was unreachable before the failure that is named, or a moment.
        return is_alone and (line["outcome"] == "unreachable" or abs(seconds) < 1)
    at, moved = decisions.index(line), later(line["time"], seconds)
    is_in_order = all(one["time"] <= moved for one in decisions[:at][-1:]) and all(
        moved <= one["time"] for one in decisions[at + 1 :][:1]
    )
    return is_alone and is_in_order and (line["age"] is None or abs(seconds) < 1)


@ensureDeferred
async def test_nothing_is_followed_before_it_was_fetched(site: Site, tmp_path: Path) -> None:
    """An answer or a failure: five seconds earlier the crawl did not know of it."""
    outcomes = (RULES, Reply(404), Reply(503), Reset())
    plans = [site.authority(one).url("/a") for one in outcomes]
    settings = obey(
        REP_DECISION_LOG=str(tmp_path / "decisions.jsonl"),
        REP_WARC=str(tmp_path / "robots.warc.gz"),
    )
    await crawl(settings=settings, plans=plans)
    run, *decisions = lines_of(tmp_path / "decisions.jsonl")
    with index_of(archives_in(tmp_path)) as index:
        replay, of_run = Replay(index), RecordedRun(run)
        for line in decisions:
            assert replay.decide(line, of_run).result is Result.AGREES
            early = {**line, "time": later(line["time"], -5)}
            assert replay.decide(early, of_run).result is Result.DIFFERS
    assert len(decisions) == len(outcomes)


@pytest.mark.parametrize("urls", ["full", "path", "hash"])
@ensureDeferred
async def test_a_request_for_unknown_rules_agrees(site: Site, tmp_path: Path, urls: str) -> None:
    """It is allowed whatever they say, so no record is needed; each change of its line is found."""
    shops = [site.authority(robots) for robots in (RULES, Reply(503))]
    settings = obey(
        REP_DECISION_LOG=str(tmp_path / "decisions.jsonl"),
        REP_DECISIONS="all",
        REP_WARC=str(tmp_path / "robots.warc.gz"),
        REP_LOG_URLS=urls,
    )
    plans = [
        {"url": shop.url(path), "dont_filter": True, "meta": {"dont_retry": True}}
        for shop in shops
        for path in ("/robots.txt", "/robots.txt#part")
    ]
    await crawl(settings=settings, plans=plans)
    run, *decisions = lines_of(tmp_path / "decisions.jsonl")
    assert [line["outcome"] for line in decisions] == ["unknown"] * 4
    changes = {
        "allowed": False,
        "reason": "rule",
        "rule": "Allow: /",
        "line": 1,
        "group": "*",
        "profile": "1994",
        "override": "forged",
        "preferences": {"tdm": "disallowed"},
    }
    with index_of(archives_in(tmp_path)) as index:
        replay, of_run = Replay(index), RecordedRun(run)
        for line in decisions:
            assert replay.decide(line, of_run).result is Result.AGREES
            for name, value in changes.items():
                found = replay.decide({**line, name: value}, of_run)
                assert found.result is Result.DIFFERS, name


@ensureDeferred
async def test_what_is_in_no_archive_is_not_decided(site: Site, tmp_path: Path) -> None:
    """Nothing agrees for want of a record: 3 is the status of the command."""
    recorded = RecordedCrawl(site, tmp_path, 5, 20)
    await recorded.run(each=1)
    (recorded.folder / "robots.db").unlink()
    first = recorded.archives
    await recorded.run(each=1)
    (second,) = set(recorded.archives) - set(first)
    found = results(recorded.log, [second])
    runs = [line["crawl"] for line in lines_of(recorded.log) if line["type"] == "run"]
    for result, why, line in found:
        if result is Result.ELSEWHERE:
            continue
        if line["crawl"] == runs[0]:
            assert result is Result.UNKNOWN
            assert "is in no archive" in why
        else:
            assert result is Result.AGREES


@ensureDeferred
async def test_a_copy_of_a_store_is_found_in_the_archive_of_another_run(
    site: Site, tmp_path: Path
) -> None:
    """Its record is stored with it; where it is not, the digest and the time find it."""
    shops = site.authorities(3, RULES)
    gone = site.authority(Reply(404))
    urls = [one.url(path) for one in (*shops, gone) for path in ("/a", "/private")]
    log = tmp_path / "decisions.jsonl"
    settings = obey(
        REP_DECISION_LOG=str(log),
        REP_DECISIONS="all",
        REP_STORE=f"sqlite://{tmp_path}/robots.db",
    )
    archive = {"REP_WARC": str(tmp_path / "robots.warc.gz")}
    (await crawl(settings={**settings, **archive}, plans=urls)).check()
    (await crawl(settings=settings, plans=urls)).check()
    (only,) = archives_in(tmp_path)
    lines = lines_of(log)
    of_store = [line for line in lines[9:] if line["type"] == "decision"]
    assert len(of_store) == 8
    assert all(line["record"] for line in of_store)
    forgotten = [{**line, "record": None} if "record" in line else line for line in lines]
    log.write_text("".join(json.dumps(line) + "\n" for line in forgotten))
    found = results(log, [only])
    assert {result for result, _, _ in found} == {Result.AGREES}
    assert len(found) == 16


@ensureDeferred
async def test_urls_that_are_not_in_the_log_are_not_decided(site: Site, tmp_path: Path) -> None:
    """REP_LOG_URLS: a digest is no URL; without its query, one that disagrees may have had one."""
    shop = site.authority("User-agent: *\nDisallow: /*?\n")
    gone = site.authority(Reply(404))
    urls = [shop.url("/a"), shop.url("/a?b"), gone.url("/a")]
    expected = {
        "hash": [Result.UNKNOWN, Result.UNKNOWN, Result.AGREES],
        "path": [Result.AGREES, Result.UNKNOWN, Result.AGREES],
    }
    for mode, wanted in expected.items():
        folder = tmp_path / mode
        folder.mkdir()
        log = folder / "decisions.jsonl"
        settings = obey(
            REP_DECISION_LOG=str(log),
            REP_DECISIONS="all",
            REP_LOG_URLS=mode,
            REP_WARC=str(folder / "robots.warc.gz"),
            CONCURRENT_REQUESTS=1,
        )
        (await crawl(settings=settings, plans=urls)).check()
        found = results(log, archives_in(folder))
        of_site = {(line["authority"], line["allowed"]): one for one, _, line in found}
        assert [
            of_site[f"http://{shop.host}:{shop.port}", True],
            of_site[f"http://{shop.host}:{shop.port}", False],
            of_site[f"http://{gone.host}:{gone.port}", True],
        ] == wanted


@ensureDeferred
async def test_nothing_is_guessed_of_a_url_that_is_only_a_digest(
    site: Site, tmp_path: Path
) -> None:
    """It may be covered by an override; that of the robots.txt itself is known."""
    gone, down, own = site.authority(Reply(404)), site.authority(Reply(503)), site.authority()
    about = {"reason": "ours", "by": "ops", "authority": own.url("/")}
    until = (datetime.now(timezone.utc).date() + timedelta(days=3)).isoformat()
    settings = obey(
        REP_DECISION_LOG=str(tmp_path / "decisions.jsonl"),
        REP_DECISIONS="all",
        REP_WARC=str(tmp_path / "robots.warc.gz"),
        REP_LOG_URLS="hash",
        REP_OVERRIDES=[{"action": "forbid", "paths": ["/x"], "until": until, **about}],
    )
    urls = [gone.url("/a"), down.url("/a"), own.url("/x"), own.url("/a")]
    await crawl(settings=settings, plans=[*urls, down.url("/robots.txt#part")])
    found = results(tmp_path / "decisions.jsonl", archives_in(tmp_path))
    assert {(line["authority"], line["allowed"]): (result, why) for result, why, line in found} == {
        (gone.url(""), True): (Result.AGREES, ""),
        (down.url(""), False): (Result.AGREES, ""),
        (down.url(""), True): (Result.AGREES, ""),
        (own.url(""), False): (Result.UNKNOWN, "its URL is not in the log"),
        (own.url(""), True): (Result.UNKNOWN, "its URL is not in the log"),
    }


@ensureDeferred
async def test_an_interval_of_less_than_a_millisecond_agrees(site: Site, tmp_path: Path) -> None:
    """`Request-rate: 5000/1` asks for 0.0002 s, which a log in milliseconds does not show."""
    quick = site.authority("User-agent: *\nRequest-rate: 5000/1\n")
    log = tmp_path / "decisions.jsonl"
    settings = obey(
        REP_DECISION_LOG=str(log),
        REP_DECISIONS="all",
        REP_WARC=str(tmp_path / "robots.warc.gz"),
    )
    await crawl(settings=settings, plans=[quick.url("/a"), quick.url("/b")])
    found = results(log, archives_in(tmp_path))
    assert [(result, line["delay"]) for result, _, line in found] == [(Result.AGREES, None)] * 2


@ensureDeferred
async def test_a_fault_of_the_crawler_is_counted_apart(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line rests on no record, because no answer of the site led to it."""

    def fail(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    monkeypatch.setattr("scrapy_rep.caching.refresh.learn", fail)
    log = tmp_path / "decisions.jsonl"
    settings = obey(REP_DECISION_LOG=str(log), REP_WARC=str(tmp_path / "robots.warc.gz"))
    crawled = await crawl(settings=settings, plans=[site.authority(RULES).url("/a")])
    assert crawled.downloaded == []
    ((result, why, line),) = results(log, archives_in(tmp_path))
    assert (result, why) == (Result.ELSEWHERE, "the crawler failed: error")
    assert (line["outcome"], line["cause"]) == ("unreachable", "error")
