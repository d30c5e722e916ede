"""An entry as octets: small, bound to its authority, and never trusted.

::

    magic "REP" | version 1 | dated, float64 | inflated size, uint32 | digest, 8 octets | deflate

``dated`` is there so that a store can tell which of two is newer without inflating either. The
digest is BLAKE2b over the authority and everything else. A CRC would let one damaged entry in
four thousand million pass; more to the point, it is linear, so that an entry swapped under
another key, or a few related damages, could cancel out. It is no signature: whoever may write to
the store may write what they like.

Whatever does not decode, for whatever reason, is ``None``: a miss, so that it is fetched again.
An entry of another version is one too. What is inflated is bounded by :data:`MAX_INFLATED`,
whatever the octets say of themselves.
"""

from __future__ import annotations

import math
import zlib
from hashlib import blake2b
from struct import Struct
from struct import error as struct_error

from scrapy_rep.protocol.authority import Authority
from scrapy_rep.protocol.policy import Entry
from scrapy_rep.stores.base import StoreError, dated

MAGIC = b"REP\x01"
"""The first octets of each entry; the last of them is the version."""

MAX_INFLATED = 16 * 1024 * 1024
"""Octets of an entry before compression; a larger one is neither written nor read."""

_HEAD = Struct(">4sdI8s")
_NUMBERS = Struct(">BiidddddI")
_LENGTH = Struct(">I")

_HAS_BODY, _HAS_ETAG, _HAS_MODIFIED, _FAILING, _OWN_URI = 1, 2, 4, 8, 16

# Deflate may refer back to these, the commonest last. Part of version 1: never to be changed.
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


def encode(authority: Authority, entry: Entry) -> bytes:
    """Return ``entry`` as octets that only ``authority`` reads.

    Raises :class:`StoreError` if it is larger than :data:`MAX_INFLATED`, or holds numbers
    outside its fields' ranges.
    """
    try:
        plain = b"".join(_pieces(authority, entry))
    except (struct_error, OverflowError) as error:
        raise StoreError(f"an entry cannot be encoded: {error}") from None
    if len(plain) > MAX_INFLATED:
        raise StoreError(f"an entry of {len(plain)} octets is larger than {MAX_INFLATED}")
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=_WORDS)
    packed = deflate.compress(plain) + deflate.flush()
    date = dated(entry)
    digest = _digest(authority, date, len(plain), packed)
    return _HEAD.pack(MAGIC, date, len(plain), digest) + packed


def decode(authority: Authority, octets: bytes) -> Entry | None:
    """Return the entry that :func:`encode` made of ``authority``'s, else ``None``; never raises."""
    try:
        magic, date, size, digest = _HEAD.unpack_from(octets)
        packed = octets[_HEAD.size :]
        if magic != MAGIC or size > MAX_INFLATED:
            return None
        if digest != _digest(authority, date, size, packed):
            return None
        plain = _inflate(packed, size)
        entry = None if plain is None else _entry(authority, plain)
    except (struct_error, zlib.error, ValueError):
        return None
    return entry if entry is not None and dated(entry) == date else None


def _digest(authority: Authority, date: float, size: int, packed: bytes) -> bytes:
    digest = blake2b(_HEAD.pack(MAGIC, date, size, b""), digest_size=8)
    key = str(authority).encode()
    digest.update(_LENGTH.pack(len(key)) + key)
    digest.update(packed)
    return digest.digest()


def _inflate(packed: bytes, size: int) -> bytes | None:
    """Return exactly ``size`` octets, or ``None`` if there are fewer or more of them."""
    inflate = zlib.decompressobj(-15, zdict=_WORDS)
    plain = inflate.decompress(packed, size + 1)
    whole = inflate.eof and not inflate.unused_data and len(plain) == size
    return plain if whole else None


def _pieces(authority: Authority, entry: Entry) -> list[bytes]:
    own_uri = entry.uri == authority.robots_uri
    flags = (
        _HAS_BODY * (entry.body is not None)
        | _HAS_ETAG * (entry.etag is not None)
        | _HAS_MODIFIED * (entry.last_modified is not None)
        | _FAILING * (entry.failing_since is not None)
        | _OWN_URI * own_uri
    )
    numbers = _NUMBERS.pack(
        flags,
        entry.status,
        entry.failures,
        entry.fetched_at,
        entry.expires_at,
        entry.failing_since or 0.0,
        entry.failed_at,
        entry.retry_at,
        len(entry.redirects),
    )
    texts = ["" if own_uri else entry.uri, entry.cause, *entry.redirects]
    strings = [text.encode("utf-8", "surrogatepass") for text in texts]
    strings += [entry.body or b"", entry.etag or b"", entry.last_modified or b""]
    lengths = [_LENGTH.pack(len(string)) for string in strings]
    return [numbers, *(part for pair in zip(lengths, strings, strict=True) for part in pair)]


def _entry(authority: Authority, plain: bytes) -> Entry | None:
    flags, status, failures, *times, redirects = _NUMBERS.unpack_from(plain)
    strings = _strings(plain, _NUMBERS.size)
    if len(strings) != redirects + 5 or not all(map(math.isfinite, times)):
        return None
    uri, cause, *hops = (part.decode("utf-8", "surrogatepass") for part in strings[:-3])
    body, etag, modified = strings[-3:]
    fetched_at, expires_at, failing_since, failed_at, retry_at = times
    return Entry(
        status=status,
        body=body if flags & _HAS_BODY else None,
        uri=authority.robots_uri if flags & _OWN_URI else uri,
        redirects=tuple(hops),
        etag=etag if flags & _HAS_ETAG else None,
        last_modified=modified if flags & _HAS_MODIFIED else None,
        fetched_at=fetched_at,
        expires_at=expires_at,
        failing_since=failing_since if flags & _FAILING else None,
        failed_at=failed_at,
        failures=failures,
        retry_at=retry_at,
        cause=cause,
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
