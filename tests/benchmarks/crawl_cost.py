"""What obeying costs a whole crawl: CPU per page, with ROBOTSTXT_OBEY off, built-in, and ours.

``python -m tests.benchmarks.crawl_cost [rounds]`` starts an nginx of its own on loopback (Debian:
nginx-light) and crawls 3,000 pages of one authority, and one page of each of 2,000. Each crawl is
a process of its own, the kinds take turns, and medians are printed.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

from scrapy import Request, Spider

from tests.benchmarks.inputs import rules
from tests.benchmarks.running import ADDON, argument, crawled, in_a_process
from tests.crawl.programs import running

ROUNDS = 5
WORKLOADS = {"1 authority x 3,000 pages": (1, 3_000), "2,000 authorities x 1 page": (2_000, 1)}
KINDS: dict[str, dict[str, Any]] = {
    "off": {"ROBOTSTXT_OBEY": False},
    "built-in": {"ROBOTSTXT_OBEY": True},
    "ours": ADDON,
}
SETTINGS = {
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "ROBOTSTXT_USER_AGENT": "mybot",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
}
NGINX = """\
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 100000; client_body_temp_path {folder}/t1;
  proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5; default_type text/html;
  server {
    listen 0.0.0.0:{port} backlog=4096;
    location = /robots.txt { root {folder}; default_type text/plain; }
    location / { return 200 "<html><body>a page</body></html>"; }
  }
}
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
        """The first, after a look at the clock of the processor."""
        self.cpu = -time.process_time()
        yield Request(self.urls[0])

    def parse(self, _response: Any) -> Iterable[Request] | None:
        """Counted; the first leads to all others."""
        self.pages += 1
        return map(Request, self.urls[1:]) if self.pages == 1 else None

    def closed(self, _reason: str) -> None:
        """The crawl is over."""
        self.cpu += time.process_time()


def crawl(job: dict[str, Any]) -> dict[str, Any]:
    """One crawl in this process: seconds of CPU, and pages."""
    spider = crawled(CostSpider, {**SETTINGS, **KINDS[job["kind"]]}, **job["arguments"])
    return {"cpu": spider.cpu, "pages": spider.pages}


def measure(kind: str, port: int, workload: str) -> float:
    """Microseconds of CPU per page of a crawl in a process of its own."""
    authorities, pages = WORKLOADS[workload]
    arguments = {"port": port, "authorities": authorities, "pages": pages}
    figures = in_a_process("crawl_cost", json.dumps({"kind": kind, "arguments": arguments}))
    assert figures["pages"] == authorities * pages, figures
    return float(figures["cpu"]) / figures["pages"] * 1e6


def compare(port: int, workload: str, rounds: int) -> None:
    """The table of one workload."""
    taken = [[measure(kind, port, workload) for kind in KINDS] for _ in range(rounds)]
    cpu = dict(zip(KINDS, zip(*taken, strict=True), strict=True))
    base = statistics.median(cpu["off"])
    print(f"\n{workload}, CPU in microseconds per page, {rounds} interleaved rounds")
    print(f"{'':10}{'median':>10}{'least':>10}{'most':>10}{'extra':>10}{'of off':>10}")
    for kind, values in cpu.items():
        middle = statistics.median(values)
        print(
            f"{kind:10}{middle:10.0f}{min(values):10.0f}{max(values):10.0f}"
            f"{middle - base:+10.0f}{middle / base:9.2f}x"
        )


def main() -> None:
    """A job of one crawl, or all of them."""
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        print(json.dumps(crawl(json.loads(sys.argv[1]))))
        return
    robots = "User-agent: *\n" + rules(random.Random(9), 60)
    with running("nginx", "-p {folder} -c {folder}/conf", NGINX, robots__txt=robots) as nginx:
        for workload in WORKLOADS:
            compare(nginx.port, workload, argument(ROUNDS))


if __name__ == "__main__":
    main()
