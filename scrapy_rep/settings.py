"""Every setting with its default and its check; :class:`RepSettings` holds their values.

A new setting is a field of that class. If it has no effect without another one, add a row to
:func:`without_effect` as well.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeVar

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

from scrapy_rep.access.outcome import temporary_in
from scrapy_rep.access.policy import MIN_LIFETIME, Policy
from scrapy_rep.access.requested_pace import PacePolicy
from scrapy_rep.preferences.vocabularies import CATEGORIES
from scrapy_rep.robotstxt.printable import printable
from scrapy_rep.robotstxt.profiles import PROFILES, RFC9309
from scrapy_rep.robotstxt.robotstxt import ParsedRobotsTxt
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE
from scrapy_rep.stores.uri import DISK_LIMIT, redacted

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

DAY = 86_400.0
_PREFIX = "REP_"
LEAST_REDIRECTS = 5
"""The lowest limit of redirects that may be set (RFC 9309 section 2.3.1.2)."""

_MARKS: Final = dict.fromkeys(map(ord, "-_ "))

T = TypeVar("T")


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


def _number(least: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        number = _number_in(value)
        if not least <= number < math.inf:
            raise ValueError(f"must be a number of seconds, at least {least:g}")
        return number

    return check


def _whole(least: int, unit: str) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = _number_in(value)
        if not least <= number < math.inf or number != int(number):
            raise ValueError(f"must be a whole number of {unit}, at least {least:,}")
        return int(number)

    return check


def _number_in(value: Any) -> float:
    """Return a number, or text that is one, as a float; NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _several(each: Callable[[Any], T]) -> Callable[[Any], tuple[T, ...]]:
    def check(value: Any) -> tuple[T, ...]:
        if isinstance(value, str):
            value = value.strip("[]() ").split(",")
        elif not isinstance(value, (list, tuple)):
            value = [value]
        parts = [part.strip(" '\"") if isinstance(part, str) else part for part in value]
        return tuple(each(part) for part in parts if part != "")

    return check


def _back_off(value: Any) -> tuple[float, float]:
    pair = _several(_number(1))(value)
    if len(pair) != 2 or pair[0] > pair[1]:
        raise ValueError("must be two numbers of seconds, the first back-off and the longest")
    return pair[0], pair[1]


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        chosen = str(value)  # 1994 is a profile, too
        if chosen not in names:
            meant = _nearest(chosen, names)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise ValueError(f"must be one of {', '.join(names)}{hint}")
        return chosen

    return check


