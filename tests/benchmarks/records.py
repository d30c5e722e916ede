"""What records cost a request whose rules are in memory: a log of refusals or of all, an archive.

``python -m tests.benchmarks.records [calls]`` prints microseconds per ``process_request``, the
least of interleaved rounds, and what that is more than without the steps for records.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.utils.reactor import install_reactor

from tests.benchmarks.gate import FILES, _ours, _run, open_crawler

ROUNDS = 15
CALLS = 4_000


async def measure(calls: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Return the microseconds per request of this thread, and of all, for each kind of records."""
    log, archive = str(folder / "decisions.jsonl"), str(folder / "robots.warc.gz")
    kinds: dict[str, dict[str, Any]] = {
        "off": {},
        "archive": {"REP_WARC": archive},
        "log of refusals": {"REP_DECISION_LOG": log},
        "log of all": {"REP_DECISION_LOG": log, "REP_DECISIONS": "all"},
    }
    body = FILES["80 rules"]
    gates = {
        name: _ours(await open_crawler("mybot", **settings), body)
        for name, settings in kinds.items()
    }
    allows = await open_crawler("mybot", **kinds["log of all"])
    gates["log of all, Allow rules"] = _ours(allows, body + b"Allow: /\n")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in gates}
    for _ in range(ROUNDS):
        for name, gate in gates.items():
            requests = [Request(f"https://example.org/shop/{n}.html") for n in range(calls)]
            own, everything = time.thread_time(), time.process_time()
            _run(gate.process_request, requests)
            spent = time.thread_time() - own, time.process_time() - everything
            taken[name].append((spent[0] / calls * 1e6, spent[1] / calls * 1e6))
    for gate in gates.values():
        gate._spider_closed("finished")
    return {
        name: (min(own for own, _ in several), min(everything for _, everything in several))
        for name, several in taken.items()
    }


async def table(calls: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        found = await measure(calls, Path(folder))
    least, least_of_all = found["off"]
    print(f"{'':24}{'crawl':>9}{'more':>9}{'all':>9}{'more':>9}   (us)")
    for name, (own, everything) in found.items():
        more, more_of_all = own - least, everything - least_of_all
        print(f"{name:24}{own:9.2f}{more:+9.2f}{everything:9.2f}{more_of_all:+9.2f}")


def main(arguments: list[str]) -> None:
    """In a loop, which an engine needs."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    loop = asyncio.get_event_loop_policy().get_event_loop()
    loop.run_until_complete(table(int(arguments[0]) if arguments else CALLS))


if __name__ == "__main__":
    main(sys.argv[1:])
