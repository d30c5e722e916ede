r"""A real HTTP/1.1 and HTTPS server on loopback addresses, scripted by the tests.

A `Site` is many authorities, each with its own address, what it says about `/robots.txt`, what it
says about its pages, and a record of what it was asked. The server has a thread and an event loop
of its own, so that it serves whatever reactor the test runs, and a child process too.

    with Site() as site:
        shop = site.authority(robots="User-agent: *\nDisallow: /cart\n")
        gone = site.authority(robots=[Reply(503), Reply(404)])  # the first time, from then on
        ...
        assert len(shop.robots_hits) == 1
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from tests.certificate import server_context
from tests.replies import Body, Peer, Reply, html

Teller = Callable[["Hit"], Reply]
Script: TypeAlias = "Body | Reply | Sequence[Script] | Mapping[str, Script] | Teller"


@dataclass
class Hit:
    """One request that arrived: times are `time.monotonic()`, `finished` None while served.

    `sent` is the moment before the last octets of the reply went out.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    received: float
    finished: float | None = None
    sent: float | None = None

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The value of the first header of that name."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)


def teller(script: Script, wrap: Callable[[Body], Reply], otherwise: Reply) -> Teller:
    """A script becomes a function of the hit.

    Text is the body of a 200; a sequence is told one by one and its last element again and
    again; a mapping goes by path, `otherwise` for any other path; a function is itself.
    """
    if isinstance(script, (str, bytes)):
        script = wrap(script)
    if isinstance(script, Reply):
        return lambda hit: script
    if isinstance(script, Mapping):
        table = {path: teller(part, wrap, otherwise) for path, part in script.items()}
        return lambda hit: table.get(hit.path, lambda _: otherwise)(hit)
    if isinstance(script, Sequence):
        parts = deque(teller(part, wrap, otherwise) for part in script)
        return lambda hit: (parts.popleft() if len(parts) > 1 else parts[0])(hit)
    return script


class Authority:
    """A scheme, a host and a port, and what is told there. `robots` and `pages` may be set anew."""

    def __init__(
        self, scheme: str, host: str, port: int, robots: Script | None, pages: Script | None
    ) -> None:
        self.scheme, self.host, self.port = scheme, host, port
        self._hits: list[Hit] = []
        self.robots, self.pages = robots, pages

    @property
    def robots(self) -> Script | None:
        """What is said about `/robots.txt`."""
        return self._robots

    @robots.setter
    def robots(self, script: Script | None) -> None:
        self._robots = script
        script = Reply(404, "none") if script is None else script
        self._tell_robots = teller(script, Reply.text, Reply(404))

    @property
    def pages(self) -> Script | None:
        """What is said about every other path."""
        return self._pages

    @pages.setter
    def pages(self, script: Script | None) -> None:
        self._pages = script
        self._tell_page = teller(html() if script is None else script, html, html())

    def url(self, path: str = "/", *, user: str = "") -> str:
        """The URL of a path here; `user` ("name:password") goes before the host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user + '@' if user else ''}{host}:{self.port}{path}"

    def reply_to(self, hit: Hit) -> Reply:
        """The hit is recorded, and what to answer is looked up."""
        self._hits.append(hit)
        return (self._tell_robots if hit.path == "/robots.txt" else self._tell_page)(hit)

    @property
    def hits(self) -> list[Hit]:
        """All requests so far, in the order in which they came."""
        return list(self._hits)

    @property
    def robots_hits(self) -> list[Hit]:
        """The requests for `/robots.txt`."""
        return [hit for hit in self.hits if hit.path == "/robots.txt"]

    @property
    def page_hits(self) -> list[Hit]:
        """The requests for anything else."""
        return [hit for hit in self.hits if hit.path != "/robots.txt"]


class Site:
    """The server. `errors` holds what went wrong in itself; closing it raises on any."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._authorities: list[Authority] = []
        self._addresses = iter(ipaddress.ip_network("127.1.0.0/16").hosts())
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_error)
        self._thread = threading.Thread(target=self._loop.run_forever, name="site", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.AbstractServer] = []
        self._bound: list[socket.socket] = []

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        for sock in self._bound:
            sock.close()
        assert not self.errors, self.errors

    @property
    def hits(self) -> list[Hit]:
        """All requests to all authorities, in the order in which they came."""
        hits = [hit for authority in self._authorities for hit in authority.hits]
        return sorted(hits, key=attrgetter("received"))

    def authority(
        self,
        robots: Script | None = None,
        pages: Script | None = None,
        *,
        host: str | None = None,
        port: int = 0,
        tls: bool = False,
    ) -> Authority:
        """A new authority; by default on an address of its own and any free port.

        Without `robots` it has no robots.txt (404); without `pages` every path is a small page.
        """
        sock = self._bind(host, port)
        scheme, ssl_context = ("https", server_context()) if tls else ("http", None)
        authority = self._named(scheme, sock, robots, pages)
        self._serve(sock, authority.reply_to, ssl_context)
        return authority

    def authorities(
        self, count: int, robots: Script | None = None, pages: Script | None = None
    ) -> list[Authority]:
        """Many authorities with one script, each with its own address (a socket apiece)."""
        return [self.authority(robots, pages) for _ in range(count)]

    def refusing(self, host: str | None = None) -> Authority:
        """An authority that refuses connections: its port is bound, and nobody listens."""
        sock = self._bind(host, 0)
        self._bound.append(sock)
        return self._named("http", sock, None, None)

    def listen(self, tell: Teller, tls: ssl.SSLContext | None = None) -> tuple[str, int]:
        """A new address and port, where `tell` is asked about each request that comes."""
        sock = self._bind(None, 0)
        self._serve(sock, tell, tls)
        host, port = sock.getsockname()
        return host, port

    def _serve(self, sock: socket.socket, tell: Teller, tls: ssl.SSLContext | None) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._connected(reader, writer, tell)

        sock.listen(1024)
        server = asyncio.start_server(connected, sock=sock, ssl=tls)
        self._servers.append(asyncio.run_coroutine_threadsafe(server, self._loop).result(10))

    def _bind(self, host: str | None, port: int) -> socket.socket:
        host = str(next(self._addresses)) if host is None else host
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        return sock

    def _named(
        self, scheme: str, sock: socket.socket, robots: Script | None, pages: Script | None
    ) -> Authority:
        host, port = sock.getsockname()[:2]
        self._authorities.append(Authority(scheme, host, port, robots, pages))
        return self._authorities[-1]

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tell: Teller
    ) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        peer = Peer(reader, writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                while await _exchange(peer, tell):
                    pass
        except asyncio.CancelledError:
            peer.reset()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        # Python 3.13 may report that a crawl has hung up, which is not an error of the server.
        if not isinstance(context.get("exception"), ConnectionError):
            self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")


async def _exchange(peer: Peer, tell: Teller) -> bool:
    """One request and its reply; false when the connection is to be closed."""
    first = await peer.reader.readexactly(1)
    if not first.isalpha():  # no method: TLS, most likely
        return False
    head = first + await peer.reader.readuntil(b"\r\n\r\n")
    request, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = request.split(" ", 2)
    pairs = tuple((name.strip(), value.strip()) for name, _, value in map(_colon, lines))
    hit = Hit(method, target, pairs, time.monotonic())
    await peer.reader.readexactly(int(hit.header("Content-Length") or 0))
    try:
        return await tell(hit).answer(peer) and hit.header("Connection") != "close"
    finally:
        hit.sent = peer.sent
        hit.finished = time.monotonic()


def _colon(line: str) -> tuple[str, str, str]:
    return line.partition(":")
