"""Spiders that go from page to page, and a site whose pages have directives for crawlers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from scrapy.http import Response
from twisted.python.failure import Failure

from scrapy_rep import PageDirectives, page_directives
from tests.crawl.spiders import RequestsSpider
from tests.replies import Reply, html


class LinksSpider(RequestsSpider):
    """Makes an item of each page, and a request of each of its links.

    `said` is what each page asked, `refused` the requests that did not come back with a page.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.said: dict[str, PageDirectives] = {}
        self.refused: list[Any] = []

    def found(self, response: Response) -> Iterable[Any]:
        """One item, and all links that have a reference."""
        if isinstance(response, Response) and "html" in str(response.headers.get("Content-Type")):
            self.said[response.url] = page_directives(response)
            yield {"page": response.url}
            for link in response.css("a"):
                fields = {"meta": self.meta_of(response)}
                yield self.request(response.urljoin(link.attrib["href"]), **fields)

    def meta_of(self, response: Response) -> dict[str, Any]:
        """The meta of the requests that a page leads to."""
        return {}

    def failed(self, failure: Failure) -> Any:
        """The request is kept, too."""
        super().failed(failure)
        self.refused.append(failure.request)


class AsyncLinksSpider(LinksSpider):
    """The same with a callback that is an asynchronous generator."""

    async def page(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """A page came."""
        for output in super().page(response):
            yield output


def links(*paths: str, head: str = "") -> str:
    """A page with these links."""
    anchors = "".join(f'<p><a href="{path}">{path}</a></p>\n' for path in paths)
    return f"<!doctype html><html><head>{head}</head><body>\n{anchors}</body></html>"


def meta(content: str, name: str = "robots") -> str:
    """One meta element."""
    return f'<meta name="{name}" content="{content}">'


def with_header(page: str, *lines: tuple[str, str]) -> Reply:
    """A page with further header lines."""
    return html(page, headers=[("Content-Type", "text/html"), *lines])


VILLAGE: dict[str, Any] = {
    "/": links("/open", "/by-meta", "/by-header", "/by-tag", "/for-mybot", "/for-other"),
    "/open": links("/open/1"),
    "/by-meta": links("/by-meta/1", "/by-meta/2", head=meta("noindex, nofollow")),
    "/by-header": with_header(links("/by-header/1"), ("X-Robots-Tag", "none")),
    "/by-tag": with_header(links("/by-tag/1"), ("X-Robots-Tag", "*: nofollow")),
    "/for-mybot": with_header(
        links("/for-mybot/1"), ("X-Robots-Tag", "noarchive"), ("X-Robots-Tag", "mybot: nofollow")
    ),
    "/for-other": links("/for-other/1", head=meta("nofollow", "otherbot")),
}
"""Pages that ask not to follow their links, in each of the ways, and some that do not."""

CLOSED = ["/by-header/1", "/by-meta/1", "/by-meta/2", "/by-tag/1", "/for-mybot/1"]
"""What is reached only through links that are not to be followed."""
