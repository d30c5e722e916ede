"""Dictionaries of structured fields, as far as the linter reads them."""

from __future__ import annotations

import random

import pytest
from http_sf import StructuredFieldError, parse

from scrapy_rep.linting.preference_checks import dictionary

PIECES = (
    *("train-ai", "=", "n", "y", ",", " ", ", ", ";", "a", "A", "1", "1.5", '"x"', '"', "(", ")"),
    *("?1", "?2", ":YQ==:", "@1", "*", "-", ".", "=n", "search=y", "\t"),
)


@pytest.mark.parametrize("seed", range(20))
def test_dictionary_is_read_as_the_parser_of_structured_fields_does(seed: int) -> None:
    """RFC 9651 section 4.2.2: what parses, and with which keys."""
    rnd = random.Random(seed)
    for _ in range(300):
        value = "".join(rnd.choices(PIECES, k=rnd.randrange(1, 8)))
        try:
            wanted = [*parse(value.encode(), tltype="dictionary")]
        except StructuredFieldError:
            wanted = None
        found = dictionary(value)
        if not value.strip(" "):
            assert found is None  # an empty dictionary says nothing
        else:
            keys = None if found is None else [*dict.fromkeys(name for name, _ in found)]
            assert keys == wanted, value
