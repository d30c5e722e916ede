"""Seeded robots.txt files and URLs that are shaped like those of the world.

What real files look like was counted once over some thousand of them: half have seven rules or
fewer, one in ten more than 67, one in a hundred more than 483; 18 % of rules hold a wildcard, 11 %
begin with one; 31 % of files have CR in their line ends. Nothing here is taken from a real file.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

AGENTS = (
    "Googlebot", "bingbot", "Baiduspider", "YandexBot", "DuckDuckBot", "MJ12bot", "AhrefsBot",
    "SemrushBot", "DotBot", "GPTBot", "CCBot", "ClaudeBot", "PetalBot", "Twitterbot", "Slurp",
    "ia_archiver", "BLEXBot", "Googlebot-Image", "Mediapartners-Google", "360Spider", "SEOkicks",
    "magpie-crawler", "Bytespider", "Amazonbot", "Applebot", "facebookexternalhit", "sogou",
)  # fmt: skip
WORDS = (
    "admin", "search", "user", "login", "cart", "checkout", "account", "tmp", "cgi-bin", "private",
    "wp-admin", "wp-content", "plugins", "themes", "includes", "node", "add", "comment", "reply",
    "filter", "tags", "print", "pdf", "api", "v1", "ajax", "assets", "static", "images", "uploads",
    "profile", "register", "password", "help", "archive", "2019", "2023", "en", "de", "fr", "news",
    "products", "category", "item", "view", "edit", "delete", "download", "feed", "rss", "test",
)  # fmt: skip
SLUGS = (
    "spring", "garden", "how-to", "bake", "bread", "river", "mountain", "story", "of", "the",
    "old", "bridge", "guide", "for", "beginners", "weather", "music", "league", "season", "recipe",
    "summer", "travel", "europe", "camera", "review", "energy", "school", "health", "market",
)  # fmt: skip
"""Words of pages; they are not those of rules, as most pages are not forbidden."""
PARAMETERS = ("id", "q", "s", "page", "sort", "order", "utm_source", "session", "ref", "lang")
PAGE_PARAMETERS = ("v", "tab", "color", "size", "w")
SUFFIXES = ("php", "html", "aspx", "pdf", "gif", "jpg", "xml", "txt", "json")
RULES_AT = ((0.0, 0), (0.12, 1), (0.5, 7), (0.9, 67), (0.99, 483), (0.999, 2500), (1.0, 8000))
"""How many rules the file at a quantile has."""


def path(rnd: random.Random, depth: int | None = None) -> str:
    """A path without a query."""
    parts = [rnd.choice(WORDS) for _ in range(depth or rnd.choice((1, 2, 2, 3, 4, 6)))]
    if rnd.random() < 0.2:
        parts[-1] += str(rnd.randrange(10_000))
    text = "/" + "/".join(parts)
    if rnd.random() < 0.25:
        return f"{text}.{rnd.choice(SUFFIXES)}"
    return text + "/" if rnd.random() < 0.5 else text


def literal(rnd: random.Random) -> str:
    """A pattern without wildcards; a few hold a query, an escape or an octet outside ASCII."""
    text = path(rnd)
    fate = rnd.random()
    if fate < 0.06:
        text += f"?{rnd.choice(PARAMETERS)}="
    elif fate < 0.09:
        text += rnd.choice(("%20x", "%C3%A9t%c3%a9", "%7Ejoe/", "a%2Fb", "%62%61", "%zz"))
    elif fate < 0.10:
        text += rnd.choice(("été", "поиск", "日本"))
    return text


def wildcard(rnd: random.Random) -> str:
    """A pattern with ``*`` or ``$``."""
    word, parameter = rnd.choice(WORDS), rnd.choice(PARAMETERS)
    return rnd.choice(
        (
            *(f"/*?{parameter}=", f"/*?*{parameter}=", f"/*&{parameter}="),
            *(f"/*.{rnd.choice(SUFFIXES)}$", f"*/{word}/", f"*{word}{rnd.randrange(99)}"),
            *(f"/*/{word}", f"/*/{word}/*{rnd.choice(WORDS)}", f"{path(rnd)}*{word}"),
            *(f"{path(rnd)}*", f"{path(rnd)}$", f"{path(rnd, 1)}*.{rnd.choice(SUFFIXES)}$"),
            f"/{word}/*?",
        )
    )


def pattern(rnd: random.Random, wildcards: float = 0.18) -> str:
    """A pattern as they are mixed in real files."""
    return wildcard(rnd) if rnd.random() < wildcards else literal(rnd)


def rules(rnd: random.Random, number: int, wildcards: float = 0.18, allows: float = 0.07) -> str:
    """So many rule lines."""
    lines = []
    for _ in range(number):
        key = "Allow" if rnd.random() < allows else "Disallow"
        lines.append(f"{key}: {pattern(rnd, wildcards)}\n")
    return "".join(lines)


def number_of_rules(rnd: random.Random) -> int:
    """As many rules as real files have, most of them few."""
    at = rnd.random()
    for (low, few), (high, many) in pairwise(RULES_AT):
        if at <= high:
            share = (at - low) / (high - low)
            return round((few + 1) * ((many + 1) / (few + 1)) ** share) - 1
    return 0


def file(rnd: random.Random, number: int | None = None, wildcards: float = 0.18) -> bytes:
    """A robots.txt of a size as they have in the world."""
    number = number_of_rules(rnd) if number is None else number
    groups = 1 if rnd.random() < 0.7 else rnd.randrange(2, 12)
    shares = [rnd.random() for _ in range(groups)]
    names: Sequence[str] = ["*", *rnd.sample(AGENTS, groups - 1)]
    text = ["# robots.txt\n"] if rnd.random() < 0.42 else []
    for name, share in zip(names, shares, strict=True):
        text.append(f"{rnd.choice(('User-agent', 'User-agent', 'User-Agent'))}: {name}\n")
        if rnd.random() < 0.05:
            text.append("Crawl-delay: 10\n")
        mine = max(1, round(number * share / sum(shares))) if number else 0
        text.append(rules(rnd, mine, wildcards))
        text.append("\n" if mine else "Disallow:\n\n")
    if rnd.random() < 0.6:
        text.append("Sitemap: https://www.example.com/sitemap.xml\n")
    body = "".join(text).encode()
    if rnd.random() < 0.31:
        body = body.replace(b"\n", b"\r\n")
    return b"\xef\xbb\xbf" + body if rnd.random() < 0.012 else body


def urls(rnd: random.Random, body: bytes, number: int = 50) -> list[str]:
    """URLs of a site: 30 % with a query, 6 % with escapes, and 10 % that a rule may forbid."""
    literals = [
        line.partition(b":")[2].strip().decode()
        for line in body.splitlines()
        if line.startswith(b"Disallow: /") and b"*" not in line and b"$" not in line
    ]
    found = []
    for at in range(number):
        text = page(rnd)
        if at % 10 == 3 and literals:
            text = rnd.choice(literals) + rnd.choice(("", "x", "/y"))
        if at % 10 in (1, 4, 7):
            text += f"?{rnd.choice(PAGE_PARAMETERS)}={rnd.randrange(999)}&n={rnd.choice(SLUGS)}"
        if at % 17 == 5:
            text += "%C3%A9"
        found.append(f"https://www.example.com{text}")
    return found


def page(rnd: random.Random) -> str:
    """The path of a page like those that a site has most of."""
    slug = "-".join(rnd.choices(SLUGS, k=rnd.choice((2, 3, 4, 5))))
    begin = rnd.choice(("articles/2024/05", "blog", "shop/p", "a", "stories/europe"))
    return f"/{begin}/{slug}{rnd.choice(('', '', '/', '.htm', f'-{rnd.randrange(10**6)}'))}"


def corpus(number: int, seed: int = 1) -> list[bytes]:
    """So many files with the sizes of the world."""
    rnd = random.Random(seed)
    return [file(rnd) for _ in range(number)]


def typical(number: int = 40, seed: int = 2) -> list[bytes]:
    """Files with 60 to 100 rules in one group, three in ten with a wildcard."""
    rnd = random.Random(seed)
    return [
        f"User-agent: *\n{rules(rnd, rnd.randrange(60, 101), 0.3)}".encode() for _ in range(number)
    ]


def big(seed: int = 3) -> bytes:
    """3,000 rules for 50 agents, some 75 KB."""
    rnd = random.Random(seed)
    names = ["*", *(f"crawler-{number:02}" for number in range(49))]
    return "\n".join(f"User-agent: {name}\n{rules(rnd, 60)}" for name in names).encode()


def prefixes(number: int, seed: int = 4) -> bytes:
    """So many different literal rules in one group."""
    rnd = random.Random(seed)
    lines = [f"Disallow: {path(rnd)}{at}\n" for at in range(number)]
    return f"User-agent: *\n{''.join(lines)}".encode()


def floating(number: int, seed: int = 5) -> bytes:
    """So many different rules that begin with a wildcard."""
    rnd = random.Random(seed)
    lines = [f"Disallow: /*?{rnd.choice(WORDS)}{at}=\n" for at in range(number)]
    return f"User-agent: *\n{''.join(lines)}".encode()
