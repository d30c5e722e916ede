"""Reads a response: who sent it, its body, validators and freshness; or why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.access.freshness import lifetime
from scrapy_rep.access.outcome import PROXY_AUTHENTICATION_REQUIRED, Cause
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.sites.content_codings import plain_octets
from scrapy_rep.sites.exchange import codings_of
from scrapy_rep.stores.json_form import LONGEST_VALIDATOR

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.http.headers import Headers

    from scrapy_rep.sites.exchange import Exchange

# Exceptions by class name: Scrapy's own (Scrapy 2.14 has none), Twisted's, OpenSSL's, Python's.
_CAUSES: dict[str, Cause] = {
    "DeadlineError": Cause.TIMEOUT,
    "TimeoutError": Cause.TIMEOUT,
    "TCPTimedOutError": Cause.TIMEOUT,
    "DownloadTimeoutError": Cause.TIMEOUT,
    "DNSLookupError": Cause.DNS,
    "CannotResolveHostError": Cause.DNS,
    "gaierror": Cause.DNS,
    "SSL.Error": Cause.TLS,
    "SSLError": Cause.TLS,
    "VerificationError": Cause.TLS,
    "ConnectError": Cause.CONNECTION,
    "ConnectionClosed": Cause.CONNECTION,
    "DownloadConnectionRefusedError": Cause.CONNECTION,
    "DownloadFailedError": Cause.CONNECTION,
    "DownloadCancelledError": Cause.CONNECTION,
    "ResponseDataLossError": Cause.CONNECTION,
    "BrokenBodyError": Cause.CONNECTION,
    "ResponseFailed": Cause.CONNECTION,
    "CodingError": Cause.CODING,
    "TunnelError": Cause.CONNECTION,
    "CancelledElsewhereError": Cause.DROPPED,
    "ConnectionError": Cause.CONNECTION,
    "IgnoreRequest": Cause.DROPPED,
}


_FORWARD_PROXIES = frozenset(
    b"3proxy ccproxy freeproxy mitmproxy polipo privoxy squid tinyproxy wingate ziproxy".split()
)
"""What forward proxies call themselves in the ``Server`` of their own answers."""


class BrokenBodyError(ValueError):
    """The body is not whole."""


def cause_of(error: BaseException) -> Cause:
    """Return the cause that an exception of a download stands for.

    Scrapy wraps what Twisted and other libraries raise, mostly as a failed connection. So the
    first exception that says more than that decides.
    """
    found = [cause for each in chain_of(error) if (cause := _cause_by_class(each)) is not None]
    more = (cause for cause in found if cause is not Cause.CONNECTION)
    return next(more, found[0] if found else Cause.ERROR)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that caused it, from the outermost on."""
    yield error
    reasons = getattr(error, "reasons", None) or ()  # Twisted's ResponseFailed wraps Failures
    for each in (*(getattr(reason, "value", None) for reason in reasons), error.__cause__):
        if each is not None:
            yield from chain_of(each)


def _cause_by_class(error: BaseException) -> Cause | None:
    for kind in type(error).__mro__:
        qualified = f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
        cause = _CAUSES.get(qualified) or _CAUSES.get(kind.__name__)
        if cause is not None:
            return cause
    return None


def is_of_proxy(request: Request, response: Response) -> bool:
    """Return whether a response is that of the crawler's own proxy, and not of the site.

    It may be an error, or lead to a page that explains one, on another host. Through the tunnel of
    https a proxy cannot answer. ``Via`` says nothing: CDNs send it, too.
    """
    if response.status == PROXY_AUTHENTICATION_REQUIRED:
        return True  # perhaps of one that no meta names, as an intercepting proxy
    return bool(request.meta.get("proxy")) and has_mark_of_proxy(
        request.url, response.status, response.headers
    )


def has_mark_of_proxy(uri: str, status: int, headers: Headers) -> bool:
    """Return whether the answer for a URI bears the mark of a forward proxy's own one."""
    if urlsplit(uri).scheme != "http" or not 300 <= status <= 599 or _leads_home(uri, headers):
        return False
    server = (headers.get("Server") or b"").lower().partition(b"/")[0].strip()
    return (
        "Proxy-Authenticate" in headers
        or "X-Squid-Error" in headers
        or any(b"error=" in each for each in headers.getlist("Proxy-Status"))
        or server in _FORWARD_PROXIES
    )


def _leads_home(uri: str, headers: Headers) -> bool:
    """Return whether a response leads to the host that was asked, perhaps by https."""
    location = headers.get("Location")
    if location is None:
        return False
    try:
        target = urlsplit(urljoin(uri, location.decode("latin-1")))
        return target.hostname == urlsplit(uri).hostname
    except ValueError:
        return False


def body_of(response: Response, exchange: Exchange, limit: int) -> tuple[bytes, bool]:
    """Return the octets to parse, at most ``limit``, and whether they were cut.

    Raises ``ValueError`` for an incomplete or unreadable body, and ``IgnoreRequest`` for one that
    another component stopped.
    """
    for name in b",".join(response.headers.getlist("Transfer-Encoding")).lower().split(b","):
        # Scrapy's handler for crawls without a reactor does not decode any other one.
        if name.strip(b" \t") not in (b"", b"chunked", b"identity"):
            raise BrokenBodyError("the body has a download coding other than chunked")
    if "dataloss" in response.flags:
        raise BrokenBodyError("the body stops before its end")
    stopped = "download_stopped" in response.flags
    if stopped and not exchange.is_cut:
        raise IgnoreRequest("another component stopped the download")
    if exchange.has_codings and not exchange.was_announced and not codings_of(response):
        raise BrokenBodyError("another component decoded the body, perhaps only half of it")
    return octets_of(response, limit, stopped)


def octets_of(response: Response, limit: int, cut: bool) -> tuple[bytes, bool]:
    """Return the octets to parse, and whether there were more than ``limit``.

    ``cut`` says that the body was cut already. Raises ``ValueError`` for an unreadable one.
    """
    # What follows the limit shows that there is more, and whether a line ends there: in UTF-16 the
    # end of a line is two octets.
    body, cut = plain_octets(response.body, codings_of(response), limit + 2, cut)
    cut = cut or len(body) > limit
    # A body cut during the download may decode to less than the limit: its last line is partial.
    return truncate(body, min(limit, len(body) - 1) if cut else limit), cut


def validators_of(response: Response) -> tuple[bytes | None, bytes | None]:
    """Return ``ETag`` and ``Last-Modified``, without one of more than 1 KiB."""
    given = [response.headers.get(name) for name in ("ETag", "Last-Modified")]
    etag, modified = [None if len(one or b"") > LONGEST_VALIDATOR else one for one in given]
    return etag, modified


def lifetime_of(response: Response, now: float) -> float | None:
    """Return for how many seconds a response is fresh, ``None`` if it does not say."""
    headers: Mapping[str, bytes | None] = {
        name: b", ".join(response.headers.getlist(name)) or None
        for name in ("Cache-Control", "Expires", "Date", "Age")
    }
    return lifetime(headers, now)
