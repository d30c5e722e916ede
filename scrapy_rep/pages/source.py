"""One response as a source of statements: its header fields, and its markup if it has any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from scrapy_rep.pages.markup import Markup


class HeaderFields(Protocol):
    """The header fields of a response, as Scrapy has them."""

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the names, in which each word has a capital: ``X-Robots-Tag``."""

    def getlist(self, key: str, /) -> Iterable[bytes]:
        """Return the lines of a field, whose name may be written in any case."""


class PageSource(NamedTuple):
    """The header fields and the markup of one response; ``markup`` is None if it is not HTML."""

    fields: HeaderFields
    markup: Markup | None

    def lines(self, name: str) -> list[str]:
        """Return the lines of a header field, which are read as Latin-1 (RFC 9110 section 5.5)."""
        return [line.decode("latin-1") for line in self.fields.getlist(name)]
