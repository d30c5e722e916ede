"""The octets of a response that are parsed."""

from __future__ import annotations

import gzip

import pytest
from scrapy.http import Response

from scrapy_rep.sites.responses import octets_of

LIMIT = 1_000


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 500])
def test_a_body_over_the_limit_was_cut_by_however_little(beyond: int, coding: str) -> None:
    """RFC 9309 section 2.5: what was cut says so, and its partial last line is dropped."""
    plain = b"Allow: /\n" * LIMIT
    plain = plain[: LIMIT + beyond]
    headers = {"Content-Encoding": coding} if coding else {}
    body = gzip.compress(plain) if coding else plain
    octets, cut = octets_of(Response("http://a/", headers=headers, body=body), LIMIT, False)
    assert cut == (beyond > 0)
    assert octets == (plain[: LIMIT // 9 * 9] if cut else plain)
