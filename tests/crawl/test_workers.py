"""Several workers on one queue and one Redis: scrapy-redis's scheduler, our store."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.crawl.harness import WARNINGS
from tests.crawl.worker import fill
from tests.processes import Forked, start_python
from tests.replies import Hang, Reply
from tests.rows import first
from tests.site import Authority, Script, Site
from tests.stores.servers import RedisServer

PATHS = [f"/open/{n}" for n in range(7)] + [f"/private/{n}" for n in range(3)]


class Estate:
    """Authorities, and how the request for each URL of theirs has to end.

    Most have rules, some answer slowly, some have none, some are unreachable.
    """

    def __init__(self, site: Site, count: int) -> None:
        rules = "User-agent: *\nDisallow: /private\n"
        kinds: list[Script] = [rules, rules, Reply(200, rules, delay=0.2), Reply(404), Reply(503)]
        self.all = [site.authority(kinds[number % len(kinds)]) for number in range(count)]
        always = {3: "downloaded", 4: "unreachable"}
        self.expected = {
            each.url(path): always.get(n % 5, "forbidden" if "private" in path else "downloaded")
            for path in PATHS
            for n, each in enumerate(self.all)
        }

    def check_pages(self) -> None:
        """No page was asked for that the rules, or their want, forbid."""
        asked = {each.url(hit.target) for each in self.all for hit in each.page_hits}
        assert {url for url in asked if self.expected[url] != "downloaded"} == set()


class Workers:
    """Worker processes, and what their logs say."""

    def __init__(self, uri: str, directory: Path, count: int = 4, **settings: Any) -> None:
        self.logs = [directory / f"worker-{number}" for number in range(count)]
        self.processes = [
            self._start(uri, str(log), json.dumps({**settings, "USER_AGENT": f"{log.name}/1.0"}))
            for log in self.logs
        ]

    @staticmethod
    def _start(*arguments: str) -> Forked:
        return start_python("-m", "tests.crawl.worker", *arguments, options=WARNINGS)

    def lines(self, number: int) -> list[tuple[str, str]]:
        """What a worker said, and of which URL."""
        text = self.logs[number].read_text() if self.logs[number].exists() else ""
        pairs = (line.partition(" ")[::2] for line in text.splitlines())
        return [(what, of) for what, of in pairs]

    def ends(self, number: int) -> list[tuple[str, str]]:
        """The requests of a worker that ended, as (URL, kind)."""
        others = ("ready", "taken", "stats")
        return [(of, what) for what, of in self.lines(number) if what not in others]

    def all_ends(self) -> list[tuple[str, str]]:
        """Those of all workers."""
        return [end for number in range(len(self.logs)) for end in self.ends(number)]

    def held(self, number: int) -> set[str]:
        """What a worker took from the queue and did not bring to an end."""
        taken = {of for what, of in self.lines(number) if what == "taken"}
        return taken - {url for url, _ in self.ends(number)}

    def stats(self, number: int) -> dict[str, Any]:
        """The last line."""
        what, text = self.lines(number)[-1]
        assert what == "stats"
        return dict(json.loads(text))

    def ready(self) -> None:
        """All are there, and wait for something to do."""
        until(lambda: all(self.lines(number) for number in range(len(self.logs))))

    def when(self, count: int) -> None:
        """So many requests have ended."""
        until(lambda: len(self.all_ends()) >= count)

    def stop(self) -> None:
        """No worker outlives a test that failed."""
        for process in self.processes:
            process.close()

    def finish(self, *, killed: int | None = None) -> list[str]:
        """All workers end, and what they wrote to the standard error stream is returned."""
        said = []
        for number, process in enumerate(self.processes):
            try:
                said.append(process.communicate(timeout=120)[1])
            except subprocess.TimeoutExpired:
                process.kill()
                raise AssertionError(process.communicate()[1][-2000:]) from None
            assert process.returncode == (-signal.SIGKILL if number == killed else 0), said[-1]
        return said


def until(condition: Callable[[], object]) -> None:
    """Wait for what the workers do."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the workers do not come along"
        time.sleep(0.02)


def crawl_together(
    server: RedisServer, directory: Path, estate: Estate, timeout: float = 15.0
) -> Workers:
    """Four workers, their queue filled with ten URLs of each authority.

    `timeout` is their REP_TIMEOUT: for how long a worker's death holds up the others.
    """
    with redis.Redis(port=server.port) as client:
        fill(client, estate.expected)
    return Workers(server.uri, directory, REP_TIMEOUT=timeout)


def ask_together(
    site: Site, server: RedisServer, directory: Path, robots: Script, **settings: Any
) -> tuple[list[Authority], Workers]:
    """Eight workers, all there before the first of 200 requests to five sites is in the queue."""
    shops = [site.authority(robots) for _ in range(5)]
    workers = Workers(server.uri, directory, 8, **settings)
    workers.ready()
    with redis.Redis(port=server.port) as client:
        fill(client, [shop.url(f"/{n}") for n in range(40) for shop in shops])
    workers.finish()
    assert Counter(kind for _, kind in workers.all_ends()) == {"unreachable": 200}
    assert sum(bool(workers.ends(number)) for number in range(8)) >= 2  # some may be too late
    return shops, workers


