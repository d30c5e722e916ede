"""The differences between the documents on META robots, as data.

The profiles have the names of those for robots.txt. The documents of 1994 and 1996 and RFC 9309 say
nothing about pages, so they are read alike.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Final

_NAME: Final = string.ascii_letters + "-_"


@dataclass(frozen=True, slots=True)
class PageProfile:
    """How the statements of a page are read; the defaults are those of ``rfc9309``."""

    name: str
    """Its name in ``REP_PROFILE``."""
    body_counts: bool = False
    """Metas in the body count as well as those in the head."""
    all_and_follow_lift: bool = False
    """Within one meta, ALL beats everything else and FOLLOW beats NOFOLLOW."""
    noindex_closes_links: bool = False
    """A meta with NOINDEX and none of the other five terms of 1996 means NOFOLLOW, too."""
    name_alphabets: tuple[str, ...] = (_NAME + string.digits,)
    """The name of an agent in a header ends before the first other character."""


DEFAULT: Final = PageProfile("rfc9309")
KOLLAR: Final = PageProfile("kollar", all_and_follow_lift=True, noindex_closes_links=True)
GOOGLE: Final = PageProfile("google", body_counts=True, name_alphabets=(_NAME,))

PAGE_PROFILES: Final = {
    profile.name: profile
    for profile in (DEFAULT, GOOGLE, PageProfile("1996"), PageProfile("1994"), KOLLAR)
}


def page_profile(name: str) -> PageProfile:
    """Return a profile by its name; raise ``ValueError`` for an unknown name."""
    found = PAGE_PROFILES.get(name) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(repr(each) for each in PAGE_PROFILES)
        raise ValueError(f"{name!r} is not a profile; known are {known}")
    return found
