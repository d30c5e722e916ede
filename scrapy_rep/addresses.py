"""Whether a host is on the public Internet, however it is spelled.

A redirect of a robots.txt must not lead from a public site into the network of the crawler
(RFC 9309 section 3: the content is untrusted).
"""

from __future__ import annotations

import ipaddress
import socket
import unicodedata
from urllib.parse import unquote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAMES = (
    "localhost",
    "localhost.localdomain",
    "localhost6",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
)
_IDEOGRAPHIC_STOP = "\u3002"
"""A dot of a host name by the rules of IDNA (RFC 3490 section 3.1)."""

_LEGACY_DIGITS = frozenset("0123456789abcdefx.")


def is_global(address: Address) -> bool:
    """Return whether an address is reachable from everywhere, seen through IPv6 wrappings."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_global(inner)
    return address.is_global and not address.is_multicast


def is_local_host(host: str) -> bool:
    """Return whether a host of a URL is by its spelling not on the public Internet.

    Any other name is taken for public: what it resolves to shows at the connection.
    """
    name = unicodedata.normalize("NFKC", unquote(host)).replace(_IDEOGRAPHIC_STOP, ".")
    name = name.lower().strip("[]").rstrip(".")
    if name in _LOCAL_NAMES or name.endswith(".localhost") or not name:
        return True
    address = literal_address(name)
    return address is not None and not is_global(address)


def literal_address(name: str) -> Address | None:
    """Return the address that a host spells out, ``None`` for a name.

    Besides the standard forms it reads what resolvers accept for IPv4: fewer parts than four,
    octal and hexadecimal parts (``0x7f.1``, ``017700000001``, ``2130706433``).
    """
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        pass
    if not _LEGACY_DIGITS.issuperset(name):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except OSError:
        return None


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    packed = address.packed
    if address in _NAT64 or (not any(packed[:12]) and int(address) > 1):
        return ipaddress.IPv4Address(packed[12:])
    return None
