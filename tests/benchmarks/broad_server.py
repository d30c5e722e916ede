"""The sites of the benchmark of broad crawls: loopback addresses, in a process of their own.

``python -m tests.benchmarks.broad_server`` serves the sites of :mod:`tests.benchmarks.field`, each
at an address of its own. It prints the port that it listens at, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.field import SILENT, Site, site

PAGE_AFTER = 0.05
"""Seconds until anything is answered."""

IDLE = 5.0
"""Seconds after which an idle connection is closed, as Apache does by default."""

FIRST = "127.250.0.1"
"""The address of a page that leads to all sites. It has no robots.txt."""

PAGE = b"<html><head><title>a page</title></head><body>" + 40 * b"<p>some words</p>" + b"</body>"


def address_of(number: int) -> str:
    """The address of a site: 250 of them in each ``127.a.b.0``, and 62,500 in each ``127.a``."""
    return f"127.{1 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"


def _site_at(address: str) -> Site:
    if address == FIRST:
        return Site(404, False, 0, 0.0, 0)
    _, a, b, c = map(int, address.split("."))
    return site((a - 1) * 62_500 + b * 250 + c - 1)


def _reply(status: int, kind: str, body: bytes, fields: str = "") -> bytes:
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\n{fields}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


_ANSWER = _reply(200, "text/html", PAGE)


class Connection(asyncio.Protocol):
    """A connection to one site, which asks for one thing after another."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Find out which site it is to."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.site = _site_at(transport.get_extra_info("sockname")[0])
        self.came = b""
        self.loop = asyncio.get_running_loop()
        self.timer = self.loop.call_later(IDLE, self._is_idle)

    def data_received(self, data: bytes) -> None:
        """Answer after a while, or never."""
        self.came += data
        if not self.came.endswith(b"\r\n\r\n"):
            return
        path, self.came = self.came.split(b" ", 2)[1], b""
        self.timer.cancel()
        if self.site.status != SILENT:
            self.timer = self.loop.call_later(PAGE_AFTER, self._answer, path)

    def connection_lost(self, _: Exception | None) -> None:
        """Forget the timer."""
        self.timer.cancel()

    def _answer(self, path: bytes) -> None:
        self.transport.write(self._answer_to(path))
        self.timer = self.loop.call_later(IDLE, self._is_idle)

    def _answer_to(self, path: bytes) -> bytes:
        if path == b"/robots.txt" and self.site.has_moved:
            return _reply(301, "text/html", b"", "Location: /moved.txt\r\n")
        if path in (b"/robots.txt", b"/moved.txt"):
            return _reply(self.site.status, "text/plain", self.site.robots_txt)
        return _ANSWER

    def _is_idle(self) -> None:
        self.transport.close()


@contextmanager
def served() -> Iterator[int]:
    """Serve all sites for a while; the value is their port."""
    command = [sys.executable, "-m", "tests.benchmarks.broad_server"]
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


async def serve() -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "0.0.0.0", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve())
