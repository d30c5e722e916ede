"""How fast this machine runs at this moment: bounds in seconds assume an idle machine."""

from __future__ import annotations

import os
from time import perf_counter, process_time

_SAMPLE = 0.05


def slowness() -> float:
    """How many times longer everything takes, because others use the processors; at least 1."""
    wall, used = perf_counter(), process_time()
    while process_time() - used < _SAMPLE:
        pass
    sample = (perf_counter() - wall) / _SAMPLE
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return max(1.0, sample, waiting)
