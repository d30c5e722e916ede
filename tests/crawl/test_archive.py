"""The archive of real crawls: each exchange is in it, octet by octet, and two readers read it."""

from __future__ import annotations

import gzip
import os
import random
import time
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scrapy import Request, signals
from scrapy.http import Response

from scrapy_rep.records.archive import Archive
from scrapy_rep.signals import RobotsExchange
from scrapy_rep.stats import RepStats
from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import gate_with, visit
from tests.crawl.middlewares import middleware
from tests.crawl.plugin import NOTHING, RULES, by_hand
from tests.crawl.spiders import OneByOneSpider
from tests.records.archives import Read, archives, records
from tests.replies import Endless, Hang, Reply, Reset, ShortBody, redirect
from tests.scripted import HERE
from tests.site import Authority, Site
from tests.stores.obstacles import no_file_beyond

LIMIT = 512_000
ODD_BODIES = [
    b"User-agent: *\nDisallow: /\x00a\n",
    b"User-agent: *\r\nDisallow: /a\r\n\r\n\r\n",
    b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
    bytes(range(256)) * 3,
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nWARC/1.1\r\n\r\n",
    b"User-agent: *\nDisallow: /a",
]


def archived(folder: Path) -> dict[str, Any]:
    """The settings of a crawl that keeps an archive."""
    return {"REP_WARC": str(folder / "robots.warc.gz"), "ROBOTSTXT_USER_AGENT": "mybot"}


def read(folder: Path) -> list[Read]:
    """The records of the one archive there is, after its `warcinfo`."""
    (path,) = archives(folder)
    first, *rest = records(path)
    assert (first.kind, first.fields["WARC-Filename"]) == ("warcinfo", path.name)
    assert "not what was on the wire" in first.said["description"]
    return rest


def of_kind(found: list[Read], kind: str) -> list[Read]:
    """The records of one type."""
    return [one for one in found if one.kind == kind]


async def test_a_fetch_is_a_request_and_a_response(site: Site, tmp_path: Path) -> None:
    """They name each other; the head is in the record, with the fields of both sides."""
    shop = site.authority(Reply(200, RULES, {"ETag": '"a"', "X-Odd": "\xe9"}))
    await visit([shop.url("/a"), shop.url("/b")], **archived(tmp_path))
    response, request = read(tmp_path)
    assert (response.kind, request.kind) == ("response", "request")
    assert response.uri == request.uri == shop.url("/robots.txt")
    assert request.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]
    assert (response.status, response.body) == (200, RULES.encode())
    assert ("X-Odd", "\xe9") in response.http
    assert response.fields["WARC-IP-Address"] == shop.host
    names = {name for name, _ in request.http}
    assert {"Host", "User-Agent", "Accept-Encoding"} <= names
    date = datetime.fromisoformat(response.fields["WARC-Date"].replace("Z", "+00:00"))
    assert abs(time.time() - date.timestamp()) < 60


async def test_bodies_are_kept_octet_by_octet(site: Site, tmp_path: Path, mode: str) -> None:
    """Whatever is in them, and however they are framed; an encoded one stays encoded."""
    sent: dict[Authority, bytes] = {}
    for body in ODD_BODIES:
        for framing in ("length", "chunked", "close"):
            sent[site.authority(Reply(200, body, framing=framing))] = body
    packed = Reply(200, RULES, gzip=True)
    sent[site.authority(packed)] = gzip.compress(RULES.encode())
    whole = site.authority(Reply(200, gzip.compress(b"Disallow: /\n", mtime=0)))
    sent[whole] = gzip.compress(b"Disallow: /\n", mtime=0)
    sent[site.authority(Reply(200, b""))] = b""
    sent[site.authority(Reply(404, b"<p>none\x00</p>"))] = b"<p>none\x00</p>"
    plans = [one.url("/x") for one in sent]
    await visit(plans, by=by_hand, mode=mode, REP_WARC=str(tmp_path / "robots.warc.gz"))
    found = {one.uri: one for one in of_kind(read(tmp_path), "response")}
    for authority, body in sent.items():
        kept = found[authority.url("/robots.txt")]
        if ("Content-Encoding", "gzip") in kept.http:
            assert gzip.decompress(kept.body) == RULES.encode()
        else:
            assert kept.body == body
        fields = {name.lower(): value for name, value in kept.http}
        assert "transfer-encoding" not in fields
        assert fields.get("content-length", str(len(body))) == str(len(kept.body))


