"""``scrapy robots check``: may my crawler fetch these URLs, and by which rule?"""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING

from scrapy_rep.commands.output import Status, counted, note, painted, say, say_json
from scrapy_rep.commands.project import settings_chosen
from scrapy_rep.commands.verdicts import COLOURS, DISALLOWED, as_json, look_up_all, told, word_of
from scrapy_rep.robotstxt.printable import escaped
from scrapy_rep.robotstxt.verdict import UNREACHABLE, is_undefined

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def run(settings: BaseSettings, options: Namespace) -> Status:
    """Print a line for each URL; say on stderr how many are not allowed."""
    started = time.time()
    profile = settings_chosen(settings, options).profile
    found = look_up_all(settings, options, options.urls)
    words = [word_of(one.verdict) for one in found]
    whys = [told(one.verdict, one.known) for one in found]
    if options.format == "json":
        rows = zip(options.urls, found, strict=True)
        file = options.robots_txt
        say_json("check", [as_json(url, one, profile, started, file) for url, one in rows])
    else:
        width = max(map(len, words))
        for url, word, why in zip(options.urls, words, whys, strict=True):
            padding = " " * (width - len(word))
            say(f"{painted(word, COLOURS[word])}{padding}  {escaped(url)}  {escaped(why)}")
    disallowed, unreachable = words.count(DISALLOWED), words.count(UNREACHABLE)
    said = [f"{disallowed:,} disallowed"] if disallowed else []
    if unreachable:
        several = zip(found, whys, strict=True)
        causes = sorted({why for one, why in several if is_undefined(one.verdict)})
        said.append(f"{unreachable:,} unreachable ({', '.join(causes)})")
    if said:
        note("check", f"of {counted(len(words), 'URL')}, {', '.join(said)}")
    return Status.UNKNOWN if unreachable else Status.FOUND if disallowed else Status.CLEAN
