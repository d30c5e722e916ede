"""Patterns with wildcards are taken apart, and held against match paths.

RFC 9309 section 2.2.3. No regular expression is made of a pattern: each literal piece is looked for
once, from where the one before it ended. What one attempt may cost is known before it is made; what
all the patterns of a file may cost together is bounded in :mod:`scrapy_rep.matching.pattern_set`.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_rep.matching.normal_form import Form


class Piece(NamedTuple):
    """A literal piece of a pattern between two ``*``.

    ``text`` is the piece read as part of a path up to its first ``?``. ``in_query`` is the piece
    read as wholly inside a query, where ``%2F`` is ``/``; it is equal to ``text`` but for pieces
    that hold ``%2F`` or ``%3F``.
    """

    text: str
    in_query: str


class Wildcard(NamedTuple):
    """A pattern with ``*`` or a final ``$``, taken apart.

    ``octets`` is its length as RFC 9309 section 2.2.2 compares it, wildcards included.
    """

    octets: int
    head: str
    floats: tuple[Piece, ...]
    tail: Piece | None
    """The piece before a final ``$``; None where the end of the path is free."""
    exact: bool
    """There is no ``*``, and the head is the whole path."""
    differs: bool
    """Some piece is another text in a query than in a path."""

    def matches(self, path: str) -> bool:
        """A match begins with the first octet of the path and takes each piece as it comes."""
        if self.exact:
            return path == self.head
        if not path.startswith(self.head):
            return False
        if self.differs and "?" in path:
            return self._matches_in_query(path)
        at = len(self.head)
        for piece in self.floats:
            found = path.find(piece.text, at)
            if found < 0:
                return False
            at = found + len(piece.text)
        return self.tail is None or _ends_with(self.tail, path, at)

    def _matches_in_query(self, path: str) -> bool:
        """Each piece is taken where it ends first: as part of the path, or of the query."""
        query = path.find("?") + 1
        at = len(self.head)
        places: dict[tuple[str, int], int] = {}
        for text, in_query in self.floats:
            found = _next(path, text, at, 0, places)
            other = _next(path, in_query, at, query, places) if in_query != text else -1
            if found < 0 and other < 0:
                return False
            if other < 0 or 0 <= found <= other + len(in_query) - len(text):
                at = found + len(text)
            else:
                at = other + len(in_query)
        return self.tail is None or _ends_with(self.tail, path, at)

    def steps(self, path: str) -> int:
        """The octets that :meth:`matches` may compare at most.

        Searching for a piece compares up to its length times the length of the path. Where pieces
        differ in a query, each is searched for twice; what was found is looked up again.
        """
        if self.exact or not path.startswith(self.head):
            return 0
        sought = sum([len(piece.text) for piece in self.floats])
        return sought * len(path) * (3 if self.differs else 1)

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        return 400 + 8 * len(self.floats) + 180 * len({*self.floats})


def _next(path: str, text: str, at: int, least: int, places: dict[tuple[str, int], int]) -> int:
    """Where a text begins next, from two places on; what was found before is not sought again."""
    found = places.get((text, least), 0)
    if 0 <= found < max(at, least) or (text, least) not in places:
        found = places[text, least] = path.find(text, max(at, least))
    return found


def _ends_with(piece: Piece, path: str, at: int) -> bool:
    """The last piece ends the path and does not reach back before a place."""
    text, in_query = piece
    if len(path) - len(text) >= at and path.endswith(text):
        return True
    if in_query == text:
        return False
    query = path.find("?") + 1
    return query > 0 and len(path) - len(in_query) >= max(at, query) and path.endswith(in_query)


def wildcard(pattern: str, form: Form) -> Wildcard:
    """A pattern with ``*`` or ``$`` becomes its pieces; ``$`` is the end only where it is last.

    RFC 9309 section 2.2.3.
    """
    ends = pattern.endswith("$")
    texts = (pattern[:-1] if ends else pattern).split("*")
    texts[1:-1] = filter(None, texts[1:-1])
    pieces = _pieces(texts, form)
    octets = form.octets(pattern)
    exact = ends and len(pieces) == 1
    tail = pieces.pop() if ends and not exact else None
    if tail is not None and not tail.text:
        tail = None
    floats = tuple([piece for piece in pieces[1:] if piece.text])
    differs = any(piece.text != piece.in_query for piece in floats)
    return Wildcard(octets, pieces[0].text, floats, tail, exact, differs)


def _pieces(texts: list[str], form: Form) -> list[Piece]:
    """Pieces after a ``?`` lie in the query; before it, they may lie there only after a ``*``.

    Equal pieces are one object: a hostile pattern has thousands of them.
    """
    if not any(form.changes(text) for text in texts):
        plain = {text: Piece(text, text) for text in texts}
        return [plain[text] for text in texts]
    pieces = []
    floating: dict[str, Piece] = {}
    queried: dict[str, Piece] = {}
    in_query = False
    for number, text in enumerate(texts):
        if in_query:
            if text not in queried:
                normal = form.query_text(text)
                queried[text] = Piece(normal, normal)
            pieces.append(queried[text])
            continue
        if text not in floating:
            floating[text] = floating_piece(text, form)
        piece = floating[text]
        pieces.append(piece if number else Piece(piece.text, piece.text))
        in_query = "?" in text
    return pieces


def floating_piece(text: str, form: Form) -> Piece:
    """A piece after a ``*``, before which no ``?`` was seen, may lie in a path or in a query."""
    if "%" not in text and not form.encodes:
        return Piece(text, text)
    if "?" not in text:
        return Piece(form.path_text(text), form.query_text(text))
    before, mark, after = text.partition("?")
    after = mark + form.query_text(after)
    return Piece(form.path_text(before) + after, form.query_text(before) + after)
