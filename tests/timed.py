"""The marks of a test with an upper bound on time, or with an order of events that load changes.

Such a test is slow as well, so that the default run leaves it out. Where a bound is missed even so,
others may have used the machine: then the test is run again, and has to pass.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

timed = pytest.mark.timed
"""Measures what something costs: it has the machine for itself (`-m timed -n 0`)."""

waits = pytest.mark.waits
"""Waits most of its time, and must not wait too long: some run side by side (`-m waits -n 8`)."""


def complete(items: Iterable[pytest.Item]) -> None:
    """Give the tests with one of these marks those two others that it implies."""
    for item in items:
        if item.get_closest_marker("timed") or item.get_closest_marker("waits"):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=1))
