"""A real redis-server, and one that is scripted to misbehave, both on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class RedisServer:
    """A redis-server of the tests' own, without persistence, on a port and a Unix socket.

    Where the program is missing, the test that wants it is skipped; with CI set it fails.
    """

    def __init__(self, directory: Path, *options: str, port: int | None = None) -> None:
        program = shutil.which("redis-server")
        if program is None:
            missing = pytest.fail if os.environ.get("CI") else pytest.skip
            missing("redis-server is not installed (Debian: apt-get install redis-server)")
        self.port = port or free_port()
        self.socket = directory / "redis.sock"
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--save", "", "--appendonly", "no", "--dir", str(directory)]
        self._command += ["--unixsocket", str(self.socket), *options]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """Its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> RedisServer:
        """It runs, and accepts connections."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
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
        assert self._process
        self._process.send_signal(number)

    def stop(self) -> None:
        """It is gone, and what it held with it."""
        if self._process:
            self._process.kill()
            self._process.wait(10)
            self._process = None


Handler = Callable[[socket.socket], None]


class ScriptedServer:
    """A TCP server that does to each connection what `handler` says, in a thread apiece."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.uri = f"redis://127.0.0.1:{self.port}/0"
        self.connections = 0
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> ScriptedServer:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(5)
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(10)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                self._open.append(sock)
                thread = threading.Thread(target=self._serve, args=[sock], daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with sock, suppress(OSError, ValueError):
            self._handler(sock)


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
