"""Records of a crawl: what was decided, what sites answered, and the report on them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

NEEDS_MSGSPEC = "needs msgspec: pip install 'scrapy_rep[evidence]'"
NEEDS_WARCIO = "needs warcio: pip install 'scrapy_rep[evidence]'"


def own_version() -> str | None:
    """Return the version of this package, None if it is not installed."""
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout
        return None
