"""X-Robots-Tag: whom a term is for, and what is a term at all."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.pages.cases import CHOICE, GOOGLE, REPEXT, RFC9110, Case, parameters


def x(*values: str) -> list[tuple[str, str]]:
    """Lines of X-Robots-Tag."""
    return [("X-Robots-Tag", value) for value in values]


def says(source: str, said: str, *values: str, **more: Any) -> Case:
    """What lines of X-Robots-Tag come to."""
    return Case(source, said, lines=x(*values), **more)


google, choice, repext = (partial(says, source) for source in (GOOGLE, CHOICE, REPEXT))

X_ROBOTS_TAG = {
    "for all": google("noindex", "noindex"),
    "none": google("noindex nofollow", "none"),
    "in upper case": Case(GOOGLE, "noindex", lines=[("X-ROBOTS-TAG", "NOINDEX")]),
    "a name as in HTTP/2": Case(GOOGLE, "noindex", lines=[("x-robots-tag", "noindex")]),
    "several terms": google("noarchive nofollow", "noarchive, nofollow"),
    "several lines": google("noarchive nofollow", "noarchive", "nofollow"),
    "the last line is not the only one": google("noindex", "noindex", "all"),
    "for this crawler": google("nofollow", "mybot: nofollow"),
    "for this crawler in upper case": google("nofollow", "MyBot:nofollow"),
    "for another one": google("", "otherbot: noindex, nofollow"),
    "a name holds for the terms behind it": google("noindex nofollow", "mybot: noindex, nofollow"),
    "up to the next name": google("nosnippet", "otherbot: noindex, nofollow, mybot: nosnippet"),
    "a name holds for its line alone": google("nofollow", "otherbot: noindex", "nofollow"),
    "terms before the first name are for all": choice("noindex", "noindex, otherbot: nofollow"),
    "a line for all and one for this crawler": google("noindex nofollow", "noindex",
        "mybot: nofollow"),
    "a specific line lifts nothing": repext("noindex nofollow", "none", "mybot: all"),
    "a longer name": choice("", "mybots: noindex"),
    "a shorter name": choice("", "my: noindex"),
    "a name with a version": choice("noindex", "mybot/2.1: noindex"),
    "a name with a digit": choice("", "mybot2: noindex"),
    "google: a name ends at a digit": google("noindex", "mybot2: noindex", profile="google"),
    "a star is all": choice("noindex", "*: noindex"),
    "the name robots is all": choice("noindex", "robots: noindex"),
    "no name before the colon is all": choice("noindex", ": noindex"),
    "a name behind a name": choice("", "mybot: otherbot: noindex"),
    "an unnamed crawler": google("nofollow", "nofollow, mybot: noindex", agent=None),
    "two names": choice("noindex nofollow", "news: noindex, mybot: nofollow, otherbot: noarchive",
        agent=["news", "mybot"]),
    "a valued term is no name": google("max_snippet=10", "max-snippet: 10"),
    "a term behind a valued one": google("max_snippet=10 noindex", "max-snippet: 10, noindex"),
    "a valued term for this crawler": google("max_image_preview=none",
        "mybot: max-image-preview: none"),
    "a valued term for another one": google("", "otherbot: max-snippet: 10"),
    "a valued term does not end the scope": google("", "otherbot: max-snippet: 10, noindex"),
    "a date with a comma": google("unavailable_after=2025-08-03T12 noindex",
        "unavailable_after: Sunday, 03-Aug-2025 12:00:00 GMT, noindex"),
    "a date for another one": google("nofollow",
        "otherbot: unavailable_after: Sun, 03 Aug 2025 12:00:00 GMT, noindex", "mybot: nofollow"),
    "a date between names": google("unavailable_after=2025-08-03T12 nofollow",
        "mybot: unavailable_after: Sun, 03 Aug 2025 12:00:00 GMT, nofollow, other: noindex"),
    "spaces instead of commas": choice("noindex nofollow", "noindex nofollow"),
    "lines joined by a proxy": says(RFC9110, "nofollow", "otherbot: noindex, mybot: nofollow"),
    "empty": choice("", "", ","),
    "an unknown term": google("", "nonsense"),
    "octets beyond ASCII": choice("noindex", "caf\u00e9, noindex"),
    "header and meta add up": Case(GOOGLE, "noindex nofollow", "<meta name=robots content=noindex>",
        x("nofollow")),
    "the earliest date of header and meta": Case(REPEXT, "unavailable_after=2024-01-01",
        "<meta name=robots content='unavailable_after: 2024-01-01'>",
        x("unavailable_after: 2025-01-01")),
    "kollar: headers know no lifting": choice("noindex", "noindex, all", profile="kollar"),
    "within 8 KB": choice("noindex", "a," * 4_000 + "noindex"),
    "within 8 KB of a longer line": choice("noindex", "noindex;" + "a;" * 4_100),
    "a term that 8 KB cut": choice("", "a," * 4_094 + "none-such"),
    "beyond 8 KB": choice("", "a," * 4_100 + "noindex"),
    "Robots-Tag, whose draft has expired": Case(REPEXT, "", lines=[("Robots-Tag", "*;noindex")]),
    "a line beyond 8 KB": choice("", "a," * 4_096, "noindex"),
}  # fmt: skip


@parameters(X_ROBOTS_TAG)
def test_x_robots_tag(case: Case) -> None:
    """A name holds up to the next name of its line, and a term with a value is no name."""
    case.check()
