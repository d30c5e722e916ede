"""What the linter says of a Content-Usage is what a crawler makes of it."""

from __future__ import annotations

import random

from scrapy_rep.linting.checks import lint
from scrapy_rep.preferences.vocabularies import content_usage, path_and_expression
from tests.rows import rows


@rows("seed", range(5))
def test_value_with_a_path_parses_where_a_crawler_reads_it(seed: int) -> None:
    """draft-ietf-aipref-attach-05: a path, white space, and a dictionary, or only one of them."""
    rnd = random.Random(seed)
    for _ in range(200):
        words = rnd.choices(("train-ai=n", ",", ";", "a", " ", "\t", "search=y", "="), k=5)
        value = f"/x{rnd.choice((' ', chr(9), ''))}{''.join(words)}".strip(" \t")
        said = content_usage(path_and_expression(value)[1], "robots.txt", 2)
        findings = lint(f"User-agent: *\nContent-Usage: {value}\n".encode())
        is_reported = "content-usage-does-not-parse" in [one.code for one in findings]
        assert is_reported is (not said or not said[0].label), value
