"""A stop does not wait for robots.txt files.

No signal says that a stop begins, so the engine is looked at while anything is under way that a
stop should end. Direct downloads go on waiting for their rules and their turn, and the stop waits
for them, as for any download of Scrapy's own: nothing would make them again.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from scrapy.utils.asyncio import CallLaterResult, call_later

if TYPE_CHECKING:
    from scrapy_rep.scrapy_names import ScrapyNames

_GRACE: Final = 0.3
"""Seconds that a fetch may still take when the crawl is found to be stopping."""

_INTERVAL: Final = 0.1
"""Seconds between two looks at the engine."""


class StopWatch:
    """Watches for a stop while something is under way.

    ``stop(started_before)`` ends what began before a time of the monotonic clock; ``is_busy()``
    says whether there is anything to end. ``look()`` is called each time: a download that was
    cancelled sends no signal either.
    """

    def __init__(
        self,
        scrapy: ScrapyNames,
        stop: Callable[[float], None],
        is_busy: Callable[[], bool],
        look: Callable[[], None],
    ):
        self._scrapy = scrapy
        self._stop = stop
        self._is_busy = is_busy
        self._look_around = look
        self._since: float | None = None
        self._timer: CallLaterResult | None = None

    def watch(self) -> None:
        """Look at the engine from time to time for as long as something is under way."""
        if self._timer is None:
            self._timer = call_later(_INTERVAL, self._look)

    def close(self) -> None:
        """End the watch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._scrapy.is_closing:
            now = monotonic()
            self._since = now if self._since is None else self._since
            if now - self._since >= _GRACE:
                self._stop(now - _GRACE)
        self._look_around()
        if self._is_busy():
            self.watch()
