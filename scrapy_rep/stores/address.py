"""Where a Redis server is, and how to speak of it without telling its password."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

import redis

from scrapy_rep.stores.uri import shown

_PLAIN_OPTIONS = frozenset({"db", "username", "password"})
_TEXT_LIMIT = 120

_NOT_A_URI = "not the URI of a Redis server"
_ENCODE = "something in it is malformed; in a password, @ / ? # and % must be percent-encoded"


class Connection(Protocol):
    """What is used of redis-py's connections, which have no types of their own."""

    def connect(self) -> object:
        """Connect, authenticate and select the database."""

    def disconnect(self) -> object:
        """Hang up."""

    def can_read(self, timeout: float) -> bool:
        """Whether there is anything to read. Raises ``redis.ConnectionError`` if hung up on."""

    def send_command(self, *command: Any) -> object:
        """Send one command."""

    def pack_commands(self, commands: Iterable[tuple[Any, ...]]) -> list[bytes]:
        """Return several commands as octets."""

    def send_packed_command(self, command: list[bytes]) -> object:
        """Send such octets."""

    def read_response(self) -> Any:
        """Return the next reply. Raises it if it is an error."""


class Address:
    """A ``redis://``, ``rediss://`` or ``unix://`` URI. Raises ``ValueError`` if it is not one.

    Besides ``db``, ``username`` and ``password`` its query may hold redis-py's ``ssl_`` options.
    """

    def __init__(self, uri: str) -> None:
        try:
            parts = urlsplit(uri)
            query = parse_qs(parts.query)
            parse: Callable[[str], dict[str, Any]] = redis.connection.parse_url
            self._options = parse(uri)
        except ValueError:  # it quotes what is wrong, which may be part of a password
            raise ValueError(f"{shown(uri)!r} is {_NOT_A_URI}: {_ENCODE}") from None
        try:
            self._check(parts.scheme, parts.path, query)
        except ValueError as error:
            raise ValueError(f"{shown(uri)!r} is {_NOT_A_URI}: {error}") from None
        self._text = shown(uri)
        given = {parts.username, parts.password}
        given |= {self._options.get("username"), self._options.get("password")}
        given |= {v for name, values in query.items() if name != "db" for v in values}
        given |= set(query) - _PLAIN_OPTIONS  # redis-py quotes the names that it does not know
        secrets = {secret for secret in given if secret}
        # The longest first: one may hold another.
        self._secrets = sorted(secrets | {unquote(s) for s in secrets}, key=len, reverse=True)
        kind = self._options.pop("connection_class", redis.connection.Connection)
        self._kind: Callable[..., Connection] = kind

    def __str__(self) -> str:
        return self._text

    @staticmethod
    def _check(scheme: str, path: str, query: dict[str, list[str]]) -> None:
        for name in query:
            if name not in _PLAIN_OPTIONS and not (name.startswith("ssl_") and scheme == "rediss"):
                raise ValueError(
                    "its options may be db, username and password, and with rediss:// ssl_..."
                )
        if scheme == "unix":
            if not path:
                raise ValueError("it has no path to a socket")
        elif path.strip("/") and not path.strip("/").isdecimal():
            raise ValueError("its path is not the number of a database")

    def connection(self, patience: float) -> Connection:
        """Return a connection, not yet connected, that waits ``patience`` seconds at each step."""
        return self._kind(
            **self._options,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            protocol=2,
        )

    def describe(self, error: BaseException) -> str:
        """Return one line of printable ASCII on ``error``, without credentials."""
        text = " ".join(str(error)[: 10 * _TEXT_LIMIT].split())
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = ascii(text)[1:-1]
        if len(text) > _TEXT_LIMIT:
            text = text[:_TEXT_LIMIT] + "..."
        return f"Redis at {self}: {type(error).__name__}: {text}"
