"""``scrapy robots lint``: what is wrong with a robots.txt?"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scrapy_rep.commands.crawl import look_up
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
from scrapy_rep.commands.sources import authority_named, is_url, read
from scrapy_rep.commands.verdicts import unreachable
from scrapy_rep.linting import formats
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES, at_least
from scrapy_rep.records.versions import own_version
from scrapy_rep.robotstxt.printable import escaped

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_rep.linting.codes import Severity
    from scrapy_rep.linting.formats import Located

_COLOURS = {"error": "red", "warning": "yellow", "information": "dim"}


def run(settings: BaseSettings, options: Namespace) -> Status:
    """Print the findings of all sources; a source that cannot be read loses no others."""
    selected = _codes(options.select) or {*CODES}
    selected -= _codes(options.ignore)
    shows_all = options.all or options.select or options.fail_on == "information"
    least: Severity = "information" if shows_all else "warning"
    worst = Status.CLEAN
    found: list[Located] = []
    for source, read_as in _bodies(settings, options):
        if isinstance(read_as, EndingError):
            note("lint", read_as.reason)
            worst = max(worst, read_as.status)
        else:
            found += [
                (source, one)
                for one in lint(read_as)
                if one.code in selected and at_least(one, least)
            ]
    _say(found, options.format)
    if worst is not Status.CLEAN:
        return worst
    if options.fail_on == "never" or not any(at_least(one, options.fail_on) for _, one in found):
        return Status.CLEAN
    counts = Counter(one.severity for _, one in found)
    said = [counted(counts[name], name) for name in ("error", "warning") if counts[name]]
    note("lint", ", ".join(said) or counted(counts["information"], "finding for information",
                                            "findings for information"))  # fmt: skip
    return Status.FOUND


def _codes(given: Sequence[str] | None) -> set[str]:
    """Return the codes of an option; raise ``EndingError`` for one that does not exist."""
    codes = {code.strip() for text in given or () for code in text.split(",")} - {""}
    for code in sorted(codes - {*CODES}):
        raise usage_error(f"{code} is not a code of findings")
    return codes


def _bodies(
    settings: BaseSettings, options: Namespace
) -> Iterator[tuple[str, bytes | EndingError]]:
    """Yield each source with its octets, or with the reason why it has none.

    A site without a robots.txt has nothing to find, which is said on stderr.
    """
    urls = [source for source in options.sources if is_url(source)]
    for url in urls:
        authority_named(url)
    looked_up = dict(zip(urls, look_up(settings, options, urls) if urls else (), strict=True))
    for source in options.sources:
        one = looked_up.get(source)
        if one is None:
            try:
                yield source, read(source, url_may_be_meant=True)
            except EndingError as error:
                yield source, error
        elif one.known is None or one.known.unreachable:
            yield source, unreachable(source, one)
        elif one.known.body is None:
            status = 0 if one.known.answer is None else one.known.answer.status
            note("lint", f"{source} has no robots.txt: it answered with status {status}")
        else:
            yield source, one.known.body


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
        if not found:
            say("no findings")
