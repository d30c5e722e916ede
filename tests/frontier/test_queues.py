"""The queues of the sites: Scrapy's order, its job directories, and what it is when one fails."""

from __future__ import annotations

import errno
import logging
import os
import random
import resource
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from shutil import rmtree
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
import scrapy
from queuelib import FifoDiskQueue, LifoDiskQueue
from scrapy import Request, Spider
from scrapy.core.downloader import Downloader
from scrapy.dupefilters import BaseDupeFilter
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue, _path_safe
from scrapy.squeues import (
    FifoMemoryQueue,
    LifoMemoryQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)
from scrapy.utils.test import get_crawler

from scrapy_rep.frontier.frontier import Frontier
from scrapy_rep.frontier.places import Places
from scrapy_rep.frontier.queues import FrontierQueue
from scrapy_rep.frontier.request_state import to_come_back
from scrapy_rep.frontier.states import Block
from scrapy_rep.scheduler import RepScheduler
from scrapy_rep.scrapy_names import ScrapyNames
from scrapy_rep.stats import RepStats
from tests.frontier.test_frontier import Neighbours
from tests.frontier.virtual_time import VirtualTime
from tests.rows import first
from tests.scripted import Counts
from tests.stores.obstacles import no_file_beyond

Log = pytest.LogCaptureFixture

MEMORY = [LifoMemoryQueue, FifoMemoryQueue]
DISK = [PickleLifoDiskQueue, PickleFifoDiskQueue]
FIFO = {FifoMemoryQueue, PickleFifoDiskQueue}
SITE = "http://a.example"


class OpenGate(Neighbours):
    """A gate and turns that hold up nothing; the one fake, as there are no sites to ask."""

    def knows(self, authority: Any) -> bool:
        """All rules are known."""
        return True

    def blocked_by(self, request: Request, state: Any, room: Block | None) -> Block | None:
        """Only a slot without room blocks a request."""
        return room

    def begin(self, request: Request, state: Any, authority: Any) -> None:
        """Nothing is fetched."""
        raise AssertionError

    def is_due(self, name: str) -> bool:
        """Every host is."""
        return True


class Job:
    """A crawl that keeps its requests under a path."""

    def __init__(self, path: Path, cls: Any = LifoMemoryQueue, start: Any = None) -> None:
        self.path = path
        self._classes = cls, start
        settings = {
            "CONCURRENT_REQUESTS_PER_DOMAIN": 0,
            "DUPEFILTER_CLASS": BaseDupeFilter,
            "JOBDIR": str(path.parent),
        }
        self.crawler = get_crawler(Spider, settings)
        self.crawler.spider = self.crawler._create_spider("spider")
        self._downloader = Downloader(self.crawler)
        self.crawler.engine = SimpleNamespace(downloader=self._downloader, _slot=None)  # type: ignore[assignment]
        self.counts = Counts()
        self.frontier: Any = None

    def close(self) -> None:
        """Stop the timers of the downloader."""
        self._downloader.close()

    def use_frontier(self) -> Frontier:
        """From now on the frontier chooses."""
        scrapy, stats = ScrapyNames(self.crawler), RepStats(self.counts)  # type: ignore[arg-type]
        self.frontier = Frontier(self.crawler, scrapy, stats, Places(scrapy, stats), time.time)
        gate: Any = OpenGate()
        self.frontier.connect(gate, gate, int)
        self.frontier.open()
        return self.frontier

    def queue(self, state: Any = None, of: Any = FrontierQueue) -> Any:
        """The queue, with what an earlier one of this path has left."""
        cls, start = self._classes
        return of.from_crawler(self.crawler, cls, str(self.path), state, start_queue_cls=start)

    def next(self, queue: Any) -> Request | None:
        """The next request, by the frontier if it is used."""
        return queue.pop() if self.frontier is None else self.frontier.next(queue.pop)

    def drain(self, queue: Any) -> list[str]:
        """The paths of all requests, in the order in which they go."""
        found = []
        while (request := self.next(queue)) is not None:
            found.append(path_of(request))
        assert len(queue) == 0
        return found


JobOf = Callable[..., Job]


