"""Compares the matcher with its peers, interleaved in one process.

    python -m tests.benchmarks.matcher [--files 400] [--csv FILE]

"First" is parse plus the first verdict, "warm" one later verdict, in microseconds; memory is what
one parsed file with one compiled crawler holds, in KB. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
import tracemalloc
import urllib.robotparser
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_rep import RobotsTxt
from tests.benchmarks import inputs
from tests.benchmarks.running import write_csv

MOMENT = 0.01
"""Seconds that a turn should not last much longer than."""
AGENT = "Scrapy/2.19.0 (+https://scrapy.org)"


class Contender(NamedTuple):
    """A matcher: how it parses, and how it is asked."""

    parse: Callable[[bytes], Any]
    ask: Callable[[Any, str], bool]


def contenders() -> dict[str, Contender]:
    """All peers that are installed, by name; ours is the first."""
    found = {
        "scrapy_rep": Contender(RobotsTxt.parse, lambda robots, url: robots.allowed(url, AGENT))
    }
    peers = {
        "protego": ("protego", _protego),
        "urllib": ("urllib.robotparser", _urllib),
        "robotexclusionrulesparser": ("robotexclusionrulesparser", _rerp),
        "robotspy": ("robots", _robotspy),
        "jwm.robotstxt": ("jwm", _jwm),
        "fastrobots": ("fastrobots", _fastrobots),
    }
    for name, (module, make) in peers.items():
        if find_spec(module) is None:
            print(f"{name} is not installed")
        else:
            found[name] = make()
    return found


def _text(body: bytes) -> str:
    return body.decode("utf-8", "ignore")


def _protego() -> Contender:
    parse = import_module("protego").Protego.parse
    return Contender(
        lambda body: parse(_text(body)), lambda robots, url: robots.can_fetch(url, AGENT)
    )


def _read_by(make: Callable[[], Any], given: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """How a parser that is made empty reads a file."""

    def parse(body: bytes) -> Any:
        robots = make()
        robots.parse(given(_text(body)))
        return robots

    return parse


def _urllib() -> Contender:
    parse = _read_by(urllib.robotparser.RobotFileParser, str.splitlines)
    return Contender(parse, lambda robots, url: robots.can_fetch(AGENT, url))


def _rerp() -> Contender:
    parser = import_module("robotexclusionrulesparser").RobotExclusionRulesParser
    return Contender(_read_by(parser, str), lambda robots, url: robots.is_allowed(AGENT, url))


def _robotspy() -> Contender:
    parser = import_module("robots").RobotsParser
    return Contender(
        lambda body: parser.from_string(_text(body)),
        lambda robots, url: robots.can_fetch(AGENT, url),
    )


def _jwm() -> Contender:
    """It keeps no parsed form: each question reads the file again."""
    matcher = import_module("jwm.robotstxt.googlebot").RobotsMatcher()
    ask = matcher.OneAgentAllowedByRobots
    return Contender(lambda body: body, lambda body, url: ask(body, "Scrapy", url))


def _fastrobots() -> Contender:
    """It is asked with the path of a URL. Its wheels are for Python 3.12 and later."""
    parse, path = import_module("fastrobots").Robots.parse, import_module("fastrobots").url_path
    return Contender(
        lambda body: parse(_text(body)), lambda robots, url: robots.allowed(path(url), "Scrapy")
    )


def measure(
    names: dict[str, Contender], body: bytes, urls: list[str], rounds: int = 3
) -> dict[str, dict[str, float]]:
    """Microseconds of a first and a warm verdict, by contender.

    Each takes its turn, round by round; the best time counts, as noise only adds. A turn is some
    times over, so that none pays for the caches that the contender before it has filled.
    """
    best = {what: dict.fromkeys(names, float("inf")) for what in ("first", "warm")}
    kept = {}
    for _ in range(rounds):
        for name, (parse, ask) in names.items():

            def begin(parse: Any = parse, ask: Any = ask) -> Any:
                robots = parse(body)
                ask(robots, urls[0])
                return robots

            kept[name] = begin()
            best["first"][name] = min(best["first"][name], turn(begin) * 1e6)
    for _ in range(rounds):
        for name, (_, ask) in names.items():

            def go_on(robots: Any = kept[name], ask: Any = ask) -> None:
                for url in urls:
                    ask(robots, url)

            go_on()
            best["warm"][name] = min(best["warm"][name], turn(go_on) / len(urls) * 1e6)
    return best


def turn(work: Callable[[], object]) -> float:
    """Seconds of the best of up to five times in a row, or of as many as fit into a moment."""
    best = float("inf")
    clock = time.perf_counter
    until = clock() + MOMENT
    for _ in range(5):
        begin = clock()
        work()
        end = clock()
        best = min(best, end - begin)
        if end > until:
            break
    return best


def memory(contender: Contender, bodies: list[bytes], urls: list[list[str]]) -> float:
    """KB that a parsed file holds after three questions, its octets included."""
    for body, asked in zip(bodies[:2], urls[:2], strict=True):
        contender.ask(contender.parse(body), asked[0])
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = []
    for body, asked in zip(bodies, urls, strict=True):
        robots = contender.parse(bytes(bytearray(body)))
        for url in asked[:3]:
            contender.ask(robots, url)
        kept.append(robots)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / len(kept) / 1024


def quantile(values: list[float], at: float) -> float:
    """The value below which a share of all values lie."""
    return sorted(values)[min(len(values) - 1, int(at * len(values)))]


Row = tuple[str, dict[str, float]]
"""One line of the table: what was measured, and the figure of each contender."""


def rows(names: dict[str, Contender], files: int) -> Iterator[Row]:
    """All lines of the table."""
    rnd = random.Random(0)
    bodies = inputs.corpus(files)
    asked = [inputs.urls(rnd, body) for body in bodies]
    results = [measure(names, body, urls) for body, urls in zip(bodies, asked, strict=True)]
    for what in ("first", "warm"):
        values = {name: [result[what][name] for result in results] for name in names}
        yield f"corpus mean, {what}, us", {n: statistics.fmean(v) for n, v in values.items()}
        yield f"corpus p90, {what}, us", {n: quantile(v, 0.9) for n, v in values.items()}
    kept = {name: contender for name, contender in names.items() if name != "jwm.robotstxt"}
    yield "corpus, memory, KB", {n: memory(c, bodies, asked) for n, c in kept.items()}
    for title, group, peers in (
        ("60 to 100 rules", inputs.typical(20), names),
        ("3,000 rules, 50 agents", [inputs.big()], names),
        ("20,000 prefix rules", [inputs.prefixes(20_000)], _quick(names)),
        ("20,000 wildcard rules", [inputs.floating(20_000)], _quick(names, "protego")),
    ):
        asked = [inputs.urls(rnd, body) for body in group]
        results = [measure(peers, body, urls) for body, urls in zip(group, asked, strict=True)]
        for what in ("first", "warm"):
            mean = {name: statistics.fmean(r[what][name] for r in results) for name in peers}
            yield f"{title}, {what}, us", mean
        if len(group) > 1 or "agents" in title:
            yield f"{title}, memory, KB", {n: memory(c, group, asked) for n, c in kept.items()}
    misses = [url for url in inputs.urls(rnd, b"") if "%" not in url]
    for number in (100, 1000, 20_000):
        result = measure(_quick(names, "protego"), inputs.prefixes(number), misses)
        yield f"{number:,} prefix rules, none hit, warm, us", result["warm"]


def _quick(names: dict[str, Contender], *others: str) -> dict[str, Contender]:
    """Ours, and those that get through huge files in a bearable time."""
    quick = ("scrapy_rep", *(others or ("protego", "urllib")))
    return {name: contender for name, contender in names.items() if name in quick}


def shown(value: float | None) -> str:
    """A figure with three digits that mean something."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    """Measures and prints, with the ratio of Protego's figure to ours; writes what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    names = contenders()
    table = [["input", *names, "protego / scrapy_rep"]]
    for title, figures in rows(names, options.files):
        ratio = figures.get("protego", 0) / figures["scrapy_rep"]
        cells = [shown(figures.get(name)) for name in names]
        table.append([title, *cells, f"{ratio:.1f}x" if ratio else ""])
        print(*table[-1], sep="; ", flush=True)
    write_csv(options.csv, table)


if __name__ == "__main__":
    main()
