"""The one exception of a store."""

from __future__ import annotations

ALONE = "each worker fetches for itself and, if this lasts, keeps the pace of a site by itself"
"""What follows for a crawl while a store fails, for the line in the log that says so."""


class StoreError(Exception):
    """A store could not do what it was asked to; the crawl goes on as if it were empty.

    The text is one line of printable ASCII without credentials. If it ``is_said``, the store itself
    logs when such failures begin and when they end, so that a crawl only counts them.
    """

    is_said = False  # for subclasses of custom stores that never call __init__

    def __init__(self, *args: object, is_said: bool = False):
        super().__init__(*args)
        self.is_said = is_said
