"""Hosts of URLs that are not on the public Internet, in every way they can be written."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

# One of each range that is not for everybody, and the one that clouds keep their secrets at.
ADDRESSES = [
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),
    *("100.64.0.1", "169.254.169.254", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
]
ADDRESSES_6 = [
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]"),
    *("[fe80::1]", "[fe80::1%25lo]", "[FE80::ABCD]", "[fc00::1]", "[fd12:3456::1]"),
    *("[ff02::1]", "[2001:db8::1]"),
]
NAMES = [
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "a.b.localhost."),
    "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",  # full width
    "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",  # in circles
]


def of_four(address: str) -> Iterator[str]:
    """What resolvers of C libraries and browsers take for that IPv4 address."""
    a, b, c, d = (int(part) for part in address.split("."))
    number = int(ipaddress.IPv4Address(address))
    yield address
    yield address + "."
    yield str(number)
    yield hex(number)
    yield hex(number).upper().replace("X", "x")
    yield f"0{number:o}"
    yield f"{a}.{(b << 16) + (c << 8) + d}"
    yield f"{a}.{b}.{(c << 8) + d}"
    yield f"{a:#x}.{b:#x}.{c:#x}.{d:#x}"
    yield f"0{a:o}.0{b:o}.0{c:o}.0{d:o}"
    yield f"{a:#x}.{b}.0{c:o}.{d}"
    yield address.translate({ord(digit): 0xFF10 + int(digit) for digit in "0123456789"})
    yield address.replace(".", "\u3002")  # ideographic full stop
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]"


def local_hosts() -> list[str]:
    """All of them, almost two hundred."""
    fours = [spelling for address in ADDRESSES for spelling in of_four(address)]
    return list(dict.fromkeys([*fours, *ADDRESSES_6, *NAMES]))
