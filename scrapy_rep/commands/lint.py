"""``scrapy robots lint``: what is wrong with a robots.txt?"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence

from scrapy_rep.commands.crawl import Project, load_all
from scrapy_rep.commands.output import EndingError, Status, counted, note, painted, say, say_json
from scrapy_rep.linting import formats
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES
from scrapy_rep.linting.formats import Located
from scrapy_rep.records import own_version
from scrapy_rep.robotstxt.printable import escaped, without_login

_COLOURS = {"error": "red", "warning": "yellow", "information": "dim"}


def run(project: Project, options: Namespace) -> Status:
    """Print the findings of all sources; one that cannot be read does not stop the others."""
    ignored = {code.strip() for text in options.ignore for code in text.split(",")} - {""}
    if unknown := ignored - {*CODES}:
        raise EndingError(f"{min(unknown)} is not a code of findings")
    worst = Status.CLEAN
    found: list[Located] = []
    contents = load_all(project, options.sources)
    for source, loaded in zip(map(without_login, options.sources), contents, strict=True):
        if loaded.error is not None:
            note("lint", str(loaded.error))
            worst = max(worst, loaded.error.status)
        elif loaded.lack:
            note("lint", f"{source}: {loaded.lack}")
        else:
            of_source = (one for one in lint(loaded.body) if one.code not in ignored)
            shown = (one for one in of_source if options.all or one.severity != "information")
            found += [(source, one) for one in shown]
    _say(found, options.format)
    if not found and worst is Status.CLEAN and options.format == "text":
        say("no findings")
    counts = Counter(one.severity for _, one in found)
    summary = [counted(counts[name], name) for name in ("error", "warning") if counts[name]]
    if summary:
        note("lint", ", ".join(summary))
        worst = worst or Status.FOUND
    return worst


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
