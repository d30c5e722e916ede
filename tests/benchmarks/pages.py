"""What the spider middleware costs a page, over a crawl without it.

``python -m tests.benchmarks.pages [pages]`` prints microseconds of CPU per page, medians of
interleaved rounds in one process: for pages of 50 KB that say nothing to crawlers, for the same
with a META robots as many sites have it, and for pages that are not HTML. What is timed is all that
Scrapy does with a response on its way to the callback, and with the one item and ten requests that
the callback yields.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from typing import Any

from scrapy import Request
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.http import HtmlResponse, Response

from scrapy_rep import RepSpiderMiddleware
from tests.benchmarks.running import ADDON, argument, in_a_loop, with_engine

ROUNDS = 5
PAGES = 3_000

MODES: dict[str, dict[str, Any]] = {
    "off": {"REP_PAGE_DIRECTIVES": "off", "REP_PREFERENCES": "off"},
    "report": {},
    "obey": {
        "REP_PAGE_DIRECTIVES": "obey",
        "REP_NOINDEX": "drop",
        "REP_PREFERENCES": "drop",
        "REP_PURPOSES": ["train-ai"],
    },
}

HEAD = (
    '<!DOCTYPE html>\n<html lang="en"><head>\n<meta charset="utf-8">\n<title>A shop</title>\n'
    + "".join(f'<meta property="og:p{n}" content="Bread &amp; butter {n}">\n' for n in range(20))
    + "".join(f'<link rel="stylesheet" href="/css/{n}.css">\n' for n in range(10))
    + "<script>\n" + "window.shop = window.shop || {};\n" * 60 + "</script>\n{}</head>\n<body>\n"
)  # fmt: skip
ARTICLE = (
    '<div class="item"><a href="/shop/{0}"><b>Bread</b> {0}</a><p>Good &amp; cheap</p></div>\n'
)
ROBOTS = '<meta name="robots" content="index, follow, max-image-preview:large">\n'


def page(head: str = "") -> bytes:
    """A page of 50 KB."""
    text = HEAD.replace("{}", head)
    number = 0
    while len(text) < 50_000:
        text += ARTICLE.format(number)
        number += 1
    return (text + "</body></html>\n").encode()


KINDS = {
    "HTML that says nothing": (page(), HtmlResponse),
    "HTML with META robots": (page(ROBOTS), HtmlResponse),
    "not HTML": (page(), Response),
}


async def passed(settings: dict[str, Any], pages: int, body: bytes, kind: type[Response]) -> float:
    """Return the microseconds that a page takes on its way through the spider middlewares."""
    crawler = with_engine({**ADDON, "ROBOTSTXT_USER_AGENT": "mybot", **settings})
    manager: SpiderMiddlewareManager = crawler.engine.scraper.spidermw
    present = [each for each in manager.middlewares if isinstance(each, RepSpiderMiddleware)]
    assert len(present) == 1  # where it is off, it reads nothing
    headers = {"Content-Type": "text/html; charset=utf-8", "Server": "nginx", "ETag": '"1"'}

    async def callback(response: Response, request: Request) -> Iterable[Any]:
        return [{"url": response.url}, *(Request(f"{response.url}/{n}") for n in range(10))]

    spent = 0.0
    for number in range(pages):
        request = Request(f"https://example.org/{number}")
        # A body of its own each time, as from a socket: none of it is in the cache of the machine.
        octets = bytes(bytearray(body))
        response = kind(request.url, headers=headers, body=octets, request=request)
        start = time.process_time()
        output: Any = await manager.scrape_response_async(callback, response, request)
        assert len([each async for each in output]) == 11
        spent += time.process_time() - start
    await crawler.engine.close_async()
    return spent / pages * 1e6


async def table(pages: int) -> None:
    """Print the table: the modes take turns."""
    print(f"{'response':26}{'off':>10}{'report':>10}{'obey':>10}{'cost':>16}   (us)")
    for name, page in KINDS.items():
        rounds = [[await passed(m, pages, *page) for m in MODES.values()] for _ in range(ROUNDS)]
        off, report, obey = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{name:26}{off:10.1f}{report:10.1f}{obey:10.1f}{report - off:8.1f}{obey - off:8.1f}")


if __name__ == "__main__":
    in_a_loop(table(argument(PAGES)))
