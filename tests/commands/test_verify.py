"""`scrapy robots verify`: the decisions by rules of a log follow from the archive, or do not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import robots
from tests.crawl.clock import take_over
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.crawl.recorded_crawl import RecordedCrawl
from tests.crawl.spiders import OneByOneSpider
from tests.replies import Reply, redirect
from tests.site import Site


class Records:
    """A log and the archives of crawls in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "decisions.jsonl"

    def settings(self, **more: Any) -> dict[str, Any]:
        """Those of a crawl that keeps both."""
        return obey(
            REP_DECISION_LOG=str(self.log),
            REP_DECISIONS="all",
            REP_WARC=str(self.folder / "robots.warc.gz"),
            ROBOTSTXT_USER_AGENT="mybot",
            **more,
        )

    def verify(self, *words: object) -> Any:
        """What the command says of them."""
        archives = sorted(self.folder.glob("robots-*.warc.gz*"))
        return robots("verify", self.log, "--warc", *archives, *words)

    def assert_undecided(self, why: str) -> None:
        """Not every decision could be compared, and the reason is given."""
        ended = self.verify()
        assert (ended.status, why in ended.err) == (3, True), ended

    def change(self, change: Callable[[dict[str, Any]], None], number: int = -1) -> None:
        """Change a line."""
        lines = [json.loads(line) for line in self.log.read_bytes().splitlines()]
        change(lines[number])
        self.log.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """A folder for them."""
    return Records(tmp_path)


async def one_decision(records: Records, site: Site, **more: Any) -> str:
    """The URL of a request that a rule refused."""
    shop = site.authority(RULES)
    url = shop.url("/private/a?b")
    (await crawl(settings=records.settings(**more), plans=[url])).check()
    return url


