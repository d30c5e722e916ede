"""Stored entries as plain values, which any JSON writer can write: one schema for all purposes.

A store keeps entries in this form (:mod:`scrapy_rep.stores.codec`), an export writes it, and an
import reads it. A field that has its default is left out. Octets that are UTF-8 stand as text, all
others as ``{"base64": "..."}``, so that every octet survives. What is read is checked as strictly
as anything that comes from outside.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Set
from dataclasses import fields
from typing import Any, TypeVar

from scrapy_rep.access.authority import Authority, authority_in
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.access.outcome import Meaning, meaning_of
from scrapy_rep.stores.stored import StoredEntry

Part = TypeVar("Part", Answer, Failure)
Check = Callable[[object, str], Any]

_PARTS = {"answer", "refusals", "failure"}
_ENTRY = {"site", *_PARTS}
_BASE64 = {"base64"}
_LARGEST = 2**31 - 1

LONGEST_VALIDATOR = 1024
"""Octets of the longest validator that is kept: servers choose them, and they are sent back."""


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is not a list")
    return tuple(_text(each, f"a text of {name}") for each in value)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} is not a number")
    if abs(value) > _LARGEST * 1000.0 or not math.isfinite(value):
        raise ValueError(f"{name} is out of range")
    return float(value)


def _integer(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is not a whole number from 0 to {_LARGEST}")
    return value


def _truth(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is neither true nor false")
    return value


def _optional(check: Check) -> Check:
    return lambda value, name: None if value is None else check(value, name)


def _octets(value: object, name: str) -> bytes:
    if not isinstance(value, Mapping):
        try:
            return _text(value, name).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{name} is not UTF-8") from None
    encoded = _text(_mapping(value, name, _BASE64).get("base64"), f"the Base64 of {name}")
    try:
        return b64decode(encoded, validate=True)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _validator(value: object, name: str) -> bytes:
    octets = _octets(value, name)
    if len(octets) > LONGEST_VALIDATOR:
        raise ValueError(f"{name} is longer than {LONGEST_VALIDATOR} bytes")
    return octets


_CHECKS: dict[type[Answer | Failure], dict[str, Check]] = {
    Answer: {
        "status": _integer,
        "uri": _text,
        "redirects": _texts,
        "fetched_at": _number,
        "lifetime": _optional(_number),
        "cut_at": _optional(_integer),
        "exchange": _text,
        "etag": _optional(_validator),
        "last_modified": _optional(_validator),
        "body": _optional(_octets),
        "refused_as": _optional(_octets),
    },
    Failure: {
        "since": _number,
        "failed_at": _number,
        "count": _integer,
        "retry_after": _optional(_number),
        "cause": _text,
        "exchange": _text,
        "ours": _truth,
        "detail": _text,
    },
}
"""The fields of each part, and how a value of each is checked."""

_REQUIRED = {"status", "fetched_at", "since", "failed_at", "count"}
"""Fields that are always written and have to be there, whether they have a default or not."""

_DEFAULTS = {kind: {f.name: f.default for f in fields(kind)} for kind in (Answer, Failure)}


def to_plain(stored: StoredEntry) -> dict[str, Any]:
    """Return texts, numbers, lists and dictionaries that :func:`from_plain` reads."""
    return {"site": str(stored.authority), **plain_parts(stored)}


def plain_parts(stored: StoredEntry) -> dict[str, Any]:
    """Return the same without the authority, for :func:`stored_of`."""
    entry, refusals = stored.entry, stored.refusals
    plain: dict[str, Any] = {
        "answer": entry.answer and _plain_part(entry.answer),
        "refusals": {crawler: _plain_part(refusal) for crawler, refusal in refusals.items()},
        "failure": entry.failure and _plain_part(entry.failure),
    }
    return {name: part for name, part in plain.items() if part}


def from_plain(plain: object) -> StoredEntry:
    """Return what :func:`to_plain` wrote. Raises ``ValueError``, one line, on anything else."""
    found = dict(_mapping(plain, "an entry", _ENTRY))
    name = _text(found.pop("site", None), "site")
    authority = authority_in(name)
    if authority is None:
        raise ValueError(f"site: {name!a} is not like https://example.org")
    return stored_of(authority, found)


def stored_of(authority: Authority, plain: object) -> StoredEntry:
    """Return what :func:`plain_parts` wrote. Raises ``ValueError``, one line, on anything else."""
    found = _mapping(plain, "an entry", _PARTS)
    answer, failure, refusals = (found.get(name) for name in ("answer", "failure", "refusals"))
    refusals = {} if refusals is None else refusals
    if not isinstance(refusals, Mapping) or not all(map(_is_digest, refusals)):
        raise ValueError("refusals is not an object with a crawler's digest for each refusal")
    if answer is None and failure is None and not refusals:
        raise ValueError("an entry has neither an answer, nor refusals, nor a failure")
    return StoredEntry(
        authority,
        Entry(
            None if answer is None else _part_of(Answer, answer, "answer"),
            failure=None if failure is None else _part_of(Failure, failure, "failure"),
        ),
        {crawler: _part_of(Answer, refusal, "refusal") for crawler, refusal in refusals.items()},
    )


def _plain_part(part: Answer | Failure) -> dict[str, Any]:
    """Return a part as texts, numbers and lists, which :func:`_part_of` reads."""
    plain = {}
    for name in _CHECKS[type(part)]:
        value = getattr(part, name)
        if name in _REQUIRED or value != _DEFAULTS[type(part)][name]:
            plain[name] = _plain_octets(value) if isinstance(value, bytes) else value
    return plain


def _plain_octets(octets: bytes) -> str | dict[str, str]:
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(octets).decode("ascii")}


def _part_of(kind: type[Part], plain: object, name: str) -> Part:
    """Return what :func:`_plain_part` wrote. Raises ``ValueError``, one line, on anything else."""
    checks = _CHECKS[kind]
    found = _mapping(plain, name, checks.keys())
    fields_found = [field for field in checks if field in found or field in _REQUIRED]
    part = kind(**{field: checks[field](found.get(field), field) for field in fields_found})
    if isinstance(part, Answer):
        _check_status(part, name)
    return part


def _check_status(answer: Answer, name: str) -> None:
    """Raise ``ValueError`` for a failure, or rules that are missing: neither is permission."""
    meaning = meaning_of(answer.status, temporary=frozenset())  # that is for the reader to say
    if meaning is Meaning.UNREACHABLE:
        raise ValueError(f"{name} has status {answer.status}, which is a failure")
    if meaning is Meaning.SUCCESS and answer.body is None:
        raise ValueError(f"{name} has status {answer.status}, and no body")


def _mapping(plain: object, name: str, known: Set[str]) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping):
        raise ValueError(f"{name} is not an object")
    if not plain.keys() <= known:
        unknown = min(ascii(key) for key in plain if key not in known)
        raise ValueError(f"{name} has no field {unknown}")
    return plain


def _is_digest(crawler: object) -> bool:
    return isinstance(crawler, str) and crawler.isascii() and crawler.isalnum()
