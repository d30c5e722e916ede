"""The elements of a page that speak to crawlers, as an HTML parser sees them.

Comments, scripts and templates hold no elements; the first of two equal attributes counts;
character references are decoded. Most pages say nothing to crawlers, so a page is first searched
for the words that matter, and parsed only if it holds them. What stands in the head is read without
parsing the body: the parser is fed piece by piece, and stops when ``<body>`` opens. A page of 50 KB
takes 0.15 ms in this way, and 2.4 ms as a whole.

The parser reports elements and builds no tree. libxml2 takes ten seconds to put a tag with 40,000
attributes into a tree, and 20 ms to report it.

XHTML is read by the same parser, to which ``<script/>`` is closed.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, NamedTuple

from lxml import etree
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom

MOST_OCTETS: Final = 512 * 1024
"""The part of a page that is read."""

MOST_IN_HEAD: Final = 5_000
"""The elements of a head that are read, in 5 ms; a head has some hundreds."""

MOST_ELEMENTS: Final = 30_000
"""The elements of a whole page that are read, in 50 ms at most."""

_PIECE: Final = 1024
"""The octets that the parser is fed at a time. On average, half a piece is more than is needed."""

_LEAST_READ: Final = 2 * 1024
"""The fewest octets searched after the last ``<meta``; a longer tag is searched to its end.

The first ``>`` may stand in an attribute.
"""

_REFERENCES: Final = (
    re.compile(rb"""name\s{0,9}=\s{0,9}["']?[^"'>]{0,64}&[#a-z]"""),
    re.compile(rb"&#0{0,9}(?:x0{0,9}[4-7]|[6-9]\d|1[012]\d)"),
)
"""A name with character references, such as ``&#114;obots``, and any reference to a letter, as in
``no&#97;i``. Their repetitions are bounded, so that they are quick. A single pattern for both would
begin with no literal, and take five times as long: 50 us for a page."""

_WIDE: Final = (BOM_UTF16_LE, BOM_UTF16_BE)
"""The byte order marks of encodings in which ASCII characters take more than one octet."""

_OF_BROWSERS: Final = re.compile(
    r"utf-?8|ascii|latin-1|iso8859-\d+|cp125\d|cp(?:866|874|932|949)|koi8-[ru]|mac-cyrillic"
    r"|tis-620|shift_jis|euc_(?:jp|kr)|iso2022_jp|gb(?:2312|k|18030)|big5(?:hkscs)?"
)
"""Names of Python's codecs for the encodings of the Encoding Standard, except UTF-16. Python has
others, such as punycode, which take quadratic time or do not encode text."""


class Meta(NamedTuple):
    """A ``meta`` element with a content; ``name`` is in lower case."""

    name: str
    content: str
    in_head: bool


class Link(NamedTuple):
    """A ``link``, ``a`` or ``area`` element; ``rel`` and ``type`` are in lower case."""

    rel: tuple[str, ...]
    type: str
    href: str
    in_head: bool


