"""A whole entry in one piece, until each store keeps its parts (to be removed)."""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.entry import Entry, date_of
from scrapy_rep.stores.codec import ANSWER, FAILURE, MAGIC, decode_parts, encode_parts

_HEAD = Struct(">4sdI")


def dated(entry: Entry) -> float:
    """Return the newest date."""
    parts = (entry.answer, entry.refusal, entry.failure)
    return max((date_of(part) for part in parts if part is not None), default=0.0)


def encode(authority: Authority, entry: Entry) -> bytes:
    """Return an entry as octets."""
    parts = encode_parts(authority, entry)
    return _HEAD.pack(MAGIC, dated(entry), len(parts[ANSWER])) + parts[ANSWER] + parts[FAILURE]


def decode(authority: Authority, octets: bytes) -> Entry | None:
    """Return the entry."""
    try:
        _, _, length = _HEAD.unpack_from(octets)
    except struct_error:
        return None
    end = _HEAD.size + length
    return decode_parts(authority, {ANSWER: octets[_HEAD.size : end], FAILURE: octets[end:]})
