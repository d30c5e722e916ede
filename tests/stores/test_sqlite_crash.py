"""Processes that are killed, and processes that share a file."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scrapy_rep.stores.sqlite import SqliteStore
from tests.rows import deep
from tests.stores.contract import now
from tests.stores.crash import date
from tests.stores.samples import authority, entry, held, keep, told
from tests.timed import timed

ROOT = Path(__file__).resolve().parents[2]

TIMES = deep(12, 200)
"""How many processes are killed."""


def child(*arguments: object) -> subprocess.Popen[str]:
    """A process of `tests.stores.crash`."""
    command = [sys.executable, "-W", "error", "-m", "tests.stores.crash", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def killed(rng: random.Random, longest: float, *arguments: object) -> str:
    """A child is killed at a random moment after its first line; what it said then."""
    process = child(*arguments)
    process.stdout.readline()
    time.sleep(rng.uniform(0, longest))
    process.kill()
    out, err = process.communicate(timeout=10)
    assert not err, err
    return out


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_process_loses_nothing_that_was_flushed(tmp_path: Path) -> None:
    """SIGKILL at any moment leaves a sound file with all that was acknowledged."""
    rng = random.Random(9309)
    acknowledged = []
    for turn in range(TIMES):
        path = tmp_path / f"{turn}.db"
        said = killed(rng, 0.25, "killed", path, rng.randrange(1 << 30)).split()
        flushed = int(said[-1]) if said else 0  # as many as it knew to be written
        acknowledged.append(flushed)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        assert held(path, *range(flushed)) == [*map(entry, range(flushed))]
        path.unlink()
    # A few moments may be one on a busy machine.
    assert len(set(acknowledged)) > TIMES // 4, "the moments were not random"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_process_killed_while_it_makes_a_file_leaves_one_that_is_ours(tmp_path: Path) -> None:
    """SIGKILL at any moment of the first milliseconds: the next process has its store."""
    rng = random.Random(9309)
    for turn in range(TIMES):
        path = tmp_path / f"{turn}.db"
        killed(rng, 0.02, "making", path)
        store = SqliteStore(path, clock=now)
        keep(store, entry())
        assert told(store.get(authority())) == entry()
        store.close()


@timed
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("workers", "puts", "keys"),
    [(4, 500, 100), pytest.param(8, 5_000, 500, marks=pytest.mark.slow)],
)
def test_of_many_processes_on_one_file_the_newest_entry_wins(
    path: Path, workers: int, puts: int, keys: int
) -> None:
    """The newest entry of each key is kept, however long others write, and reading waits for none.

    Nothing is said but that the writing of one process waits for a while.
    """
    children = [child("worker", path, number, puts, keys) for number in range(workers)]
    slowest = []
    for process in children:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        assert all("written" in line for line in err.splitlines()), err
        slowest.append(float(out))
    for key, found in enumerate(held(path, *range(keys))):
        at, newest = max(
            (date(worker, number, puts), number)
            for worker in range(workers)
            for number in range(key, puts, keys)
        )
        assert found == entry(newest, at=at)
    print(f"p99 of get in each process, ms: {[round(1000 * s, 2) for s in slowest]}")  # noqa: T201
    assert max(slowest) <= 0.02