@pytest.fixture
def job_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobOf]:
    """Makes jobs of one path."""
    VirtualTime.of(monkeypatch, "limits", "frontier")
    jobs: list[Job] = []

    def make(*classes: Any, has_frontier: bool = False) -> Job:
        jobs.append(Job(tmp_path / "requests.queue", *classes))
        if has_frontier:
            jobs[-1].use_frontier()
        return jobs[-1]

    yield make
    for job in jobs:
        job.close()


def with_frontier(job: Job) -> tuple[Job, Frontier, Any]:
    """A job in which the frontier chooses, its frontier, and a queue."""
    return job, job.use_frontier(), job.queue()


def path_of(request: Request) -> str:
    """The path of a request, which is its name here."""
    return request.url.rpartition("/")[2]


def request(name: object, host: str = "a.example", **kwargs: Any) -> Request:
    """A request to a site."""
    return Request(f"http://{host}/{name}", **kwargs)


def filled(queue: Any, requests: Iterable[Request]) -> Any:
    """The queue, which has got these requests."""
    for each in requests:
        queue.push(each)
    return queue


def of_two_sites(count: int = 3) -> list[Request]:
    """So many requests to one site, and one to another."""
    return [*map(request, range(count)), request("x", "b.example")]


def some(seed: int, count: int = 14) -> list[Request]:
    """Requests to one site, of several priorities, some of them start requests."""
    rnd, found = random.Random(seed), []
    for number in range(count):
        priority = rnd.choice([0, 0, 0, 1, -1])
        meta = {"is_start_request": True} if rnd.random() < 0.5 else {}
        found.append(request(number, priority=priority, meta=meta))
    return found


def order_of_scrapy(job: Job, requests: list[Request]) -> list[str]:
    """The order in which Scrapy's own queue gives these out."""
    cls, start = job._classes
    path = str(job.path.with_name("other"))
    own = ScrapyPriorityQueue.from_crawler(job.crawler, cls, path, start_queue_cls=start)
    queue, found = filled(own, requests), []
    while (each := queue.pop()) is not None:  # type: ignore[assignment]
        found.append(path_of(each))
    return found


EACH_QUEUE = [(cls, start) for kind in (MEMORY, DISK) for cls in kind for start in (None, *kind)]
EACH_DISK_QUEUE = [(cls, start) for cls, start in EACH_QUEUE if cls in DISK]


@pytest.mark.parametrize(("cls", "start"), EACH_QUEUE)
def test_the_order_within_a_site_is_scrapys(cls: Any, start: Any, job_of: JobOf) -> None:
    """By priority, then as the queue has it, with a queue of their own for start requests.

    With the frontier, and without it.
    """
    for has_frontier in (True, False):
        job, requests = job_of(cls, start, has_frontier=has_frontier), some(1)
        queue = filled(job.queue(), requests)
        assert len(queue) == len(requests)
        assert job.drain(queue) == order_of_scrapy(job, requests)
        assert queue.close() == {}


@pytest.mark.parametrize("heads", first(1, [3, 1]))
@pytest.mark.parametrize(("cls", "start"), EACH_DISK_QUEUE)
def test_heads_go_back_at_the_close_and_come_out_first(
    cls: Any, start: Any, heads: int, job_of: JobOf
) -> None:
    """In our next run, and in one with Scrapy's own class: nothing is lost, or there twice."""
    for goes_on in (FrontierQueue, DownloaderAwarePriorityQueue):
        job, requests = job_of(cls, start, has_frontier=True), some(2)
        expected = order_of_scrapy(job, requests)
        queue = filled(job.queue(), requests)
        taken = [queue.take(SITE) for _ in range(heads)]
        assert [path_of(each) for each in taken] == expected[:heads]
        assert len(queue) == len(requests)
        state = queue.close()

        later = job_of(cls, start, has_frontier=goes_on is FrontierQueue)
        again = later.queue(state, goes_on)
        assert len(again) == len(requests)
        assert later.drain(again) == expected
        # Scrapy's own class left empty folders and files behind before 2.19.
        assert scrapy.version_info < (2, 19) or list(job.path.rglob("*")) == []


