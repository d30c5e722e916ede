"""The mark of a test that measures time, or an order of events that load changes.

Its bounds are meant for a machine that is free. So such a test is slow as well: the default run
leaves it out, and `-m timed -n 0` runs it without neighbours. Where a bound is missed even so,
others may have used the machine: then the test is run again, and has to pass.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

timed = pytest.mark.timed


def complete(items: Iterable[pytest.Item]) -> None:
    """Give the tests with the mark those two others that it implies."""
    for item in items:
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))
