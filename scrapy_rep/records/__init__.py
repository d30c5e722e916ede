"""Records of a crawl: what was decided, what sites answered, and the report on them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

EXTRAS = {"jinja2": "report", "msgspec": "evidence", "warcio": "evidence"}
"""Libraries that are optional, and the extras that install them."""


def needs(library: str) -> str:
    """Return which library is missing, and how to install it."""
    return f"needs {library}: pip install 'scrapy_rep[{EXTRAS[library]}]'"


def unrecorded(error: Exception) -> str:
    """Return why a request does not go on if its decision has to be recorded."""
    return f"its decision cannot be recorded: {error}"


def own_version() -> str | None:
    """Return the version of this package, None if it is not installed."""
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout
        return None
