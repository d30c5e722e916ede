"""Why a robots.txt could not be fetched, as exceptions, log and stats say it."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import default_settings

from tests.crawl import handlers
from tests.crawl.harness import crawl_in_child, visit
from tests.crawl.middlewares import Component, middleware
from tests.crawl.plugin import OPEN, RULES, obey
from tests.crawl.spiders import OneByOneSpider
from tests.proxy import Proxy
from tests.replies import Empty, HalfHead, Hang, Reply, Reset, ShortBody, redirect
from tests.site import Hit, Site

VERIFY = "DOWNLOAD_VERIFY_CERTIFICATES"

ANSWERS_TO_A_HELLO = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "handshake_failure": b"\x15\x03\x03\x00\x02\x02\x28",
    "protocol_version": b"\x15\x03\x03\x00\x02\x02\x46",
    "unrecognized_name": b"\x15\x03\x03\x00\x02\x02\x70",
    "internal_error": b"\x15\x03\x03\x00\x02\x02\x50",
}
"""What a server says that does not agree on TLS (RFC 8446 section 6), or speaks none."""


@contextmanager
def server_without_tls(octets: bytes) -> Iterator[str]:
    """The URL of a server that gives this answer."""

    class Answer(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(4096)
            self.request.sendall(octets)
            self.request.recv(4096)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


CLASSES = {
    "dns": {"CannotResolveHostError", "DNSLookupError"},
    "tls": {"DownloadConnectionRefusedError", "DownloadFailedError", "ResponseFailed"},
    "connection": {"DownloadConnectionRefusedError", "ConnectionRefusedError"},
    "timeout": {"DownloadTimeoutError", "TimeoutError"},
}
"""What an errback looks for: Scrapy's own exceptions, before 2.15 those of Twisted."""


def test_the_exception_of_the_fetch_is_the_cause_of_the_refusal(site: Site, mode: str) -> None:
    """The cause is told from what Scrapy wraps, and an errback finds the exception by its class."""
    names = {"FAKE_NAMES": {"nowhere.example": []}}
    names["EXTENSIONS"] = {"tests.crawl.network.FakeNetwork": 1}
    with ExitStack() as running:
        tls = map(server_without_tls, ANSWERS_TO_A_HELLO.values())
        urls = {
            **dict.fromkeys(map(running.enter_context, tls), "tls"),
            "http://nowhere.example/": "dns",
            site.refusing().url("/a"): "connection",
            site.authority(Hang()).url("/a"): "timeout",
        }
        settings = obey(REP_TIMEOUT=1.5, **names)
        result = crawl_in_child(mode=mode, settings=settings, plans=list(urls)).check()
    assert result.unreachable == list(urls)
    for url, cause in urls.items():
        problem = result.problem(url)
        assert problem.data["cause"] == cause, problem
        assert CLASSES[cause] & set(problem.causes), problem


@pytest.mark.skipif(not hasattr(default_settings, VERIFY), reason="it came with Scrapy 2.15")
async def test_a_certificate_that_is_not_trusted_is_a_failure_of_tls(site: Site, mode: str) -> None:
    """And no permission."""
    shop = site.authority(OPEN, tls=True)
    result = await visit([shop.url("/a")], mode=mode, **{VERIFY: True})
    assert result.problem(shop.url("/a")).data["cause"] == "tls"


BROKEN = {"reset": Reset(), "empty": Empty(), "half a head": HalfHead(), "short": ShortBody()}


async def test_other_failures_have_a_cause_and_answers_have_none(site: Site, mode: str) -> None:
    """A status is no exception. What was wrong with a redirect or a coding is one of ours."""
    broken = [site.authority(reply) for reply in BROKEN.values()]
    coded = site.authority(Reply(200, OPEN, {"Content-Encoding": "gzip"}))
    refused = site.authority(redirect("ftp://a.example/"))
    status = site.authority(Reply(503))
    shops = [*broken, coded, refused, status]
    result = await visit([shop.url("/a") for shop in shops], mode=mode)
    problems = [result.problem(shop.url("/a")) for shop in shops]
    causes = [*["connection"] * len(broken), "coding", "redirect refused", "status 503"]
    assert [problem.data["cause"] for problem in problems] == causes
    assert [bool(problem.causes) for problem in problems] == [*[True] * (len(shops) - 1), False]


