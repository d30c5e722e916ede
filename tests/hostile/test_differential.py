"""The matcher is held against Google's own, in C++, on seeded files of the world's shape.

In profile ``google`` there is no difference. In profile ``rfc9309`` each difference is one of the
departures that are listed here. A difference belongs to a departure if it goes away once the file,
the crawler's name and the URL are rewritten so that only this departure has no occasion, while the
rewritten question has the same answer from us.
"""

from __future__ import annotations

import collections
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.normal_form import form_of
from scrapy_rep.robotstxt.profiles import RFC9309
from tests.benchmarks import inputs
from tests.robotstxt.paths import match_path
from tests.rows import deep, first

googlebot: Any = pytest.importorskip("jwm.robotstxt.googlebot")

_AGENT_LINE = re.compile(rb"(?im)^([ \t]*user[- ]?agent[ \t]*:?[ \t]*)([^\r\n#]*)")
_PATTERN_LINE = re.compile(
    rb"(?im)^([ \t]*(?:allow|di[as][a-z]*)(?:[ \t]*:|[ \t])[ \t]*)([^\r\n#]*)"
)
_UNRESERVED = re.compile(rb"%(2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")
_SAME_AS_RAW = re.compile(rb"%(3[Aa]|40|5[BbDd]|2[Aa4])")


class Question(NamedTuple):
    """May this crawler fetch this URL, says this file?"""

    body: bytes
    agent: str
    url: str


def google(question: Question) -> bool:
    """The C++ matcher's answer."""
    return bool(googlebot.RobotsMatcher().OneAgentAllowedByRobots(*question))


def ours(question: Question, profile: str = "rfc9309") -> bool:
    """Our answer."""
    robots = RobotsTxt.parse(question.body, profile=profile)
    return robots.allowed(question.url, question.agent)


def world(rnd: random.Random) -> bytes:
    """A small file with the oddities that real ones have."""
    body = inputs.file(rnd, min(inputs.number_of_rules(rnd), 40), wildcards=0.3)
    lines = body.split(b"\n")
    for _ in range(rnd.choice((0, 0, 1, 2, 4))):
        odd = rnd.choice(
            (b"User-agent: bot42/1.0", b"User-agent: foo bar", b"User-agent: *",
             b"user-agent foobot", b"useragent: foobot", b"Disallow /tmp/", b"disalow: /help",
             b"Crawl-delay: 10", b"",
             b"# Disallow: /", b"Allow: /news/index.html", b"allow: /en/index.htm", b"Disallow: /",
             b"Allow: /", b"Disallow:", b"Sitemap: https://e.org/s.xml", b"Disallow: /a b",
             b"Disallow: /*a:b", b"Disallow: /x%3Ay", b"Disallow: /caf\xc3\xa9", b"User-agent: *;",
             b"Disallow: /*?*u=%2Ftest", b"Disallow: /$", b"Allow: /*$", b"\t Disallow : /view ",
             b"Disallow: *", b"User-agent:", b"Disallow: /en$/x", b"Disallow: /%7e%6A",
             b"Noindex: /x")
        )  # fmt: skip
        lines.insert(rnd.randrange(len(lines) + 1), odd)
    end = rnd.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
    return end.join(line.rstrip(b"\r") for line in lines)


def asked(rnd: random.Random, body: bytes, number: int) -> list[Question]:
    """Questions about a file; half of the URLs are made of its patterns."""
    found = [match.group(2).strip().decode() for match in _PATTERN_LINE.finditer(body)]
    names = [match.group(2).decode("utf-8", "replace") for match in _AGENT_LINE.finditer(body)]
    agents = [name for name in names if re.fullmatch(r"[A-Za-z_-]+|[A-Za-z0-9]+", name)]
    questions = []
    for at in range(number):
        if found and at % 2:
            text = rnd.choice(found).replace("$", rnd.choice(("", "", "$", "%24")))
            while "*" in text:
                filling = rnd.choice(("", "x", "/y", "?a=b&", "a.b", "%2A", "/"))
                text = text.replace("*", filling, 1)
            text = rnd.choice(
                (text, text, text + "x", text[:-1], text + "/index.html", text + "?q")
            )
        else:
            text = rnd.choice(
                (inputs.path(rnd), inputs.page(rnd), "/", "/robots.txt", "/index.html")
            )
        if rnd.random() < 0.05:
            text += rnd.choice(
                ("%2f", "%3a", ":", "%7E", "~", "é", "%C3%A9", "%c3%a9", "#f", "%", " ")
            )
        url = "https://www.example.com" + ("" if text.startswith("/") else "/") + text
        agent = rnd.choice(agents) if agents and rnd.random() < 0.4 else "foobot"
        questions.append(Question(body, agent, url))
    return questions


