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
_NAME_AND_VERSION: Final = re.compile(
    r"(?:^|[\s;,])([A-Za-z0-9_-]+)(?:\.[A-Za-z0-9._-]*)?/[vV]?[0-9]"
)
_DOTTED_TOKEN: Final = re.compile(r"([A-Za-z0-9_-]+)(?:\.[A-Za-z0-9_-]+)+")
"""A name with dots, which a token of 1996 may hold (RFC 1945 section 2.2)."""
_VERSION: Final = re.compile(r"/[0-9.]+")
_MARK: Final = r"(?:://|www\.|@)"
"""What shows that a text holds a URL or a mail address."""
_NOT_CRAWLERS: Final = frozenset(
    ("acheetahi", "adg", "aliapp", "alipayclient", "android", "aol", "aolbuild", "applewebkit",
     "arora", "authentic8", "avast", "avg", "avira", "baiduboxapp", "basilisk", "beamrise",
     "bingsapphire", "blackberry", "blazer", "brave", "bri", "build", "camino", "casperjs",
     "ccleaner", "centos", "chedot", "chrome", "chromeframe", "chromium", "clr", "coast",
     "comodo_dragon", "conkeror", "cpu", "crios", "crkey", "crmo", "cros", "cunaguaro", "cyberfox",
     "dalvik", "darwin", "ddg", "debian", "dillo", "dingtalk", "duckduckgo", "dwb", "eawebkit",
     "ecosia", "edg", "edga", "edge", "edgios", "electron", "epiphany", "falkon", "fedora",
     "fennec", "firebird", "firefox", "firephp", "flock", "fluid", "flyflow", "focus", "freebsd",
     "fxios", "galeon", "gecko", "goanna", "googletv", "gsa", "hbbtv", "headlesschrome", "icab",
     "iceape", "icecat", "icedragon", "iceweasel", "iemobile", "ios", "ipad", "iphone", "ipod",
     "iron", "jsdom", "k-meleon", "kaios", "kakaotalk", "kazehakase", "khtml", "kindle", "klar",
     "konqueror", "librewolf", "like", "likewise", "line", "linux", "lunascape", "macintosh",
     "maxthon", "metasr", "micromessenger", "midori", "minefield", "minimo", "mmwebid", "mobile",
     "mozilla", "multizilla", "musical_ly", "mxios", "mxnitro", "mypal", "namoroka", "netbsd",
     "netfront", "netpositive", "netscape", "nintendo", "norton", "nv", "oculus", "odyssey", "omi",
     "omniweb", "openbsd", "openframe", "opera", "opios", "opr", "opt", "opx", "otter", "owb",
     "palemoon", "phantomjs", "phoenix", "pixi", "playstation", "pre", "presto", "puffin", "qq",
     "qt", "qtwebengine", "quark", "qupzilla", "rekonq", "renderer", "rockmelt", "rv", "sa",
     "safari", "seamonkey", "servo", "shiretoko", "silk", "slackware", "sleipnir", "smarttva",
     "snapchat", "songbird", "sraf", "stainless", "sunos", "superbird", "surf", "suse", "sv1",
     "swiftfox", "symbianos", "tbs", "thunderbird", "tizen", "touchpad", "trident", "u", "u2",
     "u3", "ubuntu", "ucweb", "unknown", "untrusted", "up", "version", "viera", "vivaldi",
     "waterfox", "webclip", "webkit", "webos", "whale", "win64", "windows", "windowswechat", "wke",
     "wow64", "wv", "x11", "x64", "x86_64", "xbox", "xweb", "yowser", "zetakey")
)  # fmt: skip
"""Names of browsers, engines, systems and devices, in lower case."""
_NOR_THESE: Final = re.compile(
    r"[0-9]+|[a-z_]*browser(?:ng)?|asktb.*|fb[a-z]{2}|msie.*|nokia.*|series[0-9]+"
)
"""More such names: ``YaBrowser``, the toolbar ``AskTbORJ``, an app's ``FBAV``, ``MSIE8``."""


def product_token(user_agent: str) -> str | None:
    """Return the product token of the crawler that a User-Agent string names.

    RFC 9309 section 2.2.1, and the figure in it. A plain name is its own token. In a string the
    first product counts, unless that is ``Mozilla``: ``CCBot/2.0 (https://...)``. After
    ``Mozilla`` the first of :data:`FORMS` with a name counts.

    None means that the string does not name a crawler: it is a browser's, or it is empty. Names of
    browsers, engines and systems are skipped in :data:`FORMS`.
    """
    text = user_agent.strip()
    first = _TOKEN.match(text)
    if first is None:
        return None
    name = first.group()
    if name.lower() != "mozilla" or name == text:
        return name
    named = (read(piece) for place, read, _ in FORMS for piece in place.findall(text))
    return next(filter(None, named), None)


