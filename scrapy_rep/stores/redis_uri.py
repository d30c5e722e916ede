"""The URI of a Redis server, of Sentinels or of a cluster, and error lines without its password."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import redis

from scrapy_rep.stores.uri import redacted

SENTINEL, CLUSTER = "sentinel", "cluster"

_PORTS = {"": 6379, SENTINEL: 26379, CLUSTER: 6379}
_PLAIN_OPTIONS = frozenset({"db", "username", "password"})
_SENTINEL_OPTIONS = frozenset({"sentinel_username", "sentinel_password"})
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:@/\[\]]*)(?::([0-9]{1,5}))?", re.ASCII)
_NUMBERED = re.compile(r"/?|/[0-9]+/?", re.ASCII)
_NAMED = re.compile(r"/([^/@]+)(?:/([0-9]+))?/?", re.ASCII)

_TEXT_LIMIT = 120
_MALFORMED = "something in it is malformed; in a password, @ / ? # and % must be percent-encoded"
_QUOTED = ", with args beginning with"


class RedisUri:
    """The address of a Redis server. Raises ``ValueError`` if ``uri`` is not one.

    - ``redis://HOST:PORT/DB``, ``rediss://`` the same over TLS, ``unix:///PATH?db=DB``;
    - ``redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB``, the hosts being Sentinels;
    - ``redis+cluster://HOST:PORT,HOST:PORT``, the hosts being any nodes of the cluster;
    - ``rediss+sentinel://`` and ``rediss+cluster://``, the same over TLS.

    The query may hold ``db``, ``username`` and ``password``, over TLS redis-py's ``ssl_`` options,
    and ``sentinel_username`` and ``sentinel_password`` where the Sentinels have different
    credentials.

    ``kind`` is :data:`SENTINEL`, :data:`CLUSTER`, or empty for a single server. ``addresses`` are
    pairs of host and port, ``service`` is the name of a Sentinel's service, and ``options`` and
    ``sentinel_options`` are arguments for redis-py.
    """

    def __init__(self, uri: str) -> None:
        self._text = redacted(uri)
        try:
            self._parse(uri)
        except ValueError as error:
            raise ValueError(f"{self._text!r} is not the URI of a Redis server: {error}") from None

    def __str__(self) -> str:
        return self._text

    def describe(self, error: BaseException) -> str:
        """Return one line of printable ASCII on ``error``, without credentials."""
        # A server without AUTH quotes its arguments, cut short at a NUL, for instance.
        text = str(error).partition(_QUOTED)[0]
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = ascii(" ".join(text[: 10 * _TEXT_LIMIT].split()))[1:-1]
        if len(text) > _TEXT_LIMIT:
            text = text[:_TEXT_LIMIT] + "..."
        return f"Redis at {self}: {type(error).__name__}: {text}"

    def _parse(self, uri: str) -> None:
        """Read ``uri``. Raises ``ValueError`` with a text that quotes none of it."""
        try:
            split = urlsplit(uri)
            query = dict(
                parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
            )
        except ValueError:
            raise ValueError(_MALFORMED) from None
        base, _, kind = split.scheme.partition("+")
        tls = base == "rediss"
        _check_options(set(query), kind, tls)
        if "#" in uri or (base == "unix" and not split.path.strip("/")):
            raise ValueError(_MALFORMED)
        user, at, written = split.netloc.rpartition("@")
        service, path = _service(split.path, kind) if base != "unix" else ("", split.path)
        named = written.split(",") if base != "unix" or written else []
        addresses = tuple(_address(each, kind) for each in named)
        if len(addresses) > 1 and not kind:
            raise ValueError("it names several hosts, but neither Sentinels nor a cluster")
        if base == "unix" and addresses:
            raise ValueError("a socket is on this machine: unix:///PATH")
        kept = "&".join(pair for pair in split.query.split("&") if not pair.startswith("sentinel_"))
        options = _options(f"{base}://{user}{at}{written.split(',')[0]}{path}?{kept}")
        if kind == CLUSTER and options.pop("db", 0) != 0:
            raise ValueError("a cluster has no databases but the first one")
        secrets = {split.username, split.password, options.get("username"), options.get("password")}
        # redis-py quotes the values of options, and the names that it does not know.
        secrets |= {value for name, value in query.items() if name != "db"}
        secrets |= set(query) - _PLAIN_OPTIONS
        self.kind, self.addresses, self.service = kind, addresses, service
        self.options = options | ({"ssl": True} if tls else {})
        self.sentinel_options = {
            name.removeprefix("sentinel_"): value
            for name, value in query.items()
            if name in _SENTINEL_OPTIONS
        }
        forms = {form for text in secrets if text for form in (text, unquote(text))}
        # The longest first, because one secret may contain another.
        self._secrets = sorted(forms, key=len, reverse=True)


def _check_options(names: set[str], kind: str, tls: bool) -> None:
    allowed = _PLAIN_OPTIONS | (_SENTINEL_OPTIONS if kind == SENTINEL else set())
    # The message does not name it, as it may be the end of a password with a ? in it.
    if any(name not in allowed and not (tls and name.startswith("ssl_")) for name in names):
        also = " and ssl_..." if tls else ""
        raise ValueError(f"its options may be {', '.join(sorted(allowed))}{also}")


def _address(text: str, kind: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[2] or 0) > 65_535 or (kind and not found[1]):
        raise ValueError(_MALFORMED)
    return found[1].strip("[]") or "localhost", int(found[2] or _PORTS[kind])


def _service(path: str, kind: str) -> tuple[str, str]:
    """Return the name of a Sentinel's service, and what of the path names the database."""
    if kind != SENTINEL:
        if not _NUMBERED.fullmatch(path):
            raise ValueError("its path is not the number of a database")
        return "", path
    found = _NAMED.fullmatch(path)
    if found is None:
        raise ValueError("its path is not /NAME/DB, the name of a service and a database")
    return unquote(found[1]), f"/{found[2] or 0}"


def _options(uri: str) -> dict[str, Any]:
    parse: Callable[[str], dict[str, Any]] = redis.connection.parse_url
    try:
        options = parse(uri)
    except ValueError:
        raise ValueError("the value of an option is wrong") from None
    for name in ("connection_class", "host", "port"):
        options.pop(name, None)
    return options
