"""``scrapy robots diff``: what does a change of a robots.txt mean, and for whom?"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from scrapy_rep.commands.check import painted_word
from scrapy_rep.commands.crawl import Loaded, Project, load_all
from scrapy_rep.commands.output import Status, counted, note, painted, say, say_json
from scrapy_rep.linting.effects import MOST_PATHS, Difference, difference
from scrapy_rep.robotstxt.printable import escaped, printable
from scrapy_rep.robotstxt.text import truncate
from scrapy_rep.robotstxt.verdict import Verdict, as_plain, why


def run(project: Project, options: Namespace) -> Status:
    """Print for which crawlers which paths change."""
    settings = project.rep_settings
    old, new = load_all(project, [options.old, options.new])
    if error := old.error or new.error:
        raise error
    found = difference(
        truncate(old.body, settings.max_size),
        truncate(new.body, settings.max_size),
        options.agent or (),
        settings.profile,
    )
    if options.format == "json":
        say_json("diff", [_as_json(one, old, new) for one in found])
    else:
        _as_text(found, old, new)
    if not found:
        return Status.CLEAN
    agents = sum(len(one.agents) for one in found)
    note("diff", f"the rules differ for {counted(agents, 'crawler')}")
    return Status.FOUND


def _seen(verdict: Verdict, source: Loaded) -> Verdict:
    """Return a verdict without the rule of a file that does not exist."""
    return Verdict(verdict.allowed, reason=source.lack) if source.lack else verdict


def _as_json(one: Difference, old: Loaded, new: Loaded) -> dict[str, object]:
    return {
        "agents": [*one.agents],
        "paths": [
            {
                "path": change.path,
                "old": as_plain(_seen(change.old, old)),
                "new": as_plain(_seen(change.new, new)),
            }
            for change in one.paths
        ],
        "old_pace": one.old_pace,
        "new_pace": one.new_pace,
    }


def _as_text(found: Sequence[Difference], old: Loaded, new: Loaded) -> None:
    for number, one in enumerate(found):
        if number:
            say()
        say(painted(printable(", ".join(one.agents)), "bold"))
        for change in one.paths:
            say(f"  {escaped(change.path)}")
            for mark, verdict in (("-", _seen(change.old, old)), ("+", _seen(change.new, new))):
                say(f"    {mark} {painted_word(verdict)}: {why(verdict)}")
        if len(one.paths) == MOST_PATHS:
            say(f"  and more: {MOST_PATHS} paths are shown")
        for name in sorted({*one.old_pace, *one.new_pace}):
            before, after = one.old_pace.get(name), one.new_pace.get(name)
            if before != after:
                say(f"  {name}: {before or 'none'} -> {after or 'none'}")
