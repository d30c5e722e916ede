"""How often an authority is asked for its robots.txt: once, at expiry, and as the back-off says.

How long an answer is used, and how it is asked for again (RFC 9309 2.4, RFC 9111, 9110).
"""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from email.utils import formatdate
from itertools import pairwise
from operator import itemgetter
from typing import Any

import pytest
from scrapy import signals
from scrapy.http import Response

from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from tests.crawl.clock import DAY, Ahead
from tests.crawl.harness import MODES, visit
from tests.crawl.plugin import NOTHING, RULES
from tests.crawl.result import Result
from tests.crawl.sharing import shared_store_of
from tests.crawl.spiders import OneByOneSpider, TickingSpider
from tests.replies import Reply, Reset, redirect
from tests.rows import first
from tests.site import Authority, Hit, Site
from tests.timed import waits


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("per_domain", first(1, [8, 1, 100]))
async def test_a_hundred_at_once_get_one_answer(site: Site, mode: str, per_domain: int) -> None:
    """Disallow: / forbids all of them: no page, one fetch (Scrapy alone downloads most)."""
    shop = site.authority(Reply(200, NOTHING, delay=0.1))
    urls = [shop.url(f"/{number}") for number in range(100)]
    limits = {"CONCURRENT_REQUESTS": 100, "CONCURRENT_REQUESTS_PER_DOMAIN": per_domain}
    result = await visit(urls, mode=mode, **limits)
    assert result.forbidden == urls
    problems = {ending.problem and ending.problem.type for ending in result.endings}
    assert problems == {"RobotsForbidden"}
    assert (len(shop.robots_hits), shop.page_hits) == (1, [])
    assert result.stats["robotstxt/forbidden"] == 100
    assert result.stats["robotstxt/request_count"] == 1


# --- at expiry, and after a failure


@pytest.mark.parametrize("requests", first(1, [100, 3_000]))
async def test_dead_hosts_are_left_alone_a_minute(site: Site, clock: Ahead, requests: int) -> None:
    """RFC 9309 2.3.1.4: ten of them are each tried three times, and no page is asked for."""
    dead = [site.authority(Reset() if n % 2 else Reply(503)) for n in range(10)]

    def tick(ended: int) -> None:
        clock.seconds = 59.0 * ended / requests

    settings = {"CONCURRENT_REQUESTS": 200, "REP_RETRY_DELAYS": [0.05, 0.1]}
    plans = [dead[n % 10].url(f"/{n}") for n in range(requests)]
    result = await visit(plans, TickingSpider, tick=tick, **settings)
    for shop in dead:
        assert len(shop.robots_hits) == 3
        for hit, following in pairwise(shop.robots_hits):  # none before the end of another
            assert hit.finished is not None
            assert hit.finished <= following.received
    assert len(result.unreachable) == requests
    assert [hit for shop in dead for hit in shop.page_hits] == []


# --- how long it is used (RFC 9309 2.4, RFC 9111)


async def visit_at(clock: Ahead, times: list[float], *urls: str, **settings: Any) -> Result:
    """One request for each URL after another, at each of the times."""
    tick = clock.through([moment for moment in times for _ in urls])
    return await visit([*urls] * len(times), OneByOneSpider, tick=tick, **settings)


async def fetches_after(
    clock: Ahead, moments: Mapping[Authority, Sequence[float]]
) -> dict[Authority, list[int]]:
    """How many fetches each site has seen after a request at each of its moments: one crawl."""
    visits = [(at, shop) for shop, times in moments.items() for at in times]
    visits.sort(key=itemgetter(0))
    found: dict[Authority, list[int]] = {shop: [] for shop in moments}
    onward = clock.through([moment for moment, _ in visits])

    def tick(ended: int) -> None:
        shop = visits[ended - 1][1]
        found[shop].append(len(shop.robots_hits))
        onward(ended)

    plans = [shop.url("/open") for _, shop in visits]
    await visit(plans, OneByOneSpider, tick=tick)
    return found


def said(**headers: str) -> Reply:
    """Rules, and how long they last."""
    return Reply(200, RULES, {name.replace("_", "-"): value for name, value in headers.items()})


def date(clock: Ahead, seconds: float) -> str:
    """An HTTP date so many seconds from now."""
    return formatdate(clock.time() + seconds, usegmt=True)


LIVES: list[tuple[dict[str, str], float]] = [
    ({}, DAY),
    ({"Cache_Control": "max-age=600"}, 600),  # a 404
    ({"Cache_Control": "max-age=600", "Age": "300"}, 300),
    ({"Expires": "0"}, 60),
]


