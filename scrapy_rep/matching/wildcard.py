"""A pattern with wildcards is parsed into its literal pieces and compared with match paths.

RFC 9309 section 2.2.3. No regular expression is made of a pattern: each piece is searched for once,
from where the piece before it ended. What one attempt may cost is known before it is made; what
all patterns of a file may cost together is limited in :mod:`scrapy_rep.matching.pattern_set`.
"""

from __future__ import annotations

from typing import NamedTuple

from scrapy_rep.matching.normal_form import NormalForm


class Piece(NamedTuple):
    """A literal piece of a pattern between two ``*``.

    ``text`` is its normal form in a path, ``in_query`` its normal form inside a query. The two
    differ only for pieces with ``%2F`` or ``%3F``, which are ``/`` and ``?`` inside a query.
    """

    text: str
    in_query: str


class Wildcard(NamedTuple):
    """A parsed pattern with ``*`` or a final ``$``.

    ``octets`` is its length as RFC 9309 section 2.2.2 compares it, wildcards included.
    """

    octets: int
    prefix: str
    inner: tuple[Piece, ...]
    suffix: Piece | None
    """The piece before a final ``$``; None if a path may go on behind the last piece."""
    is_exact: bool
    """There is no ``*``, and the prefix is the whole path."""
    differs_in_query: bool
    """Some piece is another text in a query than in a path."""

    def matches(self, path: str) -> bool:
        """Return True if the pattern matches a path from its first octet on."""
        if self.is_exact:
            return path == self.prefix
        if not path.startswith(self.prefix):
            return False
        if self.differs_in_query and "?" in path:
            return self._matches_with_query(path)
        at = len(self.prefix)
        for piece in self.inner:
            found = path.find(piece.text, at)
            if found < 0:
                return False
            at = found + len(piece.text)
        return self.suffix is None or _ends_with(self.suffix, path, at)

    def _matches_with_query(self, path: str) -> bool:
        """Take each piece where it ends first: as part of the path, or of the query."""
        query = path.find("?") + 1
        at = len(self.prefix)
        found_before: dict[tuple[str, int], int] = {}
        for text, in_query in self.inner:
            found = _find(path, text, at, 0, found_before)
            other = _find(path, in_query, at, query, found_before) if in_query != text else -1
            if found < 0 and other < 0:
                return False
            if other < 0 or 0 <= found <= other + len(in_query) - len(text):
                at = found + len(text)
            else:
                at = other + len(in_query)
        return self.suffix is None or _ends_with(self.suffix, path, at)

    def steps(self, path: str) -> int:
        """Return the most octets that :meth:`matches` may compare.

        Searching for a piece compares up to its length times the length of the path. If pieces
        differ in a query, each is searched for twice; what was found is looked up again.
        """
        if self.is_exact or not path.startswith(self.prefix):
            return 0
        octets = sum([len(piece.text) for piece in self.inner])
        return octets * len(path) * (3 if self.differs_in_query else 1)

    @property
    def size(self) -> int:
        """Octets of memory, about."""
        return 400 + 8 * len(self.inner) + 180 * len({*self.inner})


def _find(
    path: str, text: str, at: int, least: int, found_before: dict[tuple[str, int], int]
) -> int:
    """Return where a text begins at or behind two positions; -1 if it does not.

    A text that was found behind both positions before is not searched for again.
    """
    found = found_before.get((text, least), 0)
    if 0 <= found < max(at, least) or (text, least) not in found_before:
        found = found_before[text, least] = path.find(text, max(at, least))
    return found


def _ends_with(piece: Piece, path: str, at: int) -> bool:
    """Return True if a piece ends the path and does not reach back before a position."""
    text, in_query = piece
    if len(path) - len(text) >= at and path.endswith(text):
        return True
    if in_query == text:
        return False
    query = path.find("?") + 1
    return query > 0 and len(path) - len(in_query) >= max(at, query) and path.endswith(in_query)


def parse_wildcard(pattern: str, form: NormalForm) -> Wildcard:
    """Parse a pattern with ``*`` or ``$``; ``$`` is the end of the path only where it is last.

    RFC 9309 section 2.2.3.
    """
    ends = pattern.endswith("$")
    texts = (pattern[:-1] if ends else pattern).split("*")
    texts[1:-1] = filter(None, texts[1:-1])
    pieces = _pieces(texts, form)
    octets = form.octets(pattern)
    is_exact = ends and len(pieces) == 1
    suffix = pieces.pop() if ends and not is_exact else None
    if suffix is not None and not suffix.text:
        suffix = None
    inner = tuple([piece for piece in pieces[1:] if piece.text])
    differs_in_query = any(piece.text != piece.in_query for piece in inner)
    return Wildcard(octets, pieces[0].text, inner, suffix, is_exact, differs_in_query)


def _pieces(texts: list[str], form: NormalForm) -> list[Piece]:
    """Return the pieces of a pattern in normal form.

    A piece behind a ``?`` lies in the query; before it, only a piece behind a ``*`` may lie there.
    Equal pieces are one object, as a hostile pattern has thousands of them.
    """
    if not any(form.may_change(text) for text in texts):
        normal = {text: Piece(text, text) for text in texts}
        return [normal[text] for text in texts]
    pieces = []
    behind_star: dict[str, Piece] = {}
    behind_question_mark: dict[str, Piece] = {}
    in_query = False
    for number, text in enumerate(texts):
        if in_query:
            if text not in behind_question_mark:
                query_text = form.query_text(text)
                behind_question_mark[text] = Piece(query_text, query_text)
            pieces.append(behind_question_mark[text])
            continue
        if text not in behind_star:
            behind_star[text] = inner_piece(text, form)
        piece = behind_star[text]
        pieces.append(piece if number else Piece(piece.text, piece.text))
        in_query = "?" in text
    return pieces


def inner_piece(text: str, form: NormalForm) -> Piece:
    """Return a piece behind a ``*`` and before any ``?``: it may lie in a path or in a query."""
    if "%" not in text and not form.encodes:
        return Piece(text, text)
    if "?" not in text:
        return Piece(form.path_text(text), form.query_text(text))
    before, mark, after = text.partition("?")
    after = mark + form.query_text(after)
    return Piece(form.path_text(before) + after, form.query_text(before) + after)