async def test_decisions_by_rules_agree(
    site: Site, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After redirects, after a 304 and by the last good copy, too."""
    clock = take_over(monkeypatch)
    shop = site.authority([Reply(200, RULES, {"ETag": '"a"'}), Reply(304), Reply(503)])
    moved = site.authority(redirect(site.authority(RULES).url("/elsewhere")))
    gone = site.authority(Reply(404))
    plans = [one.url(path) for one in (shop, moved) for path in ("/private/x", "/a")]
    plans += [gone.url("/a"), shop.url("/private/y"), shop.url("/private/z")]
    times = [0, 0, 0, 0, 0, 1.1, 2.2, 2.2]

    def tick(ended: int) -> None:
        clock.seconds = times[ended] * 86_400

    settings = records.settings(REP_RETRY_DELAYS=[])
    (await crawl(OneByOneSpider, settings, plans=plans, tick=tick)).check(["is unreachable"])
    said = "scrapy robots verify: 7 decisions: 6 confirmed, 1 not by rules\n"
    assert records.verify() == (0, "", said)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
async def test_no_decision_of_a_random_crawl_differs(site: Site, tmp_path: Path, seed: int) -> None:
    """Whatever sites answer, and whatever has a say besides their rules."""
    recorded = RecordedCrawl(site, tmp_path, seed, 30)
    await recorded.run()
    await recorded.run()
    ended = Records(tmp_path).verify()
    assert ended.status == 0, ended
    assert "contradicted" not in ended.err
    assert int(ended.err.split("decisions: ")[1].split(" confirmed")[0]) > 50


CHANGES = [
    {"allowed": True}, {"rule": "Disallow: /"}, {"line": 1}, {"group": "mybot"},
    {"url": "http://127.0.0.1/a"}, {"digest": f"sha256:{'0' * 64}"},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
async def test_a_changed_decision_differs(
    site: Site, records: Records, change: dict[str, Any]
) -> None:
    """Status 1, and a line that says what the archive says."""
    await one_decision(records, site)
    records.change(lambda line: line.update(change))
    ended = records.verify()
    assert ended.status == 1
    assert ended.out.startswith(f"{records.log}:2: http://127.")
    assert "archive" in ended.out or "its URL is not one of http://127." in ended.out
    assert ended.err.endswith("1 decision: 1 contradicted\n")
    found = json.loads(records.verify("--format", "json").out)
    assert [one["result"] for one in found["results"]] == ["contradicted"]


def verdict(line: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a line."""
    return {name: line[name] for name in ("allowed", "rule", "line", "group", "reason")}


def pass_for(line: dict[str, Any], reason: str, **more: Any) -> None:
    """Make a refusal by a rule one of a request that passed for another reason."""
    line |= {"allowed": True, "rule": None, "line": None, "group": None, "reason": reason, **more}


def assert_contradicted(records: Records, why: str) -> None:
    """One decision is, for this reason."""
    ended = records.verify()
    assert (ended.status, ended.out.count("\n"), why in ended.out) == (1, 1, True), ended


async def test_record_of_another_site_is_no_evidence(site: Site, records: Records) -> None:
    """Although its rules say the same, and its digest is named."""
    shops = [site.authority(RULES + f"# {name}\n") for name in "ab"]
    urls = [shop.url("/private/a") for shop in shops]
    (await crawl(settings=records.settings(), plans=urls)).check()
    lines = [json.loads(line) for line in records.log.read_bytes().splitlines()]
    kept = {name: lines[1][name] for name in ("record", "digest")}
    records.change(lambda line: line.update(kept))
    assert_contradicted(records, f"its record in the archive is of {lines[1]['authority']}/robots")


async def test_site_of_a_line_is_that_of_its_url(site: Site, records: Records) -> None:
    """Where the log has only paths, too; whether a rule has decided or not."""
    await one_decision(records, site, REP_LOG_URLS="path")
    records.change(lambda line: line.update(authority="http://127.9.9.9"))
    assert_contradicted(records, "its URL is not one of http://127.9.9.9")
    records.change(lambda line: line.update(authority=None))
    assert_contradicted(records, "its URL is not one of None")
    records.change(lambda line: pass_for(line, "unreachable", authority="ftp://e.org", digest=None))
    assert_contradicted(records, "its URL is not one of ftp://e.org")


async def test_record_with_another_address_is_no_evidence(site: Site, records: Records) -> None:
    """The archive was changed."""
    url = await one_decision(records, site)
    [archive] = records.folder.glob("robots-*.warc.gz")
    origin = url.partition("/private")[0]
    other = origin[:-1] + ("1" if origin[-1] != "1" else "2")
    octets = gzip.decompress(archive.read_bytes())
    field = b"WARC-Target-URI: %b/robots.txt"
    assert field % origin.encode() in octets
    octets = octets.replace(field % origin.encode(), field % other.encode())
    archive.write_bytes(gzip.compress(octets))
    assert_contradicted(records, f"its record in the archive is of {other}/robots.txt")


async def test_override_of_a_line_is_one_of_its_run(site: Site, records: Records) -> None:
    """Of the same site; one that was made up is not, with or without the verdict without it."""
    url = await one_decision(records, site)
    allows = "allow, entry 1: our own site (ops@example.org, until 2099-01-01)"
    why = "the first line of its run has no such override of its site"
    whole = records.log.read_bytes()
    for name, without in ((allows, verdict), (None, verdict), (allows, lambda _: None)):
        records.log.write_bytes(whole)
        records.change(
            lambda line, name=name, without=without: pass_for(
                line, "override", override=name, without=without(line)
            )
        )
        assert_contradicted(records, why)
    entry = {"entry": 1, "action": "allow", "paths": [], "until": "2099-01-01"}
    entry |= {"tokens": [], "delay": 0.0}
    entry |= {"reason": "our own site", "by": "ops@example.org"}
    records.log.write_bytes(whole)
    records.change(lambda line: pass_for(line, "override", override=allows, without=verdict(line)))
    for authority, status in (("http://127.9.9.9", 1), (url.partition("/private")[0], 0)):
        entry["authority"] = authority
        records.change(lambda line: line.update(overrides=[entry]), 0)
        assert records.verify().status == status
    records.change(lambda line: line.update(allowed=False))
    assert_contradicted(records, "its override does not decide so")


NOWHERE = {"outcome": "unknown", "status": None, "digest": None, "record": None}


@pytest.mark.parametrize("reason", ["anything", "no rule matches", "robots.txt itself"])
@pytest.mark.parametrize("more", [{}, NOWHERE], ids=["by its rules", "by nothing"])
async def test_no_request_passes_for_another_reason(
    site: Site, records: Records, reason: str, more: dict[str, Any]
) -> None:
    """A refusal by a rule was made a page that nothing refuses."""
    await one_decision(records, site)
    records.change(lambda line: pass_for(line, reason, **more))
    is_asked_again = reason != "anything" and not more
    assert_contradicted(records, "by the archive" if is_asked_again else "no request passes for")


async def test_a_denied_site_is_not_one_without_rules(site: Site, records: Records) -> None:
    """If the run takes a 403 for a refusal; what names no record proves nothing."""
    url = site.authority(Reply(403)).url("/a")
    (await crawl(settings=records.settings(REP_ACCESS_DENIED="disallow"), plans=[url])).check()
    assert records.verify().status == 0
    records.change(lambda line: line.update(allowed=True))
    assert_contradicted(records, "no request passes for such a reason")
    records.change(lambda line: line.update(reason="unavailable", outcome="unavailable"))
    assert_contradicted(records, "no request passes for such a reason")
    records.change(lambda line: line.update(status=404, record=None))
    records.assert_undecided("its rules were fetched without an archive")


@pytest.mark.parametrize("status", [404, 200])
async def test_record_with_another_status_is_no_evidence(
    site: Site, records: Records, status: int
) -> None:
    """A refusal by the rules of a 200 was made a page of a site without a robots.txt."""
    await one_decision(records, site)
    records.change(
        lambda line: pass_for(
            line, "unavailable", outcome="unavailable", status=status, digest=None
        )
    )
    assert_contradicted(records, "its record in the archive has the status 200")


async def test_a_202_has_rules_in_the_profile_of_google(site: Site, records: Records) -> None:
    """There it is a success, as it was for the crawl; for another crawl it has no rules."""
    url = site.authority(Reply(202, RULES)).url("/private/a")
    (await crawl(settings=records.settings(REP_PROFILE="google"), plans=[url])).check()
    assert records.verify() == (0, "", "scrapy robots verify: 1 decision: 1 confirmed\n")
    records.change(lambda run: run["settings"].update(profile="rfc9309"), 0)
    assert_contradicted(records, "its record in the archive has the status 202")


async def test_a_404_is_looked_up_too(site: Site, records: Records) -> None:
    """No rule has decided, but its record must be there and say the same."""
    gone = site.authority(Reply(404))
    (await crawl(settings=records.settings(), plans=[gone.url("/a")])).check()
    assert records.verify()[::2] == (0, "scrapy robots verify: 1 decision: 1 not by rules\n")
    records.change(lambda line: line.update(status=410))
    assert_contradicted(records, "its record in the archive has the status 404")
    records.change(lambda line: line.update(record="urn:uuid:0"))
    records.assert_undecided("1 not compared; 1: the archives lack its record")


async def test_redirect_to_any_path_leads_to_its_record(site: Site, records: Records) -> None:
    """A request quotes what may not stand in a URL; more redirects than are followed, too."""
    shop = site.authority(RULES)
    far = site.authority(redirect(shop.url("/robots.txt")))
    for _ in range(6):
        far = site.authority(redirect(far.url("/robots.txt")))
    odd = site.authority(redirect(shop.url("/\u00e4 b|c?\u00e4").encode().decode("latin-1")))
    plans = [one.url("/private/a") for one in (odd, far)]
    (await crawl(settings=records.settings(), plans=plans)).check()
    said = "scrapy robots verify: 2 decisions: 1 confirmed, 1 not by rules\n"
    assert records.verify() == (0, "", said)


async def test_a_file_that_was_cut_is_read_as_the_crawl_has_read_it(
    site: Site, records: Records
) -> None:
    """Here a line of UTF-16 ends at REP_MAX_SIZE."""
    lines = ["User-agent: *", "Disallow: /private", *["#"] * 9_000]
    body = b"\xff\xfe" + "".join([f"{line:31}\n" for line in lines]).encode("utf-16-le")
    plans = [site.authority(Reply(200, body)).url("/private/a")]
    (await crawl(settings=records.settings(), plans=plans)).check()
    assert records.verify() == (0, "", "scrapy robots verify: 1 decision: 1 confirmed\n")


async def test_several_logs_and_archives_are_given_as_a_shell_gives_them(
    site: Site, records: Records
) -> None:
    """Also compressed, and in the words of several options."""
    logs = [records.folder / f"decisions-{number}.jsonl" for number in (1, 2)]
    for records.log in logs:
        await one_decision(records, site)
    records.change(lambda line: line.update(line=1))
    packed = logs[1].with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(logs[1].read_bytes()))
    archives = sorted(records.folder.glob("robots-*.warc.gz"))
    assert len(archives) == 2
    both = (
        (logs[0], packed, "--warc", *archives),
        ("--warc", archives[0], "--warc", archives[1], "--", logs[0], packed),
    )
    for words in both:
        ended = robots("verify", *words)
        assert ended.status == 1
        assert ended.out.startswith(f"{packed}:2: http://127.")
        assert ended.err.endswith("2 decisions: 1 confirmed, 1 contradicted\n")
    [found] = json.loads(robots("verify", *both[0], "--format", "json").out)["results"]
    assert (found["log"], found["line"]) == (str(packed), 2)
    assert robots("verify", "-", "-", "--warc", *archives).status == 2


