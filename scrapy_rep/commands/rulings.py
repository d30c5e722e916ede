"""What one authority says about all its URLs, from a file, a folder, an archive or a crawl."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_rep.access.authority import DEFAULT_PORTS, Authority
from scrapy_rep.commands.archives import UNRESOLVED, NewestResponses
from scrapy_rep.commands.endings import usage_error, why
from scrapy_rep.gate.explain import asked_for
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import is_undefined

if TYPE_CHECKING:
    from scrapy_rep.caching.cached_rules import CachedRules
    from scrapy_rep.commands.offline import Offline
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.gate.judge import Judge
    from scrapy_rep.gate.page_url import Asked
    from scrapy_rep.robotstxt.robotstxt import RobotsTxt, Verdict

Agent = tuple[str, ...]

_MOST_OCTETS: Final = 8 << 20
"""Octets of a file that are read; rules stand in the first 500 KiB."""


Rejects = Callable[[Sequence[str]], Sequence[str]]
"""Returns those of some URLs that may not be fetched."""


def all_allowed(urls: Sequence[str]) -> Sequence[str]:
    """Reject nothing."""
    return ()


def none_allowed(urls: Sequence[str]) -> Sequence[str]:
    """Reject everything."""
    return urls


def only_robots_txt(authority: Authority, urls: Sequence[str]) -> Sequence[str]:
    """Reject everything but the robots.txt itself, which is always allowed (RFC 9309 2.2.2)."""
    return [url for url in urls if not authority.has_its_rules_at(url)]


class Ruling:
    """Says which URLs of an authority may be fetched: by rules, or all or none of them."""

    __slots__ = ("_agent", "_reason", "_robots", "octets", "rejects")

    def __init__(
        self,
        rejects: Rejects,
        reason: str = "",
        robots: RobotsTxt | None = None,
        agent: Agent = (),
        octets: int = 0,
    ) -> None:
        self.rejects = rejects
        self.octets = octets
        self._reason = reason
        self._robots = robots
        self._agent = agent

    def why(self, url: str) -> str:
        """Return why a URL is rejected, in printable text without a tab."""
        if self._robots is None:
            return self._reason
        return _told(self._robots.verdict(url, self._agent))


_MISSING: Final = Ruling(none_allowed, "no file")


def _told(verdict: Verdict) -> str:
    if verdict.rule is None:
        return escaped(verdict.reason)
    return escaped(f"{verdict.rule} (line {verdict.line}, group {verdict.group})")


RulingOf = Callable[[Authority], Ruling]


def _forbidden(robots: RobotsTxt, urls: Sequence[str], agent: Agent) -> list[str]:
    return [url for url in urls if not robots.allowed(url, agent)]


def by_rules(robots: RobotsTxt, agent: Agent, octets: int = 0) -> Ruling:
    """Return the ruling of a robots.txt."""
    return Ruling(partial(_forbidden, robots, agent=agent), "", robots, agent, octets)


class JudgedRuling(Ruling):
    """The ruling of a site where not only its rules decide: each URL is judged on its own.

    An override, a pace that keeps the crawler out, or the use of the pages may decide, too.
    """

    __slots__ = ("_asked", "_judge", "_known")

    def __init__(self, judge: Judge, asked: Asked, known: CachedRules, octets: int) -> None:
        super().__init__(self._rejects, "", known.robots, asked.agent, octets)
        self._judge = judge
        self._asked = asked
        self._known = known

    def _rejects(self, urls: Sequence[str]) -> Sequence[str]:
        return [url for url in urls if not self._verdict(url).allowed]

    def _verdict(self, url: str) -> Verdict:
        return self._judge.final_verdict(self._asked._replace(url=url), self._known)[0]

    def why(self, url: str) -> str:
        """Return why a URL is rejected, in printable text without a tab."""
        verdict = self._verdict(url)
        if verdict.override is not None:
            return escaped(f"override: {verdict.override}")
        if self._known.unreachable and is_undefined(verdict):
            return _unreachable(self._known)
        return _told(verdict)


def ruling_of(
    judge: Judge, authority: Authority, known: CachedRules, agent: Agent, octets: int = 0
) -> Ruling:
    """Return the ruling of an authority; ``octets`` is the size of its robots.txt."""
    asked = asked_for(authority.robots_uri, authority, agent)
    if not judge.is_by_rules_alone(asked, known):
        return JudgedRuling(judge, asked, known, octets)
    if known.robots is not None:
        return by_rules(known.robots, agent, octets)
    verdict = known.verdict(authority, f"{authority}/", agent)
    if verdict.allowed:
        return Ruling(all_allowed)
    why = _unreachable(known) if known.unreachable else verdict.reason
    return Ruling(partial(only_robots_txt, authority), why)


def _unreachable(known: CachedRules) -> str:
    return escaped(f"unreachable: {known.cause}")


class FromFile:
    """One robots.txt governs all authorities."""

    def __init__(self, body: bytes, offline: Offline) -> None:
        self._body = body
        self._robots = offline.parse(body)
        self._offline = offline

    def __call__(self, authority: Authority) -> Ruling:
        """Return the ruling of an authority."""
        known = self._offline.known(authority, self._body, robots=self._robots)
        return ruling_of(self._offline.judge, authority, known, self._offline.agent)


class FromFolder:
    """A folder has a file ``https_HOST`` or ``https_HOST_PORT`` for each authority.

    A file that cannot be read is not a file that is missing: its URLs are rejected.
    """

    def __init__(self, folder: Path, offline: Offline, *, missing_is_allowed: bool) -> None:
        self._folder = folder
        self._offline = offline
        self._missing_is_allowed = missing_is_allowed
        try:
            if not folder.is_dir():
                raise usage_error(f"{folder} is not a folder")
        except (OSError, ValueError):
            raise usage_error(f"{folder} is not a folder") from None

    def __call__(self, authority: Authority) -> Ruling:
        """Return the ruling of an authority."""
        for name in _names_of(authority):
            try:
                with (self._folder / name).open("rb") as file:
                    body = file.read(_MOST_OCTETS)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    continue
                return Ruling(none_allowed, f"the file cannot be read: {why(error)}")
            return _by_answer(self._offline, authority, body)
        return _without_a_file(self._offline, authority, is_allowed=self._missing_is_allowed)


def _by_answer(offline: Offline, authority: Authority, body: bytes, status: int = 200) -> Ruling:
    known = offline.known(authority, body, status)
    return ruling_of(offline.judge, authority, known, offline.agent, len(body))


def _without_a_file(offline: Offline, authority: Authority, *, is_allowed: bool) -> Ruling:
    """Return the ruling of an authority that a folder or an archive lacks: as for 404, or none."""
    return _by_answer(offline, authority, b"", 404) if is_allowed else _MISSING


def _names_of(authority: Authority) -> Sequence[str]:
    name = f"{authority.scheme}_{authority.host}"
    with_port = f"{name}_{authority.port}"
    return (name, with_port) if authority.port == DEFAULT_PORTS[authority.scheme] else (with_port,)


class FromArchive:
    """A WARC file holds the responses for robots.txt files."""

    def __init__(self, file: str, offline: Offline, *, missing_is_allowed: bool) -> None:
        limits = offline.settings
        self._archive = NewestResponses(file, limits.max_size, limits.max_redirects)
        self._offline = offline
        self._missing_is_allowed = missing_is_allowed

    def __call__(self, authority: Authority) -> Ruling:
        """Return the ruling of an authority."""
        found = self._archive.find(authority)
        if found is None:
            return _without_a_file(self._offline, authority, is_allowed=self._missing_is_allowed)
        status, body = found
        if status == UNRESOLVED:
            return Ruling(none_allowed, "the archive lacks the response that its record repeats")
        return _by_answer(self._offline, authority, body, status)


def fetched_ruling(
    middleware: RepDownloaderMiddleware, authority: Authority, agent: Sequence[str] | None
) -> Awaitable[Ruling]:
    """Begin to fetch the rules of an authority; return what awaits its ruling."""
    asked = deferred_from_coro(middleware.look_up(authority.robots_uri, agent))

    async def ruling() -> Ruling:
        one = await maybe_deferred_to_future(asked)
        known = one.known
        if known is None:  # the fetch took too long
            return Ruling(none_allowed, one.verdict.reason)
        size = len(known.body or b"")
        return ruling_of(middleware.explainer.judge, authority, known, one.agent, size)

    return ruling()
