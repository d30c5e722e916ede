"""A replay from an archive that lacks records, or whose records were changed."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_twisted import ensureDeferred

from tests.commands.running import robots
from tests.crawl.harness import crawl
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply, Reset, redirect
from tests.site import Site


def members(path: Path) -> Iterator[bytes]:
    """The records of an archive, each as it is before it is compressed."""
    rest = path.read_bytes()
    while rest:
        reader = zlib.decompressobj(31)
        yield reader.decompress(rest) + reader.flush()
        rest = reader.unused_data


def kind(record: bytes) -> str:
    """Its type."""
    return re.findall(rb"^WARC-Type: (\S+)\r$", record, re.M)[0].decode()


def replay(folder: Path, records: list[bytes]) -> tuple[int, list[dict[str, Any]]]:
    """The status of the command, and what it prints."""
    (folder / "other.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    log, archive = folder / "decisions.jsonl", folder / "other.warc.gz"
    done = robots("replay", log, "--warc", archive, "--format", "jsonl")
    return done.status, [json.loads(line) for line in done.out.splitlines()]


def recorded_in(folder: Path) -> list[bytes]:
    """The records of all archives in a folder."""
    return [one for path in sorted(folder.glob("robots-*")) for one in members(path)]


async def recorded(site: Site, folder: Path, **more: Any) -> list[bytes]:
    """The records of a crawl of sites with all outcomes, and with redirects to all outcomes."""
    outcomes = (RULES, Reply(404), Reply(503), Reply(403), Reset())
    shops = [site.authority(one) for one in outcomes]
    shops += [site.authority(redirect(shop.url("/robots.txt"))) for shop in list(shops)]
    settings = obey(
        REP_DECISION_LOG=str(folder / "decisions.jsonl"),
        REP_DECISIONS="all",
        REP_WARC=str(folder / "robots.warc.gz"),
        REP_RETRY_DELAYS=[],
        **more,
    )
    plans = [{"url": one.url("/a"), "meta": {"dont_retry": True}} for one in shops]
    assert (await crawl(settings=settings, plans=plans)).endings
    return recorded_in(folder)


@ensureDeferred
async def test_a_record_that_is_lost_leaves_a_decision_undecided(
    site: Site, tmp_path: Path
) -> None:
    """That of an answer, of a failure, and of a hop that led to it: nothing contradicts the log."""
    records = await recorded(site, tmp_path)
    assert replay(tmp_path, records) == (0, [])
    count = 0
    for number, record in enumerate(records):
        is_needed = kind(record) in ("response", "revisit") or b"outcome: unreachable" in record
        if is_needed:
            status, found = replay(tmp_path, records[:number] + records[number + 1 :])
            assert status == 3, (record, found)
            assert {one["finding"] for one in found} == {"cannot be decided"}
            count += 1
    assert count > 10


@ensureDeferred
async def test_a_record_that_was_changed_is_named(site: Site, tmp_path: Path) -> None:
    """Those of a failure and of a redirect as well: each might be an answer that was made one."""
    records = await recorded(site, tmp_path)
    count = 0
    for number, record in enumerate(records):
        if kind(record) == "response":
            head, end, block = record.partition(b"\r\n\r\n")
            other = head + end + block.replace(b"Content-Length", b"Content-Lengtx", 1)
            assert other != record
            status, found = replay(tmp_path, [*records[:number], other, *records[number + 1 :]])
            assert status == 1, (record, found)
            assert all("is damaged" in one["why"] for one in found)
            count += 1
    assert count > 10


@ensureDeferred
async def test_two_records_of_one_id_have_to_be_the_same(site: Site, tmp_path: Path) -> None:
    """An archive may be given twice. Nothing says which one of two that differ is the right one."""
    records = await recorded(site, tmp_path)
    assert replay(tmp_path, [*records, *records]) == (0, [])
    assert replay(tmp_path, [*records[::-1], *records]) == (0, [])
    answers = [one for one in records if kind(one) == "response"]
    rules = next(one for one in answers if b"Disallow: /private" in one)
    bare = re.sub(rb"WARC-(Block|Payload)-Digest: [^\r]*\r\n", b"", rules)
    others = [
        bare.replace(b"Disallow: /private", b"Disallow: /Private"),
        bare.replace(b"HTTP/1.1 200", b"HTTP/1.1 503"),
        re.sub(rb"WARC-Date: 20..", b"WARC-Date: 1999", bare),
        re.sub(rb"WARC-Target-URI: [^\r]*", b"WARC-Target-URI: http://a.example/robots.txt", bare),
    ]
    for other in others:
        for several in ([other, *records], [*records, other], [*records, other, other, *records]):
            status, found = replay(tmp_path, several)
            assert status == 1, (other, found)
            assert any("is damaged" in one["why"] for one in found)