class Markup:
    """The HTML of one page. Each part is parsed when it is first asked for, and only once.

    ``content_type`` is the header field, or empty.
    """

    def __init__(self, body: bytes, content_type: str = ""):
        self._body = body[:MOST_OCTETS]
        self._is_wide = body.startswith(_WIDE)
        if self._is_wide:  # so that words can be searched for
            self._body = self._body.decode("utf-16", "replace").encode("utf-8", "replace")
        self._content_type = content_type.lower()

    def holds(self, word: str) -> bool:
        """Return whether the page holds a word, which is in lower case."""
        return word.encode("utf-8") in self._lowered

    def may_name(self, *words: str) -> bool:
        """Return False if no ``meta`` element holds one of the words, which are in lower case."""
        metas = self._metas
        if not metas:  # as on most pages
            return False
        if any(word.encode("utf-8") in metas for word in words):
            return True
        return any(reference.search(metas) for reference in _REFERENCES)

    def metas(self, names: Collection[str], *, everywhere: bool = False) -> Iterator[Meta]:
        """Yield the metas whose name is among ``names``, in order: of the head, or everywhere."""
        for meta in (self._whole if everywhere else self._head).metas:
            if meta.name in names and (everywhere or meta.in_head):
                yield meta

    def links(self, rel: str) -> list[Link]:
        """Return the ``link`` elements of a relation in the head, in order."""
        links = self._head.links
        return [link for link in links if link.in_head and link.href and rel in link.rel]

    @property
    def anchors(self) -> list[Link]:
        """The ``a`` and ``area`` elements of the page that refer to something, in order."""
        return self._whole.anchors

    @cached_property
    def encoding(self) -> str:
        """The encoding of the page, by the name of Python's codec; ``utf-8`` if none is usable.

        HTML section "Determining the character encoding": a byte order mark takes precedence over
        the header, and the header over what the page declares.
        """
        found = (
            ("utf-8" if self._is_wide else read_bom(self._body[:4])[0])
            or http_content_type_encoding(self._content_type)
            or html_body_declared_encoding(self._body)
            or ""
        )
        return found if _OF_BROWSERS.fullmatch(found) else "utf-8"

    @property
    def base(self) -> str:
        """The reference of the first ``base`` element that has one, or an empty string."""
        return self._whole.base

    @cached_property
    def _lowered(self) -> bytes:
        return self._body.lower()

    @cached_property
    def _metas(self) -> bytes:
        """The octets from the first ``meta`` tag to the last.

        The last is searched for from the end: that is quicker than a search from the start, and
        leaves only the head for further searches.
        """
        last = self._lowered.rfind(b"<meta")
        first = self._lowered.find(b"<meta", 0, last + 5)
        if last < 0:
            return b""
        end = self._lowered.find(b">", last)
        return self._lowered[first : max(end, last + _LEAST_READ) if end >= 0 else None]

    @cached_property
    def _octets(self) -> bytes:
        """The page in UTF-8.

        Octets that its encoding does not define become U+FFFD, and so does NUL, which ends a string
        in libxml2.
        """
        text = self._body.decode(self.encoding, "replace").removeprefix("\ufeff")
        return text.replace("\0", "\ufffd").encode("utf-8", "replace")

    @cached_property
    def _whole(self) -> _Elements:
        """The elements of the whole page."""
        return self._read(whole=True)

    @cached_property
    def _head(self) -> _Elements:
        """The elements up to the start of the body."""
        return self._whole if "_whole" in self.__dict__ else self._read(whole=False)

    def _read(self, *, whole: bool) -> _Elements:
        """Feed a parser until it has reported everything that is needed."""
        elements = _Elements(whole=whole)
        target: Any = elements
        parser: Any = etree.HTMLParser(target=target, encoding="utf-8")
        octets = self._octets
        # A page may have no element, or the rest of it cannot be read.
        with suppress(etree.LxmlError, ValueError):
            for start in range(0, len(octets), _PIECE):
                parser.feed(octets[start : start + _PIECE])
                if elements.done:
                    return elements
            parser.close()
        return elements


class _Elements:
    """Collects what a parser reports of a page; ``done`` if no more is needed."""

    def __init__(self, *, whole: bool) -> None:
        self.metas: list[Meta] = []
        self.links: list[Link] = []
        self.anchors: list[Link] = []
        self.base = ""
        self.done = False
        self._whole = whole
        self._left = MOST_ELEMENTS if whole else MOST_IN_HEAD
        self._in_head = True
        self._templates = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Take note of an element."""
        self._left -= 1
        if self._left <= 0:
            self.done = True
        if tag == "template":
            self._templates += 1
        elif not self._templates:
            self._take(tag, attributes)

    def _take(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "meta":
            self._meta(attributes)
        elif name == "link" and "rel" in attributes:
            self.links.append(self._link(attributes))
        elif name in ("body", "frameset"):
            self._in_head = False
            self.done = not self._whole
        elif name in ("a", "area") and attributes.get("href") is not None:
            self.anchors.append(self._link(attributes))
        elif name == "base":
            self.base = self.base or _attribute(attributes, "href")

    def end(self, tag: str) -> None:
        """Leave a template."""
        if self._templates and tag == "template":
            self._templates -= 1

    def close(self) -> None:
        """End the document. lxml requires this method."""

    def _meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content")
        if content is not None:
            name = _attribute(attributes, "name").lower()
            self.metas.append(Meta(name, content, self._in_head))

    def _link(self, attributes: Mapping[str, str]) -> Link:
        return Link(
            tuple(_attribute(attributes, "rel").lower().split()),
            _attribute(attributes, "type").lower(),
            _attribute(attributes, "href"),
            self._in_head,
        )


def _attribute(attributes: Mapping[str, str], name: str) -> str:
    return (attributes.get(name) or "").strip()