async def test_the_exception_of_a_fetch_keeps_nothing_alive(site: Site) -> None:
    """Its frames would hold the fetch and the request for as long as the site is unreachable."""
    shop = site.refusing()
    result = await visit([shop.url("/a"), shop.url("/b")])
    first, second = (result.problem(shop.url(path)).exception for path in ("/a", "/b"))
    assert first is not None
    assert second is not None
    assert first is not second
    assert first.__cause__ is second.__cause__ is not None
    assert first.__cause__.__traceback__ is None


# --- requests that other components make within one fetch


class Repeating(Component):
    """A project's own retries: without a bound."""

    def again(self, request: Request) -> Request | None:
        """The same request once more."""
        if not request.url.endswith("/robots.txt"):
            return None
        return request.replace(dont_filter=True, meta={**request.meta, "again": True})

    def process_response(self, request: Request, response: Response) -> Response | Request:
        """Whatever is not 200."""
        return (response.status != 200 and self.again(request)) or response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Whatever it is."""
        return None if isinstance(exception, IgnoreRequest) else self.again(request)


async def test_a_fetch_makes_at_most_twenty_requests(site: Site, mode: str) -> None:
    """Whichever component makes them: then it has failed, and the site is left alone for a minute.

    Repeated a few times, a robots.txt is what it is in the end.
    """
    failing = [site.authority(Reply(status)) for status in (503, 404, 403, 500)]
    broken = [site.authority(reply) for reply in (Reset(), Empty())]
    shaky = site.authority([*[Reply(503)] * 12, RULES])
    shops = [*failing, *broken]
    urls = [*(shop.url("/a") for shop in shops), shaky.url("/private"), shaky.url("/open")]
    middlewares = {f"{__name__}.Repeating": 300}
    result = await visit(urls, mode=mode, DOWNLOADER_MIDDLEWARES=middlewares)
    assert result.kinds == [*["unreachable"] * len(shops), "forbidden", "downloaded"]
    assert [len(shop.robots_hits) for shop in failing] == [20] * len(failing)
    # The client of aiohttp itself asks once more if the connection was closed without an answer.
    assert [len(shop.robots_hits) for shop in broken] == [40 if mode == "none" else 20] * 2
    assert len(result.lines("repeat its requests without end.*next attempt in 60 s")) == len(shops)
    assert all(shop.page_hits == [] for shop in shops)


async def test_hops_and_second_questions_are_among_the_twenty(site: Site) -> None:
    """As many hops as REP_MAX_REDIRECTS allows are made in any case."""

    def tell(hit: Hit) -> Reply:
        return redirect(f"/robots.txt?{len(hit.target)}") if "?" not in hit.target else Reply(503)

    def again(request: Request, response: Response) -> Response | Request:
        return request.replace(dont_filter=True) if response.status == 503 else response

    shop = site.authority(tell)
    repeating = {middleware(process_response=again): 300}
    result = await visit([shop.url("/a")], DOWNLOADER_MIDDLEWARES=repeating)
    assert result.unreachable == [shop.url("/a")]
    assert len(shop.hits) == 20
    last = site.authority(RULES)
    for _ in range(25):
        last = site.authority(redirect(last.url("/robots.txt")))
    result = await visit([last.url("/private")], REP_MAX_REDIRECTS=25)
    assert result.forbidden == [last.url("/private")]


@pytest.mark.filterwarnings("ignore:.*is not a coroutine function")
@pytest.mark.parametrize("own", [{}, {"http": f"{handlers.__name__}.DeferredHandler"}])
async def test_a_repetition_by_another_proxy_counts_as_its_answer(site: Site, own: object) -> None:
    """A middleware of a pool moves on to another proxy: what that one brings are the rules."""
    good, bad = Proxy(site), site.refusing().url("")
    good.authority("http://a.example", RULES)

    def begin(request: Request) -> None:
        request.meta.setdefault("proxy", bad)

    def move_on(request: Request, exception: Exception) -> Request | None:
        meta = {**request.meta, "proxy": good.url}
        is_bad = request.meta.get("proxy") == bad
        return request.replace(meta=meta, dont_filter=True) if is_bad else None

    moving = {middleware(process_request=begin, process_exception=move_on): 300}
    urls = ["http://a.example/private", "http://a.example/open"]
    how = {"DOWNLOADER_MIDDLEWARES": moving, "RETRY_ENABLED": False, "DOWNLOAD_HANDLERS": own}
    result = await visit(urls, OneByOneSpider, **how)
    assert result.kinds == ["forbidden", "downloaded"]
