"""What tdmrep.json files say: documents, row by row, each with its source.

`tdmrep` is the TDM Reservation Protocol (W3C Community Group Final Report, 2024-05-10), `rep` the
pattern language that it refers to, `choice` what neither says.
"""

from __future__ import annotations

import json
from typing import Any

from scrapy_rep.preferences.page import PagePreferences, together
from scrapy_rep.preferences.tdmrep import SILENT, Said, TdmRules
from scrapy_rep.protocol.usage import FORM
from tests.rows import rows


def rule(location: Any, reservation: Any, policy: Any = None) -> dict[str, Any]:
    """One object of the file."""
    found = {"location": location, "tdm-reservation": reservation, "tdm-policy": policy}
    return {name: value for name, value in found.items() if value is not None}


DAMAGED = "damaged"
P = "https://e.org/p"

# source, the file, path, what it says: reserved and policy, or DAMAGED
ROWS: list[tuple[str, Any, str, Any]] = [
    ("tdmrep: a prefix", [rule("/a/", 1)], "/a/b", (True, None)),
    ("tdmrep: a prefix", [rule("/a/", 1)], "/b", (None, None)),
    ("tdmrep: *", [rule("/a/*", 1)], "/a/b", (True, None)),
    ("tdmrep: *", [rule("/*/x", 1)], "/a/x", (True, None)),
    ("tdmrep: *", [rule("*", 1)], "/", (True, None)),
    ("tdmrep: $", [rule("/a$", 1)], "/a", (True, None)),
    ("tdmrep: $", [rule("/a$", 1)], "/ab", (None, None)),
    ("tdmrep: $", [rule("/*.pdf$", 1)], "/x.pdf", (True, None)),
    ("tdmrep: case-sensitive", [rule("/A", 1)], "/a", (None, None)),
    ("tdmrep: the first that matches", [rule("/a", 0), rule("/", 1)], "/ab", (False, None)),
    ("tdmrep: not the longest", [rule("/", 1), rule("/a", 0)], "/ab", (True, None)),
    ("tdmrep: the first, though unset", [rule("/a", 7), rule("/", 1)], "/a", (None, None)),
    ("tdmrep: 0", [rule("/", 0)], "/", (False, None)),
    ("tdmrep: a policy", [rule("/", 1, P)], "/", (True, P)),
    ("tdmrep: a policy is a URL", [rule("/", 1, "policy")], "/", (True, None)),
    ("tdmrep: a policy is a URL", [rule("/", 1, {"a": 1})], "/", (True, None)),
    ("tdmrep: other values are unset", [rule("/", 2)], "/", (None, None)),
    ("tdmrep: other values are unset", [rule("/", -1)], "/", (None, None)),
    ("RFC 8259: 1.0 is the number 1", [rule("/", 1.0)], "/", (True, None)),
    ("RFC 8259: 0.0 is the number 0", [rule("/", 0.0)], "/", (False, None)),
    ("tdmrep: other values are unset", [rule("/", 1.5)], "/", (None, None)),
    ("tdmrep: other values are unset", [rule("/", float("nan"))], "/", (None, None)),
    ("tdmrep: other values are unset", [rule("/", [1])], "/", (None, None)),
    ("choice: true is no number", [rule("/", True)], "/", (None, None)),
    ("choice: numbers as text", [rule("/", "1")], "/", (True, None)),
    ("choice: numbers as text", [rule("/", "0")], "/", (False, None)),
    ("tdmrep: no reservation", [{"location": "/"}], "/", (None, None)),
    ("tdmrep: no location", [{"tdm-reservation": 1}], "/", (None, None)),
    ("choice: a location that is no text", [rule(5, 1), rule("/", 0)], "/", (False, None)),
    ("choice: an empty location", [rule("", 1)], "/", (None, None)),
    ("choice: what is no object", [1, None, "x", rule("/", 1)], "/", (True, None)),
    ("tdmrep: an empty array", [], "/", (None, None)),
    ("rep: escapes of unreserved characters", [rule("/%61", 1)], "/a", (True, None)),
    ("rep: %2F is not /", [rule("/a%2Fb", 1)], "/a/b", (None, None)),
    ("rep: UTF-8", [rule("/\u00e9/", 1)], "/%C3%A9/x", (True, None)),
    ("rep: the query counts", [rule("/a?b", 1)], "/a?b=1", (True, None)),
    ("choice: dot segments, reserved both ways", [rule("/b", 1), rule("/", 0)], "/a/../b",
     (True, None)),
    ("choice: no array is damaged", rule("/", 1), "/", DAMAGED),
    ("choice: half a file is damaged", b'[{"location": "/", "tdm-res', "/", DAMAGED),
    ("choice: too deep is damaged", b"[" * 100_000, "/", DAMAGED),
    ("choice: a number that is too long is damaged", b"[" + b"1" * 10_000 + b"]", "/", DAMAGED),
    ("choice: too many rules is damaged", [rule("/a", 0)] * 10_001, "/", DAMAGED),
    ("choice: HTML is no tdmrep.json", b"<html>not found</html>", "/", (None, None)),
    ("choice: an empty body is none", b"", "/", (None, None)),
    ("choice: white space and a mark", b"\xef\xbb\xbf \n[]", "/", (None, None)),
    ("choice: UTF-16 is no tdmrep.json", '[{"location":"/"}]'.encode("utf-16"), "/",
     (None, None)),
    ("choice: a lone surrogate", b'[{"location": "/\\ud800", "tdm-reservation": 1}]', "/",
     (None, None)),
]  # fmt: skip


def rules(document: Any) -> TdmRules:
    """The rules of a file, given as octets or as what JSON is made of."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return TdmRules.parse(body, FORM)


@rows("source, document, path, expected", ROWS)
def test_a_tdmrep_json_says_for_a_path(
    source: str, document: Any, path: str, expected: Any
) -> None:
    """The reservation and the policy of the file alone, by the document named in the row."""
    found = rules(document).about(f"https://example.org{path}")
    assert (found.reserved, found.policy) == expected if found is not None else expected == DAMAGED


def test_the_file_is_the_weakest_place() -> None:
    """TDMRep: a header or a meta of the page counts before it, and only if it says something."""
    reserved = Said(True, P, ())
    free, silent = Said(False, None, ()), SILENT
    assert together(PagePreferences(), file=reserved).tdm == (True, P, "file")
    assert together(PagePreferences(header=free), file=reserved).tdm == (False, None, "header")
    assert together(PagePreferences(header=silent, meta=free), file=reserved).tdm == (
        False,
        None,
        "meta",
    )
    assert together(PagePreferences(header=reserved), file=free).tdm == (True, P, "header")
    assert together(PagePreferences(header=reserved, meta=free)).tdm == (False, None, "meta")


def test_a_statement_of_the_file_shows_its_rule() -> None:
    """The location and the value, as far as it is one that JSON writes shortly."""
    found = rules([rule("/caf\u00e9/*", {"deep": [1] * 1000})]).about("https://e.org/caf%C3%A9/x")
    assert found is not None
    [statement] = found.statements
    assert (statement.source, statement.answer) == ("file", "unknown")
    assert statement.raw == "/caf\u00e9/* (dict)"


def test_a_path_that_is_too_costly_to_look_up_is_unknown() -> None:
    """RFC 9309 section 3: the budget is that of rules; what may be reserved is not free."""
    document = [rule("/" + "*a" * 40 + f"*b{number}", 0) for number in range(9_000)]
    assert rules(document).about("https://e.org/" + "a" * 2_000) is None
