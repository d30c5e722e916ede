"""The tutorial works as it stands: its files, its commands, and what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import ExitStack, contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from tests.crawl.harness import ROOT
from tests.docs.pages import DOCS
from tests.stores.servers import free_port, wait_for

TUTORIAL = DOCS / "tutorial.rst"
BLOCK = re.compile(r"^\.\. code-block:: \w+\n((?: +:.*\n)*)\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
INSTALLS = ("python3 -m venv", ". .venv/", "pip install")


def steps() -> list[tuple[str, str]]:
    """Each block of the tutorial: "run", "output" or the path of a file, and its text."""
    text = TUTORIAL.read_text("utf-8") + "\n"
    found = []
    for options, block in BLOCK.findall(text):
        caption = re.search(r":caption: (.+)", options)
        kind = "output" if ":class: output" in options else caption[1] if caption else "run"
        found.append((kind, dedent(block).strip("\n")))
    return found


def commands() -> list[str]:
    """Each line that the reader types."""
    return [line for kind, text in steps() if kind == "run" for line in text.splitlines()]


class Reader:
    """Does what the tutorial says, in one folder; the two ports are free ones."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        free = sorted([free_port(), free_port()])  # in the order in which a store lists them
        self._ports = dict(zip(["8000", "8001"], map(str, free), strict=True))
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        self.printed: list[str] = []
        """What each command has printed, with the ports of the tutorial, without times."""

    def type(self, line: str) -> None:
        """Run a command, or follow it to another folder."""
        for port, free in self._ports.items():
            line = re.sub(rf"\b{port}\b", free, line)
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
        elif "http.server" in line:
            self._stack.enter_context(self._served(line))
        elif not line.startswith(INSTALLS):
            shell = {"shell": True, "cwd": self.folder, "env": self._environment}
            done = subprocess.run(line, text=True, capture_output=True, timeout=200, **shell)
            self.printed.append(self._as_printed(done.stdout + done.stderr))

    def write(self, path: str, text: str) -> None:
        """Make a file; what is there already stays before it."""
        for port, free in self._ports.items():
            text = text.replace(f":{port}", f":{free}")
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"{text}\n")

    def _as_printed(self, text: str) -> str:
        for port, free in self._ports.items():
            text = text.replace(f":{free}", f":{port}")
        return re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", text, flags=re.MULTILINE)

    @contextmanager
    def _served(self, line: str) -> Iterator[None]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        words = line.split()
        with subprocess.Popen([sys.executable, *words[1:]], cwd=self.folder, **quiet) as server:
            try:
                wait_for(int(words[3]))
                yield
            finally:
                server.terminate()


def assert_shows(printed: str, shown: str) -> None:
    """Each line that the tutorial shows was printed, in that order; "..." is any text.

    Runs of spaces are equal, because the columns of a table are wider where a port is longer.
    """
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for line in shown.splitlines():
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("...")))
        assert any(re.fullmatch(pattern, one) for one in lines), f"{line}\n---\n{printed}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tutorial_works_as_it_stands(tmp_path: Path) -> None:
    """Every command in order; every output is what the command before it prints."""
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        for kind, text in steps():
            if kind == "output":
                assert_shows(reader.printed[-1], text)
            elif kind == "run":
                for line in text.splitlines():
                    reader.type(line)
            else:
                reader.write(kind, text)
    crawls = [text for text in reader.printed if "Dumping Scrapy stats" in text]
    # On a busy machine a minute may pass, after which the other shop is asked again.
    answered = ["'robotstxt/response_count'" in text for text in crawls]
    assert answered == [True, True, True, False, False]
    assert (tmp_path / "shop" / ".scrapy" / "robots" / "robots.db").is_file()
    assert "<html" in (tmp_path / "shop" / "report.html").read_text("utf-8")


def test_the_extras_that_the_tutorial_installs_exist() -> None:
    """What is installed is not tried: that needs a network."""
    metadata = ConfigParser()
    metadata.read(ROOT / "setup.cfg", "utf-8")
    [line] = [line for line in commands() if line.startswith("pip install")]
    extras = re.fullmatch(r"pip install 'scrapy_rep\[(.+)\]'", line)
    assert {*extras[1].split(",")} <= {*metadata["options.extras_require"]}
    assert metadata["metadata"]["version"] in TUTORIAL.read_text("utf-8")
