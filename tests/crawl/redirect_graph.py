"""Twenty authorities that redirect to each other at random, and what follows for each alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from scrapy_rep.access.entry import Answer
from tests.crawl.result import Result
from tests.proxy import Proxy
from tests.replies import Reply, redirect

SIZE = 20
HOPS = 5
PATHS = ("/robots.txt", "/r0", "/r1")


@dataclass(frozen=True)
class Learnt:
    """What is kept of an authority, its times left out."""

    status: int
    body: bytes | None
    uri: str
    redirects: tuple[str, ...]
    failing: bool


def known(result: Result) -> dict[str, Learnt]:
    """What a crawl knew in the end, by origin."""
    return {
        str(authority): Learnt(
            answer.status,
            answer.body,
            answer.uri,
            answer.redirects,
            known.failure is not None,
        )
        for authority, known in result.gate._parts.cache.entries()
        for answer in [known.answer or Answer()]
    }


class Graph:
    """The authorities behind a proxy, each with three paths that say something or lead on."""

    def __init__(self, proxy: Proxy, chance: random.Random) -> None:
        self._proxy = proxy
        self._chance = chance
        scheme = {0: "https"}
        self.origins = [f"{scheme.get(n % 10, 'http')}://a{n}.example" for n in range(SIZE)]
        self._replies = {
            origin + path: self._reply(origin, path) for origin in self.origins for path in PATHS
        }
        for origin in self.origins:
            table = {path: self._replies[origin + path] for path in PATHS}
            proxy.authority(origin, table["/robots.txt"], table)

    def plans(self, origins: list[str]) -> list[dict[str, Any]]:
        """A page of each."""
        return [{"url": f"{o}/page", "meta": {"proxy": self._proxy.url}} for o in origins]

    def expected(self, origin: str) -> Learnt:
        """What RFC 9309 section 2.3.1 makes of it."""
        uri, trail = f"{origin}/robots.txt", []
        while True:
            reply = self._replies[uri]
            if reply.status == 200:
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                return Learnt(200, body, uri, tuple(trail), failing=False)
            if reply.status >= 500:
                return Learnt(0, None, "", (), failing=True)
            location = dict(reply.headers).get("Location")
            if location is None or len(trail) == HOPS:
                return Learnt(reply.status, None, uri, tuple(trail), failing=False)
            if not location.startswith(("http", "/")):
                return Learnt(0, None, "", (), failing=True)
            uri = urljoin(uri, location)
            trail.append(uri)

    def _reply(self, origin: str, path: str) -> Reply:
        kind = self._chance.choices(
            ["rules", "elsewhere", "here", "none", "down", "broken"], [30, 40, 10, 10, 6, 4]
        )[0]
        if kind == "elsewhere":
            target = self._chance.choice(self.origins) + self._chance.choice(PATHS)
            return redirect(target, self._chance.choice([301, 302, 303, 307, 308]))
        if kind == "here":
            return redirect(self._chance.choice(PATHS))
        if kind == "broken":
            return redirect(self._chance.choice(["ftp://a.example/", "data:,x", "file:///x"]))
        if kind == "none":
            return Reply(self._chance.choice([400, 401, 404, 410]))
        if kind == "down":
            return Reply(self._chance.choice([500, 503]))
        return Reply(200, f"User-agent: *\nDisallow: /of/{origin}{path}\n")