async def test_an_answer_lives_as_long_as_it_says(site: Site, clock: Ahead) -> None:
    """Within a minute and a day: no fetch before, one after (RFC 9309 section 2.4).

    So does an answer that says there are no rules.
    """
    shops = [site.authority(said(**headers)) for headers, _ in LIVES]
    shops[1].robots = Reply(404, "", {"Cache-Control": "max-age=600"})
    # RFC 9111 section 5.3: counted from the Date of the response
    dated = said(Date=date(clock, -100), Expires=date(clock, 500))
    rows = [*zip(shops, LIVES, strict=True), (site.authority(dated), ("a date", 600))]
    times = {shop: (0, 0.89 * life if life > 60 else 59, life + 1) for shop, (_, life) in rows}
    found = await fetches_after(clock, times)
    for shop, row in rows:
        assert found[shop] == [1, 1, 2], row


# --- conditional requests


class Versions:
    """A robots.txt with validators; it answers 304 to who knows its version."""

    def __init__(
        self, body: str = RULES, etag: str | None = '"1"', modified: str | None = None
    ) -> None:
        self.body, self.etag, self.modified = body, etag, modified

    def __call__(self, hit: Hit) -> Reply:
        """The answer."""
        headers = [("ETag", self.etag), ("Last-Modified", self.modified)]
        told = [(name, value) for name, value in headers if value is not None]
        known = hit.header("If-None-Match"), hit.header("If-Modified-Since")
        if known == (self.etag, self.modified):
            return Reply(304, "", told)
        return Reply(200, self.body, told)


MODIFIED = "Fri, 06 Nov 2026 10:00:00 GMT"


