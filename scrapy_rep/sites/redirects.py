"""Where a redirect of a robots.txt leads, and whether it may be followed (RFC 9309 2.3.1.2).

A redirect must not lead from a public site into the network of the crawler, because the content is
untrusted (RFC 9309 section 3). The module ``ipaddress`` says which addresses are reachable from
everywhere, as of the release of Python (IANA's Special-Purpose Address Registries, RFC 6890).
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from w3lib.url import safe_url_string

from scrapy_rep.access.authority import DEFAULT_PORTS, authority_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LONGEST_URL = 8192
"""Octets of the longest URL that is followed; RFC 9110 section 4.1 asks for at least 8,000."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""By such an address, a network without IPv4 reaches the IPv4 address in its end (RFC 6052)."""


class RefusedError(Exception):
    """A redirect must not be followed; the message says why."""


def target_of(uri: str, response: Response, public: bool) -> str:
    """Return where a redirect leads; raise ``RefusedError`` if it must not be followed."""
    location = response.headers.get("Location")
    if location is None:
        raise RefusedError(f"status {response.status} without a Location")
    # Octets that are not UTF-8 are sent as they are, as Scrapy's own redirects do.
    target = resolved(uri, location.decode("utf-8", "percentencode"))
    authority = authority_of(target)
    if public and authority is not None and is_local_host(authority.host):
        raise RefusedError(f"redirect from a public to a local address: {authority}")
    return target


def resolved(uri: str, location: str) -> str:
    """Return the URL that a Location names; raise ``RefusedError`` if it cannot be followed."""
    text = location.strip()
    try:
        parts = urlsplit(text)
        if (parts.scheme in DEFAULT_PORTS or text.startswith("//")) and not parts.netloc:
            raise ValueError  # urljoin would take the host that redirects
        target = urljoin(uri, text)
        authority = authority_of(target)
        if authority is None:
            raise RefusedError("redirect to a scheme other than http and https")
        parts = urlsplit(target)
        # User information in a Location is not a credential of this crawl, and is not sent.
        uri = f"{authority}{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        # Scrapy reads a backslash as a slash, and would send the request to another host.
        if authority_of(safe_url_string(uri)) != authority:
            raise ValueError
    except ValueError:
        # What is wrong is not quoted: it may be part of a password.
        raise RefusedError("broken Location") from None
    if len(uri) > _LONGEST_URL:  # a relative one adds to the URL it is relative to
        raise RefusedError(f"redirect to a URL of {len(uri):,} bytes")
    return uri


def answered_by_public(request: Request, response: Response, uri: str) -> bool:
    """Return whether a hop was answered from the public Internet, as far as that can be told.

    A public name may resolve to any address. A proxy looks up the names of the requests that go
    through it.
    """
    host = (urlsplit(uri).hostname or "").lower()
    is_looked_up = literal_address(host) is None and not request.meta.get("proxy")
    if is_looked_up and response.ip_address is not None:
        return is_global(response.ip_address)
    return not is_local_host(host)


def is_global(address: Address) -> bool:
    """Return True if an address is reachable from everywhere, and False if not or not known."""
    address = getattr(address, "ipv4_mapped", None) or address
    if address in _NAT64:
        address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.is_global and not address.is_multicast


def is_local_host(host: str) -> bool:
    """Return True if the host of an authority is ``localhost``, or an address that is not public.

    Any other name counts as public, whatever it resolves to.
    """
    name = unquote(host).lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = literal_address(name)
    return address is not None and not is_global(address)


def literal_address(host: str) -> Address | None:
    """Return the address that a host is written as, ``None`` for a name.

    Besides the standard forms it reads what resolvers accept for IPv4: fewer parts than four, octal
    and hexadecimal parts (``0x7f.1``, ``017700000001``, ``2130706433``).
    """
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None
