"""Which hosts are on the public Internet, however they are spelled (RFC 9309 section 3)."""

from __future__ import annotations

import ipaddress
import random

import pytest

from scrapy_rep.fetching.ip_addresses import is_global, is_local_host, literal_address
from tests.rows import rows
from tests.spellings import ADDRESSES, ADDRESSES_6, local_hosts, of_four

PUBLIC = [
    "example.org",
    "8.8.8.8",
    "134744072",
    "0x08080808",
    "[2606:4700:4700::1111]",
    "[::ffff:8.8.8.8]",
    "[2002:808:808::]",
    "localhost.example.org",
    "notlocalhost",
    "127.0.0.1.example.org",
    "dead.beef.example",
    "xn--bcher-kva.example",
    "a" * 63 + ".example",
]


def test_there_are_two_hundred_spellings() -> None:
    """So many as the tests speak of."""
    assert len(local_hosts()) >= 200


@rows("host", local_hosts())
def test_a_host_that_is_not_public_is_known_by_its_spelling(host: str) -> None:
    """Dotted, short, octal, hexadecimal, encoded, in other digits, wrapped in IPv6."""
    assert is_local_host(host)


@pytest.mark.parametrize("host", PUBLIC)
def test_a_public_host_is_not_taken_for_a_local_one(host: str) -> None:
    """A redirect to it may be followed."""
    assert not is_local_host(host)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_spellings_of_an_address_are_that_address(address: str) -> None:
    """The plain IPv4 forms among them, as the C library reads them."""
    plain = [host for host in of_four(address) if "[" not in host and host.isascii()]
    for host in plain:
        if "%" not in host:
            assert literal_address(host.rstrip(".").lower()) == ipaddress.IPv4Address(address), host


@pytest.mark.parametrize("host", ["", "example.org", "1.2.3.4.5", "0x", "08.8.8.8.8", "256.1.1.1"])
def test_a_name_is_no_address(host: str) -> None:
    """What no resolver takes for an address is looked up as a name."""
    assert literal_address(host) is None


@pytest.mark.parametrize("host", ADDRESSES_6)
def test_special_ipv6_addresses_are_not_global(host: str) -> None:
    """Loopback, link-local, unique local, multicast, documentation."""
    assert not is_global(ipaddress.ip_address(host.strip("[]").partition("%")[0]))


def test_addresses_wrapped_twice_are_seen_through() -> None:
    """A 6to4 address of a mapped loopback is a loopback."""
    for text in ("::ffff:127.0.0.1", "2002:7f00:1::1", "64:ff9b::127.0.0.1", "::127.0.0.1"):
        assert not is_global(ipaddress.ip_address(text)), text
    for text in ("::ffff:1.1.1.1", "2002:101:101::1", "64:ff9b::1.1.1.1"):
        assert is_global(ipaddress.ip_address(text)), text


def test_a_teredo_address_is_judged_by_its_client() -> None:
    """RFC 4380: the client's address is in the last 32 bits, inverted."""
    local = ipaddress.IPv6Address(
        (0x20010000 << 96) | (0x08080808 << 64) | (0x7F000001 ^ 0xFFFFFFFF)
    )
    assert not is_global(local)


REGISTRIES = """
0.0.0.0/8 no
0.0.0.0/32 no
10.0.0.0/8 no
100.64.0.0/10 no
127.0.0.0/8 no
169.254.0.0/16 no
172.16.0.0/12 no
192.0.0.0/24 no
192.0.0.0/29 no
192.0.0.8/32 no
192.0.0.9/32 yes
192.0.0.10/32 yes
192.0.0.170/32 no
192.0.0.171/32 no
192.0.2.0/24 no
192.31.196.0/24 yes
192.52.193.0/24 yes
192.88.99.0/24 n/a
192.88.99.2/32 no
192.168.0.0/16 no
192.175.48.0/24 yes
198.18.0.0/15 no
198.51.100.0/24 no
203.0.113.0/24 no
240.0.0.0/4 no
255.255.255.255/32 no
::/128 no
::1/128 no
64:ff9b:1::/48 no
100::/64 no
100:0:0:1::/64 no
2001::/23 no
2001:1::1/128 yes
2001:1::2/128 yes
2001:1::3/128 yes
2001:2::/48 no
2001:3::/32 yes
2001:4:112::/48 yes
2001:10::/28 n/a
2001:20::/28 yes
2001:30::/28 yes
2001:db8::/32 no
2620:4f:8000::/48 yes
3fff::/20 no
5f00::/16 no
fc00::/7 no
fe80::/10 no
"""
"""The column "Globally Reachable" of IANA's two special-purpose registries (RFC 6890, RFC 8190).

Without the networks that contain IPv4 addresses, which are judged by those.
"""

