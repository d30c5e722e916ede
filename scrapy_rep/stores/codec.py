"""An entry as octets: small, bound to its authority, and never trusted.

::

    magic "REP" | version 1 | date, float64 | digest, 8 octets | deflate

What is deflated is the JSON of :mod:`scrapy_rep.stores.json_form`. The date is that of the newest
part. A store may keep each part by itself (:func:`encode_parts`). Then the date lets it tell which
of two is newer without inflating either; the script that merges on Redis servers reads it, and the
magic before it. The digest is BLAKE2b over the authority and everything else. A CRC would miss one
damaged entry in four thousand million. Worse, it is linear: an entry swapped under another
authority, or a few related damages, could cancel out. The digest is not a signature: a program that
may write to the store can write any entry.

Octets that do not decode, for whatever reason, are a miss, so that the robots.txt is fetched again.
So are those of another version. What is inflated is bounded by :data:`MAX_INFLATED`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct
from struct import error as struct_error

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry
from scrapy_rep.stores.json_form import plain_parts, stored_of
from scrapy_rep.stores.stored import StoredEntry, StoreError

MAGIC = b"REP\x01"
"""The first octets of each entry; the last of them is the version."""

MAX_INFLATED = 16 * 1024 * 1024
"""Octets before compression; more are neither written nor read."""

ANSWER, FAILURE = "answer", "failure"
"""The names of the parts that all crawlers share."""

_REFUSAL = "refusal "
"""What the name of the part begins with that holds the refusal of one crawler."""

_HEAD = Struct(">4sd8s")
_LENGTH = Struct(">I")

# The preset dictionary of deflate, the commonest words last. Part of the format: never change it.
_WORDS = (
    rb"Sitemap: https://www./sitemap.xml Crawl-delay: 10 /wp-admin/\n"
    rb"Allow: /wp-admin/admin-ajax.php\n"
    rb'"},"failure":{"since":,"failed_at":,"count":1,"cause":"status 503'
    rb'{"answer":{"status":404,"uri":"https://www..com/robots.txt","fetched_at":1,"lifetime":86400.0'
    rb',"etag":"\"","last_modified":"Mon, 01 Jan 2026 00:00:00 GMT"'
    rb',"body":"User-agent: *\nDisallow: '
)


def refusal_of(crawler: str) -> str:
    """Return the name of the part that holds the refusal of one crawler."""
    return f"{_REFUSAL}{crawler}"


def encode_stored(stored: StoredEntry) -> bytes:
    """Return all that is kept of an authority as octets. Raises :class:`StoreError`."""
    try:
        text = json.dumps(
            plain_parts(stored), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        octets = text.encode("utf-8", "surrogatepass")
        if len(octets) > MAX_INFLATED:
            raise StoreError(f"an entry of {len(octets)} bytes is larger than {MAX_INFLATED}")
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=_WORDS)
        packed = deflate.compress(octets) + deflate.flush()
        date = stored.updated_at
        return _HEAD.pack(MAGIC, date, _digest(stored.authority, date, packed)) + packed
    except (struct_error, OverflowError, ValueError) as error:
        raise StoreError(f"an entry cannot be encoded: {error}") from None


def decode_stored(authority: Authority, octets: bytes) -> StoredEntry | None:
    """Return what :func:`encode_stored` encoded of ``authority``, else ``None``; never raises."""
    try:
        found, date, digest = _HEAD.unpack_from(octets)
        packed = octets[_HEAD.size :]
        # Another version; damaged, or kept under another key.
        if found != MAGIC or digest != _digest(authority, date, packed):
            return None
        inflate = zlib.decompressobj(-15, zdict=_WORDS)
        plain = inflate.decompress(packed, MAX_INFLATED)
        if not inflate.eof or inflate.unused_data:
            return None
        return stored_of(authority, json.loads(plain.decode("utf-8", "surrogatepass")))
    except (struct_error, zlib.error, ValueError, RecursionError):
        return None


def encode_parts(authority: Authority, entry: Entry, crawler: str = "") -> dict[str, bytes]:
    """Return the octets of each part by its name, empty where there is no such part.

    Each is an entry with that part alone. The refusal is left out if ``crawler`` is empty. Raises
    :class:`StoreError`.
    """
    answer, refusal, failure = entry.answer, entry.refusal, entry.failure
    parts = {
        ANSWER: answer and StoredEntry(authority, Entry(answer)),
        FAILURE: failure and StoredEntry(authority, Entry(failure=failure)),
    }
    if crawler:
        kept = refusal and StoredEntry(authority, refusals={crawler: refusal})
        parts[refusal_of(crawler)] = kept
    return {name: encode_stored(part) if part else b"" for name, part in parts.items()}


def decode_parts(authority: Authority, parts: Mapping[str, bytes]) -> StoredEntry | None:
    """Return what :func:`encode_parts` encoded; ``None`` if a part is damaged, or there is none.

    Parts are not read without the others: without a refusal, the rest could be permission.
    """
    entry, refusals = Entry(), dict[str, Answer]()
    for name, octets in parts.items():
        if octets and name.startswith((ANSWER, FAILURE, _REFUSAL)):
            part = decode_stored(authority, octets)
            if part is None:
                return None
            answer, failure = part.entry.answer, part.entry.failure
            entry = Entry(answer or entry.answer, failure=failure or entry.failure)
            refusals |= part.refusals
    return StoredEntry(authority, entry, refusals) if refusals or entry != Entry() else None


def _digest(authority: Authority, date: float, packed: bytes) -> bytes:
    digest = blake2b(_HEAD.pack(MAGIC, date, b""), digest_size=8)
    name = str(authority).encode()
    digest.update(_LENGTH.pack(len(name)) + name)
    digest.update(packed)
    return digest.digest()
