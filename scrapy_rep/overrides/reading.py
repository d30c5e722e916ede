"""Reading and checking the overrides: every fault is one line that names the file and the entry."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.overrides.override import ACTIONS, AGENT, DELAY, Override
from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.settings import RepSettings, product_tokens

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_REQUIRED: Final = ("authority", "action", "reason", "by", "until")

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_LONGEST_DELAY: Final = 86_400.0
"""Seconds; a longer delay is taken for a mistake in the unit."""

MOST_DAYS: Final = 366
"""How many days ahead an override may end."""


def configured_overrides(settings: RepSettings, now: float) -> tuple[Override, ...]:
    """Return the overrides of ``REP_OVERRIDES``, the expired ones included.

    ``now`` is in seconds since the epoch. Raises ``ValueError``, in one line, for the first fault.
    """
    if settings.overrides is None:
        return ()
    try:
        return read_overrides(settings.overrides, now)
    except ValueError as error:
        raise ValueError(f"REP_OVERRIDES: {error}") from None


def read_overrides(
    value: str | os.PathLike[str] | Sequence[Mapping[str, Any]], now: float
) -> tuple[Override, ...]:
    """Return the overrides that ``REP_OVERRIDES`` names, the expired ones among them.

    ``value`` is the path of a TOML file, or a sequence of mappings; ``now`` is in seconds since the
    epoch. Raises ``ValueError`` for the first fault: which file and entry, and what is wrong.
    """
    if isinstance(value, (str, os.PathLike)):
        path = Path(value)
        where, tables = str(path), _tables_of(path)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        where, tables = "the list", value
    else:
        raise ValueError("must be the path of a TOML file, or a list of dictionaries")
    found: dict[tuple[Any, ...], Override] = {}
    for entry, table in enumerate(tables, start=1):
        try:
            override = _override(entry, table, now)
        except ValueError as error:
            raise ValueError(f"{where}, entry {entry}: {error}") from None
        key = override.authority, override.action, tuple(sorted(override.paths))
        if key in found:
            raise ValueError(f"{where}, entry {entry}: the same as entry {found[key].entry}")
        found[key] = override
    return tuple(found.values())


def _tables_of(path: Path) -> Sequence[Any]:
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8") from None
    except ValueError as error:  # a name that no file can have
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from None
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    for key in document:
        if key != "override":
            raise ValueError(f"{path}: unknown key {key!r}; each entry is an [[override]]")
    tables = document.get("override", [])
    if not isinstance(tables, list):
        raise ValueError(f"{path}: 'override' must be an array of tables, [[override]]")
    return tables


def _override(entry: int, table: Any, now: float) -> Override:
    """Return one checked entry; raise ``ValueError`` with what is wrong with it."""
    if not isinstance(table, Mapping):
        raise ValueError("must be a table of keys and values")
    for key in _REQUIRED:
        if key not in table:
            raise ValueError(f"{key!r} is missing")
    action = table["action"]
    if action not in ACTIONS:
        raise ValueError(f"action {action!r} is not one of {', '.join(ACTIONS)}")
    value_key = [action] if action in _VALUES else []
    for key in table:
        if key not in (*_REQUIRED, "paths", *value_key):
            raise ValueError(f"unknown key {key!r} for the action {action}")
    for key in value_key:
        if key not in table:
            raise ValueError(f"{key!r} is missing: the action {action} needs its value")
    return Override(
        entry,
        _authority(table["authority"]),
        action,
        _text("reason", table["reason"]),
        _text("by", table["by"]),
        _last_day(table["until"], now),
        _paths(table["paths"]) if "paths" in table else (),
        _VALUES[action](table[action]) if value_key else None,
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{key!r} must be text, and not blank")
    return " ".join(value.split())


def _authority(value: Any) -> Authority:
    if not isinstance(value, str):
        raise ValueError("'authority' must be text: scheme://host, with a port if it has its own")
    if "*" in value or "?" in value:
        raise ValueError(f"authority {value!r}: wildcards are not possible, each has its entry")
    try:
        parts = urlsplit(value)
        authority = authority_of(value)
    except ValueError:
        raise ValueError(f"authority {value!r} names no usable host and port") from None
    if authority is None:
        raise ValueError(f"authority {value!r} must begin with http:// or https://")
    if parts.path not in ("", "/") or parts.query or parts.fragment or "#" in value:
        raise ValueError(f"authority {value!r} has a path; name it under 'paths'")
    if "@" in parts.netloc:
        raise ValueError("'authority' must not hold a user name or a password")
    return authority


def _last_day(value: Any, now: float) -> date:
    if isinstance(value, str) and _DATE.fullmatch(value):
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


def _agent(value: Any) -> tuple[str, ...]:
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


_VALUES: Final[dict[str, Callable[[Any], Any]]] = {AGENT: _agent, DELAY: _delay}
"""The actions that need a value, under a key of their own name, and what checks it."""
