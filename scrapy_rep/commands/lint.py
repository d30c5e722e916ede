"""``scrapy robots lint``: what is wrong with a robots.txt?"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scrapy_rep.commands.endings import Status, usage_error
from scrapy_rep.commands.lookups import fetched
from scrapy_rep.commands.sources import authority_named, is_url, read
from scrapy_rep.commands.terminal import note, painted, say
from scrapy_rep.linting import reports
from scrapy_rep.linting.codes import CODES
from scrapy_rep.linting.findings import at_least
from scrapy_rep.linting.lint import lint
from scrapy_rep.recording.versions import own_version
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy_rep.commands import RobotsCommand
    from scrapy_rep.linting.reports import Located

_COLOURS = {"error": "red", "warning": "yellow", "information": "dim"}


def needs_crawl(options: Namespace) -> bool:
    """Return True if a source is a URL."""
    _codes(options.select)
    _codes(options.ignore)
    urls = [source for source in options.sources if is_url(source)]
    for url in urls:
        authority_named(url)
    return bool(urls)


def _codes(given: Sequence[str] | None) -> set[str]:
    """Return the codes of an option; raise ``EndingError`` for one that does not exist."""
    codes = {code.strip() for text in given or () for code in text.split(",")} - {""}
    for code in sorted(codes - {*CODES}):
        raise usage_error(f"{code} is not a code of findings")
    return codes


def run(command: RobotsCommand, options: Namespace) -> Status:
    """Print the findings of all sources."""
    selected, ignored = _codes(options.select) or {*CODES}, _codes(options.ignore)
    found: list[Located] = [
        (source, one)
        for source, body in _bodies(command, options)
        for one in lint(body)
        if one.code in selected - ignored
    ]
    if options.format == "json":
        say(reports.as_json(found))
    elif options.format == "sarif":
        say(reports.as_sarif(found, own_version() or "unknown"))
    elif options.format == "github":
        if found:
            say(reports.as_github(found))
    else:
        _as_text(found)
    if options.fail_on == "never" or not any(at_least(one, options.fail_on) for _, one in found):
        return Status.CLEAN
    counts = Counter(one.severity for _, one in found)
    note("lint", ", ".join(f"{counts[name]} {name}{'s' * (counts[name] > 1)}"
                           for name in ("error", "warning") if counts[name])
         or f"{counts['information']} findings for information")  # fmt: skip
    return Status.FOUND


def _bodies(command: RobotsCommand, options: Namespace) -> Iterator[tuple[str, bytes]]:
    """Yield each source with its octets; raise ``EndingError`` if one cannot be read."""
    found = fetched(command, options, options.sources)
    for source in options.sources:
        known = found.get(source)
        body = read(source, url_may_be_meant=True) if known is None else known.body or b""
        yield source, body


def _as_text(found: Sequence[Located]) -> None:
    for file, one in found:
        where = escaped(file)
        if one.line is not None:
            where += f":{one.line}:{one.column}"
        say(f"{where}: {painted(one.severity, _COLOURS[one.severity])} {escaped(one.message)}"
            f" [{one.code}]")  # fmt: skip
        say(f"    {escaped(one.fix)} ({one.source})")
