"""The benchmarks measure what they say, or fail."""

from __future__ import annotations

import csv
from math import inf
from pathlib import Path

import pytest
import scrapy

from tests.benchmarks.crossings import Way, measure
from tests.benchmarks.frontier import MEMORY_OF
from tests.processes import run_python
from tests.timed import timed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def printed(benchmark: str, *arguments: str) -> list[str]:
    """The lines of a benchmark, which ends well; nothing is on stderr but what a command says."""
    done = run_python("-m", f"tests.benchmarks.{benchmark}", *arguments, timeout=250)
    others = [line for line in done.stderr.splitlines() if "robots filter: " not in line]
    assert (done.returncode, others) == (0, []), done.stderr
    return done.stdout.splitlines()


def test_memory_is_measured() -> None:
    """Each authority is fetched once, and the process grows."""
    last = printed("memory", "ours", "400")[-1]
    assert last.startswith("400 fetches; 0 fetches and 0 requests left")


@timed
@pytest.mark.parametrize(
    ("kind", "first", "following"),
    [
        ("the gate alone", Way(595, 282, 54), Way(144, 89, 29)),
        ("by default", Way(640, 307, 60), Way(180, 110, 36)),
    ],
)
def test_the_way_of_a_request_does_not_grow(kind: str, first: Way, following: Way) -> None:
    """Calls, crossings from module to module, and modules: what was reached, with a little air.

    A third of the calls for a page whose rules are known are those of its queue and its site.
    On a busy machine the scheduler is asked more often while a page comes.
    """
    for way, most in zip(measure(kind), (first, following), strict=True):
        assert all(is_ <= bound for is_, bound in zip(way, most, strict=True)), (way, most)


def test_a_stall_is_measured() -> None:
    """Each case has its seconds and ratios; a paced host has a share, and its interval is kept."""
    _, *rows = printed("stall", "--quick")
    assert [len(row[46:].split()) for row in rows] == [10, 5]
    for row in rows:
        figures = [float(figure) for figure in row[46:].split()]
        assert max(figures[:5]) < inf
        assert not figures[5:] or figures[6] >= figures[7]


def test_a_cluster_is_measured() -> None:
    """Two workers have all pages, by three queues; the pace of two hosts is kept."""
    _, row = printed("cluster", "--quick")
    ours, priority, fifo, _, share, gap, *costs = (float(cell) for cell in row[46:].split())
    assert max(ours, priority, fifo) < inf
    assert 0 < share <= 100
    assert gap >= 0.5
    assert min(costs) > 0


def test_what_a_request_costs_redis_is_measured() -> None:
    """Three queues, and ours with two numbers of hosts: four requests are popped at once."""
    _, *rows = printed("redis_queue", "400")
    figures = [[float(word) for word in row[32:].split()] for row in rows]
    assert [len(row) for row in figures] == [5] * 4
    assert min(min(row) for row in figures) > 0
    assert [row[4] for row in figures] == pytest.approx([1.0, 1.0, 0.25, 0.25], abs=0.05)


def test_the_frontier_is_measured() -> None:
    """Three queues have a cost and a len(). A parked site takes a kibibyte more at most than in
    Scrapy's own queue, whether it waits for its robots.txt or for its turn; a ready one no more.
    """
    _, *rows = printed("frontier", "1000")
    assert [row.count(" us") for row in rows[:6]] == [1] * 6
    memory = [float(row.split(": ")[1].split(" KiB")[0]) for row in rows[6:]]
    of = dict(zip(MEMORY_OF, memory, strict=True))
    assert of["parked"] < of["scrapy"] + 1
    assert of["unknown"] < of["scrapy"] + 1
    assert 0 < of["known"] < of["scrapy"]


def test_a_broad_crawl_is_measured() -> None:
    """Pages come with robots.txt off, with Scrapy's own middleware and with ours."""
    _, *rows = printed("broad", "--quick")
    assert [row.split()[1] for row in rows] == ["off", "built-in", "scrapy_rep"]
    for row in rows:
        pages, *figures = row.split()[2:]
        assert int(pages.removesuffix("+")) > 0
        assert min(float(figure) for figure in figures) > 0


def test_a_crawl_is_simulated(tmp_path: Path) -> None:
    """All pages come or are refused; each pace is kept, and each robots.txt is fetched once."""
    printed("simulation", "100", "--csv", str(tmp_path / "csv"))
    (found,) = csv.DictReader((tmp_path / "csv").read_text().splitlines())
    assert int(found["pages"]) > 250
    assert found["too late"].startswith("0 of ")
    assert float(found["closest"]) >= 1
    assert float(found["fetches a life"]) == 1


def test_days_are_simulated(tmp_path: Path) -> None:
    """Each site is visited again and again; nothing grows, though its rules live for a minute."""
    days = ("--days", "1", "--every", "6", "--life", "60")
    printed("simulation", "100", *days, "--csv", str(tmp_path / "csv"))
    (found,) = csv.DictReader((tmp_path / "csv").read_text().splitlines())
    assert int(found["pages"].replace(",", "")) > 1_000
    assert float(found["hours"]) >= 18
    assert found["too late"].startswith("0 of ")
    assert float(found["fetches a life"]) == 1
    assert float(found["grown"]) < 1.05


def test_the_gate_is_measured() -> None:
    """Three files by two identities, each with a figure of this package and of Scrapy's own."""
    _, *rows = printed("gate", "20")
    assert len(rows) == 6
    assert all(row.endswith("x") for row in rows)


@pytest.mark.skipif(scrapy.version_info < (2, 15), reason="it passes outputs as Scrapy 2.15 does")
def test_pages_are_measured() -> None:
    """Three kinds of responses, with the middleware off and in its two modes."""
    _, *rows = printed("pages", "5")
    assert [len(row.split()[-5:]) for row in rows] == [5, 5, 5]
    assert all(float(figure) > 0 for row in rows for figure in row.split()[-5:-2])


def test_the_filter_is_measured() -> None:
    """The command and the loop keep the same work: each has a rate, and the memory is compared."""
    rows = printed("filter", "--urls", "900", "--authorities", "9", "--rounds", "1")
    assert [row.split("  ")[0] for row in rows[:2]] == ["scrapy robots filter", "loop with Protego"]
    assert rows[2].startswith("ratio ")


@timed
def test_records_cost_nothing_where_they_are_off() -> None:
    """Less than what two runs differ by; and each kind of records is measured.

    A log of refusals takes 1.6 times as long as the rest of the way of a request, one of all 2.7
    times: together that is a hundredth of what a page costs Scrapy.
    """
    rows = {row[:24].strip(): row[24:].split() for row in printed("records", "2000")[1:]}
    assert len(rows) == 5
    off = float(rows["off"][2])
    assert float(rows["archive"][1]) < 0.1 * off
    most = 4 * off
    assert float(rows["log of refusals"][3]) < most
    assert float(rows["log of all"][3]) < most
    assert float(rows["log of all, Allow rules"][3]) < most
