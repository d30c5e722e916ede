"""Which hosts are on the public Internet, however they are spelled (RFC 9309 section 3)."""

from __future__ import annotations

import ipaddress

import pytest

from scrapy_rep.access.authority import authority_of
from scrapy_rep.sites.redirects import is_global, is_local_host, literal_address
from tests.rows import rows
from tests.spellings import local_hosts

PUBLIC = [
    *("example.org", "8.8.8.8", "134744072", "0x08080808", "[2606:4700:4700::1111]"),
    *("[::ffff:8.8.8.8]", "localhost.example.org", "notlocalhost", "127.0.0.1.example.org"),
    *("dead.beef.example", "xn--bcher-kva.example", "[64:ff9b::8.8.8.8]"),
]


def is_local(host: str) -> bool:
    """Whether a URL with that host leads to a place of ours."""
    authority = authority_of(f"http://{host}/")
    assert authority is not None
    return is_local_host(authority.host)


@rows("host", local_hosts())
def test_a_host_that_is_not_public_is_known_by_its_spelling(host: str) -> None:
    """Dotted, short, octal, hexadecimal, in other digits, mapped to IPv6."""
    assert is_local(host)


@rows("host", PUBLIC)
def test_a_public_host_is_not_taken_for_a_local_one(host: str) -> None:
    """A redirect to it may be followed."""
    assert not is_local(host)


@pytest.mark.parametrize("host", ["", "example.org", "1.2.3.4.5", "0x", "08.8.8.8.8", "256.1.1.1"])
def test_a_name_is_no_address(host: str) -> None:
    """What no resolver takes for an address is looked up as a name."""
    assert literal_address(host) is None


SPECIAL = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.2.0/24"
    " 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    " 2001:2::/48 2001:db8::/32 fc00::/7 fe80::/10 ff00::/8 ::ffff:10.0.0.0/104"
    " 64:ff9b::10.0.0.0/104 64:ff9b::127.0.0.0/104"
)
"""Networks that are not for everybody: IANA's special-purpose ones (RFC 6890), and multicast."""


@rows("text", SPECIAL.split())
def test_what_is_no_unicast_of_the_internet_is_not_global(text: str) -> None:
    """The first address of each network, and the last."""
    network = ipaddress.ip_network(text)
    assert not is_global(network[0])
    assert not is_global(network[-1])
