"""What memory has no room for is kept compressed, then in a temporary file, within bounds."""

from __future__ import annotations

import random
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.sites.evicted import Evicted
from tests.stores.obstacles import no_file_beyond
from tests.stores.samples import NOW, authority, entry, failure, full_entry, refused
from tests.timed import timed

MIB = 1 << 20


class Failures(list[Exception]):
    """What the second level said of its file."""

    def __call__(self, error: Exception) -> None:
        """One more."""
        self.append(error)


Made = Callable[..., Evicted]


@pytest.fixture
def evicted() -> Iterator[Made]:
    """Makes an empty one, which ends with the test; an unexpected failure fails the test."""

    def unexpected(error: Exception) -> None:
        raise AssertionError(error)

    with ExitStack() as stack:

        def make(memory: int, disk: int = 1 << 30, failed: Any = unexpected) -> Evicted:
            return stack.enter_context(closing(Evicted(memory, disk, failed=failed)))

        yield make


def large(number: int, octets: int = 480_000) -> Entry:
    """An entry whose body cannot be compressed."""
    return entry(number, body=random.Random(number).randbytes(octets))


@pytest.mark.parametrize("memory", [0, MIB], ids=["file", "memory"])
def test_an_entry_comes_back_as_it_went(evicted: Made, memory: int) -> None:
    """All its parts, the refusal among them; the newest in the place of those before."""
    second = evicted(memory)
    assert second.get(authority()) is None
    whole = replace(full_entry(), refusal=refused(at=NOW - 5).refusal)
    # What memory held last is what counts, whatever the clock did meanwhile: nothing is merged.
    for put in (failure(), whole, entry(1), refused(), full_entry(at=NOW + 30), whole):
        second.put(authority(), put)
        assert second.get(authority()) == put
    assert second.get(authority(1)) is None


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "count", "make"), [(MIB // 4, 60, large), (0, 2_000, entry)])
def test_memory_and_file_together_keep_what_fits_into_the_file(
    evicted: Made, memory: int, count: int, make: Callable[[int], Entry]
) -> None:
    """Files of 480 KB, and many small ones: none of them is lost, and little memory is taken."""
    second = evicted(memory)
    tracemalloc.start()
    try:
        for number in range(count):
            second.put(authority(number), make(number))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < MIB // 4 + 3 * memory
    for number in reversed(range(count)):
        assert second.get(authority(number)) == make(number)


@pytest.mark.slow
def test_a_full_file_drops_the_oldest(evicted: Made) -> None:
    """REP_STORE_LIMIT bounds the octets in the file; the newest are kept.

    The pages of what is dropped are used again.
    """
    second = evicted(0, 5 * MIB)
    for number in range(30):
        second.put(authority(number), large(number))
    kept = [number for number in range(30) if second.get(authority(number)) is not None]
    assert kept == list(range(30 - len(kept), 30))
    assert 9 <= len(kept) <= 10
    oldest, next_one = kept[:2]
    second.put(authority(oldest), large(oldest))
    second.put(authority(30), large(30))
    assert second.get(authority(oldest)) is not None
    assert second.get(authority(next_one)) is None
    database = second._database
    assert database
    pages, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
    )
    assert pages * size <= 5 * MIB


@pytest.mark.parametrize("octets", [2 * MIB, MIB - 10_000])
def test_what_is_larger_than_the_file_is_dropped_alone(evicted: Made, octets: int) -> None:
    """An entry that fits nowhere, or not with the tables, puts out no other."""
    second = evicted(0, MIB)
    second.put(authority(1), large(1))
    second.put(authority(2), large(2, octets))
    assert second.get(authority(1)) == large(1)
    assert second.get(authority(2)) is None


def test_nothing_is_kept_after_the_end(evicted: Made) -> None:
    """What a closing crawl evicts is dropped. It may end in another thread than it began in."""
    second = evicted(0, MIB)
    second.put(authority(), entry())
    with ThreadPoolExecutor(1) as other:
        other.submit(second.close).result(10)
    second.put(authority(1), Entry(Answer(404)))
    for number in range(2):
        assert second.get(authority(number)) is None


def test_a_full_disk_drops_what_is_evicted(evicted: Made) -> None:
    """It is said, and nothing is raised. What is evicted when there is room again is kept."""
    failed = Failures()
    second = evicted(MIB // 4, failed=failed)
    second.put(authority(), entry())
    with no_file_beyond(2 * MIB):
        for number in range(1, 20):
            second.put(authority(number), large(number))
        assert second.get(authority()) is None
    said = len(failed)
    assert said
    assert "temporary file" in str(failed[0])
    for number in range(20):
        second.put(authority(number), large(number))
        assert second.get(authority(number)) == large(number)
    assert len(failed) == said


def test_without_a_directory_for_temporary_files_what_is_evicted_is_dropped(
    evicted: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SQLite finds no place for its file."""
    connect = sqlite3.connect
    missing = tmp_path / "missing" / "file"
    monkeypatch.setattr(
        "scrapy_rep.sites.evicted.sqlite3.connect", lambda _, **more: connect(missing, **more)
    )
    failed = Failures()
    second = evicted(0, failed=failed)
    for number in range(3):
        second.put(authority(number), entry(number))
        assert second.get(authority(number)) is None
    assert len(failed) == 3


def test_an_entry_too_large_to_be_encoded_is_dropped(evicted: Made) -> None:
    """17 MiB, more than any robots.txt that is read: said, not raised; the old one is gone."""
    failed = Failures()
    second = evicted(MIB, failed=failed)
    second.put(authority(), entry())
    second.put(authority(), entry(body=bytes(17 * MIB)))
    assert len(failed) == 1
    assert second.get(authority()) is None


@timed
@pytest.mark.parametrize("memory", [0, 64 * MIB], ids=["file", "memory"])
def test_a_look_up_takes_milliseconds_at_most(evicted: Made, memory: int) -> None:
    """No request waits for it: 480 KB within 30 ms, a small file within 1 ms, on a busy machine."""
    second = evicted(memory)
    body = b"User-agent: *\n" + b"".join(b"Disallow: /a/%06d\n" % n for n in range(24_000))
    for number in range(20):
        second.put(authority(number), entry(number, body=body))
        second.put(authority(100 + number), entry(number))

    def best(numbers: range) -> float:
        taken = []
        for number in numbers:
            start = perf_counter()
            found = second.get(authority(number))
            taken.append(perf_counter() - start)
            assert found
        return min(taken)

    assert best(range(20)) < 0.030
    assert best(range(100, 120)) < 0.001
