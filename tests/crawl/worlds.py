"""Random worlds: sites, a project and its requests, made from a seed.

Each request is made with the ways in which it may end, by what the documents say.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from scrapy_rep.awaiting import sleep
from tests.crawl.closing import ClosingSpider
from tests.crawl.middlewares import Component
from tests.crawl.plugin import OVER_REDIS, RULES, by_hand, by_hand_with_last_step, obey
from tests.crawl.spiders import RequestsSpider
from tests.replies import Empty, Hang, Reply, Reset, html, redirect
from tests.site import Authority, Hit, Site

PACES = [0.05, 0.1, 0.25, 0.5, 1.0]
"""Seconds that paced hosts ask for."""

LONGEST = 1.5
"""Seconds that the requests to one paced host take at least."""

HELD = 0.4
"""The most seconds for which a middleware holds a request up."""

SQUEUES = "scrapy.squeues."
PLAIN = "tests.crawl.test_scheduler.PlainScheduler"


class WorldSpider(ClosingSpider):
    """Makes requests, downloads others within its callbacks, and pauses the engine."""

    pause_after: float | None = None

    async def start(self) -> AsyncIterator[Any]:
        """All requests; perhaps the engine pauses meanwhile."""
        if self.pause_after is not None:
            call_later(self.pause_after, self.pause)
        async for request in super().start():
            yield request
        if self.close_after is not None:  # Scrapy reads start() on while it closes
            call_later(self.close_after, self.stop)

    def opened(self) -> None:
        """The stop is arranged later."""

    def pause(self) -> None:
        """Pause the engine for a while."""
        if self.crawler.engine is not None and self.crawler.engine.spider is not None:
            self.crawler.engine.pause()
            call_later(0.3, self.crawler.engine.unpause)

    def found(self, response: Response) -> Iterable[Any]:
        """What a page leads to, by the path that was asked for."""
        for plan in self.onward.get(urlsplit(response.meta["asked"]).path, ()):
            yield self.request(**plan)

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """A page came; what it leads to comes after direct downloads."""
        for each in RequestsSpider.page(self, response):
            yield each
        await downloads(self.crawler, response.meta.get("then", ()))
        if files := response.meta.get("files"):
            yield {"file_urls": files}


async def downloads(crawler: Any, urls: Iterable[str]) -> None:
    """Download pages directly, whatever becomes of them."""
    for url in urls:
        with suppress(IgnoreRequest):
            await crawler.engine.download_async(Request(url))


class EarlyMeddler(Component):
    """Does with a request what its meta says: before the gate."""

    when = "early"

    async def process_request(self, request: Request) -> Any:
        """Answer, drop, replace or hold up a request, or download others first."""
        what, value = request.meta.get(self.when, ("", None))
        if what == "answer":
            return Response(request.url, body=b"an answer", request=request)
        if what == "drop":
            raise IgnoreRequest("dropped")
        if what == "replace":
            meta = {key: part for key, part in request.meta.items() if key != self.when}
            return request.replace(url=value, meta=meta)
        if what == "hold":
            await sleep(value)
        elif what == "inner":
            await downloads(self.crawler, value)
        return None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Hold up a response, or download others first."""
        what, value = request.meta.get(self.when, ("", None))
        if what == "hold after":
            await sleep(value)
        elif what == "inner after":
            await downloads(self.crawler, value)
        return response


class LateMeddler(EarlyMeddler):
    """Does with a request what its meta says: behind the gate."""

    when = "late"


MEDDLERS = {f"{__name__}.EarlyMeddler": 50, f"{__name__}.LateMeddler": 850}


@dataclass
class Shop:
    """One site of a world, with what is known of it."""

    authority: Authority
    ends: dict[bool, set[str]]
    """How a request to a page may end, by whether the rules allow it."""
    pace: float = 0.0
    left: float = LONGEST
    """Seconds for which its pace may yet occupy it."""
    answers: bool = True
    """Whether it accepts connections."""


RULED_ENDS = {True: {"downloaded"}, False: {"forbidden"}}
NO_ENDS = {True: {"unreachable"}, False: {"unreachable"}}
FREE_ENDS = {True: {"downloaded"}, False: {"downloaded"}}
SHUT_ENDS = {True: {"forbidden"}, False: {"forbidden"}}
BACK_ENDS = {allowed: ends | {"unreachable"} for allowed, ends in RULED_ENDS.items()}


