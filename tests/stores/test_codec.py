"""Entries as octets: whatever is damaged is a miss."""

from __future__ import annotations

import random
import struct
import tracemalloc
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.policy import Entry
from scrapy_rep.stores import codec
from scrapy_rep.stores.base import StoreError
from scrapy_rep.stores.codec import MAX_INFLATED, decode, encode
from tests.stores.samples import authority, entry, full_entry, gone

times = st.floats(0, 1e11)
entries = st.builds(
    Entry,
    status=st.integers(0, 999),
    body=st.none() | st.binary(max_size=200),
    uri=st.text(max_size=30),
    redirects=st.lists(st.text(max_size=30), max_size=4).map(tuple),
    etag=st.none() | st.binary(max_size=20),
    last_modified=st.none() | st.binary(max_size=20),
    fetched_at=times,
    expires_at=times,
    failing_since=st.none() | times,
    failed_at=times,
    failures=st.integers(0, 2**31 - 1),
    retry_at=times,
    cause=st.text(max_size=20),
)


@given(entries)
def test_any_entry_comes_back(kept: Entry) -> None:
    """Decoding what was encoded gives an equal entry, whatever its fields hold."""
    assert decode(authority(), encode(authority(), kept)) == kept


def test_an_entry_under_another_key_is_a_miss() -> None:
    """Octets that were swapped between two authorities are read by neither."""
    octets = encode(authority(1), entry(1))
    others = [authority(2), authority(1)._replace(port=8443), Authority("http", "a", 80)]
    assert [decode(other, octets) for other in others] == [None] * 3


@pytest.mark.parametrize("kept", [entry(), full_entry(), gone()])
def test_5000_flipped_octets_are_5000_misses(kept: Entry) -> None:
    """No single damaged octet, wherever it is, gives an entry or raises."""
    octets = encode(authority(), kept)
    rng = random.Random(9309)
    for _ in range(5_000):
        damaged = bytearray(octets)
        damaged[rng.randrange(len(damaged))] ^= rng.randint(1, 255)
        assert decode(authority(), bytes(damaged)) is None


@pytest.mark.parametrize("kept", [entry(), full_entry(), gone()])
def test_truncated_and_extended_octets_are_misses(kept: Entry) -> None:
    """Neither a part of an entry nor an entry with something after it is read."""
    octets = encode(authority(), kept)
    assert all(decode(authority(), octets[:cut]) is None for cut in range(len(octets)))
    assert decode(authority(), octets + b"\0") is None
    assert decode(authority(), octets * 2) is None


@given(st.binary(max_size=300))
def test_any_octets_decode_to_a_miss(octets: bytes) -> None:
    """Foreign octets never raise, with our magic in front neither."""
    assert decode(authority(), octets) is None
    assert decode(authority(), codec.MAGIC + octets) is None


def signed(plain: bytes, *, size: int | None = None, packed: bytes | None = None) -> bytes:
    """Octets with a right digest around a content of any kind."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(plain) + deflate.flush() if packed is None else packed
    size = len(plain) if size is None else size
    digest = codec._digest(authority(), 0.0, size, packed)
    return codec._HEAD.pack(codec.MAGIC, 0.0, size, digest) + packed


@given(st.binary(max_size=200))
def test_any_content_under_a_right_digest_decodes_quietly(plain: bytes) -> None:
    """What a stranger signed as we do is an entry or a miss, never an exception."""
    decode(authority(), signed(plain))
    decode(authority(), signed(struct.pack(">Bii", 31, 200, 1) + plain))


def test_numbers_that_are_none_are_a_miss() -> None:
    """An entry that says NaN or infinity of a time is not believed."""
    for number in (float("nan"), float("inf")):
        octets = encode(authority(), replace(gone(), expires_at=number))
        assert decode(authority(), octets) is None


def test_a_bomb_inflates_to_no_more_than_it_says() -> None:
    """64 MiB behind 64 KB of deflate are a miss, in less than 4 MiB of memory."""
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = bomb.compress(bytes(64 * 1024 * 1024)) + bomb.flush()
    tracemalloc.start()
    try:
        assert decode(authority(), signed(b"", size=1_000_000, packed=packed)) is None
        assert decode(authority(), signed(b"", size=MAX_INFLATED + 1, packed=packed)) is None
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_another_version_is_a_miss() -> None:
    """Octets of a later version are dropped, as those of a stranger."""
    octets = encode(authority(), entry())
    assert decode(authority(), b"REP\x02" + octets[4:]) is None


def test_numbers_out_of_range_are_a_store_error() -> None:
    """An entry that cannot be encoded is refused by StoreError, nothing else."""
    with pytest.raises(StoreError, match="cannot be encoded"):
        encode(authority(), replace(gone(), status=2**40))


def test_an_empty_entry_takes_less_than_80_octets() -> None:
    """An authority without a robots.txt costs little."""
    assert len(encode(authority(), replace(gone(), uri=authority().robots_uri))) < 80
