"""An HTTP proxy behind which authorities of any name and any port live.

No name is looked up and no port but the proxy's own is opened: a client that is told of the proxy
reaches `http://example.org:8080/` and `https://example.org/` alike.

    proxy = Proxy(site)
    shop = proxy.authority("http://example.org:8080", robots="...")
    ... by_proxy(proxy.url, "http://example.org:8080/", "http://example.org:8080/private")
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.certificate import server_context
from tests.replies import Peer, Reply
from tests.site import Authority, Hit, Script, Site

PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Tunnel(Reply):
    """A CONNECT that leads to a port of the same host, whatever port was asked for."""

    host: str = ""
    port: int = 0

    async def _send(self, peer: Peer) -> bool:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        await peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        try:
            await asyncio.gather(_pump(peer.reader, writer), _pump(reader, peer.writer))
        finally:
            writer.transport.abort()
        return False


class Proxy:
    """The proxy, and the authorities behind it. `strays` are requests for any other."""

    def __init__(self, site: Site) -> None:
        self._authorities: dict[tuple[str, str, int], Authority] = {}
        self.strays: list[str] = []
        self._safe_host, self._safe_port = site.listen(self._tell_safely, server_context())
        host, port = site.listen(self._tell)
        self.url = f"http://{host}:{port}"

    def authority(
        self, origin: str, robots: Script | None = None, pages: Script | None = None
    ) -> Authority:
        """A new authority of that origin (`https://example.org`)."""
        key = _key(origin)
        self._authorities[key] = Authority(*key, robots, pages)
        return self._authorities[key]

    @property
    def hits(self) -> list[Hit]:
        """All requests to all authorities behind the proxy."""
        return [hit for authority in self._authorities.values() for hit in authority.hits]

    def _tell(self, hit: Hit) -> Reply:
        if hit.method == "CONNECT":
            return Tunnel(host=self._safe_host, port=self._safe_port)
        return self._answer(hit.target, hit)

    def _tell_safely(self, hit: Hit) -> Reply:
        return self._answer(f"https://{hit.header('Host')}{hit.target}", hit)

    def _answer(self, url: str, hit: Hit) -> Reply:
        authority = self._authorities.get(_key(url))
        if authority is None:
            self.strays.append(url)
            return Reply(502, "no such authority")
        parts = urlsplit(url)
        hit.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return authority.reply_to(hit)


def by_proxy(proxy: str, *urls: str, **meta: Any) -> list[dict[str, Any]]:
    """Requests for these pages by way of a proxy."""
    return [{"url": url, "meta": {"proxy": proxy, **meta}} for url in urls]


def _key(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or PORTS[parts.scheme]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while octets := await reader.read(65536):
        writer.write(octets)
        await writer.drain()
    writer.close()
