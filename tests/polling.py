"""Waiting for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import redis

from scrapy_rep.stores import StoreError


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something holds. After a failure of a store or of a server it is asked again."""
    end = time.monotonic() + seconds
    while True:
        with suppress(StoreError, redis.RedisError, OSError):
            if holds():
                return
        assert time.monotonic() < end, "nothing comes of it"
        time.sleep(0.02)
