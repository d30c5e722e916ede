"""META robots: the terms, whom they are for, and what several come to."""

from __future__ import annotations

from datetime import datetime

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


TERMS = {
    "a page without metas": Case(GOOGLE, "", head()),
    "noindex": Case(GOOGLE, "noindex", robots("noindex")),
    "nofollow": Case(GOOGLE, "nofollow", robots("nofollow")),
    "none is both": Case(GOOGLE, "noindex nofollow", robots("none")),
    "two terms": Case(GOOGLE, "noindex nofollow", robots("noindex, nofollow")),
    "without a space": Case(GOOGLE, "noindex nofollow", robots("noindex,nofollow")),
    "upper case": Case(META_1996, "noindex nofollow", robots("NOINDEX, NoFollow")),
    "all restricts nothing": Case(META_1996, "", robots("all")),
    "index, follow restrict nothing": Case(META_1996, "", robots("index, follow")),
    "all lifts nothing": Case(GOOGLE, "noindex", robots("noindex, all")),
    "follow lifts nothing": Case(GOOGLE, "nofollow", robots("follow, nofollow")),
    "nosnippet": Case(GOOGLE, "nosnippet", robots("nosnippet")),
    "notranslate": Case(GOOGLE, "notranslate", robots("notranslate")),
    "noimageindex": Case(GOOGLE, "noimageindex", robots("noimageindex")),
    "noarchive": Case(BING, "noarchive", robots("noarchive")),
    "nocache": Case(BING, "nocache", robots("nocache")),
    "noai": Case(CUSTOM, "noai noimageai", robots("noai, noimageai")),
    "noml": Case(CUSTOM, "noml", robots("noml")),
    "indexifembedded restricts nothing": Case(GOOGLE, "", robots("indexifembedded")),
    "indexifembedded lifts nothing": Case(GOOGLE, "noindex", robots("noindex, indexifembedded")),
    "nositelinkssearchbox is kept raw": Case(GOOGLE, "", robots("nositelinkssearchbox")),
    "an unknown term is kept raw": Case(GOOGLE, "noindex", robots("Nonsense, noindex")),
    "part of a word is no term": Case(CHOICE, "", robots("xnoindex, noindexes, no-index")),
    "empty": Case(META_1996, "", robots("")),
    "only commas": Case(CHOICE, "", robots(" , ,, ")),
    "commas too many": Case(CHOICE, "noindex", robots(",noindex,,")),
    "spaces instead of commas": Case(CHOICE, "noindex nofollow", robots("noindex nofollow")),
    "semicolons instead of commas": Case(CHOICE, "noindex nofollow", robots("noindex; nofollow")),
    "a no-break space is a space": Case(
        CHOICE, "noindex nofollow", robots("noindex,\u00a0nofollow")
    ),
    "lines in the value": Case(GOOGLE, "noindex nofollow", robots("noindex,\n\tnofollow")),
}

LIMITS = {
    "max-snippet": Case(GOOGLE, "max_snippet=20", robots("max-snippet:20")),
    "max-snippet with a space": Case(GOOGLE, "max_snippet=20", robots("max-snippet: 20")),
    "max-snippet in upper case": Case(GOOGLE, "max_snippet=20", robots("MAX-SNIPPET:20")),
    "max-snippet 0 is nosnippet": Case(GOOGLE, "max_snippet=0 nosnippet", robots("max-snippet:0")),
    "max-snippet -1 is no limit": Case(GOOGLE, "max_snippet=-1", robots("max-snippet:-1")),
    "the smallest limit counts": Case(
        GOOGLE, "max_snippet=5", robots("max-snippet:20, max-snippet:5, max-snippet:-1")
    ),
    "no limit is larger than any": Case(
        GOOGLE, "max_snippet=7", head(meta("max-snippet:-1"), meta("max-snippet:7"))
    ),
    "max-snippet without a number": Case(GOOGLE, "", robots("max-snippet:many")),
    "max-snippet -2 is no number of characters": Case(GOOGLE, "", robots("max-snippet:-2")),
    "max-snippet with a fraction": Case(GOOGLE, "", robots("max-snippet:1.5")),
    "max-snippet without a value": Case(GOOGLE, "", robots("max-snippet:, max-snippet")),
    "max-snippet of 5,000 digits": Case(CHOICE, "", robots("max-snippet:" + "9" * 5000)),
    "a digit that is not ASCII": Case(CHOICE, "", robots("max-snippet:\u0665")),
    "a bad limit beside a good one": Case(
        GOOGLE, "max_snippet=9", robots("max-snippet:x, max-snippet:9")
    ),
    "max-video-preview": Case(GOOGLE, "max_video_preview=3", robots("max-video-preview:3")),
    "max-video-preview 0 is a still": Case(
        GOOGLE, "max_video_preview=0", robots("max-video-preview:0")
    ),
    "max-video-preview -1": Case(GOOGLE, "max_video_preview=-1", robots("max-video-preview:-1")),
    "max-image-preview": Case(GOOGLE, "max_image_preview=large", robots("max-image-preview:large")),
    "the smallest image counts": Case(
        GOOGLE,
        "max_image_preview=none",
        robots("max-image-preview:large, max-image-preview:none, max-image-preview:standard"),
    ),
    "max-image-preview in upper case": Case(
        GOOGLE, "max_image_preview=standard", robots("max-image-preview:STANDARD")
    ),
    "max-image-preview of an unknown size": Case(CHOICE, "", robots("max-image-preview:huge")),
    "limits and terms without commas": Case(
        CHOICE,
        "max_snippet=4 max_image_preview=large noindex nofollow",
        robots("noindex max-snippet:4 max-image-preview:large nofollow"),
    ),
}