@dataclass
class World:
    """Sites, settings and requests that a seed makes."""

    site: Site
    folder: Path
    chance: Random
    redis: str = ""
    shops: list[Shop] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    onward: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ends: dict[str, set[str]] = field(default_factory=dict)
    """How the request for each URL may end."""
    parents: dict[str, str] = field(default_factory=dict)
    """The page that leads to each URL that is no start URL."""
    moves: dict[str, str] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)
    """The paths of requests that need not obey."""
    direct: set[str] = field(default_factory=set)
    """The paths of direct downloads."""
    again: set[str] = field(default_factory=set)
    """The paths of those that a middleware makes each time that it has a request."""
    slots: dict[str, str] = field(default_factory=dict)
    """The downloader slots of paths, if they are not their hosts."""
    count: int = 0
    settings: dict[str, Any] = field(default_factory=dict)
    by: Any = obey
    stops: int = 0
    features: set[str] = field(default_factory=set)
    begun: list[float] = field(default_factory=list)
    """When each run began."""

    def __post_init__(self) -> None:
        self._install()
        for _ in range(self.chance.randint(2, 8)):
            self._add_site()
        self.service = self.site.authority(self.chance.choice([RULES, None]), self.page)
        chosen = self.chance.sample(FEATURES, self.chance.randint(1, 6))
        self.features = {feature for feature in chosen if self._may(feature)}
        for _ in range(self.chance.randint(10, 60)):
            self._add_request()
        if not self.plans:
            self._add_request(always=True)

    def _may(self, feature: str) -> bool:
        if feature == "nofollow" and self.by is not obey:  # without the spider middleware
            return False
        return not (feature == "cache" and self.stops)  # what a stop cuts off is not cached

    # --- the project

    def _install(self) -> None:
        chance, settings = self.chance, self.settings
        self.by = chance.choice([obey] * 6 + [by_hand, by_hand_with_last_step])
        self.scheduler = "scrapy"
        if self.redis:
            self.by, self.scheduler = obey, "redis"
            queues = [f"scrapy_redis.queue.{kind}Queue" for kind in ("Priority", "Fifo", "Lifo")]
            queue = chance.choice([*queues, *["scrapy_rep.redis_queue.HostQueue"] * 3])
            settings.update(REDIS_URL=self.redis, SCHEDULER_QUEUE_CLASS=queue, **OVER_REDIS)
            settings["SCHEDULER_PERSIST"] = True
        elif chance.random() < 0.1:
            self.scheduler, settings["SCHEDULER"] = "plain", PLAIN
        elif chance.random() < 0.15:
            settings["SCHEDULER_PRIORITY_QUEUE"] = "scrapy.pqueues.ScrapyPriorityQueue"
        elif self.by is not obey and chance.random() < 0.5:
            settings["SCHEDULER"] = "scrapy_rep.RepScheduler"
        self.stops = chance.choice([0, 0, 0, 1, 3]) if self.scheduler != "plain" else 0
        if self.stops and not self.redis:
            settings["JOBDIR"] = str(self.folder / "job")
        settings["CONCURRENT_REQUESTS"] = chance.choice([1, 1, 2, 4, 16, 16, 64])
        settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = chance.choice([1, 2, 8])
        settings["REP_RETRY_DELAYS"] = chance.choice([[], [0.05], [0.05, 0.2]])
        settings["REP_TIMEOUT"] = 2
        settings["RETRY_PRIORITY_ADJUST"] = chance.choice([-1, 0])
        settings["FILES_STORE"] = str(self.folder / "files")
        settings["ITEM_PIPELINES"] = {"scrapy.pipelines.files.FilesPipeline": 1}
        if chance.random() < 0.3:
            kind = chance.choice(["Fifo", "Lifo"])
            settings["SCHEDULER_MEMORY_QUEUE"] = f"{SQUEUES}{kind}MemoryQueue"
            settings["SCHEDULER_DISK_QUEUE"] = f"{SQUEUES}Pickle{kind}DiskQueue"
            settings["DEPTH_PRIORITY"] = chance.choice([0, 1])
        if chance.random() < 0.2:
            settings["SCHEDULER_START_MEMORY_QUEUE"] = settings["SCHEDULER_START_DISK_QUEUE"] = None
        if chance.random() < 0.1:
            settings["DOWNLOAD_DELAY"] = 0.02
        if chance.random() < 0.1:
            settings.update(AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_START_DELAY=0.05)

    @property
    def has_frontier(self) -> bool:
        """Whether requests wait in the scheduler."""
        return self.by is obey or self.settings.get("SCHEDULER") == "scrapy_rep.RepScheduler"

    def project(self) -> dict[str, Any]:
        """The settings of the project."""
        settings = self.by(**self.settings)
        installed = self.by().get("DOWNLOADER_MIDDLEWARES", {})
        settings["DOWNLOADER_MIDDLEWARES"] = {**installed, **MEDDLERS}
        if "cache" in self.features:
            settings.update(HTTPCACHE_ENABLED=True, HTTPCACHE_DIR=str(self.folder / "cache"))
        if "slots" in self.features:
            slots = {shop.authority.host: {"concurrency": 1} for shop in self.shops[:2]}
            settings["DOWNLOAD_SLOTS"] = slots
        if "nofollow" in self.features:
            settings["REP_PAGE_DIRECTIVES"] = "obey"
        return settings

    def limit_of(self, slot: str) -> int:
        """How many requests of a downloader slot may be under way."""
        few = {shop.authority.host for shop in self.shops[:2]} if "slots" in self.features else ()
        most: int = self.settings["CONCURRENT_REQUESTS_PER_DOMAIN"]
        return 1 if slot in few else most

    # --- its sites

    def _add_site(self) -> None:
        chance = self.chance
        pace = chance.choice(PACES)
        paced = f"{RULES}Crawl-delay: {pace}\n"
        late = chance.uniform(0.05, 0.3)
        known = BACK_ENDS if self.stops else RULED_ENDS  # a later run has no good copy
        kinds: list[tuple[Any, dict[bool, set[str]], float]] = [
            (RULES, RULED_ENDS, 0),
            (Reply(200, RULES, {"Cache-Control": "max-age=0"}), RULED_ENDS, 0),
            (Reply(200, paced, {"Cache-Control": "no-cache"}, delay=late / 3), RULED_ENDS, pace),
            (None, FREE_ENDS, 0),
            (paced, RULED_ENDS, pace),
            (paced, RULED_ENDS, pace),
            (Reply(200, paced, delay=late), RULED_ENDS, pace),
            (chance.choice([Reset(), Empty(), Hang()]), NO_ENDS, 0),
            (Reply(200, RULES, delay=late), RULED_ENDS, 0),
            (Reply(503), NO_ENDS, 0),
            ([Reply(503), RULES], BACK_ENDS, 0),
            ([Reply(503), Reply(429), paced], BACK_ENDS, pace),
            (Reply(401), FREE_ENDS, 0),
            (redirect("/rules"), RULED_ENDS, 0),
            ("User-agent: *\nDisallow: /\n", SHUT_ENDS, 0),
            ([Reply(200, RULES, {"Cache-Control": "max-age=0"}), RULES, Reply(503)], known, 0),
            ([Reply(200, paced, {"Cache-Control": "max-age=0"}), Hang()], known, pace),
        ]
        robots, ends, pace = chance.choice(kinds)
        if chance.random() < 0.07:
            self.shops.append(Shop(self.site.refusing(), NO_ENDS, answers=False))
            return
        shop = Shop(self.site.authority(robots, self.page), ends, pace)
        self.shops.append(shop)
        for _ in range(chance.choice([0, 0, 0, 0, 1, 2])):  # other ports of its host
            port = self.site.authority(robots, self.page, host=shop.authority.host)
            self.shops.append(Shop(port, ends, pace))

    def page(self, hit: Hit) -> Reply:
        """What a page of any site is."""
        if hit.path == "/rules":
            return Reply(200, RULES)
        if hit.path in self.moves:
            return redirect(self.moves[hit.path])
        chance = Random(hit.target)
        delay = chance.choice([0, 0, 0.01, 0.03, 0.1])
        if "flaky" in hit.path and not self._again[hit.path]:
            self._again[hit.path] += 1
            return Reply(503, delay=delay)
        headers = {"Content-Type": "text/html"}
        if "marked" in hit.path:
            headers["X-Robots-Tag"] = "nofollow"
        return html(headers=headers, delay=delay)

    _again: Counter[str] = field(default_factory=Counter)

    # --- its requests

    def _shop(self, *, always: bool = False) -> Shop | None:
        """A site with time for one more request."""
        shop = self.chance.choice(self.shops)
        if shop.pace:
            same = [each for each in self.shops if each.authority.host == shop.authority.host]
            if shop.left < shop.pace and not always:
                return None
            for each in same:
                each.left -= shop.pace
        return shop

    def _page(self, shop: Shop, suffix: str = "") -> tuple[str, set[str]]:
        """The URL of a new page of a site, and how a request for it may end."""
        self.count += 1
        allowed = self.chance.random() < 0.8
        path = f"/{'' if allowed else 'private/'}{self.count}{suffix}"
        return shop.authority.url(path), set(shop.ends[allowed])

    def _inner(self) -> list[str]:
        """The URLs of pages that are downloaded directly."""
        found = []
        for _ in range(self.chance.choice([1, 1, 2])):
            shop = self._shop()
            if shop is not None:
                url, _ = self._page(shop)
                found.append(url)
                self.direct.add(urlsplit(url).path)
        return found

    def _add_request(self, *, always: bool = False) -> None:
        shop = self._shop(always=always)
        if shop is None:
            return
        plan, ends = self._plan(shop)
        self.plans.append(plan)
        self.ends[plan["url"]] = ends
        if self.chance.random() < 0.2 and self.settings.get("SCHEDULER") != PLAIN:
            self._add_onward(plan)

    def _add_onward(self, plan: dict[str, Any]) -> None:
        path = urlsplit(plan["url"]).path
        for _ in range(self.chance.randint(1, 3)):
            shop = self._shop()
            if shop is None or path == "/render":
                return
            child, ends = self._plan(shop)
            if "marked" in path and not child["meta"].get("dont_obey_robotstxt"):
                # A middleware may have answered in place of the site, or the page be another one.
                is_its_own = not plan["meta"].keys() & {"early", "late"} and path not in self.moves
                ends = {"forbidden"} if is_its_own else {"forbidden", *ends}
            self.onward.setdefault(path, []).append(child)
            self.ends[child["url"]] = ends
            self.parents[child["url"]] = plan["url"]

    def _plan(self, shop: Shop) -> tuple[dict[str, Any], set[str]]:
        chance, meta, features = self.chance, {}, self.features
        wants = {feature for feature in sorted(features) if chance.random() < 0.3}
        if "cache" in features:  # which would keep the 503
            wants.discard("flaky")
        suffix = "/flaky" if "flaky" in wants else "/marked" if "nofollow" in wants else ""
        url, ends = self._page(shop, suffix)
        path = urlsplit(url).path
        priority = chance.randint(-3, 3) if "priority" in features else 0
        plan = {"url": url, "priority": priority, "meta": meta}
        if "shared slot" in wants:
            meta["download_slot"] = self.slots[path] = chance.choice(["one", "two"])
        for what in ("then", "files"):
            if what in wants:
                meta[what] = self._inner()
        if "service" in wants:
            meta["robotstxt_page"] = url
            plan["url"] = self.service.url(f"/render?{url}")
            return plan, ends
        if "bypass" in wants:
            meta["dont_obey_robotstxt"] = True
            self.free.add(path)
            return plan, {"downloaded"} if shop.answers else {"error"}
        if "moved" in wants and ends == {"downloaded"}:
            return plan, self._move(shop, path, ends)
        if "meddle" in wants:
            return plan, self._meddle(meta, path, ends)
        return plan, ends

    def _move(self, shop: Shop, path: str, ends: set[str]) -> set[str]:
        """Have a page lead to another one; return how the request may end then."""
        target = self._shop()
        if target is None:
            return ends
        self.moves[path], ends = self._page(target)
        # Scrapy notes the slot in the meta, which a redirect keeps.
        self.slots[urlsplit(self.moves[path]).path] = self.slots.get(path, shop.authority.host)
        return ends

    def _meddle(self, meta: dict[str, Any], path: str, ends: set[str]) -> set[str]:
        """Have a middleware do something; return how the request may end then."""
        chance = self.chance
        when = chance.choice(["early", "late"])
        kinds = ["answer", "drop", "replace", "hold", "inner", "hold after", "inner after"]
        what, value = chance.choice(kinds), None
        passes = when == "early" or ends == {"downloaded"}
        if what in ("answer", "drop") and passes:
            ends = {"downloaded"} if what == "answer" else {"error"}
        elif what in ("answer", "drop") and "downloaded" in ends:
            ends = ends - {"downloaded"} | {"downloaded" if what == "answer" else "error"}
        elif what == "replace":
            shop = self._shop()
            if shop is None:
                return ends
            value, others = self._page(shop)
            if path in self.slots:
                self.slots[urlsplit(value).path] = self.slots[path]
            if passes:
                ends = others
            elif "downloaded" in ends:
                ends = ends - {"downloaded"} | others
        elif what.startswith("hold"):
            value = chance.uniform(0.02, HELD)
        elif what.startswith("inner"):
            value = self._inner()
            self.again |= {urlsplit(url).path for url in value}
        meta[when] = [what, value]
        return ends

    def run(self) -> dict[str, Any]:
        """The arguments of the spider for a run that begins now."""
        self.begun.append(time.monotonic())
        more = {"pause_after": self.chance.uniform(0, 0.5)} if "pause" in self.features else {}
        return {"plans": self.plans, "onward": self.onward, **more}


FEATURES = [
    *("priority", "flaky", "nofollow", "shared slot", "then", "files", "service", "bypass"),
    *("moved", "meddle", "cache", "slots", "pause"),
]
"""What makes one world different from another; each takes part in some of its requests."""
