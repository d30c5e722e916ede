"""Half of a robots.txt is none, whatever it is wrapped in (RFC 9309 section 2.3.1.4).

The rule that forbids the page stands at the end of each file, so that half a file would permit it.
Download handlers that are not Scrapy's own fetch a robots.txt as well as Scrapy's do.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request, signals
from scrapy.exceptions import StopDownload
from scrapy.http import Response

from tests.compressed import ENCODERS, may_end
from tests.crawl.harness import visit
from tests.crawl.pacing import SLOTLESS
from tests.crawl.plugin import RULES
from tests.proxy import Proxy
from tests.replies import Endless, Raw, Reply, redirect
from tests.rows import first
from tests.site import Site

TEXT = b"User-agent: *\nDisallow: /private\n"
LIMIT = 512_000


@cache
def noise(size: int) -> bytes:
    """That many octets of rules which hardly get smaller."""
    chance = random.Random(9309)
    return b"".join(b"Disallow: /%x\n" % chance.getrandbits(256) for _ in range(size // 76))


def head(coding: str, *lines: str) -> bytes:
    """The head of a 200."""
    given = [f"Content-Encoding: {coding}"] if coding else []
    return "\r\n".join(["HTTP/1.1 200 OK", *given, *lines, "", ""]).encode()


def sent(framing: str, coding: str, body: bytes, place: int) -> Reply:
    """The octets of a body up to a place, in a response that is complete or is cut there."""
    piece = body[:place]
    headers = {"Content-Encoding": coding} if coding else {}
    if framing == "connection cut":
        return Raw(body=head(coding, f"Content-Length: {len(body) + 1}") + piece)
    if framing == "chunked cut":
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        return Raw(body=head(coding, "Transfer-Encoding: chunked") + chunk)
    return Reply(200, piece, headers, framing=framing)


def cuts(framing: str, text: bytes, step: int = 1) -> Iterator[tuple[str, int, Reply]]:
    """Every body that is not whole: its coding, where it is cut, and how it is sent."""
    for name, (coding, encode) in ENCODERS.items():
        body = encode(text)
        complete = "cut" not in framing
        # An empty body is an empty file; a member may end where the file does.
        for place in range(1 if complete else 0, len(body), step):
            if not (complete and may_end(name, text, place)):
                yield name, place, sent(framing, coding, body, place)


@pytest.fixture(params=first(1, [True, False]), ids="COMPRESSION_ENABLED={}".format)
def compression(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Whether Scrapy decodes what pages are sent in."""
    return {"COMPRESSION_ENABLED": request.param}


def in_each_coding(missing: int = 0) -> list[Reply]:
    """A file in each coding, without its last octets."""
    bodies = [(coding, encode(TEXT)) for coding, encode in ENCODERS.values()]
    return [sent("length", coding, body, len(body) - missing) for coding, body in bodies]


async def visit_all(site: Site, robots: list[Reply], **settings: Any) -> list[str]:
    """How a request for a page ends, for an authority with each of those robots.txt."""
    proxy = Proxy(site)
    plans = []
    for number, reply in enumerate(robots):
        proxy.authority(f"http://s{number}.example", reply)
        plans.append({"url": f"http://s{number}.example/private", "meta": {"proxy": proxy.url}})
    result = await visit(plans, CONCURRENT_REQUESTS=50, **settings)
    return result.kinds


LONGER = b"User-agent: *\n" + noise(100_000) + b"Disallow: /private\n"
FRAMINGS = ("length", "chunked", "close", "connection cut", "chunked cut")


@pytest.mark.parametrize("framing", first(1, FRAMINGS[::-1]))
async def test_a_body_cut_anywhere_is_none(site: Site, framing: str, compression: Any) -> None:
    """Each coding, cut after some octets, whether or not Scrapy decodes what pages are sent in."""
    cases = list(cuts(framing, TEXT, 11))
    kinds = await visit_all(site, [c[2] for c in cases], **compression)
    endings = {(name, place): kind for (name, place, _), kind in zip(cases, kinds, strict=True)}
    assert len(endings) >= 40
    assert endings == dict.fromkeys(endings, "unreachable")


async def test_a_whole_body_is_read_in_any_coding(site: Site, compression: Any) -> None:
    """The counterpart: each coding, in each way of sending a complete response."""
    cases = {
        (name, framing): sent(framing, coding, encode(text), len(encode(text)))
        for name, (coding, encode) in ENCODERS.items()
        for framing in FRAMINGS
        if "cut" not in framing
        for text in [LONGER if framing == "chunked" else TEXT]
    }
    kinds = await visit_all(site, list(cases.values()), **compression)
    endings = dict(zip(cases, kinds, strict=True))
    assert endings == dict.fromkeys(endings, "forbidden")


