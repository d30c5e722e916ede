"""What one authority says about all its URLs, from a file, a folder, an archive or a crawl."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_rep.commands.archives import UNRESOLVED, Archive
from scrapy_rep.commands.endings import usage, why
from scrapy_rep.commands.terminal import escaped
from scrapy_rep.protocol.authority import DEFAULT_PORTS, Authority
from scrapy_rep.protocol.outcome import Meaning, meaning_of

if TYPE_CHECKING:
    from scrapy_rep.downloadermiddlewares import RepDownloaderMiddleware
    from scrapy_rep.protocol.robotstxt import RobotsTxt

Agent = tuple[str, ...]
Parse = Callable[[bytes], "RobotsTxt"]

_NO_FILE: Final = "no file"
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
        verdict = self._robots.verdict(url, self._agent)
        if verdict.rule is None:
            return escaped(verdict.reason)
        return escaped(f"{verdict.rule} (line {verdict.line}, group {verdict.group})")


RulingOf = Callable[[Authority], Ruling]


def by_rules(robots: RobotsTxt, agent: Agent, octets: int = 0) -> Ruling:
    """Return the ruling of a robots.txt."""
    return Ruling(partial(robots.forbidden, agent=agent), "", robots, agent, octets)


class UseRuling(Ruling):
    """The ruling of a robots.txt and of the purposes of the crawl.

    ``refused`` returns why a URL that the rules allow is refused all the same, or "".
    """

    __slots__ = ("_refused", "_rules")

    def __init__(
        self, robots: RobotsTxt, agent: Agent, octets: int, refused: Callable[[str], str]
    ) -> None:
        super().__init__(self._rejects, "", robots, agent, octets)
        self._rules = robots
        self._refused = refused

    def _rejects(self, urls: Sequence[str]) -> Sequence[str]:
        by_rule = {*self._rules.forbidden(urls, agent=self._agent)}
        return [url for url in urls if url in by_rule or self._refused(url)]

    def why(self, url: str) -> str:
        """Return why a URL is rejected, in printable text without a tab."""
        if self._rules.allowed(url, self._agent):
            return escaped(self._refused(url))
        return super().why(url)


class FromFile:
    """One robots.txt governs all authorities."""

    def __init__(self, robots: RobotsTxt, agent: Agent) -> None:
        self._ruling = by_rules(robots, agent)

    def __call__(self, authority: Authority) -> Ruling:
        """Return the ruling of an authority."""
        return self._ruling


class FromFolder:
    """A folder has a file ``https_HOST`` or ``https_HOST_PORT`` for each authority.

    A file that cannot be read is not a file that is missing: its URLs are rejected.
    """

    def __init__(
        self, folder: Path, parse: Parse, agent: Agent, *, missing_is_allowed: bool
    ) -> None:
        self._folder = folder
        self._parse = parse
        self._agent = agent
        self._missing = Ruling(all_allowed if missing_is_allowed else none_allowed, _NO_FILE)
        try:
            if not folder.is_dir():
                raise usage(f"{folder} is not a folder")
        except (OSError, ValueError):
            raise usage(f"{folder} is not a folder") from None

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
            return by_rules(self._parse(body), self._agent, len(body))
        return self._missing


def _names_of(authority: Authority) -> Sequence[str]:
    name = f"{authority.scheme}_{authority.host}"
    with_port = f"{name}_{authority.port}"
    return (name, with_port) if authority.port == DEFAULT_PORTS[authority.scheme] else (with_port,)


class FromArchive:
    """A WARC file holds the responses for robots.txt files."""

    def __init__(self, file: str, parse: Parse, agent: Agent, *, missing_is_allowed: bool) -> None:
        self._archive = Archive(file)
        self._parse = parse
        self._agent = agent
        self._missing = Ruling(all_allowed if missing_is_allowed else none_allowed, _NO_FILE)

    def __call__(self, authority: Authority) -> Ruling:
        """Return the ruling of an authority."""
        found = self._archive.find(authority)
        if found is None:
            return self._missing
        status, body = found
        meaning = meaning_of(status)
        if meaning is Meaning.SUCCESS:
            return by_rules(self._parse(body), self._agent, len(body))
        if meaning is Meaning.UNAVAILABLE:
            return Ruling(all_allowed)
        if status == UNRESOLVED:
            return Ruling(none_allowed, "the archive lacks the response that its record repeats")
        return Ruling(none_allowed, f"unreachable: status {status}")


def fetched_ruling(
    middleware: RepDownloaderMiddleware, authority: Authority, agent: Sequence[str] | None
) -> Awaitable[Ruling]:
    """Begin to fetch the rules of an authority; return what awaits its ruling."""
    asked = deferred_from_coro(middleware.look_up(authority.robots_uri, agent))

    async def ruling() -> Ruling:
        one = await maybe_deferred_to_future(asked)
        known = one.known
        if known is None:  # which it is for other schemes than http and https alone
            return Ruling(none_allowed, one.verdict.reason)
        used = middleware.explainer.refused_for_use(authority.robots_uri, one)
        if not (one.verdict.allowed or used or known.unreachable) and one.verdict.rule is None:
            return Ruling(none_allowed, one.verdict.reason)  # its pace keeps the crawler out
        if known.robots is not None:
            size = len(known.answer.body or b"") if known.answer is not None else 0
            if not middleware.explainer.refuses_for_use:
                return by_rules(known.robots, one.agent, size)
            refused = partial(middleware.explainer.refused_for_use, one=one)
            return UseRuling(known.robots, one.agent, size, refused)
        if known.unreachable:
            return Ruling(none_allowed, escaped(f"unreachable: {known.cause}"))
        allows = partial(known.allows, authority, agent=one.agent)
        if allows(f"{authority}/"):
            return Ruling(all_allowed)
        return Ruling(none_allowed, known.verdict(authority, f"{authority}/", one.agent).reason)

    return ruling()
