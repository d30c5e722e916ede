"""The URI of a store, and what may be shown of it: its scheme, hosts, ports and path.

A URI may hold a password in its user information, query or fragment, and a password that was not
percent-encoded ends up anywhere: in ``redis://:top#secret@host`` a parser finds the port ``top``.
So only the parts of a URI that can be read in just one way are shown: ``redis://...`` if only the
scheme is certain, ``...`` if nothing is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import unquote

from scrapy_rep.stores.stored import MONTH, PREFIX

if TYPE_CHECKING:
    from scrapy_rep.stores.base import Store


DISK_LIMIT = 1024 * 1024 * 1024

FILE = "robots.db"
"""The name of a SQLite file where a URI gives none."""

FILES = "use sqlite:NAME or sqlite:///PATH"


class UriOptions(NamedTuple):
    """What :func:`scrapy_rep.stores.open_store` is told beside the URI.

    ``disk_limit`` is in octets, and ``keep`` in seconds.
    """

    directory: Path
    disk_limit: int = DISK_LIMIT
    keep: float = MONTH
    prefix: str = PREFIX
    create: bool = True


class UriStore(Protocol):
    """A class whose stores are named by a URI."""

    @classmethod
    def open_uri(cls, uri: str, options: UriOptions) -> Store:
        """Return the store that ``uri`` names, which connects to nothing until it is used.

        Raises ``ValueError`` if ``uri`` names no store of this class.
        """


class Scheme(NamedTuple):
    """How the URI of a kind of store begins, and what opens it."""

    begins: str
    """With the slashes that hosts follow, if there are any."""
    store: str = ""
    """The path of its class, a :class:`UriStore`; none for memory, which the crawl itself keeps."""
    extra: str = ""
    """The extra of this package that the class needs."""
    is_file: bool = False
    """Whether the rest is the path of a file, and so holds no password."""


_SQLITE = "scrapy_rep.stores.sqlite.SqliteStore"
_REDIS = "scrapy_rep.stores.redis.RedisStore"
_SCHEMES = (
    Scheme("memory:"),
    Scheme("sqlite:", _SQLITE, is_file=True),
    Scheme("redis://", _REDIS, "redis"),
    Scheme("rediss://", _REDIS, "redis"),
    Scheme("unix://", _REDIS, "redis"),
    Scheme("redis+sentinel://", _REDIS, "redis"),
    Scheme("rediss+sentinel://", _REDIS, "redis"),
    Scheme("redis+cluster://", _REDIS, "redis"),
    Scheme("rediss+cluster://", _REDIS, "redis"),
)

SCHEMES = {scheme.begins.partition(":")[0]: scheme for scheme in _SCHEMES}
"""Schemes that stores know, by what precedes the colon. In any other URI, a user name may do so."""

_HIDDEN = "..."
_LONGEST = 120

_CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_HOST = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?"
_HOSTS = re.compile(f"{_HOST}(?:,{_HOST})*")


def redacted(value: object) -> str:
    """Return a ``REP_STORE`` without credentials, in ASCII; of anything but text, its type."""
    if not isinstance(value, str):
        return f"<{type(value).__name__}>"
    text = ascii(_certain(value.strip()))[1:-1]
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _HIDDEN


def scheme_of(uri: str) -> Scheme | None:
    """Return the scheme of a URI; None if stores do not know it, or if it is no URI."""
    name, colon, _ = uri.partition(":")
    return SCHEMES.get(name) if colon else None


def is_ambiguous(uri: str) -> bool:
    """Return True if it is unclear where the user information of ``uri`` ends."""
    return "@" in uri and _certain(uri.strip()).endswith(_HIDDEN)


def _certain(uri: str) -> str:
    """Return a URI without what may be a password; ``...`` at its end stands for what is hidden."""
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return uri if _CLASS_PATH.fullmatch(uri) or not uri else _HIDDEN
    known = SCHEMES.get(scheme)
    is_path = rest.startswith("///") or not ("@" in rest or "//" in rest)
    if known is not None and known.is_file and is_path:
        return f"{scheme}:{_without_query(rest)}"
    is_known = known is not None
    if rest.startswith("//") and (is_known or ("@" not in rest and _SCHEME.fullmatch(scheme))):
        return f"{scheme}://{_hosts_and_path(rest[2:])}"
    return f"{scheme}:{_HIDDEN if rest else ''}" if is_known else _HIDDEN


def _hosts_and_path(rest: str) -> str:
    """Return the hosts and the path of what follows ``//``, if they can be told apart."""
    user, _, rest = rest.rpartition("@")
    if any(c in user for c in "/?#"):  # the last "@" may be part of a password, path or query
        return _HIDDEN
    hosts, slash, path = _without_query(rest).partition("/")
    # Without a host, what looks like a port may be a password. A path on this machine needs none.
    certain = _HOSTS.fullmatch(hosts) or (slash and not hosts)
    return f"{hosts}{slash}{path}" if certain else _HIDDEN


def _without_query(text: str) -> str:
    return re.split("[?#]", text, maxsplit=1)[0]


def path_of(uri: str, directory: Path) -> Path:
    """Return the path of a file, which is in ``directory`` if it has only a name.

    Raises ``ValueError`` if the URI names no file.
    """
    rest = uri.partition(":")[2]
    if not any(mark in rest for mark in ("?", "#", "%00", "\0")):
        if rest.startswith("///") and not rest.endswith("/"):
            return Path(without_slash(unquote(rest[2:])))
        if "/" not in rest:
            return directory / (unquote(rest) or FILE)
    raise ValueError(f"{redacted(uri)!r} names no file: {FILES}, with %3F for ? and %23 for #")


def without_slash(path: str, system: str = sys.platform) -> str:
    """Return the absolute path of a URI; on Windows it begins with a drive, not with a slash."""
    return path[1:] if system == "win32" and re.match("/[A-Za-z]:/", path) else path
