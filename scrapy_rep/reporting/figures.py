"""Figures as SVG that takes its fonts and colours from the page around it.

matplotlib lays out each figure twice: for a wide page, and for a phone. The style sheet of the page
shows one of them. Colours are drawn as placeholders, which become the CSS variables of the page, so
that the figures follow its light and dark looks. Nothing in them depends on the time, the machine
or the user's own settings of matplotlib.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from io import BytesIO
from typing import Any, Final, NamedTuple, TypeAlias

from lxml import etree
from matplotlib import rc_context, rcParamsDefault
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scrapy_rep.reporting.text import clipped, shown

_INK, _FAINT, _GRID, _EMPTY = "#010101", "#020202", "#030303", "#040404"
ALLOWED, REFUSED, UNREACHABLE = "#050505", "#060606", "#070707"
_VARIABLES: Final = {
    _INK: "var(--ink)",
    _FAINT: "var(--faint)",
    _GRID: "var(--rule)",
    _EMPTY: "var(--sunken)",
    ALLOWED: "var(--allowed)",
    REFUSED: "var(--refused)",
    UNREACHABLE: "var(--unreachable)",
}
"""Placeholders, and what the page calls the colours."""

_SETTINGS: Final[dict[str, Any]] = {
    "font.family": ["DejaVu Sans"],
    "svg.fonttype": "none",
    "svg.hashsalt": "scrapy_rep",
    "text.parse_math": False,
    "text.usetex": False,
    "path.simplify": False,
}
_WIDE, _NARROW = 864, 368
"""Widths in pixels of the page: the text of a figure is as large as that of the page."""

_FIRST_SECOND = datetime.min.replace(tzinfo=timezone.utc).timestamp()
_LAST_SECOND = datetime.max.replace(tzinfo=timezone.utc).timestamp() - 1
"""The times that can be written; the columns of a damaged log may go beyond them."""

Draw: TypeAlias = Callable[[Any, int], None]
"""Draws a figure of a width on axes whose unit is the pixel."""

_SVG = "{http://www.w3.org/2000/svg}"
_MOST_CHARACTERS = {_WIDE: 100, _NARROW: 42}


class Part(NamedTuple):
    """A part of a bar: how long it is, and its colour."""

    size: float
    colour: str


class Bar(NamedTuple):
    """One row: a name, a figure in words, and the parts of its bar."""

    name: str
    said: str
    parts: tuple[Part, ...]


class Row(NamedTuple):
    """One row of a chart of times: a name, some words, and intervals in seconds since the epoch."""

    name: str
    said: str
    intervals: tuple[tuple[float, float], ...]


def bars(title: str, description: str, rows: Sequence[Bar]) -> str:
    """Return a chart of horizontal bars."""
    longest = max(sum(part.size for part in row.parts) for row in rows)

    def draw(axes: Any, width: int) -> None:
        axes.set(xlim=(0, width), ylim=(len(rows) * 38, 0))
        for number, row in enumerate(rows):
            _named(axes, width, number, row.name, row.said)
            left = 0.0
            for part in row.parts:
                size = part.size / longest * width
                _box(axes, left, number * 38 + 18, size, part.colour)
                left += size

    return _both(title, description, draw, len(rows) * 38)


def times(title: str, description: str, rows: Sequence[Row], start: float, end: float) -> str:
    """Return a chart that shows when something was the case."""
    height = len(rows) * 38 + 20

    def draw(axes: Any, width: int) -> None:
        axes.set(xlim=(0, width), ylim=(height, 0))
        scale = width / max(end - start, 1.0)
        for number, row in enumerate(rows):
            _named(axes, width, number, row.name, row.said)
            _box(axes, 0, number * 38 + 18, width, _EMPTY)
            for first, last in row.intervals:
                left = (first - start) * scale
                size = min(max((last - first) * scale, 2.0), width - left)
                _box(axes, left, number * 38 + 18, size, UNREACHABLE)
        _axis_of_time(axes, start, end, 0, width, height - 6)

    return _both(title, description, draw, height)


def columns(
    title: str, description: str, start: int, step: int, stacks: Sequence[Sequence[int]]
) -> str:
    """Return a chart of stacked columns over time: allowed, refused, unreachable."""
    highest, height, top = max(map(sum, stacks)), 200, 8
    ticks = [tick for tick in MaxNLocator(4, integer=True).tick_values(0, highest) if tick >= 0]
    high = max(highest, ticks[-1])
    gutter = 10 + 7 * max(len(f"{tick:,.0f}") for tick in ticks)

    def draw(axes: Any, width: int) -> None:
        axes.set(xlim=(0, width), ylim=(height, 0))
        scale, room = (height - 24 - top) / high, (width - gutter) / len(stacks)
        for tick in ticks:
            y = height - 24 - tick * scale
            axes.plot([gutter, width], [y, y], color=_GRID, linewidth=1, clip_on=False, zorder=0)
            axes.text(gutter - 8, y + 4, f"{tick:,.0f}", color=_FAINT, fontsize=11, ha="right")
        for number, stack in enumerate(stacks):
            y = float(height - 24)
            for size, colour in zip(stack, (ALLOWED, REFUSED, UNREACHABLE), strict=True):
                if size:
                    y -= size * scale
                    wide = max(room - min(2.0, room / 4), 0.5)
                    _box(axes, gutter + number * room, y, wide, colour, size * scale)
        _axis_of_time(axes, start, start + step * len(stacks), gutter, width, height - 6)

    return _both(title, description, draw, height)


def _named(axes: Any, width: int, number: int, name: str, said: str) -> None:
    most = _MOST_CHARACTERS[width] - len(said)
    y = number * 38 + 13
    axes.text(0, y, clipped(shown(name), most), color=_INK, fontsize=13)
    axes.text(width, y, said, color=_FAINT, fontsize=13, ha="right")


def _box(axes: Any, left: float, top: float, width: float, colour: str, height: float = 10) -> None:
    axes.fill_between(
        [left, left + width], top, top + height, facecolor=colour, linewidth=0, clip_on=False
    )


def _axis_of_time(axes: Any, start: float, end: float, left: int, width: int, y: int) -> None:
    """Write the times at the ends and, on a wide page, in the middle."""
    form = (
        "%H:%M:%S" if end - start < 600 else "%H:%M" if end - start < 86_400 else "%Y-%m-%d %H:%M"
    )
    if end - start > 86_400 * 20:
        form = "%Y-%m-%d"
    places = {0.0: "left", 1.0: "right"} | ({0.5: "center"} if width == _WIDE else {})
    for place, side in places.items():
        seconds = min(max(_FIRST_SECOND, start + place * (end - start)), _LAST_SECOND)
        when = datetime.fromtimestamp(seconds, timezone.utc)
        x = left + place * (width - left)
        axes.text(x, y, when.strftime(form), color=_FAINT, fontsize=11, ha=side)


def _both(title: str, description: str, draw: Draw, height: int) -> str:
    """Return a figure for a wide page and one for a phone."""
    return "".join(
        _drawn(title, description, draw, width, height, name)
        for width, name in ((_WIDE, "wide"), (_NARROW, "narrow"))
    )


def _drawn(title: str, description: str, draw: Draw, width: int, height: int, name: str) -> str:
    """Return a figure of a size in pixels."""
    octets = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old settings, and of signs that the font lacks
        settings: Any = {name: rcParamsDefault[name] for name in rcParamsDefault} | _SETTINGS
        settings.pop("backend", None)
        with rc_context(settings):
            _save(octets, draw, width, height)
    return _adapted(octets.getvalue(), title, description, name)


def _save(octets: BytesIO, draw: Draw, width: int, height: int) -> None:
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    draw(axes, width)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(octets, format="svg", transparent=True, metadata=nothing)


def _adapted(octets: bytes, title: str, description: str, name: str) -> str:
    """Return an SVG with the page's colours and fonts, words for it, and no names of its own."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    root = etree.fromstring(octets, parser)
    for element in [*root.iter(f"{_SVG}metadata", f"{_SVG}defs")]:
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    for element in root.iter():
        element.attrib.pop("id", "")
        if element.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
        if "style" in element.attrib:
            element.set("style", _restyled(element.get("style", "")))
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, "")
    title, description = shown(title), shown(description)
    root.set("class", name)
    root.set("role", "img")
    root.set("aria-label", f"{title}. {description}")
    for tag, text in (("desc", description), ("title", title)):
        element = etree.Element(f"{_SVG}{tag}")
        element.text = text
        root.insert(0, element)
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode")


def _restyled(style: str) -> str:
    """Return a style with the page's colours, and without a font family."""
    for colour, variable in _VARIABLES.items():
        style = style.replace(colour, variable)
    said = []
    for declaration in style.split(";"):
        name, _, value = declaration.strip().partition(": ")
        if name == "font":
            name, value = "font-size", value.split(" ")[0]
        if name != "font-family":
            said.append(f"{name}: {value}")
    return "; ".join(said)
