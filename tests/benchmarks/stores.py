"""What a store costs: microseconds of a put and a get, bytes of an entry, side by side.

``python -m tests.benchmarks.stores [entries]`` starts a redis-server of its own, and needs
redis-py. The robots.txt files are made from a seed, as large as real ones are: a median of 350
bytes, a 90th percentile of 2.6 KB.
"""

from __future__ import annotations

import math
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores.base import Store
from scrapy_rep.stores.codec import decode_parts, encode_parts
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.sqlite import SqliteStore
from tests.benchmarks.running import argument
from tests.stores.samples import told
from tests.stores.servers import running_server

WORDS = re.findall(
    r"\w+",
    "admin account basket blog cart catalog category checkout comments contact css download feed"
    " files images includes js login media modules news order page pdf print private products"
    " profile register review scripts search shop static tag templates tmp user wishlist",
)
AGENTS = ("*", "*", "*", "Googlebot", "bingbot", "AhrefsBot", "GPTBot", "MJ12bot")


COLUMNS = ("put", "written", "get", "get p99", "miss", "bytes")


def robots_txt(rng: random.Random, host: str) -> bytes:
    """A file of a size that real ones have, of words that real ones use."""
    size = int(math.exp(rng.gauss(math.log(350), 1.55)))
    lines: list[str] = []
    length = 0
    while length < min(size, 200_000):
        kind = rng.random()
        if not lines or kind < 0.06:
            line = f"User-agent: {rng.choice(AGENTS)}"
        elif kind < 0.12:
            line = f"Sitemap: https://{host}/sitemap-{rng.choice(WORDS)}.xml"
        else:
            path = "/".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
            number = rng.choice(("", "", "", str(rng.randint(1, 9_999))))
            line = f"{rng.choice(('Disallow', 'Disallow', 'Allow'))}: /{path}{number}"
        lines.append(line)
        length += len(line) + 1
    return ("\n".join(lines) + "\n").encode()


def samples(count: int) -> list[tuple[Authority, Entry]]:
    """Entries of so many authorities."""
    rng, now = random.Random(9309), time.time()
    made = []
    for number in range(count):
        host = f"www.{rng.choice(WORDS)}-{rng.choice(WORDS)}{number}.example"
        authority = Authority("https", host, 443)
        body = robots_txt(rng, host) if rng.random() < 0.75 else None
        answer = Answer(
            status=404 if body is None else 200,
            body=body,
            uri=authority.robots_uri,
            etag=b'"%x"' % rng.getrandbits(48) if body and rng.random() < 0.5 else None,
            fetched_at=now - rng.uniform(0, 86_400),
            lifetime=rng.uniform(60, 86_400) if rng.random() < 0.5 else None,
        )
        made.append((authority, Entry(answer)))
    return made


def times(step: Callable[[Any], Any], over: list[Any]) -> list[float]:
    """The microseconds of each step."""
    taken = []
    for item in over:
        start = time.perf_counter()
        step(item)
        taken.append((time.perf_counter() - start) * 1e6)
    return taken


def measure(
    name: str, store: Store, kept: list[tuple[Authority, Entry]], size: Callable[[], float]
) -> None:
    """Print one row; the store is closed."""
    empty = size()
    start = time.perf_counter()
    puts: list[float] = []
    for first in range(0, len(kept), 2_000):  # no more than may wait
        puts += times(lambda pair: store.put(*pair), kept[first : first + 2_000])
        store.flush()
    written = (time.perf_counter() - start) / len(kept) * 1e6
    order = random.Random(1).sample(kept, min(len(kept), 5_000))
    for authority, entry in order[:500]:
        assert told(store.get(authority)) == entry
    gets = sorted(times(lambda pair: told(store.get(pair[0])), order))
    misses = times(lambda pair: told(store.get(pair[0]._replace(port=1))), order)
    octets = (size() - empty) / len(kept)
    store.close()
    put, get, miss = map(statistics.median, (puts, gets, misses))
    figures = (put, written, get, gets[int(0.99 * len(gets))], miss, octets)
    print(f"{name:22}" + "".join(f"{figure:9.1f}" for figure in figures))


def measure_all(kept: list[tuple[Authority, Entry]], directory: Path) -> None:
    """Print the rows of all stores."""
    path = directory / "robots.db"
    pages = lambda: path.stat().st_size if path.exists() else 0  # noqa: E731
    measure("SQLite", SqliteStore(path, limit=1 << 40), kept, pages)
    with running_server() as server, redis.Redis(port=server.port) as client:
        used = lambda: float(client.info("memory")["used_memory"])  # noqa: E731
        uris = {"Redis, TCP": server.uri, "Redis, Unix socket": f"unix://{server.socket}"}
        for name, uri in uris.items():
            client.flushall()
            measure(name, RedisStore(uri), kept, used)


def main(count: int) -> None:
    """Print the table."""
    kept = samples(count)
    answers = [entry.answer for _, entry in kept if entry.answer is not None]
    bodies = [len(answer.body) for answer in answers if answer.body is not None]
    codec = times(lambda pair: encode_parts(*pair), kept[:5_000])
    encoded = [(authority, encode_parts(authority, entry)) for authority, entry in kept[:5_000]]
    sizes = [sum(map(len, parts.values())) for _, parts in encoded]
    print(
        f"{count} entries; bodies: mean {statistics.mean(bodies):.0f}, median"
        f" {statistics.median(bodies):.0f} bytes; encoded: mean"
        f" {statistics.mean(sizes):.0f} bytes, encode"
        f" {statistics.mean(codec):.1f} us, decode"
        f" {statistics.mean(times(lambda pair: decode_parts(*pair), encoded)):.1f} us"
    )
    print(f"{'':22}" + "".join(f"{name:>9}" for name in COLUMNS))
    print("(us, medians; written: mean of put and flush; bytes per entry)")
    with tempfile.TemporaryDirectory() as directory:
        measure_all(kept, Path(directory))


if __name__ == "__main__":
    main(argument(20_000))