async def test_a_body_that_was_cut_says_so(site: Site, tmp_path: Path) -> None:
    """At the limit; and one that is as long as the limit is whole."""
    line = b"Disallow: /abcdef\n"
    full = (line * (LIMIT // len(line) + 1))[:LIMIT]
    endless, long, exact = (
        site.authority(reply)
        for reply in (Endless(body=line), Reply(200, full + b"x"), Reply(200, full))
    )
    await visit([one.url("/x") for one in (endless, long, exact)], **archived(tmp_path))
    found = {one.uri: one for one in of_kind(read(tmp_path), "response")}
    for one in (endless, long):
        kept = found[one.url("/robots.txt")]
        assert kept.fields["WARC-Truncated"] == "length"
        assert len(kept.body) > LIMIT
    kept = found[exact.url("/robots.txt")]
    assert "WARC-Truncated" not in kept.fields
    assert kept.body == full


async def test_each_failure_leaves_a_record(site: Site, tmp_path: Path) -> None:
    """With its cause; a response that came before it is kept too."""
    replies = [Reset(), Hang(), ShortBody(body=RULES), Reply(503, "busy"), redirect("ftp://a/b")]
    replies.append(Reply(304))  # that nothing asked for, so that it repeats nothing
    sites = [*(site.authority(reply) for reply in replies), site.refusing()]
    await visit([one.url("/x") for one in sites], **archived(tmp_path), REP_TIMEOUT=3)
    found = read(tmp_path)
    causes = {one.uri: one.said["cause"] for one in of_kind(found, "metadata")}
    uris = [one.url("/robots.txt") for one in sites]
    assert [causes.get(uri) for uri in uris] == [
        *("connection", "timeout", "connection", None, "redirect refused", None, "connection")
    ]
    statuses = {one.uri: one.status for one in of_kind(found, "response")}
    assert [statuses[uri] for uri in uris[3:6]] == [503, 302, 304]


async def test_a_304_is_a_revisit(site: Site, tmp_path: Path, clock: Ahead) -> None:
    """It refers to the record before it, and so to the response that has the octets."""
    copy = Reply(200, RULES, {"ETag": '"a"'})
    replies = [copy, Reply(304), Reply(304), copy, Reply(404, RULES)]
    shop = site.authority(replies)
    plans = [shop.url("/x")] * len(replies)
    tick = clock.through([n * 1.1 * DAY for n in range(len(replies))])
    await visit(plans, OneByOneSpider, tick=tick, **archived(tmp_path))
    assert len(shop.robots_hits) == len(replies)
    first, second, third, again, gone = [one for one in read(tmp_path) if one.kind != "request"]
    assert [one.kind for one in (first, again, gone)] == ["response"] * 3
    assert again.body == RULES.encode()
    for one, before in ((second, first), (third, second)):
        assert (one.kind, one.status, one.body) == ("revisit", 304, b"")
        assert one.fields["WARC-Profile"].endswith("server-not-modified")
        assert one.fields["WARC-Refers-To"] == before.fields["WARC-Record-ID"]


async def test_a_304_to_no_validator_is_no_revisit(
    site: Site, tmp_path: Path, clock: Ahead
) -> None:
    """Nothing asked for it: it repeats nothing."""
    shop = site.authority([Reply(200, RULES), Reply(304)])
    tick = clock.through([0.0, 1.1 * DAY])
    await visit([shop.url("/x")] * 2, OneByOneSpider, tick=tick, **archived(tmp_path))
    assert [one.status for one in of_kind(read(tmp_path), "response")] == [200, 304]


async def test_a_response_of_a_component_says_so(site: Site, tmp_path: Path) -> None:
    """It did not come from the server."""

    def answer(request: Request) -> Response | None:
        is_robots = request.url.endswith("/robots.txt")
        return Response(request.url, body=RULES.encode()) if is_robots else None

    canned = {"DOWNLOADER_MIDDLEWARES": {middleware(process_request=answer): 500}}
    await visit([site.authority(NOTHING).url("/x")], **archived(tmp_path), **canned)
    response, _, note = read(tmp_path)
    assert response.body == RULES.encode()
    assert "made or changed by a component" in note.said["note"]


async def test_a_full_disk_is_one_error_and_the_crawl_goes_on(site: Site, tmp_path: Path) -> None:
    """What was written before can be read; what is lost is counted."""
    rng = random.Random(7)
    small, last = site.authorities(2, RULES)
    large = [site.authority(Reply(200, rng.randbytes(60_000))) for _ in range(3)]
    plans = [one.url("/x") for one in (small, *large, last)]
    settings, failed = archived(tmp_path), "Writing the archive failed"
    with no_file_beyond(40_000):
        result = await visit(plans, **settings, CONCURRENT_REQUESTS=1, expected=[failed])
    assert len(result.downloaded) == 5
    assert len(result.lines(failed, "ERROR")) == 1
    kept = {one.uri for one in of_kind(read(tmp_path), "response")}
    assert result.stats["robotstxt/archive/lost"] == 5 - len(kept)
    assert kept <= {small.url("/robots.txt"), last.url("/robots.txt")}


async def test_no_rules_are_made_of_half_a_body_on_a_lost_disk(site: Site, tmp_path: Path) -> None:
    """Neither can what was written in part be taken back: the crawl goes on without it."""
    body = gzip.compress(b"User-agent: *\n" + b"Allow: /%d\n" * 50 + RULES.encode())
    half = site.authority(Reply(200, body[: len(body) // 2], {"Content-Encoding": "gzip"}))
    other = site.authority(RULES)

    def lose_the_disk(request: Request) -> None:
        if request.url == half.url("/robots.txt"):
            with Path("/dev/full").open("wb") as full:
                [archive] = tmp_path.iterdir()
                for link in Path("/proc/self/fd").iterdir():
                    with suppress(OSError):
                        if link.samefile(archive):
                            os.dup2(full.fileno(), int(link.name))

    plans = [other.url("/a"), half.url("/private")]
    how = {**archived(tmp_path), "CONCURRENT_REQUESTS": 1}
    how["on"] = {signals.request_reached_downloader: lose_the_disk}
    result = await visit(plans, **how, expected=["Writing the archive failed"])
    assert result.downloaded == [other.url("/a")]


def test_each_record_is_in_the_file_as_soon_as_it_is_made(tmp_path: Path) -> None:
    """So a process that is killed leaves whole records."""
    archive = Archive(str(tmp_path / "robots.warc.gz"), "0" * 32, RepStats(), time.time)
    for number in range(3):
        uri = f"http://a{number}.example/robots.txt"
        answer = Response(uri, body=random.Random(number).randbytes(100_000))
        archive.fetched(RobotsExchange(uuid4().urn, HERE, uri, Request(uri), answer))
        (path,) = tmp_path.iterdir()
        assert path.name.endswith(".warc.gz.open")
        assert len(records(path)) == 1 + 2 * (number + 1)
    archive.close()


@pytest.mark.parametrize("log", [None, "none/decisions.jsonl"])
def test_a_crawl_that_does_not_start_leaves_no_archive(tmp_path: Path, log: str | None) -> None:
    """A later setting is refused, or whatever else keeps the crawl from its start."""
    settings = {"REP_WARC": str(tmp_path / "robots.warc.gz")}
    settings |= {"REP_DECISION_LOG": str(tmp_path / log)} if log else {}
    refused = pytest.raises(ValueError, match=r"^REP_DECISION_LOG") if log else nullcontext()
    with refused:
        gate_with(**settings)
    assert list(tmp_path.iterdir()) == []


async def test_each_run_leaves_an_archive(site: Site, tmp_path: Path) -> None:
    """Under one name; that of a crawl without a request says that nothing was fetched."""
    await visit([], **archived(tmp_path))
    assert read(tmp_path) == []
    await visit([site.authority(RULES).url("/x")], **archived(tmp_path))
    assert sorted(len(records(one)) for one in archives(tmp_path)) == [1, 3]


async def test_a_folder_that_is_gone_at_the_start_is_one_error(site: Site, tmp_path: Path) -> None:
    """It was there when the crawl was built; the crawl goes on, and what is lost is counted."""
    folder = tmp_path / "archive"
    folder.mkdir()
    shop = site.authority(RULES)
    on = {signals.spider_opened: lambda: folder.rmdir()}
    failed = ["Writing the archive failed"]
    result = await visit([shop.url("/a")], on=on, expected=failed, **archived(folder))
    assert result.downloaded == [shop.url("/a")]
    assert result.stats["robotstxt/archive/lost"] == 2
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240
