"""The pace that a request has its host keep, by robots.txt or by an override."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_rep.overrides.override import Override
    from scrapy_rep.protocol.requested_pace import RequestedPace


class AskedPace(NamedTuple):
    """The pace of a URL, on whose behalf it is kept, and the override that it follows from."""

    pace: RequestedPace | None
    asker: tuple[str, ...]
    by: Override | None = None
