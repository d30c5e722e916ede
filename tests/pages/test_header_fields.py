"""X-Robots-Tag: whom a term is for, and what is a term at all."""

from __future__ import annotations

from tests.pages.cases import CHOICE, GOOGLE, REPEXT, RFC9110, Case, parameters, rules, utc


def x(*values: str) -> list[tuple[str, str]]:
    """Lines of X-Robots-Tag."""
    return [("X-Robots-Tag", value) for value in values]


X_ROBOTS_TAG = {
    "for all": Case(GOOGLE, rules("noindex"), lines=x("noindex")),
    "none": Case(GOOGLE, rules("noindex", "nofollow"), lines=x("none")),
    "in upper case": Case(GOOGLE, rules("noindex"), lines=[("X-ROBOTS-TAG", "NOINDEX")]),
    "a name as in HTTP/2": Case(GOOGLE, rules("noindex"), lines=[("x-robots-tag", "noindex")]),
    "several terms": Case(GOOGLE, rules("noarchive", "nofollow"), lines=x("noarchive, nofollow")),
    "several lines": Case(GOOGLE, rules("noarchive", "nofollow"), lines=x("noarchive", "nofollow")),
    "the last line is not the only one": Case(GOOGLE, rules("noindex"), lines=x("noindex", "all")),
    "for this crawler": Case(GOOGLE, rules("nofollow"), lines=x("mybot: nofollow")),
    "for this crawler in upper case": Case(GOOGLE, rules("nofollow"), lines=x("MyBot:nofollow")),
    "for another one": Case(GOOGLE, {}, lines=x("otherbot: noindex, nofollow")),
    "a name holds for the terms behind it": Case(
        GOOGLE, rules("noindex", "nofollow"), lines=x("mybot: noindex, nofollow")
    ),
    "up to the next name": Case(
        GOOGLE, rules("nosnippet"), lines=x("otherbot: noindex, nofollow, mybot: nosnippet")
    ),
    "a name holds for its line alone": Case(
        GOOGLE, rules("nofollow"), lines=x("otherbot: noindex", "nofollow")
    ),
    "terms before the first name are for all": Case(
        CHOICE, rules("noindex"), lines=x("noindex, otherbot: nofollow")
    ),
    "a line for all and one for this crawler": Case(
        GOOGLE, rules("noindex", "nofollow"), lines=x("noindex", "mybot: nofollow")
    ),
    "a specific line lifts nothing": Case(
        REPEXT, rules("noindex", "nofollow"), lines=x("none", "mybot: all")
    ),
    "a longer name": Case(CHOICE, {}, lines=x("mybots: noindex")),
    "a shorter name": Case(CHOICE, {}, lines=x("my: noindex")),
    "a name with a version": Case(CHOICE, rules("noindex"), lines=x("mybot/2.1: noindex")),
    "a name with a digit": Case(CHOICE, {}, lines=x("mybot2: noindex")),
    "google: a name ends at a digit": Case(
        GOOGLE, rules("noindex"), lines=x("mybot2: noindex"), profile="google"
    ),
    "a star is all": Case(CHOICE, rules("noindex"), lines=x("*: noindex")),
    "the name robots is all": Case(CHOICE, rules("noindex"), lines=x("robots: noindex")),
    "no name before the colon is all": Case(CHOICE, rules("noindex"), lines=x(": noindex")),
    "a name behind a name": Case(CHOICE, {}, lines=x("mybot: otherbot: noindex")),
    "an unnamed crawler": Case(
        GOOGLE, rules("nofollow"), lines=x("nofollow, mybot: noindex"), agent=None
    ),
    "two names": Case(
        CHOICE,
        rules("noindex", "nofollow"),
        lines=x("news: noindex, mybot: nofollow, otherbot: noarchive"),
        agent=["news", "mybot"],
    ),
    "a valued term is no name": Case(GOOGLE, {"max_snippet": 10}, lines=x("max-snippet: 10")),
    "a term behind a valued one": Case(
        GOOGLE, {"max_snippet": 10, **rules("noindex")}, lines=x("max-snippet: 10, noindex")
    ),
    "a valued term for this crawler": Case(
        GOOGLE, {"max_image_preview": "none"}, lines=x("mybot: max-image-preview: none")
    ),
    "a valued term for another one": Case(GOOGLE, {}, lines=x("otherbot: max-snippet: 10")),
    "a valued term does not end the scope": Case(
        GOOGLE, {}, lines=x("otherbot: max-snippet: 10, noindex")
    ),
    "a date with a comma": Case(
        GOOGLE,
        {"unavailable_after": utc(2025, 8, 3, 12), **rules("noindex")},
        lines=x("unavailable_after: Sunday, 03-Aug-2025 12:00:00 GMT, noindex"),
    ),
    "a date for another one": Case(
        GOOGLE,
        rules("nofollow"),
        lines=x(
            "otherbot: unavailable_after: Sun, 03 Aug 2025 12:00:00 GMT, noindex", "mybot: nofollow"
        ),
    ),
    "a date between names": Case(
        GOOGLE,
        {"unavailable_after": utc(2025, 8, 3, 12), **rules("nofollow")},
        lines=x(
            "mybot: unavailable_after: Sun, 03 Aug 2025 12:00:00 GMT, nofollow, other: noindex"
        ),
    ),
    "spaces instead of commas": Case(
        CHOICE, rules("noindex", "nofollow"), lines=x("noindex nofollow")
    ),
    "lines joined by a proxy": Case(
        RFC9110, rules("nofollow"), lines=x("otherbot: noindex, mybot: nofollow")
    ),
    "empty": Case(CHOICE, {}, lines=x("", ",")),
    "an unknown term": Case(GOOGLE, {}, lines=x("nonsense")),
    "octets beyond ASCII": Case(CHOICE, rules("noindex"), lines=x("caf\u00e9, noindex")),
    "header and meta add up": Case(
        GOOGLE,
        rules("noindex", "nofollow"),
        "<meta name=robots content=noindex>",
        x("nofollow"),
    ),
    "the earliest date of header and meta": Case(
        REPEXT,
        {"unavailable_after": utc(2024, 1, 1)},
        "<meta name=robots content='unavailable_after: 2024-01-01'>",
        x("unavailable_after: 2025-01-01"),
    ),
    "kollar: headers know no lifting": Case(
        CHOICE, rules("noindex"), lines=x("noindex, all"), profile="kollar"
    ),
    "within 8 KB": Case(CHOICE, rules("noindex"), lines=x("a," * 4_000 + "noindex")),
    "beyond 8 KB": Case(CHOICE, {}, lines=x("a," * 4_100 + "noindex")),
    "Robots-Tag, whose draft has expired": Case(REPEXT, {}, lines=[("Robots-Tag", "*;noindex")]),
    "a line beyond 8 KB": Case(CHOICE, {}, lines=x("a," * 4_096, "noindex")),
}


@parameters(X_ROBOTS_TAG)
def test_x_robots_tag(case: Case) -> None:
    """A name holds up to the next name of its line, and a term with a value is no name."""
    case.check()
