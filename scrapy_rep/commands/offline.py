"""What a crawl would decide if robots.txt files were as they are in a file or an archive.

Nothing is fetched. Whatever decides in a crawl is taken into account: the profile, the limits,
``REP_ACCESS_DENIED``, overrides, the pace, and the purposes of the crawl.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.outcome import archived_outcome
from scrapy_rep.access.policy import learn, standing
from scrapy_rep.commands.crawl import Project
from scrapy_rep.commands.output import EndingError
from scrapy_rep.gate.explain import NO_RULES_FOR_SCHEME, LookUp, asked_for
from scrapy_rep.gate.judge import Judge
from scrapy_rep.gate.overrides import AppliedOverrides
from scrapy_rep.gate.page_url import decoding, governed
from scrapy_rep.gate.use import UseOfPages
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.sites.cached_rules import CachedRules
from scrapy_rep.stats import RepStats


class Offline:
    """Decides by the settings of a project, for ``agent`` or else for its own crawler.

    Raises ``EndingError`` for bad settings.
    """

    def __init__(self, project: Project, agent: Sequence[str] | None) -> None:
        self.agent = tuple(agent or ()) or project.agent
        self.rep_settings = project.rep_settings
        self.sent = decoding(project.settings)
        self._policy = self.rep_settings.policy
        paces = self.rep_settings.pace_policy
        self._now = time.time()
        # One file may govern many sites.
        self._parsed = lru_cache(maxsize=8)(self.rep_settings.parse)
        try:
            overrides = configured_overrides(self.rep_settings, self._now)
        except ValueError as error:
            raise EndingError(str(error)) from None
        applied = AppliedOverrides(overrides, RepStats(), paces, time.time)
        self.judge = Judge(lambda *_: None, paces, UseOfPages(self.rep_settings), applied)

    def known(self, authority: Authority, body: bytes, status: int = 200) -> CachedRules:
        """Return what a crawl knows of an authority after this answer."""
        read = truncate(body, self.rep_settings.max_size)
        outcome = archived_outcome(status, read, authority.robots_uri, self._policy.temporary)
        entry = learn(None, outcome, self._now, self._policy)
        current = standing(entry, self._now, self._policy)
        robots = None if current.body is None else self._parsed(body)
        return CachedRules(entry, current, robots, self._now)

    def look_up(self, url: str, body: bytes) -> LookUp:
        """Return the verdict on a URL of a site with this file."""
        url, authority = governed(url)
        if authority is None:
            return LookUp(NO_RULES_FOR_SCHEME, self.agent, None, None, url)
        known = self.known(authority, body)
        asked = asked_for(self.sent(url), authority, self.agent)
        verdict, by = self.judge.final_verdict(asked, known)
        return LookUp(verdict, self.agent, authority, known, asked.url, by)
