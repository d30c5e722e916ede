"""The pace that a host keeps once a request is allowed, by robots.txt or by an override."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_rep.access.requested_pace import RequestedPace
    from scrapy_rep.overrides.override import Override


class PaceToKeep(NamedTuple):
    """The pace of a URL, None for no pace; who asks for it; and the override that sets it."""

    pace: RequestedPace | None
    asker: tuple[str, ...]
    by: Override | None = None
