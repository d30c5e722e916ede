"""A URL names the authority whose robots.txt governs it (RFC 9309 section 2.3)."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9]+(?:[/?#]|$))[^\s]")

LONGEST_NAME = 255
"""The most characters of a host: as many as DNS allows octets (RFC 1035 section 2.3.4). To encode
a name not in ASCII, Python takes quadratic time, seconds for 16 KB, and checks its length last."""

_ORIGINS_REMEMBERED = 8192
"""How many origins are kept with their authority: more than a crawl visits in turn. A look-up takes
a twentieth of the time of splitting a URL."""

_LONGEST_REMEMBERED = 300
"""The most characters of such an origin: a URL without a path, ``http://e.org?q=...``, is one as a
whole."""


class Authority(NamedTuple):
    """Scheme, host and effective port: the scope of one robots.txt (RFC 9309 section 2.3).

    ``host`` is lower case, without a trailing dot, IDNs in their ASCII form, IPv6 literals
    compressed and without brackets. User information is never part of it.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return the origin, without a default port: ``https://example.org``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def robots_uri(self) -> str:
        """The URI of the robots.txt: ``scheme://authority/robots.txt`` (RFC 9309 section 2.3)."""
        return f"{self}/robots.txt"

    def has_its_rules_at(self, url: str) -> bool:
        """Return whether a URL of this authority is the URL of its robots.txt.

        A default port, user information or a fragment does not make it another resource.
        """
        before, robots, after = url.partition("/robots.txt")
        if not robots or (after and after[0] != "#"):
            return False
        # A host may be followed by a query or a fragment that only looks like this path.
        host = before.partition("://")[2]
        return bool(host) and not any(mark in host for mark in "/?#\\")


def has_scheme(url: str) -> bool:
    """Return True for a URL that begins with a scheme (RFC 3986 section 3.1).

    ``localhost:8000/page`` begins with a host and a port, although ``localhost`` might be a scheme.
    """
    return _SCHEME.match(url) is not None


def authority_of(url: str) -> Authority | None:
    """Return the authority of an http or https URL, ``None`` for any other scheme.

    Raises ``ValueError`` for an http or https URL that names no usable host or port, and for a
    scheme that holds white space or control characters: some clients would ignore these.
    """
    # Only the part before the path matters; a URL without a path is looked up as a whole.
    end = url.find("/", 8)
    origin = url if end < 0 else url[:end]
    if len(origin) > _LONGEST_REMEMBERED:
        return _authority_of_origin.__wrapped__(origin)
    return _authority_of_origin(origin)


def usable_authority_of(url: str) -> Authority | None:
    """Return the authority of a URL, ``None`` also if it names no usable host or port."""
    try:
        return authority_of(url)
    except ValueError:
        return None


def authority_in(text: str) -> Authority | None:
    """Return the authority whose ``str()`` is ``text``, as in a key; ``None`` if there is none."""
    authority = usable_authority_of(text)
    return authority if str(authority) == text else None


@lru_cache(_ORIGINS_REMEMBERED)
def _authority_of_origin(origin: str) -> Authority | None:
    scheme = origin[: max(origin.find(":"), 0)].lower()
    if scheme not in DEFAULT_PORTS:
        if any(c <= " " for c in scheme):
            raise ValueError("white space in the scheme of the URL")
        return None
    try:
        parts = urlsplit(origin)
        port = parts.port
        host = _normal_host(parts.hostname or "")
    except ValueError:
        # What is wrong is not quoted: it may be part of a password.
        raise ValueError("no usable host and port in the URL") from None
    return Authority(scheme, host, DEFAULT_PORTS[scheme] if port is None else port)


def _normal_host(host: str) -> str:
    if ":" in host:
        return ipaddress.IPv6Address(host).compressed
    if len(host) > LONGEST_NAME:
        raise ValueError("the host is too long")
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    host = host.lower().removesuffix(".")
    if not host or host.endswith(".") or any(c <= " " or c == "\\" for c in host):
        raise ValueError("the host is empty, ends with two dots, or holds white space or a \\")
    return host
