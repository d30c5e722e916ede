"""Python processes without the time of their imports: forked from one that has imported Scrapy.

Most of the time of a `scrapy ...` process goes into imports, and hundreds of tests need a process.
Here one process for each worker of pytest imports what a crawl or a command needs, and forks for
each call.

A forked process is a process like any other: it has its own memory, reactor, environment, folder
and streams, and it ends as Python ends, with atexit and an exit status. The differences are that
some modules are imported already, and that memory is freed at the end only under -W. Where imports
are the point, use :func:`fresh_python`; where a test reads what a process says while it runs,
:mod:`subprocess`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from struct import Struct
from types import ModuleType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]

START = """
import sys
standard = sys.path[1:]
sys.path[:] = {path!r} + standard
from tests.processes import serve
serve({number}, standard)
"""
NUMBER = Struct("=i")
IMPORTS = (
    *("scrapy.cmdline", "scrapy.shell", "scrapy.squeues", "scrapy.core.downloader.handlers.http11"),
    *("scrapy.core.engine", "scrapy.crawler", "scrapy.downloadermiddlewares.cookies"),
    *("scrapy.extensions.feedexport", "twisted.internet.asyncioreactor", "twisted.web.client"),
    *("twisted.internet.selectreactor", "unittest", "warcio.archiveiterator", "scrapy_rep.addon"),
    "tests.crawl.harness",
)
COMMANDS = ("scrapy.commands", "scrapy_rep.commands")
"""Packages of which all modules are imported, as Scrapy would do for each command."""


def environment(*folders: Path, **more: str) -> dict[str, str]:
    """Our own, with all places where modules are found, and these folders before them."""
    path = os.pathsep.join([*map(str, folders), str(ROOT), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, **more}


def run_python(
    *arguments: str, given: bytes = b"", timeout: float = 200, **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ...`, `-c CODE ...` or `FILE ...`, as subprocess.run does.

    `how` is for :func:`start_python`. Raises subprocess.TimeoutExpired, and ends the process.
    """
    process = start_python(*arguments, given=given, **how)
    try:
        out, err = process.communicate(timeout)
    finally:
        process.close()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def fresh_python(*arguments: str, options: Sequence[str] = (), **how: Any) -> str:
    """What an interpreter that has imported nothing yet prints; it ends well, and warns of nothing.

    For tests in which imports are the point. `how` is for subprocess.run.
    """
    command = [sys.executable, *options, *arguments]
    how = {"cwd": ROOT, "timeout": 200, **how}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def start_python(
    *arguments: str,
    options: Sequence[str] = (),
    cwd: Path | str = ROOT,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    output: int | None = None,
) -> Forked:
    """Start such a process, and do not wait for its end.

    Without `env` its environment is ours, and it finds the modules that we find.
    `options` are those of the interpreter for warnings: ``-W...``. `output` is a file descriptor,
    such as a terminal's, that gets both streams of the process.
    """
    order = {
        "arguments": arguments,
        "warnings": [option.removeprefix("-W") for option in options],
        "cwd": str(cwd),
        "env": dict(environment() if env is None else env),
    }
    return Forked(_parent(), order, given, output)


