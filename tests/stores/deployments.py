"""A master with a replica watched by Sentinels, and a cluster: real processes on loopback."""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import redis

from tests.polling import until
from tests.stores.servers import RedisServer, free_port

SLOTS = 16_384


def says(server: RedisServer, command: str, text: str, times: int = 1) -> bool:
    """The server's reply, as it is, holds the text this many times."""
    connection: Any = redis.Connection(port=server.port, protocol=2)
    try:
        connection.send_command(*command.split())
        return bool(connection.read_response().decode().count(text) == times)
    finally:
        connection.disconnect()


def port_and_bus() -> int:
    """A free port of a cluster's node, which speaks to the others on the one 10,000 above."""
    while True:
        port = free_port()
        with suppress(OSError, OverflowError), socket.socket() as sock:
            sock.bind(("127.0.0.1", port + 10_000))
            return port


def _directory(parent: Path, name: str) -> Path:
    directory = parent / name
    directory.mkdir()
    return directory


class SentinelDeployment:
    """Two servers, of which one is the master, and three Sentinels that watch them."""

    name = "robots"

    def __init__(self, directory: Path, given_up_after: int = 5_000) -> None:
        """A server that is silent for this many milliseconds counts as dead."""
        at_once = ["--repl-diskless-sync-delay", "0"]
        first = RedisServer(_directory(directory, "r0"), *at_once)
        replica = [*at_once, "--replicaof", "127.0.0.1", str(first.port)]
        self.servers = [first, RedisServer(_directory(directory, "r1"), *replica)]
        self.sentinels = []
        for number in range(3):
            place = _directory(directory, f"s{number}")
            port = free_port()
            config = place / "sentinel.conf"
            config.write_text(
                f"port {port}\nbind 127.0.0.1\ndir {place}\n"
                f"sentinel monitor {self.name} 127.0.0.1 {first.port} 2\n"
                f"sentinel down-after-milliseconds {self.name} {given_up_after}\n"
                f"sentinel failover-timeout {self.name} 2000\n"
            )
            self.sentinels.append(RedisServer(place, port=port, config=config))

    @property
    def uri(self) -> str:
        """The master's first database, whichever server that is."""
        places = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://{places}/{self.name}/0"

    def start(self) -> SentinelDeployment:
        """All run, and each Sentinel knows the replica and the other two."""
        for server in [*self.servers, *self.sentinels]:
            server.start()
        for sentinel in self.sentinels:
            with redis.Redis(port=sentinel.port) as client:
                until(partial(self._agreed, client))
        return self

    def _agreed(self, client: Any) -> bool:
        state = client.sentinel_masters()[self.name]
        return bool(
            state["num-slaves"] == 1
            and state["num-other-sentinels"] == 2
            and client.sentinel_slaves(self.name)[0]["master-link-status"] == "ok"
        )

    def master(self) -> RedisServer:
        """The server that the first Sentinel takes for the master."""
        with redis.Redis(port=self.sentinels[0].port) as client:
            _, port = client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name)
        return next(server for server in self.servers if server.port == int(port))

    def stop(self) -> None:
        """All are gone."""
        for server in [*self.sentinels, *self.servers]:
            server.stop()


class ClusterDeployment:
    """Three masters, each with a replica."""

    def __init__(self, directory: Path, given_up_after: int = 5_000) -> None:
        """A node that is silent for this many milliseconds counts as dead."""
        options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        options += ["--cluster-node-timeout", str(given_up_after)]
        options += ["--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"]
        self.servers = []
        for number in range(6):
            place = _directory(directory, f"n{number}")
            self.servers.append(RedisServer(place, *options, port=port_and_bus()))

    @property
    def uri(self) -> str:
        """Two of the nodes: the others are found by them."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{s.port}" for s in self.servers[:2])

    def start(self) -> ClusterDeployment:
        """All run and know each other, all slots are served, and all replicas have synchronised."""
        clients: list[Any] = []
        for server in self.servers:
            server.start()
            clients.append(redis.Redis(port=server.port, decode_responses=True))
        self._meet(clients[0])
        for number, client in enumerate(clients[:3]):
            slots = range(SLOTS * number // 3, SLOTS * (number + 1) // 3)
            client.execute_command("CLUSTER ADDSLOTS", *slots)
        ids = [client.execute_command("CLUSTER MYID") for client in clients]
        for number, client in enumerate(clients[3:]):
            client.execute_command("CLUSTER REPLICATE", ids[number])
        # That a node is a replica is to be known everywhere, or it is not chosen.
        for server in self.servers:
            until(partial(says, server, "CLUSTER INFO", "cluster_state:ok"))
            until(partial(says, server, "CLUSTER NODES", "slave", 3))
        for server in self.servers[3:]:
            until(partial(says, server, "INFO replication", "master_link_status:up"))
        for client in clients:
            client.close()
        return self

    def _meet(self, client: Any) -> None:
        """All know each other. A handshake that takes too long is given up, so they meet again."""
        for seconds in (10.0, 10.0, 60.0):
            for server in self.servers[1:]:
                client.execute_command("CLUSTER MEET", "127.0.0.1", server.port)
            with suppress(AssertionError):
                for server in self.servers:
                    until(partial(says, server, "CLUSTER INFO", "cluster_known_nodes:6"), seconds)
                return
        raise AssertionError("the nodes do not get to know each other")

    def master(self) -> RedisServer:
        """The server of the second third of the slots, as the first node has it."""
        with redis.Redis(port=self.servers[0].port, decode_responses=True) as client:
            ((_, _, (_, port, *_), *_),) = [
                slots
                for slots in client.execute_command("CLUSTER SLOTS")
                if slots[0] <= SLOTS // 2 <= slots[1]
            ]
        return next(server for server in self.servers if server.port == int(port))

    def stop(self) -> None:
        """All are gone."""
        for server in self.servers:
            server.stop()
