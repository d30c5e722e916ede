"""All findings about a robots.txt."""

from __future__ import annotations

from itertools import chain

from scrapy_rep.linting.file_checks import check_characters, check_file, is_html
from scrapy_rep.linting.findings import Finding
from scrapy_rep.linting.group_checks import check_agents, check_places, check_repetition
from scrapy_rep.linting.line_checks import check_keys, check_paths, check_values
from scrapy_rep.linting.lines import Document
from scrapy_rep.linting.preference_checks import check_preferences
from scrapy_rep.linting.rule_effects import check_effects


def lint(body: bytes) -> list[Finding]:
    """Return what there is to say about a robots.txt, by line and column; raise nothing.

    Only the first 500 KiB are read line by line (RFC 9309 section 2.5), and of a page of HTML
    nothing is.
    """
    found = [*check_file(body)]
    if not is_html(body):
        document = Document(body)
        found += chain(
            check_characters(document.lines),
            check_keys(document),
            check_paths(document),
            check_values(document),
            check_agents(document),
            check_places(document),
            check_repetition(document),
            check_effects(document),
            check_preferences(document),
        )
    return sorted(found, key=lambda one: (one.line or 0, one.column or 0, one.code))