async def test_a_304_renews_what_is_known_without_parsing_it_again(
    site: Site, clock: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9110 section 13.1: the validators go back as they came; the rules stand."""
    parsed = []
    parse = ParsedRobotsTxt.parse
    monkeypatch.setattr(
        ParsedRobotsTxt, "parse", lambda body, **more: parsed.append(body) or parse(body, **more)
    )
    kinds = [('"1"', None), ('W/"weak"', None), (None, MODIFIED), ('"1"', MODIFIED)]
    shops = {site.authority(Versions(RULES, *validators)): validators for validators in kinds}
    times = [0, DAY + 1, DAY + 2, 1.8 * DAY, 2 * DAY + 5]
    result = await visit_at(clock, times, *(shop.url("/private") for shop in shops))
    assert len(result.forbidden) == len(times) * len(shops)
    for shop, validators in shops.items():
        hits = shop.robots_hits
        sent = [(hit.header("If-None-Match"), hit.header("If-Modified-Since")) for hit in hits]
        assert sent == [(None, None), validators, validators]
    assert len(parsed) == len(shops)
    assert result.stats["robotstxt/cache/revalidated"] == 2 * len(shops)


async def test_a_304_without_a_validator_renews_nothing(site: Site, clock: Ahead) -> None:
    """RFC 9110 section 15.4.5: it answers a condition. It is a failure, so the copy has an end."""
    shop = site.authority([Reply.text(RULES), Reply(304)])
    result = await visit_at(clock, [0, DAY + 1, 32 * DAY], shop.url("/open"))
    assert result.kinds == ["downloaded", "downloaded", "unreachable"]


async def test_a_new_version_replaces_the_old(site: Site, clock: Ahead) -> None:
    """The server does not know the validator any more: 200 and new rules."""
    versions = Versions()
    shop = site.authority(versions)

    def tick(ended: int) -> None:
        versions.body, versions.etag = NOTHING, '"2"'
        clock.seconds = 1.1 * DAY

    plans = [shop.url("/open")] * 2
    result = await visit(plans, OneByOneSpider, tick=tick)
    assert result.kinds == ["downloaded", "forbidden"]


async def test_validators_go_only_to_the_uri_they_speak_of(site: Site, clock: Ahead) -> None:
    """The ETag is of the redirect's target; neither the first hop nor another target gets it."""
    target, old, new = (site.authority(pages={"/rules": Versions()}) for _ in range(3))
    shop = site.authority(redirect(target.url("/rules")))
    moved = site.authority([redirect(old.url("/rules")), redirect(new.url("/rules"))])
    urls = [shop.url("/private"), moved.url("/private")]
    result = await visit_at(clock, [0, DAY + 1], *urls)
    assert len(result.forbidden) == 4
    assert [hit.header("If-None-Match") for hit in shop.robots_hits] == [None, None]
    assert [hit.header("If-None-Match") for hit in target.page_hits] == [None, '"1"']
    assert [hit.header("If-None-Match") for hit in new.page_hits] == [None]


@waits  # how many go by the copy is a matter of how long a fetch takes
async def test_after_an_outage_the_copy_is_asked_for_by_its_etag(site: Site, clock: Ahead) -> None:
    """Unreachable for a while, then a 304: fresh again, and no longer stale."""
    versions = Versions()
    shop = site.authority(lambda hit: Reply(503) if 1 <= clock.seconds / DAY < 3 else versions(hit))
    times = [0, 2 * DAY, *(4 * DAY + n for n in range(50))]
    result = await visit_at(clock, times, shop.url("/private"))
    assert len(result.forbidden) == 52
    assert shop.robots_hits[-1].header("If-None-Match") == '"1"'
    # Some go by the copy until the fetch in the background is back.
    assert 2 <= result.stats["robotstxt/cache/stale"] < 40
    assert result.stats["robotstxt/cache/revalidated"] == 1


# --- Retry-After


async def test_retry_after_is_honoured_within_bounds(site: Site, clock: Ahead) -> None:
    """RFC 9110 section 10.2.3: not before; at least our own back-off, at most a day."""
    values: Any = [("600", 600), ("10", 60), ("9999999", DAY), ("soon", 60), (None, 60)]
    moments = {}
    for value, wait in [*values, (date(clock, 1_000.5), 1_000)]:
        for status in (429, 503):
            reply = Reply(status, "", {"Retry-After": value} if value else {})
            moments[site.authority([reply, RULES])] = (0, wait - 1, wait + 1)
    found = await fetches_after(clock, moments)
    for shop, times in moments.items():
        assert found[shop] == [1, 1, 2], times
        assert [hit.path for hit in shop.page_hits] == ["/open"]  # it has recovered


# --- what memory has no room for is not fetched again while it is fresh

MIB = 1 << 20
SIZE = 480_000


def noise(number: int, rules: bytes = b"Disallow: /private\n") -> bytes:
    """A robots.txt of 480 KB that cannot be compressed."""
    octets = random.Random(number).randbytes(SIZE).replace(b"\n", b" ").replace(b"\r", b" ")
    return b"User-agent: *\n" + rules + b"#" + octets


@pytest.mark.parametrize("kind", first(1, ["SQLite", "memory:", "Redis", "custom"]))
async def test_large_files_are_fetched_once_each_under_a_small_limit(site: Site, kind: str) -> None:
    """480 KB each, REP_MEMORY_LIMIT of 1 MiB, two rounds of pages: one fetch each, no waiting."""
    shops = [site.authority(Reply(200, noise(n))) for n in range(8)]
    plans = [*(shop.url("/open") for shop in shops * 2), shops[0].url("/private")]
    shared = nullcontext(None) if kind == "memory:" else shared_store_of(kind)
    with shared as store:
        uri = store.uri if store else kind
        result = await visit(plans, OneByOneSpider, REP_STORE=uri, REP_MEMORY_LIMIT=MIB)
    assert (len(result.downloaded), len(result.forbidden)) == (16, 1)
    assert {len(shop.robots_hits) for shop in shops} == {1}
    assert result.stats["robotstxt/cache/evicted"] >= 12
    assert result.stats.get("robotstxt/store/error", 0) == 0
    assert result.stats["robotstxt/cache/miss"] == 8  # what was evicted is at hand


@pytest.mark.slow
async def test_evicted_files_take_no_memory(site: Site) -> None:
    """The memory of the crawl stays within bounds, whatever there is to evict."""
    shops = [site.authority(Reply(200, noise(n))) for n in range(15)]
    held: list[int] = []

    def tick(ended: int) -> None:
        if ended % 5 == 0:
            held.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        plans = [shop.url("/open") for shop in shops * 2]
        await visit(plans, OneByOneSpider, tick=tick, REP_MEMORY_LIMIT=MIB)
    finally:
        tracemalloc.stop()
    assert {len(shop.robots_hits) for shop in shops} == {1}
    # A file may be there more than once while it is read: as a response, a body, and text.
    assert max(held) < 6 * MIB


@pytest.mark.parametrize("slot", ["of each site", "of all sites"])
async def test_requests_that_wait_keep_no_rules(site: Site, slot: str) -> None:
    """The limit holds for what parked requests wait with: their rules are evicted meanwhile.

    They wait for the downloader, or for their slot, by rules that speak of the use of pages.
    """
    bodies = [noise(n, b"Content-Usage: train-ai=n\n") for n in range(16)]
    shops = [site.authority(Reply(200, body), Reply(200, delay=0.1)) for body in bodies]
    alive: list[int] = []

    def count(response: Response) -> None:
        if not response.url.endswith("/robots.txt"):
            alive.append(sum(isinstance(thing, ParsedRobotsTxt) for thing in gc.get_objects()))

    on = {signals.response_received: count}
    gc.collect()
    before = sum(isinstance(thing, ParsedRobotsTxt) for thing in gc.get_objects())
    meta = {} if slot == "of each site" else {"download_slot": "service"}
    plans = [{"url": shop.url("/open"), "meta": meta} for shop in shops]
    limits = {"CONCURRENT_REQUESTS": 2, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    result = await visit(plans, on=on, REP_MEMORY_LIMIT=MIB, **limits)
    assert len(result.downloaded) == 16
    assert result.stats["robotstxt/waiting/max"] > 8
    assert {len(shop.robots_hits) for shop in shops} == {1}
    # The fetches of all sites end at about the same time; then nothing keeps their rules, but for
    # what is noted of the requests that were sent, all of which the test has.
    assert max(count - sent for sent, count in enumerate(alive) if sent >= 8) - before < 4