@pytest.mark.parametrize("cls", [*MEMORY, *DISK])
def test_a_head_has_its_priority_again_in_the_next_run(cls: Any, job_of: JobOf) -> None:
    """Also if it went back with another one, as the first of its queue, time and again."""
    state: Any = None
    for _ in range(3):
        queue = job_of(cls, has_frontier=True).queue(state)
        if state is None:
            filled(queue, [request("head", priority=4), request("x", priority=3 + (cls in FIFO))])
        head = queue.take(SITE)
        assert (path_of(head), head.priority, head.meta) == ("head", 4, {})
        if cls in MEMORY:
            queue.close()
            assert (head.priority, bool(head.meta)) == ((5, True) if cls in FIFO else (4, False))
            return
        state = queue.close()
        assert len(queue._heads) == 0


def test_each_queue_counts_its_own_requests(job_of: JobOf) -> None:
    """Heads included, until they are given out."""
    job, _, queue = with_frontier(job_of())
    other = job.queue()
    assert (len(queue), len(other)) == (0, 0)
    filled(queue, of_two_sites())
    other.push(request("y"))
    assert (len(queue), len(other)) == (4, 1)
    queue.take(SITE)
    assert len(queue) == 4
    assert queue.top(SITE) == 0
    assert job.next(queue) is not None
    assert (len(queue), len(other)) == (3, 1)


def test_a_queue_gives_out_the_chosen_request_if_it_is_its_own(job_of: JobOf) -> None:
    """Scrapy asks that in memory first, then that on disk."""
    job, frontier, queue = with_frontier(job_of())
    other = job.queue()
    page = request("x")
    other.push(page)
    assert queue.pop() is None
    assert other.pop() is None
    assert job.next(queue) is None
    assert frontier.chosen is page
    assert queue.pop() is None
    assert frontier.next(other.pop) is page
    assert frontier.chosen is None
    assert other.pop() is None
    assert len(other) == 0


def test_the_top_of_a_site_is_the_priority_of_its_next_request(job_of: JobOf) -> None:
    """None if it has none."""
    queue = job_of().queue()
    assert queue.top("a.example") is None
    assert queue.take("a.example") is None
    filled(queue, [request(priority, priority=priority) for priority in (0, 7, 3)])
    tops = []
    while (top := queue.top("a.example")) is not None:
        tops.append(top)
        assert path_of(queue.take("a.example")) == str(top)
    assert tops == [7, 3, 0]


def test_requests_are_queued_by_site_with_a_frontier_and_by_slot_without(job_of: JobOf) -> None:
    """Those of a rendering service share a slot."""
    pages = [request("x", host, meta={"download_slot": "service"}) for host in ("a", "b")]
    for has_frontier, keys in ((True, ["http://a", "http://b"]), (False, ["service"])):
        queue = job_of(has_frontier=has_frontier).queue()
        assert list(filled(queue, pages).pqueues) == keys


def test_a_job_goes_on_with_the_queues_that_it_has(job_of: JobOf) -> None:
    """Those of Scrapy's own class hold the requests of many sites each, by slot."""
    before = job_of(PickleLifoDiskQueue)
    of_service = {"meta": {"download_slot": "service"}}
    pages = [request(number, f"h{number}.example", **of_service) for number in range(4)]
    queue = before.queue(None, DownloaderAwarePriorityQueue)
    state = filled(queue, [*pages, request("x")]).close()
    job = job_of(PickleLifoDiskQueue)
    frontier = job.use_frontier()
    # its state may name a queue that lost its files
    queue = job.queue({**state, "gone": [0]})
    assert sorted(queue.pqueues) == ["a.example", "service"]
    assert len(queue) == 5
    sizes = {key: site.size for key, site in frontier.sites.by_key.items()}
    assert sizes == {"a.example": 1, "service": 4}
    assert sorted(job.drain(queue)) == ["0", "1", "2", "3", "x"]


