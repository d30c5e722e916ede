"""The versions of what a run's records were made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import scrapy


def versions() -> dict[str, str | None]:
    """Return the versions of this package, of Scrapy and of Python, by their names."""
    return {
        "scrapy_rep": own_version(),
        "scrapy": scrapy.__version__,
        "python": platform.python_version(),
    }


def own_version() -> str | None:
    """Return the version of this package, None if it is not installed."""
    try:
        return version("scrapy_rep")
    except PackageNotFoundError:  # run from a checkout
        return None