async def test_the_lines_of_one_site_are_enough(site: Site, records: Records) -> None:
    """As the guide to reports takes them out of the log."""
    urls = [site.authority(RULES).url("/private/a") for _ in range(2)]
    (await crawl(settings=records.settings(), plans=urls)).check()
    wanted = b'"type":"run"', b'"authority":"%s"' % urls[0].removesuffix("/private/a").encode()
    lines = records.log.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if any(part in line for part in wanted)]
    assert (len(lines), len(kept)) == (3, 2)
    records.log.write_bytes(b"".join(kept))
    assert records.verify() == (0, "", "scrapy robots verify: 1 decision: 1 confirmed\n")


@pytest.mark.parametrize("kept", ["path", "hash"])
async def test_what_the_log_does_not_say_cannot_be_compared(
    site: Site, records: Records, kept: str
) -> None:
    """Status 3, and why."""
    await one_decision(records, site, REP_LOG_URLS=kept)
    records.assert_undecided("1 not compared; 1: the log does not have its whole URL")


@pytest.mark.parametrize(
    "change", [{"profile": "of 2040"}, {"profile": []}, {"max_size": "1k"}, {"max_size": -1}, None]
)
async def test_settings_that_cannot_be_read_decide_nothing(
    site: Site, records: Records, change: dict[str, Any] | None
) -> None:
    """Those of another version of this package, or of a line that was damaged."""
    await one_decision(records, site)
    settings = {"log_urls": "full"}
    records.change(
        lambda line: line.update(settings=line["settings"] | change if change else settings), 0
    )
    records.assert_undecided("1 not compared; 1: the settings of its run cannot be read")


