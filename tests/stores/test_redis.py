"""Entries on a Redis server."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from scrapy_rep.access.entry import Entry
from scrapy_rep.stores.redis import RedisStore
from scrapy_rep.stores.redis_client import ClusterClient, open_client
from scrapy_rep.stores.redis_uri import RedisUri
from scrapy_rep.stores.stored import KEEP_CONCLUSIONS, KEEP_FAILURES, MONTH, PREFIX, StoreError
from tests.certificate import key_and_certificate
from tests.rows import rows
from tests.stores.contract import SharedStoreContract, now
from tests.stores.deployments import ClusterDeployment
from tests.stores.samples import (
    NOW,
    authority,
    entry,
    failure,
    full_entry,
    gone,
    keep,
    listed,
    refused,
    told,
)
from tests.stores.servers import RedisServer, free_port, running, running_server
from tests.stores.turn_contract import HOST, TurnContract, granted


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    """Another client of the same server, which is empty at first."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        yield client


Clock = Callable[[], float]


def flush(uri: str) -> None:
    """All keys are gone, on all servers that are meant."""
    client = open_client(RedisUri(uri), 10.0)
    try:
        if isinstance(client, ClusterClient):
            client._client.flushall(target_nodes="primaries")
        else:
            client._client.flushall()
    finally:
        client.close()


class TestRedisStore(SharedStoreContract, TurnContract):
    """The Redis store keeps the contract."""

    @pytest.fixture
    def place(self, redis_server: RedisServer, client: Any) -> str:
        """An empty server."""
        return redis_server.uri

    def make(self, place: Any, clock: Clock = now, prefix: str = PREFIX) -> RedisStore:
        """A store at that URI."""
        return RedisStore(place, clock=clock, prefix=prefix)

    def lose_memory(self, place: Any) -> None:
        """Somebody flushes the server."""
        flush(place)


def test_a_lease_that_comes_too_late_is_given_back(redis_server: RedisServer, client: Any) -> None:
    """A crawl that stops waits for no lease that it has asked for."""
    store = RedisStore(redis_server.uri)
    for number in range(20):
        store.lease(authority(number), 30.0)
    store.close()
    assert client.keys() == []


@pytest.mark.slow
class TestRedisStoreInACluster(TestRedisStore):
    """The Redis store keeps the contract in a cluster of three masters."""

    @pytest.fixture
    def place(self, cluster: ClusterDeployment) -> str:
        """An empty cluster, by two of its nodes."""
        flush(cluster.uri)
        return cluster.uri


@pytest.fixture
def store(redis_server: RedisServer, client: Any) -> Iterator[RedisStore]:
    """A store on an empty server."""
    store = RedisStore(redis_server.uri, clock=now)
    yield store
    store.close()


def test_a_store_may_be_reached_by_a_socket(redis_server: RedisServer, client: Any) -> None:
    """A Unix socket, and a database of its own: entries, leases and turns."""
    store = RedisStore(f"unix://{redis_server.socket}?db=3", clock=now)
    store.put(authority(), entry())
    assert told(store.get(authority())) == entry()
    assert told(store.lease(authority(), 15.0))
    assert told(store.lease(authority(), 15.0)) is None
    store.cancel_turn(HOST, granted(store, interval=0.1))
    store.close()
    assert client.dbsize() == 0


def test_a_server_that_has_become_a_replica_is_connected_to_anew(
    store: RedisStore, client: Any
) -> None:
    """After a failover the name of its host may be that of the new master."""
    keep(store, entry())
    client.replicaof("127.0.0.1", free_port())
    try:
        with pytest.raises(StoreError, match="read only replica"):
            keep(store, entry(at=NOW + 1))
        before = client.info("stats")["total_connections_received"]
        assert told(store.get(authority())) == entry()
        assert client.info("stats")["total_connections_received"] == before + 1
    finally:
        client.replicaof("NO", "ONE")


def seconds_left(client: Any, number: int) -> float:
    """For how long the server keeps the entry of that number."""
    return int(client.pttl(f"scrapy_rep:entry:{authority(number)}")) / 1000


@pytest.mark.parametrize(
    ("puts", "expected"),
    [
        *(([entry()], MONTH), ([gone()], KEEP_CONCLUSIONS), ([full_entry()], MONTH - 90_000.5)),
        *(([failure()], KEEP_FAILURES), ([gone(at=NOW - MONTH)], 60)),
        ([failure(at=NOW - 100), refused()], KEEP_CONCLUSIONS),
        ([entry(at=NOW - 100), failure()], MONTH - 100),
    ],
)
def test_the_server_drops_an_entry_when_it_is_of_no_more_use(
    store: RedisStore, client: Any, puts: list[Entry], expected: float
) -> None:
    """A key lives as long as any part of the entry is of use, however short-lived the last put."""
    for put in puts:
        store.put(authority(7), put, "crawler")
    store.flush()
    assert seconds_left(client, 7) == pytest.approx(expected, abs=5)


