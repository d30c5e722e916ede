"""A second matcher, slow and short, that shares no line with the one under test.

It follows RFC 9309 octet by octet: a pattern is matched by walking all places of the path at once,
knowing which of them lie in the query. A path with escapes is matched once more as it is written,
and one with dot segments must be allowed without them too.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(rb"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)
_APART = frozenset(b"/?#!&'()+,;=%")
_LEGAL = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"
)
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
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


def pieces_of(pattern: bytes) -> tuple[list[bytes], bool]:
    """The literal pieces of a pattern, and whether it ends with the path."""
    ends = pattern.endswith(b"$")
    return (pattern[:-1] if ends else pattern).split(b"*"), ends


def matches(pattern: bytes, path: bytes) -> bool:
    """A pattern matches a path and query, in normal form or as they are written."""
    text, query = written_out(tokens(path))
    pieces, ends = pieces_of(pattern)
    if _walk([tokens(piece) for piece in pieces], ends, text, query):
        return True
    if b"%" not in path and path.isascii():
        return False
    text = spelled(path)
    letters = [[(octet, False) for octet in open_ended(piece)] for piece in pieces]
    return _walk(letters, ends, text, len(text) + 1)


def _walk(pieces: list[list[Token]], ends: bool, text: bytes, query: int) -> bool:
    places = {0}
    for number, piece in enumerate(pieces):
        if number and places:
            places = set(range(min(places), len(text) + 1))
        for token in piece:
            places = {found for at in places for found in after(token, text, at, query)}
    return len(text) in places if ends else bool(places)


def spelled(text: bytes) -> bytes:
    """Octets with each escape as it is written, in upper case, and all encoded that must be."""
    found = b""
    for match in _TOKEN.finditer(text):
        octet = match.group()
        if len(octet) == 3:
            found += octet.upper()
        else:
            found += octet if octet != b"%" and octet[0] in _LEGAL else b"%%%02X" % octet[0]
    return found


def open_ended(piece: bytes) -> bytes:
    """A piece of a pattern as it is written; at its end half an escape is the start of any."""
    for digits in (0, 1):
        whole, half = piece[: len(piece) - 1 - digits], piece[len(piece) - 1 - digits :]
        if half[:1] == b"%" and all(chr(digit) in "0123456789abcdefABCDEF" for digit in half[1:]):
            return spelled(whole) + half.upper()
    return spelled(piece)


def octets(pattern: bytes) -> int:
    """The length of a pattern as written, with what must be encoded, and nothing else, encoded."""
    return sum(
        3 if len(match.group()) == 3 and match.group(1) and _stays(match.group(1)) else _one(match)
        for match in _TOKEN.finditer(pattern)
    )


def _stays(digits: bytes) -> bool:
    return bytes([int(digits, 16)]) not in _UNRESERVED


def _one(match: re.Match[bytes]) -> int:
    octet = match.group(2)
    return 3 if octet is not None and (octet == b"%" or octet[0] not in _LEGAL) else 1


def without_dots(path: bytes) -> bytes:
    """RFC 3986 section 5.2.4, with the buffers of its pseudocode."""
    left, mark, query = path.partition(b"?")
    left = re.sub(rb"(?i)(?<=/)(?:\.|%2e){1,2}(?=/|$)", lambda m: b"." * _dots(m.group()), left)
    output: list[bytes] = []
    while left:
        if left.startswith(b"/./") or left == b"/.":
            left = b"/" + left[3:]
        elif left.startswith(b"/../") or left == b"/..":
            left = b"/" + left[4:]
            output = output[:-1]
        else:
            end = left.find(b"/", 1)
            end = len(left) if end < 0 else end
            output.append(left[:end])
            left = left[end:]
    return b"".join(output) + mark + query


def _dots(segment: bytes) -> int:
    return segment.count(b".") + segment.lower().count(b"%2e")


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
    rules = rules_for(body, token)
    return all(_allowed(rules, text) for text in (path, without_dots(path)))


def _allowed(rules: list[tuple[str, bytes]], path: bytes) -> bool:
    best = {"allow": 0, "disallow": 0}
    for kind, pattern in rules:
        if pattern and matches(pattern, path):
            best[kind] = max(best[kind], octets(pattern))
    is_itself = [octet for octet, _ in tokens(path)] == [*b"/robots.txt"]
    return best["allow"] >= best["disallow"] or is_itself
