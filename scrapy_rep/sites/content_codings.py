"""Decoding the content codings of a body (RFC 9110 section 8.4).

Half of a compressed robots.txt may lack the very rule that forbids a page, so a stream is
used only if its end mark is there. A body that was cut on purpose, at the parsing limit, is used as
far as it decodes.

A small body may decode to a very large one, so each coding of a body yields at most as many octets
as are asked for. A file of empty members costs time instead of memory: 500 KiB hold 55,000 frames
of zstd, which take a second to open, so a body may have at most :data:`_MOST_MEMBERS` of them.

Octets after the last member of a gzip or zstd file are ignored if they do not begin as another
member would: every member was read to its end mark, and gzip(1) and browsers read such files, too.
If they do, the member must be complete. The library for brotli reports octets after the end as an
error, so such a body counts as broken.

Some servers announce a charset (``utf-8``), a transfer encoding (``8bit``, ``binary``) or a format
of their own (``aws-chunked``) as a coding. A coding that is not registered is ignored if the body
is text beneath the other codings, as browsers do.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple


def _library(*names: str) -> Any:
    """Return the first of the modules ``names`` that is installed, or ``None``."""
    for name in names:
        with suppress(ImportError):
            return import_module(name)
    return None


_brotli = _library("brotli", "brotlicffi")
_zstd = _library("compression.zstd", "backports.zstd")


class CodingError(ValueError):
    """The body is not what its coding says, or cannot be decoded here."""


_REGISTERED = frozenset(
    b"aes128gcm br compress dcb dcz deflate exi gzip pack200-gzip x-compress x-gzip zstd".split()
)
"""The codings that IANA has registered (RFC 9110 section 16.6.1), but for ``identity``."""

_TEXT_MARKS = b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
"""Octets that no text begins with: those of the WHATWG's MIME Sniffing Standard, section 7.2."""

_SNIFFED = 1445
"""How many octets are looked at for these, by that standard."""

_MOST_CODINGS = 5
"""Codings of one body. Servers apply one, or two by mistake."""

_MOST_MEMBERS = 1000
"""Members of a gzip file, or frames of a zstd file."""

_ZSTD_WINDOW_LOG = 23
"""The largest window of the zstd coding is 8 MiB (RFC 9659)."""

_BEFORE_A_TEXT = re.compile(rb"<html[^>]*><head>.{0,1000}?</head><body[^>]*><pre[^>]*>", re.DOTALL)
"""What Chromium and Firefox put before a text to show it."""