@pytest.mark.parametrize("prefix", ["scrapy_rep", "another project"])
def test_all_keys_have_one_prefix_and_an_expiry(
    redis_server: RedisServer, client: Any, prefix: str
) -> None:
    """Entries and leases lie under the prefix, and none of them stays for ever."""
    store = RedisStore(redis_server.uri, clock=now, prefix=prefix)
    store.put(authority(1), full_entry())
    store.put(authority(1), refused(), "0123abcd")
    assert told(store.lease(authority(2), 15.0))
    store.flush()
    keys = sorted(client.keys("*"))
    assert keys == [
        f"{prefix}:entry:https://host-1.example".encode(),
        f"{prefix}:lease:https://host-2.example".encode(),
    ]
    assert 0 < client.pttl(keys[1]) <= 15_000
    assert client.pttl(keys[0]) > 0
    assert sorted(client.hkeys(keys[0])) == [b"answer", b"failure", b"refusal 0123abcd"]
    store.close()


@pytest.mark.parametrize("foreign", [b"", b"x", b"REP\x01", b"REP\x01" + b"\xff" * 40])
def test_what_others_wrote_into_our_hashes_is_a_miss(
    store: RedisStore, client: Any, foreign: bytes
) -> None:
    """A foreign part is not read, and gives way."""
    key = f"scrapy_rep:entry:{authority()}"
    client.hset(key, "answer", foreign)
    client.hset(key, "failure", foreign)
    assert told(store.get(authority())) is None
    store.put(authority(), entry())
    assert told(store.get(authority())) == entry()


def test_a_foreign_type_under_our_key_is_a_store_error(store: RedisStore, client: Any) -> None:
    """What is no hash is left as it is."""
    key = f"scrapy_rep:entry:{authority()}"
    client.lpush(key, b"x")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        told(store.get(authority()))
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="WRONGTYPE"):
        store.flush()
    assert client.lrange(key, 0, -1) == [b"x"]


