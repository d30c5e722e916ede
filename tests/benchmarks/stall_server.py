"""The hosts of the benchmark of stalls: thousands of loopback addresses, in a process of its own.

``python -m tests.benchmarks.stall_server '[...]'`` serves these :class:`Hosts`. It prints the ports
that it listens at, and when its standard input ends, what it noted of each request.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import NamedTuple

PORTS = 3
SERVICE = "127.9.0.1"
"""The address of a rendering service. The path begins with the host that it renders a page of."""


class Hosts(NamedTuple):
    """Hosts that answer alike, 250 of them in each ``127.{net}.{n}.0``."""

    net: int
    count: int
    pages: int
    """How many pages of each port of a host are requested."""
    delay: float = 0.0
    """Their Crawl-delay in seconds, if there is one."""
    robots_after: float | None = 0.0
    """Seconds until robots.txt is answered; None for never."""
    page_after: float = 0.05
    """Seconds until a page is answered."""
    max_age: int | None = None
    ports: int = 1
    slot: str | None = None
    """The downloader slot of their requests, if it is not that of the host."""
    is_behind_service: bool = False

    @property
    def names(self) -> list[str]:
        """The address of each host."""
        return [f"127.{self.net}.{n // 250}.{n % 250 + 1}" for n in range(self.count)]

    def robots_txt(self) -> bytes:
        """The reply for robots.txt."""
        asks = f"Crawl-delay: {self.delay:g}\n" if self.delay else ""
        keeps = "" if self.max_age is None else f"Cache-Control: max-age={self.max_age}\r\n"
        return reply("text/plain", f"User-agent: *\n{asks}Disallow: /private\n", keeps)


class Note(NamedTuple):
    """One request, and when it came and was answered, by the monotonic clock."""

    host: str
    is_page: bool
    received: float
    sent: float


def reply(kind: str, body: str, fields: str = "") -> bytes:
    """A reply of status 200."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


class Served:
    """A server that runs; its notes are there once it has ended."""

    def __init__(self, ports: list[int]):
        self.ports = ports
        self.notes: list[Note] = []


@contextmanager
def served(kinds: list[Hosts]) -> Iterator[Served]:
    """Serve these hosts for a while."""
    command = [sys.executable, "-m", "tests.benchmarks.stall_server", json.dumps(kinds)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            found = Served(json.loads(process.stdout.readline()))
            yield found
            printed, _ = process.communicate(timeout=60)
            found.notes += [Note(*note) for note in json.loads(printed)]
        finally:
            process.kill()


async def serve(kinds: list[Hosts]) -> None:
    """Serve the hosts until the standard input ends."""
    by_net = {str(hosts.net): hosts for hosts in kinds}
    page, notes = reply("text/html", "<html><body>a page</body></html>"), list[Note]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A crawl may be killed, and the server end, while a page is being answered.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                await answer(reader, writer)
        writer.close()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
        received, host = monotonic(), writer.get_extra_info("sockname")[0]
        if host == SERVICE:
            host = path.split("/")[1]
        hosts = by_net[host.split(".")[1]]
        is_page = path != "/robots.txt"
        after = hosts.page_after if is_page else hosts.robots_after
        if after is None:
            await reader.read()  # until the crawl hangs up
            raise ConnectionResetError
        await asyncio.sleep(after)
        notes.append(Note(host, is_page, received, monotonic()))
        writer.write(page if is_page else hosts.robots_txt())

    servers = [
        await asyncio.start_server(connected, "0.0.0.0", 0, backlog=4_096) for _ in range(PORTS)
    ]
    print(json.dumps([server.sockets[0].getsockname()[1] for server in servers]), flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    print(json.dumps(notes), flush=True)


if __name__ == "__main__":
    asyncio.run(serve([Hosts(*hosts) for hosts in json.loads(sys.argv[1])]))
