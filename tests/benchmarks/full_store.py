"""How long a look-up in a full SQLite file holds the event loop, whatever else goes on.

``python -m tests.benchmarks.full_store [entries] [file]`` makes a file of so many entries, 1 GiB of
a million of them, unless it is there already, and asks for entries at random: with the file in the
system's cache and without, and while the store writes and prunes and another thread writes its log
back. The figure is how long the call of ``get`` takes; *later* is how many of a hundred answers
came as a Future.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores.codec import encode_stored
from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import StoredEntry
from tests.benchmarks.running import argument
from tests.benchmarks.stores import robots_txt
from tests.stores.samples import make_file

SECONDS = 8.0
ROWS_AT_ONCE = 20_000


def authority(number: int) -> Authority:
    """The authority of that number."""
    return Authority("https", f"www.shop-{number}.example", 443)


def entry(rng: random.Random, bodies: list[bytes]) -> Entry:
    """An entry fetched within the last day, in octets that no two share."""
    salt = b"# %d\n" % rng.getrandbits(4_000)  # so that a million of them take up a gibibyte
    return Entry(Answer(200, rng.choice(bodies) + salt, fetched_at=time.time()))


def build(path: Path, count: int, bodies: list[bytes]) -> None:
    """A file of so many entries, in the order of their digests, as an old file is."""
    make_file(path)
    rng = random.Random(9309)
    numbers = list(range(count))
    rng.shuffle(numbers)
    pool = [entry(rng, bodies) for _ in range(1_000)]
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("synchronous = OFF", "cache_size = -1000000", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {pragma}")
    for start in range(0, count, ROWS_AT_ONCE):
        connection.execute("BEGIN")
        for number in numbers[start : start + ROWS_AT_ONCE]:
            octets = encode_stored(StoredEntry(authority(number), rng.choice(pool)))
            row = (f"scrapy_rep:{authority(number)}", octets)
            connection.execute("INSERT INTO entries (key, octets) VALUES (?, ?)", row)
        connection.execute("COMMIT")
    connection.close()


def drop_from_cache(path: Path) -> None:
    """The system forgets what it has read of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def read_whole(path: Path) -> None:
    """The system has all of a file in its cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


class Load(threading.Thread):
    """Another process's checkpoints: the log is written back again and again."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.over = threading.Event()

    def run(self) -> None:
        """Checkpoint until it is over."""
        connection = sqlite3.connect(self._path, isolation_level=None)
        while not self.over.wait(0.2):
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        connection.close()


def measure(path: Path, name: str, count: int, puts: int, limit: int, bodies: list[bytes]) -> None:
    """Print a line: five look-ups and some puts each 5 ms, as a busy crawl has them."""
    rng = random.Random(name)
    store = SqliteStore(path, limit=limit)
    load = Load(path)
    if puts:
        load.start()
    took, later = [], 0
    pool = [entry(rng, bodies) for _ in range(200)]
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(5):
            number = rng.randrange(int(1.2 * count))  # some are not there
            start = time.perf_counter()
            answer = store.get(authority(number), "crawler")
            took.append(time.perf_counter() - start)
            later += isinstance(answer, Future)
        for _ in range(puts):
            store.put(authority(rng.randrange(int(1.2 * count))), rng.choice(pool))
        time.sleep(0.005)
    load.over.set()
    if puts:
        load.join()
    store.close()
    took.sort()
    ranks = [took[int(share * len(took))] * 1e6 for share in (0.5, 0.9, 0.99, 0.999)]
    figures = "".join(f"{rank:9.0f}" for rank in (*ranks, took[-1] * 1e6))
    print(f"{name:34}{figures}{100 * later / len(took):9.2f}", flush=True)


def main(count: int, path: Path) -> None:
    """Make the file if need be, and print the table."""
    rng = random.Random(1)
    bodies = [robots_txt(rng, "www.shop.example") for _ in range(2_000)]
    if not path.exists():
        build(path, count, bodies)
    size = path.stat().st_size
    print(f"{count} entries, {size >> 20} MiB; us that the caller waits for get")
    print(f"{'':34}{'p50':>9}{'p90':>9}{'p99':>9}{'p99.9':>9}{'max':>9}{'later, %':>9}")
    for cached in (True, False):
        where = "in cache" if cached else "on disk"
        loads = ("", 0, 1 << 40), (", writing", 3, 1 << 40), (", pruning", 3, size)
        for load, puts, limit in loads:
            (read_whole if cached else drop_from_cache)(path)
            measure(path, where + load, count, puts, limit, bodies)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        file = sys.argv[2] if len(sys.argv) > 2 else f"{directory}/robots.db"
        main(argument(1_000_000), Path(file))
