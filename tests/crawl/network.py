"""A small Internet for a crawl in a child: names resolve as configured, public addresses lead here.

The resolvers are the real ones, of Twisted, Scrapy and asyncio; what they ask of the operating
system is answered from the setting `FAKE_NAMES`, a name and its addresses. `FAKE_ROUTES` says for
an address to which one of this machine a connection really goes; the client sees the address that
it asked for. `FAKE_SILENT` are seconds that a name without addresses takes to fail.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tests.crawl.middlewares import Component

Known = Callable[[str], "list[str] | None"]


class FakeNetwork(Component):
    """A Scrapy extension. Each look-up of a name counts in the stat `fake/lookups/NAME`."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._names = crawler.settings.getdict("FAKE_NAMES")
        self._silent = crawler.settings.getfloat("FAKE_SILENT")
        _answer_names(self._addresses)
        _lead_connections(crawler.settings.getdict("FAKE_ROUTES"))

    def _addresses(self, name: str) -> list[str] | None:
        """What a name resolves to; `None` if it is not one of this network's."""
        said: list[str] | None = self._names.get(name)
        if said is not None:
            self.crawler.stats.inc_value(f"fake/lookups/{name}")
        if said == []:
            time.sleep(self._silent)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return said


def _answer_names(known: Known) -> None:
    by_name, infos = socket.gethostbyname, socket.getaddrinfo

    def gethostbyname(name: str) -> str:
        addresses = known(name)
        return by_name(name) if addresses is None else addresses[0]

    def getaddrinfo(host: Any, port: Any, *rest: Any, **named: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        addresses = known(name)
        if addresses is None:
            return infos(host, port, *rest, **named)
        kind = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [(socket.AF_INET, *kind, (address, port or 0)) for address in addresses]

    socket.gethostbyname, socket.getaddrinfo = gethostbyname, getaddrinfo


def _lead_connections(routes: dict[str, str]) -> None:
    asked: WeakKeyDictionary[socket.socket, Any] = WeakKeyDictionary()
    kind: Any = socket.socket
    connect, connect_ex, getpeername = kind.connect, kind.connect_ex, kind.getpeername

    def led(sock: socket.socket, address: Any) -> Any:
        if isinstance(address, tuple) and address[0] in routes:
            asked[sock] = address
            return (routes[address[0]], *address[1:])
        return address

    kind.connect = lambda sock, address: connect(sock, led(sock, address))
    kind.connect_ex = lambda sock, address: connect_ex(sock, led(sock, address))
    kind.getpeername = lambda sock: asked.get(sock) or getpeername(sock)
