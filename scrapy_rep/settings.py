"""Every setting with its default and its check; :class:`RepSettings` holds their values."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from scrapy_rep.access.policy import MIN_LIFETIME, Policy
from scrapy_rep.access.requested_pace import PacePolicy
from scrapy_rep.access.spelling import nearest
from scrapy_rep.preferences.vocabulary import CATEGORIES
from scrapy_rep.robotstxt.profiles import PROFILES, RFC9309, Profile
from scrapy_rep.stores.uri import shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

DAY = 86_400.0
_PREFIX = "REP_"
LEAST_MAX_SIZE = 512_000
"""500 KiB, the least parsing limit (RFC 9309 section 2.5)."""

_LONGEST_PATH = 4_096
"""Characters of the path of a file."""

_LONGEST_SHOWN = 100
"""Characters of a bad value that an error message repeats."""


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The settings of a crawl; sizes are in octets, times in seconds."""

    user_agent: tuple[str, ...] | None = None
    profile: str = "rfc9309"
    store: str | None = field(default=None, repr=False)  # it may hold a password
    store_limit: int = 1024 * 1024 * 1024
    store_prefix: str = "scrapy_rep"
    memory_limit: int = 64 * 1024 * 1024
    max_size: int = LEAST_MAX_SIZE
    timeout: float = 15.0
    retry_delays: tuple[float, ...] = (1.0, 5.0)
    unreachable_ttl: tuple[float, float] = (60.0, 3_600.0)
    stale_if_unreachable: float = 30 * DAY
    max_ttl: float = DAY
    access_denied: str = "allow"
    max_redirects: int = 5
    crawl_delay: bool = True
    max_crawl_delay: float = 60.0
    over_max_crawl_delay: str = "cap"
    shared_pace: bool = True
    page_directives: str = "report"
    noindex: str = "keep"
    link_nofollow: bool = False
    preferences: str = "report"
    purposes: tuple[str, ...] = ()
    purpose_tokens: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    overrides: str | Sequence[Mapping[str, Any]] | None = None
    decision_log: str | None = None
    decisions: str = "refused"
    log_urls: str = "full"
    decision_log_required: bool = False
    warc: str | None = None

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RepSettings:
        """Return the checked settings; raise ``ValueError``, in one line, for a bad one."""
        chosen: dict[str, Any] = {}
        for name, attribute, check in _CHECKS:
            value = settings.get(name)
            if value is None or (value == "" and name == "ROBOTSTXT_USER_AGENT"):
                continue  # Scrapy treats an empty user agent as not set
            try:
                chosen[attribute] = check(value)
            except (ValueError, TypeError) as error:
                said = (shown(value) or "''") if name == "REP_STORE" else _in_a_line(value)
                raise ValueError(f"{name} = {said}: {error}") from None
        profile = PROFILES[chosen.get("profile", RFC9309.name)]
        if chosen.get("max_ttl", 0) > profile.default_life:
            raise ValueError(
                f"REP_MAX_TTL = {chosen['max_ttl']:g}: must be at most {profile.default_life:g} "
                f"seconds in the profile {profile.name}"
            )
        return cls(**{**_access_defaults(profile), **chosen})

    @property
    def policy(self) -> Policy:
        """The settings that decide how long an entry is used."""
        return Policy(
            max_ttl=self.max_ttl,
            unreachable_ttl=self.unreachable_ttl,
            stale_if_unreachable=self.stale_if_unreachable,
            access_denied=self.access_denied,
            max_size=self.max_size,
            max_redirects=self.max_redirects,
        )

    @property
    def pace_policy(self) -> PacePolicy:
        """The settings that decide which pace is kept, and which one is refused."""
        return PacePolicy(
            keeps_delays=self.crawl_delay,
            longest=self.max_crawl_delay,
            forbids_longer=self.over_max_crawl_delay == "forbid",
        )


def _access_defaults(profile: Profile) -> dict[str, Any]:
    """Return the defaults that follow from the document behind ``profile``."""
    return {
        "max_ttl": profile.default_life,
        "access_denied": "disallow" if profile.access_denied_closes_the_site else "allow",
        "max_redirects": profile.redirects_followed,
    }


def obeys(settings: BaseSettings) -> bool:
    """Return whether ``ROBOTSTXT_OBEY`` is on. Raises ``ValueError`` if it is not a boolean."""
    try:
        return settings.getbool("ROBOTSTXT_OBEY")
    except (ValueError, TypeError):
        value = settings.get("ROBOTSTXT_OBEY")
        raise ValueError(f"ROBOTSTXT_OBEY = {_in_a_line(value)}: must be True or False") from None


