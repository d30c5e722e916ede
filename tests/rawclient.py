"""A client on a raw socket, which sees the octets that the test site sends."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from tests.site import Authority


def connect(authority: Authority) -> socket.socket:
    """A connection of the test to that authority."""
    sock = socket.create_connection((authority.host, authority.port), timeout=30)
    if authority.scheme == "http":
        return sock
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(sock)


def ask(sock: socket.socket, path: str = "/robots.txt", connection: str = "keep-alive") -> None:
    """A GET goes out."""
    lines = [f"GET {path} HTTP/1.1", "Host: here", "X-One: 1", f"Connection: {connection}"]
    sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())


def answer(authority: Authority, path: str = "/robots.txt", enough: int = 1 << 20) -> bytes:
    """All the octets that come back until the end, or `enough` of them."""
    with connect(authority) as sock:
        ask(sock, path, "close")
        return rest(sock, enough, timeout=30)


def rest(
    sock: socket.socket, enough: int = 1 << 20, timeout: float = 1, first: float = 30
) -> bytes:
    """What still comes: it ends with the connection, with silence, or with `enough`.

    The first octets may take `first` seconds, each further piece `timeout`.
    """
    sock.settimeout(first)
    octets = b""
    with suppress(TimeoutError):
        while len(octets) < enough and (piece := sock.recv(65536)):
            octets += piece
            sock.settimeout(timeout)
    return octets


def ended(sock: socket.socket) -> bool:
    """Whether the server has closed."""
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
