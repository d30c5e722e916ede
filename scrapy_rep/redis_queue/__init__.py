"""A queue for scrapy-redis that gives out no request whose site is not due.

``SCHEDULER_QUEUE_CLASS = "scrapy_rep.redis_queue.HostQueue"``. With scrapy-redis's own classes a
worker takes requests out of Redis that have to wait for their site, and keeps them in memory. Five
sites that ask for a pace are enough to fill all workers with them, and to stop the crawl. A *site*
is that of the frontier, and its *name* the key that ``Gate.key_of`` makes: two ports of one host
are two sites.

:mod:`scrapy_rep.redis_queue.scripts` says what Redis keeps.

**The times are advice** if there is a store: a turn of the store decides when a request is made.
Times that are wrong cost a request that is taken and given back. All of them are by the clock of
the server, in microseconds.

**At least once.** Each push and each step has a number. If its answer is lost, it is repeated with
the same number. So a request is added, taken and given back once, while advice may be given again,
from the time of the repetition on. A request that a worker has is done when neither the engine nor
the frontier has it any more. If a worker gives no sign of life for :data:`SILENT_FOR`, another one
puts its requests back in their old places. Only a worker that has itself been in contact for that
long does so, because after an outage nobody is dead. A worker that was declared dead drops the
requests that it has not sent: others have got them. A worker that is cut off from Redis stops a
little before it may be declared dead, and gives out nothing until Redis answers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from redis import RedisError
from redis.exceptions import RedisClusterException
from scrapy import signals
from scrapy_redis.queue import Base

from scrapy_rep import stats as names
from scrapy_rep.frontier.alarm import Alarm
from scrapy_rep.frontier.cluster import UNDER_WAY
from scrapy_rep.frontier.frontier import frontier_of
from scrapy_rep.frontier.request_state import comes_back
from scrapy_rep.redis_queue.contact import Contact
from scrapy_rep.redis_queue.next_step import MICRO, NextStep
from scrapy_rep.redis_queue.older import OlderRequests
from scrapy_rep.redis_queue.pushes import Pushes, name_of, place_of
from scrapy_rep.redis_queue.scripts import STEP, Keys, octets
from scrapy_rep.robotstxt.printable import printable, printable_error
from scrapy_rep.stats import RepStats

if TYPE_CHECKING:
    from scrapy import Request

logger = logging.getLogger("scrapy_rep")

SILENT_FOR, BEAT = 30.0, 2.0
"""Seconds after which others get the requests of a silent worker, and between signs of life."""

BATCH = 4
"""The most requests that a step takes. With eight, a worker asks so seldom that sites which are due
wait: of 20 hosts that ask for two seconds, one got 92 % of the pages that it allows; with four it
gets 95 %."""

POLL, RETRY = 0.25, 1.0
"""The most seconds between two steps: while nothing is due, and while Redis fails."""

SOON = 0.1
"""Seconds until advice is sent in a step of its own, and until a worker with enough asks again."""

_FAILURES: Final = RedisError, RedisClusterException, OSError
"""What a client raises if a server fails, or if it can reach no node of a cluster."""

_STEP_DIGITS: Final = 10
_WHAT_IT_HAS: Final = slice(6, 8)
"""The arguments of a step that say whether it lists the entries of this worker, and how many."""
_PLACE: Final = 10 + 16
"""The digits before a request: the priority, and the time of the push."""


@dataclass(eq=False, slots=True)
class _HeldRequest:
    """A request that this worker has."""

    entry: bytes
    """What Redis calls it; empty if other workers have got the request meanwhile."""
    name: str
    """The name of its site."""
    known: float | None
    """The interval that Redis knows of the site."""
    interval: float | None = None
    """The interval when the request was handed out; None before that, 0 after its download."""


class HostQueue(Base):  # type: ignore[misc]
    """The requests of one spider, of which a worker gets only those whose site is due.

    The frontier of the crawl is given this queue, and tells it what becomes of each request.
    Without a frontier, what is given out counts as done, as with scrapy-redis's own classes.
    """

    def __init__(self, server: Any, spider: Any, key: str, serializer: Any = None):
        super().__init__(server, spider, key, serializer)
        self._keys = Keys.of(self.key)
        self._step_script = server.register_script(STEP)
        self._older = OlderRequests(server, self._keys, self._place_in)
        self._worker = token_hex(8)
        self._buffer: deque[_HeldRequest] = deque()
        """What was taken, and is not given out yet."""
        self._held: dict[Request, _HeldRequest] = {}
        self._next = NextStep()
        """What the next step will say."""
        self._pushes = Pushes(server, self._keys)
        self._steps = 0
        self._unanswered: list[Any] | None = None
        """The arguments of a step whose answer has not come."""
        self._pause_until = 0.0
        self._contact = Contact(SILENT_FOR)
        self._failing_since: float | None = None
        self._has_complained = False
        self._advice_alarm = Alarm(lambda: self._try(self._step, 0))
        self._beat_alarm, self._wake_alarm = Alarm(self._beat), Alarm(self._wake)
        crawler = self._crawler = getattr(spider, "crawler", None)
        self._is_open = crawler is not None
        """Whether a running crawl uses this queue, so that timers may be set."""
        store = None if crawler is None else crawler.settings.get("REP_STORE")
        self._is_alone = crawler is not None and store in (None, "", "memory:")
        """Whether nothing but this queue keeps the pace of a site."""
        self._stats = RepStats(None if crawler is None else crawler.stats)
        frontier = None if crawler is None else frontier_of(crawler)
        self._frontier = frontier if frontier is not None and frontier.is_open else None
        if crawler is not None and self._frontier is not None:
            self._frontier.shared_queue = self
            if self._is_alone:
                logger.warning(
                    "REP_STORE is not set: each worker fetches robots.txt files for itself, and "
                    "no store keeps the pace of a site. Set it to the URI of the server"
                )
        if crawler is not None:
            crawler.signals.connect(self._leave, signal=signals.spider_closed)

    # --- what scrapy-redis calls

    def __len__(self) -> int:
        """Return how many requests wait, including those of other workers, which may come back."""
        if self._has_just_failed:
            return 1  # there may be some
        try:
            self._note_done()
            if self._unanswered or self._next.done or self._next.back or self._pushes:
                self._step(0)
            with self.server.pipeline(transaction=False) as pipe:
                pipe.zcard(self._keys.hosts).zcard(self._keys.out).type(self.key)
                waiting, out, kind = octets(pipe.execute())
            older = self._older.count(kind)
            has = sum(bool(held.entry) for held in self._held.values())
            if int(out) > has + len(self._buffer):
                self._put_back_unknown()
        except _FAILURES as error:
            self._fail(error)
            return 1
        return int(waiting) + older + max(int(out) - has, len(self._buffer))

    def clear(self) -> None:
        """Remove all requests, and what is known of their sites."""
        for each in (self._buffer, self._next, self._pushes):
            each.clear()
        self._unanswered = None
        kept = self._keys.unreadable, self._keys.workers
        self.server.unlink(*(key for key in self._keys if key not in kept))
        # A worker that was declared dead has to learn that: others have made its requests.
        self.server.zremrangebyscore(self._keys.workers, 0, "inf")

    def push(self, request: Request) -> None:
        """Add a request; put one that a stop returns back in its place.

        A request that a component has changed and returned is new, even if it is the same object.
        While Redis fails, requests are kept in memory.
        """
        if request in self._held and comes_back(request):
            self.give_back(request, 0.0)
            return
        data = self._encode_request(request)
        data = data.encode() if isinstance(data, str) else data
        self._pushes.add(place_of(request), data)
        if self._failing_since is None:
            self._pause_until = 0.0
        self._try(self._pushes.send, self._worker)

    def pop(self, timeout: int = 0) -> Request | None:
        """Return the next request: sites that had to wait and all others take turns.

        None if no site is due.
        """
        if self._frontier is None and not self.check():
            return None
        while True:
            if not self._buffer and monotonic() >= self._pause_until:
                self._try(self._step, BATCH)
            if not self._buffer:
                return None
            held = self._buffer.popleft()
            try:
                request: Request = self._decode_request(self._request_in(held.entry))
            except Exception as error:  # noqa: BLE001  # whatever fails, this is no request
                self._cannot_read(error)
                self._try(self._set_aside, held.entry)
                continue
            if self._frontier is None:
                self._next.done.append(held.entry)
            else:
                self._held[request] = held
            return request

    # --- what the frontier says

    def give_back(self, request: Request, seconds: float, interval: float | None = None) -> None:
        """Put a request back in its place, and advise not to ask its site for some seconds.

        Because it was not made, its site may be asked after that, even if the site has a pace.
        """
        held = self._held.pop(request, None)
        if held is not None and held.entry:
            interval = interval or held.known or None
            self._next.back.append(held.entry)
            self._stats.inc(names.QUEUE_GIVEN_BACK)
            if seconds or interval is not None:
                self.not_before(held.name, seconds, interval)

    def not_before(self, name: str, seconds: float, interval: float | None = None) -> None:
        """Advise not to ask a site for some seconds from now; say its interval if it is known."""
        self._next.not_before(name_of(name), seconds, interval)
        self._set(self._advice_alarm, SOON)
        if seconds <= SOON:  # by then this worker may ask it as well
            self._set(self._wake_alarm, SOON)

    def rest(self) -> None:
        """Take no more for a moment: this worker cannot use what it gets."""
        self._pause_until = max(self._pause_until, monotonic() + SOON)
        self._set(self._wake_alarm, SOON)

    def handed_out(self, request: Request, interval: float | None) -> None:
        """Note that a request may go, to a site with some interval; None if it will be refused.

        If Redis knows the interval, it moved the site by that much when it gave out the request. A
        refusal says nothing of the pace, and another request may be asked for at once.
        """
        held = self._held.get(request)
        if held is None or held.name.startswith("-"):  # no rules govern it, so no pace does
            return
        rounded = held.interval = round(interval or 0.0, 6)  # in microseconds, as Redis has it
        if interval is None:
            if held.known != 0.0:  # otherwise the site is in the ring already
                self.not_before(held.name, 0.0, held.known)
        elif rounded != held.known:
            self.not_before(held.name, rounded and rounded + UNDER_WAY, rounded)

    def ended(self, request: Request, seconds: float) -> None:
        """Note that the download of a request has ended: its site is due in some seconds."""
        held = self._held.get(request)
        if held is not None and held.interval:
            self.not_before(held.name, seconds, held.interval)
            held.interval, held.known = 0.0, None

    def check(self) -> bool:
        """Return whether this worker counts as alive; ask Redis if it has been silent for long."""
        if self._contact.is_old:
            self._try(self._step, 0)
        is_alive = self._contact.is_alive
        if not is_alive:
            self._set(self._wake_alarm, RETRY)
        return is_alive

    # --- steps

    def _step(self, most: int) -> None:
        """Say what is done, given back and advised, and take up to ``most`` requests."""
        self._pushes.send(self._worker)
        if self._unanswered is None:
            self._note_done()
            self._unanswered = self._arguments(most)
            self._advice_alarm.cancel()
            self._contact.asks()
        reply = self._step_script(self._keys, self._unanswered)
        server_time, state, wait, of_dead, older_type, *taken = octets(reply)
        self._heard(server_time / MICRO)
        if state == b"unknown":  # nothing was done: the step has to list what this worker has
            has = self._entries()
            self._unanswered[_WHAT_IT_HAS] = [1, len(has), *has]
            self._step(most)
            return
        self._unanswered = None
        if state == b"dead":
            self._begin_anew()
            return
        if of_dead:
            self._stats.inc(names.QUEUE_TAKEN_OVER, of_dead)
        self._buffer.extend(map(self._taken, taken[::2], taken[1::2]))
        self._set(self._beat_alarm, BEAT)
        if most > 0 and not taken:
            pause = 0.0 if self._older.move(older_type) else min(POLL, wait / MICRO)
            self._pause_until = monotonic() + pause
            self._set(self._wake_alarm, pause)

    def _arguments(self, most: int) -> list[Any]:
        self._steps += 1
        beyond = 0 if self._frontier is None else int(UNDER_WAY * MICRO)
        argv = [self._worker, f"{self._steps:0{_STEP_DIGITS}}", most]
        argv += [int(SILENT_FOR * MICRO), int(self._contact.server_time * MICRO), beyond, 0, 0]
        return argv + self._next.arguments()

    def _entries(self) -> list[bytes]:
        """Return the entries that this worker has, and those that the next step gives back."""
        has = (*self._held.values(), *self._buffer)
        return [held.entry for held in has if held.entry] + self._next.back

    def _taken(self, entry: bytes, interval: bytes) -> _HeldRequest:
        name = self._member_of(entry).partition(b"\0")[0].decode("utf-8", "replace")
        return _HeldRequest(entry, name, float(interval) / MICRO if interval else None)

    def _member_of(self, entry: bytes) -> bytes:
        """Return the member from which an entry was made when it was taken."""
        return entry[len(self._worker) + 1 + _STEP_DIGITS :]

    def _request_in(self, entry: bytes) -> bytes:
        """Return the request of an entry, as the serializer has written it."""
        return self._member_of(entry).partition(b"\0")[2][_PLACE:]

    def _place_in(self, data: bytes) -> str:
        try:
            return place_of(self._decode_request(data))
        except Exception as error:  # noqa: BLE001
            self._cannot_read(error)
            return ""

    def _note_done(self) -> None:
        """Note which requests are done: neither the engine nor the frontier has them."""
        if self._frontier is None:
            return
        for request in self._frontier.done(self._held):
            held = self._held.pop(request)
            if held.entry:
                self._next.done.append(held.entry)
            if held.interval:  # no download of it has ended
                self.not_before(held.name, 0.0, held.interval)

    def _put_back_unknown(self) -> None:
        """Put back the requests that Redis says this worker has, and that it does not have.

        Redis may have lost a step, after a failover or a restart from an older file. Requests that
        were done by then are made once more; otherwise the crawl would never end.
        """
        prefix = f"{self._worker}\0".encode()
        mine = self.server.zrangebylex(self._keys.out, b"[" + prefix, b"(" + prefix[:-1] + b"\1")
        known = {*self._entries(), *self._next.done}
        self._next.back += [entry for entry in octets(mine) if entry not in known]

    def _heard(self, server_time: float) -> None:
        """Note that the server has answered."""
        self._contact.heard(server_time)
        if self._failing_since is not None:
            seconds = monotonic() - self._failing_since
            logger.warning("The queue in Redis answers again after %.0f s", seconds)
            self._failing_since = None

    def _begin_anew(self) -> None:
        """Go on under a new name: other workers have got what this one had."""
        logger.warning(
            "This worker gave no sign of life for more than %.0f s, so others have got its "
            "requests. What it has not sent is dropped here",
            SILENT_FOR,
        )
        self._worker = token_hex(8)
        for held in self._held.values():
            held.entry = b""
        for each in (self._buffer, self._next):
            each.clear()
        if self._frontier is not None:
            self._frontier.drop_read_ahead()
        self._set(self._wake_alarm, 0.0)

    def _leave(self) -> None:
        """Say what is done; all other requests go back to their places."""
        self._is_open = False
        self._pause_until = 0.0
        for alarm in (self._advice_alarm, self._beat_alarm, self._wake_alarm):
            alarm.cancel()
        if self._unanswered is not None:
            self._try(self._step, 0)
        self._try(self._step, -1)
        if self._pushes:
            logger.error(
                "The queue in Redis fails at the end of the crawl: %d requests that were to be "
                "pushed are lost",
                len(self._pushes),
            )

    # --- timers and failures

    def _beat(self) -> None:
        self._set(self._beat_alarm, BEAT)
        for held in (*self._held.values(), *self._buffer):
            interval = held.known if held.interval is None else held.interval
            if interval:  # it may wait for room, or be under way
                self.not_before(held.name, interval + UNDER_WAY, interval)
            elif self._may_have_a_pace(held):
                self.not_before(held.name, UNDER_WAY)
        self._try(self._step, 0)

    def _may_have_a_pace(self, held: _HeldRequest) -> bool:
        """Return whether the pace of a new site is not known yet, or to this worker alone.

        Redis leaves a new site alone for some seconds by itself.
        """
        is_new = held.interval is None and held.known is None and not held.name.startswith("-")
        if self._frontier is None or not is_new:
            return False
        return self._is_alone or self._frontier.lacks_rules(held.name)

    def _wake(self) -> None:
        if self._failing_since is None:
            self._pause_until = 0.0
        if monotonic() < self._pause_until:
            self._set(self._wake_alarm, self._pause_until - monotonic())
        elif self._frontier is not None:
            self._frontier.scrapy.wake()

    def _set(self, alarm: Alarm, seconds: float) -> None:
        if self._is_open:
            alarm.set(seconds)

    @property
    def _has_just_failed(self) -> bool:
        """Whether Redis has failed just now: each question may hold up the whole worker."""
        return self._failing_since is not None and monotonic() < self._pause_until

    def _try(self, do: Callable[..., None], *args: Any) -> None:
        if self._has_just_failed:
            return
        try:
            do(*args)
        except _FAILURES as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Note that Redis fails: it is asked again after a while. Without a crawl, raise.

        A request whose push has raised is not pushed later, because the caller may repeat the push.
        """
        if self._crawler is None:
            self._pushes.clear()
            raise error
        now = monotonic()
        self._pause_until = now + RETRY
        self._set(self._wake_alarm, RETRY)
        if self._failing_since is None:
            self._failing_since = now
            logger.warning(
                "The queue in Redis fails (%s): it is tried again each second, and what has to be "
                "sent is kept",
                printable(str(error)),
            )

    def _set_aside(self, entry: bytes) -> None:
        """Keep what cannot be read for a person to look at; if this fails, it comes back later."""
        self.server.rpush(self._keys.unreadable, self._request_in(entry))
        self._next.done.append(entry)

    def _cannot_read(self, error: Exception) -> None:
        self._stats.inc(names.QUEUE_UNREADABLE)
        if not self._has_complained:
            self._has_complained = True
            logger.warning(
                "A request in Redis cannot be read (%s). All that cannot be read is kept in the "
                "list %s",
                printable_error(error),
                self._keys.unreadable,
            )