def unknown_settings(settings: BaseSettings) -> Iterator[tuple[str, str | None]]:
    """Yield each unknown ``REP_`` setting, with the most similar known name, if there is one."""
    known = {name.removeprefix(_PREFIX): name for name, *_ in _CHECKS if name.startswith(_PREFIX)}
    for name in settings:
        if str(name).upper().startswith(_PREFIX) and name not in known.values():
            meant = nearest(str(name).upper().removeprefix(_PREFIX), known)
            yield str(name), known[meant] if meant else None


def _in_a_line(value: object) -> str:
    """Return the representation of any object, in one line of at most 100 characters."""
    try:
        text = "".join(c if c.isprintable() else " " for c in repr(value))
    except Exception:  # noqa: BLE001  # a custom __repr__, or an integer of too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def enabled_middlewares(settings: BaseSettings, kind: str) -> set[type]:
    """Return the classes of the enabled middlewares, with all their base classes.

    ``kind`` is ``SPIDER`` or ``DOWNLOADER``.
    """
    name = f"{kind}_MIDDLEWARES"
    orders: dict[Any, Any] = {}
    for each in (f"{name}_BASE", name):
        orders.update({loaded(key): order for key, order in settings.getdict(each).items()})
    classes = [cls for cls, order in orders.items() if order is not None]
    return {base for cls in classes if isinstance(cls, type) for base in cls.__mro__}


def loaded(name: Any) -> Any:
    """Return the class at an import path, or the path itself if it cannot be imported."""
    try:
        return load_object(name)
    except Exception:  # noqa: BLE001  # a module may raise anything
        return name  # Scrapy reports it when it builds the middlewares, unless it is disabled


@contextmanager
def failing_at_start(crawler: Crawler) -> Iterator[None]:
    """Have a ``ValueError`` end the process with a status other than 0.

    Scrapy 2.14 ends with 0 after any error at the start if the crawler has a spider.
    """
    try:
        yield
    except ValueError:
        crawler.spider = None
        raise


def product_tokens(value: str | bytes | Sequence[str | bytes]) -> tuple[str, ...]:
    """Return an identity, one string or several in order of preference, as a tuple.

    Raises ``ValueError`` if it is empty or holds something other than text.
    """
    several = [value] if isinstance(value, (str, bytes)) else value
    if not isinstance(several, (list, tuple)) or not several:
        raise ValueError("must be a product token or a list of them")
    tokens = [t.decode("latin-1") if isinstance(t, bytes) else t for t in several]
    if not all(isinstance(t, str) and t.strip() for t in tokens):
        raise ValueError("must be a product token or a list of them, none of them empty")
    return tuple(t.strip() for t in tokens)


def _number(least: float, unit: str = "seconds") -> Callable[[Any], float]:
    def check(value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (ValueError, TypeError, OverflowError):
            number = math.nan
        if not least <= number < math.inf:
            bound = f"at least {least:,g}" if least < 1e6 else f"at least {least:,.0f}"
            raise ValueError(f"must be a number of {unit}, {bound}")
        return number

    return check


def _whole(least: int, unit: str, why: str = "") -> Callable[[Any], int]:
    in_range = _number(least, unit=unit)

    def check(value: Any) -> int:
        number = in_range(value)
        if number != int(number):
            raise ValueError(f"must be a whole number of {unit}")
        return int(number)

    def explained(value: Any) -> int:
        try:
            return check(value)
        except ValueError as error:
            raise ValueError(f"{error}{why}") from None

    return explained


def _several(each: Callable[[Any], float]) -> Callable[[Any], tuple[float, ...]]:
    def check(value: Any) -> tuple[float, ...]:
        if isinstance(value, str):
            value = [part for part in value.strip("[]() ").split(",") if part.strip()]
        elif not isinstance(value, (list, tuple)):
            value = [value]
        return tuple(each(part) for part in value)

    return check


def _back_off(value: Any) -> tuple[float, float]:
    pair = _several(_number(1))(value)
    if len(pair) != 2 or pair[0] > pair[1]:
        raise ValueError("must be two numbers of seconds, the first back-off and the longest")
    return pair[0], pair[1]


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}{_did_you_mean(value, names)}")
        return str(value)

    return check


def _did_you_mean(value: Any, names: Sequence[str]) -> str:
    """Return the end of an error message: the spelling that was meant, if one is similar."""
    meant = nearest(str(value), names) if isinstance(value, (str, int)) else None
    return f"; did you mean {meant!r}?" if meant else ""


def _switch(value: Any) -> bool:
    number = value
    if isinstance(value, str):
        number = {"true": 1, "1": 1, "false": 0, "0": 0}.get(value.lower())
    if not isinstance(number, int) or number not in (0, 1):
        meant = _did_you_mean(value, ("True", "False")).replace("'", "")
        raise ValueError(f"must be True or False{meant}")
    return bool(number)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be text: a URI, or the path of a class")
    return value.strip()


