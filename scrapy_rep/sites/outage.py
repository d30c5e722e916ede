"""What a crawl does while its store fails: one policy for every store.

A store only keeps entries. This module decides how long the crawl waits for it, when the crawl
goes on without it, and what the log says about that:

- *A deadline.* An operation that a store has not finished within its ``answer_timeout`` has
  failed. So a store that hangs holds up no request for longer than that.
- *A circuit breaker.* After :data:`FAILURES` failures in a row an operation is not tried for a
  while. After each pause it is tried once. If it fails again, the next pause is twice as long. So
  a restart or a failover costs a second, and a server that hangs for hours costs two slow
  look-ups a minute. A turn is asked for all the same: the requests that need it have to wait, and
  it is the last resort that each worker keeps a pace by itself.
- *Two lines in the log*: when the store begins to fail, and when it answers again. Of a store that
  has worked, a single failure is only counted.

Operations are told apart, as one of them may work and another may not. A file that another process
has locked can still be read; of a cluster, only the server that keeps the turns of one host may be
down. The outage is over when one of the operations that failed works again.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from twisted.internet.defer import CancelledError

from scrapy_rep import stats as names
from scrapy_rep.awaiting import DeadlineError, from_thread, with_timeout
from scrapy_rep.stores import StoreError
from scrapy_rep.stores.stored import store_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_rep.stats import RepStats

T = TypeVar("T")

GET: Final = "get"
LEASE: Final = "lease"
PUT: Final = "put"
TURN: Final = "turn"

FAILURES = 3
"""Failures in a row after which an operation is not tried for a while."""

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds for which it is not tried, at first and at most."""

TOGETHER = 0.1
"""Failures within these seconds of each other have one cause, and are counted once."""


@dataclass(slots=True)
class _Failing:
    """An operation that failed and has not worked since."""

    failures: int = 0
    failed_at: float = float("-inf")
    pause: float = FIRST_PAUSE
    until: float = 0.0


class Outage:
    """Asks a store, within ``timeout`` seconds, and tells ``stats`` how it fares.

    ``clock`` is in seconds and never set back.
    """

    def __init__(
        self, timeout: float, stats: RepStats, clock: Callable[[], float] = monotonic
    ) -> None:
        self._timeout = timeout
        self._stats = stats
        self._clock = clock
        self._failing: dict[tuple[str, str], _Failing] = {}
        self._answered: set[str] = set()
        self._since: float | None = None

    def is_failing(self, operation: str) -> bool:
        """Return whether an operation failed the last time."""
        return (operation, "") in self._failing

    async def ask(
        self,
        operation: str,
        kinds: tuple[type[Any], ...],
        method: Callable[..., T | Future[T]],
        *args: Any,
        host: str = "",
    ) -> T:
        """Return what ``method(*args)`` of the store returns, which is of one of these ``kinds``.

        ``host`` is the one whose turn is asked for. Raises :class:`StoreError` if the store fails,
        or is left alone for a while. A call that nothing waits for any more is cancelled, in case
        the store has not begun with it. One for a turn is not: it is made again with the same
        token.
        """
        if operation != TURN:
            self._admit(operation)
        try:
            answer = method(*args)
            found: T = (
                await self._in_time(operation, answer) if isinstance(answer, Future) else answer
            )
            if not isinstance(found, kinds):
                raise StoreError(f"{operation} returned {type(found).__name__}")
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # a custom store may raise anything
            raise self.failed(operation, error, host) from None
        self.answered(operation, host)
        return found

    def answered(self, operation: str, host: str = "") -> None:
        """Note that an operation works. That ends an outage in which it failed."""
        self._answered.add(operation)
        if operation == PUT and self._since is not None:  # it is only queued, and may fail yet
            return
        if operation == TURN:  # it is written, as a lease is
            self._failing.pop((LEASE, ""), None)
        if (operation, host) in self._failing:
            self._failing.clear()
        if not self._failing and self._since is not None:
            self._stats.store_answers(self._clock() - self._since)
            self._since = None

    def failed(self, operation: str, error: Exception, host: str = "") -> StoreError:
        """Count a failure and return it; log it if an outage begins.

        One begins after a few failures in a row, or with the first failure of what has never worked
        in this crawl: a short crawl may not ask again.
        """
        self._stats.inc(names.STORE_ERROR)
        now = self._clock()
        failing = self._failing.setdefault((operation, host), _Failing())
        if now >= failing.failed_at + TOGETHER:
            failing.failures += 1
            failing.failed_at = now
        if failing.failures >= FAILURES:
            failing.until = max(failing.until, now + failing.pause)
        error = store_error(error)
        has_begun = failing.failures >= FAILURES or operation not in self._answered
        if self._since is None and has_begun:
            self._since = now
            self._stats.store_failed(str(error))
        return error

    def _admit(self, operation: str) -> None:
        """Raise :class:`StoreError` during a pause; let one call through after it."""
        failing = self._failing.get((operation, ""))
        if failing is None or failing.failures < FAILURES:
            return
        now = self._clock()
        if now < failing.until:
            self._stats.inc(names.STORE_ERROR)
            raise StoreError("the store is left alone for a while")
        failing.pause = min(2 * failing.pause, LONGEST_PAUSE)
        failing.until = now + failing.pause

    async def _in_time(self, operation: str, answer: Future[T]) -> T:
        try:
            return await with_timeout(self._timeout, from_thread(answer))
        except DeadlineError:
            raise StoreError(f"it did not answer within {self._timeout:g} s") from None
        finally:
            if operation != TURN:
                answer.cancel()  # which changes nothing once there is an answer