BEYOND = """
224.0.0.0/4
ff00::/8
fec0::/10
::/96
::ffff:0:0:0/96
4000::/2
8000::/1
200::/7
"""
"""What is not for everybody by other documents: multicast, site-local, translated, reserved."""

ROWS = [tuple(line.split()) for line in REGISTRIES.split("\n") if line]
NETWORKS = {ipaddress.ip_network(network): word for network, word in ROWS}
SIX_TO_FOUR = ipaddress.ip_network("2002::/16")


def places(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> set[int]:
    """The first and last addresses of a network, and a hundred in it."""
    chance = random.Random(str(network))
    first, size = int(network[0]), network.num_addresses
    inside = {first + chance.randrange(size) for _ in range(100)}
    return {first, first + min(1, size - 1), first + size - 1, *inside}


@rows("text", [network for network, _ in ROWS])
def test_each_row_of_the_registries_is_kept(text: str) -> None:
    """By the most specific network; "not applicable" is not global. On any Python the same."""
    network = ipaddress.ip_network(text)
    within = [other for other in NETWORKS if other.version == network.version]
    for place in places(network):
        address = network[place - int(network[0])]
        if address.version == 6 and address.teredo is not None:
            continue
        best = max((o for o in within if address in o), key=lambda o: o.prefixlen)
        assert is_global(address) is (NETWORKS[best] == "yes"), address


@pytest.mark.parametrize("text", BEYOND.split())
def test_what_is_no_unicast_of_the_internet_is_not_global(text: str) -> None:
    """RFC 4291, RFC 3879, RFC 2765, RFC 5771."""
    network = ipaddress.ip_network(text)
    for place in places(network):
        assert not is_global(network[place - int(network[0])])


@pytest.mark.parametrize("prefix", ["::ffff:", "64:ff9b::", "2002:{}::", "teredo"])
def test_an_address_that_contains_another_is_judged_by_it(prefix: str) -> None:
    """Each row of the IPv4 registry, wrapped in IPv6, and the public addresses beside them."""
    for network in (n for n in NETWORKS if n.version == 4):
        for place in places(network) | {int(ipaddress.IPv4Address("8.8.8.8"))}:
            inner = ipaddress.IPv4Address(place)
            if prefix == "2002:{}::":
                address = ipaddress.IPv6Address((0x2002 << 112) | (place << 80) | 1)
            elif prefix == "teredo":
                address = ipaddress.IPv6Address((0x20010000 << 96) | (place ^ 0xFFFFFFFF))
            else:
                address = ipaddress.IPv6Address(prefix + str(inner))
            assert is_global(address) is is_global(inner), address


def test_nothing_is_global_that_this_python_takes_for_private() -> None:
    """But for what the registries name, and 6to4, of which Python 3.13 takes no part for global."""
    chance = random.Random(6890)
    for _ in range(20_000):
        four = ipaddress.IPv4Address(chance.getrandbits(32))
        six = ipaddress.IPv6Address((0b001 << 125) | chance.getrandbits(125))
        for address in (four, six):
            if is_global(address) and not address.is_global and address not in SIX_TO_FOUR:
                assert any(address in n for n, word in NETWORKS.items() if word == "yes")


@pytest.mark.parametrize(
    "host",
    [
        "[fec0::1]",
        "[64:ff9b:1::a9fe:a9fe]",
        "[::ffff:0:127.0.0.1]",
        "192.0.0.8",
        "[5f00::1]",
        "[3fff::1]",
        "192.88.99.1",
        "[100:0:0:1::1]",
    ],
)
def test_what_some_versions_of_python_take_for_global_is_local(host: str) -> None:
    """Python 3.10 all of these, 3.13 most."""
    assert is_local_host(host)
