"""A real redis-server, and one that is scripted to misbehave, both on loopback."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

PATH = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin"


def lacks(what: str) -> NoReturn:
    """Something that a test needs is missing: it is skipped, and with CI set it fails."""
    raise (pytest.fail if os.environ.get("CI") else pytest.skip).Exception(what)


def installed(name: str, package: str = "") -> str:
    """The path of a program that a test needs."""
    path = shutil.which(name, path=PATH)
    if path is None:
        lacks(f"{name} is not installed (Debian: apt-get install {package or name})")
    return path


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(port: int) -> None:
    """Return as soon as something listens at this port of 127.0.0.1."""
    with socket.socket() as client:
        end = time.monotonic() + 30
        while client.connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < end, f"nothing listens at port {port}"
            time.sleep(0.1)


class RedisServer:
    """A redis-server of the tests' own, without persistence, on a port and a Unix socket.

    With a `config` it is a Sentinel.
    """

    def __init__(
        self, directory: Path, *options: str, port: int | None = None, config: Path | None = None
    ) -> None:
        program = installed("redis-server")
        self._process: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}
        """Variables that it has beside those of the tests."""
        self.port = port or free_port()
        self.socket = directory / "redis.sock"
        if config is not None:
            self._command = [program, str(config), "--sentinel"]
            return
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--save", "", "--appendonly", "no", "--dir", str(directory)]
        self._command += ["--unixsocket", str(self.socket), *options]

    @property
    def uri(self) -> str:
        """Its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> RedisServer:
        """It runs, and accepts connections."""
        environment = {**os.environ, **self.environment}
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, env=environment)
        end = time.monotonic() + 10
        while True:
            assert self._process.poll() is None, "redis-server ended at once"
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as sock:
                sock.sendall(b"PING\r\n")
                if sock.recv(64):
                    return self
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)

    def signal(self, number: int) -> None:
        """It gets a signal, such as SIGSTOP."""
        self._process.send_signal(number)

    def stop(self) -> None:
        """It is gone, and what it held with it."""
        if self._process:
            self._process.kill()
            self._process.wait(10)
            self._process = None


Startable = TypeVar("Startable", bound="Any")


@contextmanager
def running(server: Startable) -> Iterator[Startable]:
    """A server or a deployment, which may be stopped and started meanwhile."""
    try:
        yield server.start()
    finally:
        server.stop()


@contextmanager
def running_server(*options: str) -> Iterator[RedisServer]:
    """A redis-server in a directory of its own."""
    # Not in pytest's directory: the path of a Unix socket may have 107 octets only.
    with (
        tempfile.TemporaryDirectory() as directory,
        running(RedisServer(Path(directory), *options)) as server,
    ):
        yield server


@contextmanager
def server_with_own_clock() -> Iterator[tuple[RedisServer, Callable[[float], None]]]:
    """A redis-server, and what sets its clock: to so many seconds beside that of the machine."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        lacks("libfaketime is not installed (Debian: apt-get install libfaketime)")
    with tempfile.TemporaryDirectory() as directory:
        file, server = Path(directory, "clock"), RedisServer(Path(directory))

        def set_clock(seconds: float) -> None:
            changed = file.with_suffix(".new")
            changed.write_text(f"{seconds:+f}\n")
            changed.replace(file)

        set_clock(0.0)
        server.environment = {
            # Redis's own malloc asks for the time before the library can tell it.
            "LD_PRELOAD": f"{library} libc.so.6",
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        with running(server):
            yield server, set_clock


T = TypeVar("T", bound="LoopbackServer")

Handler = Callable[[socket.socket], None]


class LoopbackServer:
    """A TCP server that serves each connection in a thread apiece."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.uri = f"redis://127.0.0.1:{self.port}/0"
        self.connections = 0
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self: T) -> T:
        self._begin(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(5)
        self.cut()
        for thread in self._threads[1:]:
            thread.join(10)

    def cut(self) -> None:
        """All connections break."""
        broken, self._open = self._open, []
        for sock in broken:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def serve(self, sock: socket.socket) -> None:
        """Do to a connection what the server is for."""
        raise NotImplementedError

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                self._open.append(sock)
                self._begin(self.serve, sock)

    def _begin(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


class ScriptedServer(LoopbackServer):
    """A server that does to each connection what `handler` says."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def serve(self, sock: socket.socket) -> None:
        """As the script has it."""
        with sock, suppress(OSError, ValueError):
            self._handler(sock)


class DistantServer(LoopbackServer):
    """A proxy in front of a real server: each direction takes half a round trip of `seconds`.

    Both ends of a connection are `cut` at once, as by a router that was restarted. What the
    operating system does to connect costs no round trip on loopback, so the proxy lets the first
    octets wait for one more.
    """

    def __init__(self, port: int, seconds: float) -> None:
        super().__init__()
        self._port = port
        self._seconds = seconds

    def serve(self, sock: socket.socket) -> None:
        """Carry what comes, in both directions."""
        far = socket.create_connection(("127.0.0.1", self._port))
        self._open.append(far)
        self._begin(self._carry, far, sock, 0.0)
        self._carry(sock, far, self._seconds)

    def _carry(self, source: socket.socket, target: socket.socket, extra: float) -> None:
        """Hand on later what comes, in order, however much of it is under way."""
        under_way: deque[tuple[float, bytes]] = deque()
        ended = False
        opened_at = time.monotonic() + extra
        with suppress(OSError):
            while not ended or under_way:
                due = under_way[0][0] - time.monotonic() if under_way else None
                if due is not None and due <= 0:
                    target.sendall(under_way.popleft()[1])
                    continue
                if ended:
                    time.sleep(due or 0)
                elif select.select([source], [], [], due)[0]:
                    octets = source.recv(1 << 16)
                    ended = not octets
                    at = max(time.monotonic(), opened_at) + self._seconds / 2
                    under_way.append((at, octets))
        for sock in (source, target):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        source.close()


def commands(sock: socket.socket, reply: Callable[[list[bytes]], bytes | None]) -> None:
    """Each command that comes is answered by `reply`; `None` ends the connection."""
    with sock.makefile("rb") as stream:
        while line := stream.readline():
            words = []
            for _ in range(int(line[1:])):
                length = int(stream.readline()[1:])
                words.append(stream.read(length + 2)[:-2])
            answer = reply(words)
            if answer is None:
                return
            sock.sendall(answer)
