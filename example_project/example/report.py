"""A spider that notes how each of its requests ends, and prints a table of it when it closes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from scrapy_rep import RobotsForbidden, RobotsUnreachable

WIDTH = 100
HEAD = ("page", "result", "at", "by", "line", "group")
WIDEST = (32, 7, 6, 26, 4, 12)
LEGEND = """\
robots.txt: the answers to its fetches. 302 > 200 is a redirect and where it led; 503, 200 are two
attempts; stored: another run or worker fetched it.
dropped: the page was never requested. at: when that, or its answer, was known, in seconds.
by, line, group: the rule, its line, and the group that holds it.
"""


class Row(NamedTuple):
    """How one request ended; `origin` is `http://host:port`, `by` the rule that dropped it."""

    origin: str
    page: str
    result: str
    at: str
    by: str = ""
    line: str = ""
    group: str = ""


class ReportingSpider(scrapy.Spider):
    """Reports the requests that `ask()` makes; a subclass finds more of them in `follow()`."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.rows: list[Row] = []
        self.names: dict[str, str] = {}  # what an origin is called in the table
        self.answers: dict[str, list[tuple[int, str]]] = {}  # of a robots.txt: status, Location
        self.began = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        # Of a redirect or a retry of Scrapy's, response_received tells of the last answer at most.
        crawler.signals.connect(spider.received, signal=signals.response_downloaded)
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

    def note(self, request: Request, result: str, *how: str) -> None:
        url = urlsplit(request.url)
        page = url._replace(scheme="", netloc="").geturl() or "/"
        if agent := request.meta.get("robotstxt_user_agent"):
            page += f" as {agent}"
        at = f"{time.monotonic() - self.began:.1f} s"
        self.rows.append(Row(f"{url.scheme}://{url.netloc}", page, result, at, *how))

    def received(self, response: Response) -> None:
        """Note the answer to each request for a robots.txt; the plugin makes those, not we."""
        if urlsplit(response.url).path == "/robots.txt":
            location = response.headers.get("Location", b"").decode("latin-1")
            target = urljoin(response.url, location) if location else ""
            self.answers.setdefault(response.url, []).append((response.status, target))

    def closed(self, reason: str) -> None:
        fetched = self.crawler.stats.get_value("robotstxt/request_count", 0)
        print(f"\n{self.table()}\n\n{LEGEND}\nrobots.txt files fetched: {fetched}")

    def table(self) -> str:
        """Return the pages of each site under a line about the site."""
        lines = [aligned(HEAD), "-" * WIDTH]
        for origin in dict.fromkeys([*self.names, *(row.origin for row in self.rows)]):
            pages = sorted(row for row in self.rows if row.origin == origin)
            if pages:
                name = f"{self.names[origin]}: " if origin in self.names else ""
                lines.append(shown(f"{name}{origin} (robots.txt: {self.status_of(origin)})", WIDTH))
                lines += [aligned(row[1:]) for row in pages]
        return "\n".join(lines)

    def status_of(self, origin: str) -> str:
        """Return how the robots.txt of a site was answered, attempt by attempt."""
        url = f"{origin}/robots.txt"
        if url in self.answers:
            return ", ".join(self.trail(*answer) for answer in self.answers[url])
        causes = [row.by for row in self.rows if row.origin == origin]
        unknown = any(by.startswith("unreachable") and "status" not in by for by in causes)
        return "no answer" if unknown else "stored"

    def trail(self, status: int, url: str) -> str:
        """Return the statuses from a redirect to its end."""
        statuses = [str(status)]
        while url in self.answers and len(statuses) <= 5:
            status, url = self.answers[url][-1]
            statuses.append(str(status))
        return " > ".join(statuses)


def aligned(cells: Any) -> str:
    """Return cells as one line in columns."""
    columns = [shown(str(c), width).ljust(width) for c, width in zip(cells, WIDEST, strict=False)]
    return ("  " + "  ".join(columns)).rstrip()


def shown(text: str, width: int) -> str:
    """Return text of at most that width; what a site wrote cannot steer the terminal."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= width else text[: width - 3] + "..."
