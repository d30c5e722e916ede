"""What records cost a request whose rules are in memory: a log of refusals or of all, an archive.

``python -m tests.benchmarks.records [calls]`` prints microseconds per ``process_request``, the
least of interleaved rounds, and what that is more than without the steps for records.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from scrapy import Request

from tests.benchmarks.gate import CALLS, FILES, ROUNDS, _ours, _run, open_crawler
from tests.benchmarks.running import argument, in_a_loop

RECORDING: dict[str, Any] = {
    "DOWNLOADER_MIDDLEWARES": {"scrapy_rep.RepDownloaderMiddleware": 100},
    "EXTENSIONS": {"scrapy_rep.RepRecords": 0},
}


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
        name: _ours(await open_crawler("mybot", **RECORDING, **settings), body)
        for name, settings in kinds.items()
    }
    allows = await open_crawler("mybot", **RECORDING, **kinds["log of all"])
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


if __name__ == "__main__":
    in_a_loop(table(argument(CALLS)))
