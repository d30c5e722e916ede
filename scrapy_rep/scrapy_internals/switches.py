"""Which features of :mod:`scrapy_rep.scrapy_internals` are on in a crawl."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrapy_rep.scrapy_internals.names import Feature


class Switches(set[Feature]):
    """The features that are on; ``warn`` gets a line when one is switched off.

    This is a set, because each request asks a dozen times whether a feature is on.
    """

    def __init__(self, warn: Callable[[str], None]):
        super().__init__(Feature)
        self._warn = warn

    def lack(self, features: Iterable[Feature]) -> None:
        """Switch off, without a warning, features that a custom component need not offer."""
        self.difference_update(features)

    def turn_off(self, feature: Feature, why: str) -> None:
        """Switch off a feature, and warn once."""
        if feature in self:
            self.discard(feature)
            self._warn(f"{why}; {feature.without}")
