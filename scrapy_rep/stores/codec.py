"""A part of an entry as octets: small, bound to its key, and never trusted.

::

    magic "REP" | version 2 | date, float64 | inflated size, uint32 | digest, 8 octets | deflate

The date is that of the part. It lets a store tell which of two parts is newer without inflating
either; the script that merges on Redis servers reads it, and the magic before it. The digest is
BLAKE2b over the key and everything else. A CRC would miss one damaged part in four thousand
million. Worse, it is linear: a part swapped under another key, or a few related damages, could
cancel out. The digest is not a signature: a program that may write to the store can write any part.

A part that does not decode, for whatever reason, is ``None``: a miss, so that the robots.txt is
fetched again. So is a part of an unknown version. What is inflated is bounded by
:data:`MAX_INFLATED`, whatever size the octets claim.

To change the format, raise the version in :data:`MAGIC`, keep a decoder for the version before, and
use a new table (SQLite) and new keys (Redis): a store outlives an upgrade, and workers of two
versions may share it. Version 1, that of scrapy_rep 0.1, kept a whole entry in one piece, with
times of expiry that followed from its writer's settings. :func:`decode_v1` turns it into parts.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from hashlib import blake2b
from struct import Struct
from struct import error as struct_error

from scrapy_rep.access.authority import Authority
from scrapy_rep.access.entry import Answer, Entry, Failure
from scrapy_rep.access.policy import REFUSALS
from scrapy_rep.stores.error import StoreError
from scrapy_rep.stores.stored import StoredEntry

MAGIC = b"REP\x02"
"""The first octets of each part; the last of them is the version."""

MAX_INFLATED = 16 * 1024 * 1024
"""Octets of a part before compression; a larger one is neither written nor read."""

ANSWER, FAILURE = "answer", "failure"
"""The names of the parts that all crawlers share."""

_REFUSAL = "refusal "
"""What the name of the part begins with that holds the refusal of one crawler."""

_MAGIC_1 = b"REP\x01"
_HEAD = Struct(">4sdI8s")
_ANSWER = Struct(">BidqI")
_FAILURE = Struct(">Bddid")
_NUMBERS_1 = Struct(">BiidddddI")
_LENGTH = Struct(">I")

_HAS_BODY, _HAS_ETAG, _HAS_MODIFIED, _HAS_LIFETIME, _WAS_CUT = 1, 2, 4, 8, 16
_HAS_RECORD = 32
_FAILING_1, _OWN_URI_1 = 8, 16
_HAS_RETRY_AFTER, _IS_OURS = 1, 2

_MAYBE_CUT_1 = 256_000
"""Octets above which a body of version 1 counts as cut, because version 1 did not say.