def _product(text: str) -> str | None:
    """Return the first word that is a token, or else the token that the first word begins with.

    ``Yahoo! Slurp`` is ``Slurp``. ``archive.org_bot`` is ``archive``: in a user-agent line its
    name ends there too.
    """
    words = text.split()
    for word in words:
        if found := _WHOLE_TOKEN.fullmatch(word):
            return _crawler(found.group(1))
    found = _TOKEN.match(words[0]) if words and not re.search(_MARK, words[0]) else None
    return _crawler(found.group()) if found else None


def _versioned(text: str) -> str | None:
    """Return the first name with a version that is not that of a browser, engine or system."""
    return next(filter(_crawler, _NAME_AND_VERSION.findall(text)), None)


def _last(text: str) -> str | None:
    """Return the first name with a version, or else the name after the last version."""
    return _versioned(text) or _product(_VERSION.split(text)[-1])


def _crawler(name: str) -> str | None:
    """Return a name, unless it is that of a browser, engine, system or device."""
    low = name.lower()
    return None if low in _NOT_CRAWLERS or _NOR_THESE.fullmatch(low) else name


_ADDRESS: Final = rf"[^()]*{_MARK}"
_COMPATIBLE: Final = r"compatible\s*;"
_OUTSIDE: Final = r"(?<![^()])([^()]*)"
FORMS: Final = tuple(
    (re.compile(place, re.IGNORECASE), read, example)
    for place, read, example in (
        (rf"{_COMPATIBLE}([^;)]*)", _product, "(compatible; Bytespider; foo@e.org)"),
        (rf"\(({_ADDRESS}[^()]*)", _versioned, "Safari/9 (Applebot/0.1; +http://e.org)"),
        (rf"{_OUTSIDE}\({_ADDRESS}", _last, "Safari/9 ArchiveBox/0.7.2 (+https://e.org)"),
        (rf";([^;()]*)(?=;[^;()]*{_MARK})", _product, "Safari/9; Devin/1.0; +http://e.org"),
        (r"\)[^()]*; ([^;()]+);?$", _product, "(KHTML, like Gecko) Safari/9; 360Spider"),
        (rf"{_COMPATIBLE}([^)]*)", _versioned, "(compatible; MSIE 9.0; BingPreview/1.0b)"),
        (rf"{_OUTSIDE}$", _versioned, "(KHTML, like Gecko) PTST/2112 Safari/9"),
    )
)
"""Where a crawler names itself after ``Mozilla/5.0``: the pieces of a string that may hold its
name, how that is read, and an example. The first form with a name counts."""


def tokens_of(agent: str | Sequence[str], profile: Profile) -> tuple[str, ...]:
    """Return the product tokens of an agent argument in lower case, in order of preference.

    Without a token, as for ``"*"`` or a browser's string, the default group applies. ``bytes``, as
    in header fields, are read as Latin-1: a name must not be lost because of its type.
    """
    return _tokens_of((agent,) if isinstance(agent, (str, bytes)) else tuple(agent), profile)


@lru_cache(maxsize=1024)
def _tokens_of(agents: tuple[str | bytes, ...], profile: Profile) -> tuple[str, ...]:
    """Return the tokens, from a cache if it has them: that takes a sixth of the time.

    A crawler has few names, and they are needed for many hosts.
    """
    names = [one.decode("latin-1") if isinstance(one, bytes) else one for one in agents]
    tokens = [token_of(name, profile) for name in names if isinstance(name, str)]
    return tuple([token.lower() for token in tokens if token])


def token_of(name: str, profile: Profile) -> str | None:
    """Return the product token that a profile looks for, as written; None for the default group.

    ``name`` is a product token, ``*``, or a whole User-Agent.
    """
    if name == DEFAULT:
        return None
    if profile.agent_rule == "token contains the name":
        return _whole_product(name)
    if profile.agent_rule == "line contains the token":
        return _token_of_1996(name)
    return product_token(name)


def _whole_product(name: str) -> str | None:
    """Return the product token as of 1997, all text up to the version: ``Lycos_Spider_(Rex)``."""
    words = name.partition("/")[0].split()
    if not words or words[0].lower() == "mozilla":
        return product_token(name)
    return words[0]


def _token_of_1996(name: str) -> str | None:
    """Return the product token as of 1996: ``f.bot``.

    It is looked for within the names of other crawlers, and half of it is part of too many: ``f``
    of ``surfbot``. What else that draft permits in a token ends it, as in ``foobot+http://e.org``:
    a site that forbids ``foobot`` means this crawler, too.
    """
    token, dotted = product_token(name), _DOTTED_TOKEN.match(name.strip())
    return dotted.group() if dotted is not None and dotted.group(1) == token else token
