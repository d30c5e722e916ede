"""Requests that were read ahead, by site."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.settings import Settings

from scrapy_rep.frontier.front import Front


def pushed(front: Front, key: str, *priorities: int) -> list[Request]:
    """Requests of a site with these priorities, in the order of the base."""
    requests = [Request(f"http://{key}/{n}", priority=p) for n, p in enumerate(priorities)]
    for request in requests:
        front.requests[request] = None
        front.push(key, request)
    return requests


def test_a_site_has_the_order_of_the_base_by_priority() -> None:
    """Its next request has the highest priority."""
    front = Front(Settings())
    requests = pushed(front, "a", 0, 2, 0, 2, -1)
    tops, found = [], []
    while (top := front.top("a")) is not None:
        tops.append(top)
        found.append(front.take("a"))
    assert tops == [2, 2, 0, 0, -1]
    assert found == [requests[number] for number in (1, 3, 0, 2, 4)]
    assert front.take("a") is None


def test_each_site_has_its_own_requests() -> None:
    """What is taken stays among all of them: it is given back at the close."""
    front = Front(Settings())
    (first,), (second,) = pushed(front, "a", 0), pushed(front, "b", 5)
    assert (front.top("a"), front.top("b"), front.top("c")) == (0, 5, None)
    assert front.take("c") is None
    assert front.take("a") is first
    assert front.top("a") is None
    assert front.take("b") is second
    assert list(front.requests) == [first, second]
    (third,) = pushed(front, "a", 1)
    assert front.take("a") is third


def test_a_front_that_is_full_names_what_to_set(caplog: pytest.LogCaptureFixture) -> None:
    """Over scrapy-redis that is the class of its queue; it is said once."""
    settings = Settings({"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "CONCURRENT_REQUESTS": 1})
    settings["SCHEDULER_QUEUE_CLASS"] = "scrapy_redis.queue.FifoQueue"
    front = Front(settings)
    assert not front.is_full()
    pushed(front, "a", 0, 0, 0, 0)
    assert front.is_full()
    assert front.is_full()
    [line] = [record.getMessage() for record in caplog.records]
    assert 'SCHEDULER_QUEUE_CLASS = "scrapy_redis.queue.FifoQueue" has one queue for all' in line
    assert line.endswith('"scrapy_rep.redis_queue.HostQueue" has one for each')
