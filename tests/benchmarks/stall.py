"""How much longer the pages of plain hosts take beside hosts that have to wait.

``python -m tests.benchmarks.stall [--rounds 3] [--quick] [--csv FILE] [WORD...]`` crawls the pages
of plain hosts in four ways in turn, each in a process of its own: beside other hosts, alone, alone
with robots.txt off, and with it off while the requests to the others stay in Scrapy's queue. The
hosts are in another process, whose notes are the judge. A page takes 50 ms and there are 16 at
once, so that a crawl is bound by waiting and not by the processor. Where that is not so, a case
with pages of 150 ms stands beside it. With words, only the cases with these words in their names
are crawled; ``--quick`` crawls a few small ones.

What is printed for each case, in the median of the rounds:

- the seconds from the beginning of ``start()`` to the last page of a plain host: alone, and beside
  the others;
- how many times as long that is as in each of the other three ways. The last of them is the least
  that any frontier can take: all requests have to be read and queued;
- the share: of the time from its rules to the end, that in which a paced host answered a page, or
  in which its interval ran. It is the share of the pages that its pace allows, and that of the host
  with the least;
- the least gap between a page of a paced host and the next one, beside its interval;
- the seconds from the beginning of ``start()`` until each paced host had sent its robots.txt;
- how many pages the paced hosts have sent by the end. The processor has to read them as well.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import AsyncIterator, Iterator
from functools import partial
from itertools import chain, pairwise, product, starmap, zip_longest
from math import inf
from time import monotonic
from typing import Any, NamedTuple

from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import CloseSpider

from scrapy_rep.access import policy
from tests.benchmarks.running import ADDON, crawled, in_a_process, print_cases
from tests.benchmarks.stall_server import SERVICE, Hosts, Note, served

MOST = 180
"""Seconds after which a crawl is given up."""

SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 16,
    "RETRY_ENABLED": False,
    "CLOSESPIDER_TIMEOUT": MOST,
    "LOG_ENABLED": True,
    "LOG_LEVEL": "ERROR",
}
HOWS = ("ours", "alone", "off", "queued")

PLAIN = Hosts(1, 20, 150)
SLOWER = PLAIN._replace(page_after=0.15)
"""Sixteen at once are 107 pages a second, which leave the processor time for other hosts."""
SLOW_PAGES = "2 hosts with pages of 2 s"


class Case(NamedTuple):
    """Plain hosts, and others beside them."""

    name: str
    others: Hosts
    plain: Hosts = PLAIN
    is_mixed: bool = False
    lifetime: float = policy.MIN_LIFETIME
    """The least lifetime of rules. It is made shorter where they are to expire."""

    def requests(self, how: str, ports: list[int]) -> Iterator[Request]:
        """The requests, in their order: the others first, or a page of each host in turn."""
        of_hosts = list(self._of(self.plain, ports))
        if how in ("ours", "queued") or (how == "off" and self.name == SLOW_PAGES):
            of_hosts = [*self._of(self.others, ports), *of_hosts]
        if self.is_mixed:
            for turn in zip_longest(*of_hosts):
                yield from filter(None, turn)
        else:
            yield from chain.from_iterable(of_hosts)

    def _of(self, hosts: Hosts, ports: list[int]) -> Iterator[Iterator[Request]]:
        """The requests to each of some hosts."""
        for host in hosts.names:
            each = product([host], ports[: hosts.ports], range(hosts.pages))
            yield starmap(partial(self._request, hosts), each)

    def _request(self, hosts: Hosts, host: str, port: int, number: int) -> Request:
        """One request."""
        url = f"http://{host}:{port}/{number}"
        meta: dict[str, Any] = {"is_plain": hosts is self.plain}
        if hosts.is_behind_service:
            meta["robotstxt_page"] = url
            url = f"http://{SERVICE}:{port}/{host}/{number}"
        if hosts.slot is not None:
            meta["download_slot"] = hosts.slot
        return Request(url, meta=meta)


def paced(count: int, delay: float, pages: int = 100, **more: Any) -> Hosts:
    """Hosts with a Crawl-delay."""
    return Hosts(2, count, pages, delay, **more)


def silent(count: int, pages: int = 100, plain: Hosts = PLAIN) -> Case:
    """Hosts that accept connections, and never answer."""
    others = Hosts(3, count, pages, robots_after=None)
    return Case(f"{count:,} x {pages:,} silent", others, plain)


def slower(case: Case) -> Case:
    """The same case, with plain pages that take longer."""
    return case._replace(name=f"{case.name}, plain pages of 0.15 s", plain=SLOWER)


def both(count: int, delay: float, pages: int = 100) -> list[Case]:
    """Paced hosts in both orders."""
    name, others = f"{count:,} x {pages:,} paced, {delay:g} s", paced(count, delay, pages)
    return [Case(f"{name}, first", others), Case(f"{name}, mixed", others, is_mixed=True)]


CASES = (
    *both(1, 1, 1_500),
    *both(12, 1),
    *both(60, 2),
    *both(300, 10),
    *both(1_100, 10),
    silent(120),
    silent(1_000),
    Case("40 x 100, robots.txt after 10 s", Hosts(3, 40, 100, robots_after=10.0)),
    Case(
        "2 sites behind one service",
        paced(1, 1, 1_500, is_behind_service=True),
        Hosts(1, 1, 1_500, is_behind_service=True),
    ),
    Case("3 ports of one paced host", paced(1, 1, 500, ports=3)),
    Case("a slot with 100 hosts", paced(80, 8, slot="pool"), Hosts(1, 20, 75, slot="pool")),
    Case("60 x 100 paced, rules expire", paced(60, 4, max_age=3), lifetime=3.0),
    Case(SLOW_PAGES, Hosts(4, 2, 200, page_after=2.0), Hosts(1, 10, 200)),
    slower(both(60, 2)[0]),
    slower(both(300, 10)[0]),
    slower(both(1_100, 10)[0]),
    slower(silent(120)),
    slower(silent(1_000)),
)
FEW = PLAIN._replace(pages=15)
QUICK = (
    Case("1 x 1,500 paced, 0.5 s, first", paced(1, 0.5, 1_500), FEW),
    silent(30, 10, FEW),
)


class Figures(NamedTuple):
    """What one crawl showed."""

    seconds: float
    """Until the last page of the plain hosts; infinite if some did not come."""
    share: float = inf
    gap: float = inf
    rules: float = 0.0
    """Seconds until each paced host had sent its robots.txt."""
    pages: int = 0
    """What the paced hosts have sent."""


class StallSpider(Spider):
    """Ends the crawl with the last page of the plain hosts."""

    name = "stall"
    case: Case
    how: str
    ports: list[int]
    came = 0

    async def start(self) -> AsyncIterator[Any]:
        """All requests."""
        self.begun = monotonic()
        self.most = self.case.plain.count * self.case.plain.pages
        for request in self.case.requests(self.how, self.ports):
            yield request

    def parse(self, response: Any) -> None:
        """Count a page of a plain host."""
        self.came += response.meta["is_plain"]
        if self.came == self.most:
            raise CloseSpider


class OthersStay(Scheduler):
    """Scrapy's scheduler, but what it queues for the other hosts never leaves the queue."""

    def open(self, spider: Spider) -> Any:
        """Make one more queue, as Scrapy makes its own."""
        self.others = self._mq()
        return super().open(spider)

    def enqueue_request(self, request: Request) -> bool:
        """Do for each request what Scrapy does for it."""
        if request.meta["is_plain"]:
            return super().enqueue_request(request)
        if self.df.request_seen(request):
            return False
        self.others.push(request)
        return True


