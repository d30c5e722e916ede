"""Rules that match within an escape of a URI.

RFC 9309 sections 2.2.2 and 2.2.3. The normal form decodes most escapes, so their text is lost:
``/*2Fb`` matches the octets of ``/?q=a%2Fb``, but not those of its normal form ``/?q=a/b``. And in
``/itm/*/%`` the ``%`` is not an octet by itself: it stands for the start of any escape. So the few
rules that can match within an escape are also compared with the URI as it is written, with all
escapes kept. A rule matches if it matches either of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from scrapy_rep.matching.normal_form import (
    NOT_OF_A_URI,
    UNRESERVED_ESCAPES,
    NormalForm,
    escapes_but,
)

_OPEN_END: Final = re.compile("%[0-9A-Fa-f]?$")
_MAY_MATCH_WITHIN: Final = re.compile(r"\*[0-9A-F]|%[0-9A-Fa-f]?(?:\*|\$?$)")
_NOT_OF_A_URI: Final = re.compile(r"[^!#-;=?-Z\[\]_a-z~]")
_ENCODED: Final = {
    octet: f"%{octet:02X}" for octet in (*range(0x21), *b'"<>\\^`{|}', *range(0x7F, 0x100))
}
_KEPT: Final = escapes_but(frozenset(range(256)))
AS_WRITTEN: Final = NormalForm(
    in_path=_KEPT,
    in_query=_KEPT,
    stray_percent="%",
    encodes=True,
    with_query=True,
    removes_dots=False,
    longer=NOT_OF_A_URI,
    shorter=UNRESERVED_ESCAPES,
    patterns_are_normal=True,
)
"""The form of the keys of :func:`patterns_within_escapes`, and of URIs as they are written."""
_ALL_KEPT: Final = replace(
    AS_WRITTEN, stray_percent="%25", encodes=False, patterns_are_normal=False
)


def as_written(path: str, form: NormalForm) -> str:
    """Return a path and query, in octets, with all escapes kept and their hex in upper case.

    Octets that may not stand in a URI are encoded. ``/%7ea?b=%2fc`` becomes ``/%7Ea?b=%2Fc``.
    """
    if not form.with_query:
        path = path.partition("?")[0]
    if "%" in path:
        path = _ALL_KEPT.path_text(path)
    return path.translate(_ENCODED) if _NOT_OF_A_URI.search(path) else path


def patterns_within_escapes(patterns: Iterable[str]) -> dict[str, str]:
    """Return those patterns that may match within an escape, with their escapes kept as keys.

    Such a pattern has a piece that begins with a hex digit, as in ``/*2Fb``, or ends within an
    escape, as in ``/%``. The keys are in the form of :func:`as_written`, except for such ends.
    """
    return {
        _with_escapes(pattern): pattern
        for pattern in patterns
        if ("*" in pattern or "%" in pattern) and _MAY_MATCH_WITHIN.search(pattern)
    }


def _with_escapes(pattern: str) -> str:
    if "%" not in pattern and not _NOT_OF_A_URI.search(pattern):
        return pattern
    end = "$" if pattern.endswith("$") else ""
    pieces = []
    for piece in pattern.removesuffix("$").split("*"):
        cut = _OPEN_END.search(piece)
        whole = piece[: cut.start()] if cut else piece
        pieces.append(as_written(whole, AS_WRITTEN) + (cut.group().upper() if cut else ""))
    return "*".join(pieces) + end
