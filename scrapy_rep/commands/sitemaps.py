"""``scrapy robots sitemaps``: which sitemaps does the robots.txt of a site name?"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.commands.crawl import Project, lack_of_rules, look_up
from scrapy_rep.commands.output import EndingError, Status, note, say, say_json, shown_url
from scrapy_rep.commands.sources import governing
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import UNREACHABLE
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.sites.redirects import RefusedError, resolved


def run(project: Project, options: Namespace) -> Status:
    """Print the sitemaps of each site once; say on stderr which sites name none."""
    sites: dict[Authority, str] = {}
    for url in options.urls:
        authority = governing(url)
        if authority is None:
            raise EndingError(f"{shown_url(url)}: no robots.txt governs this scheme")
        sites.setdefault(authority, url)
    worst = Status.CLEAN
    rows: list[dict[str, Any]] = []
    for authority, one in zip(sites, look_up(project, [*sites.values()]), strict=True):
        named = [] if one.known is None else sitemaps_of(authority, one.known)
        lack = _lack(one.known)
        rows.append({"site": str(authority), "sitemaps": named, "lack_of_rules": lack})
        if not named:
            note("sitemaps", f"{authority}: {lack or 'the robots.txt names no sitemap'}")
            is_known = one.known is not None and not one.known.unreachable
            worst = max(worst, Status.FOUND if is_known else Status.UNKNOWN)
    if options.format == "json":
        say_json("sitemaps", rows)
    else:
        for url in dict.fromkeys(url for row in rows for url in row["sitemaps"]):
            say(escaped(url))
    return worst


def _lack(known: CachedRules | None) -> str | None:
    """Return why there are no rules, None if there are."""
    if known is None:
        return UNREACHABLE
    return lack_of_rules(known) if known.robots is None else None


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
            if url := _absolute(base, value):
                named[url] = None
            else:
                note("sitemaps", f"{authority}: not the URL of a sitemap: {shown_url(value)}")
    return [*named]


def _absolute(base: str, value: str) -> str:
    """Return the URL of a sitemap, "" if it is not that of an http or https resource."""
    try:
        return requested_url(resolved(base, value))
    except (RefusedError, ValueError):
        return ""