Rewriting = Callable[[Question], Question]


def _in_patterns(question: Question, change: Callable[[bytes], bytes]) -> bytes:
    return _PATTERN_LINE.sub(lambda match: match.group(1) + change(match.group(2)), question.body)


def _in_both(change: Callable[[bytes], bytes]) -> Rewriting:
    """The same change of the octets of all patterns and of the URL."""

    def rewrite(question: Question) -> Question:
        url = change(question.url.encode()).decode("utf-8", "surrogateescape")
        return question._replace(body=_in_patterns(question, change), url=url)

    return rewrite


def _decoded(pattern: re.Pattern[bytes]) -> Callable[[bytes], bytes]:
    def change(text: bytes) -> bytes:
        return pattern.sub(lambda match: bytes([int(match.group(1), 16)]), text)

    return change


def _encoded(text: bytes) -> bytes:
    """Octets outside ASCII, and those that no URI holds, percent-encoded; hex in upper case."""
    text = re.sub(rb"%(?![0-9A-Fa-f]{2})", b"%25", text)
    text = re.sub(rb"%[0-9A-Fa-f]{2}", lambda match: match.group().upper(), text)
    return re.sub(rb"[\x80-\xff \"<>\\^`{|}]", lambda match: b"%%%02X" % match.group()[0], text)


def _queries_decoded(text: bytes) -> bytes:
    """``/`` and ``?`` in the query as they are."""
    path, mark, query = text.partition(b"?")
    return path + mark + re.sub(rb"%2[Ff]", b"/", query).replace(b"%3F", b"?")


def _names_without_digits(question: Question) -> Question:
    def change(match: re.Match[bytes]) -> bytes:
        value = re.sub(rb"^\*[^A-Za-z0-9_-].*", b"*", match.group(2))
        return match.group(1) + re.sub(rb"[0-9]", b"q", value)

    agent = re.sub(r"[0-9]", "q", question.agent)
    return question._replace(body=_AGENT_LINE.sub(change, question.body), agent=agent)


def _no_index_html(question: Question) -> Question:
    body = question.body.replace(b"index.htm", b"indexxhtm")
    return question._replace(body=body, url=question.url.replace("index.htm", "indexxhtm"))


DEPARTURES: dict[str, Rewriting] = {
    "octets that are encoded in one place only": _in_both(_encoded),
    "unreserved %xx": _in_both(_decoded(_UNRESERVED)),
    ": @ [ ] * $ and their encoded forms": _in_both(_decoded(_SAME_AS_RAW)),
    "/ and ? in the query": _in_both(_queries_decoded),
    "digits in names, and what follows *": _names_without_digits,
    "index.html": _no_index_html,
}
ITSELF = "/robots.txt itself"


def departure(question: Question) -> str | None:
    """The name of the departure that makes a difference, or None."""
    question = question._replace(body=re.sub(rb"\r\n?", b"\n", question.body))
    answer = ours(question)
    if match_path(question.url, form_of(RFC9309)) == "/robots.txt":
        return ITSELF
    together = question
    for name, rewrite in DEPARTURES.items():
        for rewritten in (rewrite(question), rewrite(together)):
            if ours(rewritten) is answer is google(rewritten):
                return name
        together = rewrite(together)
    return None


def differences(number: int, seed: int) -> dict[str, list[Question]]:
    """The questions, out of so many, that Google's matcher answers differently than a profile."""
    rnd = random.Random(seed)
    matcher = googlebot.RobotsMatcher()
    found: dict[str, list[Question]] = {"google": [], "rfc9309": []}
    left = number
    while left > 0:
        body = world(rnd)
        robots = {profile: RobotsTxt.parse(body, profile=profile) for profile in found}
        for question in asked(rnd, body, 50):
            left -= 1
            expected = bool(matcher.OneAgentAllowedByRobots(*question))
            for profile, different in found.items():
                if robots[profile].allowed(question.url, question.agent) is not expected:
                    different.append(question)
    return found


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", first(1, [10_000, deep(200_000, 1_000_000)]))
def test_the_google_profile_never_differs_and_other_differences_are_documented(number: int) -> None:
    """Profile google: what Googlebot does, so many times over.

    RFC 9309 sections 2.2.1 and 2.2.2, where Google's matcher leaves them to others.
    """
    found = differences(number, seed=1)
    assert found["google"] == []
    counts: collections.Counter[str | None] = collections.Counter()
    for question in found["rfc9309"]:
        name = departure(question)
        assert name is not None, question
        counts[name] += 1
    print(f"{number:,} questions, departures: {dict(counts)}")  # noqa: T201
    assert {ITSELF, *DEPARTURES} >= {*counts}
    assert sum(counts.values()) < number / 20
