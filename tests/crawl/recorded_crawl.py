"""A crawl made from a seed: sites of all outcomes, and what is asked of them."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

from tests.crawl.harness import crawl
from tests.crawl.plugin import obey
from tests.replies import Empty, Endless, Hang, Reply, Reset, ShortBody, redirect
from tests.site import Authority, Site

_WORDS = ("a", "b", "private", "shop", "x.gif", "%7Eq", "search", "ä", "a%2Fb", "*", "$")
_AGENTS = ("*", "mybot", "otherbot")
_LIMIT = 512_000


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
        lines += rng.choices(
            [
                "Crawl-delay: 0.02",
                "Crawl-delay: 90",
                "Content-Usage: train-ai=n, search=y",
                "Content-Usage: /a train-ai=n",
                "Content-Signal: ai-train=yes",
                "",
            ],
            [1, 1.5, 1, 1, 1, 15],
        )
    end = rng.choice(["\n", "\r\n", "\r"])
    return rng.choice([b"", b"\xef\xbb\xbf"]) + end.join([*lines, ""]).encode()


def outcome(rng: random.Random, site: Site, depth: int = 0) -> Any:
    """What a site says about its robots.txt: anything that servers are seen to do."""
    text = rules(rng)
    kinds: dict[str, float] = {
        "rules": 8, "gone": 2, "denied": 1, "busy": 2, "redirect": 3, "reset": 0.5, "empty": 0.5,
        "hang": 0.3, "short": 0.5, "blank": 0.5, "large": 0.3, "endless": 0.2, "gzip": 1,
        "binary": 0.5, "broken gzip": 0.3, "odd": 0.5, "first busy": 1, "html": 0.5,
        "later down": 1, "later the same": 1, "later other": 1, "later denied": 0.5,
    }  # fmt: skip
    kind = rng.choices([*kinds], [*kinds.values()])[0]
    if kind == "redirect" and depth < 7:
        target = site.authority(outcome(rng, site, depth + 1))
        place = rng.choice(["/robots.txt", "/robots.txt", "/elsewhere"])
        if rng.random() < 0.1:
            place = "ftp://a.example/"
        return redirect(place if "://" in place else target.url(place), rng.choice([301, 302, 308]))
    copy = Reply(200, text, {"ETag": '"a"'})
    later: dict[str, list[Reply]] = {
        "first busy": [Reply(503), copy],
        "later down": [copy, Reply(503)],
        "later the same": [copy, Reply(304)],
        "later other": [copy, Reply(200, rules(rng))],
        "later denied": [copy, Reply(403)],
    }
    if kind in later:
        return later[kind]
    framing = rng.choice(["length", "chunked", "close"])
    replies: dict[str, Reply] = {
        "gone": Reply(rng.choice([404, 410, 400]), text),
        "denied": Reply(rng.choice([401, 403]), text),
        "busy": Reply(rng.choice([500, 503, 429]), text, {"Retry-After": "60"}),
        "reset": Reset(),
        "empty": Empty(),
        "hang": Hang(),
        "short": ShortBody(body=text),
        "blank": Reply(200, b""),
        "large": Reply(200, text + b"#" * _LIMIT + b"\nUser-agent: *\nDisallow: /\n"),
        "endless": Endless(body=text),
        "gzip": Reply(200, text, gzip=True, framing=framing),
        "binary": Reply(200, gzip.compress(text)),
        "broken gzip": Reply(200, gzip.compress(text)[:-9], {"Content-Encoding": "gzip"}),
        "odd": Reply(rng.choice([204, 206, 304, 418, 599]), text),
        "html": Reply(200, b"<html><body>Disallow: /</body></html>"),
    }
    life = rng.choice([{}, {}, {"Cache-Control": "max-age=600"}, {"ETag": '"a"'}])
    return replies.get(kind, Reply(200, text, life, framing=framing))


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
                "REP_PREFERENCES": "skip",
                "REP_PURPOSES": ["train-ai"],
                "REP_OVER_MAX_CRAWL_DELAY": "forbid",
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
                meta: dict[str, Any] = self.rng.choices(
                    [{}, {"dont_obey_robotstxt": True}, {"robotstxt_user_agent": "otherbot"}],
                    [20, 1, 3],
                )[0]
                url = one.url((path or "/") + query)
                plans.append({"url": url, "meta": meta, "dont_filter": True})
        self.rng.shuffle(plans)
        return plans

    async def run(self, each: int = 3, timeout: float = 60, **more: Any) -> None:
        """Crawl once more, with the same store."""
        result = await crawl(
            settings=self.settings(**more), plans=self.plans(each), timeout=timeout
        )
        assert result.endings
