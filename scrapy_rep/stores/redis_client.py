"""redis-py's clients for a single server, a Sentinel's master and a cluster, behind one interface.

A store uses one in a thread (:class:`ClientThread`).

Some options are set explicitly, because the defaults of redis-py differ between versions 5 and 8:

- :meth:`Client.run` retries once, at once, and only after a broken connection. So a
  look-up survives a connection that is cut, whether idle, in use or half made, and a master that
  has become a replica. A timeout is not retried, because the answer would come too late.
- RESP2, because servers before version 6 know no other protocol.
- No ``CLIENT SETINFO``, which would cost two round trips for each connection.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from scrapy_rep.stores.redis_uri import CLUSTER, SENTINEL, RedisUri
from scrapy_rep.stores.stored import StoreError
from scrapy_rep.stores.thread import StoreThread, answer_of

Command = tuple[Any, ...]

# Parts of redis-py have no types.
_Sentinel: Any = Sentinel
_ClusterNode: Any = ClusterNode

WRONG_TYPE = "the Redis server answered with a value of a wrong type"

_KEY_OF_A_SCRIPT = 3
_SCAN_COUNT = 500


def _nameless() -> dict[str, None]:
    """Return the arguments for connections that do not tell the server redis-py's name."""
    known = inspect.signature(redis.Redis.__init__).parameters
    return (
        {"driver_info": None} if "driver_info" in known else {"lib_name": None, "lib_version": None}
    )


def open_client(uri: RedisUri, timeout: float) -> Client:
    """Return a client that waits ``timeout`` seconds for each step.

    A cluster is connected to at once, which blocks, and raises what redis-py raises.
    """
    common: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "protocol": 2,
        **_nameless(),
    }
    if uri.kind == CLUSTER:
        return ClusterClient(uri, common)
    common["retry"] = Retry(NoBackoff(), 0)
    if uri.kind == SENTINEL:
        return SentinelClient(uri, common)
    return Client(_single(uri, common))


def _single(uri: RedisUri, common: dict[str, Any]) -> Any:
    options = uri.options | common
    if "path" in options:
        return redis.Redis(unix_socket_path=options.pop("path"), **options)
    ((host, port),) = uri.addresses
    return redis.Redis(host, port, **options)


class Client:
    """A client of one server. Only one thread may run commands; any may :meth:`cut`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """Send the commands together; return their replies, some of which may be exceptions.

        Raises what redis-py raises, or any exception if a reply is garbled.
        """
        try:
            return self._run(commands)
        except redis.AuthenticationError:  # the same password would be refused again
            raise
        except redis.ConnectionError:
            return self._run(commands)

    def _run(self, commands: Sequence[Command]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command, **self._target(command))
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        errors = [reply for reply in replies if isinstance(reply, Exception)]
        if any("read only replica" in str(error) for error in errors):
            self.cut()  # it was the master; its name or address may be that of another one by now
        return replies

    def keys(self, pattern: str) -> Iterator[bytes]:
        """Yield the keys that match. A key may come twice."""
        return iter(self._client.scan_iter(match=pattern, count=_SCAN_COUNT))

    def cut(self) -> None:
        """Break all connections, also those in use."""
        self._client.connection_pool.disconnect()

    def close(self) -> None:
        """Close all connections."""
        # Another thread may have cut one: what redis-py raises then does not matter.
        with suppress(Exception):
            self.cut()
        with suppress(Exception):
            self._client.close()

    def _target(self, command: Command) -> dict[str, Any]:
        return {}


class SentinelClient(Client):
    """A client of the current master, which the Sentinels name."""

    def __init__(self, uri: RedisUri, common: dict[str, Any]) -> None:
        tls = {name: value for name, value in uri.options.items() if name.startswith("ssl")}
        self._sentinel = _Sentinel(
            uri.addresses,
            sentinel_kwargs=common | tls | uri.sentinel_options,
            **(uri.options | common),
        )
        super().__init__(self._sentinel.master_for(uri.service))

    def close(self) -> None:
        """Close the connections to the Sentinels, too."""
        super().close()
        for sentinel in self._sentinel.sentinels:
            with suppress(Exception):
                sentinel.close()


class ClusterClient(Client):
    """A client of all nodes of a cluster."""

    def __init__(self, uri: RedisUri, common: dict[str, Any]) -> None:
        super().__init__(
            RedisCluster(
                startup_nodes=[_ClusterNode(*address) for address in uri.addresses],
                retry=Retry(NoBackoff(), 1),
                # The nodes that are up are asked even if another one is down.
                require_full_coverage=False,
                **uri.options,
                **common,
            )
        )

    def cut(self) -> None:
        """Break all connections, also those in use."""
        self._client.disconnect_connection_pools()

    def _target(self, command: Command) -> dict[str, Any]:
        # If it is told the node, redis-py need not ask a server which arguments are keys.
        key = command[_KEY_OF_A_SCRIPT if command[0] == "EVAL" else 1]
        return {"target_nodes": self._client.get_node_from_key(key)}


class ClientThread(StoreThread):
    """Runs commands with a client of its own, which connects when the first one comes.

    It waits ``timeout`` seconds for each step. A call is a command, and a function that makes the
    answer of the reply, and raises ``StoreError`` if that is of a wrong type.
    """

    together = 128

    def __init__(self, uri: RedisUri, timeout: float) -> None:
        super().__init__()
        self._uri = uri
        self._timeout = timeout
        self._client: Client | None = None

    def answer(self, calls: list[tuple[Command, Callable[[Any], Any]]]) -> list[Any]:
        """Run the commands together."""
        replies: list[Any]
        try:
            if self._client is None:
                self._client = open_client(self._uri, self._timeout)
            replies = self._client.run([command for command, _ in calls])
        # Not only redis-py's exceptions: after a garbled reply its parser may raise any.
        except Exception as error:  # noqa: BLE001
            self.cut()
            if isinstance(error, redis.exceptions.RedisClusterException):
                # It knows no node for a key, or none that is there. The hosts of the URI know.
                self.end()
                self._client = None
            replies = [error] * len(calls)
        return [
            StoreError(self._uri.describe(reply))
            if isinstance(reply, Exception)
            else answer_of(convert, reply)
            for (_, convert), reply in zip(calls, replies, strict=True)
        ]

    def cut(self) -> None:
        """Break the connection: a thread that reads from it gets an error."""
        with suppress(Exception):  # what redis-py raises here meanwhile does not matter
            if self._client is not None:
                self._client.cut()

    def end(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
