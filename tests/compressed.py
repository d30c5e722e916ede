"""Bodies in every content coding that this Python can write."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module

Encoder = Callable[[bytes], bytes]


def raw_deflate(body: bytes) -> bytes:
    """Deflate without a frame (RFC 1951), as some servers send it for "deflate"."""
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(body) + stream.flush()


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def in_two(encode: Encoder) -> Encoder:
    """A file of two members (RFC 1952 section 2.2) or of two frames (RFC 8878 section 3.1)."""
    return lambda body: encode(body[: len(body) // 2]) + encode(body[len(body) // 2 :])


ENCODERS: dict[str, tuple[str, Encoder]] = {
    "gzip": ("gzip", _gzip),
    "x-gzip": ("x-gzip", _gzip),
    "gzip, two members": ("gzip", in_two(_gzip)),
    "gzip, unannounced": ("", _gzip),
    "gzip, unannounced, two members": ("", in_two(_gzip)),
    "deflate, zlib": ("deflate", zlib.compress),
    "deflate, raw": ("deflate", raw_deflate),
    "gzip twice": ("gzip, gzip", lambda body: _gzip(_gzip(body))),
    "a gzip file, deflated": ("deflate", lambda body: zlib.compress(_gzip(body))),
}
"""A name, what `Content-Encoding` says, and how a body is made."""


def _compress_of(*modules: str, **options: int) -> Encoder | None:
    for module in modules:
        with suppress(ImportError):
            return partial(import_module(module).compress, **options)
    return None


zstd_compress = _compress_of("compression.zstd", "backports.zstd")
br_compress = _compress_of("brotli", "brotlicffi", quality=5)


if zstd_compress is not None:
    ENCODERS["zstd"] = ("zstd", zstd_compress)
    ENCODERS["zstd, two frames"] = ("zstd", in_two(zstd_compress))
    ENCODERS["gzip in zstd"] = ("gzip, zstd", lambda body: zstd_compress(_gzip(body)))
if br_compress is not None:
    ENCODERS["br"] = ("br", br_compress)
    ENCODERS["gzip in br"] = ("gzip, br", lambda body: br_compress(_gzip(body)))
    ENCODERS["br in gzip"] = ("br, gzip", lambda body: _gzip(br_compress(body)))


def may_end(name: str, body: bytes, place: int) -> bool:
    """Return True if a body of that coding, cut there, is whole by the rules of its format.

    A file of two members is whole after the first, and so is what a web server lost behind it:
    nothing in the file tells.
    """
    if name.endswith("two members"):
        return place == len(_gzip(body[: len(body) // 2]))
    if name.endswith("two frames"):
        return place == len(zstd_compress(body[: len(body) // 2]))
    return False
