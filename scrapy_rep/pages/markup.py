"""The elements of a page that speak to crawlers, as an HTML parser sees them.

Comments, scripts and templates hold no elements; the first of two equal attributes counts;
character references are decoded. Most pages say nothing to crawlers, so a page is first searched
for the words that matter, and parsed only if it holds them. What stands in the head is read without
parsing the body: the parser is fed in pieces, and stops when ``<body>`` opens.

XHTML that is sent as such is read by an XML parser, to which ``<script/>`` is closed. If it is not
well-formed, it is read as HTML, too, and both readings count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, Final

from lxml import etree

from scrapy_rep.pages.encodings import is_wide, text_of

MOST_OCTETS: Final = 512 * 1024
"""The part of a page that is read."""

MOST_ELEMENTS: Final = 2_000
"""The ``meta`` and ``link`` elements that are read: a page with more of them is an attack. Reading
so many takes 5 ms."""

_MOST_ANCHORS: Final = 20_000
_PIECE: Final = 8 * 1024
_LONGEST_TAG: Final = 4 * 1024
"""How far behind the last ``<meta`` its attributes are searched for words."""

_NAME_WITH_REFERENCE: Final = re.compile(
    rb"""<meta\b[^<>]{0,400}?\bname\s{0,9}=\s{0,9}["']?[^"'>]{0,64}&"""
)
"""A name spelt with character references, as ``&#114;obots``; bounded, so that it is quick."""

_TAGS: Final = ("{*}meta", "{*}link", "{*}body", "{*}frameset")
_OPENS_BODY: Final = ("body", "frameset")


