"""One pace for all workers that share a store.

A turn is the right to make one request to a host, which the store grants to one worker at a time,
an interval after the last one has ended. :class:`~scrapy_rep.frontier.turns.Turns` asks here
before it lets a request to a paced host go. A turn goes through these states:

- *asked for*: a request waits for nothing but the turn. If the store refuses it, it says how long
  to wait, and the host is not due before that. Nothing polls. While another worker holds the turn,
  the wait is one interval, however often the store is asked: the next turn begins an interval after
  the end of that one at the earliest.
- *held*: the store has granted it, and the next request may go. If none has gone within
  :data:`UNUSED`, or none waits any more, the turn is given back, which costs no interval.
- *in use*: a request of the host is under way. The turn is renewed at each :data:`BEAT` until the
  request has ended; then the interval begins, by the clock of the store. A worker that dies renews
  nothing, so that it holds up the others for a lease and an interval at most. A store that has lost
  its memory hears of the turn in this way before it grants one to another worker.

**Fairness.** Workers that wait for one host ask at the same moment, and the nearest one would
always be first. So each waits a little longer than it has to, by a random part of the interval. A
wait begins when the worker asks, not when the store answers. So the next question reaches a store
that is far away when the wait is over, and not a round trip later.

**Failures.** A question whose answer is lost is asked again with the same token, because the turn
may have been granted. When the store begins to fail, other workers may hold turns. After a lease
those have lapsed, and each worker goes on by itself, at its own pace. It still asks the store
before each request, so that it notices the end of an outage at once. When the store answers again,
it does not know which requests were made meanwhile, so each host is left alone for an interval, and
for :data:`SETTLED` at least, because other workers may learn later that the store is back. A store
may be spread over several servers, such as a Redis Cluster, and only one of them may fail. Then the
same is done for each host whose turns that server keeps.

**A stopped process.** A turn that was granted while the process stood still may have lapsed. It is
given back unless half of its time is left. A request that was let go just before the process was
stopped is made when the process goes on; nothing can prevent that.
"""

from __future__ import annotations

from collections.abc import Callable
from random import uniform
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.awaiting import sleep
from scrapy_rep.frontier.alarm import Alarm

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from scrapy_rep.frontier.hosts import PacedHost
    from scrapy_rep.stats import RepStats

TURN_TERM = 10.0
"""Seconds for which a turn is taken or renewed. A dead worker holds up the others that long."""

BEAT = 1.0
"""Seconds between two looks at the turns that are held; those in use are renewed.

It has to be well below the time that a store waits after it has lost its memory
(:data:`scrapy_rep.stores.base.RENEWED`).
"""

UNUSED = 4.0
"""Seconds for which a turn is held while no request uses it, for lack of a free place.

With 1 second, a crawl of one request at a time and pages that take longer never used a turn while
other sites were ready: the place was taken whenever the store had answered.
"""

RETRY = 1.0
"""Seconds after which a store that failed is asked again.

An answer may take another second, so a store that works for a second and a half at a time is
noticed.
"""

SETTLED = 2.0
"""Seconds for which hosts are left alone, at least, when a store is back.

A worker that asked just before learns a second later that the store fails, and may still make a
request a second after that.
"""

SOONEST, LATEST = 0.01, 60.0
"""Bounds, in seconds, for the wait that a store names when it refuses a turn."""

SPREAD, MOST_SPREAD = 0.02, 0.1
"""How much later than possible a worker asks, at most: a part of the interval, and seconds."""


class SharedTurns(Protocol):
    """The turns of a store. Each method may raise. Failures of ``take`` are counted and logged."""

    async def take(
        self, host: str, seconds: float, interval: float, token: str
    ) -> tuple[str | None, float]:
        """Return ``token`` if it has a turn, or ``None`` and for how many seconds to wait."""

    def renew(self, host: str, token: str, seconds: float) -> None:
        """Make a turn end in ``seconds`` from now, even if the store has forgotten it."""

    def end(self, host: str, token: str, interval: float) -> None:
        """Say that a request has ended; ``token`` is empty if it was made without a turn."""

    def cancel(self, host: str, token: str) -> None:
        """Give back a turn that no request has used."""