_ESCAPED = {b"&lt;": b"<", b"&gt;": b">", b"&nbsp;": b"\xc2\xa0", b"&amp;": b"&"}
"""What they escape in it (HTML, "serializing HTML fragments")."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
"""The second to fourth octet of a skippable frame; the first is 0x50 to 0x5f (RFC 8878)."""


class _Coding(NamedTuple):
    """How a body is decoded.

    ``open`` returns what decodes the member that a body begins with, as a decompressor of zlib or
    zstd: ``decompress(octets, most)`` returns at most ``most`` octets, ``eof`` says whether the end
    mark was read, and ``unused_data`` is what comes after that. ``rest`` returns the octets after a
    member, from the start of the next one, or nothing.
    """

    open: Callable[[bytes], Any]
    rest: Callable[[bytes], bytes] = lambda after: b""


def plain_octets(
    body: bytes, codings: Iterable[bytes], most: int, cut: bool = False
) -> tuple[bytes, bool]:
    """Return the first ``most`` octets beneath the codings of a body, and whether it was cut.

    ``codings`` are the values of ``Content-Encoding``; ``cut`` says that the download was cut on
    purpose. A gzip file is decoded even if no header announces it. An empty body is an empty file,
    whatever its coding. If a browser has made a page of a text to show it, this is the text.

    Raises :class:`CodingError`.
    """
    if not body:
        return b"", cut
    most = min(most, sys.maxsize)  # the libraries take no more
    names = [name.strip().lower() for value in codings for name in value.split(b",")]
    names = [name for name in names if name not in (b"", b"identity")]
    if len(names) > _MOST_CODINGS:
        raise CodingError(f"the body has {len(names)} codings")
    unknown = [name for name in names if name not in _REGISTERED]
    for name in reversed(names):
        if name not in unknown:
            body, cut = _decoded(name, body, most, cut)
    if unknown and not _is_text(body):
        raise CodingError(f"Content-Encoding {unknown[0].decode('latin-1')[:40]} was not decoded")
    if body and _GZIP_MAGIC.startswith(body[:2]):
        body, cut = _decoded(b"gzip", body, most, cut)
    body = _shown_text(body)
    return body[:most], cut or len(body) > most


def _shown_text(body: bytes) -> bytes:
    """Return the text that a page shows which a browser has made of it; any other body as it is."""
    before = _BEFORE_A_TEXT.match(body) if body.startswith(b"<html") else None
    if before is None:
        return body
    text = body[before.end() :].partition(b"</pre>")[0]
    for escaped, plain in _ESCAPED.items():
        text = text.replace(escaped, plain)
    return text


def _is_text(body: bytes) -> bool:
    return body.startswith(_TEXT_MARKS) or not _BINARY.search(body, 0, _SNIFFED)


def _decoded(name: bytes, body: bytes, most: int, cut: bool) -> tuple[bytes, bool]:
    coding, word = _CODINGS.get(name), name.decode("latin-1")[:40]
    if coding is None:
        raise CodingError(f"Content-Encoding {word} was not decoded")
    plain = bytearray()
    try:
        for _ in range(_MOST_MEMBERS):
            member = coding.open(body)
            plain += member.decompress(body, most - len(plain))
            if len(plain) >= most:
                return bytes(plain[:most]), True
            if not member.eof and not cut:
                raise CodingError(f"the {word} stream stops before its end")
            body = coding.rest(member.unused_data) if member.eof else b""
            if not body:
                return bytes(plain), cut
    except CodingError:
        raise
    except Exception as error:  # each library raises its own
        raise CodingError(f"the {word} stream is broken: {error}") from error
    raise CodingError(f"the {word} file has more than {_MOST_MEMBERS} members")


class _Brotli:
    """A brotli stream (RFC 7932). The library returns at most about 32 KiB for each step."""

    unused_data = b""

    def __init__(self, body: bytes) -> None:
        self._stream = _brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._stream.is_finished())

    def decompress(self, octets: bytes, most: int, /) -> bytes:
        plain = bytearray()
        step = self._stream.process(octets, output_buffer_limit=most)
        while step:  # it may hold output back, even if it accepts more input
            plain += step
            if len(plain) >= most or self.eof:
                break
            step = self._stream.process(b"", output_buffer_limit=most - len(plain))
        return bytes(plain)


def _open_deflate(body: bytes) -> Any:
    """Return a member of zlib's format, as RFC 9110 says, or a raw one, which some servers send.

    The two octets that zlib begins with (RFC 1950 section 2.2) would be the padding of a stored
    block, which encoders fill with zeros.
    """
    zlibs = body[:1] and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return zlib.decompressobj(wbits=15 if zlibs else -15)


def _open_zstd(body: bytes) -> Any:
    options = {_zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    return _zstd.ZstdDecompressor(options=options)


def _gzip_member(rest: bytes) -> bytes:
    rest = rest.lstrip(b"\0")  # padding, as on tapes
    return rest if rest and _GZIP_MAGIC.startswith(rest[:2]) else b""


def _zstd_frame(rest: bytes) -> bytes:
    head = rest[:4]
    skippable = 0x50 <= rest[0] <= 0x5F if rest else False
    begins = _ZSTD_MAGIC.startswith(head) or (skippable and _SKIPPABLE_MAGIC.startswith(head[1:]))
    return rest if begins else b""


def _codings() -> dict[bytes, _Coding]:
    """Return the codings that can be decoded here, by their names."""
    gzip = _Coding(lambda body: zlib.decompressobj(wbits=31), _gzip_member)
    codings = {b"gzip": gzip, b"x-gzip": gzip, b"deflate": _Coding(_open_deflate)}
    # Brotli before 1.2 cannot limit what a step yields.
    if hasattr(getattr(_brotli, "Decompressor", None), "can_accept_more_data"):
        codings[b"br"] = _Coding(_Brotli)
    if _zstd is not None:
        codings[b"zstd"] = _Coding(_open_zstd, _zstd_frame)
    return codings


_CODINGS = _codings()