SIZES = first(1, [30, 500])


@pytest.mark.timeout(240)
@pytest.mark.parametrize("count", SIZES)
def test_four_workers_fetch_each_robots_txt_once(
    site: Site, server: RedisServer, tmp_path: Path, count: int
) -> None:
    """Ten URLs of each authority, spread over all workers: one fetch, each URL one right end."""
    estate = Estate(site, count)
    workers = crawl_together(server, tmp_path, estate)
    workers.finish()
    assert Counter(workers.all_ends()) == Counter(estate.expected.items())
    estate.check_pages()
    fetches = [len(each.robots_hits) for each in estate.all]
    assert min(fetches) == 1
    # A look-up that a busy machine makes late counts as failed, and is fetched for again.
    failed = sum(workers.stats(number).get("robotstxt/store/error", 0) for number in range(4))
    assert sum(fetches) <= (2 if count == SIZES[0] else 1.01) * count + failed
    # On a busy machine one may be started when the others have done all.
    assert sum(len(workers.ends(number)) > 0 for number in range(4)) >= 2
    print(f"fetches: {sum(fetches)} of {count} authorities")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("count", SIZES)
def test_a_killed_worker_loses_what_it_held_and_nothing_else(
    site: Site, server: RedisServer, tmp_path: Path, count: int
) -> None:
    """SIGKILL at mid-crawl: all other URLs end once and right, whoever held which lease."""
    estate = Estate(site, count)
    expected = estate.expected
    workers = crawl_together(server, tmp_path, estate, timeout=3)
    workers.when(3 * count)
    workers.processes[1].kill()
    workers.finish(killed=1)
    lost = workers.held(1)
    ends = workers.all_ends()
    without = set(expected) - {url for url, _ in ends}
    assert len(ends) == len(expected) - len(without)  # nothing ended twice
    assert lost <= without
    assert len(without - lost) <= 1  # was it on its way from the queue when the signal came?
    assert {url: expected[url] for url, _ in ends} == dict(ends)
    estate.check_pages()
    assert len(lost) < 10 * count / 4
    print(f"held by the killed worker: {len(lost)} of {10 * count}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("robots", [Reply(503), Hang()], ids=["503", "hangs"])
def test_eight_workers_make_one_round_of_attempts(
    site: Site, server: RedisServer, tmp_path: Path, store_uri: str, robots: Any
) -> None:
    """Five sites that are down: three attempts at each, whoever makes them; the others wait."""
    own = {"REP_STORE": store_uri, "REP_TIMEOUT": 2.0, "REP_RETRY_DELAYS": [0.3, 0.6]}

    shops, workers = ask_together(site, server, tmp_path, robots, **own)
    hits = [hit for shop in shops for hit in shop.robots_hits]
    askers = Counter(hit.header("User-Agent") for hit in hits)
    print(f"attempts: {len(hits)}, by worker: {askers}")  # noqa: T201
    failed = sum(workers.stats(n).get("robotstxt/store/error", 0) for n in range(8))
    # A look-up that a busy machine makes late counts as failed: then a worker is on its own.
    assert len(hits) == 15 or (failed and len(hits) <= 15 + 3 * failed)
    assert [hit for shop in shops for hit in shop.page_hits] == []


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_lease_is_renewed_while_its_worker_lives_and_no_longer(
    site: Site, server: RedisServer, tmp_path: Path, store_uri: str
) -> None:
    """A site hangs for longer than a lease lasts: one request. Its worker is killed: another one.

    The other worker takes over within the term of the lease.
    """
    term = 2.0
    shop = site.authority([Hang(), Reply(200, "User-agent: *\nDisallow: /private\n")])
    own = {"REP_STORE": store_uri, "REP_TIMEOUT": 60, "LEASE_TERM": term}
    workers = Workers(server.uri, tmp_path, 3, CONCURRENT_REQUESTS=1, **own)
    workers.ready()
    with redis.Redis(port=server.port) as client:
        fill(client, [shop.url(f"/open/{n}") for n in range(40)])
    try:
        until(lambda: shop.robots_hits)
        time.sleep(2.5 * term)
        [hit] = shop.robots_hits
        leader = int((hit.header("User-Agent") or "").removeprefix("worker-")[0])
        killed_at = time.monotonic()
        workers.processes[leader].kill()
        workers.finish(killed=leader)
    finally:
        workers.stop()
    assert len(shop.robots_hits) == 2
    # A poll, and what a busy machine adds.
    assert shop.robots_hits[1].received - killed_at < term + 2.0
    ends = workers.all_ends()
    assert {kind for _, kind in ends} == {"downloaded"}
    assert len(ends) + len(workers.held(leader)) == 40
