"""What is read of Scrapy's engine beyond its public face; it differs between versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


def is_stopping(crawler: Crawler) -> bool:
    """Whether the spider is being closed, or is not open: nothing new is to be begun."""
    slot = _slot(crawler)
    return slot is None or slot.closing is not None


def is_over(crawler: Crawler) -> bool:
    """Whether the downloader is closed, or about to be: what it started would be left behind."""
    slot = _slot(crawler)
    return slot is None or (slot.closing is not None and slot.closing.called)


def pull(crawler: Crawler) -> None:
    """Have the engine look for requests now, as it does by itself only when one has ended."""
    if not is_stopping(crawler):
        _slot(crawler).nextcall.schedule()


def downloader_of(crawler: Crawler) -> Any:
    """Return the downloader, ``None`` before there is one; it may be of the user's own making."""
    return getattr(crawler.engine, "downloader", None)


def slot_key(crawler: Crawler, request: Request) -> str:
    """Return the name of the downloader slot of ``request``; a downloader may have no slots."""
    get_slot_key = getattr(downloader_of(crawler), "get_slot_key", None)
    return get_slot_key(request) if get_slot_key is not None else ""


def _slot(crawler: Crawler) -> Any:
    return getattr(crawler.engine, "_slot", None)
