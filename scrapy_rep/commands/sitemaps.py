"""``scrapy robots sitemaps``: which sitemaps does the robots.txt of a site name?"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.commands.crawl import Project, known_of, lack_of_rules
from scrapy_rep.commands.output import EndingError, Status, note, say, say_json
from scrapy_rep.commands.sources import absolute, governing
from scrapy_rep.robotstxt.printable import escaped, without_login
from scrapy_rep.sites.cached_rules import CachedRules


def run(project: Project, options: Namespace) -> Status:
    """Print the sitemaps of each site once; say on stderr which sites name none."""
    sites: dict[Authority, str] = {}
    for url in options.urls:
        authority = governing(url)
        if authority is None:
            raise EndingError(f"{without_login(url)}: no robots.txt governs this scheme")
        sites.setdefault(authority, url)
    worst = Status.CLEAN
    rows: list[dict[str, Any]] = []
    for authority, known in zip(sites, known_of(project, [*sites.values()]), strict=True):
        named = sitemaps_of(authority, known)
        lack = None if known.robots is not None else lack_of_rules(known)
        rows.append({"site": str(authority), "sitemaps": named, "lack_of_rules": lack})
        if not named:
            note("sitemaps", f"{authority}: {lack or 'the robots.txt names no sitemap'}")
            worst = max(worst, Status.UNKNOWN if known.unreachable else Status.FOUND)
    if options.format == "json":
        say_json("sitemaps", rows)
    else:
        for url in dict.fromkeys(url for row in rows for url in row["sitemaps"]):
            say(escaped(url))
    return worst


def sitemaps_of(authority: Authority, known: CachedRules) -> list[str]:
    """Return the sitemaps that a robots.txt names, as a request for each would have its URL.

    One that is not absolute is relative to the robots.txt, after redirects. What is not an http or
    https URL is left out.
    """
    named: dict[str, None] = {}
    if known.robots is not None and known.answer is not None:
        if known.answer.cut_at is not None:
            limit = f"{known.answer.cut_at:,} bytes"
            note("sitemaps", f"{authority}: only the first {limit} of its robots.txt were read")
        base = known.answer.uri or authority.robots_uri
        for value in known.robots.sitemaps:
            if url := absolute(base, value):
                named[url] = None
            else:
                note("sitemaps", f"{authority}: not the URL of a sitemap: {without_login(value)}")
    return [*named]
