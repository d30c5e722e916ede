"""The encoding of a page, as far as it matters for reading the markup.

HTML section "Determining the character encoding". A byte order mark takes precedence over the
header, and the header over what the page declares. Only encodings that browsers know count: Python
has others, such as punycode, which take quadratic time or do not encode text.
"""

from __future__ import annotations

import re
from typing import Final

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

_DEFAULT: Final = "utf-8"
_WIDE: Final = ("utf-16", "utf-32")
_OF_BROWSERS: Final = re.compile(
    r"utf-?8|ascii|latin-1|iso8859-\d+|cp125\d|cp(?:866|874|932|949)|koi8-[ru]|mac-cyrillic"
    r"|tis-620|shift_jis|euc_(?:jp|kr)|iso2022_jp|gb(?:2312|k|18030)|big5(?:hkscs)?"
    r"|utf-(?:16|32)(?:-[bl]e)?"
)
"""Names of Python's codecs for the encodings of the Encoding Standard; UTF-32 is Scrapy's."""


def is_wide(body: bytes, content_type: str) -> bool:
    """Return True if the characters of ASCII take more than one octet each."""
    return encoding_of_wide(body) is not None or any(name in content_type for name in _WIDE)


def encoding_of_wide(body: bytes) -> str | None:
    """Return the encoding if the first octets show that characters take two or four octets."""
    start = body[:4]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff", b"\0\0"):
        return read_bom(start)[0]
    # Two characters without a mark: one octet that is 0 may be a stray one.
    if start[:2] == b"<\0" and start[3:] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if start[:3] == b"\0<\0" else None


def text_of(body: bytes, content_type: str) -> str:
    """Return the text of a page; octets that its encoding does not have become U+FFFD."""
    encoding = encoding_of(body, content_type)
    try:
        return body.decode(encoding, "replace").removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        return body.decode(_DEFAULT, "replace")


def encoding_of(body: bytes, content_type: str) -> str:
    """Return the name of Python's codec for a page; ``utf-8`` where nothing usable is said."""
    found = encoding_of_wide(body) or read_bom(body[:4])[0]
    if found is not None:
        return found
    found = http_content_type_encoding(content_type)
    if found is None:
        found = html_body_declared_encoding(body)
        if found is not None and found.startswith(_WIDE):
            return _DEFAULT  # the declaration was read as ASCII, so it is wrong
    return found if found is not None and _OF_BROWSERS.fullmatch(found) else _DEFAULT
