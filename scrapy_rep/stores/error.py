"""The exceptions of a store."""

from __future__ import annotations

ALONE = "each worker fetches for itself and, if this lasts, keeps the pace of a site by itself"
"""What follows for a crawl while a store fails, for the line in the log that says so."""


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials.
    """


class LoggedError(StoreError):
    """The store itself logs when such failures begin and end, so that a crawl only counts them."""
