"""META robots: the terms, whom they are for, and what several come to."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

from scrapy_rep import page_directives
from tests.pages.cases import (
    BING,
    CHOICE,
    CUSTOM,
    GOOGLE,
    META_1996,
    REPEXT,
    Case,
    parameters,
    response,
    utc,
)
from tests.rows import rows


def head(*metas: str) -> str:
    """A page with these in its head, in one line each."""
    return (
        "<!doctype html>\n<html><head>\n" + "\n".join(metas) + "\n</head><body>text</body></html>"
    )


def meta(content: str, name: str = "robots") -> str:
    """One meta element."""
    return f'<meta name="{name}" content="{content}">'


def robots(content: str) -> str:
    """A page with one META robots."""
    return head(meta(content))


def says(source: str, said: str, *metas: str, **more: Any) -> Case:
    """What a page with these in its head comes to."""
    return Case(source, said, head(*metas), **more)


google, choice, of_1996 = (partial(says, source) for source in (GOOGLE, CHOICE, META_1996))

TERMS = [
    (GOOGLE, "noindex",
     ["noindex", "noindex, all", "noindex, indexifembedded", "Nonsense, noindex"]),
    (GOOGLE, "nofollow", ["nofollow", "follow, nofollow"]),
    (GOOGLE, "noindex nofollow", ["none", "noindex, nofollow", "noindex,nofollow"]),
    (GOOGLE, "noindex nofollow", ["noindex,\n\tnofollow"]),
    (META_1996, "noindex nofollow", ["NOINDEX, NoFollow"]),
    (META_1996, "", ["all", "index, follow", ""]),
    (GOOGLE, "nosnippet", ["nosnippet"]),
    (GOOGLE, "notranslate", ["notranslate"]),
    (GOOGLE, "noimageindex", ["noimageindex"]),
    (BING, "noarchive", ["noarchive"]),
    (BING, "nocache", ["nocache"]),
    (CUSTOM, "noai noimageai", ["noai, noimageai"]),
    (CUSTOM, "noml", ["noml"]),
    (GOOGLE, "", ["indexifembedded", "nositelinkssearchbox"]),
    (CHOICE, "", ["xnoindex, noindexes, no-index", " , ,, "]),
    (CHOICE, "noindex", [",noindex,,"]),
    (CHOICE, "noindex nofollow",
     ["noindex nofollow", "noindex; nofollow", "noindex,\u00a0nofollow"]),
]  # fmt: skip

LIMITS = [
    (GOOGLE, "max_snippet=20", ["max-snippet:20", "max-snippet: 20", "MAX-SNIPPET:20"]),
    (GOOGLE, "max_snippet=0 nosnippet", ["max-snippet:0"]),
    (GOOGLE, "max_snippet=-1", ["max-snippet:-1"]),
    (GOOGLE, "max_snippet=5", ["max-snippet:20, max-snippet:5, max-snippet:-1"]),
    (GOOGLE, "max_snippet=9", ["max-snippet:x, max-snippet:9"]),
    (GOOGLE, "", ["max-snippet:many", "max-snippet:-2", "max-snippet:1.5"]),
    (GOOGLE, "", ["max-snippet:, max-snippet"]),
    (CHOICE, "", ["max-snippet:" + "9" * 5000, "max-snippet:\u0665", "max-image-preview:huge"]),
    (GOOGLE, "max_video_preview=3", ["max-video-preview:3"]),
    (GOOGLE, "max_video_preview=0", ["max-video-preview:0"]),
    (GOOGLE, "max_video_preview=-1", ["max-video-preview:-1"]),
    (GOOGLE, "max_image_preview=large", ["max-image-preview:large"]),
    (GOOGLE, "max_image_preview=standard", ["max-image-preview:STANDARD"]),
    (GOOGLE, "max_image_preview=none", ["max-image-preview:none, max-image-preview:standard"]),
    (GOOGLE, "max_image_preview=none", ["max-image-preview:large, max-image-preview:none"]),
    (CHOICE, "max_snippet=4 noindex nofollow", ["noindex max-snippet:4 nofollow"]),
    (CHOICE, "max_snippet=4 max_image_preview=large", ["max-snippet:4 max-image-preview:large"]),
    (CHOICE, "max_snippet=4 nofollow", ["max-snippet:4\tnofollow", "max-snippet:4\n nofollow"]),
]

AFTER = "unavailable_after"
DATES = [
    (GOOGLE, f"{AFTER}=2010-06-25T15 noindex",
     [f"{AFTER}: Fri, 25 Jun 2010 15:00:00 GMT, noindex"]),
    (GOOGLE, f"{AFTER}=2025-08-03T12 noai", [f"{AFTER}: Sunday, 03-Aug-25 12:00:00 GMT, noai"]),
    (REPEXT, f"{AFTER}=2024-01-01", [f"{AFTER}: 2025-01-01, {AFTER}: 2024-01-01"]),
    (GOOGLE, "noindex", [f"{AFTER}: tomorrow, noindex", f"{AFTER}: Sunday, noindex"]),
    (CHOICE, f"{AFTER}=2025-08-03 noindex", [f"{AFTER}: 2025-08-03 noindex"]),
    (CHOICE, f"{AFTER}=2025-08-03 max_snippet=4 noindex",
     [f"{AFTER}: 2025-08-03 max-snippet:4 noindex", f"{AFTER}:2025-08-03\nMAX-SNIPPET: 4 noindex"]),
]  # fmt: skip

AGENTS = {
    "a meta for this crawler": google("noindex", meta("noindex", "mybot")),
    "a meta for this crawler in upper case": google("noindex", meta("noindex", "MyBot")),
    "a meta for another one": google("", meta("noindex", "otherbot")),
    "a meta for a crawler with a longer name": choice("", meta("noindex", "mybots")),
    "a meta for a crawler with a shorter name": choice("", meta("noindex", "my")),
    "a meta for all and one for this crawler": google("noindex nofollow", meta("noindex"),
        meta("nofollow", "mybot")),
    "a specific meta lifts nothing": says(REPEXT, "noindex nofollow", meta("none"),
        meta("all", "mybot")),
    "no limit is larger than any": google("max_snippet=7", meta("max-snippet:-1"),
        meta("max-snippet:7")),
    "a page without metas": google(""),
    "several metas add up": google("noindex nofollow", meta("noindex"), meta("nofollow")),
    "an unnamed crawler obeys what is for all": google("noindex", meta("noindex"),
        meta("nofollow", "mybot"), agent=None),
    "the default group is for all": choice("noindex", meta("noindex"), meta("nofollow", "mybot"),
        agent="*"),
    "each of several names counts": choice("noindex nofollow", meta("noindex", "mybot-news"),
        meta("nofollow", "mybot"), agent=["mybot-news", "mybot"]),
    "a whole User-Agent": google("noindex", meta("noindex", "mybot"),
        agent="Mozilla/5.0 (compatible; MyBot/2.1; +https://example.org/bot)"),
    "spaces around the name": choice("noindex", meta("noindex", " robots ")),
    "an agent within the value is no agent": google("", meta("mybot: noindex")),
    "property is not name": google("", '<meta property="robots" content="noindex">'),
    "a meta without a value": choice("", '<meta name="robots">'),
    "a meta without a name": choice("", '<meta content="noindex">'),
}  # fmt: skip

META_OF_1996 = {
    "document state static": of_1996("document_state=static", meta("STATIC", "DOCUMENT-STATE")),
    "document state dynamic": of_1996("document_state=dynamic", meta("Dynamic", "document-state")),
    "an unknown document state": of_1996("", meta("liquid", "document-state")),
    "the first document state counts": choice("document_state=dynamic",
        meta("dynamic", "document-state"), meta("static", "document-state")),
    "the address of the page": of_1996("url=https://example.org/original.html",
        meta("https://example.org/original.html", "URL")),
    "a relative address is none": of_1996("", meta("/original.html", "URL")),
    "the address in every profile": of_1996("url=http://e.org/ document_state=static",
        meta("http://e.org/", "url"), meta("static", "document-state"), profile="kollar"),
}  # fmt: skip

IN_THE_BODY = f"<html><head></head><body><p>text</p>{meta('noindex')}</body></html>"


KOLLAR = [
    (META_1996, "", ["ALL, NOINDEX, NOFOLLOW", "none, all", "NOFOLLOW, FOLLOW"]),
    (META_1996, "noindex", ["none, follow", "noindex, follow"]),
    (META_1996, "noindex nofollow", ["NOINDEX"]),
    (META_1996, "nofollow", ["nofollow"]),
    (CHOICE, "noindex", ["index, noindex"]),
    (CHOICE, "noindex nofollow noarchive", ["noindex, noarchive"]),
]
PROFILES = {
    "kollar: one meta does not lift another": says(
        CHOICE, "nofollow", meta("nofollow"), meta("all"), profile="kollar"
    ),
    "1994: as RFC 9309": Case(CHOICE, "noindex", robots("all, noindex"), profile="1994"),
    "1996: as RFC 9309": Case(CHOICE, "noindex", robots("all, noindex"), profile="1996"),
    "google: nothing lifts": Case(GOOGLE, "nofollow", robots("follow, nofollow"), profile="google"),
    "google: metas in the body count": Case(GOOGLE, "noindex", IN_THE_BODY, profile="google"),
    "rfc9309: metas in the body do not count": Case(REPEXT, "", IN_THE_BODY),
}


@rows("source, said, contents", [*TERMS, *LIMITS, *DATES])
def test_terms_limits_and_dates(source: str, said: str, contents: list[str]) -> None:
    """Restrictions add up; what restricts nothing lifts nothing; what is unknown is ignored.

    The smallest limit counts, and a value that cannot be read is as if it were not there. Dates are
    of three formats, whose commas separate nothing.
    """
    for content in contents:
        Case(source, said, robots(content)).check()


@parameters(AGENTS)
def test_agents(case: Case) -> None:
    """A meta is for all, or for the crawler that it names, whole and without regard to case."""
    case.check()


@parameters(META_OF_1996)
def test_meta_of_1996(case: Case) -> None:
    """DOCUMENT-STATE and URL are read in every profile."""
    case.check()


@rows("source, said, contents", KOLLAR)
def test_terms_of_1996(source: str, said: str, contents: list[str]) -> None:
    """A term lifts another one of the same META; noindex alone closes the links."""
    for content in contents:
        Case(source, said, robots(content), profile="kollar").check()


@parameters(PROFILES)
def test_profiles(case: Case) -> None:
    """Only the text of 1996-98 knows a term that lifts another."""
    case.check()


@rows(
    "moment, texts",
    (utc(2010, 6, 25), ["25 Jun 2010", "Fri, 25 Jun 2010", "25-Jun-2010", "20100625"]),
    (utc(2010, 6, 25, 15), ["2010-06-25 15:00:00 GMT", "2010-06-25 15:00:00 UTC"]),
    (utc(2010, 6, 25, 15), ["2010-06-25 15:00 CEST", "2010-06-25T15Z", "20100625T150000Z"]),
    (utc(2010, 6, 25, 13), ["2010-06-25T15:00+02", "20100625T1500+0200"]),
    (utc(2010, 6, 25, 23), ["25 Jun 2010 15:00:00 PST", "2010-06-25T15:00:00 PST"]),
    (utc(2025, 8, 3), ["2025-08-03"]),
    (utc(2025, 8, 3, 10), ["2025-08-03T12:00:00+02:00"]),
    (utc(2025, 8, 3, 12), ["03 Aug 2025 12:00:00", "Wednesday, 03-Aug-2025 12:00:00 GMT"]),
    (utc(2025, 8, 3, 12), ["2025-08-03T12:00:00Z"]),
    (utc(2025, 8, 3, 13), ["2025-08-03 12:00:00.5 -0100"]),
    (None, ["2025-02-30", "0001-01-01T00:00:00+14:00", "2010-13-25", "20100625T2500"]),
    (None, ["20100025", "2010-06-25T15:00+99", "25"]),
)
def test_a_date_is_read_in_each_usual_form(moment: datetime | None, texts: list[str]) -> None:
    """RFC 822, RFC 850 and ISO 8601: a date without a time means the start of the day."""
    for text in texts:
        alone = page_directives(response(robots(f"unavailable_after: {text}")))
        assert (alone.unavailable_after, alone.restrictions) == (moment, set()), text
        more = page_directives(response(robots(f"unavailable_after: {text}, noai")))
        assert (more.unavailable_after, more.restrictions) == (moment, {"noai"}), text


def test_a_page_is_noindex_from_the_moment_it_names() -> None:
    """Google: unavailable_after; the directive noindex itself holds at any time."""
    later = page_directives(response(robots("unavailable_after: 2030-01-02")))
    moment = datetime(2030, 1, 2, tzinfo=timezone.utc)
    assert later.is_noindex(moment)
    assert not later.is_noindex(moment - timedelta(seconds=1))
    assert page_directives(response(robots("noindex"))).is_noindex(moment)


def test_metas_are_read_up_to_a_limit() -> None:
    """RFC 9309 section 3: 32 KiB of them, whatever comes after."""
    filler = meta("x, " * 6_000)
    assert page_directives(response(head(filler, meta("noindex")))).restrictions == {"noindex"}
    assert page_directives(response(head(filler, filler, meta("noindex")))).restrictions == set()


def test_a_date_that_is_too_long_is_none() -> None:
    """No more of it is read than any date has."""
    for text in ("2030-01-02" + "0" * 70, "Wednesday," + ",1" * 70):
        found = page_directives(response(robots(f"unavailable_after: {text}")))
        assert found.unavailable_after is None
