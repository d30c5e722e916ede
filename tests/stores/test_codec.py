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

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.stores import codec
from scrapy_rep.stores.codec import (
    MAX_INFLATED,
    decode_answer,
    decode_failure,
    decode_parts,
    decode_v1,
    encode_answer,
    encode_failure,
    encode_parts,
    part_key,
)
from scrapy_rep.stores.error import StoreError
from tests.stores.samples import authority, entry, failure, full_entry, gone, refused

KEY = part_key(authority(), codec.ANSWER)
times = st.floats(0, 1e11)
answers = st.builds(
    Answer,
    status=st.integers(0, 999),
    body=st.none() | st.binary(max_size=200),
    uri=st.text(max_size=30),
    redirects=st.lists(st.text(max_size=30), max_size=4).map(tuple),
    etag=st.none() | st.binary(max_size=20),
    last_modified=st.none() | st.binary(max_size=20),
    fetched_at=times,
    lifetime=st.none() | times,
    cut_at=st.none() | st.integers(0, 2**60),
    record=st.text(max_size=50),
)
failures = st.builds(
    Failure,
    since=times,
    failed_at=times,
    count=st.integers(0, 2**31 - 1),
    retry_after=st.none() | times,
    cause=st.text(max_size=20),
    record=st.text(max_size=50),
)
entries = st.builds(Entry, st.none() | answers, st.none() | answers, st.none() | failures).filter(
    lambda kept: kept != Entry()
)


@given(entries)
def test_any_entry_comes_back(kept: Entry) -> None:
    """Decoding what was encoded gives an equal entry, whatever its fields hold."""
    parts = encode_parts(authority(), kept, "crawler")
    assert decode_parts(authority(), parts, "crawler") == kept


def test_a_refusal_is_read_by_the_crawler_that_got_it() -> None:
    """RFC 9309 section 2.3.1.3: another crawler, or one that asks for none, sees no refusal."""
    parts = encode_parts(authority(), refused(), "a")
    assert decode_parts(authority(), parts, "a") == refused()
    assert decode_parts(authority(), parts, "b") is None
    assert decode_parts(authority(), parts) is None
    assert not any(encode_parts(authority(), refused()).values())


def octets_of(kept: Entry) -> bytes:
    """The answer of an entry, encoded."""
    assert kept.answer is not None
    return encode_answer(KEY, kept.answer)


def test_a_part_under_another_key_is_a_miss() -> None:
    """Octets that were swapped between two authorities, or two parts, are read by neither."""
    octets = octets_of(entry(1))
    others = [authority(2), authority(0)._replace(port=8443), Authority("http", "a", 80)]
    assert [decode_answer(part_key(other, codec.ANSWER), octets) for other in others] == [None] * 3
    assert decode_answer(part_key(authority(), codec.refusal_of("a")), octets) is None
    assert decode_failure(KEY, octets) is None


@pytest.mark.parametrize("kept", [entry(), full_entry(), gone()])
def test_5000_flipped_octets_are_5000_misses(kept: Entry) -> None:
    """No single damaged octet, wherever it is, gives an answer or raises."""
    octets = octets_of(kept)
    rng = random.Random(9309)
    for _ in range(5_000):
        damaged = bytearray(octets)
        damaged[rng.randrange(len(damaged))] ^= rng.randint(1, 255)
        assert decode_answer(KEY, bytes(damaged)) is None


@pytest.mark.parametrize("kept", [entry(), full_entry(), gone()])
def test_truncated_and_extended_octets_are_misses(kept: Entry) -> None:
    """Neither a part of an answer nor an answer with something after it is read."""
    octets = octets_of(kept)
    assert all(decode_answer(KEY, octets[:cut]) is None for cut in range(len(octets)))
    assert decode_answer(KEY, octets + b"\0") is None
    assert decode_answer(KEY, octets * 2) is None


@given(st.binary(max_size=300))
def test_any_octets_decode_to_a_miss(octets: bytes) -> None:
    """Foreign octets never raise, with our magic in front neither."""
    for decode in (decode_answer, decode_failure):
        assert decode(KEY, octets) is None
        assert decode(KEY, codec.MAGIC + octets) is None
    assert decode_v1(authority(), octets) is None
    assert decode_v1(authority(), b"REP\x01" + octets) is None


