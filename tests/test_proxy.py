"""The proxy of the tests: any name and any port, plain or through a tunnel."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import urlsplit

from tests.proxy import Proxy
from tests.rawclient import rest
from tests.site import Site


def get(proxy: Proxy, target: str, host: str, tunnel: str = "") -> bytes:
    """What comes back for a GET by way of the proxy, through a tunnel if one is named."""
    address = urlsplit(proxy.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as sock:
        if tunnel:
            sock.sendall(f"CONNECT {tunnel} HTTP/1.1\r\nHost: {tunnel}\r\n\r\n".encode())
            assert sock.recv(1000).startswith(b"HTTP/1.1 200 ")
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            sock = context.wrap_socket(sock)
        with sock:
            request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            sock.sendall(request.encode())
            return rest(sock, timeout=30)


def test_a_plain_request_goes_to_the_authority_of_its_target(site: Site) -> None:
    """Case and a trailing dot of the host make no difference, the port does."""
    proxy = Proxy(site)
    shop = proxy.authority("http://example.org:8080", "of the shop")
    for host in ("example.org", "EXAMPLE.org", "example.org."):
        target = f"http://{host}:8080/robots.txt"
        assert get(proxy, target, f"{host}:8080").endswith(b"of the shop")
    assert [hit.target for hit in shop.robots_hits] == ["/robots.txt"] * 3
    assert proxy.hits == shop.hits


def test_a_tunnel_leads_to_the_https_authority(site: Site) -> None:
    """CONNECT, then TLS, then the authority of the Host header."""
    proxy = Proxy(site)
    proxy.authority("http://example.org", "plain")
    proxy.authority("https://example.org", "safe")
    reply = get(proxy, "/robots.txt", "example.org", tunnel="example.org:443")
    assert reply.endswith(b"safe")


def test_an_unknown_authority_is_a_stray(site: Site) -> None:
    """What nobody expected is answered with a 502 and remembered."""
    proxy = Proxy(site)
    assert get(proxy, "http://other.example/", "other.example").startswith(b"HTTP/1.1 502 ")
    assert proxy.strays == ["http://other.example/"]