def measured(case: Case, how: str) -> Figures:
    """What a crawl in a process of its own showed."""
    number = (QUICK + CASES).index(case)
    with served([case.plain, case.others]) as server:
        begun = in_a_process("stall", "crawl", str(number), how, json.dumps(server.ports))
    return figures_of(case, server.notes, begun)


def figures_of(
    case: Case, notes: list[Note], begun: float, *, from_first_page: bool = False
) -> Figures:
    """The figures of a crawl that began at that time, out of the notes of the server.

    The share begins with the rules of a host.
    """
    notes = sorted(notes, key=lambda note: note.received)
    plain, delay = set(case.plain.names), case.others.delay
    ends = [note.sent for note in notes if note.is_page and note.host in plain]
    if len(ends) < case.plain.count * case.plain.pages:
        return Figures(inf)
    end = max(ends)
    rules: dict[str, float] = {}
    pages: dict[str, list[Note]] = {host: [] for host in case.others.names}
    for note in notes:
        if note.host not in pages or note.received > end:
            continue
        if note.is_page:
            pages[note.host].append(note)
        else:
            rules.setdefault(note.host, note.sent)
    if not delay or not any(pages.values()):
        return Figures(end - begun)
    gaps = [
        later.received - earlier.sent
        for of_host in pages.values()
        for earlier, later in pairwise(of_host)
    ]
    begins = (
        {host: of[0].received for host, of in pages.items() if of} if from_first_page else rules
    )
    shares = [share_of(pages[host], begins.get(host, end), end, delay) for host in pages]
    last = max(rules.get(host, inf) for host in pages)
    count = sum(map(len, pages.values()))
    return Figures(end - begun, min(shares), min(gaps, default=inf), last - begun, count)


