"""The login of the proxy that a request is sent through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_rep.scrapy_internals.names import Feature

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.scrapy_internals.switches import Switches

_LOGIN_FOR = "_auth_proxy"


class Proxies:
    """What HttpProxyMiddleware leaves in a request that it has seen."""

    def __init__(self, on: Switches):
        self._on = on

    def login_of(self, page: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the meta and the headers that carry the login of the proxy of ``page``.

        A request that is retried has its login there, and no longer in the URL of its proxy.
        """
        if Feature.PROXIES not in self._on or _LOGIN_FOR not in page.meta:
            return {}, {}
        login = page.headers.get("Proxy-Authorization")
        return {_LOGIN_FOR: page.meta[_LOGIN_FOR]}, {"Proxy-Authorization": login}
