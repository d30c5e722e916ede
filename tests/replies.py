"""Replies of the test site: well-formed ones, and the ways in which servers fail.

A `Reply` is a value. It can be sent any number of times, by any authority, and each kind of
failure is a kind of reply: `Authority(robots=Hang())`.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

Headers = Mapping[str, str] | Sequence[tuple[str, str]]
Body = str | bytes


class Peer:
    """One connection, as a reply sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.sent: float | None = None

    async def send(self, octets: bytes) -> None:
        """Octets go out, as fast as the other side takes them."""
        self.sent = time.monotonic()
        self.writer.write(octets)
        await self.writer.drain()

    async def gone(self) -> None:
        """Returns when the other side has hung up."""
        while await self.reader.read(65536):
            pass

    def reset(self) -> None:
        """The connection ends with an RST instead of a FIN."""
        if not self.writer.transport.is_closing():
            sock = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


@dataclass(frozen=True)
class Reply:
    """A well-formed HTTP/1.1 reply.

    `delay`: seconds before the first octet. `framing`: "length" (Content-Length), "chunked" or
    "close" (the body ends with the connection). `gzip`: the body is sent with
    `Content-Encoding: gzip`.
    """

    status: int = 200
    body: Body = b""
    headers: Headers = field(default_factory=dict)
    delay: float = 0.0
    framing: str = "length"
    gzip: bool = False

    @classmethod
    def text(cls, body: Body) -> Reply:
        """A 200 with that body."""
        return cls(200, body)

    async def answer(self, peer: Peer) -> bool:
        """The reply is sent; true if the connection can serve another request."""
        if self.delay:
            await asyncio.sleep(self.delay)
        return await self._send(peer)

    async def _send(self, peer: Peer) -> bool:
        """Head and body in one piece."""
        await peer.send(self._head() + self._framed(self._octets()))
        return self.framing != "close"

    def _octets(self) -> bytes:
        """The body as it travels, before framing."""
        body = self.body.encode() if isinstance(self.body, str) else self.body
        return gzip.compress(body) if self.gzip else body

    def _framed(self, body: bytes) -> bytes:
        """The body in its framing; nothing where the status forbids one."""
        if self.status in (204, 304):
            return b""
        if self.framing == "chunked":
            return (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
        return body

    def _head(self, length: int | None = None) -> bytes:
        """The status line and the headers; `length` overrides the true Content-Length."""
        given = list(self.headers.items() if isinstance(self.headers, Mapping) else self.headers)
        names = {name.lower() for name, _ in given}
        implied = [(n, v) for n, v in self._implied(length) if n.lower() not in names]
        lines = [f"{name}: {value}\r\n" for name, value in [*implied, *given]]
        return f"HTTP/1.1 {self.status} {reason(self.status)}\r\n{''.join(lines)}\r\n".encode(
            "latin-1"
        )

    def _implied(self, length: int | None) -> list[tuple[str, str]]:
        headers = [("Content-Type", "text/plain")]
        if self.gzip:
            headers.append(("Content-Encoding", "gzip"))
        if self.status in (204, 304):
            return []
        if self.framing == "chunked":
            return [*headers, ("Transfer-Encoding", "chunked")]
        if self.framing == "close":
            return [*headers, ("Connection", "close")]
        size = len(self._octets()) if length is None else length
        return [*headers, ("Content-Length", str(size))]


def reason(status: int) -> str:
    """The usual phrase for a status, `Odd` for a status without one."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Odd"


def html(body: Body = "<html><body>a page</body></html>", **fields: object) -> Reply:
    """An HTML page."""
    return Reply(**{"headers": {"Content-Type": "text/html"}, **fields, "body": body})


def redirect(to: str, status: int = 302, body: Body = b"") -> Reply:
    """A redirect to `to`, which may be relative, broken, or of any scheme."""
    return Reply(status, body, {"Location": to})


class Reset(Reply):
    """The connection is reset once the request is read."""

    async def _send(self, peer: Peer) -> bool:
        peer.reset()
        return False


class Empty(Reply):
    """The connection is closed without a single octet."""

    async def _send(self, peer: Peer) -> bool:
        return False


class HalfHead(Reply):
    """The connection is closed in the middle of a header."""

    async def _send(self, peer: Peer) -> bool:
        await peer.send(self._head()[:30])
        return False


class ShortBody(Reply):
    """The connection is closed when half of the promised body is out."""

    async def _send(self, peer: Peer) -> bool:
        body = self._octets() or b"User-agent: *\nDisallow:\n"
        await peer.send(self._head(len(body)) + body[: len(body) // 2])
        return False


class Hang(Reply):
    """The request is read and never answered."""

    async def _send(self, peer: Peer) -> bool:
        await peer.gone()
        return False


class Stall(ShortBody):
    """Half of the body is sent, and then nothing more."""

    async def _send(self, peer: Peer) -> bool:
        await super()._send(peer)
        await peer.gone()
        return False


@dataclass(frozen=True)
class Trickle(Reply):
    """The body comes one octet every `interval` seconds."""

    interval: float = 1.0

    async def _send(self, peer: Peer) -> bool:
        body = self._octets() or b"User-agent: *\nDisallow:\n"
        await peer.send(self._head(len(body)))
        for place in range(len(body)):
            await peer.send(body[place : place + 1])
            await asyncio.sleep(self.interval)
        return True


@dataclass(frozen=True)
class Bomb(Reply):
    """A small gzip body that inflates to the body given and `inflated` octets of comment."""

    gzip: bool = True
    inflated: int = 64 << 20

    def _octets(self) -> bytes:
        body = self.body.encode() if isinstance(self.body, str) else self.body
        return _bomb(body, self.inflated)


@functools.lru_cache(maxsize=4)
def _bomb(start: bytes, inflated: int) -> bytes:
    return gzip.compress(start + b"#" * inflated, compresslevel=1)


class Endless(Reply):
    """A body without an end: what is given, then comment lines until the peer hangs up."""

    async def _send(self, peer: Peer) -> bool:
        await peer.send(Reply(self.status, headers=self.headers, framing="close")._head())
        await peer.send(self._octets())
        while True:
            await peer.send(b"# more to come\n" * 1000)


class Raw(Reply):
    """The body is sent as it is, head and all, and the connection closed."""

    async def _send(self, peer: Peer) -> bool:
        await peer.send(self._octets())
        return False
