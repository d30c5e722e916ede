"""Lines are appended whole, in order, off the calling thread; a failure is reported once each."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.recording.appending import LineFile
from tests.crawl.harness import ROOT


def nothing_lost(lines: int, error: Exception) -> None:
    """Fails the test."""
    raise AssertionError(f"{lines} lines are lost: {error}")


def open_file(
    path: Path, lost: Callable[[int, Exception], None] = nothing_lost, **more: Any
) -> Any:
    """A file for text."""
    return LineFile(str(path), lambda text: text.encode("ascii"), lost, **more)


def test_lines_are_in_order_and_there_after_the_close(tmp_path: Path) -> None:
    """Whether they were written at once or in batches."""
    file = open_file(tmp_path / "log")
    for number in range(20_000):
        file.add(f"line {number}")
        if number == 10_000:
            file.confirmed().result(10)
            assert file.is_written
    file.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == [f"line {number}" for number in range(20_000)]


def test_the_caller_writes_nothing(tmp_path: Path) -> None:
    """The lines are made in another thread, too."""
    threads = set()

    def encode(text: str) -> bytes:
        threads.add(threading.current_thread())
        return text.encode("ascii")

    file = LineFile(str(tmp_path / "log"), encode, nothing_lost)
    file.add("a")
    file.confirmed().result(10)
    file.close()
    assert threads
    assert threading.current_thread() not in threads
    assert not any(thread.is_alive() for thread in threads)


def test_a_second_run_appends(tmp_path: Path) -> None:
    """After what is there."""
    for run in range(3):
        file = open_file(tmp_path / "log")
        file.add(f"run {run}")
        file.close()
    assert (tmp_path / "log").read_text() == "run 0\nrun 1\nrun 2\n"


def test_half_a_line_of_a_run_that_was_killed_stays_alone(tmp_path: Path) -> None:
    """The next line does not continue it."""
    (tmp_path / "log").write_bytes(b'whole\n{"half')
    file = open_file(tmp_path / "log")
    file.add("next")
    file.close()
    assert (tmp_path / "log").read_bytes() == b'whole\n{"half\nnext\n'


WRITER = """
import sys
from scrapy_rep.recording.appending import LineFile
path, name = sys.argv[1:]
file = LineFile(path, lambda n: f"{name} {n} {'x' * (n % 300)}".encode(), print)
for n in range(3000):
    file.add(n)
    if n % 100 == 0:
        file.confirmed().result(10)
file.close()
"""


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    """Each line is whole, and those of a process are in order."""
    path = tmp_path / "log"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    several = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], env=env) for name in "abc"
    ]
    assert [one.wait(60) for one in several] == [0, 0, 0]
    lines = [line.split(" ") for line in path.read_text().splitlines()]
    assert len(lines) == 9_000
    for name in "abc":
        own = [(int(number), len(rest)) for who, number, rest in lines if who == name]
        assert own == [(number, number % 300) for number in range(3_000)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to be had")
def test_a_full_disk_is_reported_and_its_lines_are_counted() -> None:
    """The error of the system; the caller goes on."""
    lost: list[tuple[int, Exception]] = []
    file = open_file(Path("/dev/full"), lambda lines, error: lost.append((lines, error)))
    file.add("a")
    file.add("b")
    with pytest.raises(OSError, match="space") as caught:
        file.confirmed().result(10)
    file.close()
    assert caught.value.errno == errno.ENOSPC
    assert sum(lines for lines, _ in lost) == 2
    assert file.is_written


@pytest.mark.parametrize("room", range(13))
def test_what_a_full_disk_has_cut_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """At whatever octet: each line is there once and whole, if the file keeps what it has."""
    write, left = os.write, room

    def disk(number: int, octets: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        octets = octets[:left]
        left -= len(octets)
        return write(number, octets)

    reported: list[int] = []
    file = open_file(tmp_path / "log", lambda lines, _: reported.append(lines), keeps=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk)
        for line in ("one", "two", "six"):
            file.add(line)
        future = file.confirmed()
        if room < 11:
            with pytest.raises(OSError, match=r"No space left|octets could be written"):
                future.result(10)
            assert not file.is_written
        else:
            future.result(10)
    file.add("ten")
    file.confirmed().result(10)
    file.close()
    lines = (tmp_path / "log").read_text().split("\n")
    whole = [line for line in lines if line in ("one", "two", "six", "ten")]
    assert whole == ["one", "two", "six", "ten"]
    assert sum(reported) == 0


def test_what_comes_after_the_last_line_that_may_wait_is_not_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even once the disk has room again: the line is lost. The next one is written."""
    monkeypatch.setattr("scrapy_rep.recording.appending._MOST_PENDING", 3)
    lost: list[int] = []
    file = open_file(tmp_path / "log", lambda lines, _: lost.append(lines), keeps=True)
    write, is_full = os.write, threading.Event()
    is_full.set()

    def disk(number: int, octets: bytes) -> int:
        if is_full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(number, octets)

    monkeypatch.setattr(os, "write", disk)
    for line in ("one", "two", "six", "lost"):
        file.add(line)
    is_full.clear()
    with pytest.raises(BlockingIOError, match="too slow"):
        file.confirmed().result(10)
    while not file.is_written:
        time.sleep(0.01)
    file.add("ten")
    file.confirmed().result(10)
    file.close()
    assert (tmp_path / "log").read_text().split() == ["one", "two", "six", "ten"]
    assert sum(lost) == 1


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """At the start, not at the first line."""
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "no" / "log")


def test_nothing_can_be_confirmed_after_the_close(tmp_path: Path) -> None:
    """An answer comes all the same."""
    file = open_file(tmp_path / "log")
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.confirmed().result(1)
