"""Fixtures for all tests."""

from __future__ import annotations

import gc
import inspect
import signal
from collections.abc import Callable, Generator, Iterator
from typing import Any

import hypothesis
import pytest
import redis
import scrapy
from pytest_twisted import ensureDeferred

from tests import timed
from tests.rows import deep
from tests.site import Site
from tests.stores.servers import RedisServer, running_server

# A busy machine is no failure, and what fails, fails each time; the slow fuzz tests seek new cases.
hypothesis.settings.register_profile(
    "scrapy_rep", deadline=None, derandomize=True, max_examples=deep(40, 1_000)
)
hypothesis.settings.load_profile("scrapy_rep")


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but for two of Scrapy 2.14: how it asks for TLS, files left open."""
    ignored = "ignore:Passing method to twisted.internet.ssl:DeprecationWarning"
    config.addinivalue_line("filterwarnings", ignored)
    if scrapy.version_info < (2, 15):  # the files of its disk queues
        config.addinivalue_line("filterwarnings", "ignore:unclosed file:ResourceWarning")
    # A shell that runs the tests in the background has them ignore it, and with them the programs
    # that they interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(obj: object) -> None:
    """A test that is a coroutine runs in the reactor of the tests, without a decorator."""
    if inspect.iscoroutinefunction(obj):
        ensureDeferred(obj)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses: a timed test is a slow one. What may take longest begins first."""
    timed.complete(items)
    items.sort(key=_longest, reverse=True)  # or the last one would run alone


def _longest(item: pytest.Item) -> float:
    """Return how many seconds a test may take, where it says so."""
    limit = item.get_closest_marker("timeout")
    return float(limit.args[0]) if limit else 0.0


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No collection of garbage looks at the tests themselves, of which there are thousands.

    Not while they are found, which takes a sixth of that time, and not at the end of each crawl:
    there it is ten times as quick without them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture
def constants(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Other values of the constants of a module: `constants("frontier.turns", X=1.0)`."""

    def change(module: str, **values: object) -> None:
        for name, value in values.items():
            monkeypatch.setattr(f"scrapy_rep.{module}.{name}", value)

    return change


@pytest.fixture(scope="module")
def others_set_aside() -> None:
    """No collection of garbage in this module looks at what earlier ones have left.

    A worker holds a million objects in the end; without them a collection is ten times as quick.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A redis-server of the test's own, which it may stop."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def module_server() -> Iterator[RedisServer]:
    """A redis-server for all tests of a module that leave it running."""
    with running_server() as server:
        yield server


@pytest.fixture
def client(module_server: RedisServer) -> Iterator[Any]:
    """A client of that server, which is empty."""
    with redis.Redis(port=module_server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def site() -> Iterator[Site]:
    """A site of the test's own, without any authority yet."""
    with Site() as site:
        yield site