def signed(plain: bytes, *, size: int | None = None, packed: bytes | None = None) -> bytes:
    """Octets with a right digest around a content of any kind."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(plain) + deflate.flush() if packed is None else packed
    size = len(plain) if size is None else size
    digest = codec._digest(KEY, codec.MAGIC, 0.0, size, packed)
    return codec._HEAD.pack(codec.MAGIC, 0.0, size, digest) + packed


@given(st.binary(max_size=200))
def test_any_content_under_a_right_digest_decodes_quietly(plain: bytes) -> None:
    """What a stranger signed as we do is an entry or a miss, never an exception."""
    for content in (plain, struct.pack(">Bi", 31, 200) + plain):
        decode_answer(KEY, signed(content))
        decode_failure(KEY, signed(content))


def test_numbers_that_are_none_are_a_miss() -> None:
    """A part that says NaN or infinity of a time is not believed."""
    for number in (float("nan"), float("inf")):
        for answer in (Answer(404, fetched_at=number), Answer(404, lifetime=number)):
            assert decode_answer(KEY, encode_answer(KEY, answer)) is None
        for failed in (Failure(number, 1.0), Failure(1.0, number)):
            assert decode_failure(KEY, encode_failure(KEY, failed)) is None


def test_a_bomb_inflates_to_no_more_than_it_says() -> None:
    """64 MiB behind 64 KB of deflate are a miss, in less than 4 MiB of memory."""
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = bomb.compress(bytes(64 * 1024 * 1024)) + bomb.flush()
    tracemalloc.start()
    try:
        assert decode_answer(KEY, signed(b"", size=1_000_000, packed=packed)) is None
        assert decode_answer(KEY, signed(b"", size=MAX_INFLATED + 1, packed=packed)) is None
        assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_another_version_is_a_miss() -> None:
    """Octets of a later version are dropped, as those of a stranger."""
    assert decode_answer(KEY, b"REP\x03" + octets_of(entry())[4:]) is None


def test_numbers_out_of_range_are_a_store_error() -> None:
    """A part that cannot be encoded is refused by StoreError, nothing else."""
    with pytest.raises(StoreError, match="cannot be encoded"):
        encode_answer(KEY, Answer(status=2**40))
    with pytest.raises(StoreError, match="cannot be encoded"):
        encode_failure(KEY, Failure(0.0, 0.0, 2**40))


def test_an_authority_without_a_robots_txt_takes_less_than_120_octets() -> None:
    """An authority without a robots.txt costs little."""
    answer = Answer(status=404, uri=authority().robots_uri)
    assert len(encode_answer(KEY, answer)) < 120


# What version 0.1.0 wrote of tests.stores.samples.authority(), in hexadecimal digits.
V1_FULL = bytes.fromhex(
    "5245500141daac4ee0000000000000efe0ba07c614c6715be3676060d42d379dc2e0786bf5b7df0f1880f41a"
    "efe80f60da57f60798f6030a83e8a0140630600262756413338085925e6a45223013a4ea2382cabeccd610a8"
    "940b545094162b981a18037932308d06587400e585a1019f04973ebc07a40d3938fe33a0043b17509e355c5f"
    "e9a5129021eb5694a9a36064002cfcca809491998281859581011029b8fb860000"
)
V1_GONE = bytes.fromhex(
    "5245500141daac4ee000000000000049d07af62085d614a3636060609c0224181c6fadf17b00a1173b30900e00"
)
V1_DENIED = bytes.fromhex(
    "5245500141daac4ee000000000000049c43e26886fec6d28636060609c0c24181c6fadf17b00a1173b30900e00"
)


def test_what_version_1_wrote_is_read_as_facts() -> None:
    """An entry of 0.1.0 keeps its copy, its dates and its failures under the new rules."""
    kept = decode_v1(authority(), V1_FULL)
    assert kept is not None
    assert kept.answer is not None
    expected = full_entry().answer
    assert expected is not None
    assert kept.answer == replace(expected, lifetime=86_400.25, cut_at=None, record="")
    failed = failure().failure
    assert failed is not None
    assert kept.failure == replace(failed, record="")
    assert decode_v1(authority(1), V1_FULL) is None


def test_what_version_1_knew_of_a_missing_robots_txt_is_kept_and_a_refusal_is_not() -> None:
    """RFC 9309 section 2.3.1.3: version 1 did not say which crawler a 403 was for."""
    kept = decode_v1(authority(), V1_GONE)
    assert kept is not None
    assert kept.answer == replace(gone().answer or Answer(), lifetime=86_400.0)
    assert decode_v1(authority(), V1_DENIED) in (None, Entry())
