"""The one exception of a store."""

from __future__ import annotations


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials.
    """