def share_of(pages: list[Note], rules: float, end: float, delay: float) -> float:
    """Of the time since a host has sent its rules, the share that was not lost for its pace."""
    due, lost = rules, 0.0
    for page in pages:
        lost += max(page.received - due, 0.0)
        due = page.sent + delay
    lost += max(end - due, 0.0)
    return 1 - lost / (end - rules) if end > rules else 0.0


def crawl(case: Case, how: str, ports: list[int]) -> None:
    """One crawl in this process. It prints when it began, by the monotonic clock."""
    policy.MIN_LIFETIME = case.lifetime
    settings = {**SETTINGS, **(ADDON if how in ("ours", "alone") else {})}
    if how == "queued":
        settings["SCHEDULER"] = OthersStay
    print(crawled(StallSpider, settings, case=case, how=how, ports=ports).begun)


def median(rows: list[Figures]) -> Figures:
    """The median of each figure; of the gaps the least one."""
    columns = [statistics.median(column) for column in zip(*rows, strict=True)]
    return Figures(*columns)._replace(gap=min(row.gap for row in rows))


HEAD = (
    "beside", "alone, s", "beside, s", "ours", "off", "queued", "share, %", "gap, s", "pace, s",
    "rules, s", "pages",
)  # fmt: skip


def row_of(case: Case, rounds: int) -> tuple[str, ...]:
    """The cells of a case."""
    found = [[measured(case, how) for how in HOWS] for _ in range(rounds)]
    ours, alone, *_ = (median(list(rows)) for rows in zip(*found, strict=True))
    times = [
        statistics.median(row[0].seconds / row[against].seconds for row in found)
        for against in range(1, len(HOWS))
    ]
    row = [case.name, f"{alone.seconds:.1f}", f"{ours.seconds:.1f}", *(f"{x:.2f}" for x in times)]
    if ours.share <= 1:
        row += [f"{100 * ours.share:.0f}", f"{ours.gap:.3f}", f"{case.others.delay:g}"]
        row += [f"{ours.rules:.1f}", f"{ours.pages:.0f}"]
    return (*row, *[""] * (len(HEAD) - len(row)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        number, how, ports = sys.argv[2:]
        crawl((QUICK + CASES)[int(number)], how, json.loads(ports))
    else:
        print_cases(__doc__, HEAD, CASES, QUICK, row_of)
