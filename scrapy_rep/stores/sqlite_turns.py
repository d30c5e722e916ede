"""Turns in the SQLite file: one pace for a host, kept by all processes of a machine.

A row of ``host_turns`` says who holds a turn, and ``since``: when the last request to the host
ended or, while a turn is held, when that turn ends unless it is renewed. Either way the next turn
is granted an interval after ``since``. So a process that dies is no special case.

``interval`` is the longest that any worker has asked for since that turn was taken, even if it was
refused. Otherwise a worker that knows a shorter interval, and asks more often, would take all
turns.

``turn_memory`` says since when the file has kept turns. A new file, or one that was replaced, does
not know what was requested before, so the first turns in it wait for an interval, or for
:data:`RENEWED` if that is longer. The workers renew the turns that are in use within that time. To
renew a turn of which the file knows nothing is to take it again. A turn that was given back stays
in the file for a while, so that it is not taken again.

All times are of the system's monotonic clock, which the processes of a machine share, so setting
the time of day does not change an interval. This clock begins at zero when the machine starts. A
time in the future comes from an earlier start, and is ignored.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.sqlite_transaction import Transaction
from scrapy_rep.stores.turn import LONGEST_TURN, RENEWED, Turn

if TYPE_CHECKING:
    from scrapy_rep.stores.sqlite_writer import Writer

KEPT = 60.0
"""Seconds for which an ended turn is kept at least: another worker may know a longer interval."""

_EXPIRE = "DELETE FROM host_turns WHERE until < ?"
_MEMORY = "SELECT since FROM turn_memory WHERE prefix = ?"
_REMEMBER = "INSERT OR REPLACE INTO turn_memory VALUES (?, ?)"
_READ = "SELECT token <> '', since, interval FROM host_turns WHERE prefix = ? AND host = ?"
_WRITE = "INSERT OR REPLACE INTO host_turns VALUES (?, ?, ?, ?, ?, ?)"
_WISH = (
    "UPDATE host_turns SET interval = ?1, until = max(until, since + max(?1, ?2))"
    " WHERE prefix = ?3 AND host = ?4 AND interval < ?1"
)
_LAST = "SELECT token IN ('', ?), interval FROM host_turns WHERE prefix = ? AND host = ?"
_RENEW = (
    "INSERT INTO host_turns VALUES (?1, ?2, ?3, ?4, 0.0, ?4 + ?5) ON CONFLICT (prefix, host)"
    " DO UPDATE SET token = ?3, since = ?4, until = ?4 + max(interval, ?5)"
    " WHERE token = ?3 OR (token <> '' AND since <= ?6)"
)
_CANCEL = (
    "UPDATE host_turns SET token = '', since = -9e999, until = ?"
    " WHERE prefix = ? AND host = ? AND token = ?"
)


@dataclass(eq=False)
class TurnStep:
    """One operation in a transaction, and the Future that gets its result."""

    run: Callable[[Transaction], Any]
    future: Future[Turn] | None = None
    give_back: Callable[[str], Callable[[Transaction], Any]] | None = None


class TurnQueue:
    """The steps that wait for the writer, in the order in which they came."""

    def __init__(self) -> None:
        self._steps: list[TurnStep] = []

    def __bool__(self) -> bool:
        return bool(self._steps)

    def append(self, step: TurnStep) -> None:
        """Add a step."""
        self._steps.append(step)

    def add(self, newer: TurnQueue) -> None:
        """Add the steps that were queued later."""
        self._steps += newer._steps

    def write(self, transaction: Transaction) -> list[Any]:
        """Do all steps; return their results."""
        return [step.run(transaction) for step in self._steps]

    def answer(self, results: list[Any]) -> None:
        """Hand out the results of steps that are written, and forget them.

        A turn that was granted to a Future that is cancelled is given back by a new step.
        """
        steps, self._steps = self._steps, []
        for step, result in zip(steps, results, strict=True):
            if step.future is None:
                continue
            try:
                step.future.set_result(result)
            except InvalidStateError:
                if result.token is not None and step.give_back is not None:
                    self._steps.append(TurnStep(step.give_back(result.token)))

    def give_up(self, error: StoreError) -> None:
        """Fail what is waited for; what is only to be written stays, as it names its time."""
        for step in self._steps:
            if step.future is not None:
                with suppress(InvalidStateError):
                    step.future.set_exception(error)
        self._steps = [step for step in self._steps if step.future is None]


class SqliteTurns:
    """The part of :class:`scrapy_rep.stores.sqlite.SqliteStore` that grants turns."""

    keeps_pace = True

    _prefix: str
    _turn_clock: Callable[[], float]
    _writer: Writer

    def _check(self) -> None:
        raise NotImplementedError

    def take_turn(self, host: str, seconds: float, interval: float) -> Future[Turn]:
        """Return a Future of a turn, or of how long to wait. Raises ``StoreError``."""
        future: Future[Turn] = Future()
        take = partial(self._take, host, seconds, interval)
        self._do(TurnStep(take, future, partial(self._cancel, host)))
        return future

    def renew_turn(self, host: str, token: str, seconds: float) -> None:
        """Extend a turn to ``seconds`` from now, unless another worker holds one by now."""
        now = self._turn_clock()
        values = (self._prefix, host, token, now + seconds, KEPT, now)
        self._do(TurnStep(lambda write: write.run(_RENEW, *values)))

    def end_turn(self, host: str, token: str, interval: float) -> None:
        """End a turn whose request has ended: the interval begins."""
        self._do(TurnStep(partial(self._end, host, token, interval, self._turn_clock())))

    def cancel_turn(self, host: str, token: str) -> None:
        """Give back a turn for which no request was made."""
        self._do(TurnStep(self._cancel(host, token)))

    def _cancel(self, host: str, token: str) -> Callable[[Transaction], Any]:
        until = self._turn_clock() + KEPT
        return lambda write: write.run(_CANCEL, until, self._prefix, host, token)

    def _do(self, step: TurnStep) -> None:
        self._check()
        self._writer.turn(step)

    def _take(self, host: str, seconds: float, interval: float, write: Transaction) -> Turn:
        now = self._turn_clock()
        write.run(_EXPIRE, now)
        is_held, since, longest = self._last(write, host, now, interval)
        began = self._began(write, now)
        wait = max(began + max(longest, RENEWED), since + longest) - now
        if wait > 0:
            if interval >= longest:
                write.run(_WISH, interval, KEPT, self._prefix, host)
            # A turn that is held may end at once, and the next can begin an interval after that.
            return Turn(None, min(wait, longest) if is_held else wait)
        token = secrets.token_hex(8)
        self._write(write, host, token, now + seconds, interval)
        return Turn(token)

    def _last(
        self, write: Transaction, host: str, now: float, interval: float
    ) -> tuple[bool, float, float]:
        """Return whether a turn is held, when the last one ends, and the interval after it."""
        for is_held, since, kept in write.ask(_READ, self._prefix, host):
            if isinstance(since, float) and isinstance(kept, float):
                if since > now + LONGEST_TURN:
                    self._write(write, host, "", now, kept)
                    return False, now, max(kept, interval)
                return bool(is_held), since, max(kept, interval)
        return False, float("-inf"), interval

    def _began(self, write: Transaction, now: float) -> float:
        """Return since when the file has kept turns."""
        for (since,) in write.ask(_MEMORY, self._prefix):
            if isinstance(since, float) and since <= now:
                return since
        write.run(_REMEMBER, self._prefix, now)
        return now

    def _end(self, host: str, token: str, interval: float, now: float, write: Transaction) -> None:
        for may_end, kept in write.ask(_LAST, token, self._prefix, host):
            if not may_end:
                return
            if isinstance(kept, float):
                interval = max(interval, kept)
        self._write(write, host, "", now, interval)

    def _write(
        self, write: Transaction, host: str, token: str, since: float, interval: float
    ) -> None:
        until = since + max(interval, KEPT)
        write.run(_WRITE, self._prefix, host, token, since, interval, until)
