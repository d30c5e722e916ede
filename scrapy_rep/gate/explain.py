"""The verdicts on URLs that are not requested: for ``explain`` and for the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request

from scrapy_rep.exceptions import BY_ROBOTS_TXT
from scrapy_rep.gate.page_url import Asked, governed
from scrapy_rep.robotstxt.verdict import Verdict
from scrapy_rep.settings import product_tokens

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.gate.identity import Identity
    from scrapy_rep.gate.judge import Judge
    from scrapy_rep.sites.cache import RobotsCache
    from scrapy_rep.sites.cached_rules import CachedRules


NO_RULES_FOR_SCHEME = Verdict(allowed=True, reason="no robots.txt governs this scheme")


class LookUp(NamedTuple):
    """A verdict, the agent it is for, and what is known of the authority that governs the URL.

    ``by`` names what decided, as :meth:`Judge.final_verdict` does, and ``url`` is the URL as it is
    sent.
    """

    verdict: Verdict
    agent: tuple[str, ...]
    authority: Authority | None
    known: CachedRules | None
    url: str
    by: str = BY_ROBOTS_TXT


class Explainer:
    """Answers what would become of a request, without making one: nothing is refused or delayed.

    A robots.txt that has to be fetched for an answer is counted as any other is. ``sent(url)`` is a
    URL as it is sent.
    """

    def __init__(
        self,
        identity: Identity,
        cache: RobotsCache,
        judge: Judge,
        sent: Callable[[str], str],
    ):
        self.sent = sent
        self._identity = identity
        self._cache = cache
        self.judge = judge

    async def look_up(self, url: str, agent: str | Sequence[str] | None = None) -> LookUp:
        """Return the verdict on a URL, as a request would have it, and what it rests on.

        ``agent`` is the crawler's own, if ``None``. A robots.txt that is not known is fetched.
        Raises ``ValueError`` for text that is not an absolute URL, for an http or https URL without
        a usable host, and for an agent without a name.
        """
        tokens = self._identity.default if agent is None else product_tokens(agent)
        url, authority = governed(url)
        if authority is None:
            return LookUp(NO_RULES_FOR_SCHEME, tokens, None, None, url)
        cached = await self._cache.lookup(authority, None)
        asked = asked_for(self.sent(url), authority, tokens)
        verdict, by = self.judge.final_verdict(asked, cached)
        return LookUp(verdict, tokens, authority, cached, asked.url, by)


def asked_for(url: str, authority: Authority, agent: tuple[str, ...]) -> Asked:
    """Return a URL as the gate is asked for it. The request itself is never made."""
    return Asked(Request(authority.robots_uri), url, authority, agent)
