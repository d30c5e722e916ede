"""A spider whose items ask for files, to see what a media pipeline makes of a dropped request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy.http import Response

from tests.crawl.spiders import RequestsSpider


class FilesSpider(RequestsSpider):
    """Each page gives one item, which asks for the files of the argument `files`."""

    def __init__(self, files: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.asked = list(files)
        self.items: list[dict[str, Any]] = []

    def found(self, response: Response) -> Iterable[Any]:
        """The item."""
        item: dict[str, Any] = {"file_urls": self.asked}
        self.items.append(item)
        yield item
