"""What a crawl must not leave behind: tasks, delayed calls."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred


@dataclass(frozen=True)
class Leftovers:
    """The tasks of the event loop and the delayed calls of the reactor at one moment."""

    tasks: frozenset[Any]
    calls: frozenset[Any]

    @classmethod
    def now(cls) -> Leftovers:
        """Those of this moment."""
        from twisted.internet import reactor

        tasks = {task for task in asyncio.all_tasks() if not task.done()}
        return cls(frozenset(tasks), frozenset(reactor.getDelayedCalls()))

    async def cleared(self, patience: float = 20.0) -> None:
        """Returns once nothing is left that was not there before; fails if something stays."""
        end = time.monotonic() + patience
        while True:
            await turn()
            now = Leftovers.now()
            left = [*(now.tasks - self.tasks), *(now.calls - self.calls)]
            if not left:
                return
            assert time.monotonic() < end, f"left behind by the crawl: {left}"
            await turn(0.01)


async def turn(seconds: float = 0) -> None:
    """The reactor gets its turn."""
    from twisted.internet import reactor

    done: Deferred[None] = Deferred()
    reactor.callLater(seconds, done.callback, None)
    await done