@pytest.mark.parametrize("begins", [DownloaderAwarePriorityQueue, FrontierQueue])
@pytest.mark.parametrize(("cls", "start"), EACH_DISK_QUEUE)
def test_a_job_that_goes_on_with_the_other_class_keeps_its_order(
    cls: Any, start: Any, begins: Any, job_of: JobOf
) -> None:
    """Scrapy's own class with a job of ours, and ours with one of Scrapy's, in mid-crawl."""
    is_ours, requests = begins is FrontierQueue, some(3)
    job = job_of(cls, start, has_frontier=is_ours)
    expected = order_of_scrapy(job, requests)
    queue = filled(job.queue(None, begins), requests)
    found = [path_of(job.next(queue)) for _ in range(5)]
    later = job_of(cls, start, has_frontier=not is_ours)
    others = DownloaderAwarePriorityQueue if is_ours else FrontierQueue
    assert found + later.drain(later.queue(queue.close(), others)) == expected


@pytest.mark.parametrize("has_frontier", [True, False])
@pytest.mark.parametrize("goes_on", [FrontierQueue, DownloaderAwarePriorityQueue])
def test_a_request_that_was_given_back_has_no_mark(
    has_frontier: bool, goes_on: Any, job_of: JobOf
) -> None:
    """It may have gone through a queue that is not ours, and the job may go on without us."""
    queue = job_of(PickleLifoDiskQueue, has_frontier=has_frontier).queue()
    queue.push(to_come_back(request("x")))
    later = job_of(PickleLifoDiskQueue)
    page = later.queue(queue.close(), goes_on).pop()
    assert (page.dont_filter, page.meta) == (False, {})


# --- faults


def test_a_request_that_cannot_be_written_leaves_nothing(job_of: JobOf) -> None:
    """Scrapy's scheduler keeps it in memory then."""
    job, frontier, queue = with_frontier(job_of(PickleLifoDiskQueue))
    unwritable = request("x", callback=lambda response: None)
    with pytest.raises(ValueError, match="cannot"):
        queue.push(unwritable)
    assert (len(queue), queue.pqueues, len(frontier.sites.by_key)) == (0, {}, 0)
    assert list(job.path.rglob("*")) == []
    queue.push(request("y"))
    with pytest.raises(ValueError, match="cannot"):
        queue.push(unwritable)
    assert (len(queue), list(queue.pqueues)) == (1, [SITE])
    assert job.drain(queue) == ["y"]


@pytest.mark.parametrize("has_failed", [False, True])
@pytest.mark.parametrize("is_start", [True, False])
def test_a_request_that_cannot_be_written_costs_no_other_one(
    job_of: JobOf, is_start: bool, has_failed: bool
) -> None:
    """Of the same site and priority, start request or not. The frontier may have failed since."""
    job, frontier, queue = with_frontier(job_of(PickleLifoDiskQueue, PickleFifoDiskQueue))
    start: dict[bool, Any] = {True: {"is_start_request": True}, False: {}}
    filled(queue, [request(number, meta=start[is_start]) for number in range(3)])
    unwritable = request("x", meta=start[not is_start])
    with pytest.raises(ValueError, match="cannot"):
        queue.push(unwritable.replace(callback=lambda response: None))
    if has_failed:
        frontier.give_up(ValueError("a fault"))
    found = [job.next(queue) for _ in range(5 if has_failed else 3)]
    assert {path_of(each) for each in found if each is not None} == {"0", "1", "2"}
    assert len(queue) == 0


def test_requests_that_the_disk_does_not_take_stay_in_memory(job_of: JobOf, caplog: Log) -> None:
    """One line says so, however many there are."""
    job, frontier, queue = with_frontier(job_of(PickleLifoDiskQueue))
    job.path.mkdir()
    for host in ("a.example", "b.example"):
        (job.path / _path_safe(f"http://{host}")).write_text("in the way")
        with pytest.raises(ValueError, match="it cannot be kept on disk: ") as caught:
            queue.push(request("x", host))
        assert isinstance(caught.value.__cause__, OSError)
    assert (len(queue), queue.pqueues, len(frontier.sites.by_key)) == (0, {}, 0)
    (line,) = caplog.messages
    assert line.startswith("Requests stay in memory from now on if their queue cannot be kept")
    queue.push(request("x", "c.example"))
    assert job.drain(queue) == ["x"]


