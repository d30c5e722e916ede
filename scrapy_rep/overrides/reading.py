"""Reading and checking the overrides: every fault is one line that names the file and the entry."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

from scrapy_rep.access.authority import Authority, usable_authority_of
from scrapy_rep.overrides.override import ACTIONS, AGENT, DELAY, Override
from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.settings import RepSettings, product_tokens

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pragma: no cover (Python 3.10)

_REQUIRED: Final = ("authority", "action", "reason", "by", "until")
_WITH_VALUE: Final = (AGENT, DELAY)
"""The actions that need a value, under a key with the action's name."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ORIGIN: Final = re.compile("[^:/]*://[^*?#/\\\\]+")

_LONGEST_DELAY: Final = 86_400.0
"""Seconds; a longer delay is taken for a mistake in the unit."""

MOST_DAYS: Final = 366
"""How many days ahead an override may end."""


def configured_overrides(settings: RepSettings, now: float) -> tuple[Override, ...]:
    """Return the overrides of ``REP_OVERRIDES``, the expired ones included.

    ``now`` is in seconds since the epoch. Raises ``ValueError`` for the first fault: its message is
    one line that names the file, the entry and the fault.
    """
    value = settings.overrides
    if value is None:
        return ()
    where, tables = (value, _tables_of(value)) if isinstance(value, str) else ("the list", value)
    found = []
    for entry, table in enumerate(tables, start=1):
        try:
            override = _override(entry, table, now)
        except ValueError as error:
            raise ValueError(f"REP_OVERRIDES: {where}, entry {entry}: {error}") from None
        found.append(override)
    return tuple(found)


def _tables_of(path: str) -> Sequence[Any]:
    try:
        document = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"REP_OVERRIDES: {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"REP_OVERRIDES: {path} is not TOML: {error}") from None
    tables = document.pop("override", [])
    if document or not isinstance(tables, list):
        raise ValueError(f"REP_OVERRIDES: {path} may hold [[override]] tables, and nothing else")
    return tables


def _override(entry: int, table: Any, now: float) -> Override:
    """Return one checked entry; raise ``ValueError`` with what is wrong with it."""
    if not isinstance(table, Mapping):
        raise ValueError("must be a table of keys and values")
    action = table.get("action")
    if action not in ACTIONS:
        raise ValueError(f"action {action!r} is not one of {', '.join(ACTIONS)}")
    required = (*_REQUIRED, action) if action in _WITH_VALUE else _REQUIRED
    for key in required:
        if key not in table:
            raise ValueError(f"{key!r} is missing")
    for key in table:
        if key not in (*required, "paths"):
            raise ValueError(f"unknown key {key!r} for the action {action}")
    return Override(
        entry,
        _authority(table["authority"]),
        action,
        _text("reason", table["reason"]),
        _text("by", table["by"]),
        _last_day(table["until"], now),
        _paths(table["paths"]) if "paths" in table else (),
        _tokens(table[AGENT]) if action == AGENT else (),
        _delay(table[DELAY]) if action == DELAY else 0.0,
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} must be text, and not blank")
    return " ".join(value.split())


def _authority(value: Any) -> Authority:
    origin = value.removesuffix("/") if isinstance(value, str) else ""
    if "@" in origin:
        raise ValueError("'authority' must not hold a user name or a password")
    authority = usable_authority_of(origin)
    if authority is None or not _ORIGIN.fullmatch(origin):
        what = "http:// or https:// and a host, without wildcards; a path belongs under 'paths'"
        raise ValueError(f"authority {value!r} must be {what}")
    return authority


def _last_day(value: Any, now: float) -> date:
    if isinstance(value, str) and _DATE.fullmatch(value):  # later Pythons read other forms, too
        try:
            value = date.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"until {value!r}: {error}") from None
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError("'until' must be a date, such as 2027-03-31")
    today = datetime.fromtimestamp(now, timezone.utc).date()
    if value > today + timedelta(days=MOST_DAYS):
        raise ValueError(f"until {value} is more than {MOST_DAYS} days ahead")
    return value


def _paths(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError("'paths' must be a list of patterns as in robots.txt, and not empty")
    for path in value:
        if not isinstance(path, str) or not path.startswith(("/", "*")):
            raise ValueError(f"path {path!r} must be text that begins with / or *")
        if "#" in path or path != path.strip() or not path.isprintable():
            raise ValueError(f"path {path!r} must not hold #, control characters or outer spaces")
    return tuple(value)


def _tokens(value: Any) -> tuple[str, ...]:
    try:
        names = product_tokens(value)
    except ValueError as error:
        raise ValueError(f"agent {value!r}: {error}") from None
    for name in names:
        if name != "*" and product_token(name) is None:
            raise ValueError(f"agent {name!r} names no crawler")
    return names


def _delay(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _LONGEST_DELAY:
        raise ValueError(f"delay {value!r} must be seconds, from 0 to {_LONGEST_DELAY:.0f}")
    return float(value)
