"""The benchmarks as plots, drawn from the tables in ``docs/benchmarks``."""

from __future__ import annotations

import csv
from collections.abc import Callable
from math import log10
from pathlib import Path

from docs.pictures.drawing import ACCENT, FAINT, GOOD, Drawing

TABLES = Path(__file__).parent.parent / "benchmarks"
LEFT, RIGHT = 250, 690
COLOURS = (ACCENT, FAINT, GOOD)
BAR, GAP = 13, 14

Row = dict[str, str]


def rows_of(name: str) -> list[Row]:
    """Return the rows of a table."""
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def bars(
    rows: list[Row], columns: dict[str, str], share: Callable[[float], float] | None = None
) -> Drawing:
    """Draw a group of bars for each row, and in it a bar for each column.

    The first cell of a row names the group; ``columns`` names each column in the legend. ``share``
    says how much of the width a figure takes, by default in proportion to the largest one.
    """
    most = max(float(row[column]) for row in rows for column in columns)
    height = BAR * len(columns) + GAP
    d = Drawing(760, 32 + height * len(rows))
    x = LEFT
    for colour, words in zip(COLOURS, columns.values(), strict=False):
        d.bar(x, 6, 14, 10, colour=colour)
        d.text(x + 20, 11, words, anchor="start")
        x += 40 + 7 * len(words)
    for number, row in enumerate(rows):
        y = 32 + height * number
        d.text(LEFT - 12, y + BAR * len(columns) / 2, next(iter(row.values())), anchor="end")
        for line, (column, colour) in enumerate(zip(columns, COLOURS, strict=False)):
            figure = float(row[column])
            width = (figure / most if share is None else share(figure)) * (RIGHT - LEFT)
            d.bar(LEFT, y + BAR * line, width, BAR - 2, colour=colour)
            d.text(LEFT + width + 6, y + BAR * line + 5.5, f"{figure:,g}", anchor="start")
    return d


def matcher() -> Drawing:
    """The matcher beside Scrapy's default, on a logarithmic scale from 0.25 microseconds on."""
    rows = [row for row in rows_of("matcher") if ", us" in row["input"] and row["protego"]]
    rows = [{**row, "input": row["input"].removesuffix(", us")} for row in rows]
    columns = {"scrapy_rep": "scrapy_rep", "protego": "Protego"}
    return bars(rows, columns, lambda figure: (log10(figure) + 0.6) / 6)


def stores() -> Drawing:
    """What it takes to put, get and miss an entry."""
    return bars(rows_of("stores"), {"put": "put", "get": "get", "miss": "miss"})


def pages() -> Drawing:
    """What page directives and usage preferences cost a page."""
    return bars(rows_of("pages"), {"report": "report", "obey": "obey"})


def frontier_cost() -> Drawing:
    """What a request costs the scheduler, by the number of sites, on a logarithmic scale."""
    kinds = rows_of("frontier")
    name, *counts = kinds[0]
    columns = {row[name]: row[name] for row in kinds}
    rows = [{"": f"{n} sites", **{row[name]: row[n] for row in kinds}} for n in counts]
    whole = [row for row in rows if all(row.values())]
    return bars(whole, columns, lambda figure: log10(figure) / 6)


def filtering() -> Drawing:
    """How many URLs a second the command and a plain loop filter."""
    return bars(rows_of("filter"), {"URLs a second": "URLs a second"})


def crawl_cost() -> Drawing:
    """What a page costs a crawl without robots.txt, with Scrapy's own middleware and with ours."""
    columns = {"off": "robots.txt off", "scrapy": "Scrapy's own", "scrapy_rep": "scrapy_rep"}
    return bars(rows_of("crawl"), columns)


def gate() -> Drawing:
    """What the check of a request costs whose rules are in memory."""
    return bars(rows_of("gate"), {"scrapy_rep": "scrapy_rep", "scrapy": "Scrapy's own"})


def records() -> Drawing:
    """What records add to the check of a request."""
    columns = {"crawl": "in the thread of the crawl", "all": "in all threads"}
    return bars(rows_of("records"), columns)


def memory() -> Drawing:
    """By how much the process of a crawl grew."""
    return bars(rows_of("memory"), {"MiB": "MiB"})


def stall() -> Drawing:
    """How many times as long the pages of plain sites take beside sites that have to wait."""
    columns = {"ours": "as without the others", "off": "as with robots.txt off"}
    return bars(rows_of("stall"), columns)


def cluster() -> Drawing:
    """How long workers take for the pages of plain sites, by the queue that they share."""
    columns = ("ours", "PriorityQueue, off", "FifoQueue, off")
    return bars(rows_of("cluster"), {f"{queue}, s": queue for queue in columns})


def broad() -> Drawing:
    """How many pages a second a processor crawls, by the number of sites."""
    found = rows_of("broad")
    kinds = {"off": "robots.txt off", "built-in": "Scrapy's own", "scrapy_rep": "scrapy_rep"}
    counts = dict.fromkeys(row["sites"] for row in found)
    rows = [
        {
            "": f"{count} sites",
            **{r["robots.txt"]: r["pages/s of CPU"] for r in found if r["sites"] == count},
        }
        for count in counts
    ]
    return bars([row for row in rows if kinds.keys() <= row.keys()], kinds)


def restart() -> Drawing:
    """What a page of an authority costs that an earlier crawl has visited."""
    return bars(rows_of("restart"), {"page": "microseconds"})


def full_store() -> Drawing:
    """How long a look-up in a full SQLite file takes, on a logarithmic scale from 1 us on."""
    columns = {"p50": "half of them", "p99": "99 of 100"}
    return bars(rows_of("full_store"), columns, lambda figure: log10(figure) / 4)


PLOTS = (
    matcher,
    crawl_cost,
    gate,
    records,
    memory,
    stall,
    cluster,
    broad,
    frontier_cost,
    pages,
    filtering,
    stores,
    full_store,
    restart,
)
