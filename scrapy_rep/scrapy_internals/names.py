"""The undocumented names of Scrapy that are used, what for, and what is lost without them.

To support a new version of Scrapy, start here: the check at the start of a crawl and its tests
follow from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Feature(Enum):
    """What depends on undocumented names; the value says what happens without it.

    A value of ``None`` stands for a feature without which robots.txt cannot be obeyed: the crawl
    ends.
    """

    EXCHANGES = ("exchanges", None)
    HANDLERS = ("handlers", "a robots.txt longer than REP_MAX_SIZE is unreachable, not cut")
    CONNECTIONS = (
        "connections",
        "robots.txt downloads share the connections of CONCURRENT_REQUESTS with pages",
    )
    LISTENERS = ("listeners", "robots_parsed is sent whether or not anything listens to it")
    PROXIES = ("proxies", "the robots.txt for a retried page is fetched without its proxy's login")

    @property
    def without(self) -> str | None:
        """What happens without the feature; ``None`` if the crawl ends."""
        loss: str | None = self.value[1]
        return loss


class Holder(Enum):
    """An object of Scrapy that has undocumented names; the value is its name in log lines."""

    DOWNLOADER = "the downloader"
    HANDLERS = "the set of download handlers"
    HANDLER = "the HTTP handler for crawls without a reactor"
    CONNECTOR = "the connector of aiohttp"
    SIGNALS = "the signal manager"
    DISPATCHER = "the signal dispatcher"
    PROXY_META = "the meta of a request that passed HttpProxyMiddleware"


@dataclass(frozen=True, slots=True)
class PrivateName:
    """One undocumented name.

    ``path`` is where Scrapy defines it, ``used_by`` the module that touches it, ``since`` the first
    version that has it, of those that this package supports.
    """

    holder: Holder
    name: str
    path: str
    used_by: str
    feature: Feature
    since: str = "2.14"

    def __str__(self) -> str:
        return f"{self.holder.value} has no {self.name}"


_DOWNLOADER = "scrapy.core.downloader.Downloader"
_HANDLERS = "scrapy.core.downloader.handlers.DownloadHandlers"
_HANDLER = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"

NAMES: tuple[PrivateName, ...] = (
    PrivateName(Holder.DOWNLOADER, "handlers", _DOWNLOADER, "exchanges", Feature.EXCHANGES),
    PrivateName(
        Holder.HANDLERS, "download_request_async", _HANDLERS, "exchanges", Feature.EXCHANGES
    ),
    PrivateName(Holder.HANDLERS, "_get_handler", _HANDLERS, "exchanges", Feature.HANDLERS),
    PrivateName(Holder.HANDLERS, "_handlers", _HANDLERS, "exchanges", Feature.CONNECTIONS),
    PrivateName(Holder.HANDLER, "_session", _HANDLER, "exchanges", Feature.CONNECTIONS, "2.19"),
    PrivateName(
        Holder.CONNECTOR,
        "_limit",
        "aiohttp.BaseConnector",
        "exchanges",
        Feature.CONNECTIONS,
        "2.19",
    ),
    PrivateName(
        Holder.SIGNALS,
        "sender",
        "scrapy.signalmanager.SignalManager",
        "listeners",
        Feature.LISTENERS,
    ),
    PrivateName(
        Holder.DISPATCHER,
        "getAllReceivers",
        "pydispatch.dispatcher",
        "listeners",
        Feature.LISTENERS,
    ),
    PrivateName(
        Holder.PROXY_META,
        "_auth_proxy",
        "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware",
        "proxies",
        Feature.PROXIES,
    ),
)