async def test_what_is_missing_or_damaged_decides_nothing(site: Site, records: Records) -> None:
    """A record, the first line of a run, the end of a line, the end of an archive."""
    await one_decision(records, site)
    whole = records.log.read_bytes()
    records.change(lambda line: line.update(record="urn:uuid:0"))
    records.assert_undecided("the archives lack its record")
    records.log.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
    records.assert_undecided("the first line of its run is missing")
    records.log.write_bytes(whole + whole[:-9].splitlines(keepends=True)[-1])
    records.assert_undecided("a line is not one of a decision log")
    records.log.write_bytes(whole)
    [archive] = records.folder.glob("robots-*.warc.gz")
    octets = archive.read_bytes()
    second = octets.index(b"\x1f\x8b\x08", 10)
    archive.write_bytes(octets[: second + 90])
    records.assert_undecided("is damaged")


async def test_input_of_another_kind_is_status_2(site: Site, records: Records) -> None:
    """A log that is none, an archive that is none, or is not there."""
    await one_decision(records, site)
    other = records.folder / "robots-other.warc.gz"
    other.write_bytes(b"no archive")
    assert (records.verify().status, "is not a WARC file" in records.verify().err) == (2, True)
    other.write_bytes(gzip.compress(b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 1\n"))
    assert "is not a WARC file" in records.verify().err
    other.unlink()
    assert robots("verify", records.log, "--warc", other).status == 2
    records.log.write_text("no log\n")
    assert records.verify().status == 2


async def test_a_crawl_that_decided_nothing_agrees(site: Site, records: Records) -> None:
    """Its log has the first line of a run alone; a log without that is of no crawl."""
    await one_decision(records, site)
    lines = records.log.read_text().splitlines(keepends=True)
    records.log.write_text(lines[0])
    assert records.verify()[::2] == (0, "scrapy robots verify: 0 decisions: none\n")
    records.log.write_text("")
    assert records.verify().status == 2