def _nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the most similar name; case, ``-``, ``_`` and spaces are ignored."""
    known = {name.lower().translate(_MARKS): name for name in names}
    found = get_close_matches(word.lower().translate(_MARKS), known, n=1)
    return known[found[0]] if found else None


def _switch(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "1", "false", "0"):
        raise ValueError("must be True or False")
    return text in ("true", "1")


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be text: a URI, or the path of a class")
    return value.strip()


def _key_prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[!-z|~]+", value):
        raise ValueError("must be printable ASCII without spaces and braces, and not empty")
    return value


_purpose = _one_of(*CATEGORIES)


def _purpose_tokens(value: Any) -> dict[str, tuple[str, ...]]:
    """Check a mapping, which is written in JSON on the command line."""
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, Mapping):
        raise ValueError(f"must map some of {', '.join(CATEGORIES)} to product tokens")
    return {_purpose(name): product_tokens(tokens) for name, tokens in value.items()}


def _path(value: Any) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise ValueError("must be the path of a file")
    return path.strip()


def _archive(value: Any) -> str:
    path = _path(value)
    if not path.endswith(".warc.gz"):
        raise ValueError("must be the path of a file that ends with .warc.gz")
    return path


def _overrides(value: Any) -> Any:
    """Return the path of a file, or the entries themselves, checked when they are read."""
    if isinstance(value, (list, tuple)):
        return value
    try:
        return _path(value)
    except ValueError:
        raise ValueError("must be the path of a TOML file, or a list of dictionaries") from None


_CHECK = "check"


def _setting(check: Callable[[Any], Any], default: Any, **more: Any) -> Any:
    """Return the field of a setting, whose value ``check`` returns; it raises ``ValueError``."""
    return field(default=default, metadata={_CHECK: check}, **more)


@dataclass(frozen=True, slots=True)
class RepSettings:
    """The settings of a crawl; sizes are in bytes, times in seconds.

    The setting of a field is its name in capitals, with ``REP_`` in front; that of ``user_agent``
    is ``ROBOTSTXT_USER_AGENT``, as in Scrapy.
    """

    user_agent: tuple[str, ...] | None = _setting(product_tokens, None)
    profile: str = _setting(_one_of(*PROFILES), RFC9309.name)
    store: str | None = _setting(_text, None, repr=False)  # it may hold a password
    store_limit: int = _setting(_whole(1_048_576, "bytes"), DISK_LIMIT)
    store_prefix: str = _setting(_key_prefix, "scrapy_rep")
    memory_limit: int = _setting(_whole(1_048_576, "bytes"), 64 * 1024 * 1024)
    max_size: int = _setting(_whole(DEFAULT_MAX_SIZE, "bytes"), DEFAULT_MAX_SIZE)
    timeout: float = _setting(_number(0.1), 15.0)
    retry_delays: tuple[float, ...] = _setting(_several(_number(0)), (1.0, 5.0))
    unreachable_ttl: tuple[float, float] = _setting(_back_off, (60.0, 3_600.0))
    stale_if_unreachable: float = _setting(_number(0), 30 * DAY)
    defer_unreachable: float = _setting(_number(0), 0.0)
    max_ttl: float = _setting(_number(MIN_LIFETIME), DAY)
    access_denied: str = _setting(_one_of("allow", "disallow"), "allow")
    max_redirects: int = _setting(_whole(LEAST_REDIRECTS, "hops"), LEAST_REDIRECTS)
    crawl_delay: bool = _setting(_switch, True)
    max_crawl_delay: float = _setting(_number(0), 60.0)
    over_max_crawl_delay: str = _setting(_one_of("cap", "forbid"), "cap")
    shared_pace: bool = _setting(_switch, True)
    page_directives: str = _setting(_one_of("off", "report", "obey"), "report")
    noindex: str = _setting(_one_of("keep", "drop"), "keep")
    link_nofollow: bool = _setting(_switch, False)
    preferences: str = _setting(_one_of("off", "report", "skip", "drop"), "report")
    purposes: tuple[str, ...] = _setting(_several(_purpose), ())
    purpose_tokens: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata={_CHECK: _purpose_tokens}
    )
    overrides: str | Sequence[Mapping[str, Any]] | None = _setting(_overrides, None)
    decision_log: str | None = _setting(_path, None)
    decisions: str = _setting(_one_of("refused", "all"), "refused")
    log_urls: str = _setting(_one_of("full", "path", "hash"), "full")
    decision_log_required: bool = _setting(_switch, False)
    warc: str | None = _setting(_archive, None)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> RepSettings:
        """Return the checked settings; raise ``ValueError``, in one line, for a bad one."""
        chosen: dict[str, Any] = {}
        for name, each in SETTINGS.items():
            value = settings.get(name)
            if value is None or (value == "" and each.default is None):
                continue  # an empty text switches a setting off, as for Scrapy's own
            try:
                chosen[each.name] = each.metadata[_CHECK](value)
            except (ValueError, TypeError) as error:
                is_store = name == "REP_STORE"
                quoted = (redacted(value) or "''") if is_store else printable(repr(value))
                raise ValueError(f"{name} = {quoted}: {error}") from None
        profile = PROFILES[chosen.get("profile", RFC9309.name)]
        if chosen.get("max_ttl", 0) > profile.default_life:
            raise ValueError(
                f"REP_MAX_TTL = {chosen['max_ttl']:g}: must be at most {profile.default_life:g} "
                f"seconds in the profile {profile.name}"
            )
        of_profile = {
            "max_ttl": profile.default_life,
            "access_denied": "disallow" if profile.access_denied_closes_the_site else "allow",
            "max_redirects": profile.redirects_followed,
        }
        return cls(**{**of_profile, **chosen})

    @property
    def temporary(self) -> AbstractSet[int]:
        """The statuses of a robots.txt that mean "not now" in the profile."""
        return temporary_in(PROFILES[self.profile])

    def parse(self, body: bytes) -> ParsedRobotsTxt:
        """Return the rules of a robots.txt, in the profile and up to the limit of the crawl."""
        return ParsedRobotsTxt.parse(body, profile=self.profile, max_size=self.max_size)

    @property
    def policy(self) -> Policy:
        """The settings that decide how long an entry is used."""
        return Policy(**{each.name: getattr(self, each.name) for each in fields(Policy)})

    @property
    def pace_policy(self) -> PacePolicy:
        """The settings that decide which pace is kept, and which one is refused."""
        forbids_longer = self.over_max_crawl_delay == "forbid"
        return PacePolicy(self.crawl_delay, self.max_crawl_delay, forbids_longer)


SETTINGS: Final = {
    "ROBOTSTXT_USER_AGENT" if each.name == "user_agent" else _PREFIX + each.name.upper(): each
    for each in fields(RepSettings)
}
"""Each setting, and the field that holds its value."""


def obeys(settings: BaseSettings) -> bool:
    """Return whether ``ROBOTSTXT_OBEY`` is on. Raises ``ValueError`` if it is not a boolean."""
    try:
        return settings.getbool("ROBOTSTXT_OBEY")
    except (ValueError, TypeError):
        quoted = printable(repr(settings.get("ROBOTSTXT_OBEY")))
        raise ValueError(f"ROBOTSTXT_OBEY = {quoted}: must be True or False") from None


def unknown_settings(settings: BaseSettings) -> Iterator[tuple[str, str | None]]:
    """Yield each unknown ``REP_`` setting, with the most similar known name, if there is one."""
    for name in settings:
        if str(name).upper().startswith(_PREFIX) and name not in SETTINGS:
            yield name, _nearest(name, SETTINGS)


def enabled_classes(settings: BaseSettings, name: str) -> set[type]:
    """Return the classes that are enabled in a setting, with all their base classes.

    ``name`` is one that has a ``_BASE``, such as ``DOWNLOADER_MIDDLEWARES`` or ``EXTENSIONS``.
    """
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


NOT_BUILT: Final = (
    "robots.txt cannot be obeyed: DOWNLOADER_MIDDLEWARES lacks RepDownloaderMiddleware, or Scrapy "
    "has disabled it"
)
_SPIDER_MIDDLEWARE: Final = "scrapy_rep.spidermiddlewares.RepSpiderMiddleware"
_MIDDLEWARE: Final = "scrapy_rep.downloadermiddlewares.RepDownloaderMiddleware"
_SCHEDULER: Final = "scrapy_rep.scheduler.RepSchedulerMixin"
_RECORDS: Final = "scrapy_rep.extensions.RepRecords"
"""By name, because their modules need this one."""

# Why a setting has no effect.
_NO_PARSER: Final = "has no effect: scrapy_rep reads robots.txt files itself"
_NO_PAGES: Final = "has no effect without RepSpiderMiddleware in SPIDER_MIDDLEWARES"
_DROPS_NOTHING: Final = "drops no items without RepSpiderMiddleware in SPIDER_MIDDLEWARES"
_NOT_OBEYED: Final = 'has no effect unless REP_PAGE_DIRECTIVES is "obey"'
_READS_NOTHING: Final = 'has no effect as long as REP_PREFERENCES is "off"'
_NO_PURPOSES: Final = "refuses nothing as long as REP_PURPOSES is empty"
_NOT_REFUSED: Final = 'has no effect unless REP_PREFERENCES is "skip" or "drop"'
_NO_DELAYS: Final = "has no effect as long as REP_CRAWL_DELAY is off"
_NO_STORE: Final = "has no effect without a REP_STORE that crawls can share"
_NO_SCHEDULER: Final = "has no effect without RepScheduler as the SCHEDULER"
_NO_LOG: Final = "has no effect without REP_DECISION_LOG"


def check_obeyed(settings: BaseSettings) -> None:
    """Raise ``ValueError`` if robots.txt is to be obeyed, but no enabled middleware obeys it."""
    enabled = enabled_classes(settings, "DOWNLOADER_MIDDLEWARES")
    is_obeyed = RobotsTxtMiddleware in enabled or _MIDDLEWARE in map(global_object_name, enabled)
    if obeys(settings) and not is_obeyed:
        raise ValueError(NOT_BUILT)


def check_records(settings: BaseSettings, checked: RepSettings) -> None:
    """Raise ``ValueError`` if something is to be recorded, but ``RepRecords`` is not enabled.

    A warning would not be enough: nothing can be recorded afterwards.
    """
    files = {"REP_DECISION_LOG": checked.decision_log, "REP_WARC": checked.warc}
    name = next((name for name, path in files.items() if path is not None), None)
    if name and _RECORDS not in map(global_object_name, enabled_classes(settings, "EXTENSIONS")):
        raise ValueError(f'{name} needs "scrapy_rep.RepRecords" in EXTENSIONS')


def without_effect(settings: BaseSettings, checked: RepSettings) -> Iterator[tuple[str, str]]:
    """Yield each setting of the user that can have no effect as the others stand, and why.

    ``checked`` are the settings of this package among all ``settings`` of the crawl. A value that
    asks for nothing, such as "keep", "off" or False, is not named: what it asks for happens.
    """
    spider_middlewares = map(global_object_name, enabled_classes(settings, "SPIDER_MIDDLEWARES"))
    reads_pages = _SPIDER_MIDDLEWARE in spider_middlewares
    has_builtin = RobotsTxtMiddleware in enabled_classes(settings, "DOWNLOADER_MIDDLEWARES")
    bases = getattr(loaded(settings["SCHEDULER"]), "__mro__", ())
    has_scheduler = _SCHEDULER in map(global_object_name, bases)
    obeys_pages = checked.page_directives == "obey"
    refuses_uses = checked.preferences in ("skip", "drop")
    keeps_no_delays = not checked.crawl_delay
    forbids_longer = checked.over_max_crawl_delay == "forbid"
    reads_no_use = checked.preferences == "off"
    is_alone = checked.store in (None, "memory:")
    logs = checked.decision_log is not None
    defers = checked.defer_unreachable > 0
    rows = (  # a setting, whether it has no effect if it is set, and why
        ("ROBOTSTXT_PARSER", not has_builtin, _NO_PARSER),
        ("REP_DEFER_UNREACHABLE", defers and not has_scheduler, _NO_SCHEDULER),
        ("REP_PAGE_DIRECTIVES", checked.page_directives != "off" and not reads_pages, _NO_PAGES),
        ("REP_NOINDEX", checked.noindex == "drop" and not obeys_pages, _NOT_OBEYED),
        ("REP_LINK_NOFOLLOW", checked.link_nofollow and not obeys_pages, _NOT_OBEYED),
        ("REP_PREFERENCES", refuses_uses and not checked.purposes, _NO_PURPOSES),
        ("REP_PREFERENCES", checked.preferences == "drop" and not reads_pages, _DROPS_NOTHING),
        ("REP_PURPOSES", bool(checked.purposes) and not refuses_uses, _NOT_REFUSED),
        ("REP_PURPOSE_TOKENS", bool(checked.purpose_tokens) and reads_no_use, _READS_NOTHING),
        ("REP_MAX_CRAWL_DELAY", keeps_no_delays, _NO_DELAYS),
        ("REP_OVER_MAX_CRAWL_DELAY", forbids_longer and keeps_no_delays, _NO_DELAYS),
        ("REP_STORE_PREFIX", is_alone, _NO_STORE),
        ("REP_SHARED_PACE", checked.shared_pace and is_alone, _NO_STORE),
        ("REP_DECISIONS", not logs, _NO_LOG),
        ("REP_LOG_URLS", not logs, _NO_LOG),
        ("REP_DECISION_LOG_REQUIRED", checked.decision_log_required and not logs, _NO_LOG),
    )
    for name, is_idle, why in rows:
        # What is not set at all, or only by Scrapy's defaults, is not a mistake of the user's.
        if is_idle and settings.get(name) is not None and settings.getpriority(name):
            yield name, why