class _HeldTurn:
    """A turn that the store granted, or that is taken without it: then ``token`` is empty."""

    def __init__(self, host: PacedHost, token: str, since: float):
        self.host = host
        self.token = token
        self.since = since
        self.until = since + TURN_TERM


class SharedPace:
    """Takes turns for the hosts of a crawl. All times are by the monotonic clock.

    ``offer(name)`` is called when the store has answered for a host that waits for its turn, and
    ``fail(error)`` after a fault that makes it impossible to keep a pace.
    """

    def __init__(
        self,
        turns: SharedTurns,
        stats: RepStats,
        offer: Callable[[str], None],
        fail: Callable[[Exception], None],
    ):
        self._turns = turns
        self._stats = stats
        self._offer = offer
        self._fail = fail
        self._held: dict[str, _HeldTurn] = {}
        self._asking: dict[str, Deferred[None]] = {}
        self._unanswered: dict[str, str] = {}
        """The tokens, by host, of questions that are not answered, or whose answers were lost."""
        self._failing_since: float | None = None
        self._failed_at = float("-inf")
        self._is_alone = False
        self._back_at = float("-inf")
        self._beat = Alarm(self._look)
        self._closed = False

    def has_turn(self, host: PacedHost, now: float) -> bool:
        """Return whether a request to a host may go; ask for a turn if there is none."""
        held = self._held.get(host.name)
        if held is not None and now < held.until:
            # If the host was forgotten in between, another object has asked for the turn.
            held.host = host
            return True
        if host.name not in self._asking and not self._closed:
            asking = deferred_from_coro(self._ask(host))
            self._asking[host.name] = asking.addErrback(self._report_fault)
        return False

    def ended(self, host: PacedHost) -> None:
        """Note that a request to a host has ended; the turn ends when no other is under way."""
        if host.busy:
            return
        held, interval = self._held.pop(host.name, None), host.interval
        if held is not None or interval:
            self._tell(self._turns.end, host.name, held.token if held else "", interval)
            self._wait(host, host.ended + interval)

    def settle(self, now: float) -> None:
        """Give back the turns that nothing uses."""
        for name, held in list(self._held.items()):
            if held.host.busy:
                continue
            # Without the last step a turn is taken before its request is under way.
            is_used = held.host.ended >= held.since
            is_over = now >= max(held.since, held.host.ended) + UNUSED
            if is_used and is_over:
                self.ended(held.host)
            elif not is_used and (is_over or not held.host.is_waited_for):
                del self._held[name]
                self._give_back(held)

    def close(self) -> None:
        """Give all turns back: the crawl is over."""
        self._closed = True
        self._beat.cancel()
        for asking in list(self._asking.values()):
            asking.cancel()
        for name, token in self._unanswered.items():  # each may have been granted
            self._tell(self._turns.cancel, name, token)
        for name, held in self._held.items():
            if held.host.busy or held.host.ended >= held.since:
                self._tell(self._turns.end, name, held.token, held.host.interval)
            else:
                self._give_back(held)
        self._held.clear()

    async def _ask(self, host: PacedHost) -> None:
        """Ask the store for a turn; offer the turns of the host again when it has answered."""
        await sleep(0.0)  # the caller, which may be serving this host, has to end first
        asked = monotonic()
        # If the last failure was a lease ago, the next one is another outage: other workers may
        # hold turns. This worker may have asked nothing in between: a queue that workers share
        # gives the requests that wait to another one, which asks then.
        if _is_lease_ago(self._failed_at, asked):
            self._failing_since = None
        if _is_lease_ago(host.not_before, asked):
            host.failing_since = None
        token = self._unanswered.setdefault(host.name, token_hex(8))
        try:
            granted, wait = await self._turns.take(host.name, TURN_TERM, host.interval, token)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  # a custom store may raise anything
            self._failed(host)
        else:
            self._unanswered.pop(host.name, None)
            self._answered(host, granted, wait, asked)
        finally:
            self._asking.pop(host.name, None)
            if not self._closed:
                self._offer(host.name)

    def _answered(self, host: PacedHost, token: str | None, wait: float, asked: float) -> None:
        """Use the turn that was granted to a question put at ``asked``, or wait for one."""
        now = monotonic()
        is_back = self._is_alone or _is_lease_ago(host.failing_since, now)
        if self._is_alone:
            self._is_alone = False
            self._back_at = now
        self._failing_since = host.failing_since = None
        known_at = (now if is_back else self._back_at) + max(host.interval, SETTLED)
        if not token:
            wait = min(wait, LATEST) if wait > 0 else 0.0  # a store may say anything, such as NaN
            self._wait(host, max(asked + wait, now + SOONEST, known_at))
        elif now > asked + TURN_TERM / 2 or now < known_at:
            self._wait(host, max(now, known_at))
            self._tell(self._turns.cancel, host.name, token)
        else:
            self._hold(_HeldTurn(host, token, asked))

    def _report_fault(self, failure: Failure) -> None:
        """Report a fault of this module. A cancellation when the crawl closes is not one."""
        if not self._closed:
            self._fail(RuntimeError(f"asking for turns failed: {failure.getErrorMessage()}"))

    def _hold(self, held: _HeldTurn) -> None:
        if held.host.is_waited_for and not self._closed:
            self._held[held.host.name] = held
            self._beat.set(BEAT)
        else:
            self._give_back(held)

    def _give_back(self, held: _HeldTurn) -> None:
        if held.token:
            self._tell(self._turns.cancel, held.host.name, held.token)

    def _wait(self, host: PacedHost, until: float) -> None:
        """Let no request to a host start until a short random time after ``until``."""
        known = max(host.interval, until - monotonic())  # another worker may know a longer interval
        spread = min(SPREAD * known, MOST_SPREAD)
        host.not_before = until + uniform(0.0, spread)  # noqa: S311 (no secret)

    def _failed(self, host: PacedHost) -> None:
        """Wait while others may still hold turns; after that go on without the store."""
        now = self._failed_at = monotonic()
        if self._failing_since is None:
            self._failing_since = now
        if host.failing_since is None:
            host.failing_since = now
        if _is_lease_ago(self._failing_since, now):
            self._is_alone = True
        elif not _is_lease_ago(host.failing_since, now):
            host.not_before = now + RETRY
            return
        # The token may hold a turn that lapses now, and must not be taken for a new one later.
        self._unanswered.pop(host.name, None)
        self._stats.inc(names.CRAWL_DELAY_ALONE)
        self._hold(_HeldTurn(host, "", now))

    def _look(self) -> None:
        """Renew the turns that are in use, and give back those that are not."""
        try:
            now = monotonic()
            self.settle(now)
            for name, held in self._held.items():
                if held.host.busy:
                    held.until = now + TURN_TERM
                    if held.token:
                        self._tell(self._turns.renew, name, held.token, TURN_TERM)
            if self._held:
                self._beat.set(BEAT)
        except Exception as error:  # noqa: BLE001  # a timer would only log it, and end
            self._fail(error)

    def _tell(self, tell: Callable[..., None], *args: object) -> None:
        """Tell the store something. If it does not hear of it, the turn lapses."""
        try:
            tell(*args)
        except Exception:  # noqa: BLE001  # a custom store may raise anything
            self._stats.inc(names.STORE_ERROR)


def _is_lease_ago(since: float | None, now: float) -> bool:
    """Return whether turns that were held at ``since`` have lapsed; ``None`` means never."""
    return since is not None and now >= since + TURN_TERM
