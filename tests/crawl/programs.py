"""Servers and proxies that are in use everywhere, as Debian packages them.

Each is a child process of the test, on a free port of 127.0.0.1, with a configuration and a log in
a folder of its own. It runs without privileges, also where the tests have them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stores.servers import free_port, installed, wait_for

PACKAGES = {"apache2": "apache2-bin", "tinyproxy": "tinyproxy-bin"}
"""Packages of Debian that are named otherwise than their programs."""


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that a process without privileges may write to."""
    with tempfile.TemporaryDirectory(prefix="scrapy-rep-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


class Program:
    """A running program: its `port` and the lines of its access log."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._log = folder / "access.log"
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    @property
    def log(self) -> list[str]:
        """The access log so far."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def lines(self, *parts: str) -> list[str]:
        """The lines of the log in which all of these are found."""
        return [line for line in self.log if all(part in line for part in parts)]


@contextmanager
def running(name: str, arguments: str, configuration: str, **files: str) -> Iterator[Program]:
    """A program that has begun to listen.

    In arguments and configuration {folder} and {port} are filled in; `files` are further ones, with
    `__` for a dot and `_in_` for a folder of theirs.
    """
    path = installed(name, PACKAGES.get(name, ""))
    with shared_folder() as folder:
        port = free_port()
        given = {"folder": str(folder), "port": str(port)}
        for file, text in {"conf": configuration, **files}.items():
            inside, _, last = file.rpartition("_in_")
            place = folder / inside / last.replace("__", ".")
            place.parent.mkdir(exist_ok=True)
            place.parent.chmod(0o777)
            place.write_text(_filled(text, given))
        with (folder / "output").open("wb") as output:
            child = subprocess.Popen(
                [path, *(_filled(each, given) for each in arguments.split())],
                stdout=output,
                stderr=output,
                cwd=folder,
                start_new_session=True,
                **_without_privileges(),
            )
        try:
            try:
                wait_for(port)
            except Exception as error:
                said = (folder / "output").read_text()
                raise AssertionError(f"{name} does not start: {said}") from error
            yield Program(folder, port)
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait(10)


def _filled(text: str, given: dict[str, str]) -> str:
    for name, value in given.items():
        text = text.replace("{" + name + "}", value)
    return text


def _without_privileges() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": "nobody", "group": "nogroup", "extra_groups": []}