@pytest.mark.parametrize("was_stopped_before", [True, False])
def test_an_empty_file_that_a_killed_run_left_does_no_harm(
    was_stopped_before: bool, job_of: JobOf
) -> None:
    """Neither can requests not be queued there, nor can the next run not open its queues."""
    job = job_of(PickleLifoDiskQueue, PickleLifoDiskQueue)
    folder = job.path / _path_safe("a.example")
    state = {"a.example": [0]} if was_stopped_before else None
    folder.mkdir(parents=True)
    for name in ("0", "0s"):
        (folder / name).touch()
    queue = job.queue(state)
    filled(queue, [request("x"), request("y", meta={"is_start_request": True})])
    later = job_of(PickleLifoDiskQueue, PickleLifoDiskQueue)
    assert sorted(later.drain(later.queue(queue.close()))) == ["x", "y"]


class KeywordQueue(PickleLifoDiskQueue):
    """A queue of a project, which its `from_crawler` makes in its own way."""

    def __init__(self, *, owner: Any, name: str) -> None:
        super().__init__(owner, name)

    @classmethod
    def from_crawler(cls, crawler: Any, key: str, *_: Any, **__: Any) -> Any:
        """Make it."""
        return cls(owner=crawler, name=key)


def test_a_custom_queue_may_take_any_arguments(job_of: JobOf) -> None:
    """Scrapy prescribes those of `from_crawler` alone."""
    job = job_of(KeywordQueue)
    (job.path / _path_safe("a.example")).mkdir(parents=True)
    (job.path / _path_safe("a.example") / "0").touch()
    queue = job.queue()
    queue.push(request("x"))
    assert job.drain(job.queue(queue.close())) == ["x"]


