"""Dictionaries of structured fields, as far as the linter reads them."""

from __future__ import annotations

import random

from http_sf import StructuredFieldError, parse

from scrapy_rep.linting.lint import lint
from scrapy_rep.linting.preference_checks import dictionary
from scrapy_rep.preferences.content_usage import of_rule
from tests.rows import rows

PIECES = (
    *("train-ai", "=", "n", "y", ",", " ", ", ", ";", "a", "A", "1", "1.5", '"x"', '"', "(", ")"),
    *("?1", "?2", ":YQ==:", "@1", "*", "-", ".", "=n", "search=y", "\t"),
)


@rows("seed", range(20))
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


@rows("seed", range(20))
def test_value_with_a_path_parses_where_a_crawler_reads_it(seed: int) -> None:
    """draft-ietf-aipref-attach-05: a path, white space, and a dictionary, or only one of them."""
    rnd = random.Random(seed)
    for _ in range(200):
        words = rnd.choices(("train-ai=n", ",", ";", "a", " ", "\t", "search=y", "="), k=5)
        value = f"/x{rnd.choice((' ', chr(9), ''))}{''.join(words)}".strip(" \t")
        said = of_rule(value, 2)
        findings = lint(f"User-agent: *\nContent-Usage: {value}\n".encode())
        is_reported = "content-usage-does-not-parse" in [one.code for one in findings]
        assert is_reported is (not said or not said[0].label), value
