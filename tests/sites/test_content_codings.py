"""A body counts if its end is there, whatever its coding (RFC 9110 section 8.4)."""

from __future__ import annotations

import gzip
import random
import sys
import time
import zlib
from functools import cache

import pytest

from scrapy_rep.sites import content_codings as codings
from scrapy_rep.sites.content_codings import CodingError, plain_octets
from tests.compressed import ENCODERS, Encoder, may_end
from tests.rows import first, rows
from tests.timed import timed

TEXT = b"User-agent: *\nDisallow: /private\nDisallow: /cart\n" * 3
ENOUGH = 10_000


each = pytest.mark.parametrize(("coding", "encode"), first(6, ENCODERS.values()), ids=ENCODERS)
needs_zstd = pytest.mark.skipif("zstd" not in ENCODERS, reason="no zstd here")


@cache
def large(size: int = 120_000) -> bytes:
    """Text of that many octets which hardly gets smaller."""
    chance = random.Random(9309)
    return b"".join(b"Disallow: /%x\n" % chance.getrandbits(256) for _ in range(size // 76))


@each
def test_a_whole_body_is_decoded(coding: str, encode: Encoder) -> None:
    """Small and large, of much repetition and of little; nothing was cut."""
    sizes = [32_000, 33_000, 65_536, 131_072, 900_000]
    for text in (TEXT, b"\n", *map(large, sizes), *(b"#" * size for size in sizes)):
        assert plain_octets(encode(text), [coding.encode()], 1_000_000) == (text, False)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_body_cut_anywhere_is_broken(name: str) -> None:
    """After each of its octets but the last; of a large one in 80 places."""
    coding, encode = ENCODERS[name]
    for text in (TEXT, large()):
        body = encode(text)
        for place in range(1, len(body), max(len(body) // 80, 1)):
            if not may_end(name, text, place):
                with pytest.raises(CodingError):
                    plain_octets(body[:place], [coding.encode()], 200_000)


@each
def test_a_body_cut_on_purpose_counts_as_far_as_it_decodes(coding: str, encode: Encoder) -> None:
    """What comes out is how the text begins, and it is said to be cut."""
    text = large(900_000)  # a block of zstd is up to 128 KiB, and comes out whole or not at all
    body = encode(text)
    for place in (1, 10, len(body) // 2, len(body) - 1, len(body)):
        plain, cut = plain_octets(body[:place], [coding.encode()], 1_000_000, cut=True)
        assert cut
        assert text.startswith(plain)
    half = plain_octets(body[: len(body) // 2], [coding.encode()], 1_000_000, cut=True)[0]
    assert len(half) > len(text) // 4


@timed
@each
def test_no_more_is_decoded_than_asked_for(coding: str, encode: Encoder) -> None:
    """16 MB of one letter, where its length is a multiple of a block's and where not."""
    for size in (16 << 20, (16 << 20) + 1):
        body = encode(b"#" * size)
        start = time.process_time()
        assert plain_octets(body, [coding.encode()], ENOUGH) == (b"#" * ENOUGH, True)
        assert time.process_time() - start < 1.0


@rows("size", [ENOUGH - 1, ENOUGH, ENOUGH + 1])
@rows("name", ENCODERS)
def test_more_than_asked_for_is_told_from_just_as_much(name: str, size: int) -> None:
    """One octet below, at and above what is asked for: at it, it counts as cut, being too long."""
    coding, encode = ENCODERS[name]
    plain, cut = plain_octets(encode(b"#" * size), [coding.encode()], ENOUGH)
    assert (len(plain), cut) == (min(size, ENOUGH), size >= ENOUGH)


@rows("most", [sys.maxsize, sys.maxsize + 1, 10**30])
@rows("name", ENCODERS)
def test_a_limit_beyond_all_bodies_is_none(name: str, most: int) -> None:
    """``REP_MAX_SIZE`` has no upper bound; the libraries take no more than ``sys.maxsize``."""
    coding, encode = ENCODERS[name]
    assert plain_octets(encode(TEXT), [coding.encode()], most) == (TEXT, False)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, br"])
def test_an_empty_body_is_an_empty_file(coding: str) -> None:
    """It is whole, whatever it claims to be."""
    assert plain_octets(b"", [coding.encode()], ENOUGH) == (b"", False)


@pytest.mark.parametrize("coding", ["", "identity", " Identity ", ",", "identity, identity"])
def test_a_body_without_a_coding_is_as_it_is(coding: str) -> None:
    """Cut to what is asked for."""
    assert plain_octets(TEXT, [coding.encode()], ENOUGH) == (TEXT, False)
    assert plain_octets(TEXT, [coding.encode()], len(TEXT)) == (TEXT, False)
    assert plain_octets(TEXT, [coding.encode()], 9) == (TEXT[:9], True)
    assert plain_octets(TEXT, [], ENOUGH, cut=True) == (TEXT, True)


def test_codings_are_undone_from_the_last_to_the_first() -> None:
    """RFC 9110 section 8.4: listed in the order in which they were applied, in one line or more."""
    body = gzip.compress(zlib.compress(TEXT))
    for lines in ([b"deflate, gzip"], [b"deflate", b"gzip"], [b" DEFLATE ,, identity,\tGZip "]):
        assert plain_octets(body, lines, ENOUGH) == (TEXT, False)
    with pytest.raises(CodingError):
        plain_octets(body, [b"gzip, deflate"], ENOUGH)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip"])
def test_gzip_is_not_the_format_of_zlib(coding: str) -> None:
    """RFC 9110 section 8.4.1.3: that one is called deflate."""
    with pytest.raises(CodingError):
        plain_octets(zlib.compress(TEXT), [coding.encode()], ENOUGH)


@pytest.mark.parametrize("coding", ["compress", "gzip, exi", "exi, gzip", "x" * 5000])
def test_an_unknown_coding_is_no_text(coding: str) -> None:
    """Its octets are never read as rules, and its name is not repeated at length."""
    with pytest.raises(CodingError) as error:
        plain_octets(gzip.compress(TEXT), [coding.encode()], ENOUGH)
    assert len(str(error.value)) < 100


@pytest.mark.parametrize("missing", ["br", "zstd"])
def test_a_coding_without_its_library_is_unknown(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brotli and zstd are optional before Scrapy 2.19."""
    for name in ("_brotli", "_zstd"):
        monkeypatch.setattr(codings, name, None)
    monkeypatch.setattr(codings, "_CODINGS", codings._codings())
    with pytest.raises(CodingError, match=missing):
        plain_octets(TEXT, [missing.encode()], ENOUGH)
    assert plain_octets(gzip.compress(TEXT), [b"gzip"], ENOUGH) == (TEXT, False)


@pytest.mark.parametrize("name", [name for name, (coding, _) in ENCODERS.items() if coding])
def test_a_body_that_is_not_of_its_coding_is_broken(name: str) -> None:
    """Text, other octets, and one octet changed anywhere: no other exception is raised."""
    coding, encode = ENCODERS[name]
    for body in (TEXT, b"\x00", b"\xff" * 50, b"<html>"):
        with pytest.raises(CodingError):
            plain_octets(body, [coding.encode()], ENOUGH)
    body = encode(TEXT)
    for place in range(len(body)):
        wrong = bytearray(body)
        wrong[place] ^= 0x55
        try:
            plain_octets(bytes(wrong), [coding.encode()], ENOUGH)
        except CodingError:
            continue


def test_a_gzip_file_with_a_wrong_checksum_is_broken() -> None:
    """RFC 1952 section 2.3.1: CRC-32 and size stand at the end."""
    body = gzip.compress(TEXT)
    for place in range(len(body) - 8, len(body)):
        wrong = bytearray(body)
        wrong[place] ^= 1
        with pytest.raises(CodingError):
            plain_octets(bytes(wrong), [b"gzip"], ENOUGH)


@rows("after", [b"\0", b"\0" * 512, b"\n", b"<!-- cached -->", b"junk" * 99])
@rows("name", [name for name in ENCODERS if "br" not in name])
def test_what_follows_the_last_member_is_ignored(name: str, after: bytes) -> None:
    """Padding, and what a script appends: all members are whole."""
    coding, encode = ENCODERS[name]
    assert plain_octets(encode(TEXT) + after, [coding.encode()], ENOUGH) == (TEXT, False)


@pytest.mark.skipif("br" not in ENCODERS, reason="no brotli here")
def test_what_follows_a_brotli_stream_is_an_error() -> None:
    """The library says so, wherever it stands."""
    body = ENCODERS["br"][1](large())
    for after in (b"\n", b"junk" * 10_000):
        with pytest.raises(CodingError):
            plain_octets(body + after, [b"br"], 200_000)


@pytest.mark.parametrize("padding", [b"", b"\0", b"\0" * 1000])
def test_every_member_of_a_gzip_file_is_read(padding: bytes) -> None:
    """RFC 1952 section 2.2: they follow one another; tapes pad them."""
    for count in (2, 3, 100):
        body = padding.join(gzip.compress(b"Disallow: /%d\n" % n) for n in range(count))
        text = b"".join(b"Disallow: /%d\n" % n for n in range(count))
        for coding in (b"", b"gzip"):
            assert plain_octets(body, [coding], ENOUGH) == (text, False)
            with pytest.raises(CodingError):
                plain_octets(body[:-1], [coding], ENOUGH)
            with pytest.raises(CodingError):  # nothing but the first octet of another one
                plain_octets(body + padding + b"\x1f", [coding], ENOUGH)


@pytest.mark.parametrize("name", ["gzip", pytest.param("zstd", marks=needs_zstd)])
def test_empty_members_cost_little(name: str) -> None:
    """As many as 500 KiB hold are refused after the first thousand."""
    empty = ENCODERS[name][1](b"")
    with pytest.raises(CodingError, match="1000 members"):
        plain_octets(empty * (512_000 // len(empty)), [name.encode()], ENOUGH)
    assert plain_octets(empty * 999 + ENCODERS[name][1](TEXT), [name.encode()], ENOUGH)[0] == TEXT


def test_a_long_list_of_codings_is_refused() -> None:
    """Each of them costs a pass over the body."""
    body = TEXT
    for _ in range(6):
        body = gzip.compress(body)
    with pytest.raises(CodingError, match="6 codings"):
        plain_octets(body, [b"gzip, " * 6], ENOUGH)
    with pytest.raises(CodingError):
        plain_octets(body, [b"gzip," * 10_000], ENOUGH)


@needs_zstd
def test_zstd_frames_that_are_to_be_skipped_are_skipped() -> None:
    """RFC 8878 section 3.1.2, in front, between and behind; half of one is half a file."""
    skipped, frame = b"\x5a\x2a\x4d\x18\x03\0\0\0abc", ENCODERS["zstd"][1](TEXT)
    body = skipped + frame + skipped
    assert plain_octets(body, [b"zstd"], ENOUGH) == (TEXT, False)
    for place in range(len(skipped) + len(frame) + 1, len(body)):
        with pytest.raises(CodingError):
            plain_octets(body[:place], [b"zstd"], ENOUGH)


@needs_zstd
@pytest.mark.parametrize(("first", "skips"), [(0x4F, 0), (0x50, 1), (0x5F, 1), (0x60, 0)])
def test_sixteen_octets_begin_a_zstd_frame_that_is_to_be_skipped(first: int, skips: bool) -> None:
    """RFC 8878 section 3.1.2: half of one is half a file; what begins otherwise is ignored."""
    body = ENCODERS["zstd"][1](TEXT) + bytes([first]) + b"\x2a\x4d\x18\x03\0\0\0ab"
    if skips:
        with pytest.raises(CodingError):
            plain_octets(body, [b"zstd"], ENOUGH)
    else:
        assert plain_octets(body, [b"zstd"], ENOUGH) == (TEXT, False)


@needs_zstd
def test_a_large_window_of_zstd_is_refused() -> None:
    """RFC 9659: 8 MiB at most, so that no server makes a crawler take 2 GiB."""
    # magic, no content size, a window of 2^(10+n), one raw block that holds "abc"
    frames = {n: b"\x28\xb5\x2f\xfd\x00" + bytes([n << 3]) + b"\x19\0\0abc" for n in (13, 14, 20)}
    assert plain_octets(frames[13], [b"zstd"], ENOUGH) == (b"abc", False)
    for n in (14, 20):
        with pytest.raises(CodingError):
            plain_octets(frames[n], [b"zstd"], ENOUGH)
