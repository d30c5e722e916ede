"""Entries and authorities made from numbers."""

from __future__ import annotations

import random
from concurrent.futures import Future
from typing import Any

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.policy import Entry

NOW = 1_790_000_000.0
"""A moment of the tests' own, seconds since the epoch."""


def told(answer: Any) -> Any:
    """What a store says, now or in a while."""
    return answer.result(10) if isinstance(answer, Future) else answer


def authority(number: int = 0) -> Authority:
    """The authority of that number."""
    return Authority("https", f"host-{number}.example", 443)


def rules(number: int, *, seed: int = 0) -> bytes:
    """A robots.txt of a few hundred octets, different for each number."""
    rng = random.Random(seed * 1_000_003 + number)
    paths = ["/" + "".join(rng.choices("abcdefghij-/", k=rng.randint(3, 20))) for _ in range(12)]
    return b"User-agent: *\n" + b"".join(b"Disallow: %s\n" % path.encode() for path in paths)


def entry(number: int = 0, *, at: float = NOW, body: bytes | None = None) -> Entry:
    """A good copy, fetched at a moment."""
    return Entry(
        status=200,
        body=rules(number) if body is None else body,
        uri=f"https://host-{number}.example/robots.txt",
        fetched_at=at,
        expires_at=at + 86_400.0,
    )


def full_entry(number: int = 0, *, at: float = NOW) -> Entry:
    """An entry in which no field is what it is by default."""
    return Entry(
        status=301,
        body=b"User-agent: \xff\x00\r\nDisallow: /\n",
        uri="https://www.host.example/robots.txt?v=1",
        redirects=(f"https://{number}.example/robots.txt", "http://b.example/ü"),
        etag=b'W/"\xe9"',
        last_modified=b"Fri, 20 Nov 2026 08:00:00 GMT",
        fetched_at=at - 90_000.5,
        expires_at=at - 3_600.25,
        failing_since=at - 1_800.125,
        failed_at=at,
        failures=4_000_000_000 // 2,
        retry_at=at + 3_600.0,
        cause="status 503",
    )


def gone(*, at: float = NOW) -> Entry:
    """An authority that has no robots.txt."""
    return Entry(status=404, uri="", fetched_at=at, expires_at=at + 86_400.0)
