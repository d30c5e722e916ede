"""Which features a crawl does without."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrapy_rep.scrapy_internals.names import Feature


class Switches:
    """The features that are off; ``warn`` gets a line when one is switched off."""

    def __init__(self, warn: Callable[[str], None]):
        self._warn = warn
        self._off: set[Feature] = set()

    def __contains__(self, feature: Feature) -> bool:
        """Return whether a feature is on."""
        return feature not in self._off

    def lack(self, features: Iterable[Feature]) -> None:
        """Do without features that a custom component need not offer."""
        self._off.update(features)

    def turn_off(self, feature: Feature, why: str) -> None:
        """Do without a feature from now on, and say so once."""
        if feature in self:
            self._off.add(feature)
            self._warn(f"{why}; {feature.without}")
