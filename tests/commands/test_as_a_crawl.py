"""The command answers as a crawl would: random sites, URLs and settings, crawled and asked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import options, robots, told
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import obey
from tests.replies import Reply, redirect
from tests.rows import deep
from tests.site import Authority, Site

PIECES = (
    *("/", "/a", "/b", "/private", "*", "$", "%7E", "~", "?q=1", "/ä", "%2F", ".gif", "'", "//"),
)
LINES = (
    *("Crawl-delay: 0.01", "Crawl-delay: 900", "", "Sitemap: https://e.org/"),
    *("Content-Usage: train-ai=n", "Content-Usage: /a train-ai=n", "Content-Signal: ai-train=no"),
)
SETTINGS: dict[str, tuple[object, ...]] = {
    "REP_PROFILE": ("rfc9309", "google", "1996", "1994", "kollar"),
    "REP_ACCESS_DENIED": ("allow", "disallow"),
    "REP_PREFERENCES": ("report", "skip"),
    "REP_PURPOSES": ("train-ai",),
    "REP_OVER_MAX_CRAWL_DELAY": ("cap", "forbid"),
    "ROBOTSTXT_USER_AGENT": ("mybot", "other", "foo"),
}


def some(rnd: random.Random, most: int) -> str:
    """The path of a rule or of a URL."""
    return "".join(rnd.choices(PIECES, k=rnd.randrange(most)))


def text(rnd: random.Random) -> bytes:
    """A robots.txt with a few groups; long delays only where nothing waits for them."""
    lines = []
    for agent in rnd.sample(("*", "mybot", "foo", "FOO/1.0"), rnd.randint(1, 3)):
        lines.append(f"User-agent: {agent}")
        lines += [
            f"{rnd.choice(('Allow', 'Disallow', 'disallow'))}: /{some(rnd, 4)}"
            for _ in range(rnd.randrange(5))
        ]
        lines += rnd.choices(LINES, k=rnd.randrange(2))
    return rnd.choice(("\n", "\r\n")).join([*lines, ""]).encode()


def answer(rnd: random.Random, site: Site) -> Any:
    """What a site says about its robots.txt."""
    kind = rnd.choices(
        ("rules", "redirect", 404, 403, 503, "html", "gzip"), (10, 2, 1, 1, 1, 1, 1)
    )[0]
    if kind == "redirect":
        return redirect(
            site.authority(Reply(200, text(rnd))).url(rnd.choice(("/robots.txt", "/x")))
        )
    if kind == "html":
        return Reply(200, b"<html>Disallow: /</html>")
    return Reply(kind if isinstance(kind, int) else 200, text(rnd), gzip=kind == "gzip")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(deep(3, 50)))
def test_check_and_filter_say_what_a_crawl_does(site: Site, tmp_path: Path, seed: int) -> None:
    """Each URL is fetched, forbidden, or has no rules; the command says which of them."""
    rnd = random.Random(seed)
    sites: list[Authority] = [site.authority(answer(rnd, site)) for _ in range(6)]
    chosen = {name: rnd.choice(values) for name, values in SETTINGS.items()}
    chosen |= {"REP_RETRY_DELAYS": [], "REP_MAX_CRAWL_DELAY": 1 if rnd.random() < 0.2 else 60}
    if chosen["REP_OVER_MAX_CRAWL_DELAY"] == "cap":
        chosen["REP_CRAWL_DELAY"] = False  # nothing is to wait for a minute
    urls = [*dict.fromkeys(one.url("/" + some(rnd, 4)) for one in sites for _ in range(6))]
    plans = [{"url": url, "dont_filter": True} for url in urls]
    crawled = crawl_in_child(settings=obey(**chosen), plans=plans)
    words = options(chosen)
    kinds = {"allowed": "downloaded", "disallowed": "forbidden", "unreachable": "unreachable"}
    said = {row["url"]: kinds[row["verdict"]] for row in told("check", *words, *urls)}
    assert said == {url: crawled.kind(url) for url in urls}, chosen
    ended = robots("filter", *words, "--rejected", tmp_path / "rejected", given="\n".join(urls))
    assert ended.out.split("\n")[:-1] == [url for url in urls if said[url] == "downloaded"]
    rejected = (tmp_path / "rejected").read_text().splitlines()
    assert len(rejected) == sum(kind != "downloaded" for kind in said.values())
