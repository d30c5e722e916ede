"""A line to a Redis server that may hang, lie or die without holding anybody up.

One thread does all that may block: it looks up the server's name, connects, sends, receives. It
sends what is queued in one go. A second thread is the watchdog: what is not answered by its
deadline fails, and the connection is cut, so that a server which sends one octet now and then
holds nothing but its own. After three failures in a row the server is left alone for half a
minute. redis-py is used for its connections alone, as its clients try again in their own time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import redis

from scrapy_rep.stores.address import Connection
from scrapy_rep.stores.base import StoreError
from scrapy_rep.stores.breaker import Breaker

BATCH = 32
"""Commands that are sent in one go."""

QUEUE_LIMIT = 10_000
"""Commands that may wait."""

TICK = 0.01
"""Seconds between two looks of the watchdog while something is under way."""

BLAME = 0.15
"""Seconds without a reply after which the server is to blame for what is late, not we."""

CONNECT_PATIENCE = 2.0
"""Seconds for connecting, whatever becomes of those who wait meanwhile."""


@dataclass
class Job:
    """A command, when it must be answered (``time.monotonic()``), and what becomes of the reply.

    ``convert`` makes the answer of the reply; it raises ``StoreError`` on one of a wrong type.
    """

    command: tuple[Any, ...]
    deadline: float
    convert: Callable[[Any], Any]
    future: Future[Any] = field(default_factory=Future)

    def answer(self, reply: Any) -> None:
        """The server replied."""
        try:
            result = self.convert(reply)
        except StoreError as error:
            self.fail(error)
        else:
            with suppress(InvalidStateError):  # too late, or cancelled
                self.future.set_result(result)

    def fail(self, error: StoreError) -> bool:
        """The command failed; false if it had ended before."""
        with suppress(InvalidStateError):
            self.future.set_exception(error)
            return True
        return False


class Link:
    """Commands in, Futures out. ``describe`` makes one safe line of an exception."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        describe: Callable[[BaseException], str],
        breaker: Breaker,
    ) -> None:
        self._connect = connect
        self._describe = describe
        self.breaker = breaker
        self._connection: Connection | None = None
        self._queue: deque[Job] = deque()
        self._under_way: list[Job] = []
        self._connecting_since: float | None = None
        self._unanswered_since: float | None = None
        self._why: str | None = None
        self._closed = False
        self._wake = threading.Condition()
        self._threads = [
            threading.Thread(target=target, name=f"robots.txt {name}", daemon=True)
            for target, name in ((self._work, "redis"), (self._watch, "redis watchdog"))
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, *command: Any, patience: float, convert: Callable[[Any], Any]) -> Future[Any]:
        """Queue a command that must be answered within ``patience`` seconds.

        Raises ``StoreError`` at once while the server is left alone.
        """
        job = Job(command, time.monotonic() + patience, convert)
        with self._wake:
            if self._closed:
                raise StoreError("the store is closed")
            if len(self._queue) >= QUEUE_LIMIT:
                raise StoreError(f"{QUEUE_LIMIT} commands wait for the Redis server")
            if not self.breaker.admits():
                raise self._failure("the Redis server is left alone for a while")
            if not self._queue:
                self._wake.notify_all()
            self._queue.append(job)
        return job.future

    def idle(self, seconds: float) -> bool:
        """Wait until nothing is queued or under way; false if that took too long."""
        with self._wake:
            return self._wake.wait_for(lambda: not (self._queue or self._under_way), seconds)

    def close(self, patience: float) -> None:
        """Do what is queued and end the threads, within about twice ``patience`` seconds."""
        if not self.breaker.open:
            self.idle(patience)
        with self._wake:
            self._closed = True
            self._wake.notify_all()
        self._end(self._outstanding(), StoreError("the store was closed"))
        self._cut()
        for thread in self._threads:
            thread.join(patience)

    def _outstanding(self) -> list[Job]:
        with self._wake:
            return [*self._under_way, *self._queue]

    def _work(self) -> None:
        with suppress(Exception):  # what ails the server shows when it is asked something
            self._connected()
        while True:
            with self._wake:
                self._under_way = []
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    break
                jobs = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                self._under_way = jobs = [job for job in jobs if not job.future.done()]
            if jobs:
                self._attempt(jobs)
        self._cut()

    def _attempt(self, jobs: list[Job]) -> None:
        try:
            self._exchange(jobs)
        # Not only redis-py's own: what a garbled reply makes of its parser is anything.
        except Exception as error:  # noqa: BLE001
            self._cut()
            self._end(jobs, self._failure(self._describe(error)))

    def _exchange(self, jobs: list[Job]) -> None:
        self._unanswered_since = self._unanswered_since or time.monotonic()
        connection = self._connected()
        connection.send_packed_command(connection.pack_commands([job.command for job in jobs]))
        for job in jobs:
            self._receive(connection, job)

    def _receive(self, connection: Connection, job: Job) -> None:
        try:
            reply = connection.read_response()
        except redis.ResponseError as error:  # of this command alone: the server is well
            job.fail(StoreError(self._describe(error)))
        else:
            job.answer(reply)
        self._unanswered_since = self._why = None
        self.breaker.succeeded()

    def _connected(self) -> Connection:
        """Return a connection that the server has not closed while it was idle."""
        if self._connection is not None:
            with suppress(redis.ConnectionError, OSError):
                if not self._connection.can_read(0):
                    return self._connection
            self._cut()
        self._connecting_since = time.monotonic()
        self._connection = connection = self._connect()
        try:
            connection.connect()
        except BaseException:
            self._cut()
            raise
        finally:
            self._connecting_since = None
        if self._connection is not connection:  # the watchdog gave it up
            connection.disconnect()
            raise StoreError("the Redis server took too long to connect to")
        return connection

    def _cut(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # Called while the other thread reads, too: what that does to redis-py is no matter.
            with suppress(Exception):
                connection.disconnect()

    def _failure(self, text: str) -> StoreError:
        """Return what to raise: from its first failure to its next reply a server has one."""
        why = self._why = self._why or text
        return StoreError(why)

    def _end(self, jobs: Iterable[Job], error: StoreError, *, blame: bool = True) -> None:
        """Fail those of the jobs that have not ended: one failure, however many they are."""
        if [job for job in jobs if job.fail(error)] and blame:
            self.breaker.failed()

    def _watch(self) -> None:
        while not self._closed:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._under_way or self._closed)
            time.sleep(TICK)
            now = time.monotonic()
            overdue = self._overdue(now)
            if not all(job.future.done() for job in overdue):
                late = self._failure("the Redis server did not answer in time")
                self._end(overdue, late, blame=self._to_blame(now))
            # To connect takes several round trips, so that a server far away gets its time.
            since = self._connecting_since
            connecting = since is not None and now < since + CONNECT_PATIENCE
            if not connecting and any(job.deadline <= now for job in self._under_way):
                self._cut()

    def _to_blame(self, now: float) -> bool:
        """Whether it is the server that is late: not a crawl that is short of processor time."""
        since = self._unanswered_since
        return since is not None and now > since + BLAME

    def _overdue(self, now: float) -> list[Job]:
        """Return what should have been answered; of the queue, it is taken out."""
        with self._wake:
            overdue = [job for job in self._queue if job.deadline <= now]
            if overdue:
                self._queue = deque(job for job in self._queue if job.deadline > now)
            return overdue + [job for job in self._under_way if job.deadline <= now]
