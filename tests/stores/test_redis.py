"""Entries on a Redis server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from scrapy_rep.protocol.policy import Entry
from scrapy_rep.stores.address import Address
from scrapy_rep.stores.base import KEEP_FAILURES, MONTH, StoreError
from scrapy_rep.stores.redis import RedisStore
from tests.stores.contract import SharedStoreContract, now
from tests.stores.samples import NOW, authority, entry, full_entry, gone, told
from tests.stores.servers import RedisServer, free_port
from tests.stores.tls import write_certificate


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    """Another client of the same server, which is empty at first."""
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        yield client


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of a sound server here is no matter of time, however busy the machine."""
    monkeypatch.setattr("scrapy_rep.stores.redis.PATIENCE", 10.0)


class TestRedisStore(SharedStoreContract):
    """The Redis store keeps the contract."""

    @pytest.fixture
    def place(self, redis_server: RedisServer, client: Any) -> str:
        """An empty server."""
        return redis_server.uri

    def make(self, place: Any) -> RedisStore:
        """A store on the first database."""
        return RedisStore(place, clock=now)


class TestRedisStoreOverASocket(SharedStoreContract):
    """The Redis store keeps the contract over a Unix socket, in a database of its own."""

    @pytest.fixture
    def place(self, redis_server: RedisServer, client: Any) -> str:
        """An empty server, by its socket."""
        return f"unix://{redis_server.socket}?db=3"

    def make(self, place: Any) -> RedisStore:
        """A store on the fourth database."""
        return RedisStore(place, clock=now)


@pytest.fixture
def store(redis_server: RedisServer, client: Any) -> Iterator[RedisStore]:
    """A store on an empty server."""
    store = RedisStore(redis_server.uri, clock=now)
    yield store
    store.close()


def seconds_left(client: Any, number: int) -> float:
    """For how long the server keeps the entry of that number."""
    return int(client.pttl(f"scrapy_rep:1:{authority(number)}")) / 1000


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (entry(), MONTH),
        (gone(), 86_400),
        (full_entry(), MONTH - 90_000.5),
        (Entry(failing_since=NOW, failed_at=NOW, failures=1, retry_at=NOW + 60), KEEP_FAILURES),
        (gone(at=NOW - 100_000), 60),
    ],
)
def test_the_server_drops_an_entry_when_it_is_of_no_more_use(
    store: RedisStore, client: Any, kept: Entry, expected: float
) -> None:
    """A good copy lives as long as it may be followed, any other as long as it says something."""
    store.put(authority(7), kept)
    store.flush()
    assert seconds_left(client, 7) == pytest.approx(expected, abs=5)


def test_all_keys_have_one_prefix_and_an_expiry(store: RedisStore, client: Any) -> None:
    """Entries and leases lie under `scrapy_rep:`, and none of them stays for ever."""
    store.put(authority(1), entry())
    assert told(store.lease(authority(2), 15.0))
    store.flush()
    keys = sorted(client.keys("*"))
    assert keys == [
        b"scrapy_rep:1:https://host-1.example",
        b"scrapy_rep:lease:https://host-2.example",
    ]
    assert 0 < client.pttl(keys[1]) <= 15_000
    assert client.pttl(keys[0]) > 0


def test_a_lease_expires_on_the_server(store: RedisStore) -> None:
    """A worker that died delays the others by no more than its lease."""
    assert told(store.lease(authority(), 0.2))
    assert told(store.lease(authority(), 0.2)) is None
    time.sleep(0.25)
    assert told(store.lease(authority(), 0.2))


def test_what_others_wrote_under_our_keys_is_a_miss(store: RedisStore, client: Any) -> None:
    """A foreign value is not read, and gives way; a foreign type is a StoreError."""
    key = f"scrapy_rep:1:{authority()}"
    for foreign in (b"", b"x", b"REP\x01", b"REP\x01" + b"\xff" * 40):
        client.set(key, foreign)
        assert told(store.get(authority())) is None
        store.put(authority(), entry())
        assert told(store.get(authority())) == entry()
    client.delete(key)
    client.lpush(key, b"x")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        told(store.get(authority()))
    store.put(authority(), entry())
    with pytest.raises(StoreError, match="WRONGTYPE"):
        store.flush()
    assert client.lrange(key, 0, -1) == [b"x"]