@contextmanager
def few_files(more: int) -> Iterator[None]:
    """The process may open so many files more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    in_use = {int(each) for each in os.listdir("/dev/fd")}  # noqa: PTH208
    free = (number for number in count() if number not in in_use)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(islice(free, more, None)), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def scheduler_of(job: Job) -> Any:
    """The scheduler of a job, open."""
    job.use_frontier()
    scheduler = RepScheduler.from_crawler(job.crawler)
    scheduler.open(job.crawler.spider)
    return scheduler


def enqueue(scheduler: Any, count: int) -> None:
    """A scheduler gets requests to so many sites."""
    for number in range(count):
        assert scheduler.enqueue_request(request(number, f"h{number}.example"))


def test_more_sites_than_files_may_be_open(job_of: JobOf, caplog: Log) -> None:
    """What cannot be kept on disk is kept in memory, and every request goes."""
    job = job_of()
    scheduler = scheduler_of(job)
    with few_files(20):
        enqueue(scheduler, 50)
    assert 0 < len(scheduler.mqs) < 50
    assert len(scheduler) == 50
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    found = set()
    while (page := scheduler.next_request()) is not None:
        found.add(path_of(page))
    assert found == {str(number) for number in range(50)}
    assert not scheduler.has_pending_requests()
    scheduler.close("finished")


def test_a_file_that_has_lost_its_end_counts_no_more(job_of: JobOf) -> None:
    """Its site is gone, and the crawl can end."""
    job, frontier, queue = with_frontier(job_of(PickleFifoDiskQueue))
    filled(queue, of_two_sites())
    (path,) = (job.path / _path_safe(SITE)).rglob("q00000")
    os.truncate(path, 0)
    assert job.drain(queue) == ["x"]
    assert len(frontier.sites.by_key) == 0
    queue.push(request("y"))
    assert job.drain(queue) == ["y"]
    queue.close()


@pytest.mark.parametrize("chooses", [True, False], ids=["frontier", "Scrapy"])
@pytest.mark.parametrize("gone", [[1, 2], [0], [4], [0, 1, 2, 3, 4]])
def test_a_request_whose_callback_is_gone_costs_itself_alone(
    job_of: JobOf, caplog: Log, gone: list[int], chooses: bool
) -> None:
    """A new version of the spider has another name for it. The crawl goes on, and can end."""
    job = job_of(PickleFifoDiskQueue)
    spider: Any = job.crawler.spider
    spider.old = MethodType(lambda _, response: None, spider)
    frontier = job.use_frontier() if chooses else None
    queue = job.queue()
    for number in range(5):
        priority = -(number // 2)  # each has a queue within the queue
        callback = spider.old if number in gone else None
        queue.push(request(number, callback=callback, priority=priority))
    queue.push(request("x", "b.example"))
    del spider.old

    def ask() -> str:
        try:
            page = job.next(queue)
        except ValueError:  # as Scrapy's own queue: the engine says so, and asks again
            return "failed"
        return "" if page is None else path_of(page)

    said = []
    while len(queue):
        said.append(ask())
    failed, found = said.count("failed"), [each for each in said if each not in ("", "failed")]
    assert sorted(found) == [*(str(n) for n in range(5) if n not in gone), "x"]
    if frontier is not None:
        assert frontier.is_open
        failed = sum("Method 'old' not found" in line for line in caplog.messages)
    assert failed == len(gone)
    queue.push(request("y"))
    assert job.drain(queue) == ["y"]
    assert frontier is None or not frontier.sites.by_key


def test_one_object_that_is_queued_twice_is_two_requests(job_of: JobOf) -> None:
    """Both are taken when a fetch has failed, and both are given out."""
    _, frontier, queue = with_frontier(job_of())
    same = request("same")
    filled(queue, [same, same])
    taken = [queue.take(SITE), queue.take(SITE)]
    assert taken[0] is not taken[1]
    assert len(queue) == 2
    for each in taken:
        frontier.chosen = each
        assert queue.pop() is each
    assert len(queue) == 0


def test_after_a_fault_heads_go_first_and_then_scrapys_order(job_of: JobOf, caplog: Log) -> None:
    """No request is lost, and no code of the frontier runs."""
    _, frontier, queue = with_frontier(job_of())
    filled(queue, of_two_sites(4))
    heads = [queue.take("http://b.example"), queue.take(SITE)]
    frontier.give_up(ValueError("a fault"))
    assert "a fault" in caplog.text
    queue.push(request("z"))
    assert len(queue) == 6
    assert [queue.pop(), queue.pop()] == heads
    assert {path_of(queue.pop()) for _ in range(4)} == {"0", "1", "2", "z"}
    assert queue.pop() is None
    assert len(queue) == 0


def test_a_head_that_cannot_go_back_is_named_and_the_others_are_kept(
    job_of: JobOf, caplog: Log
) -> None:
    """It is lost then."""
    _, _, queue = with_frontier(job_of(PickleLifoDiskQueue))
    filled(queue, [request(number, "ann:secret@a.example") for number in range(3)])
    taken = [queue.take(SITE) for _ in range(2)]
    taken[0].meta["unwritable"] = lambda: None
    state = queue.close()
    (line,) = caplog.messages
    assert line.startswith("The queue did not take back <http://a.example/2>; it is lost (")
    later = job_of(PickleLifoDiskQueue)
    assert later.drain(later.queue(state)) == ["1", "0"]


def test_more_heads_than_files_may_be_open_go_back(job_of: JobOf) -> None:
    """Their queues were closed when they were taken, so their files were free for other sites."""
    _, _, queue = with_frontier(job_of(PickleLifoDiskQueue))
    with few_files(20):
        for number in range(50):
            queue.push(request(number, f"h{number}.example"))
            queue.take(f"http://h{number}.example")
        state = queue.close()
    again = job_of(PickleLifoDiskQueue).queue(state)
    kept = len(again)
    again.close()
    assert kept == 50


def test_a_queue_of_a_closed_frontier_is_scrapys(job_of: JobOf) -> None:
    """That of another crawl of the process, or of a gate that is off."""
    job = job_of()
    frontier = job.use_frontier()
    frontier.close(bool)
    queue = job.queue()
    queue.push(request("x"))
    assert list(queue.pqueues) == ["a.example"]
    assert len(frontier.sites.by_key) == 0
    assert path_of(queue.pop()) == "x"


def test_a_damaged_queue_is_set_aside_and_the_crawl_goes_on(job_of: JobOf, caplog: Log) -> None:
    """A file of a LIFO queue was cut short, and would fail each time."""
    job, frontier, queue = with_frontier(job_of(PickleLifoDiskQueue))
    filled(queue, of_two_sites())
    (path,) = (job.path / _path_safe(SITE)).rglob("0")
    queue.pqueues[SITE].queues[0].f.flush()
    os.truncate(path, 6)
    assert job.drain(queue) == ["x"]
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "3 requests to http://a.example are lost. Its files are in " in line
    aside = Path(line.rpartition(" in ")[2])
    assert aside.is_dir()
    assert (len(queue), len(frontier.sites.by_key), frontier.is_open) == (0, 0, True)
    queue.push(request("y"))
    assert job.drain(queue) == ["y"]
    queue.close()
    assert aside.is_dir()


def test_a_queue_that_cannot_be_closed_costs_no_other_one(
    job_of: JobOf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full, and what one queue has yet to write does not fit. A head goes back."""
    _, _, queue = with_frontier(job_of(PickleLifoDiskQueue))
    filled(queue, of_two_sites())
    queue.push(request("y", "c.example"))
    assert queue.take("http://c.example") is not None
    broken = queue.pqueues[SITE].queues[0]

    def fail() -> None:
        broken.f.close()
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(broken, "close", fail)
    state = queue.close()
    (line,) = caplog.messages
    assert "the disk is full): 3 requests to http://a.example are lost. Its files are in " in line
    later = job_of(PickleLifoDiskQueue)
    assert sorted(later.drain(later.queue(state))) == ["x", "y"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ESTALE])
