"""A pool of threads that ask a Redis server. It may hang, lie or die without delaying a crawl.

A look-up fails at its deadline, whatever its thread is doing. The thread itself has more time: for
seconds it resolves the server's name, connects, authenticates, asks a Sentinel or a cluster which
server is in charge. So a distant server, whose connection takes four round trips, is reached even
if every look-up has failed by then, and its first reply ends the outage.

- Each thread has its own client, and with it its own connection. All commands for one key go to
  one thread, so that they are done in the order in which they came.
- A thread sends all that is queued for it, up to :data:`BATCH` commands, together.
- One more thread watches the deadlines. It fails the jobs that are overdue, and breaks the
  connection of a thread that has been busy for :data:`CUT_AFTER`: the timeout of a socket does not
  help against a server that sends an octet now and then.
- After three failures in a row the server gets no commands for a while
  (:mod:`scrapy_rep.stores.circuit_breaker`). Any reply ends that, even a late one.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import redis

from scrapy_rep.stores.circuit_breaker import CircuitBreaker
from scrapy_rep.stores.error import LoggedError, StoreError
from scrapy_rep.stores.redis_client import Client, Command

THREADS = 2
"""Connections of a store: while one hangs, the other goes on.

A put costs 10 % more processor time than with one thread, and 50 % more with four, which contend
for the interpreter.
"""

BATCH = 64
"""Jobs that are sent together."""

QUEUE_LIMIT = 10_000
"""Jobs that may be unanswered at the same time."""

SLOW_AFTER = 0.5
"""Seconds that a thread must have waited before the server is blamed for a late job."""

CUT_AFTER = 5.0
"""Seconds after which the connection of a thread that still waits for a reply is broken."""

TOGETHER = 0.01
"""Jobs whose deadlines are no more than these seconds apart count as one failure."""


@dataclass(eq=False)
class Job:
    """A command, when it must be answered (``time.monotonic()``), and its result.

    ``convert`` makes the result of the reply. It raises ``StoreError`` on one of a wrong type.
    ``too_late`` is handed a result that came after the deadline.
    """

    command: Command
    deadline: float
    convert: Callable[[Any], Any]
    lookup: bool = False
    too_late: Callable[[Any], None] | None = None
    future: Future[Any] = field(default_factory=Future)

    def answer(self, reply: Any) -> None:
        """Make the result of the reply."""
        try:
            result = self.convert(reply)
        except StoreError as error:
            self.fail(error)
            return
        try:
            self.future.set_result(result)
        except InvalidStateError:  # its deadline has passed, or it was cancelled
            if self.too_late is not None:
                self.too_late(result)

    def fail(self, error: StoreError) -> None:
        """Fail, unless the job has ended."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


class _Worker:
    """The jobs of one thread, and since when it has waited for the server.

    ``busy_since`` is when its present attempt began. ``silent_since`` is when it began to wait for
    the next reply: an attempt that ends at the timeout of a socket is followed by another one. An
    idle thread waits for nothing.
    """

    def __init__(self, lock: threading.Lock) -> None:
        self.jobs: deque[Job] = deque()
        self.wake = threading.Condition(lock)
        self.client: Client | None = None
        self.busy_since: float | None = None
        self.silent_since: float | None = None
        self.cut_at = 0.0


