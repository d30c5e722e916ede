"""The addresses of a host name, from the resolver that the crawl itself uses.

Under a Twisted reactor they come from the reactor's resolver, which Scrapy installs by
``TWISTED_DNS_RESOLVER`` (``DNS_RESOLVER`` before Scrapy 2.19), with its cache. Without a reactor
they come from the event loop, as for Scrapy's own download handler.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IResolutionReceiver
from zope.interface import implementer

from scrapy_rep.fetching.ip_addresses import Address


async def addresses_of(host: str) -> list[Address]:
    """Return the addresses that ``host`` resolves to, at least one.

    Raises ``DNSLookupError`` or ``socket.gaierror`` if the name does not resolve.
    """
    found = await (_by_reactor(host) if is_reactor_installed() else _by_event_loop(host))
    if not found:
        raise DNSLookupError(f"{host} has no address")
    return [ipaddress.ip_address(text.partition("%")[0]) for text in found]


async def _by_event_loop(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in infos]


async def _by_reactor(host: str) -> list[str]:
    # Importing this module installs a reactor, so it has to wait until one is running.
    from twisted.internet import reactor

    receiver = _Receiver()
    resolver: Any = reactor
    resolver.nameResolver.resolveHostName(receiver, host)
    return await maybe_deferred_to_future(receiver.found)


@implementer(IResolutionReceiver)
class _Receiver:
    """Collects the addresses of one name; ``found`` fires with them."""

    def __init__(self) -> None:
        self.found: Deferred[list[str]] = Deferred()
        self._hosts: list[str] = []

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802  # Twisted's name
        """Twisted is about to look the name up."""

    def addressResolved(self, address: Any) -> None:  # noqa: N802  # Twisted's name
        """Keep an address."""
        self._hosts.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802  # Twisted's name
        """Hand over all addresses."""
        if not self.found.called:
            self.found.callback(self._hosts)
