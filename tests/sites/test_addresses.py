"""Which hosts are on the public Internet, however they are spelled (RFC 9309 section 3)."""

from __future__ import annotations

import ipaddress
import random

import pytest

from scrapy_rep.sites.redirects import is_global, is_local_host, literal_address
from tests.rows import rows
from tests.spellings import ADDRESSES, local_hosts, of_four

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


BEYOND = "224.0.0.0/4 ff00::/8 fec0::/10 ::/96 ::ffff:0:0:0/96 4000::/2 8000::/1 200::/7"
"""What is not for everybody by other documents: multicast, site-local, translated, reserved."""

SPECIAL = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.2.0/24"
    " 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32"
    " 2001:2::/48 2001:db8::/32 fc00::/7 fe80::/10"
)
"""Networks that IANA's special-purpose registries do not call globally reachable (RFC 6890)."""


def places(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> set[int]:
    """The first and last addresses of a network, and a hundred in it."""
    chance = random.Random(str(network))
    first, size = int(network[0]), network.num_addresses
    inside = {first + chance.randrange(size) for _ in range(100)}
    return {first, first + min(1, size - 1), first + size - 1, *inside}


@pytest.mark.parametrize("text", [*SPECIAL.split(), *BEYOND.split()])
def test_what_is_no_unicast_of_the_internet_is_not_global(text: str) -> None:
    """RFC 6890, RFC 4291, RFC 3879, RFC 2765, RFC 5771."""
    network = ipaddress.ip_network(text)
    for place in places(network):
        assert not is_global(network[place - int(network[0])])


@pytest.mark.parametrize("prefix", ["::ffff:", "64:ff9b::", "2002:{}::", "teredo"])
def test_an_address_that_contains_another_is_judged_by_it(prefix: str) -> None:
    """Each of the IPv4 networks, wrapped in IPv6, and the public addresses beside them."""
    for network in (ipaddress.ip_network(text) for text in SPECIAL.split() if ":" not in text):
        for place in places(network) | {int(ipaddress.IPv4Address("8.8.8.8"))}:
            inner = ipaddress.IPv4Address(place)
            if prefix == "2002:{}::":
                address = ipaddress.IPv6Address((0x2002 << 112) | (place << 80) | 1)
            elif prefix == "teredo":
                address = ipaddress.IPv6Address((0x20010000 << 96) | (place ^ 0xFFFFFFFF))
            else:
                address = ipaddress.IPv6Address(prefix + str(inner))
            assert is_global(address) is is_global(inner), address
