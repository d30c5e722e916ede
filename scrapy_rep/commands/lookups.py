"""Looks up authorities as a crawl of the project does, and fetches what it does not know."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_rep.access.policy import Decision
from scrapy_rep.commands.crawling import run_in_crawl
from scrapy_rep.commands.endings import EndingError, Status
from scrapy_rep.commands.sources import NOTHING_ALLOWED, is_url

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.explain import LookUp


async def look_up_all(
    middleware: RepDownloaderMiddleware, urls: Sequence[str], agent: Sequence[str] | None
) -> list[LookUp]:
    """Return what is known of some URLs, all asked for at once; raise ``ValueError``."""
    asked: list[Deferred[LookUp]] = [
        deferred_from_coro(middleware.look_up(url, agent)) for url in urls
    ]
    return [await maybe_deferred_to_future(one) for one in asked]


def fetched(
    command: RobotsCommand, options: Namespace, sources: Sequence[str]
) -> dict[str, CachedRules]:
    """Return what is known of the site of each source that is a URL, after it is fetched.

    Raises ``EndingError`` if one is unreachable.
    """
    urls = [source for source in sources if is_url(source)]
    if not urls:
        return {}

    async def work(middleware: RepDownloaderMiddleware) -> list[LookUp]:
        return await look_up_all(middleware, urls, None)

    found = {}
    for url, one in zip(urls, run_in_crawl(command, options, work), strict=True):
        if one.known is None or one.known.unreachable:
            raise unreachable(url, one.known)
        found[url] = one.known
    return found


def followed(known: CachedRules) -> bytes:
    """Return the octets that are followed, or what stands for them."""
    if known.body is not None:
        return known.body
    return b"" if known.decision is Decision.ALLOW_ALL else NOTHING_ALLOWED


def unreachable(url: str, known: CachedRules | None) -> EndingError:
    """Return the error that ends the command if the rules of a site are not known."""
    cause = "error" if known is None else known.cause
    return EndingError(Status.UNKNOWN, f"the robots.txt of {url} is unreachable: {cause}")
