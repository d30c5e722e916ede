"""What a robots.txt says about the use of pages.

``Content-Usage`` (draft-ietf-aipref-attach-05), ``Content-Signal`` and ``License`` are lines of a
group. Content-Usage is a rule line (``rule =/ content-usage``), so a user-agent line after it
begins another group; the other two do not end a list of user-agent lines. What is read is kept with
the robots.txt, and freed with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from scrapy_rep.preferences.robots_lines import KEYS, USAGE_KEY, UsageLines
from scrapy_rep.preferences.statement import License, Preferences
from scrapy_rep.robotstxt import robotstxt
from scrapy_rep.robotstxt.lines import DEFAULT, lines_before, lines_of
from scrapy_rep.robotstxt.verdict import Verdict

_LINE: Final = re.compile(r"\n[^\S\n]*(?:content-usage|content-signal|license)[^\S\n]*[:\s]")


class RobotsTxt(robotstxt.RobotsTxt):
    """A robots.txt that is also asked what pages may be used for."""

    __slots__ = ()

    def preferences(self, url: str, agent: str | Sequence[str]) -> Preferences | None:
        """Return what the file says about the use of a page; None if it may not be fetched.

        draft-ietf-aipref-attach-05 section 3: no preference goes with a path that is disallowed.
        """
        return preferences(self, url, agent)


def preferences(
    robots: robotstxt.RobotsTxt, url: str, agent: str | Sequence[str]
) -> Preferences | None:
    """Return what a file says about the use of a page; None if the page may not be fetched."""
    return stated_preferences(robots, url, agent) if robots.allowed(url, agent) else None


def stated_preferences(
    robots: robotstxt.RobotsTxt, url: str, agent: str | Sequence[str]
) -> Preferences:
    """Return what a file says about the use of a page, whether it may be fetched or not."""
    found = _usage(robots, agent)
    if found is None:
        return Preferences()
    return Preferences(tuple(dict.fromkeys(found.statements(url))), found.licenses)


def licenses(robots: robotstxt.RobotsTxt, agent: str | Sequence[str]) -> tuple[License, ...]:
    """Return the addresses of licence terms that are for a crawler, for any page. RSL 1.0."""
    found = _usage(robots, agent)
    return () if found is None else found.licenses


def refusal_by_name(robots: robotstxt.RobotsTxt, url: str, token: str) -> Verdict | None:
    """Return the verdict of the group that names a token, if it forbids a page; never that of
    ``*``.

    draft-kelley-aipref-training-preference-signal-00: a site names a purpose by a token, as with
    ``Google-Extended``.
    """
    if robots.allowed(url, token):
        return None
    verdict = robots.verdict(url, token)
    return None if verdict.group in (None, DEFAULT) else verdict


def speaks_of_use(robots: robotstxt.RobotsTxt) -> bool:
    """Return True if any line of a file is about the use of pages; most files have none.

    It takes 1 ms for 500 KB, and 5 us for a usual file, once.
    """
    return robots.keep("speaks of use", lambda: _speaks_of_use(robots.text().lower()))


def _speaks_of_use(low: str) -> bool:
    found = "content-usage" in low or "content-signal" in low or "license" in low
    return found and _LINE.search(low) is not None


def _usage(robots: robotstxt.RobotsTxt, agent: str | Sequence[str]) -> UsageLines | None:
    """Return the lines about use that are for a crawler; None if there are none."""
    if not speaks_of_use(robots):
        return None
    return robots.keep(("use", robots.tokens_of(agent)), lambda: _read_usage(robots, agent))


def _read_usage(robots: robotstxt.RobotsTxt, agent: str | Sequence[str]) -> UsageLines | None:
    group = robots.group(agent, (USAGE_KEY,))
    own = [*lines_of(group, KEYS, robots.profile)]
    before = [*lines_before(group, KEYS, robots.profile)]
    return UsageLines(own, before) if own or before else None