Its smallest limit was twice this, but a cut also drops the last line, however long that is.
"""

# The preset dictionary of deflate, the commonest words last. Part of the format: never change it.
_WORDS = (
    b"Host: Clean-param: Visit-time: Request-rate: Noindex: /xmlrpc.php /feed/ /trackback/ /tag/"
    b" /author/ /archive/ /private/ /images/ /assets/ /static/ /css/ /js/ .pdf$ .php$ .html .js"
    b" .css .jpg /api/ /account /profile /register /password /order /basket /wishlist /compare"
    b" /download /user/ /users/ /node/ /comment/ /filter/ /themes/ /modules/ /includes/ /scripts/"
    b" /language/ /libraries/ /plugins/ /components/ /templates/ /media/ /tmp/ /logs/ /cgi-bin/"
    b" /catalogsearch/ /customer/ /checkout/ /cart /admin/ /administrator/ /login /search ?page="
    b" ?sort= ?s= &utm_source= GPTBot CCBot ClaudeBot Google-Extended Applebot-Extended Amazonbot"
    b" Bytespider PerplexityBot meta-externalagent AhrefsBot SemrushBot MJ12bot DotBot BLEXBot"
    b" PetalBot YandexBot Baiduspider bingbot Twitterbot facebookexternalhit Mediapartners-Google"
    b" AdsBot-Google Googlebot-Image Googlebot\nCrawl-delay: 10\nSitemap: http://www."
    b"\n# robots.txt\r\nUser-agent: *\r\nDisallow: /\r\nAllow: /\r\nSitemap: https://www."
    b"/sitemap_index.xml\nUser-Agent: *\nDisallow:\n\nUser-agent: *\nDisallow: /wp-admin/\n"
    b"Allow: /wp-admin/admin-ajax.php\n\nSitemap: https://www./sitemap.xml\n"
)


def refusal_of(crawler: str) -> str:
    """Return the name of the part that holds the refusal of one crawler."""
    return f"{_REFUSAL}{crawler}"


def part_key(authority: Authority, part: str) -> str:
    """Return the text that the octets of a part are bound to."""
    return f"{authority} {part}"


def encode_answer(key: str, answer: Answer) -> bytes:
    """Return an answer or a refusal as octets that only ``key`` reads.

    Raises :class:`StoreError` if it is larger than :data:`MAX_INFLATED`, or holds numbers outside
    its fields' ranges.
    """
    flags = (
        _HAS_BODY * (answer.body is not None)
        | _HAS_ETAG * (answer.etag is not None)
        | _HAS_MODIFIED * (answer.last_modified is not None)
        | _HAS_LIFETIME * (answer.lifetime is not None)
        | _WAS_CUT * (answer.cut_at is not None)
        | _HAS_RECORD * bool(answer.record)
    )
    numbers = (answer.status, answer.lifetime or 0.0, answer.cut_at or 0, len(answer.redirects))
    texts = [text.encode("utf-8", "surrogatepass") for text in (answer.uri, *answer.redirects)]
    strings = [*texts, answer.body or b"", answer.etag or b"", answer.last_modified or b""]
    strings += _record(answer)
    return _encode(key, answer.fetched_at, _ANSWER, (flags, *numbers), strings)


def encode_failure(key: str, failure: Failure) -> bytes:
    """Return a failure as octets that only ``key`` reads. Raises :class:`StoreError`."""
    flags = _HAS_RETRY_AFTER * (failure.retry_after is not None)
    flags |= _HAS_RECORD * bool(failure.record) | _IS_OURS * failure.ours
    numbers = (flags, failure.since, failure.failed_at, failure.count, failure.retry_after or 0.0)
    cause = failure.cause.encode("utf-8", "surrogatepass")
    return _encode(key, failure.failed_at, _FAILURE, numbers, [cause, *_record(failure)])


def _record(part: Answer | Failure) -> list[bytes]:
    return [part.record.encode("utf-8", "surrogatepass")] if part.record else []


def decode_answer(key: str, octets: bytes) -> Answer | None:
    """Return what :func:`encode_answer` encoded for ``key``, else ``None``; never raises."""
    try:
        return _answer(*_decode(key, MAGIC, octets))
    except (struct_error, zlib.error, ValueError):
        return None


def decode_failure(key: str, octets: bytes) -> Failure | None:
    """Return what :func:`encode_failure` encoded for ``key``, else ``None``; never raises."""
    try:
        return _failure(*_decode(key, MAGIC, octets))
    except (struct_error, zlib.error, ValueError):
        return None


def encode_parts(authority: Authority, entry: Entry, crawler: str = "") -> dict[str, bytes]:
    """Return the octets of each part by its name, empty where there is no such part.

    The refusal is left out if ``crawler`` is empty. Raises :class:`StoreError`.
    """
    parts: dict[str, Answer | Failure | None]
    parts = {ANSWER: entry.answer, FAILURE: entry.failure}
    if crawler:
        parts[refusal_of(crawler)] = entry.refusal
    encoded = {}
    for name, part in parts.items():
        key = part_key(authority, name)
        if isinstance(part, Failure):
            encoded[name] = encode_failure(key, part)
        else:
            encoded[name] = b"" if part is None else encode_answer(key, part)
    return encoded


def decode_parts(
    authority: Authority, parts: Mapping[str, bytes], crawler: str = ""
) -> Entry | None:
    """Return the entry whose parts :func:`encode_parts` encoded, ``None`` if none is readable."""

    def answer(name: str) -> Answer | None:
        return decode_answer(part_key(authority, name), parts.get(name, b""))

    entry = Entry(
        answer(ANSWER),
        answer(refusal_of(crawler)) if crawler else None,
        decode_failure(part_key(authority, FAILURE), parts.get(FAILURE, b"")),
    )
    return entry if entry != Entry() else None


def decode_all(authority: Authority, parts: Mapping[str, bytes]) -> StoredEntry | None:
    """Return the entry and the refusals of all crawlers, ``None`` if no part is readable."""
    refusals = {}
    for name, octets in parts.items():
        if name.startswith(_REFUSAL):
            refusal = decode_answer(part_key(authority, name), octets)
            if refusal is not None:
                refusals[name.removeprefix(_REFUSAL)] = refusal
    entry = decode_parts(authority, parts)
    if entry is None and not refusals:
        return None
    return StoredEntry(authority, entry or Entry(), refusals)


def decode_v1(authority: Authority, octets: bytes) -> Entry | None:
    """Return what version 1 kept of ``authority``, else ``None``; never raises."""
    try:
        _, plain = _decode(str(authority), _MAGIC_1, octets)
        return _entry_v1(authority, plain)
    except (struct_error, zlib.error, ValueError):
        return None


def _encode(
    key: str, date: float, head: Struct, numbers: tuple[float, ...], strings: list[bytes]
) -> bytes:
    try:
        lengths = [_LENGTH.pack(len(string)) for string in strings]
        pairs = zip(lengths, strings, strict=True)
        plain = b"".join([head.pack(*numbers), *(part for pair in pairs for part in pair)])
        if len(plain) > MAX_INFLATED:
            raise StoreError(f"an entry of {len(plain)} octets is larger than {MAX_INFLATED}")
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=_WORDS)
        packed = deflate.compress(plain) + deflate.flush()
        digest = _digest(key, MAGIC, date, len(plain), packed)
        return _HEAD.pack(MAGIC, date, len(plain), digest) + packed
    except (struct_error, OverflowError) as error:
        raise StoreError(f"an entry cannot be encoded: {error}") from None


def _decode(key: str, magic: bytes, octets: bytes) -> tuple[float, bytes]:
    """Return date and content. Raises ``ValueError`` and what ``struct`` and ``zlib`` raise."""
    found, date, size, digest = _HEAD.unpack_from(octets)
    packed = octets[_HEAD.size :]
    if found != magic or size > MAX_INFLATED:
        raise ValueError("another version")
    if digest != _digest(key, magic, date, size, packed):
        raise ValueError("damaged, or kept under another key")
    inflate = zlib.decompressobj(-15, zdict=_WORDS)
    plain = inflate.decompress(packed, size + 1)
    if not inflate.eof or inflate.unused_data or len(plain) != size or not math.isfinite(date):
        raise ValueError("not what it says it is")
    return date, plain


def _digest(key: str, magic: bytes, date: float, size: int, packed: bytes) -> bytes:
    digest = blake2b(_HEAD.pack(magic, date, size, b""), digest_size=8)
    name = key.encode()
    digest.update(_LENGTH.pack(len(name)) + name)
    digest.update(packed)
    return digest.digest()


def _answer(date: float, plain: bytes) -> Answer:
    flags, status, lifetime, cut_at, redirects = _ANSWER.unpack_from(plain)
    strings = _strings(plain, _ANSWER.size)
    record = strings.pop() if flags & _HAS_RECORD and strings else b""
    if len(strings) != redirects + 4 or not math.isfinite(lifetime):
        raise ValueError("not an answer")
    uri, *hops = (part.decode("utf-8", "surrogatepass") for part in strings[:-3])
    body, etag, modified = strings[-3:]
    return Answer(
        status=status,
        body=body if flags & _HAS_BODY else None,
        uri=uri,
        redirects=tuple(hops),
        etag=etag if flags & _HAS_ETAG else None,
        last_modified=modified if flags & _HAS_MODIFIED else None,
        fetched_at=date,
        lifetime=lifetime if flags & _HAS_LIFETIME else None,
        cut_at=cut_at if flags & _WAS_CUT else None,
        record=record.decode("utf-8", "surrogatepass"),
    )


def _failure(date: float, plain: bytes) -> Failure:
    flags, since, failed_at, count, retry_after = _FAILURE.unpack_from(plain)
    strings = _strings(plain, _FAILURE.size)
    record = strings.pop() if flags & _HAS_RECORD and strings else b""
    if len(strings) != 1 or failed_at != date or not all(map(math.isfinite, (since, retry_after))):
        raise ValueError("not a failure")
    return Failure(
        since=since,
        failed_at=failed_at,
        count=count,
        retry_after=retry_after if flags & _HAS_RETRY_AFTER else None,
        cause=strings[0].decode("utf-8", "surrogatepass"),
        record=record.decode("utf-8", "surrogatepass"),
        ours=bool(flags & _IS_OURS),
    )


def _entry_v1(authority: Authority, plain: bytes) -> Entry:
    flags, status, failures, *times, redirects = _NUMBERS_1.unpack_from(plain)
    strings = _strings(plain, _NUMBERS_1.size)
    if len(strings) != redirects + 5 or not all(map(math.isfinite, times)):
        raise ValueError("not an entry of version 1")
    uri, cause, *hops = (part.decode("utf-8", "surrogatepass") for part in strings[:-3])
    body, etag, modified = strings[-3:]
    fetched_at, expires_at, since, failed_at, retry_at = times
    answer = Answer(
        status=status,
        body=body if flags & _HAS_BODY else None,
        uri=authority.robots_uri if flags & _OWN_URI_1 else uri,
        redirects=tuple(hops),
        etag=etag if flags & _HAS_ETAG else None,
        last_modified=modified if flags & _HAS_MODIFIED else None,
        fetched_at=fetched_at,
        lifetime=max(0.0, expires_at - fetched_at),
        cut_at=len(body) if len(body) > _MAYBE_CUT_1 else None,
    )
    # Version 1 did not say which crawler a refusal was for.
    known = fetched_at > 0 and not (answer.body is None and status in REFUSALS)
    failure = Failure(since, failed_at, failures, max(0.0, retry_at - failed_at), cause)
    return Entry(
        answer=answer if known else None,
        failure=failure if flags & _FAILING_1 else None,
    )


def _strings(plain: bytes, start: int) -> list[bytes]:
    """Return the length-prefixed strings from ``start`` on. Raises ``ValueError`` on a stub."""
    strings = []
    while start < len(plain):
        (length,) = _LENGTH.unpack_from(plain, start)
        start += _LENGTH.size
        if start + length > len(plain):
            raise ValueError("a string ends early")
        strings.append(plain[start : start + length])
        start += length
    return strings