class Forked:
    """A process that was started here, with what is used of subprocess.Popen."""

    def __init__(
        self,
        parent: socket.socket,
        order: Mapping[str, Any],
        given: bytes,
        output: int | None = None,
    ) -> None:
        self.returncode: int | None = None
        self._arguments = order["arguments"]
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(200)  # the imports, before the first one
        files = [tempfile.TemporaryFile() for _ in range(4)]  # noqa: SIM115
        for file, text in zip(files, (json.dumps(order).encode(), given), strict=False):
            file.write(text)
            file.seek(0)
        with theirs, files[0], files[1]:
            numbers = [theirs.fileno(), *(file.fileno() for file in files)]
            if output is not None:
                numbers[3:] = [output, output]
            socket.send_fds(parent, [b"!"], numbers)
        self._out, self._err = files[2:]
        self.pid = self._answer()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit status."""
        if self.returncode is None:
            self._channel.settimeout(timeout)
            try:
                self.returncode = self._answer()
            except TimeoutError:
                raise subprocess.TimeoutExpired(self._arguments, timeout or 0.0) from None
            self._channel.close()
        return self.returncode

    def _answer(self) -> int:
        answer = self._channel.recv(NUMBER.size)
        assert answer, "the process that forks has ended"
        return int(*NUMBER.unpack(answer))

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, and return what was said on both streams."""
        self.wait(timeout)
        said = []
        for file in (self._out, self._err):
            with file:
                file.seek(0)
                said.append(file.read().decode())
        return said[0], said[1]

    def send_signal(self, number: int) -> None:
        """Nothing is sent to a process that has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """It is over, and what it said is not read any more."""
        self.kill()
        self.wait(10)
        self._out.close()
        self._err.close()


@cache
def _parent() -> socket.socket:
    """The process that forks; it takes orders, and ends when its socket is closed."""
    ours, theirs = socket.socketpair()
    path = [str(ROOT), *filter(None, sys.path)]
    code = START.format(path=path, number=theirs.fileno())
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=env,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    atexit.register(process.wait, 10)
    atexit.register(ours.close)
    return ours


def serve(number: int, standard: list[str]) -> None:
    """Fork for each order that comes through this file descriptor, until it is closed."""
    for name in IMPORTS:
        importlib.import_module(name)
    for name in COMMANDS:
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(module.name)
    assert "twisted.internet.reactor" not in sys.modules, "each process installs its own reactor"
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as channel:
        while True:
            data, files, _, _ = socket.recv_fds(channel, 1, 5)
            if not data:
                return
            if not os.fork():
                break
            for file in files:
                os.close(file)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _begin(*files, standard=standard)


def _begin(answers: int, order: int, *streams: int, standard: list[str]) -> None:
    """Fork once more, for a process that watches, and do what was ordered."""
    with socket.socket(fileno=answers) as channel:
        if child := os.fork():
            for file in (order, *streams):
                os.close(file)
            _watch(channel, child)
    for at, file in enumerate(streams):
        os.dup2(file, at)
        os.close(file)
    if os.isatty(1):  # those that it has by now take it for a file
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    with os.fdopen(order, "rb") as text:
        job = json.load(text)
    sys.warnoptions.extend(job["warnings"])
    warnings._processoptions(job["warnings"])  # type: ignore[attr-defined]
    status: Any = 0
    try:
        _become(job["arguments"], job["cwd"], job["env"], standard)
    except SystemExit as end:
        status = end.code or 0
    _end(status)


def _end(status: Any) -> NoReturn:
    """End as Python does, but free no memory: that takes longer than most of what is run here.

    Where warnings are errors, Python ends by itself, so that it finds what nothing has closed.
    """
    if sys.warnoptions or not isinstance(status, int):
        sys.exit(status)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _watch(channel: socket.socket, child: int) -> NoReturn:
    """Say which process was started, and how it ended; in a process for this alone."""
    with suppress(BrokenPipeError):  # the test has given up
        channel.sendall(NUMBER.pack(child))
        _, status = os.waitpid(child, 0)
        channel.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _become(arguments: list[str], cwd: str, env: dict[str, str], standard: list[str]) -> None:
    """Do what the interpreter would do with these arguments."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    given = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    importlib.invalidate_caches()
    what, *rest = arguments
    if what == "-m":
        sys.path[:] = [cwd, *given, *standard]
        sys.argv[:] = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif what == "-c":
        sys.path[:] = ["", *given, *standard]
        sys.argv[:] = ["-c", *rest[1:]]
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    else:
        sys.path[:] = [str(Path(what).resolve().parent), *given, *standard]
        sys.argv[:] = arguments
        runpy.run_path(what, run_name="__main__")