def _key_prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[!-z|~]+", value):
        raise ValueError("must be printable ASCII without spaces and braces, and not empty")
    return value


def _purposes(value: Any) -> tuple[str, ...]:
    names = value.strip("[]() ").split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        raise ValueError(f"must be a list of {', '.join(CATEGORIES)}")
    found = [name.strip(" '\"") if isinstance(name, str) else name for name in names]
    for name in filter(None, found):
        if name not in CATEGORIES:
            meant = _did_you_mean(name, CATEGORIES)
            raise ValueError(f"must be a list of {', '.join(CATEGORIES)}{meant}")
    return tuple(dict.fromkeys(filter(None, found)))


def _purpose_tokens(value: Any) -> dict[str, tuple[str, ...]]:
    """Check a mapping, which is written in JSON on the command line."""
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            value = None
    must = f"must map some of {', '.join(CATEGORIES)} to product tokens"
    if not isinstance(value, Mapping):
        raise ValueError(must)
    for name in value:
        if name not in CATEGORIES:
            raise ValueError(f"{must}{_did_you_mean(name, CATEGORIES)}")
    return {str(purpose): product_tokens(tokens) for purpose, tokens in value.items()}


def _path(value: Any) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not 0 < len(path.strip()) <= _LONGEST_PATH or "\0" in path:
        raise ValueError("must be the path of a file")
    return path.strip()


def _archive(value: Any) -> str:
    path = _path(value)
    if not path.endswith(".warc.gz"):
        raise ValueError("must be the path of a file that ends with .warc.gz")
    return path


def _overrides(value: Any) -> Any:
    """The path of a file, or the entries themselves; they are checked where they are read."""
    if value and isinstance(value, (list, tuple)):
        return value
    try:
        return _path(value)
    except ValueError:
        raise ValueError("must be the path of a TOML file, or a list of dictionaries") from None


_CHECKS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("ROBOTSTXT_USER_AGENT", "user_agent", product_tokens),
    ("REP_PROFILE", "profile", _one_of(*PROFILES)),
    ("REP_STORE", "store", _text),
    ("REP_STORE_LIMIT", "store_limit", _whole(1_048_576, "octets")),
    ("REP_STORE_PREFIX", "store_prefix", _key_prefix),
    ("REP_MEMORY_LIMIT", "memory_limit", _whole(1_048_576, "octets")),
    (
        "REP_MAX_SIZE",
        "max_size",
        _whole(LEAST_MAX_SIZE, "octets", " (500 KiB, RFC 9309 section 2.5)"),
    ),
    ("REP_TIMEOUT", "timeout", _number(0.1)),
    ("REP_RETRY_DELAYS", "retry_delays", _several(_number(0))),
    ("REP_UNREACHABLE_TTL", "unreachable_ttl", _back_off),
    ("REP_STALE_IF_UNREACHABLE", "stale_if_unreachable", _number(0)),
    ("REP_MAX_TTL", "max_ttl", _number(MIN_LIFETIME)),
    ("REP_ACCESS_DENIED", "access_denied", _one_of("allow", "disallow")),
    ("REP_MAX_REDIRECTS", "max_redirects", _whole(5, "hops", " (RFC 9309 section 2.3.1.2)")),
    ("REP_CRAWL_DELAY", "crawl_delay", _switch),
    ("REP_MAX_CRAWL_DELAY", "max_crawl_delay", _number(0)),
    ("REP_OVER_MAX_CRAWL_DELAY", "over_max_crawl_delay", _one_of("cap", "forbid")),
    ("REP_SHARED_PACE", "shared_pace", _switch),
    ("REP_PAGE_DIRECTIVES", "page_directives", _one_of("off", "report", "obey")),
    ("REP_NOINDEX", "noindex", _one_of("keep", "drop")),
    ("REP_LINK_NOFOLLOW", "link_nofollow", _switch),
    ("REP_PREFERENCES", "preferences", _one_of("off", "report", "skip", "drop")),
    ("REP_PURPOSES", "purposes", _purposes),
    ("REP_PURPOSE_TOKENS", "purpose_tokens", _purpose_tokens),
    ("REP_OVERRIDES", "overrides", _overrides),
    ("REP_DECISION_LOG", "decision_log", _path),
    ("REP_DECISIONS", "decisions", _one_of("refused", "all")),
    ("REP_LOG_URLS", "log_urls", _one_of("full", "path", "hash")),
    ("REP_DECISION_LOG_REQUIRED", "decision_log_required", _switch),
    ("REP_WARC", "warc", _archive),
)
