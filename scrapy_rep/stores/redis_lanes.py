"""Two lanes to a Redis server: threads that wait for it, so that a crawl does not.

- Each lane is a thread with its own client, and with it its own connection. All commands for one
  key go by one lane, so that they are done in the order in which they came.
- A lane sends all that is queued for it, up to :data:`BATCH` commands, together.
- A lane takes its time, up to some seconds: it resolves the server's name, connects, authenticates,
  asks a Sentinel or a cluster which server is in charge. How long a crawl waits for an answer is
  not decided here (:mod:`scrapy_rep.sites.outage`). So a distant server, whose connection takes
  four round trips, is reached even if nothing waits for that any more.
- The timeout of a socket does not help against a server that sends a byte now and then. So the
  connection of a lane that has been busy for :data:`CUT_AFTER` is cut when the next command comes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from scrapy_rep.stores.redis_client import WRONG_TYPE, Client, Command
from scrapy_rep.stores.stored import StoreError

LANES = 2
"""Connections of a store: while one hangs, the other goes on.

A put costs 10 % more processor time than with one thread, and 50 % more with four, which contend
for the interpreter.
"""

BATCH = 64
"""Jobs that are sent together."""

QUEUE_LIMIT = 10_000
"""Jobs that may be unanswered at the same time."""

CUT_AFTER = 5.0
"""Seconds after which the connection of a lane that still waits for a reply is broken."""


@dataclass(eq=False)
class Job:
    """A command, and its result.

    ``convert`` makes the result of the reply. It raises ``StoreError`` on one of a wrong type.
    """

    command: Command
    convert: Callable[[Any], Any]
    future: Future[Any] = field(default_factory=Future)

    def answer(self, reply: Any) -> None:
        """Make the result of the reply."""
        try:
            self.future.set_result(self.convert(reply))
        except StoreError as error:
            self.fail(error)
        except InvalidStateError:  # it was cancelled, or the store was closed
            pass
        except Exception as error:  # noqa: BLE001  # a garbled reply must not end the thread
            self.fail(StoreError(f"{WRONG_TYPE}: {type(error).__name__}"))

    def fail(self, error: StoreError) -> None:
        """Fail, unless the job has ended."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)


class _Lane:
    """The jobs of one thread, and since when it has been busy with some; ``None`` if it is not."""

    def __init__(self, lock: threading.Lock) -> None:
        self.jobs: deque[Job] = deque()
        self.wake = threading.Condition(lock)
        self.client: Client | None = None
        self.busy_since: float | None = None

    def cut(self) -> None:
        """Break the connection: a thread that reads from it gets an error."""
        # What redis-py raises here meanwhile does not matter.
        with suppress(Exception):
            if self.client is not None:
                self.client.cut()


class Lanes:
    """Runs commands, and returns Futures of their results.

    ``connect`` makes a client, and may block. ``describe`` turns an exception into one line without
    credentials.
    """

    def __init__(
        self, connect: Callable[[], Client], describe: Callable[[BaseException], str]
    ) -> None:
        self._connect = connect
        self._describe = describe
        self._closed = False
        self._lock = threading.Lock()
        self._unanswered: set[Job] = set()
        self._quiet = threading.Condition(self._lock)
        self._lanes = [_Lane(self._lock) for _ in range(LANES)]
        self._threads: list[threading.Thread] = []

    def ask(self, key: str, command: Command, convert: Callable[[Any], Any]) -> Future[Any]:
        """Queue a command; return a Future of what ``convert`` makes of the reply.

        Commands of the same ``key`` are done in order. Raises ``StoreError`` if the queue is full.
        """
        now = time.monotonic()
        job = Job(command, convert)
        lane = self._lanes[hash(key) % len(self._lanes)]
        with self._lock:
            if self._closed:
                raise StoreError("the store is closed")
            if len(self._unanswered) >= QUEUE_LIMIT:
                raise StoreError(f"{QUEUE_LIMIT} commands wait for the Redis server")
            if not self._threads:
                self._start()
            self._unanswered.add(job)
            lane.jobs.append(job)
            lane.wake.notify()
            hangs = lane.busy_since is not None and now > lane.busy_since + CUT_AFTER
            if hangs:
                lane.busy_since = now
        if hangs:
            lane.cut()
        return job.future

    def idle(self, seconds: float) -> bool:
        """Wait until all jobs have ended. Return False if that took too long."""
        with self._lock:
            return self._quiet.wait_for(lambda: not self._unanswered, seconds)

    def close(self, patience: float) -> None:
        """Do what is queued and end the threads, within twice ``patience`` seconds."""
        self.idle(patience)
        with self._lock:
            self._closed = True
            left = list(self._unanswered)
            for lane in self._lanes:
                lane.wake.notify()
        for job in left:
            job.fail(StoreError("the store was closed"))
        self._ended(left)
        end = time.monotonic() + patience
        for lane in self._lanes:
            if lane.busy_since is not None:
                lane.cut()
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _start(self) -> None:
        """Start the threads, at the first command: a crawl that does not start leaves none."""
        for lane in self._lanes:
            # A daemon, so that a server that hangs does not keep the process from ending.
            thread = threading.Thread(
                target=self._work, args=[lane], name="robots.txt redis", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _work(self, lane: _Lane) -> None:
        while jobs := self._take(lane):
            try:
                self._attempt(lane, jobs)
            finally:
                self._ended(jobs)
        if lane.client is not None:
            lane.client.close()

    def _take(self, lane: _Lane) -> list[Job]:
        """Wait for jobs and return them; an empty list means that the store is closed."""
        with self._lock:
            lane.busy_since = None
            lane.wake.wait_for(lambda: lane.jobs or self._closed)
            if self._closed:
                return []
            lane.busy_since = time.monotonic()
            return [lane.jobs.popleft() for _ in range(min(BATCH, len(lane.jobs)))]

    def _attempt(self, lane: _Lane, jobs: list[Job]) -> None:
        try:
            if lane.client is None:
                lane.client = self._connect()
            replies = lane.client.run([job.command for job in jobs])
        # Not only redis-py's exceptions: after a garbled reply its parser may raise any.
        except Exception as error:  # noqa: BLE001
            lane.cut()
            replies = [error] * len(jobs)
        for job, reply in zip(jobs, replies, strict=True):
            if isinstance(reply, Exception):
                job.fail(StoreError(self._describe(reply)))
            else:
                job.answer(reply)

    def _ended(self, jobs: list[Job]) -> None:
        """Note that jobs have ended, after all that waits for them has heard of it."""
        with self._lock:
            self._unanswered.difference_update(jobs)
            if not self._unanswered:
                self._quiet.notify_all()
