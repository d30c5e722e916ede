"""Text for people to read: every character visible, lines short, numbers with their units."""

from __future__ import annotations

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def shown(text: str) -> str:
    """Return text in which every character can be seen.

    Control characters, marks that change the direction of text, halves of surrogate pairs and
    unusual spaces become escapes, as in literals of Python.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def clipped(text: str, most: int) -> str:
    """Return text of at most ``most`` characters; an ellipsis stands for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def duration(seconds: float) -> str:
    """Return seconds as a short text of at most two units: ``0.5 s``, ``3 min``, ``2 d 4 h``."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    left, parts = round(seconds), []
    for unit, length in _UNITS:
        number, left = divmod(left, length)
        if number:
            parts.append(f"{number:,} {unit}")
        if len(parts) == 2 or (parts and unit == "min" and number >= 10):
            break
    return " ".join(parts)


def plural(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: ``1 site``, ``2,000 sites``."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
