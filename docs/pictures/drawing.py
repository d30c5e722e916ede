"""A small drawing: boxes, arrows and text as SVG, in the colours of the page that shows it."""

from __future__ import annotations

from html import escape
from typing import Final

INK: Final = "var(--color-foreground-primary, #222)"
FAINT: Final = "var(--color-foreground-muted, #777)"
ACCENT: Final = "var(--color-brand-primary, #0a58ca)"
FILL: Final = "var(--color-background-secondary, #f2f2f2)"
GOOD: Final = "#2e9e5b"
BAD: Final = "#d1495b"

_LINE: Final = 17
"""Pixels from one line of text to the next."""


class Drawing:
    """Collects shapes; coordinates are pixels from the top left corner."""

    def __init__(self, width: int, height: int):
        self.width = width
        self.height = height
        self._shapes: list[str] = []

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "middle", colour: str = INK
    ) -> None:
        """Write lines of text; ``y`` is the middle of all of them."""
        lines = words.split("\n")
        top = y - (len(lines) - 1) * _LINE / 2 + 4.5
        for number, line in enumerate(lines):
            self._shapes.append(
                f'<text x="{x:g}" y="{top + number * _LINE:g}" text-anchor="{anchor}" '
                f'fill="{colour}">{escape(line)}</text>'
            )

    def box(
        self, x: float, y: float, width: float, height: float, words: str, *, edge: str = FAINT
    ) -> None:
        """Draw a box with text; ``x`` and ``y`` are its middle."""
        self._shapes.append(
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" '
            f'height="{height:g}" rx="7" fill="{FILL}" stroke="{edge}" stroke-width="1.5"/>'
        )
        self.text(x, y, words)

    def bar(self, x: float, y: float, width: float, height: float, *, colour: str = ACCENT) -> None:
        """Draw a filled bar; ``x`` and ``y`` are its top left corner."""
        self._shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2" '
            f'fill="{colour}"/>'
        )

    def line(self, *points: tuple[float, float], dashed: bool = False) -> None:
        """Draw a faint line through points."""
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self._shapes.append(
            f'<polyline points="{_path(points)}" fill="none" stroke="{FAINT}"{dash}/>'
        )

    def arrow(self, *points: tuple[float, float], colour: str = INK) -> None:
        """Draw an arrow through points; its head is at the last one."""
        (ax, ay), (x, y) = points[-2:]
        length = ((x - ax) ** 2 + (y - ay) ** 2) ** 0.5
        dx, dy = (x - ax) / length, (y - ay) / length
        back = (x - 8 * dx, y - 8 * dy)
        head = [
            (x, y),
            (back[0] - 4 * dy, back[1] + 4 * dx),
            (back[0] + 4 * dy, back[1] - 4 * dx),
        ]
        self._shapes.append(
            f'<polyline points="{_path((*points[:-1], back))}" fill="none" stroke="{colour}" '
            f'stroke-width="1.5"/><polygon points="{_path(head)}" fill="{colour}"/>'
        )

    def svg(self) -> str:
        """Return the file."""
        shapes = "\n".join(self._shapes)
        return (
            f'<svg role="img" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {self.width} {self.height}" '
            f'style="width: 100%; max-width: {self.width}px; min-width: {self.width * 2 // 3}px" '
            f'font-family="sans-serif" font-size="13">\n{shapes}\n</svg>\n'
        )


def _path(points: list[tuple[float, float]] | tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{x:.5g},{y:.5g}" for x, y in points)