def test_of_a_disk_that_is_full_or_fails_nothing_is_lost(
    job_of: JobOf, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The frontier is given up, and the requests stay where they are."""
    job, frontier, queue = with_frontier(job_of(PickleLifoDiskQueue))
    filled(queue, of_two_sites())

    def fail(self: Any) -> None:
        raise OSError(number, "the disk")

    monkeypatch.setattr(LifoDiskQueue, "pop", fail)
    with pytest.raises(OSError, match="the disk"):
        job.next(queue)
    assert (frontier.is_open, len(queue)) == (False, 4)
    queue.close()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_full_disk_costs_no_last_request_of_a_queue(
    job_of: JobOf, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    """A FIFO queue writes down that it is empty, before Scrapy gives its last request out.

    Its folder is removed then, unless somebody has removed it already.
    """
    job, frontier, queue = with_frontier(job_of(PickleFifoDiskQueue))
    filled(queue, of_two_sites())

    def save(self: Any, info: Any) -> None:
        self._infopath().write_text("")
        if is_gone:
            rmtree(self.path)
        raise OSError(errno.ENOSPC, "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FifoDiskQueue, "_saveinfo", save)
        assert sorted(job.drain(queue)) == ["0", "1", "2", "x"]
    queue.push(request("y"))
    assert job.drain(queue) == ["y"]
    assert frontier.is_open


def test_a_queue_that_a_full_disk_did_not_take_is_made_again(job_of: JobOf) -> None:
    """What was refused leaves no empty file, which could not be opened."""
    job, _, queue = with_frontier(job_of(PickleLifoDiskQueue))
    with no_file_beyond(0), pytest.raises(ValueError, match="cannot be kept on disk"):
        queue.push(request("x", meta={"text": "x" * 100_000}))
    queue.push(request("y"))
    assert job.drain(queue) == ["y"]


@pytest.mark.parametrize(("files", "before", "sites", "after"), [(80, 0, 80, 20), (200, 120, 5, 0)])
def test_queues_on_disk_and_downloads_leave_each_other_files(
    job_of: JobOf, files: int, before: int, sites: int, after: int
) -> None:
    """Sockets are files, too: without one a fetch fails. In memory, requests are lost at a stop."""
    with few_files(files):
        scheduler = scheduler_of(job_of())
        sockets = [socket.socket() for _ in range(before)]
        enqueue(scheduler, sites)
        sockets += [socket.socket() for _ in range(after)]
    for each in sockets:
        each.close()
    assert len(scheduler) == sites
    assert after or len(scheduler.dqs) == sites
    scheduler.close("finished")
