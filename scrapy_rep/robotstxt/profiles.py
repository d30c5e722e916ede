"""Where the documents of the Robots Exclusion Protocol differ, as data.

A frozen :class:`Profile` describes one document, or the published behaviour of one crawler. Each
field is named after a sentence in that text. The code reads fields and never asks for the name of a
profile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DIGITS = "0123456789"
MISSPELT_DISALLOW = ("dissallow", "dissalow", "disalow", "diasllow", "disallaw")

AgentRule = Literal["equal to the token", "line contains the token", "token contains the name"]


@dataclass(frozen=True, eq=False)
class Profile:
    """How one document reads robots.txt; the defaults are RFC 9309.

    Profiles are equal only if they are the same object, which makes them fast keys.
    """

    name: str

    # The lines (RFC 9309 section 2.2).
    whitespace: str = " \t"
    nul_ends_the_line: bool = False
    longest_line: int | None = None
    """Octets of a line that are read; what follows them is ignored."""
    key_is_a_prefix: bool = False
    """``disallow-all: /`` counts as ``disallow``."""
    misspelt_disallow: tuple[str, ...] = MISSPELT_DISALLOW
    colon_may_be_missing: bool = True
    utf16_is_transcoded: bool = True
    part_of_a_mark_is_skipped: bool = False
    """The first octets of a UTF-8 byte order mark are skipped even if the mark is not whole."""

    # The groups (RFC 9309 section 2.2.1).
    blank_line_ends_the_group: bool = False
    group_needs_a_rule: bool = False
    """A record without a rule line does not count (1996 section 3.3, ``1*ruleline``)."""
    extensions_are_rules: bool = False
    """Any other line with a colon is a rule line too (1996 section 3.3, ``extension``)."""
    several_names_on_a_line: bool = False
    name_alphabet: str = LETTERS + DIGITS + "-_"
    """A name ends before the first character not in this; if empty, a name is the whole value."""
    star_ends_at_whitespace: bool = False
    """``*;`` is not the default group, ``* foo`` is. Elsewhere ``*`` is the default group unless
    a character of a name follows at once: sites that write ``*MJ12bot*`` mean that crawler."""
    agent_rule: AgentRule = "equal to the token"
    all_groups_are_merged: bool = True

    # The rules (RFC 9309 sections 2.2.2 and 2.2.3).
    allow_is_a_rule: bool = True
    most_octets_win: bool = True
    """False: patterns are plain prefixes, and the first that matches, in the order of the file, is
    used."""
    several_paths_on_a_line: bool = False
    index_html_allows_the_directory: bool = False
    robots_txt_is_always_allowed: bool = True

    # The comparison of octets (RFC 9309 section 2.2.2).
    uri_is_taken_as_it_is: bool = False
    """The caller has encoded the URI; only patterns are put in normal form."""
    unreserved_is_decoded: bool = True
    only_the_slash_stays_encoded: bool = False
    query_is_matched: bool = True
    dot_segments_are_removed: bool = True
    """``/a/../b`` must be allowed as written and as ``/b`` (RFC 3986 sections 5.2.4, 6.2.2.3)."""

    # META robots (the documents of 1994 and 1996 and RFC 9309 say nothing about pages).
    metas_of_the_body_count: bool = False
    """Metas in the body count as well as those in the head."""
    all_and_follow_lift: bool = False
    """Within one meta, ALL beats everything else and FOLLOW beats NOFOLLOW."""
    noindex_closes_links: bool = False
    """A meta with NOINDEX and none of the other five terms of 1996 means NOFOLLOW, too."""

    # Access (RFC 9309 sections 2.3 and 2.4).
    access_denied_closes_the_site: bool = False
    """A refusal means that access to the site is completely restricted (1996 section 3.1)."""
    default_life: float = 86_400.0
    """Seconds for which a copy is used when no cache-control header says otherwise."""
    redirects_followed: int = 5
    some_statuses_mean_not_now: bool = True
    """202, 408, 421 and 425 are failures, whatever their class means."""

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickle a profile of :data:`PROFILES` by its name: the copy must be the same object."""
        if PROFILES.get(self.name) is self:
            return named, (self.name,)
        return super().__reduce__()


RFC9309 = Profile("rfc9309")

GOOGLE = Profile(
    "google",
    whitespace=" \t\n\v\f\r",
    nul_ends_the_line=True,
    longest_line=8 * 2083 - 1,
    key_is_a_prefix=True,
    utf16_is_transcoded=False,
    part_of_a_mark_is_skipped=True,
    name_alphabet=LETTERS + "-_",
    star_ends_at_whitespace=True,
    index_html_allows_the_directory=True,
    robots_txt_is_always_allowed=False,
    uri_is_taken_as_it_is=True,
    unreserved_is_decoded=False,
    dot_segments_are_removed=False,
    metas_of_the_body_count=True,
    some_statuses_mean_not_now=False,
)

CONSENSUS1994 = Profile(
    "1994",
    misspelt_disallow=(),
    colon_may_be_missing=False,
    blank_line_ends_the_group=True,
    group_needs_a_rule=True,
    name_alphabet="",
    agent_rule="line contains the token",
    all_groups_are_merged=False,
    allow_is_a_rule=False,
    most_octets_win=False,
    only_the_slash_stays_encoded=True,
    access_denied_closes_the_site=True,
    default_life=7 * 86_400.0,
    redirects_followed=20,
)

DRAFT1996 = replace(
    CONSENSUS1994,
    name="1996",
    allow_is_a_rule=True,
    extensions_are_rules=True,
    query_is_matched=False,
)

KOLLAR = replace(
    CONSENSUS1994,
    name="kollar",
    several_names_on_a_line=True,
    several_paths_on_a_line=True,
    agent_rule="token contains the name",
    all_and_follow_lift=True,
    noindex_closes_links=True,
)

PROFILES = {
    profile.name: profile for profile in (RFC9309, GOOGLE, DRAFT1996, CONSENSUS1994, KOLLAR)
}


def named(profile: str | Profile) -> Profile:
    """Return the profile with a name; return a :class:`Profile` unchanged.

    Raises ValueError for an unknown name.
    """
    if isinstance(profile, Profile):
        return profile
    try:
        return PROFILES[profile]
    except (KeyError, TypeError):
        known = ", ".join(repr(name) for name in PROFILES)
        raise ValueError(f"{profile!r} is not a robots.txt profile; known are {known}") from None