class RedisPool:
    """Runs commands, and returns Futures of their results.

    ``connect`` makes a client, and may block. ``describe`` turns an exception into one line without
    credentials. ``say(down, line)`` is called when an outage begins, and when it ends.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        describe: Callable[[BaseException], str],
        breaker: CircuitBreaker,
        say: Callable[[bool, str], None],
    ) -> None:
        self._connect = connect
        self._describe = describe
        self._say = say
        self.breaker = breaker
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._why: str | None = None
        self._lock = threading.Lock()
        self._failing = threading.Lock()
        self._unanswered: set[Job] = set()
        self._look_at = 0.0
        self._watch_wake = threading.Condition(self._lock)
        self._quiet = threading.Condition(self._lock)
        self._workers = [_Worker(self._lock) for _ in range(THREADS)]
        self._threads: list[threading.Thread] = []

    def _start(self) -> None:
        """Start the threads, at the first command: a crawl that does not start leaves none."""
        self._threads = [threading.Thread(target=self._watch, name="robots.txt redis watch")]
        self._threads += [
            threading.Thread(target=self._work, args=[worker], name="robots.txt redis")
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def ask(
        self,
        key: str,
        command: Command,
        patience: float,
        convert: Callable[[Any], Any],
        lookup: bool = False,
        too_late: Callable[[Any], None] | None = None,
        insist: bool = False,
    ) -> Future[Any]:
        """Queue a command that must be answered within ``patience`` seconds.

        Commands of the same ``key`` are done in order. Raises ``StoreError`` at once while the
        server is left alone, unless the caller does ``insist``, as for turns: the requests that
        need them wait all the same.
        """
        self._follow_fork()
        job = Job(command, time.monotonic() + patience, convert, lookup, too_late)
        worker = self._workers[hash(key) % len(self._workers)]
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            if len(self._unanswered) >= QUEUE_LIMIT:
                raise StoreError(f"{QUEUE_LIMIT} commands wait for the Redis server")
            if not insist and not self.breaker.admits(int(lookup)):
                raise self._failure("the Redis server is left alone for a while")
            if not self._threads:
                self._start()
            self._unanswered.add(job)
            worker.jobs.append(job)
            worker.wake.notify()
            if job.deadline < self._look_at:
                self._watch_wake.notify()
        return job.future

    def idle(self, seconds: float) -> bool:
        """Wait until all jobs have ended. Return False if that took too long."""
        self._follow_fork()
        with self._lock:
            return self._quiet.wait_for(lambda: not self._unanswered, seconds)

    def close(self, patience: float) -> None:
        """Do what is queued and end the threads, within twice ``patience`` seconds."""
        self._follow_fork()
        if not self.breaker.open:
            self.idle(patience)
        with self._lock:
            self._closed = True
            left = list(self._unanswered)
            for condition in (self._watch_wake, *(worker.wake for worker in self._workers)):
                condition.notify()
        for job in left:
            job.fail(StoreError("the store was closed"))
        self._ended(left)
        end = time.monotonic() + patience
        for worker in self._workers:
            if worker.busy_since is not None:
                self._cut(worker)
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _follow_fork(self) -> None:
        """Start new threads in a child process, which inherits the connections but no thread."""
        if self._process != os.getpid():
            self._begin()

    # The workers

    def _work(self, worker: _Worker) -> None:
        worker.busy_since = worker.silent_since = time.monotonic()
        if not worker.jobs:
            with suppress(Exception):  # an error shows when the server is asked something
                self._connected(worker).ping()
                worker.silent_since = None
        while jobs := self._take(worker):
            try:
                self._attempt(worker, jobs)
            finally:
                self._ended(jobs)
        if worker.client is not None:
            worker.client.close()

    def _take(self, worker: _Worker) -> list[Job]:
        """Wait for jobs and return them; an empty list means that the store is closed."""
        with self._lock:
            while True:
                worker.busy_since = None
                if not worker.jobs:
                    worker.silent_since = None
                worker.wake.wait_for(lambda: worker.jobs or self._closed)
                if self._closed:
                    return []
                count = min(BATCH, len(worker.jobs))
                taken = [worker.jobs.popleft() for _ in range(count)]
                jobs = [job for job in taken if not job.future.done()]
                self._unanswered.difference_update(set(taken).difference(jobs))
                if jobs:
                    worker.busy_since = time.monotonic()
                    worker.silent_since = worker.silent_since or worker.busy_since
                    return jobs

    def _attempt(self, worker: _Worker, jobs: list[Job]) -> None:
        try:
            replies = self._connected(worker).run([job.command for job in jobs])
            if not all(map(_is_lost, replies)):
                worker.silent_since = None
                self._succeeded()
            self._answer(jobs, replies)
        # Not only redis-py's exceptions: after a garbled reply its parser may raise any.
        except Exception as error:  # noqa: BLE001
            self._cut(worker)
            self._fail(jobs, self._failure(self._describe(error)))

    def _answer(self, jobs: list[Job], replies: list[Any]) -> None:
        lost = []
        for job, reply in zip(jobs, replies, strict=True):
            if not isinstance(reply, Exception):
                job.answer(reply)
            elif _is_lost(reply):  # a cluster's client says so for each command
                lost.append((job, reply))
            else:  # the error is this command's alone, and the server is well
                job.fail(StoreError(self._describe(reply)))
        if lost:
            self._fail([job for job, _ in lost], self._failure(self._describe(lost[0][1])))

    def _connected(self, worker: _Worker) -> Client:
        if worker.client is None:
            worker.client = self._connect()
        return worker.client

    @staticmethod
    def _cut(worker: _Worker) -> None:
        # The worker's thread may be reading: what redis-py raises then does not matter.
        with suppress(Exception):
            if worker.client is not None:
                worker.client.cut()

    # The outcome of jobs

    def _ended(self, jobs: Iterable[Job]) -> None:
        with self._lock:
            self._unanswered.difference_update(jobs)
            if not self._unanswered:
                self._quiet.notify_all()

    def _succeeded(self) -> None:
        self._why = None
        lost = self.breaker.succeeded()
        if lost is not None:
            self._say(False, f"{lost} look-ups failed meanwhile")

    def _fail(self, jobs: list[Job], error: StoreError, *, blame: bool = True) -> None:
        """Fail the jobs that have not ended. Together they count as one failure."""
        with self._failing:  # so that a job that two threads fail counts once
            left = [job for job in jobs if not job.future.done()]
            if left and blame and self.breaker.failed(sum(job.lookup for job in left)):
                self._say(True, str(error))
            for job in left:
                job.fail(error)

    def _failure(self, text: str, *, is_logged: bool = True) -> StoreError:
        """Return the error to raise. The first one of an outage stands until the next reply."""
        why = self._why = self._why or text
        return LoggedError(why) if is_logged else StoreError(why)

    # The watch

    def _watch(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    return
                now = time.monotonic() + TOGETHER
                overdue = [job for job in self._unanswered if job.deadline <= now]
                hanging = [worker for worker in self._workers if self._hangs(worker, now)]
                if not overdue and not hanging:
                    self._sleep(now)
                    continue
                blame = self._to_blame(now)
                for worker in self._workers if overdue else ():
                    worker.jobs = deque(job for job in worker.jobs if job.deadline > now)
            if overdue:
                late = self._failure("the Redis server did not answer in time", is_logged=blame)
                self._fail(overdue, late, blame=blame)
                self._ended(overdue)
            for worker in hanging:
                self._cut(worker)

    def _sleep(self, now: float) -> None:
        """Wait until the next deadline, or until a job with an earlier one arrives."""
        deadlines = [job.deadline for job in self._unanswered]
        deadlines += [w.busy_since + CUT_AFTER for w in self._workers if w.busy_since is not None]
        self._look_at = min(deadlines, default=float("inf"))
        timeout = None if not deadlines else max(TOGETHER, self._look_at - now)
        self._watch_wake.wait(timeout)

    def _hangs(self, worker: _Worker, now: float) -> bool:
        since = worker.busy_since
        if since is None or now < since + CUT_AFTER or now < worker.cut_at + CUT_AFTER:
            return False
        worker.cut_at = now
        return True

    def _to_blame(self, now: float) -> bool:
        """Return True if the server is late, and False if the crawl lacks processor time."""
        silent = [worker.silent_since for worker in self._workers if worker.busy_since is not None]
        return any(since is not None and now > since + SLOW_AFTER for since in silent)


def _is_lost(reply: Any) -> bool:
    """Return True for an error of the connection or the cluster, not of one command."""
    if isinstance(reply, redis.exceptions.ClusterError):
        return True
    return isinstance(reply, Exception) and not isinstance(reply, redis.ResponseError)
