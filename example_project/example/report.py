"""A spider that notes how each of its requests ends, and prints a table of it when it closes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_rep import RobotsForbidden, RobotsUnreachable

HEAD = ("site", "robots.txt", "page", "result", "by", "line", "group")
LEGEND = """\
robots.txt: the status of the site's robots.txt; 302 > 200 is a redirect and where it ended.
dropped: the page was never requested. line, group: where in the robots.txt the rule stands.
"""


class Row(NamedTuple):
    """How one request ended; `origin` is `http://host:port`, `by` the rule that dropped it."""

    origin: str
    page: str
    result: str
    by: str = ""
    line: str = ""
    group: str = ""


class ReportingSpider(scrapy.Spider):
    """Reports the requests that `ask()` makes; a subclass finds more of them in `follow()`."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.rows: list[Row] = []
        self.names: dict[str, str] = {}  # what an origin is called in the table
        self.answers: dict[str, tuple[int, str]] = {}  # of a robots.txt: its status and Location

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.received, signal=signals.response_received)
        return spider

    def ask(self, url: str, **more: Any) -> Request:
        """Return a request that the table will tell of."""
        return Request(url, callback=self.fetched, errback=self.dropped, **more)

    def follow(self, response: Response) -> Iterator[Request]:
        """Yield requests for what a page links to."""
        yield from ()

    def fetched(self, response: Response) -> Iterator[Request]:
        self.note(response.request, "fetched")
        yield from self.follow(response)

    def dropped(self, failure: Any) -> None:
        """The errback gets the exception that says why a request was dropped."""
        error = failure.value
        if isinstance(error, RobotsForbidden):
            verdict = error.verdict
            by = (verdict.rule or verdict.reason, verdict.line or "", verdict.group or "")
            self.note(failure.request, "dropped", *map(str, by))
        elif isinstance(error, RobotsUnreachable):
            self.note(failure.request, "dropped", f"unreachable: {error.cause}")
        elif isinstance(error, HttpError):
            self.note(failure.request, "failed", f"status {error.response.status}")
        else:
            how = "dropped" if isinstance(error, IgnoreRequest) else "failed"
            self.note(failure.request, how, str(error) or type(error).__name__)

    def note(self, request: Request, *how: str) -> None:
        url = urlsplit(request.url)
        page = url._replace(scheme="", netloc="").geturl() or "/"
        if agent := request.meta.get("robotstxt_user_agent"):
            page += f" as {agent}"
        self.rows.append(Row(f"{url.scheme}://{url.netloc}", page, *how))

    def received(self, response: Response) -> None:
        """Note the answer to each request for a robots.txt; the plugin makes those, not we."""
        if urlsplit(response.url).path == "/robots.txt":
            location = response.headers.get("Location", b"").decode("latin-1")
            target = urljoin(response.url, location) if location else ""
            self.answers[response.url] = response.status, target

    def closed(self, reason: str) -> None:
        rows = [HEAD]
        for origin in dict.fromkeys([*self.names, *(row.origin for row in self.rows)]):
            pages = [row[1:] for row in sorted(self.rows) if row.origin == origin]
            # A site's name and address stand one above the other, beside its pages.
            left = [(name,) for name in (self.names.get(origin), origin) if name and pages]
            left[:1] = [(*name, self.status_of(origin)) for name in left[:1]]
            for site, page in zip_longest(left, pages, fillvalue=()):
                rows.append((*site, "", "")[:2] + page)
        print(f"\n{aligned(rows)}\n\n{LEGEND}")

    def status_of(self, origin: str) -> str:
        """Return how the robots.txt of a site was answered, redirect by redirect."""
        url, statuses = f"{origin}/robots.txt", []
        while url in self.answers and len(statuses) <= 5:
            status, url = self.answers[url]
            statuses.append(str(status))
        return " > ".join(statuses) or "no answer"


def aligned(rows: list[tuple[str, ...]]) -> str:
    """Return rows as text in columns; what a site wrote cannot steer the terminal."""
    cells = [["".join(c if c.isprintable() else "?" for c in cell) for cell in r] for r in rows]
    cells = [[cell if len(cell) <= 50 else cell[:47] + "..." for cell in row] for row in cells]
    widths = [max(len(row[n]) for row in cells if n < len(row)) for n in range(len(HEAD))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])
