"""What changes from one robots.txt to another: for which crawlers, and for which paths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from scrapy_rep.linting.effects import Change, Effect, PaceAsText, agents_of, changes
from scrapy_rep.robotstxt.profiles import Profile
from scrapy_rep.robotstxt.verdict import as_plain

MOST_PATHS: Final = 100
"""Paths that are shown for a crawler."""


class Difference(NamedTuple):
    """What changes for some crawlers: each file says the same to all of them.

    Of the paths that change, one stands for all on which the same two rules decide.
    """

    agents: tuple[str, ...]
    paths: tuple[Change, ...]
    old_pace: PaceAsText
    new_pace: PaceAsText

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return {
            "agents": [*self.agents],
            "paths": [
                {
                    "path": change.path.encode("utf-8", "surrogateescape").decode(
                        "utf-8", "replace"
                    ),
                    "old": as_plain(change.old),
                    "new": as_plain(change.new),
                }
                for change in self.paths
            ],
            "old_pace": self.old_pace._asdict(),
            "new_pace": self.new_pace._asdict(),
        }


def difference(
    old: bytes,
    new: bytes,
    agents: Sequence[str] = (),
    profile: str | Profile = "rfc9309",
) -> list[Difference]:
    """Return what changes, for the crawlers asked for or else for all that a file names.

    ``*`` stands for all other crawlers. Crawlers for which the same changes come together. All
    octets of both files count.
    """
    found: dict[tuple[Any, ...], list[str]] = {}
    shown: dict[tuple[Any, ...], Difference] = {}
    known: dict[tuple[Any, ...], tuple[Change, ...]] = {}
    for agent in agents or agents_of(old, new):
        before, after = Effect(old, agent, profile), Effect(new, agent, profile)
        key = before.rules, after.rules, before.pace, after.pace
        if key not in known:
            known[key] = tuple(islice(changes(before, after), MOST_PATHS))
        paths = known[key]
        if paths or before.pace != after.pace:
            found.setdefault(key, []).append(agent)
            shown[key] = Difference((), paths, before.pace, after.pace)
    return [shown[key]._replace(agents=tuple(names)) for key, names in found.items()]
