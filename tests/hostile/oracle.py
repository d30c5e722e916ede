"""A second matcher, slow and short, that shares no line with the one it is held against.

It follows RFC 9309 octet by octet: a pattern is matched by walking all places of the path at once,
knowing which of them lie in the query.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(rb"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)
_APART = frozenset(b"/?#!&'()+,;=%")
_LEGAL = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
)
_KEYS = {
    b"user-agent": "agent", b"useragent": "agent", b"user agent": "agent",
    b"allow": "allow", b"disallow": "disallow", b"dissallow": "disallow", b"dissalow": "disallow",
    b"disalow": "disallow", b"diasllow": "disallow", b"disallaw": "disallow",
}  # fmt: skip

Token = tuple[int, bool]
"""An octet, and whether it is percent-encoded where that makes a difference."""


def tokens(text: bytes) -> list[Token]:
    """Octets; a percent sign without two hex digits is an encoded one."""
    found = []
    for match in _TOKEN.finditer(text):
        if match.group(1):
            octet = int(match.group(1), 16)
            found.append((octet, octet in _APART))
        else:
            octet = match.group(2)[0]
            found.append((octet, octet == 0x25))
    return found


def written_out(found: list[Token]) -> tuple[bytes, int]:
    """The octets of a URI in normal form, and where its query begins."""
    text = b""
    query = None
    for octet, apart in found:
        if apart and not (query is not None and octet in b"/?"):
            text += b"%%%02X" % octet
        else:
            text += bytes([octet])
            if octet == 0x3F and query is None:
                query = len(text)
    return text, len(text) if query is None else query


def after(token: Token, text: bytes, at: int, query: int) -> set[int]:
    """The places behind a token of a pattern that a URI holds at a place."""
    octet, apart = token
    found = set()
    if text[at : at + 1] == bytes([octet]) and (not apart or (at >= query and octet in b"/?")):
        found.add(at + 1)
    if apart and text[at : at + 3] == b"%%%02X" % octet:
        found.add(at + 3)
    return found


def matches(pattern: bytes, path: bytes) -> bool:
    """A pattern as written matches a path and query."""
    text, query = written_out(tokens(path))
    ends = pattern.endswith(b"$")
    pieces = [tokens(piece) for piece in (pattern[:-1] if ends else pattern).split(b"*")]
    places = {0}
    for number, piece in enumerate(pieces):
        if number and places:
            places = set(range(min(places), len(text) + 1))
        for token in piece:
            places = {found for at in places for found in after(token, text, at, query)}
    return len(text) in places if ends else bool(places)


def octets(pattern: bytes) -> int:
    """The length of a pattern in normal form."""
    length = 0
    in_query = False
    for octet, apart in tokens(pattern):
        if octet not in _LEGAL or (apart and not (in_query and octet in b"/?")):
            length += 3
        else:
            length += 1
        in_query = in_query or (octet == 0x3F and not apart)
    return length


def _records(body: bytes) -> list[tuple[str, bytes]]:
    found = []
    if body.startswith(b"\xef\xbb\xbf"):
        body = body[3:]
    for line in re.split(rb"\r\n|\r|\n", body):
        text = line.split(b"#")[0].strip(b" \t")
        key, colon, value = text.partition(b":")
        if not colon:
            words = re.split(rb"[ \t]+", text)
            if len(words) != 2:
                continue
            key, value = words
        kind = _KEYS.get(key.strip(b" \t").lower())
        if kind:
            found.append((kind, value.strip(b" \t")))
    return found


def _name(value: bytes) -> bytes:
    if re.match(rb"\*(?![A-Za-z0-9_-])", value):
        return b"*"
    named = re.match(rb"[A-Za-z0-9_-]+", value)
    return named.group().lower() if named else b""


def rules_for(body: bytes, token: str) -> list[tuple[str, bytes]]:
    """The rules of the groups of a token, or of the default group."""
    groups: list[tuple[set[bytes], list[tuple[str, bytes]]]] = []
    for kind, value in _records(body):
        if kind == "agent":
            if not groups or groups[-1][1]:
                groups.append((set(), []))
            groups[-1][0].add(_name(value))
        elif groups:
            groups[-1][1].append((kind, value))
    for wanted in (token.lower().encode(), b"*"):
        mine = [rules for names, rules in groups if wanted in names]
        if mine:
            return [rule for rules in mine for rule in rules]
    return []


def allowed(body: bytes, token: str, path: bytes) -> bool:
    """A path and query, in octets, may be fetched by a crawler."""
    best = {"allow": 0, "disallow": 0}
    for kind, pattern in rules_for(body, token):
        if pattern and matches(pattern, path):
            best[kind] = max(best[kind], octets(pattern))
    is_itself = [octet for octet, _ in tokens(path)] == [*b"/robots.txt"]
    return best["allow"] >= best["disallow"] or is_itself
