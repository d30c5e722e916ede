"""Whether a host is on the public Internet, in any spelling.

A redirect of a robots.txt must not lead from a public site into the network of the crawler (RFC
9309 section 3: the content is untrusted).

Two registries of IANA say which addresses are reachable from everywhere: the IPv4 and the IPv6
Special-Purpose Address Registry (RFC 6890, RFC 8190). The module ``ipaddress`` follows them, but
each release of Python has the state of its own date: in 3.10 ``192.0.0.8`` and ``64:ff9b:1::1`` are
global, and in 3.13.0 ``3fff::1`` and ``5f00::1`` still are. So the registries are copied here, as
of the end of 2025, and the most specific network decides. Three things are decisions of this
module:

- Networks that the registry marks as "not applicable" are not global: the anycast addresses of
  6to4 relays (``192.88.99.0/24``), which are deprecated, and ORCHID
  (``2001:10::/28``). An address that contains an IPv4 address (IPv4-mapped, 6to4, Teredo, NAT64)
  is judged by that one.
- Of IPv6, only ``2000::/3`` is assigned to hosts (RFC 4291; IANA's IPv6 Address Space registry).
  Everything else except NAT64 is not global: site-local ``fec0::/10`` (RFC 3879), IPv4-translated
  ``::ffff:0:0:0/96`` (RFC 2765), IPv4-compatible ``::/96``, and what is reserved.
- An address that no row covers must be global to ``ipaddress``, too: a newer Python may know more
  networks.
"""

from __future__ import annotations

import ipaddress
import socket
import unicodedata
from urllib.parse import unquote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_REGISTRY_4 = """
    0.0.0.0/8           no   RFC 791     this network
    10.0.0.0/8          no   RFC 1918    private use
    100.64.0.0/10       no   RFC 6598    shared by the customers of a provider
    127.0.0.0/8         no   RFC 1122    loopback
    169.254.0.0/16      no   RFC 3927    link-local
    172.16.0.0/12       no   RFC 1918    private use
    192.0.0.0/24        no   RFC 6890    protocol assignments
    192.0.0.9/32        yes  RFC 7723    Port Control Protocol anycast
    192.0.0.10/32       yes  RFC 8155    TURN anycast
    192.0.2.0/24        no   RFC 5737    documentation
    192.31.196.0/24     yes  RFC 7535    AS112
    192.52.193.0/24     yes  RFC 7450    Automatic Multicast Tunneling
    192.88.99.0/24      no   RFC 7526    6to4 relay anycast, deprecated
    192.168.0.0/16      no   RFC 1918    private use
    192.175.48.0/24     yes  RFC 7534    AS112
    198.18.0.0/15       no   RFC 2544    benchmarks
    198.51.100.0/24     no   RFC 5737    documentation
    203.0.113.0/24      no   RFC 5737    documentation
    224.0.0.0/4         no   RFC 5771    multicast
    240.0.0.0/4         no   RFC 1112    reserved
    255.255.255.255/32  no   RFC 8190    limited broadcast
"""
_REGISTRY_6 = """
    ::/128              no   RFC 4291    unspecified
    ::1/128             no   RFC 4291    loopback
    64:ff9b:1::/48      no   RFC 8215    NAT64, local use
    100::/64            no   RFC 6666    discard
    100:0:0:1::/64      no   RFC 9780    dummy prefix
    2001::/23           no   RFC 2928    protocol assignments
    2001:1::1/128       yes  RFC 7723    Port Control Protocol anycast
    2001:1::2/128       yes  RFC 8155    TURN anycast
    2001:1::3/128       yes  RFC 9665    DNS-SD Service Registration Protocol anycast
    2001:2::/48         no   RFC 5180    benchmarks
    2001:3::/32         yes  RFC 7450    Automatic Multicast Tunneling
    2001:4:112::/48     yes  RFC 7535    AS112
    2001:10::/28        no   RFC 4843    ORCHID, deprecated
    2001:20::/28        yes  RFC 7343    ORCHIDv2
    2001:30::/28        yes  RFC 9374    drone remote identification
    2001:db8::/32       no   RFC 3849    documentation
    2620:4f:8000::/48   yes  RFC 7534    AS112
    3fff::/20           no   RFC 9637    documentation
    5f00::/16           no   RFC 9602    segment routing
    fc00::/7            no   RFC 4193    unique local
    fe80::/10           no   RFC 4291    link-local
    ff00::/8            no   RFC 4291    multicast
"""


def _rows(registry: str) -> list[tuple[Network, bool]]:
    """Return the networks of a registry and whether they are global, the most specific first."""
    cells = [line.split(maxsplit=2) for line in registry.strip().splitlines()]
    rows = [(ipaddress.ip_network(network), word == "yes") for network, word, _ in cells]
    return sorted(rows, key=lambda row: -row[0].prefixlen)


_NETWORKS = {4: _rows(_REGISTRY_4), 6: _rows(_REGISTRY_6)}
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
    """Return True if an address is reachable from everywhere, and False if not or not known.

    An IPv6 address that contains an IPv4 address is judged by that one.
    """
    inner = _embedded(address) if isinstance(address, ipaddress.IPv6Address) else None
    if inner is not None:
        return is_global(inner)
    for network, reachable in _NETWORKS[address.version]:
        if address in network:
            return reachable
    return address.is_global and (address.version == 4 or address in _UNICAST)


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
