"""Which hosts are on the public Internet, however they are spelled (RFC 9309 section 3)."""

from __future__ import annotations

import ipaddress

import pytest

from scrapy_rep.addresses import is_global, is_local_host, literal_address
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


@pytest.mark.parametrize("host", local_hosts())
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