def in_transfer_codings() -> Iterator[Reply]:
    """RFC 9112 section 6.1: no handler of Scrapy decodes one, and one leaves it in the body."""
    encode = {"deflate": zlib.compress, "br": ENCODERS["br"][1] if "br" in ENCODERS else bytes}
    for coding in ("deflate, chunked", "Deflate", "br, chunked", "gzip, chunked", "xchunked"):
        body = encode.get(coding.lower().partition(",")[0], gzip.compress)(TEXT)
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if "chunked" in coding else body
        yield Raw(body=head("", f"Transfer-Encoding: {coding}") + body)
    body = zlib.compress(TEXT)
    length = f"Content-Length: {len(body)}"
    yield Raw(body=head("", "Transfer-Encoding: deflate", length) + body)


async def test_half_a_body_is_unreachable_under_any_reactor(site: Site, mode: str) -> None:
    """One body of each coding, whole and without its last octet.

    RFC 9110 section 15.3.7: a 206 is a part of the file, whatever range it names, if any.
    """
    whole, half = in_each_coding(), in_each_coding(missing=1)
    start, size = TEXT.index(b"Disallow"), len(TEXT)
    ranges = (f"0-{start - 1}/{size}", f"0-{start - 1}/*", f"0-{size}/9")
    heads = [{}, *({"Content-Range": f"bytes {named}"} for named in ranges)]
    half += [Reply(206, TEXT[:start], lines) for lines in heads]
    half += in_transfer_codings()
    length = f"Content-Length: {size}"
    either = Raw(body=head("", "Transfer-Encoding: identity", length) + TEXT)
    plans = [site.authority(reply).url("/private") for reply in [*whole, *half, either]]
    result = await visit(plans, mode=mode)
    *kinds, last = result.kinds
    assert kinds == ["forbidden"] * len(whole) + ["unreachable"] * len(half)
    assert last != "downloaded"


async def test_a_stream_that_is_cut_at_the_limit_counts_as_far_as_it_decodes(site: Site) -> None:
    """RFC 9309 section 2.5: 500 KiB are read of a longer file, and its partial line is dropped."""
    plans = []
    for coding, encode in ENCODERS.values():
        body = encode(TEXT + noise(1_400_000) + b"Disallow: /last\n")
        assert len(body) > LIMIT
        shop = site.authority(Reply(200, body, {"Content-Encoding": coding} if coding else {}))
        plans += [shop.url("/private"), shop.url("/last")]
    result = await visit(plans)
    assert (result.forbidden, result.downloaded) == (plans[::2], plans[1::2])
    assert result.stats["robotstxt/truncated"] == len(ENCODERS)


@pytest.mark.parametrize("moment", ["headers_received", "bytes_received"])
async def test_a_download_that_a_component_stops_is_unreachable(site: Site, moment: str) -> None:
    """A rule of the project that spares it large bodies, say: what came is not what there is."""
    shop = site.authority(TEXT)

    def stop(request: Any) -> None:
        if request.url.endswith("/robots.txt"):
            raise StopDownload(fail=False)

    result = await visit([shop.url("/open")], on={getattr(signals, moment): stop})
    assert result.unreachable == [shop.url("/open")]


class Keeper:
    """A downloader middleware that keeps what comes, and answers with it from then on."""

    kept: ClassVar[dict[str, Response]] = {}

    def process_request(self, request: Request) -> Response | None:
        """The response that came before."""
        return self.kept.get(request.url)

    def process_response(self, request: Request, response: Response) -> Response:
        """Kept as it is next to the downloader."""
        self.kept.setdefault(request.url, response.copy())
        return response


async def test_what_a_component_keeps_is_as_good_as_what_came(site: Site, compression: Any) -> None:
    """A cache of the project, say: the response that it is shown can be answered with again."""
    Keeper.kept.clear()
    settings = {"DOWNLOADER_MIDDLEWARES": {Keeper: 950}, **compression}
    shops = [site.authority([reply, Reply(500)]) for reply in in_each_coding()]
    plans = [shop.url("/private") for shop in shops]
    for _ in range(2):
        result = await visit(plans, **settings)
        assert result.forbidden == plans
    assert [len(shop.robots_hits) for shop in shops] == [1] * len(shops)


async def test_a_body_that_scrapy_decoded_counts_for_nothing(site: Site, compression: Any) -> None:
    """A custom downloader, whose downloads this package cannot run; Scrapy takes half for all."""
    robots = [Reply(200, TEXT)]
    for name, (coding, encode) in ENCODERS.items():
        body = encode(TEXT)
        places = [place for place in range(1, len(body), 17) if not may_end(name, TEXT, place)]
        robots += [sent("length", coding, body, place) for place in places]
    kinds = await visit_all(site, robots, **SLOTLESS, **compression)
    assert kinds == ["forbidden", *["unreachable"] * (len(robots) - 1)]


# --- download handlers that are not Scrapy's own

LONG_RULES = RULES + "# nothing to see in this line\n" * 20_000
assert len(LONG_RULES) > LIMIT


