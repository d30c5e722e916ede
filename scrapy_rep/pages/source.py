"""One response as a source of statements: its header lines, and its markup if it has any.

The ``Content-Type`` takes precedence over the guess of the caller: a PDF has no metas, whatever its
octets look like. The guess counts if there is no type, or one that means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final, Literal

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


class PageSource:
    """The header lines and the markup of one response.

    ``lines`` returns the lines of a header field, as octets, by its name. ``guess`` is the kind of
    the body if the header does not say.
    """

    def __init__(
        self, lines: Callable[[str], Iterable[bytes]], body: bytes, guess: Kind = None
    ) -> None:
        self._lines = lines
        self._body = body
        self._guess = guess

    def lines(self, name: str) -> list[str]:
        """Return the lines of a header field, which are read as Latin-1 (RFC 9110 section 5.5)."""
        return [line.decode("latin-1") for line in self._lines(name)]

    @cached_property
    def markup(self) -> Markup | None:
        """The markup of the page; ``None`` if the response is not HTML."""
        content_type = (self.lines("Content-Type") or [""])[-1]
        found = _TYPE.match(content_type)
        name = found.group(1).lower() if found else ""
        kind = self._guess if name in _UNKNOWN else _KINDS.get(name)
        if kind == "xml":
            kind = "xhtml" if _HTML_IN_XML.search(self._body[:_START]) else None
        if kind is None or not self._body:
            return None
        return Markup(self._body, content_type, xml=kind == "xhtml")
