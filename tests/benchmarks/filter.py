"""Measures `scrapy robots filter` beside a plain loop with Protego, each as a process of its own.

    python -m tests.benchmarks.filter [--urls 1000000] [--authorities 2000] [--rounds 3]

Both read the same files, from an archive and from a folder, and the same URLs, in random order, and
write what may be fetched to a file; start-up is included. The loop is what most people write:
urlsplit for the host, a dictionary of parsers, can_fetch. A second run on three times as many URLs
tells by how much the memory grows.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import inputs
from tests.commands.archive import write_archive
from tests.commands.running import SCRAPY, environment

LOOP = """
import sys
from pathlib import Path
from urllib.parse import urlsplit
from protego import Protego

folder, agent, parsers = Path(sys.argv[1]), sys.argv[2], {}
with open(sys.argv[3]) as urls:
    for url in urls:
        url = url.rstrip("\\n")
        host = urlsplit(url).netloc
        parser = parsers.get(host)
        if parser is None:
            text = (folder / f"https_{host}").read_text("utf-8", "replace")
            parser = parsers[host] = Protego.parse(text)
        if parser.can_fetch(url, agent):
            print(url)
"""
AGENT = "mybot"


class Cost(NamedTuple):
    """Seconds on the clock and of the processor, and the largest resident memory in octets."""

    seconds: float
    processor: float
    memory: int


def prepare(folder: Path, urls: int, authorities: int) -> Path:
    """Write a robots.txt for each authority, and URLs in random order; return where those are.

    The command reads the files from an archive, the loop from a folder.
    """
    rnd = random.Random(15)
    bodies = inputs.corpus(authorities, seed=15)
    robots = folder / "robots"
    robots.mkdir()
    each = max(1, -(-urls // authorities))
    found = []
    for number, body in enumerate(bodies):
        host = f"www.site-{number}.example"
        (robots / f"https_{host}").write_bytes(body)
        found += [
            url.replace("www.example.com", host)
            for url in inputs.urls(rnd, body, min(each, 50)) * (each // 50 + 1)
        ][:each]
    rnd.shuffle(found)
    date = "2026-01-01T00:00:00Z"
    files = [
        (f"https://www.site-{number}.example/robots.txt", date, 200, body)
        for number, body in enumerate(bodies)
    ]
    write_archive(folder / "robots.warc.gz", *files)
    file = folder / "urls.txt"
    file.write_text("".join(f"{url}\n" for url in found[:urls]))
    return file


def prepared(folder: Path, urls: int, authorities: int) -> Path:
    """The same in a process of its own: what a process forks begins with its peak of memory."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(prepare, folder, urls, authorities).result()


def run(command: list[str], out: Path) -> Cost:
    """One process; its cost."""
    started = time.perf_counter()
    with out.open("wb") as stdout:
        process = subprocess.Popen(command, stdout=stdout, env=environment())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each contender, and how the memory grows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--authorities", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        urls = prepared(folder, options.urls, options.authorities)
        robots, out = str(folder / "robots"), folder / "out"
        archive = str(folder / "robots.warc.gz")
        ours = [*SCRAPY, "robots", "filter", "--agent", AGENT, "--warc", archive]
        loop = [sys.executable, "-c", LOOP, robots, AGENT]
        best = {"scrapy robots filter": [], "loop with Protego": []}
        for _ in range(options.rounds):
            for contender, command in zip(best, (ours, loop), strict=True):
                best[contender].append(run([*command, str(urls)], out))
        for contender, costs in best.items():
            cost = min(costs)
            print(
                f"{contender:<22}{options.urls / cost.seconds:>12,.0f} URLs/s{cost.seconds:>8.2f} s"
                f"{cost.processor:>8.2f} s CPU{cost.memory / 1e6:>7.0f} MB"
            )
        clock = [min(cost.seconds for cost in costs) for costs in best.values()]
        processor = [min(cost.processor for cost in costs) for costs in best.values()]
        ratios = clock[1] / clock[0], processor[1] / processor[0]
        print("ratio {:.1f} by the clock, {:.1f} by the processor".format(*ratios))
        thrice = folder / "thrice.txt"
        with thrice.open("wb") as file:  # piece by piece, as a fork begins with this peak, too
            for _ in range(3):
                with urls.open("rb") as part:
                    shutil.copyfileobj(part, file)
        growth = run([*ours, str(thrice)], out).memory - min(best["scrapy robots filter"]).memory
        print(f"three times as many URLs: {growth / 1e6:+.0f} MB")


if __name__ == "__main__":
    main()
