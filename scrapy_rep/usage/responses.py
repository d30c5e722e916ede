"""Counts what pages say about their use and, if asked, obeys it.

Under ``REP_PREFERENCES = "drop"`` the items of a page are dropped if anything that is said about it
disallows one of ``REP_PURPOSES``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy_rep import stats as names
from scrapy_rep.preferences.statement import Preferences
from scrapy_rep.preferences.vocabulary import CATEGORIES, DISALLOWED
from scrapy_rep.usage.of_response import preferences_in_a_crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_rep.pages.profiles import PageProfile
    from scrapy_rep.settings import RepSettings
    from scrapy_rep.stats import RepStats


class UseOfResponses:
    """Reads each response once, and decides whether its items are dropped."""

    def __init__(
        self,
        settings: RepSettings,
        profile: PageProfile,
        stats: RepStats,
        agent_of: Callable[[Response], tuple[str, ...]],
    ):
        self._stats = stats
        self._agent_of = agent_of
        self._profile = profile
        self._purposes = settings.purposes if settings.preferences == "drop" else ()
        self._seen: WeakSet[Response] = WeakSet()
        self._without_items: WeakSet[Response] = WeakSet()
        self._disallowed: Counter[str] = Counter()
        self.pages = 0
        """The pages that were read."""

    def see(self, response: Response) -> None:
        """Read a response before its callback does. A fault here is not permission to use it."""
        self._seen.add(response)
        self.pages += 1
        try:
            found = preferences_in_a_crawl(response, self._agent_of, self._profile)
        except Exception as error:  # noqa: BLE001  # no page may end a crawl
            self._stats.own_fault("The reading of usage preferences", error)
            self._without_items.add(response)
            return
        if found is not None:
            self._count(found)
            if any(found[purpose] == DISALLOWED for purpose in self._purposes):
                self._without_items.add(response)

    def drops_items(self, response: Response) -> bool:
        """Return whether an item of a page is dropped, and count it if so.

        A page that an earlier middleware keeps from the callback, as one with the status 404, may
        have items of its errback. It is read here.
        """
        if not self._purposes:
            return False
        if response not in self._seen:
            self.see(response)
        if response not in self._without_items:
            return False
        if response.request is not None and response.request.meta.get("dont_obey_robotstxt"):
            return False
        self._stats.inc(names.PREFERENCES_DROPPED)
        return True

    @property
    def disallowed(self) -> dict[str, int]:
        """How many pages disallow which use, by category."""
        return {one: self._disallowed[one] for one in CATEGORIES if self._disallowed[one]}

    def _count(self, found: Preferences) -> None:
        for category in CATEGORIES:
            if found.about(category):
                answer = found[category]
                self._stats.inc(names.PREFERENCES.format(category, answer))
                self._disallowed[category] += answer == DISALLOWED
        if found.licenses:
            self._stats.inc(names.PREFERENCES_LICENSE)