DATES = {
    "RFC 822 with a weekday": Case(
        GOOGLE,
        "unavailable_after=2010-06-25T15 noindex",
        robots("unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex"),
    ),
    "RFC 850": Case(
        GOOGLE,
        "unavailable_after=2025-08-03T12 nofollow",
        robots("unavailable_after: Sunday, 03-Aug-25 12:00:00 GMT, nofollow"),
    ),
    "the earliest counts": Case(
        REPEXT,
        "unavailable_after=2024-01-01",
        robots("unavailable_after: 2025-01-01, unavailable_after: 2024-01-01"),
    ),
    "an unreadable date": Case(GOOGLE, "noindex", robots("unavailable_after: tomorrow, noindex")),
    "a term behind a date without a comma": Case(
        CHOICE,
        "unavailable_after=2025-08-03 noindex",
        robots("unavailable_after: 2025-08-03 noindex"),
    ),
    "a weekday without a date": Case(
        GOOGLE, "nofollow", robots("unavailable_after: Sunday, nofollow")
    ),
}

AGENTS = {
    "a meta for this crawler": Case(GOOGLE, "noindex", head(meta("noindex", "mybot"))),
    "a meta for this crawler in upper case": Case(
        GOOGLE, "noindex", head(meta("noindex", "MyBot"))
    ),
    "a meta for another one": Case(GOOGLE, "", head(meta("noindex", "otherbot"))),
    "a meta for a crawler with a longer name": Case(CHOICE, "", head(meta("noindex", "mybots"))),
    "a meta for a crawler with a shorter name": Case(CHOICE, "", head(meta("noindex", "my"))),
    "a meta for all and one for this crawler": Case(
        GOOGLE, "noindex nofollow", head(meta("noindex"), meta("nofollow", "mybot"))
    ),
    "a specific meta lifts nothing": Case(
        REPEXT, "noindex nofollow", head(meta("none"), meta("all", "mybot"))
    ),
    "several metas add up": Case(
        GOOGLE, "noindex nofollow", head(meta("noindex"), meta("nofollow"))
    ),
    "an unnamed crawler obeys what is for all": Case(
        GOOGLE, "noindex", head(meta("noindex"), meta("nofollow", "mybot")), agent=None
    ),
    "the default group is for all": Case(
        CHOICE, "noindex", head(meta("noindex"), meta("nofollow", "mybot")), agent="*"
    ),
    "each of several names counts": Case(
        CHOICE,
        "noindex nofollow",
        head(meta("noindex", "mybot-news"), meta("nofollow", "mybot")),
        agent=["mybot-news", "mybot"],
    ),
    "a whole User-Agent": Case(
        GOOGLE,
        "noindex",
        head(meta("noindex", "mybot")),
        agent="Mozilla/5.0 (compatible; MyBot/2.1; +https://example.org/bot)",
    ),
    "spaces around the name": Case(CHOICE, "noindex", head(meta("noindex", " robots "))),
    "an agent within the value is no agent": Case(GOOGLE, "", head(meta("mybot: noindex"))),
    "property is not name": Case(GOOGLE, "", head('<meta property="robots" content="noindex">')),
    "a meta without a value": Case(CHOICE, "", head('<meta name="robots">')),
    "a meta without a name": Case(CHOICE, "", head('<meta content="noindex">')),
}

