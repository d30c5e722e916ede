"""``python -m docs.pictures`` draws all pictures of the documentation anew."""

from __future__ import annotations

from pathlib import Path

from docs.pictures.diagrams import DIAGRAMS
from docs.pictures.plots import PLOTS

HERE = Path(__file__).parent


def drawn() -> dict[str, str]:
    """Return each picture by its file name."""
    return {f"{draw.__name__.replace('_', '-')}.svg": draw().svg() for draw in (*DIAGRAMS, *PLOTS)}


if __name__ == "__main__":
    for name, svg in drawn().items():
        (HERE / name).write_text(svg, "utf-8")
