"""One response as a source of statements: its header fields, and its markup if it has any.

The ``Content-Type`` takes precedence over the guess of the caller: a PDF has no metas, whatever its
octets look like. The guess counts if there is no type, or one that means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, Protocol

from scrapy_rep.pages.markup import Markup

Kind = Literal["html", "xhtml", "xml", None]

_KINDS: Final[dict[str, Kind]] = {
    "text/html": "html",
    "application/xhtml+xml": "xhtml",
    "application/vnd.wap.xhtml+xml": "xhtml",
    "text/xml": "xml",
    "application/xml": "xml",
}
_UNKNOWN: Final = frozenset(("", "*/*", "unknown/unknown", "application/unknown"))
"""Types that count as no type (MIME Sniffing Standard section 7)."""
_TYPE: Final = re.compile(r"\s*([^\s;,/]+/[^\s;,/]+)")
_HTML_IN_XML: Final = re.compile(rb"<(?:[\w.-]{1,50}:)?html[\s>]")
_START: Final = 4 * 1024


class HeaderFields(Protocol):
    """The header fields of a response, as Scrapy has them."""

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the names, in which each word has a capital: ``X-Robots-Tag``."""

    def getlist(self, key: str, /) -> Iterable[bytes]:
        """Return the lines of a field, whose name may be written in any case."""


class PageSource:
    """The header fields and the markup of one response.

    ``markup`` is ``None`` if the response is not HTML. ``guess`` is the kind of the body if the
    header does not say.
    """

    def __init__(self, fields: HeaderFields, body: bytes, guess: Kind = None) -> None:
        self.fields = fields
        self.markup = self._markup(body, guess)

    def lines(self, name: str) -> list[str]:
        """Return the lines of a header field, which are read as Latin-1 (RFC 9110 section 5.5)."""
        return [line.decode("latin-1") for line in self.fields.getlist(name)]

    def _markup(self, body: bytes, guess: Kind) -> Markup | None:
        content_type = (self.lines("Content-Type") or [""])[-1]
        found = _TYPE.match(content_type)
        name = found.group(1).lower() if found else ""
        kind = guess if name in _UNKNOWN else _KINDS.get(name)
        if kind == "xml":
            kind = "xhtml" if _HTML_IN_XML.search(body[:_START]) else None
        if kind is None or not body:
            return None
        return Markup(body, content_type, xml=kind == "xhtml")
