"""Lines of decision logs, made by hand: valid by the schema unless a test damages them."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 22, 8, tzinfo=timezone.utc)
CRAWL = "7c6cd3b8e1a94b0f9fd2a1f3f6f0b6aa"
SITE = "https://example.org"
REFUSED = {"allowed": False, "rule": "Disallow: /private", "line": 2, "reason": "rule"}


def at(seconds: float) -> str:
    """A time of the log, in seconds since its start."""
    when = START + timedelta(seconds=seconds)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1_000:03}Z"


def run(seconds: float = 0, **more: Any) -> dict[str, Any]:
    """The first line of a run; what is given and no field of it is a setting."""
    fields = ("crawl", "schema", "time", "versions", "agent", "overrides", "archive")
    chosen = {name: more.pop(name) for name in [*more] if name not in fields}
    return {
        "type": "run", "crawl": CRAWL, "schema": 1, "time": at(seconds),
        "versions": {"scrapy_rep": "1.0.0", "scrapy": "2.19.0", "python": "3.14.2"},
        "agent": ["mybot-news", "mybot"],
        "settings": {
            "profile": "rfc9309", "max_ttl": 86400.0, "access_denied": "allow", "max_size": 512000,
            "crawl_delay": True, "max_crawl_delay": 60.0, "preferences": "skip",
            "purposes": ["train-ai"], "decisions": "all", "log_urls": "full", **chosen,
        },
        "overrides": [], "archive": None, **more,
    }  # fmt: skip


def digest(number: int) -> str:
    """The digest of some robots.txt."""
    return f"sha256:{hashlib.sha256(str(number).encode()).hexdigest()}"


def decision(seconds: float = 1, authority: str | None = SITE, **more: Any) -> dict[str, Any]:
    """A decision; one that allows a request, unless told otherwise."""
    return {
        "type": "decision", "crawl": CRAWL, "authority": authority, "method": "GET",
        "requested": None, "agent": ["mybot-news", "mybot"], "outcome": "rules", "status": 200,
        "cause": None, "digest": digest(1), "record": None, "failure_record": None,
        "time": at(seconds), "age": 12.5, "delay": None, "url": f"{authority}/page",
        "allowed": True, "rule": None, "line": None, "group": "*", "reason": "no rule matches",
        "preferences": None, "override": None, "without": None, **more,
    }  # fmt: skip


def refusal(
    seconds: float = 1, authority: str | None = SITE, rule: str = "Disallow: /private", **more: Any
) -> dict[str, Any]:
    """A request that a rule refused."""
    said = {**REFUSED, "rule": rule, "url": f"{authority}/private/a"}
    return decision(seconds, authority, **{**said, **more})


def failure(seconds: float = 1, authority: str = SITE, cause: str = "timeout") -> dict[str, Any]:
    """A request that was refused as the robots.txt was unreachable."""
    said = {"allowed": False, "reason": "unreachable", "outcome": "unreachable", "cause": cause}
    return decision(seconds, authority, **said, group=None, status=None, digest=None)


def overridden(seconds: float = 1, authority: str = SITE, **more: Any) -> dict[str, Any]:
    """A request that an override allowed."""
    without = {**REFUSED, "group": "*"}
    override = (
        "allow, entry 1: our own site, ticket OPS-114 (crawl-team@example.org, until 2027-03-31)"
    )
    said = {"reason": "override", "override": override, "without": without}
    return decision(seconds, authority, **{**said, **more})


def lines(*values: dict[str, Any]) -> bytes:
    """The octets of a log."""
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def write(path: Path, *values: dict[str, Any]) -> Path:
    """A log in a file."""
    path.write_bytes(lines(*values))
    return path


def crawl() -> list[dict[str, Any]]:
    """Three hours of a crawl in which everything happens that a report has a section for."""
    names = [
        *("shop.example.com", "news.example.net", "archive.example.org", "library.example.edu"),
        "a-rather-long-name-of-a-host.of-some-department.example.gov",
        *("intranet.example.org:8443", "photos.example.com", "forum.example.net"),
        *("docs.example.org", "weather.example.com", "maps.example.net", "tiny.example.org"),
    ]
    rules = ["Disallow: /search", "Disallow: /*?sort=", "Disallow: /private/", "Disallow: /cart"]
    found = [run()]
    for number in range(2_400):
        index = number * 7 % 97 % len(names)
        site, seconds = f"https://{names[index]}", number * 4.5
        if index == 3 and 3_000 < seconds < 5_200:
            found.append(failure(seconds, site, "timeout" if number % 3 else "status 503"))
        elif index == 7 and (1_000 < seconds < 2_000 or 8_000 < seconds < 8_600):
            found.append(failure(seconds, site, "dns"))
        elif number % 11 < 5 - index // 3:
            said = rules[number % len(rules)]
            changed = digest(2) if index == 1 and seconds > 6_000 else digest(10 + index)
            url = f"{site}{said.removeprefix('Disallow: ').replace('*', 'list')}name?page={number}"
            more = {"digest": changed, "line": 2 + number % 4, "url": url}
            found.append(refusal(seconds, site, said, **more))
        elif index == 5 and number % 2:
            found.append(overridden(seconds, site, digest=digest(15)))
        elif index == 6:
            said = {"train-ai": "disallowed", "search": "allowed"}
            found.append(decision(seconds, site, preferences=said, digest=digest(16)))
        else:
            changed = digest(2) if index == 1 and seconds > 6_000 else digest(10 + index)
            delay = {2: 2.0, 8: 10.0, 9: 0.5}.get(index)
            found.append(decision(seconds, site, digest=changed, delay=delay))
    free = {"reason": "dont_obey_robotstxt", "override": "without a name", "outcome": "unknown"}
    found.append(decision(7_000, "https://tiny.example.org", digest=None, **free))
    return found
