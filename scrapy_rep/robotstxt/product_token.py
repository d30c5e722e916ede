"""Product tokens: the names of crawlers in robots.txt and in User-Agent headers.

RFC 9309 section 2.2.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from scrapy_rep.robotstxt.lines import DEFAULT
from scrapy_rep.robotstxt.profiles import Profile

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE_TOKEN: Final = re.compile(r"([A-Za-z0-9_-]+)(?:[/,].*)?")
_NAME_AND_VERSION: Final = re.compile(r"(?:^|[\s;,])([A-Za-z0-9_-]+)/[vV]?[0-9]")
_COMPATIBLE: Final = re.compile(r"compatible\s*;", re.IGNORECASE)
_URL_OR_ADDRESS: Final = re.compile(r"://|www\.|@")
_BROWSERS: Final = frozenset(
    ("chrome", "chromium", "crios", "edg", "edge", "firefox", "fxios", "galeon", "icab",
     "iceweasel", "konqueror", "msie", "netscape", "omniweb", "opera", "opr", "safari",
     "samsungbrowser", "seamonkey", "trident", "ucbrowser", "vivaldi")
)  # fmt: skip
_NOT_CRAWLERS: Final = _BROWSERS | frozenset(
    ("android", "applewebkit", "blackberry", "build", "cpu", "cros", "darwin", "dalvik",
     "freebsd", "gecko", "ios", "ipad", "iphone", "ipod", "khtml", "like", "linux", "macintosh",
     "mobile", "netbsd", "openbsd", "playstation", "presto", "sunos", "symbianos", "tizen", "u",
     "ubuntu", "unknown", "version", "webkit", "win64", "windows", "wow64", "wv", "x11", "x64",
     "x86_64")
)  # fmt: skip
"""Names of browsers, engines, systems and devices, in lower case."""


def product_token(user_agent: str) -> str | None:
    """Return the product token of the crawler that a User-Agent string names.

    RFC 9309 section 2.2.1, and the figure in it. A plain name is its own token. A crawler names
    itself in one of three places; the first with a name counts:

    1. the first product, unless that is ``Mozilla``: ``CCBot/2.0 (https://...)``;
    2. what follows ``compatible;``, with a version or without: ``Mozilla/5.0 (compatible;
       Bytespider; ...)``;
    3. the first name with a version in a comment that holds a URL or an address:
       ``Mozilla/5.0 ... (Applebot/0.1; +http://...)``.

    None means that the string does not name a crawler: it is a browser's, or it is empty. Names of
    browsers, engines and systems are skipped in 2 and 3.
    """
    text = user_agent.strip()
    first = _TOKEN.match(text)
    if first is None:
        return None
    name = first.group()
    if name.lower() != "mozilla" or name == text:
        return name
    for following in _COMPATIBLE.split(text)[1:]:
        if named := _compatible(following.partition(")")[0]):
            return named
    for part in text.split("(")[1:]:
        comment = part.partition(")")[0]
        if _URL_OR_ADDRESS.search(comment) and (named := _versioned(comment)):
            return named
    return None


def _compatible(comment: str) -> str | None:
    """Return the name that follows ``compatible;`` in a comment, unless it is a browser's.

    After the name of a system only a name with a version counts, because other words describe the
    system.
    """
    name = _product(comment.partition(";")[0])
    if name is None or name.lower() in _BROWSERS:
        return None
    return _versioned(comment) if name.lower() in _NOT_CRAWLERS else name


def _product(text: str) -> str | None:
    """Return the first word that is a token, or else the token that the first word begins with.

    ``Yahoo! Slurp`` is ``Slurp``. ``archive.org_bot`` is ``archive``: in a user-agent line its
    name ends there too.
    """
    words = text.split()
    for word in words:
        if found := _WHOLE_TOKEN.fullmatch(word):
            return found.group(1)
    found = _TOKEN.match(words[0]) if words and not _URL_OR_ADDRESS.search(words[0]) else None
    return found.group() if found else None


def _versioned(comment: str) -> str | None:
    """Return the first name with a version that is not of a browser, engine or system."""
    names = _NAME_AND_VERSION.findall(comment)
    return next((str(name) for name in names if name.lower() not in _NOT_CRAWLERS), None)


def tokens_of(agent: str | Sequence[str], profile: Profile) -> tuple[str, ...]:
    """Return the product tokens of an agent argument in lower case, in order of preference.

    Without a token, as for ``"*"`` or a browser's string, the default group applies. ``bytes``, as
    in header fields, are read as Latin-1: a name must not be lost because of its type.
    """
    return _tokens_of((agent,) if isinstance(agent, (str, bytes)) else tuple(agent), profile)


@lru_cache(maxsize=1024)
def _tokens_of(given: tuple[str | bytes, ...], profile: Profile) -> tuple[str, ...]:
    """Return the tokens. A crawler has few names and asks many hosts, so they are kept: to look
    them up takes a sixth of the time.
    """
    found = []
    for written in given:
        name = written.decode("latin-1") if isinstance(written, bytes) else written
        token = token_of(name, profile) if isinstance(name, str) else None
        if token:
            found.append(token.lower())
    return tuple(found)


def token_of(name: str, profile: Profile) -> str | None:
    """Return the product token that a profile looks for, as written; None for the default group.

    ``name`` is a product token, ``*``, or a whole User-Agent.
    """
    if name == DEFAULT:
        return None
    if profile.agent_rule == "token contains the name":
        return _whole_product(name)
    return product_token(name)


def _whole_product(name: str) -> str | None:
    """Return the product token of 1997, all up to the version: ``Lycos_Spider_(Rex)``."""
    words = name.partition("/")[0].split()
    if not words or words[0].lower() == "mozilla":
        return product_token(name)
    return words[0]
