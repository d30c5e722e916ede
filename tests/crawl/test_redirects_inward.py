"""A robots.txt cannot send the crawler into the network it runs in (RFC 9309 section 3)."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.plugin import NOTHING
from tests.crawl.test_redirects import visit
from tests.proxy import Proxy
from tests.replies import redirect
from tests.site import Script, Site
from tests.spellings import local_hosts


class Listener:
    """A port on every address of this machine; it counts who connects."""

    def __init__(self) -> None:
        self._sock = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port = self._sock.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._listen, name="listener", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + NOTHING.encode()
        while True:
            try:
                peer, _ = self._sock.accept()
            except OSError:
                return
            with peer:
                self.connections += 1
                peer.recv(65536)
                peer.sendall(answer)

    def close(self) -> None:
        """The port is closed."""
        self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._thread.join(5)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Where a crawl should never get to."""
    listener = Listener()
    yield listener
    listener.close()


_connects: list[Any] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _connects is not None and event == "socket.connect":
        _connects.append(arguments[1])


@contextmanager
def connections_made() -> Iterator[list[Any]]:
    """The addresses that this process connects to, wherever they are."""
    global _connects
    if not hasattr(sys, "_scrapy_rep_audit"):
        sys.addaudithook(_audit)
        sys._scrapy_rep_audit = True  # type: ignore[attr-defined]
    _connects = made = []
    try:
        yield made
    finally:
        _connects = None


def behind_a_proxy(proxy: Proxy, monkeypatch: pytest.MonkeyPatch, directly: list[str]) -> None:
    """The public Internet is behind the proxy; those hosts are asked directly."""
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", ",".join(directly))


@ensureDeferred
async def test_200_spellings_of_local_addresses_get_no_connection(
    site: Site, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public robots.txt cannot send the crawler to a host of its own network."""
    proxy = Proxy(site)
    hosts = local_hosts()
    ascii_forms = [host.strip("[]").lower() for host in hosts]
    behind_a_proxy(proxy, monkeypatch, [*ascii_forms, "127.0.0.1", "localhost", "::1"])
    plans = []
    for number, host in enumerate(hosts):
        target = f"http://{host}:{listener.port}/robots.txt".encode().decode("latin-1")
        proxy.authority(f"http://s{number}.example", redirect(target))
        plans.append(f"http://s{number}.example/a")
    with connections_made() as made:
        result = await visit(plans, CONCURRENT_REQUESTS=50)
    assert len(plans) >= 200
    assert result.unreachable == plans
    assert (listener.connections, proxy.strays) == (0, [])
    assert {f"http://{address[0]}:{address[1]}" for address in made} == {proxy.url}


@ensureDeferred
async def test_the_way_there_is_open_all_the_same(site: Site, listener: Listener) -> None:
    """The counterpart: from a local site those redirects are followed, and rules found."""
    shops = [
        site.authority(redirect(f"http://{host}:{listener.port}/robots.txt"))
        for host in ("127.0.0.1", "localhost")
    ]
    result = await visit([shop.url("/a") for shop in shops])
    assert len(result.forbidden) == 2
    assert listener.connections == 2


@ensureDeferred
async def test_a_chain_cannot_launder_its_origin(
    site: Site, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public to public to local is refused at the last hop."""
    proxy = Proxy(site)
    behind_a_proxy(proxy, monkeypatch, ["127.0.0.1"])
    last: Script = redirect(f"http://127.0.0.1:{listener.port}/robots.txt")
    proxy.authority("http://a.example", redirect("http://b.example/robots.txt"))
    proxy.authority("http://b.example", last)
    result = await visit(["http://a.example/x"])
    assert result.unreachable == ["http://a.example/x"]
    assert listener.connections == 0
