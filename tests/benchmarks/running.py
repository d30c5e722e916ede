"""What several benchmarks need: a loop with an engine's reactor, and processes of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from scrapy.utils.reactor import install_reactor

Returned = TypeVar("Returned")


def in_a_loop(work: Coroutine[Any, Any, Returned]) -> Returned:
    """What a coroutine returns, in a loop as an engine needs it."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    return asyncio.get_event_loop_policy().get_event_loop().run_until_complete(work)


def in_a_process(benchmark: str, *arguments: str) -> Any:
    """What a benchmark prints as JSON when it is run with these arguments."""
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", *arguments]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(child.stdout)


def argument(default: int) -> int:
    """The first argument of the command, if there is one."""
    return int(sys.argv[1]) if len(sys.argv) > 1 else default