def test_a_listing_goes_on_past_a_key_of_another_type(
    store: RedisStore, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Another program has written it; a line names it."""
    client.set(f"scrapy_rep:entry:{authority(3)}", b"x")
    client.lpush(f"scrapy_rep:entry:{authority(4)}", b"x")
    store.put(authority(1), entry(1))
    assert listed(store) == {authority(1): entry(1)}
    assert store.find(authority(3)) is None
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 3
    assert all("is not a hash, and is passed over" in line for line in said)


def test_a_damaged_refusal_is_a_miss(store: RedisStore, client: Any) -> None:
    """RFC 9309 section 2.3.1.3: what another crawler was served would be permission."""
    store.put(authority(), entry(at=NOW - 10), "other")
    keep(store, refused(), crawler="mine")
    client.hset(f"scrapy_rep:entry:{authority()}", "refusal mine", b"damaged")
    assert told(store.get(authority(), "mine")) is None
    assert told(store.get(authority(), "other")) == entry(at=NOW - 10)


def test_a_put_that_failed_shows_at_the_next_one(store: RedisStore, client: Any) -> None:
    """A full server is told of at a later put; reading goes on."""
    keep(store, entry(1), 1)
    client.config_set("maxmemory", "1")
    try:
        store.put(authority(2), entry(2))
        assert store._thread.wait_until_idle(5)
        with pytest.raises(StoreError, match="OutOfMemory"):
            store.put(authority(3), entry(3))
        assert told(store.get(authority(1))) == entry(1)
    finally:
        client.config_set("maxmemory", "0")


def test_the_password_is_used_and_never_told() -> None:
    """A right password opens; a wrong one is a StoreError that, as all texts, does not say it."""
    with running_server("--requirepass", "s3cr/t") as server:
        right = RedisStore(f"redis://default:s3cr%2Ft@127.0.0.1:{server.port}/2", clock=now)
        right.put(authority(), entry())
        assert told(right.get(authority())) == entry()
        right.close()
        wrong = RedisStore(f"redis://:wr%2Fng@127.0.0.1:{server.port}/2", clock=now)
        with pytest.raises(StoreError) as told_of:
            told(wrong.get(authority()))
        assert "ng" not in str(told_of.value).replace("wrong", "").replace("NG pass", "")
        wrong.close()


@pytest.fixture
def tls(tmp_path: Path) -> list[str]:
    """The lines by which a redis-server speaks TLS with `certificate.pem` of that directory."""
    files = tmp_path / "key.pem", tmp_path / "certificate.pem"
    for file, pem in zip(files, key_and_certificate(), strict=True):
        file.write_bytes(pem)
    key, certificate = files
    lines = [f"tls-cert-file {certificate}", f"tls-key-file {key}"]
    return [*lines, f"tls-ca-cert-file {certificate}", "tls-auth-clients no", "tls-replication yes"]


def as_options(*lines: str) -> list[str]:
    """Lines of a configuration as words of a command line."""
    return " ".join(f"--{line}" for line in lines).split()


def test_rediss_speaks_tls(tmp_path: Path, tls: list[str]) -> None:
    """A server's certificate is checked, unless the URI says otherwise, and its name is."""
    certificate, port = tmp_path / "certificate.pem", free_port()
    with running_server(*as_options(*tls, f"tls-port {port}")):
        for query in (f"ssl_ca_certs={certificate}", "ssl_cert_reqs=none"):
            store = RedisStore(f"rediss://localhost:{port}/0?{query}", clock=now)
            store.put(authority(), entry())
            assert told(store.get(authority())) == entry()
            store.close()
        store = RedisStore(f"rediss://localhost:{port}/0", clock=now)
        with pytest.raises(StoreError, match="certificate"):
            told(store.get(authority()))
        store.close()


def test_sentinels_and_their_master_may_speak_tls_and_want_passwords(
    tmp_path: Path, tls: list[str]
) -> None:
    """`rediss+sentinel://` with two passwords: the master's and the Sentinel's own."""
    master_port, port, sentinel_port = free_port(), free_port(), free_port()
    options = as_options(*tls, f"tls-port {master_port}")
    config = tmp_path / "sentinel.conf"
    lines = [*tls, f"port {port}", f"tls-port {sentinel_port}", "bind 127.0.0.1"]
    lines += [f"dir {tmp_path}", 'requirepass "own"']
    lines += [f"sentinel monitor robots 127.0.0.1 {master_port} 1"]
    lines += ['sentinel auth-pass robots "master\'s"']
    config.write_text("\n".join(lines) + "\n")
    query = f"ssl_ca_certs={tmp_path}/certificate.pem&ssl_check_hostname=false"
    uri = f"rediss+sentinel://:master%27s@localhost:{sentinel_port}/robots/2?{query}"
    with (
        running_server(*options, "--requirepass", "master's") as server,
        running(RedisServer(tmp_path, port=port, config=config)),
    ):
        store = RedisStore(f"{uri}&sentinel_password=own", clock=now)
        keep(store, entry())
        assert told(store.get(authority())) == entry()
        assert listed(store) == {authority(): entry()}
        store.close()
        with redis.Redis(port=server.port, db=2, password="master's") as client:
            assert client.dbsize() == 1


def test_errors_are_described_in_one_safe_line() -> None:
    """A server's own words are cut, put in ASCII, and freed of the credentials it may repeat."""
    address = RedisUri("rediss://us%65r:p%40ss@h.example:1/5?ssl_cert_reqs=none")
    text = address.describe(OSError("AUTH user p@ss p%40ss\r\n\x1b[31m" + "é" * 5_000))
    assert text.startswith("Redis at rediss://h.example:1/5: OSError: AUTH *** *** *** \\x1b[31m")
    assert len(text) < 200
    assert text.isascii()
    assert text.isprintable()


@pytest.mark.parametrize(
    "password",
    ["s3cret" * 200, "s3cret%20%20x", "s3cret%09%0Ax", "s3cret%00x", "%C3%A9s3cret", "'s3cret'"],
)
def test_a_server_that_quotes_a_password_is_not_repeated(password: str) -> None:
    """A server without AUTH repeats its arguments, cut short and with other white space."""
    with running_server("--rename-command", "AUTH", "") as server:
        store = RedisStore(server.uri.replace("//", f"//:{password}@"), clock=now)
        for ask in (lambda: told(store.get(authority())), lambda: listed(store)):
            with pytest.raises(StoreError, match="unknown command") as caught:
                ask()
            assert "s3cret" not in "".join(traceback.format_exception(caught.value))
        store.close()


def test_an_iteration_raises_nothing_but_store_errors() -> None:
    """What redis-py makes of an option that it does not know is said without its name."""
    store = RedisStore("rediss://127.0.0.1:1/0?ssl_s3cret=1", clock=now)
    with pytest.raises(StoreError) as caught:
        listed(store)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    store.close()


@rows(
    "uri",
    *("redis://h/x", "redis://h:port/0", "redis://h:99999/0", "redis://h1,h2/0"),
    *("redis://h/0?socket_timeout=100", "redis://h/0?decode_responses=1"),
    *("redis://user:s3cret@[::1/0", "redis://user:s3cret@h/0?db=x"),
    "redis://user:s3cret@h/0?password",
    *("unix://", "unix://host/sock", "unix:///sock?ssl_cert_reqs=none"),
    *("redis+sentinel://h1,h2", "redis+sentinel://h1,h2/name/x", "redis+sentinel:///name/0"),
    *("redis+sentinel://h1,,h2/name/0", "redis+sentinel://h1/name/0?ssl_cert_reqs=none"),
    *("redis+cluster://h1/1", "redis+cluster://h1/?db=1"),
    "redis+cluster://h1?sentinel_password=s3cret",
)
def test_a_bad_uri_is_a_value_error_without_credentials(uri: str) -> None:
    """RFC 3986 section 3.2.1: what is wrong is said in one line that quotes nothing."""
    with pytest.raises(ValueError, match="not the URI of a Redis server") as error:
        RedisUri(uri)
    said = str(error.value)
    assert not [part for part in ("s3cret", "user", "12") if part in said.replace("username", "")]
    assert said.isprintable()


@rows(
    "uri, text, places",
    ("redis://u:s3cret@h:1/2?password=s3cret", "redis://h:1/2", [("h", 1)]),
    ("redis:///1", "redis:///1", [("localhost", 6379)]),
    ("rediss://[::1]:7/0?ssl_cert_reqs=none", "rediss://[::1]:7/0", [("::1", 7)]),
    ("unix://u:s3cret@/a/b?db=3", "unix:///a/b", []),
    (
        "redis+sentinel://:s3cret@a,b:1,[::1]/n%20m/3?sentinel_password=s3cret",
        "redis+sentinel://a,b:1,[::1]/n%20m/3",
        [("a", 26379), ("b", 1), ("::1", 26379)],
    ),
    ("rediss+cluster://u:s3cret@a:1,b", "rediss+cluster://a:1,b", [("a", 1), ("b", 6379)]),
)
def test_a_uri_is_told_by_scheme_hosts_ports_and_path(
    uri: str, text: str, places: list[tuple[str, int]]
) -> None:
    """RFC 3986 section 3.2.1: neither the user's name nor the query is shown."""
    address = RedisUri(uri)
    assert str(address) == text
    assert list(address.addresses) == places
    if "s3cret" in uri:
        assert address.describe(OSError("AUTH s3cret")) == f"Redis at {text}: OSError: AUTH ***"


def test_a_sentinel_uri_names_service_and_database() -> None:
    """The Sentinels have credentials of their own, or none."""
    parts = RedisUri("redis+sentinel://u:p@a/n%20m/3?sentinel_password=q")
    assert parts.service == "n m"
    assert parts.options == {"username": "u", "password": "p", "db": 3}
    assert parts.sentinel_options == {"password": "q"}


@pytest.mark.slow
def test_in_a_cluster_an_entry_and_its_lease_lie_on_one_node(cluster: ClusterDeployment) -> None:
    """What was put before a lease ended is then seen: one node does both, in order."""
    store = RedisStore(cluster.uri, prefix="pairs")
    for number in range(20):
        store.put(authority(number), entry(number))
        assert told(store.lease(authority(number), 60.0))
    store.flush()
    on_nodes = []
    for server in cluster.servers[:3]:
        with redis.Redis(port=server.port, decode_responses=True) as client:
            names = client.keys("pairs:*")
        on_nodes.append(sorted(name.split(":", 2)[2] for name in names))
    assert all(names and names[::2] == names[1::2] for names in on_nodes)
    assert sum(map(len, on_nodes)) == 40
    store.close()


@pytest.mark.slow
def test_a_cluster_that_was_asked_too_early_is_asked_again(cluster: ClusterDeployment) -> None:
    """While a cluster is being made, a node knows a part of the slots."""
    store = RedisStore(cluster.uri, prefix="early")
    assert told(store.get(authority())) is None
    client: Any = store._thread._client
    client._client.nodes_manager.slots_cache.clear()
    with pytest.raises(StoreError, match="not covered"):
        told(store.get(authority()))
    assert told(store.get(authority())) is None
    store.close()
