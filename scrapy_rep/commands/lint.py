"""``scrapy robots lint``: what is wrong with a robots.txt?"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_rep.commands.check import lack_of_rules
from scrapy_rep.commands.crawl import robots_txt_of
from scrapy_rep.commands.output import (
    EndingError,
    Status,
    counted,
    note,
    painted,
    say,
    say_json,
    usage_error,
)
from scrapy_rep.linting import formats
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES, at_least
from scrapy_rep.records import own_version
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.sites.cached_rules import CachedRules

if TYPE_CHECKING:
    from scrapy_rep.commands.crawl import Project
    from scrapy_rep.linting.codes import Severity
    from scrapy_rep.linting.formats import Located

_COLOURS = {"error": "red", "warning": "yellow", "information": "dim"}


def run(project: Project, options: Namespace) -> Status:
    """Print the findings of all sources; a source that cannot be read loses no others."""
    selected = (_codes(options.select) or {*CODES}) - _codes(options.ignore)
    shows_all = options.all or options.select or options.fail_on == "information"
    least: Severity = "information" if shows_all else "warning"
    worst = Status.CLEAN
    found: list[Located] = []
    several = robots_txt_of(project, options, options.sources)
    for source, body in zip(options.sources, several, strict=True):
        if isinstance(body, EndingError):
            note("lint", body.reason)
            worst = max(worst, body.status)
        elif isinstance(body, CachedRules):
            note("lint", f"{source}: {lack_of_rules(body)}")
        else:
            of_source = (one for one in lint(body) if one.code in selected)
            found += [(source, one) for one in of_source if at_least(one.severity, least)]
    _say(found, options.format)
    if not found and worst is Status.CLEAN and options.format == "text":
        say("no findings")
    fail_on = options.fail_on
    if fail_on == "never" or not any(at_least(one.severity, fail_on) for _, one in found):
        return worst
    counts = Counter(one.severity for _, one in found)
    said = [counted(counts[name], name) for name in ("error", "warning") if counts[name]]
    note("lint", ", ".join(said) or f"{counts['information']:,} for information")
    return worst or Status.FOUND


def _codes(given: Sequence[str] | None) -> set[str]:
    """Return the codes of an option; raise ``EndingError`` for one that does not exist."""
    codes = {code.strip() for text in given or () for code in text.split(",")} - {""}
    for code in sorted(codes - {*CODES}):
        raise usage_error(f"{code} is not a code of findings")
    return codes


def _say(found: Sequence[Located], form: str) -> None:
    if form == "json":
        say_json("lint", [formats.plain(file, one) for file, one in found])
    elif form == "sarif":
        say(formats.as_sarif(found, own_version() or "unknown"))
    elif form == "github":
        for file, one in found:
            say(formats.as_command(file, one))
    else:
        for file, one in found:
            where = escaped(file)
            if one.line is not None:
                where += f":{one.line}:{one.column}"
            severity = painted(one.severity, _COLOURS[one.severity])
            say(f"{where}: {severity} {escaped(one.message)} [{one.code}]")
            say(f"    {escaped(one.fix)} ({one.source})")
