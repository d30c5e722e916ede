"""Python processes without the time of their imports: forked from one that has imported Scrapy.

Most of the time of a `scrapy ...` process goes into imports, and hundreds of tests need a process.
Here one process for each worker of pytest imports what a crawl needs, and forks for each call.

A forked process is a process like any other: it has its own memory, reactor, environment, folder
and streams, and it ends as Python ends, with atexit and an exit status. The one difference is that
some modules are imported already. Where imports are the point, or where a test talks to a process
while it runs, use :mod:`subprocess`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]

START = """
import sys
standard = sys.path[1:]
sys.path[:] = {path!r} + standard
from tests.processes import serve
serve({number}, {imports!r}, standard)
"""
SCRAPY = (
    "scrapy.cmdline",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.engine",
    "scrapy.crawler",
    "scrapy.downloadermiddlewares.cookies",
    "scrapy.extensions.feedexport",
    "scrapy.shell",
    "scrapy.squeues",
    "twisted.internet.asyncioreactor",
    "twisted.internet.selectreactor",
    "twisted.web.client",
    "unittest",
    "scrapy_rep.addon",
)


def run_python(
    *arguments: str,
    options: Sequence[str] = (),
    imports: Sequence[str] = SCRAPY,
    cwd: Path | str = ROOT,
    env: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ...`, `-c CODE ...` or `FILE ...`, as subprocess.run does.

    `options` are those of the interpreter, `imports` what the process finds imported already.
    Raises subprocess.TimeoutExpired.
    """
    order = {
        "arguments": arguments,
        "cwd": str(cwd),
        "env": dict(os.environ if env is None else env),
    }
    key = (*options,), (*imports,)
    if key not in _parents:
        _parents[key] = _Parent(*key)
        atexit.register(_parents[key].end)
    try:
        return _parents[key].run(order, given, timeout)
    except BaseException:  # the answer that is outstanding is not that of a later order
        _parents.pop(key).end()
        raise


class _Parent:
    """The process that forks, as the tests see it."""

    def __init__(self, options: tuple[str, ...], imports: tuple[str, ...]) -> None:
        self._channel, theirs = socket.socketpair()
        path = [str(ROOT), *filter(None, sys.path)]
        code = START.format(path=path, number=theirs.fileno(), imports=imports)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *options, "-c", code],
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._answers = self._channel.makefile("r")

    def run(
        self, order: Mapping[str, Any], given: bytes, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Send an order, with the streams of the process to be forked, and wait for its end."""
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
            for file, text in zip(files, (json.dumps(order).encode(), given), strict=False):
                file.write(text)
                file.seek(0)
            status = self._status(files, order, timeout)
            for file in files:
                file.seek(0)
            out, err = (file.read().decode() for file in files[2:])
        return subprocess.CompletedProcess(order["arguments"], status, out, err)

    def _status(self, files: list[IO[bytes]], order: Mapping[str, Any], timeout: float) -> int:
        socket.send_fds(self._channel, [b"!"], [file.fileno() for file in files])
        self._channel.settimeout(60)  # the imports, before the first one
        pid = int(self._answers.readline())
        self._channel.settimeout(timeout)
        try:
            return int(self._answers.readline())
        except BaseException as error:
            os.kill(pid, signal.SIGKILL)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(order["arguments"], timeout) from None
            raise

    def end(self) -> None:
        """End the process. It may be called again."""
        self._answers.close()
        self._channel.close()
        self._process.wait(10)


_parents: dict[tuple[tuple[str, ...], tuple[str, ...]], _Parent] = {}


def serve(number: int, imports: Sequence[str], standard: list[str]) -> None:
    """Fork for each order that comes through this file descriptor, until it is closed."""
    for name in imports:
        importlib.import_module(name)
    assert "twisted.internet.reactor" not in sys.modules, "each process installs its own reactor"
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=number) as channel:
        files = _forked(channel)
    if not files:
        return
    for at, file in enumerate(files[1:]):
        os.dup2(file, at)
        os.close(file)
    with os.fdopen(files[0], "rb") as order:
        job = json.load(order)
    _become(job["arguments"], job["cwd"], job["env"], standard)


def _forked(channel: socket.socket) -> list[int]:
    """Return in each process that is forked, with its files, and without any at the end."""
    while True:
        data, files, _, _ = socket.recv_fds(channel, 1, 4)
        if not data:
            return []
        child = os.fork()
        if not child:
            return files
        for file in files:
            os.close(file)
        with suppress(BrokenPipeError):  # the test has given up
            channel.sendall(b"%d\n" % child)
            _, status = os.waitpid(child, 0)
            channel.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


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
