"""Stored entries as plain values, which any JSON writer can write: one entry, one line.

Octets that are UTF-8 stand as text under their own name. All others stand in Base64 under that name
with ``_base64`` behind it, so that every octet survives. What is read is checked as strictly as
anything that comes from outside.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.stores.stored import StoredEntry

_OCTETS = ("body", "etag", "last_modified")
_ENTRY = {"authority", "answer", "refusals", "failure"}
_ANSWER = {"status", "uri", "redirects", "fetched_at", "lifetime", "cut_at", "record", *_OCTETS}
_ANSWER |= {f"{name}_base64" for name in _OCTETS}
_FAILURE = {"since", "failed_at", "count", "retry_after", "cause", "record"}
_LARGEST = 2**31 - 1


def to_plain(stored: StoredEntry) -> dict[str, Any]:
    """Return texts, numbers, lists and dictionaries that :func:`from_plain` reads."""
    plain: dict[str, Any] = {"authority": str(stored.authority)}
    if stored.entry.answer is not None:
        plain["answer"] = _plain_answer(stored.entry.answer)
    if stored.refusals:
        plain["refusals"] = {
            crawler: _plain_answer(refusal) for crawler, refusal in stored.refusals.items()
        }
    failure = stored.entry.failure
    if failure is not None:
        plain["failure"] = {
            "since": failure.since,
            "failed_at": failure.failed_at,
            "count": failure.count,
            "retry_after": failure.retry_after,
            "cause": failure.cause,
            **_plain_record(failure),
        }
    return plain


def from_plain(plain: object) -> StoredEntry:
    """Return what :func:`to_plain` wrote. Raises ``ValueError``, one line, on anything else."""
    fields = _mapping(plain, "an entry", _ENTRY)
    answer, failure = fields.get("answer"), fields.get("failure")
    refusals = fields.get("refusals", {})
    if not isinstance(refusals, Mapping) or not all(map(_is_digest, refusals)):
        raise ValueError("refusals is not an object with a crawler's digest for each refusal")
    stored = StoredEntry(
        _authority(fields.get("authority")),
        Entry(
            None if answer is None else _answer(answer, "answer"),
            failure=None if failure is None else _failure(failure),
        ),
        {crawler: _answer(refusal, "refusal") for crawler, refusal in refusals.items()},
    )
    if stored.entry == Entry() and not stored.refusals:
        raise ValueError("an entry has neither an answer, nor refusals, nor a failure")
    return stored


def _plain_answer(answer: Answer) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "status": answer.status,
        "uri": answer.uri,
        "redirects": list(answer.redirects),
        "fetched_at": answer.fetched_at,
        "lifetime": answer.lifetime,
        "cut_at": answer.cut_at,
        **_plain_record(answer),
    }
    for name in _OCTETS:
        octets = getattr(answer, name)
        if octets is not None:
            try:
                plain[name] = octets.decode("utf-8")
            except UnicodeDecodeError:
                plain[f"{name}_base64"] = b64encode(octets).decode("ascii")
    return plain


def _plain_record(part: Answer | Failure) -> dict[str, str]:
    return {"record": part.record} if part.record else {}


def _answer(plain: object, name: str) -> Answer:
    fields = _mapping(plain, name, _ANSWER)
    redirects = fields.get("redirects", [])
    if not isinstance(redirects, (list, tuple)):
        raise ValueError("redirects is not a list")
    cut_at = fields.get("cut_at")
    return Answer(
        status=_integer(fields, "status"),
        body=_octets(fields, "body"),
        uri=_text(fields.get("uri", ""), "uri"),
        redirects=tuple(_text(hop, "a redirect") for hop in redirects),
        etag=_octets(fields, "etag"),
        last_modified=_octets(fields, "last_modified"),
        fetched_at=_number(fields, "fetched_at"),
        lifetime=None if fields.get("lifetime") is None else _number(fields, "lifetime"),
        cut_at=None if cut_at is None else _integer(fields, "cut_at"),
        record=_text(fields.get("record", ""), "record"),
    )


def _failure(plain: object) -> Failure:
    fields = _mapping(plain, "failure", _FAILURE)
    return Failure(
        since=_number(fields, "since"),
        failed_at=_number(fields, "failed_at"),
        count=_integer(fields, "count"),
        retry_after=None if fields.get("retry_after") is None else _number(fields, "retry_after"),
        cause=_text(fields.get("cause", ""), "cause"),
        record=_text(fields.get("record", ""), "record"),
    )


def _mapping(plain: object, name: str, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping):
        raise ValueError(f"{name} is not an object")
    unknown = sorted(ascii(key) for key in plain if key not in known)
    if unknown:
        raise ValueError(f"{name} has no field {unknown[0]}")
    return plain


def _authority(name: object) -> Authority:
    authority = authority_of(_text(name, "authority"))
    if authority is None or str(authority) != name:
        raise ValueError(f"authority: {name!a} is not like https://example.org")
    return authority


def _is_digest(crawler: object) -> bool:
    return isinstance(crawler, str) and crawler.isascii() and crawler.isalnum()


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def _octets(fields: Mapping[str, Any], name: str) -> bytes | None:
    text, encoded = fields.get(name), fields.get(f"{name}_base64")
    if text is not None and encoded is not None:
        raise ValueError(f"{name} stands there twice")
    try:
        if encoded is not None:
            return b64decode(_text(encoded, f"{name}_base64"), validate=True)
        return None if text is None else _text(text, name).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _number(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} is not a number")
    if abs(value) > _LARGEST * 1000.0 or not math.isfinite(value):
        raise ValueError(f"{name} is out of range")
    return float(value)


def _integer(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise ValueError(f"{name} is not a whole number from 0 to {_LARGEST}")
    return value
