"""Child processes of the crash tests: `python -m tests.stores.crash ROLE PATH ...`."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import StoreError
from tests.stores.contract import now
from tests.stores.samples import NOW, authority, entry


def put_until_killed(path: Path, seed: int) -> None:
    """1,000 puts, flushed now and then; the count is told after each flush."""
    rng = random.Random(seed)
    store = SqliteStore(path, clock=now)
    print(0, flush=True)  # noqa: T201 (the parent reads it)
    for number in range(1_000):
        store.put(authority(number), entry(number))
        if rng.random() < 0.05:
            store.flush()
            print(number + 1, flush=True)  # noqa: T201
    time.sleep(60)


def date(worker: int, number: int, puts: int) -> float:
    """When the entry of that put is dated: all differ, and not in the order of the puts."""
    return NOW - 100_000 + (number * 7_919) % puts + worker / 100


def put_among_others(path: Path, worker: int, puts: int, keys: int) -> None:
    """Put, and look up after each put; print the 99th percentile of the look-ups."""
    store = SqliteStore(path, clock=now)
    took = []
    for number in range(puts):
        store.put(authority(number % keys), entry(number, at=date(worker, number, puts)))
        start = time.perf_counter()
        store.get(authority((number * 31) % keys))
        took.append(time.perf_counter() - start)
        if number % 50 == 49:
            time.sleep(0.005)  # a crawler does something else, too
    end = time.monotonic() + 60
    while True:
        try:
            store.flush()
            break
        except StoreError:  # others write all the time: what is put waits, and is tried again
            assert time.monotonic() < end
            time.sleep(0.1)
    store.close()
    print(sorted(took)[int(0.99 * len(took))])  # noqa: T201 (the parent reads it)


def make_file(path: Path) -> None:
    """A store is made, in some milliseconds from the line that is printed."""
    print("now", flush=True)  # noqa: T201 (the parent reads it)
    SqliteStore(path, clock=now)
    time.sleep(60)


ROLES: dict[str, Callable[..., None]] = {
    "killed": put_until_killed,
    "making": make_file,
    "worker": put_among_others,
}

if __name__ == "__main__":
    role, where, *numbers = sys.argv[1:]
    ROLES[role](Path(where), *map(int, numbers))