def by(handler: str) -> dict[str, Any]:
    """Settings of a crawl by one of the handlers."""
    return {"DOWNLOAD_HANDLERS": {"http": f"tests.crawl.handlers.{handler}"}}


async def test_a_handler_that_sends_no_signal_reads_eight_limits(site: Site) -> None:
    """It gets them as download_maxsize; a longer body, or an endless one, is unreachable."""
    short, long = map(site.authority, (Reply(200, RULES), LONG_RULES))
    larger, endless = map(site.authority, (Reply(200, RULES * 200_000), Endless(200, RULES)))
    urls = [authority.url("/private") for authority in (short, long, larger, endless)]
    result = await visit(urls, **by("SilentHandler"), REP_TIMEOUT=5)
    assert result.kinds == ["forbidden", "forbidden", "unreachable", "unreachable"]
    assert result.stats["robotstxt/truncated"] == 1
    assert result.stats["handler/most"] <= 8 * LIMIT + 65_536


@pytest.mark.parametrize("decodes", [True, False])
async def test_half_a_body_of_a_silent_handler_is_none(site: Site, decodes: bool) -> None:
    """The downloader shows what it brought before any other component decodes it."""
    body = gzip.compress(RULES.encode())
    halves = [Reply(200, body[:place], {"Content-Encoding": "gzip"}) for place in (30, len(body))]
    urls = [site.authority(half).url("/private") for half in halves]
    result = await visit(urls, **by("SilentHandler"), COMPRESSION_ENABLED=decodes)
    assert result.kinds == ["unreachable", "forbidden"]


@pytest.mark.parametrize("settings", [{}, by("WrappingHandler")], ids=["Scrapy's", "one around it"])
async def test_a_handler_around_scrapys_own_is_as_good(site: Site, settings: Any) -> None:
    """What it leaves to Scrapy's is announced by that one; both are asked for text as it is."""
    short, long = map(site.authority, (RULES, LONG_RULES))
    urls = [authority.url("/private") for authority in (short, long)]
    result = await visit(urls, **settings)
    assert result.forbidden == urls
    assert result.stats.get("handler/requests") == (2 if settings else None)
    assert result.stats["robotstxt/truncated"] == 1
    for hit in (*short.robots_hits, *long.robots_hits):
        assert hit.header("Accept") == "text/plain, */*;q=0.5"
        assert hit.header("Accept-Encoding") == "identity"


async def test_a_body_of_over_eight_limits_is_cut_unless_that_is_announced(site: Site) -> None:
    """Scrapy's handlers refuse by Content-Length, before anything is received."""
    text = RULES * 200_000
    announced = site.authority(Reply(200, text))
    chunked = site.authority(Reply(200, text, framing="chunked"))
    urls = [authority.url("/private") for authority in (announced, chunked)]
    result = await visit(urls)
    assert result.kinds == ["unreachable", "forbidden"]


ZYTE = '''
import logging

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler


class ScrapyZyteAPIHTTPDownloadHandler(HTTP11DownloadHandler):
    """As theirs: a header that the service cannot take is warned of."""

    async def download_request(self, request):
        for name in ("Accept", "Accept-Encoding"):
            if request.headers.get(name):
                logging.getLogger(__name__).warning("%s cannot be mapped", name)
        return await super().download_request(request)
'''


@pytest.fixture
def zyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A package of the name of Zyte API's plugin; the settings that use it."""
    package = tmp_path / "scrapy_zyte_api"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "handler.py").write_text(ZYTE)
    monkeypatch.syspath_prepend(tmp_path)
    path = "scrapy_zyte_api.handler.ScrapyZyteAPIHTTPDownloadHandler"
    return {"DOWNLOAD_HANDLERS": {"http": path}}


async def test_zyte_apis_handler_gets_no_accept_header(site: Site, zyte: dict[str, Any]) -> None:
    """It negotiates by itself and warns of either; neither the project's defaults are sent."""
    second = site.authority(RULES)
    first = site.authority(redirect(second.url("/robots.txt")))
    defaults = {"DEFAULT_REQUEST_HEADERS": {"Accept": "text/html", "X-Crawl": "yes"}}
    result = await visit([first.url("/private")], **zyte, **defaults)
    assert result.forbidden == [first.url("/private")]
    for hit in (*first.robots_hits, *second.robots_hits):
        assert (hit.header("Accept"), hit.header("Accept-Encoding")) == (None, None)
        assert hit.header("X-Crawl") == "yes"
    assert not result.lines("cannot be mapped")


async def test_a_scheme_without_a_handler_is_unreachable(site: Site) -> None:
    """A project may have none for https: that is said, and nothing is requested."""
    shop = site.authority(RULES, tls=True)
    result = await visit([shop.url("/open")], DOWNLOAD_HANDLERS={"https": None})
    assert result.unreachable == [shop.url("/open")]
