"""The benchmarks as plots, drawn from the tables in ``docs/benchmarks``."""

from __future__ import annotations

import csv
from math import log10
from pathlib import Path

from docs.pictures.drawing import ACCENT, FAINT, Drawing

TABLES = Path(__file__).parent.parent / "benchmarks"
LEFT, RIGHT = 250, 690


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def matcher() -> Drawing:
    """The matcher beside Scrapy's default."""
    rows = [row for row in rows_of("matcher") if ", us" in row["input"] and row["protego"]]
    d = Drawing(760, 46 + 40 * len(rows))
    d.bar(LEFT, 12, 14, 10)
    d.text(LEFT + 20, 17, "scrapy_rep", anchor="start")
    d.bar(LEFT + 120, 12, 14, 10, colour=FAINT)
    d.text(LEFT + 140, 17, "Protego", anchor="start")
    for number, row in enumerate(rows):
        y = 40 + 40 * number
        d.text(LEFT - 12, y + 12, row["input"].removesuffix(", us"), anchor="end")
        for line, (name, colour) in enumerate((("scrapy_rep", ACCENT), ("protego", FAINT))):
            figure = float(row[name])
            width = (log10(figure) + 0.6) / 6 * (RIGHT - LEFT)
            d.bar(LEFT, y + 13 * line, width, 11, colour=colour)
            d.text(LEFT + width + 6, y + 13 * line + 6, f"{figure:,g}", anchor="start")
    return d


def stores() -> Drawing:
    """What it takes to put, get and miss an entry."""
    rows = rows_of("stores")
    d = Drawing(760, 20 + 62 * len(rows))
    for number, row in enumerate(rows):
        y = 10 + 62 * number
        d.text(LEFT - 72, y + 22, row["store"], anchor="end")
        for line, name in enumerate(("put", "get", "miss")):
            width = float(row[name]) / 200 * (RIGHT - LEFT)
            d.text(LEFT - 10, y + 16 * line + 6, name, anchor="end", colour=FAINT)
            d.bar(LEFT, y + 16 * line, width, 12, colour=ACCENT)
            d.text(LEFT + width + 6, y + 16 * line + 6, row[name], anchor="start")
    return d


PLOTS = (matcher, stores)
