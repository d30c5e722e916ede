"""A seeded search for the files and URLs that cost a matcher most.

It knows what makes patterns with wildcards costly: letters of a small alphabet, long pieces that
are nearly found at each place of a path, pieces that the path holds in the wrong order, many stars,
ends and escapes, and thousands of such patterns that a path cannot quickly be told not to match.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE
from tests.hostile.test_budgets import quickest

AGENT = "mybot"
LENGTHS = {"short": 200, "2 KB": 2_000, "8 KB": 8_000}


class Question(NamedTuple):
    """A file, and a URL that is made for it."""

    body: bytes
    url: str


class Cost(NamedTuple):
    """Seconds of processor time."""

    first: float
    """The first answer of a robots.txt that was just parsed."""
    allowed: float
    """A later answer to the same question."""
    verdict: float
    """A later verdict."""


class Shape(NamedTuple):
    """What the patterns of a file have in common."""

    alphabet: str
    shared: list[str]
    """Long pieces that many patterns have."""
    telling: str
    """A text whose pieces tell the patterns apart."""
    length: int
    """Octets of such a piece."""
    begin: str
    end: str
    stars: int
    allow: float
    """The share of allow rules."""


def shape(rnd: random.Random, octets: int) -> Shape:
    """Any shape, for a path of so many octets."""
    alphabet = rnd.choice(("a", "ab", "ab", "abc", "a/", "a?", "a%"))
    letters = rnd.choice(("0123456789", "abcdefghijklmnopqrstuvwxyz0123456789", alphabet))
    number = rnd.choice((1, 1, 1, 2, 8, 300, 4_000))
    return Shape(
        alphabet,
        [_piece(rnd, alphabet) for _ in range(number)],
        "".join(rnd.choices(letters, k=rnd.choice((30, octets // 4, octets // 2)))),
        rnd.choice((2, 3, 3, 4, 12)),
        rnd.choice(("/*", "/*", "*", "/", "/a*", "/%41*", "/*%2F*")),
        rnd.choice(("", "", "", "$", "*", "*$")),
        rnd.choice((1, 1, 1, 2, 5, 60)),
        rnd.choice((0, 0, 0.5, 0.9, 1)),
    )


def _piece(rnd: random.Random, alphabet: str) -> str:
    """A piece that is nearly found at each place of a path of the same letters."""
    length = rnd.choice((2, 6, 20, 37, 37, 60, 90, 99, 300, 1_000))
    run = alphabet[0] * length
    return rnd.choice(
        (
            run + "b" + alphabet[0] * rnd.randrange(4),
            alphabet[-1] + run,
            run,
            (alphabet[0] * rnd.randrange(1, 9) + alphabet[-1]) * (length // 4 + 1),
            "".join(rnd.choices(alphabet, k=length)),
            rnd.choice(("%2F", "%3F", "%", "%41", "é", "?a", "a%2Fa")) * rnd.randrange(1, 4),
        )
    )


def body_of(rnd: random.Random, kind: Shape) -> bytes:
    """As many rules of a shape as fit."""
    lines = ["User-agent: *"]
    if kind.allow:
        lines.append("Disallow: /")
    left = DEFAULT_MAX_SIZE - 30
    while left > 0:
        at = rnd.randrange(max(len(kind.telling) - kind.length, 1))
        pieces = rnd.choices(kind.shared, k=rnd.randrange(1, kind.stars + 1))
        pieces.insert(rnd.choice((0, len(pieces))), kind.telling[at : at + kind.length])
        key = "Allow" if rnd.random() < kind.allow else "Disallow"
        lines.append(f"{key}: {kind.begin}{'*'.join(pieces)}{kind.end}")
        left -= len(lines[-1].encode()) + 1
    return "\n".join(lines).encode()[:DEFAULT_MAX_SIZE]


def path_of(rnd: random.Random, kind: Shape, octets: int) -> str:
    """A path that holds nearly what the patterns of a shape ask for."""
    fill = rnd.choice(
        (
            kind.alphabet[0] * octets,
            (kind.alphabet[0] * rnd.choice((5, 36, 38, 98, 299)) + "b") * octets,
            "".join(rnd.choices(kind.alphabet, k=octets)),
            "".join(rnd.choices(kind.shared, k=200)) + kind.alphabet * octets,
        )
    )
    last = rnd.choice(("", kind.shared[0], kind.shared[-1]))
    query = rnd.choice(("", "", "?", "a?"))
    telling = kind.telling
    room = max(octets - len(telling) - len(last) - len(query), 0)
    parts = [telling, fill[:room], last]
    if rnd.random() < 0.3:
        rnd.shuffle(parts)
    return (query + "".join(parts))[:octets]


def question(seed: int) -> Question:
    """The same for the same seed."""
    rnd = random.Random(seed)
    octets = rnd.choice((*LENGTHS.values(), LENGTHS["8 KB"]))
    kind = shape(rnd, octets)
    return Question(body_of(rnd, kind), "https://e.org/" + path_of(rnd, kind, octets))


def cost(asked: Question, profile: str = "rfc9309") -> Cost:
    """What a question costs; all ways to ask it have to agree."""
    body, url = asked
    robots = RobotsTxt.parse(body, profile=profile)
    verdict = robots.verdict(url, AGENT)
    assert robots.allowed(url, AGENT) is verdict.allowed

    def ask_first() -> None:
        assert RobotsTxt.parse(body, profile=profile).allowed(url, AGENT) is verdict.allowed

    first = quickest(ask_first, enough=0.2)
    allowed = quickest(lambda: robots.allowed(url, AGENT))
    return Cost(first, allowed, quickest(lambda: robots.verdict(url, AGENT)))
