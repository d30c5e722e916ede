"""Entries as octets: whatever is damaged is a miss."""

from __future__ import annotations

import json
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.stores import codec
from scrapy_rep.stores.json_form import LONGEST_VALIDATOR
from scrapy_rep.stores.stored import StoredEntry, StoreError
from tests.stores.samples import authority, entry, full_entry, gone


def encode_answer(answer: Answer) -> bytes:
    """As the answer of an authority."""
    return codec.encode_stored(StoredEntry(authority(), Entry(answer)))


def decode_answer(octets: bytes) -> object:
    """Read as such."""
    stored = codec.decode_stored(authority(), octets)
    return None if stored is None else stored.entry.answer


times, counts, texts = st.floats(0, 1e11), st.integers(0, 2**31 - 1), st.text(max_size=50)
answers = st.builds(
    Answer,
    status=st.sampled_from((301, 308, 400, 404, 499)),
    body=st.none() | st.binary(max_size=200),
    uri=st.text(max_size=30),
    redirects=st.lists(st.text(max_size=30), max_size=4).map(tuple),
    etag=st.none() | st.binary(max_size=20),
    last_modified=st.none() | st.binary(max_size=20),
    fetched_at=times,
    lifetime=st.none() | times,
    cut_at=st.none() | counts,
    exchange=texts,
) | st.builds(Answer, status=st.integers(200, 205), body=st.binary(max_size=200))
failures = st.builds(Failure, times, times, counts, st.none() | times, texts, texts)
entries = st.builds(Entry, st.none() | answers, st.none() | answers, st.none() | failures).filter(
    lambda kept: kept != Entry()
)


@given(entries)
def test_any_entry_comes_back(kept: Entry) -> None:
    """Decoding what was encoded gives an equal entry, whatever its fields hold."""
    parts = codec.encode_parts(authority(), kept, "crawler")
    stored = codec.decode_parts(authority(), parts)
    assert stored.seen_by("crawler") == kept
    assert codec.decode_stored(authority(), codec.encode_stored(stored)) == stored


def octets_of(kept: Entry) -> bytes:
    """The answer of an entry, encoded."""
    return encode_answer(kept.answer)


def test_an_entry_under_another_authority_is_a_miss() -> None:
    """Octets that were swapped between two authorities are read by neither."""
    octets = octets_of(entry(1))
    others = [authority(2), authority(0)._replace(port=8443), Authority("http", "a", 80)]
    assert [codec.decode_stored(other, octets) for other in others] == [None] * 3


def test_a_part_that_is_damaged_takes_the_others_with_it() -> None:
    """What was swapped between two parts still says what it is."""
    parts = codec.encode_parts(authority(), full_entry())
    assert codec.decode_parts(authority(), {**parts, codec.refusal_of("a"): b"damaged"}) is None
    swapped = {codec.ANSWER: parts[codec.FAILURE], codec.FAILURE: parts[codec.ANSWER]}
    assert codec.decode_parts(authority(), swapped) == codec.decode_parts(authority(), parts)


@pytest.mark.parametrize("kept", [entry(), full_entry(), gone()])
def test_damaged_octets_are_misses(kept: Entry) -> None:
    """Neither with an octet changed, wherever it is, nor cut, nor with something after it."""
    octets = octets_of(kept)
    rng = random.Random(9309)
    for _ in range(5_000):
        damaged = bytearray(octets)
        damaged[rng.randrange(len(damaged))] ^= rng.randint(1, 255)
        assert decode_answer(bytes(damaged)) is None

    assert all(decode_answer(octets[:cut]) is None for cut in range(len(octets)))
    assert decode_answer(octets + b"\0") is None
    assert decode_answer(octets * 2) is None


@given(st.binary(max_size=300))
def test_any_octets_decode_to_a_miss(octets: bytes) -> None:
    """Foreign octets never raise, with our magic in front neither."""
    for some in (octets, codec.MAGIC + octets):
        assert codec.decode_stored(authority(), some) is None


def signed(plain: bytes, *, packed: bytes | None = None) -> bytes:
    """Octets with a right digest around a content of any kind."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(plain) + deflate.flush() if packed is None else packed
    return codec._HEAD.pack(codec.MAGIC, 0.0, codec._digest(authority(), 0.0, packed)) + packed


@given(st.binary(max_size=200))
def test_any_content_under_a_right_digest_decodes_quietly(plain: bytes) -> None:
    """What a stranger signed as we do is an entry or a miss, never an exception."""
    for content in (plain, b'{"answer":{"status":200,"body":' + plain, b"[" * 5_000 + plain):
        decode_answer(signed(content))


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_neither_written_nor_read(number: float) -> None:
    """A part that says NaN or infinity of a time is not believed."""
    for answer in (Answer(404, fetched_at=number), Answer(404, lifetime=number)):
        with pytest.raises(StoreError, match="cannot be encoded"):
            encode_answer(answer)
    text = json.dumps({"answer": {"status": 404, "fetched_at": number}})
    assert decode_answer(signed(text.encode())) is None


def test_a_validator_that_is_too_long_is_a_miss() -> None:
    """It would be sent to the site; a fetch keeps none of that length either."""
    for octets, is_read in ((LONGEST_VALIDATOR, True), (LONGEST_VALIDATOR + 1, False)):
        answer = Answer(200, b"", etag=b"e" * octets, fetched_at=1.0)
        assert (decode_answer(encode_answer(answer)) == answer) is is_read


def test_a_bomb_inflates_to_no_more_than_the_bound() -> None:
    """64 MiB behind 64 KB of deflate are a miss."""
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = bomb.compress(bytes(4 * codec.MAX_INFLATED)) + bomb.flush()
    tracemalloc.start()
    try:
        assert decode_answer(signed(b"", packed=packed)) is None
        assert tracemalloc.get_traced_memory()[1] < 3 * codec.MAX_INFLATED
    finally:
        tracemalloc.stop()


def test_an_authority_without_a_robots_txt_takes_less_than_120_octets() -> None:
    """An authority without a robots.txt costs little."""
    answer = Answer(status=404, uri=authority().robots_uri)
    assert len(encode_answer(answer)) < 120
