"""A progress bar for a terminal, by rich; without a terminal, or without rich, there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_rep.commands.urls import Sorted


class Progress:
    """Shows on stderr how far a file of ``octets`` octets is read; None if that is unknown."""

    def __init__(self, octets: int | None) -> None:
        self._octets = octets
        self._allowed = self._rejected = 0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            self._bar = _bar()
        if self._bar is not None:
            self._task = self._bar.add_task("", total=self._octets, allowed=0, rejected=0)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def count(self, found: Sorted) -> None:
        """Count the lines of a chunk."""
        self._allowed += len(found.allowed)
        self._rejected += found.number - len(found.allowed)
        if self._bar is not None:
            self._bar.update(
                self._task,
                advance=found.octets + 1,
                allowed=self._allowed,
                rejected=self._rejected,
            )

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bar away while lines are written to the same terminal."""
        if self._bar is None or not sys.stdout.isatty():
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()


def _bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return None
    return Bar(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[allowed]:,} allowed, {task.fields[rejected]:,} rejected"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
