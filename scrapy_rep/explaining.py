"""The verdicts on URLs that are not requested: for ``explain`` and for the command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request

from scrapy_rep.awaiting import DeadlineError
from scrapy_rep.page_url import Asked
from scrapy_rep.protocol.authority import authority_of, has_scheme
from scrapy_rep.protocol.verdict import Verdict
from scrapy_rep.settings import product_tokens

if TYPE_CHECKING:
    from scrapy_rep.caching.cache import RobotsCache
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.identity import Identity
    from scrapy_rep.judgement import Judge
    from scrapy_rep.protocol.authority import Authority
    from scrapy_rep.usage.admission import UseOfPages


class LookUp(NamedTuple):
    """A verdict, the agent it is for, and what is known of the authority that governs the URL."""

    verdict: Verdict
    agent: tuple[str, ...]
    authority: Authority | None
    known: CachedRules | None


class Explainer:
    """Answers what would become of a request. It refuses, counts and holds up nothing."""

    def __init__(
        self, identity: Identity, cache: RobotsCache, judge: Judge, use: UseOfPages | None
    ):
        self._identity = identity
        self._cache = cache
        self._judge = judge
        self._use = use

    async def look_up(self, url: str, agent: str | Sequence[str] | None = None) -> LookUp:
        """Return the verdict on a URL, and what it rests on.

        ``agent`` is the crawler's own, if ``None``. A robots.txt that is not known is fetched.
        Raises ``ValueError`` for text that is not an absolute URL, for an http or https URL without
        a usable host, and for an agent without a name.
        """
        tokens = None if agent is None else product_tokens(agent)
        authority = authority_of(url)
        tokens = tokens or self._identity.default
        if authority is None:
            if not has_scheme(url):
                raise ValueError("not an absolute URL: it has no scheme")
            verdict = Verdict(allowed=True, reason="no robots.txt governs this scheme")
            return LookUp(verdict, tokens, None, None)
        try:
            cached = await self._cache.lookup(authority, None)
        except DeadlineError:
            return LookUp(Verdict(allowed=False, reason="unreachable"), tokens, authority, None)
        asked = _asked(url, authority, tokens)
        verdict = self._judge.verdict(asked, cached)
        if verdict.allowed:
            if self._use is not None and self._use.refuses:
                await self._use.wait(asked, cached)
            refusal = self._judge.judge(asked, cached).refusal
            verdict = verdict if refusal is None else refusal.verdict
        return LookUp(verdict, tokens, authority, cached)

    @property
    def refuses_for_use(self) -> bool:
        """Whether requests may be refused for what their pages would be used for."""
        return self._use is not None and self._use.refuses

    def refused_for_use(self, url: str, one: LookUp) -> str:
        """Return why the purposes of the crawl keep it from a URL of a site, or "".

        ``one`` is what was looked up for another URL of that site.
        """
        if self._use is None or one.authority is None or one.known is None:
            return ""
        asked = _asked(url, one.authority, one.agent)
        refused = self._use.refusal(asked, self._use.said(asked, one.known))
        return "" if refused is None else refused.verdict.reason


def _asked(url: str, authority: Authority, agent: tuple[str, ...]) -> Asked:
    """Return a URL as the gate is asked for it. The request itself is never made."""
    return Asked(Request(authority.robots_uri), url, authority, agent)