def test_a_put_that_failed_shows_at_the_next_one(store: RedisStore, client: Any) -> None:
    """A full server is told of at a later put; reading goes on."""
    store.put(authority(1), entry(1))
    store.flush()
    client.config_set("maxmemory", "1")
    try:
        store.put(authority(2), entry(2))
        assert store._link.idle(5)
        with pytest.raises(StoreError, match="OutOfMemory"):
            store.put(authority(3), entry(3))
        assert told(store.get(authority(1))) == entry(1)
    finally:
        client.config_set("maxmemory", "0")


def test_a_server_that_comes_back_is_used_again(tmp_path: Path) -> None:
    """A restarted server needs a new connection and nothing else."""
    server = RedisServer(tmp_path).start()
    store = RedisStore(server.uri, clock=now)
    try:
        store.put(authority(), entry())
        store.flush()
        server.stop()
        with pytest.raises(StoreError):
            told(store.get(authority()))
        server.start()
        assert told(store.get(authority())) is None
        store.put(authority(), entry())
        assert told(store.get(authority())) == entry()
    finally:
        store.close()
        server.stop()


def test_the_password_is_used_and_never_told(tmp_path: Path) -> None:
    """A right password opens; a wrong one is a StoreError that, as all texts, does not say it."""
    server = RedisServer(tmp_path, "--requirepass", "s3cr/t").start()
    try:
        right = RedisStore(f"redis://default:s3cr%2Ft@127.0.0.1:{server.port}/2", clock=now)
        right.put(authority(), entry())
        assert told(right.get(authority())) == entry()
        assert repr(right) == f"RedisStore('redis://127.0.0.1:{server.port}/2')"
        right.close()
        wrong = RedisStore(f"redis://:wr%2Fng@127.0.0.1:{server.port}/2", clock=now)
        with pytest.raises(StoreError) as told_of:
            told(wrong.get(authority()))
        assert "ng" not in str(told_of.value).replace("wrong", "").replace("NG pass", "")
        wrong.close()
    finally:
        server.stop()


def test_rediss_speaks_tls(tmp_path: Path) -> None:
    """A server's certificate is checked, unless the URI says otherwise, and its name is."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    write_certificate(key, certificate)
    port = free_port()
    options = [f"--tls-port {port}", f"--tls-cert-file {certificate}", f"--tls-key-file {key}"]
    options += ["--tls-auth-clients no"]
    server = RedisServer(tmp_path, *" ".join(options).split()).start()
    try:
        for query in (f"ssl_ca_certs={certificate}", "ssl_cert_reqs=none"):
            store = RedisStore(f"rediss://localhost:{port}/0?{query}", clock=now)
            store.put(authority(), entry())
            assert told(store.get(authority())) == entry()
            store.close()
        store = RedisStore(f"rediss://localhost:{port}/0", clock=now)
        with pytest.raises(StoreError, match="certificate"):
            told(store.get(authority()))
        store.close()
    finally:
        server.stop()


def test_errors_are_described_in_one_safe_line() -> None:
    """A server's own words are cut, put in ASCII, and freed of the credentials it may repeat."""
    address = Address("rediss://us%65r:p%40ss@h.example:1/5?ssl_cert_reqs=none")
    text = address.describe(OSError("AUTH user p@ss p%40ss\r\n\x1b[31m" + "é" * 5_000))
    assert text.startswith("Redis at rediss://h.example:1/5: OSError: AUTH *** *** *** \\x1b[31m")
    assert len(text) < 200
    assert text.isascii()
    assert text.isprintable()


@pytest.mark.parametrize(
    "uri",
    [
        "redis://h/x",
        "redis://h:port/0",
        "redis://h:99999/0",
        "redis://h/0?socket_timeout=100",
        "redis://h/0?decode_responses=1",
        "redis://user:secret@[::1/0",
        "redis://user:secret@h/0?db=x",
        "unix://",
        "unix:///sock?ssl_cert_reqs=none",
    ],
)
def test_a_bad_uri_is_a_value_error_without_credentials(uri: str) -> None:
    """What is wrong is said in one line, and the password is not."""
    with pytest.raises(ValueError, match="not the URI of a Redis server") as error:
        RedisStore(uri)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
