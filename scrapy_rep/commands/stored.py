"""The store that the settings name, opened outside a crawl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler

from scrapy_rep.caching.store_adapter import open_configured
from scrapy_rep.commands.configuration import settings_of
from scrapy_rep.commands.endings import EndingError, Status, usage_error
from scrapy_rep.stores import Store, StoreError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.protocol.authority import Authority


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


def stored_body(settings: BaseSettings, authority: Authority) -> bytes:
    """Return the octets of a robots.txt that the store holds; raise ``EndingError`` if none."""
    with configured_store(settings) as store:
        found = store.find(authority)
    answer = found.entry.answer if found is not None else None
    if answer is None:
        raise EndingError(Status.UNKNOWN, f"the store has no answer of {authority}")
    return answer.body or b""