META_OF_1996 = {
    "document state static": Case(
        META_1996, "document_state=static", head(meta("STATIC", "DOCUMENT-STATE"))
    ),
    "document state dynamic": Case(
        META_1996, "document_state=dynamic", head(meta("Dynamic", "document-state"))
    ),
    "an unknown document state": Case(META_1996, "", head(meta("liquid", "document-state"))),
    "the first document state counts": Case(
        CHOICE,
        "document_state=dynamic",
        head(meta("dynamic", "document-state"), meta("static", "document-state")),
    ),
    "the address of the page": Case(
        META_1996,
        "url=https://example.org/original.html",
        head(meta("https://example.org/original.html", "URL")),
    ),
    "a relative address is none": Case(META_1996, "", head(meta("/original.html", "URL"))),
    "the address in every profile": Case(
        META_1996,
        "url=http://e.org/ document_state=static",
        head(meta("http://e.org/", "url"), meta("static", "document-state")),
        profile="kollar",
    ),
}

IN_THE_BODY = f"<html><head></head><body><p>text</p>{meta('noindex')}</body></html>"


def kollar(source: str, said: str, content: str) -> Case:
    """What a META robots comes to in the profile of 1996-98."""
    return Case(source, said, robots(content), profile="kollar")


PROFILES = {
    "kollar: all beats all else": kollar(META_1996, "", "ALL, NOINDEX, NOFOLLOW"),
    "kollar: all beats none": kollar(META_1996, "", "none, all"),
    "kollar: follow beats nofollow": kollar(META_1996, "", "NOFOLLOW, FOLLOW"),
    "kollar: follow beats half of none": kollar(META_1996, "noindex", "none, follow"),
    "kollar: noindex alone closes the links": kollar(META_1996, "noindex nofollow", "NOINDEX"),
    "kollar: noindex with follow does not": kollar(META_1996, "noindex", "noindex, follow"),
    "kollar: nofollow alone leaves the page": kollar(META_1996, "nofollow", "nofollow"),
    "kollar: index and noindex are the crawler's choice": kollar(
        CHOICE, "noindex", "index, noindex"
    ),
    "kollar: one meta does not lift another": Case(
        CHOICE, "nofollow", head(meta("nofollow"), meta("all")), profile="kollar"
    ),
    "kollar: a later term is not of its six": kollar(
        CHOICE, "noindex nofollow noarchive", "noindex, noarchive"
    ),
    "1994: as RFC 9309": Case(CHOICE, "noindex", robots("all, noindex"), profile="1994"),
    "1996: as RFC 9309": Case(CHOICE, "noindex", robots("all, noindex"), profile="1996"),
    "google: nothing lifts": Case(GOOGLE, "nofollow", robots("follow, nofollow"), profile="google"),
    "google: metas in the body count": Case(GOOGLE, "noindex", IN_THE_BODY, profile="google"),
    "rfc9309: metas in the body do not count": Case(REPEXT, "", IN_THE_BODY),
}


@parameters(TERMS)
def test_terms(case: Case) -> None:
    """Restrictions add up; what restricts nothing lifts nothing; what is unknown is ignored."""
    case.check()


@parameters(LIMITS)
def test_limits(case: Case) -> None:
    """The smallest limit counts; a value that cannot be read is as if it were not there."""
    case.check()


@parameters(DATES)
def test_dates(case: Case) -> None:
    """Dates of three formats, whose commas separate nothing."""
    case.check()


@parameters(AGENTS)
def test_agents(case: Case) -> None:
    """A meta is for all, or for the crawler that it names, whole and without regard to case."""
    case.check()


@parameters(META_OF_1996)
def test_meta_of_1996(case: Case) -> None:
    """DOCUMENT-STATE and URL are read in every profile."""
    case.check()


@parameters(PROFILES)
def test_profiles(case: Case) -> None:
    """Only the text of 1996-98 knows a term that lifts another."""
    case.check()


@rows(
    "moment, texts",
    [
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
    ],
)
def test_a_date_is_read_in_each_usual_form(moment: datetime | None, texts: list[str]) -> None:
    """RFC 822, RFC 850 and ISO 8601: a date without a time means the start of the day."""
    for text in texts:
        alone = page_directives(response(robots(f"unavailable_after: {text}")))
        assert (alone.unavailable_after, alone.restrictions) == (moment, set()), text
        more = page_directives(response(robots(f"unavailable_after: {text}, noai")))
        assert (more.unavailable_after, more.restrictions) == (moment, {"noai"}), text
