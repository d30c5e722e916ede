"""All findings about a robots.txt."""

from __future__ import annotations

from itertools import chain

from scrapy_rep.linting.file_checks import check_characters, check_file, is_html
from scrapy_rep.linting.findings import Finding
from scrapy_rep.linting.group_checks import check_agents, check_order, check_repetition
from scrapy_rep.linting.line_checks import check_keys, check_paths, check_values
from scrapy_rep.linting.lines import RobotsFile
from scrapy_rep.linting.preference_checks import check_preferences
from scrapy_rep.linting.rule_effects import check_effects


def lint(body: bytes) -> list[Finding]:
    """Return what there is to say about a robots.txt, by line and column; raise nothing.

    Only the first 500 KiB are read line by line (RFC 9309 section 2.5), and of a page of HTML
    nothing is.
    """
    found = [*check_file(body)]
    if not is_html(body):
        file = RobotsFile(body)
        found += chain(
            check_characters(file.lines),
            check_keys(file),
            check_paths(file),
            check_values(file),
            check_agents(file),
            check_order(file),
            check_repetition(file),
            check_effects(file),
            check_preferences(file),
        )
    return sorted(found, key=lambda one: (one.line or 0, one.column or 0, one.code))
