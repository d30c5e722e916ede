"""What obeying costs a whole crawl: CPU per page, with ROBOTSTXT_OBEY off, built-in, and ours.

``python -m tests.benchmarks.crawl_cost [rounds]`` starts an nginx of its own on loopback (Debian:
nginx-light) and crawls 3,000 pages of one authority, and one page of each of 2,000. Each crawl is
a process of its own, the kinds take turns, and medians are printed; then, from one more crawl of
each kind under a profiler, the packages in which the time goes.
"""

from __future__ import annotations

import contextlib
import cProfile
import json
import pstats
import random
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

from tests.benchmarks.inputs import rules

ROUNDS = 5
WORKLOADS = {"1 authority x 3,000 pages": (1, 3_000), "2,000 authorities x 1 page": (2_000, 1)}
KINDS: dict[str, dict[str, Any]] = {
    "off": {"ROBOTSTXT_OBEY": False},
    "built-in": {"ROBOTSTXT_OBEY": True},
    "ours": {"ADDONS": {"scrapy_rep.Addon": 100}},
}
SETTINGS = {
    "LOG_ENABLED": False,
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "ROBOTSTXT_USER_AGENT": "mybot",
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
}
NGINX = """\
daemon off; master_process off; pid {root}/pid; error_log {root}/error;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000; client_body_temp_path {root}/t1;
  proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3; uwsgi_temp_path {root}/t4;
  scgi_temp_path {root}/t5; default_type text/html;
  server {{
    listen 0.0.0.0:{port} backlog=4096;
    location = /robots.txt {{ root {root}; default_type text/plain; }}
    location / {{ return 200 "<html><body>a page</body></html>"; }}
  }}
}}
"""


class CostSpider(Spider):
    """Pages that another page links to: so the scheduler is full, whatever waits elsewhere.

    From `start()` Scrapy takes one request after another, and without robots.txt makes it at once:
    then nothing ever queues, which makes a page cheaper by a third.
    """

    name = "cost"

    def __init__(self, port: int, authorities: int, pages: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = [
            f"http://127.7.{n // 250}.{n % 250 + 1}:{port}/shop/item-{page}.html"
            for n in range(authorities)
            for page in range(pages)
        ]
        self.pages = 0

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        yield Request(self.urls[0])

    def parse(self, _response: Any) -> Iterable[Request] | None:
        """Counted; the first leads to all others."""
        self.pages += 1
        return map(Request, self.urls[1:]) if self.pages == 1 else None


def crawl(job: dict[str, Any]) -> dict[str, Any]:
    """One crawl in this process: seconds of CPU and of the clock, and pages."""
    process = AsyncCrawlerProcess({**SETTINGS, **KINDS[job["kind"]]})
    crawler = process.create_crawler(CostSpider)
    figures: dict[str, Any] = {}

    def opened() -> None:
        figures.update(cpu=_cpu(), wall=time.perf_counter())

    def closed() -> None:
        figures.update(cpu=_cpu() - figures["cpu"], wall=time.perf_counter() - figures["wall"])

    crawler.signals.connect(opened, signal=signals.spider_opened)
    crawler.signals.connect(closed, signal=signals.spider_closed)
    process.crawl(crawler, **job["arguments"])
    profile = cProfile.Profile(time.process_time)
    with profile if job["profile"] else contextlib.nullcontext():
        process.start()
    figures["pages"] = crawler.spider.pages  # type: ignore[union-attr]
    if job["profile"]:
        figures["packages"] = dict(_by_package(profile))
    return figures


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _by_package(profile: cProfile.Profile) -> Counter[str]:
    """Return the seconds spent in the lines of each package."""
    spent: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        parts = Path(file).parts
        known = [p for p in ("scrapy_rep", "scrapy", "twisted", "protego", "asyncio") if p in parts]
        spent[known[0] if known else "other"] += own
    return spent


def measure(kind: str, port: int, workload: str, *, profile: bool = False) -> dict[str, Any]:
    """One crawl in a process of its own."""
    authorities, pages = WORKLOADS[workload]
    arguments = {"port": port, "authorities": authorities, "pages": pages}
    job = json.dumps({"kind": kind, "arguments": arguments, "profile": profile})
    command = [sys.executable, "-m", "tests.benchmarks.crawl_cost", job]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(child.stdout)
    assert figures["pages"] == authorities * pages, figures
    return figures


@contextlib.contextmanager
def nginx() -> Iterator[int]:
    """A server on every loopback address; its port."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory() as root, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        Path(root).chmod(0o755)
        robots = "User-agent: *\n" + rules(random.Random(9), 60)
        Path(root, "robots.txt").write_text(robots)
        Path(root, "conf").write_text(NGINX.format(root=root, port=port))
        server = subprocess.Popen([program, "-p", root, "-c", f"{root}/conf"])
        try:
            _wait_for(port)
            yield port
        finally:
            server.terminate()
            server.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit("nginx does not answer")


def compare(port: int, workload: str, rounds: int) -> None:
    """The table of one workload."""
    taken: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, figures in taken.items():
            figures.append(measure(kind, port, workload))
    cpu = {kind: [f["cpu"] / f["pages"] * 1e6 for f in all_] for kind, all_ in taken.items()}
    base = statistics.median(cpu["off"])
    print(f"\n{workload}, CPU in microseconds per page, {rounds} interleaved rounds")
    print(f"{'':10}{'median':>10}{'least':>10}{'most':>10}{'extra':>10}{'of off':>10}")
    for kind, values in cpu.items():
        middle = statistics.median(values)
        print(
            f"{kind:10}{middle:10.0f}{min(values):10.0f}{max(values):10.0f}"
            f"{middle - base:+10.0f}{middle / base:9.2f}x"
        )
    paired = [
        (ours - off) / (builtin - off)
        for off, builtin, ours in zip(cpu["off"], cpu["built-in"], cpu["ours"], strict=True)
        if builtin > off
    ]
    if paired:
        print(f"ours / built-in, what they add to off: {statistics.median(paired):.2f}")


def where(port: int, workload: str) -> None:
    """The packages in which the time goes."""
    print(f"\n{workload}, where the time goes (milliseconds of CPU under a profiler)")
    spent = {kind: measure(kind, port, workload, profile=True)["packages"] for kind in KINDS}
    names = sorted({name for packages in spent.values() for name in packages})
    print(f"{'':10}" + "".join(f"{name:>12}" for name in names))
    for kind, packages in spent.items():
        print(f"{kind:10}" + "".join(f"{packages.get(n, 0) * 1e3:12.0f}" for n in names))


def main(arguments: list[str]) -> None:
    """A job of one crawl, or all of them."""
    if arguments and arguments[0].startswith("{"):
        print(json.dumps(crawl(json.loads(arguments[0]))))
        return
    with nginx() as port:
        for workload in WORKLOADS:
            compare(port, workload, int(arguments[0]) if arguments else ROUNDS)
            where(port, workload)


if __name__ == "__main__":
    main(sys.argv[1:])
