"""The store that the settings name, opened outside a crawl."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from scrapy_rep.access.policy import in_force
from scrapy_rep.caching.store_adapter import crawler_digest, open_configured
from scrapy_rep.commands.configuration import settings_of, settings_with_spider, tokens_of_crawl
from scrapy_rep.commands.endings import EndingError, Status, usage_error
from scrapy_rep.commands.sources import instead_of_rules
from scrapy_rep.gate.identity import name_of_fetches
from scrapy_rep.stores import Store, StoreError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.policy import Policy


@contextmanager
def configured_store(settings: BaseSettings, *, create: bool = False) -> Iterator[Store]:
    """Open the store of the project, and close it at the end; raise ``EndingError``.

    The file is made only if ``create`` is True. Otherwise a mistyped path would be answered by an
    empty store.
    """
    found = settings_of(settings)
    crawler = Crawler(Spider, settings.copy())  # type: ignore[arg-type]
    try:
        store = open_configured(
            settings, found, lambda cls: build_from_crawler(cls, crawler), create=create
        )
    except ValueError as error:
        raise usage_error(str(error)) from None
    if store is None:
        raise usage_error("REP_STORE names no store: crawls keep what they know in memory")
    try:
        yield store
        store.flush()
    except StoreError as error:
        raise EndingError(Status.UNKNOWN, f"the store cannot be used: {error}") from None
    finally:
        store.close()


def stored_body(
    settings: BaseSettings, options: Namespace, authority: Authority, policy: Policy
) -> bytes:
    """Return what a crawl follows after the answer that the store holds, whatever its age.

    A refusal counts if it is one of this crawler. Raises ``EndingError`` if the store has no
    answer, or if the rules are undefined.
    """
    chosen, spider = settings_with_spider(settings, options)
    with configured_store(chosen) as store:
        found = store.find(authority)
    crawler = Crawler(spider or Spider, settings.copy())  # type: ignore[arg-type]
    crawler.spider = spider  # type: ignore[assignment]  # its class has the User-Agent
    sent = name_of_fetches(crawler, tokens_of_crawl(chosen, spider))
    entry = None if found is None else found.seen_by(crawler_digest(sent))
    answer, failure = in_force(entry, time.time(), policy)
    if answer is not None and answer.body is not None:
        return answer.body
    if failure is not None:
        said = f"the robots.txt of {authority} is unreachable: {failure.cause}"
        raise EndingError(Status.UNKNOWN, said)
    if answer is None:
        raise EndingError(Status.UNKNOWN, f"the store has no answer of {authority}")
    return instead_of_rules(answer.status, policy)
