"""Several workers on one queue and one Redis: scrapy-redis's scheduler, our store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.crawl.harness import ROOT, WARNINGS
from tests.crawl.worker import fill
from tests.replies import Reply
from tests.site import Authority, Script, Site
from tests.stores.servers import RedisServer

PATHS = [f"/open/{n}" for n in range(7)] + [f"/private/{n}" for n in range(3)]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A redis-server of the test's own."""
    with tempfile.TemporaryDirectory() as directory:
        server = RedisServer(Path(directory)).start()
        yield server
        server.stop()


def authorities_of(site: Site, count: int) -> list[Authority]:
    """Most have rules, some answer slowly, some have none, some are unreachable."""
    rules = "User-agent: *\nDisallow: /private\n"
    kinds: list[Script] = [rules, rules, Reply(200, rules, delay=0.2), Reply(404), Reply(503)]
    return [site.authority(kinds[number % len(kinds)]) for number in range(count)]


def expected_of(authorities: list[Authority]) -> dict[str, str]:
    """How the request for each URL has to end."""
    ends = {}
    for number, authority in enumerate(authorities):
        for path in PATHS:
            private = path.startswith("/private")
            kinds = {3: "downloaded", 4: "unreachable"}
            kind = kinds.get(number % 5, "forbidden" if private else "downloaded")
            ends[authority.url(path)] = kind
    return ends


class Workers:
    """Worker processes, and what their logs say."""

    def __init__(self, uri: str, directory: Path, timeout: float) -> None:
        self.logs = [directory / f"worker-{number}" for number in range(4)]
        self.processes = [self._start(uri, str(log), str(timeout)) for log in self.logs]

    @staticmethod
    def _start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *WARNINGS, "-m", "tests.crawl.worker", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def lines(self, number: int) -> list[tuple[str, str]]:
        """What a worker said, and of which URL."""
        text = self.logs[number].read_text() if self.logs[number].exists() else ""
        pairs = (line.partition(" ")[::2] for line in text.splitlines())
        return [(what, of) for what, of in pairs]

    def ends(self, number: int) -> list[tuple[str, str]]:
        """The requests of a worker that ended, as (URL, kind)."""
        return [(of, what) for what, of in self.lines(number) if what not in ("taken", "stats")]

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

    def when(self, count: int, then: Callable[[], object]) -> None:
        """Something is done once so many requests have ended."""
        end = time.monotonic() + 60
        while len(self.all_ends()) < count:
            assert time.monotonic() < end, "the workers do not come along"
            time.sleep(0.02)
        then()

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


def crawl_together(
    site: Site, server: RedisServer, directory: Path, count: int, *, timeout: float = 15.0
) -> tuple[list[Authority], dict[str, str], Workers]:
    """Four workers, their queue filled with ten URLs of so many authorities.

    `timeout` is their REP_TIMEOUT: for how long a worker's death holds up the others.
    """
    authorities = authorities_of(site, count)
    expected = expected_of(authorities)
    with redis.Redis(port=server.port) as client:
        fill(client, [a.url(path) for path in PATHS for a in authorities])
    return authorities, expected, Workers(server.uri, directory, timeout)


def check_pages(authorities: list[Authority], expected: dict[str, str]) -> None:
    """No page was asked for that the rules, or their want, forbid."""
    asked = {a.url(hit.target) for a in authorities for hit in a.page_hits}
    assert {url for url in asked if expected[url] != "downloaded"} == set()


SIZES = [30, pytest.param(500, marks=pytest.mark.slow)]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("count", SIZES)
def test_four_workers_fetch_each_robots_txt_once(
    site: Site, server: RedisServer, tmp_path: Path, count: int
) -> None:
    """Ten URLs of each authority, spread over all workers: one fetch, each URL one right end."""
    authorities, expected, workers = crawl_together(site, server, tmp_path, count)
    workers.finish()
    ends = workers.all_ends()
    assert Counter(url for url, _ in ends) == Counter(list(expected))
    assert dict(ends) == expected
    check_pages(authorities, expected)
    fetches = [len(a.robots_hits) for a in authorities]
    assert min(fetches) == 1
    # A look-up that a busy machine makes late counts as failed, and is fetched for again.
    assert sum(fetches) <= max(count + 3, count * 1.01)
    assert [len(workers.ends(number)) > 0 for number in range(4)] == [True] * 4
    print(f"fetches: {sum(fetches)} of {count} authorities")  # noqa: T201


@pytest.mark.timeout(240)
@pytest.mark.parametrize("count", SIZES)
def test_a_killed_worker_loses_what_it_held_and_nothing_else(
    site: Site, server: RedisServer, tmp_path: Path, count: int
) -> None:
    """SIGKILL at mid-crawl: all other URLs end once and right, whoever held which lease."""
    authorities, expected, workers = crawl_together(site, server, tmp_path, count, timeout=5)
    workers.when(3 * count, workers.processes[1].kill)
    workers.finish(killed=1)
    lost = workers.held(1)
    ends = workers.all_ends()
    without = set(expected) - {url for url, _ in ends}
    assert len(ends) == len(expected) - len(without)  # nothing ended twice
    assert lost <= without
    assert len(without - lost) <= 1  # was it on its way from the queue when the signal came?
    assert {url: expected[url] for url, _ in ends} == dict(ends)
    check_pages(authorities, expected)
    assert len(lost) < 10 * count / 4
    print(f"held by the killed worker: {len(lost)} of {10 * count}")  # noqa: T201


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("count", "pause"), [(30, 1.0), pytest.param(500, 5.0, marks=pytest.mark.slow)]
)
def test_a_redis_server_that_stands_still_stops_no_crawl(
    site: Site, server: RedisServer, tmp_path: Path, count: int, pause: float
) -> None:
    """The server answers nobody for some seconds: every URL ends once and right."""
    authorities, expected, workers = crawl_together(site, server, tmp_path, count)

    def stand_still() -> None:
        server.signal(signal.SIGSTOP)
        time.sleep(pause)
        server.signal(signal.SIGCONT)

    workers.when(3 * count, stand_still)
    workers.finish()
    ends = workers.all_ends()
    assert Counter(url for url, _ in ends) == Counter(list(expected))
    assert dict(ends) == expected
    check_pages(authorities, expected)
