"""What the fuzzer calls: any octets as a robots.txt, a crawler and a URL.

python tests/hostile/fuzz_target.py -max_total_time=60
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports():
    from scrapy_rep import RobotsTxt
    from scrapy_rep.robotstxt.profiles import PROFILES
    from tests.hostile import oracle

AGENTS = ("mybot", "*", "a", "Mozilla/5.0 (compatible; mybot/1.0)")


PATH_FOLLOWS = b"\0\0"


def one(data: bytes) -> None:
    """Nothing is raised, all ways to the answer agree, and no property fails."""
    body, _, octets = data.rpartition(PATH_FOLLOWS)
    octets = b"/" + octets.partition(b"#")[0]
    agent = AGENTS[len(data) % len(AGENTS)]
    url = f"https://e.org{octets.decode('utf-8', 'surrogateescape')}"
    robots = RobotsTxt.parse(body)
    answer = robots.allowed(url, agent)
    assert robots.verdict(url, agent).allowed is answer
    for _ in range(32):
        assert robots.allowed(url, agent) is answer
    if agent == "mybot" and body[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        assert oracle.allowed(body, agent, _as_sent(octets)) is answer
    for name in PROFILES:
        other = RobotsTxt.parse(body, profile=name)
        assert other.verdict(url, agent).allowed is other.allowed(url, agent)
        assert (other.crawl_delay(agent) or 0) >= 0
    robots.sitemaps, robots.host, robots.size  # noqa: B018


def _as_sent(octets: bytes) -> bytes:
    """Return what clients send: no tabs and line ends, and a slash for each backslash of a path."""
    path, mark, query = octets.translate(None, b"\t\n\r").partition(b"?")
    return path.replace(b"\\", b"/") + mark + query


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
