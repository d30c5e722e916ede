"""Lines are appended whole and in order; what cannot be written is an error of its own line."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from scrapy_rep.records.log_file import LogFile
from tests.crawl.harness import ROOT


def test_half_a_line_of_a_run_that_was_killed_stays_alone(tmp_path: Path) -> None:
    """The next line does not continue it."""
    (tmp_path / "log").write_bytes(b'whole\n{"half')
    file = LogFile(str(tmp_path / "log"))
    file.append(b"next\n")
    file.close()
    assert (tmp_path / "log").read_bytes() == b'whole\n{"half\nnext\n'


WRITER = """
import sys
from scrapy_rep.records.log_file import LogFile
path, name = sys.argv[1:]
file = LogFile(path)
for n in range(3000):
    file.append(f"{name} {n} {'x' * (n % 300)}\\n".encode())
print("done", flush=True)
sys.stdin.read()
"""


def test_lines_of_several_processes_do_not_mix_and_a_kill_loses_none(tmp_path: Path) -> None:
    """Each line is whole, and those of a process are in order.

    A process that looks at the end of the file while another one writes may begin with an empty
    line.
    """
    path = tmp_path / "log"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    several = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in "abc"
    ]
    for one in several:
        assert one.stdout.readline() == b"done\n"
        one.send_signal(signal.SIGKILL)
        one.communicate()
    lines = [line.split(" ") for line in path.read_text().splitlines() if line]
    assert len(lines) == 9_000
    for name in "abc":
        own = [(int(number), len(rest)) for who, number, rest in lines if who == name]
        assert own == [(number, number % 300) for number in range(3_000)]


@pytest.mark.parametrize("room", range(9))
def test_what_follows_a_line_that_a_full_disk_has_cut_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """At whatever octet: the line that was cut is an error, and the next one stands alone."""
    write, left = os.write, room

    def disk(number: int, octets: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        octets = octets[:left]
        left -= len(octets)
        return write(number, octets)

    file = LogFile(str(tmp_path / "log"))
    written = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", disk)
        for line in (b"one\n", b"two\n"):
            with suppress(OSError):
                file.append(line)
                written.append(line.strip())
    file.append(b"ten\n")
    file.close()
    lines = (tmp_path / "log").read_bytes().split(b"\n")
    assert [line for line in lines if line in (b"one", b"two", b"ten")][-1] == b"ten"
    assert {*written} <= {*lines}
    assert len(written) == room // 4


def test_a_line_that_another_process_could_not_end_stays_alone(tmp_path: Path) -> None:
    """Whichever of those that share the file goes on, and however often that happens."""
    path = tmp_path / "log"
    one = LogFile(str(path))
    for _ in range(2):
        one.append(b"one\n")
        with path.open("ab") as other:
            other.write(b"ha")
    one.append(b"one\n")
    one.close()
    assert path.read_bytes() == b"one\nha\none\nha\none\n"


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """At the start, not at the first line."""
    with pytest.raises(OSError, match="no file can be made in"):
        LogFile(str(tmp_path / "no" / "log"))
