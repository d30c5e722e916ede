"""A crawl made from a seed: sites of all outcomes, and what is asked of them."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

from tests.crawl.harness import crawl
from tests.crawl.plugin import DEMANDING, obey
from tests.replies import Empty, Endless, Hang, Reply, Reset, ShortBody, redirect
from tests.site import Authority, Script, Site

_WORDS = ("a", "b", "private", "shop", "x.gif", "%7Eq", "search", "ä", "a%2Fb", "*", "$")
_AGENTS = ("*", "mybot", "otherbot")
_LIMIT = 512_000
_OTHER_LINES = {
    "Crawl-delay: 0.02": 1,
    "Crawl-delay: 90": 1.5,
    "Content-Usage: train-ai=n, search=y": 1,
    "Content-Usage: /a train-ai=n": 1,
    "Content-Signal: ai-train=yes": 1,
    "": 15,
}


def rules(rng: random.Random) -> bytes:
    """A robots.txt with a few groups."""
    lines = []
    for agent in rng.sample(_AGENTS, rng.randint(1, 3)):
        lines.append(f"User-agent: {agent}")
        for _ in range(rng.randint(0, 6)):
            pattern = "".join(f"/{rng.choice(_WORDS)}" for _ in range(rng.randint(1, 2)))
            lines.append(f"{rng.choice(['Allow', 'Disallow'])}: {pattern}")
        if rng.random() < 0.1:
            lines.append("Disallow: /")
        lines += rng.choices([*_OTHER_LINES], [*_OTHER_LINES.values()])
    end = rng.choice(["\n", "\r\n", "\r"])
    return rng.choice([b"", b"\xef\xbb\xbf"]) + end.join([*lines, ""]).encode()


def outcome(rng: random.Random, site: Site, depth: int = 0) -> Script:
    """What a site says about its robots.txt: anything that servers are seen to do."""
    text = rules(rng)
    copy, packed = Reply(200, text, {"ETag": '"a"'}), gzip.compress(text)
    framing = rng.choice(["length", "chunked", "close"])
    life = rng.choice([{}, {}, {"Cache-Control": "max-age=600"}, {"ETag": '"a"'}])
    table: list[tuple[float, Script]] = [
        (8, Reply(200, text, life, framing=framing)),
        (2, Reply(rng.choice([404, 410, 400]), text)),
        (1, Reply(rng.choice([401, 403]), text)),
        (2, Reply(rng.choice([500, 503, 429]), text, {"Retry-After": "60"})),
        (0.5, Reset()),
        (0.5, Empty()),
        (0.3, Hang()),
        (0.5, ShortBody(body=text)),
        (0.5, Reply(200, b"")),
        (0.3, Reply(200, text + b"#" * _LIMIT + b"\nUser-agent: *\nDisallow: /\n")),
        (0.2, Endless(body=text)),
        (1, Reply(200, text, gzip=True, framing=framing)),
        (0.5, Reply(200, packed)),
        (0.3, Reply(200, packed[:-9], {"Content-Encoding": "gzip"})),
        (0.5, Reply(rng.choice([204, 206, 304, 418, 599]), text)),
        (0.5, Reply(200, b"<html><body>Disallow: /</body></html>")),
        (1, [Reply(503), copy]),
        (1, [copy, Reply(503)]),
        (1, [copy, Reply(304)]),
        (1, [copy, Reply(200, rules(rng))]),
        (0.5, [copy, Reply(403)]),
    ]
    if depth < 7 and rng.random() < 0.1:
        target = site.authority(outcome(rng, site, depth + 1))
        place = target.url(rng.choice(["/robots.txt", "/robots.txt", "/elsewhere"]))
        to = rng.choices([place, "ftp://a.example/"], [9, 1])[0]
        return redirect(to, rng.choice([301, 302, 308]))
    return rng.choices([script for _, script in table], [weight for weight, _ in table])[0]


class RecordedCrawl:
    """Sites made from a seed, and the log and the archives of crawls of them."""

    def __init__(self, site: Site, folder: Path, seed: int, count: int):
        self.rng = random.Random(seed)
        self.sites: list[Authority] = [
            site.authority(outcome(self.rng, site)) if self.rng.random() < 0.97 else site.refusing()
            for _ in range(count)
        ]
        self.folder = folder
        self.log = folder / "decisions.jsonl"

    @property
    def archives(self) -> list[Path]:
        """The archives, which are closed."""
        return sorted(self.folder.glob("robots-*.warc.gz"))

    def settings(self, **more: Any) -> dict[str, Any]:
        """With a store, a log of everything, an archive, purposes and all that refuses."""
        return obey(
            **{
                "REP_DECISION_LOG": str(self.log),
                "REP_DECISIONS": "all",
                "REP_WARC": str(self.folder / "robots.warc.gz"),
                "REP_STORE": f"sqlite://{self.folder}/robots.db",
                "REP_TIMEOUT": 3,
                **DEMANDING,
                "ROBOTSTXT_USER_AGENT": "mybot",
                "CONCURRENT_REQUESTS": 32,
                "LOG_LEVEL": "INFO",
                **more,
            }
        )

    def plans(self, each: int) -> list[dict[str, Any]]:
        """Requests for every site, in any order; a few do not obey, or go by another name."""
        plans: list[dict[str, Any]] = []
        for one in self.sites:
            for _ in range(each):
                path = "".join(f"/{self.rng.choice(_WORDS)}" for _ in range(self.rng.randint(0, 3)))
                query = self.rng.choice(["", "", "?q=1", "#part"])
                metas = [{}, {"dont_obey_robotstxt": True}, {"robotstxt_user_agent": "otherbot"}]
                meta = self.rng.choices(metas, [20, 1, 3])[0]
                url = one.url((path or "/") + query)
                plans.append({"url": url, "meta": meta, "dont_filter": True})
        self.rng.shuffle(plans)
        return plans

    async def run(self, each: int = 3, timeout: float = 60, **more: Any) -> None:
        """Crawl once more, with the same store."""
        settings, plans = self.settings(**more), self.plans(each)
        assert (await crawl(settings=settings, plans=plans, timeout=timeout)).endings
