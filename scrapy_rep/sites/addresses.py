"""Whether a host is on the public Internet, in any spelling.

A redirect of a robots.txt must not lead from a public site into the network of the crawler (RFC
9309 section 3: the content is untrusted). The module ``ipaddress`` says which addresses are
reachable from everywhere, as of the release of Python (IANA's Special-Purpose Address Registries,
RFC 6890). Besides, an IPv6 address that contains an IPv4 address (IPv4-mapped, 6to4, Teredo, NAT64)
is judged by that one, and of IPv6 only ``2000::/3`` is assigned to hosts (RFC 4291).
"""

from __future__ import annotations

import ipaddress
import socket
import unicodedata
from urllib.parse import unquote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_UNICAST = ipaddress.IPv6Network("2000::/3")
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
    """Return True if an address is reachable from everywhere, and False if not or not known."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        return address in _UNICAST and address.is_global if inner is None else is_global(inner)
    return address.is_global and not address.is_multicast


def is_local_host(host: str) -> bool:
    """Return True if the spelling of a host shows that it is not on the public Internet.

    Any other name counts as public, whatever it resolves to.
    """
    name = unicodedata.normalize("NFKC", unquote(host)).replace(_IDEOGRAPHIC_STOP, ".")
    name = name.lower().strip("[]").rstrip(".")
    if name in _LOCAL_NAMES or name.endswith(".localhost") or not name:
        return True
    address = literal_address(name)
    return address is not None and not is_global(address)


def literal_address(name: str) -> Address | None:
    """Return the address that a host is written as, ``None`` for a name.

    Besides the standard forms it reads what resolvers accept for IPv4: fewer parts than four, octal
    and hexadecimal parts (``0x7f.1``, ``017700000001``, ``2130706433``).
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
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64:  # RFC 6052
        return ipaddress.IPv4Address(address.packed[12:])
    return address.ipv4_mapped or address.sixtofour
