"""Entries and authorities made from numbers."""

from __future__ import annotations

import random
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.sqlite import SqliteStore

NOW = 1_790_000_000.0
"""A moment of the tests' own, seconds since the epoch."""


def make_file(path: Path) -> None:
    """An empty store: the first call makes its file."""
    with closing(SqliteStore(path, clock=lambda: NOW)) as store:
        store.flush()


def make_damaged(path: Path, filling: bytes = b"x") -> bytes:
    """A store of ours that SQLite cannot read; its octets."""
    make_file(path)
    damaged = path.read_bytes()[:200] + filling * 4_000
    path.write_bytes(damaged)
    return damaged


def held(path: Path, *numbers: int) -> list[Entry | None]:
    """What a SQLite file has of the authorities of these numbers."""
    with closing(SqliteStore(path, clock=lambda: NOW)) as store:
        return [told(store.get(authority(number))) for number in numbers]


def keep(store: Store, kept: Entry, number: int = 0, crawler: str = "") -> None:
    """Put an entry of the authority of that number, and have all written that was put."""
    store.put(authority(number), kept, crawler)
    store.flush()


def listed(store: Store) -> dict[Authority, Entry]:
    """What every crawler may read in a store, by authority; each comes once."""
    stored = list(store.scan())
    entries = {kept.authority: kept.entry for kept in stored}
    assert len(entries) == len(stored)
    return entries


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
    uri = f"https://host-{number}.example/robots.txt"
    body = rules(number) if body is None else body
    return Entry(Answer(status=200, body=body, uri=uri, fetched_at=at, lifetime=86_400.0))


def full_entry(number: int = 0, *, at: float = NOW) -> Entry:
    """An answer that has all that the answer of a site can have, and a failure of the site."""
    answer = Answer(
        status=301,
        body=b"User-agent: \xff\x00\r\nDisallow: /\n",
        uri="https://www.host.example/robots.txt?v=1",
        redirects=(f"https://{number}.example/robots.txt", "http://b.example/ü"),
        etag=b'W/"\xe9"',
        last_modified=b"Fri, 20 Nov 2026 08:00:00 GMT",
        fetched_at=at - 90_000.5,
        lifetime=86_400.25,
        cut_at=512_000,
        exchange="urn:uuid:12345678-1234-4234-8234-123456789012",
    )
    return Entry(answer, failure=failure(at=at).failure)


def failure(*, at: float = NOW, count: int = 2_000_000_000) -> Entry:
    """An authority of which nothing is known but that fetches fail."""
    return Entry(failure=Failure(at - 1_800.125, at, count, 3_600.0, "status 503", "urn:uuid:1-é"))


def gone(*, at: float = NOW) -> Entry:
    """An authority that has no robots.txt."""
    return Entry(Answer(status=404, uri="", fetched_at=at))


def refused(*, at: float = NOW) -> Entry:
    """An authority that refused this crawler its robots.txt."""
    return Entry(refusal=Answer(status=403, uri="", fetched_at=at))