@dataclass(frozen=True, slots=True)
class Meta:
    """A ``meta`` element with a content; ``name`` and ``http_equiv`` are in lower case."""

    name: str
    http_equiv: str
    content: str
    in_head: bool
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A ``link``, ``a`` or ``area`` element; ``rel`` and ``type`` are in lower case."""

    rel: tuple[str, ...]
    type: str
    href: str
    in_head: bool
    line: int


class Markup:
    """The HTML of one page; nothing is parsed before it is asked for, and nothing twice.

    ``content_type`` is the header field, or empty; ``xml`` says that the page is sent as XHTML.
    """

    def __init__(self, body: bytes, content_type: str = "", *, xml: bool = False):
        self._body = body[:MOST_OCTETS]
        self._content_type = content_type.lower()
        self._xml = xml

    def holds(self, *words: str) -> bool:
        """Return False if the page holds none of the words, which are in lower case."""
        if self._wide:
            return any(word in self._text.lower() for word in words)
        return any(word.encode("utf-8") in self._lowered for word in words)

    def may_name(self, *words: str) -> bool:
        """Return False if no ``meta`` element holds one of the words, which are in lower case."""
        if self._wide or self._xml:
            return True
        metas = self._metas
        if not metas:
            return False
        found = any(word.encode("utf-8") in metas for word in words)
        return found or _NAME_WITH_REFERENCE.search(metas) is not None

    def metas(self, names: Collection[str], *, everywhere: bool = False) -> Iterator[Meta]:
        """Yield the metas whose ``name`` or ``http-equiv`` is among ``names``, in order.

        Those of the head, or all with ``everywhere``.
        """
        said = set()
        for element, in_head in self._elements("meta", everywhere):
            name = _attribute(element, "name").lower()
            http_equiv = _attribute(element, "http-equiv").lower()
            content = element.get("content")
            if content is not None and (name in names or http_equiv in names):
                meta = Meta(name, http_equiv, content, in_head, element.sourceline or 0)
                if meta not in said:  # XHTML may be read twice
                    said.add(meta)
                    yield meta

    def links(self, rel: str, *, everywhere: bool = False) -> Iterator[Link]:
        """Yield the ``link`` elements of a relation, in order."""
        for element, in_head in self._elements("link", everywhere):
            link = _link(element, in_head)
            if rel in link.rel and link.href:
                yield link

    def anchors(self) -> Iterator[Link]:
        """Yield the ``a`` and ``area`` elements of the page that refer to something, in order."""
        for root in self._whole:
            in_template: dict[Any, bool] = {}
            for element in islice(root.iter("{*}a", "{*}area"), _MOST_ANCHORS):
                outside = not _is_in_template(element.getparent(), in_template)
                if outside and element.get("href") is not None:
                    yield _link(element, in_head=False)

    @property
    def base(self) -> str:
        """The reference of the first ``base`` element that has one, or an empty string."""
        for root in self._whole:
            for element in islice(root.iter("{*}base"), MOST_ELEMENTS):
                if element.get("href") is not None:
                    return _attribute(element, "href")
        return ""

    def line_of_first(self, tags: Iterable[str], attribute: str) -> int | None:
        """Return the line of the first of these elements that has an attribute."""
        path = " or ".join(f"local-name() = '{tag}'" for tag in tags)
        for root in self._whole:
            for element in root.xpath(f"(//*[@{attribute}][{path}])[1]"):
                return element.sourceline or 0
        return None

    def _elements(self, tag: str, everywhere: bool) -> Iterator[tuple[Any, bool]]:
        """Yield elements that are not part of a template, and whether the head holds them."""
        for root in self._whole if everywhere else self._head:
            in_template: dict[Any, bool] = {}
            in_head = True
            for element in islice(root.iter(*_TAGS), MOST_ELEMENTS):
                found = etree.QName(element).localname
                if found in _OPENS_BODY:
                    in_head = False
                    if not everywhere:
                        break
                elif found == tag and not _is_in_template(element.getparent(), in_template):
                    yield element, in_head

    @cached_property
    def _wide(self) -> bool:
        return is_wide(self._body, self._content_type)

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
        return self._lowered[first : last + _LONGEST_TAG] if last >= 0 else b""

    @cached_property
    def _text(self) -> str:
        return text_of(self._body, self._content_type)

    @cached_property
    def _octets(self) -> bytes:
        """The page in UTF-8, without the character that ends a string in libxml2."""
        return self._text.replace("\0", "\ufffd").encode("utf-8", "replace")

    @cached_property
    def _whole(self) -> list[Any]:
        """The roots of the whole page: two if it is XHTML that is not well-formed."""
        if not self._xml:
            return _parsed(self._octets, etree.HTMLParser(encoding="utf-8"))
        parser = etree.XMLParser(
            encoding="utf-8", recover=True, resolve_entities=False, no_network=True
        )
        roots = _parsed(self._octets, parser)
        if not roots or parser.error_log:
            roots += _parsed(self._octets, etree.HTMLParser(encoding="utf-8"))
        return roots

    @cached_property
    def _head(self) -> list[Any]:
        """The roots of the page, read to the start of its body."""
        if self._xml or "_whole" in self.__dict__:
            return self._whole
        tags = ("meta", "link", *_OPENS_BODY)
        parser: Any = etree.HTMLPullParser(events=("start",), tag=tags, encoding="utf-8")
        seen = 0
        for start in range(0, len(self._octets), _PIECE):
            parser.feed(self._octets[start : start + _PIECE])
            for _, element in parser.read_events():
                seen += 1
                if element.tag in _OPENS_BODY:
                    seen = MOST_ELEMENTS
            if seen >= MOST_ELEMENTS:
                break
        return _root(parser.close)


def _parsed(octets: bytes, parser: Any) -> list[Any]:
    return _root(partial(etree.fromstring, octets, parser))


def _root(parse: Callable[[], Any]) -> list[Any]:
    """Return the root element, or nothing if there is not a single element."""
    try:
        root = parse()
    except (etree.LxmlError, ValueError):
        return []
    return [] if root is None else [root]


def _is_in_template(parent: Any, known: dict[Any, bool]) -> bool:
    """Return whether an element or one that holds it is a template."""
    passed = []
    answer = False
    while parent is not None:
        if parent in known:
            answer = known[parent]
            break
        passed.append(parent)
        if etree.QName(parent).localname == "template":
            answer = True
            break
        parent = parent.getparent()
    known.update(dict.fromkeys(passed, answer))
    return answer


def _attribute(element: Any, name: str) -> str:
    return str(element.get(name, "")).strip()


def _link(element: Any, in_head: bool) -> Link:
    return Link(
        tuple(_attribute(element, "rel").lower().split()),
        _attribute(element, "type").lower(),
        _attribute(element, "href"),
        in_head,
        element.sourceline or 0,
    )
