"""The subcommands of ``scrapy robots``: their options, and what their help says."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from scrapy_rep.commands.output import Status
from scrapy_rep.linting.codes import SEVERITIES

_GLOBAL = """Scrapy's global options are allowed, too. Settings are given with -s:
-s REP_PROFILE=google follows another document, -s REP_STORE=memory: leaves the
store alone."""

Option = dict[str, Any]
"""What :meth:`argparse.ArgumentParser.add_argument` is told of an option."""


def _option(what: str = "", metavar: str | None = None, **how: Any) -> Option:
    return {"help": what or None, **({"metavar": metavar} if metavar else {}), **how}


def _token(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must be a product token")
    return text


_FORMAT = _option("default: text", choices=["text", "json"], default="text")
_SPIDER = _option("ask as this spider of the project does", "NAME")
_FILE_OR_STDIN = _option("", "FILE|-", nargs="?", default="-")
_VERSION = _option("FILE, URL or - for standard input")
_AGENT = _option(
    "product token of the crawler; repeat it for tokens in order of preference. Without it: that "
    "of the spider or the settings",
    "TOKEN",
    action="append",
    type=_token,
)
_JUDGING = {
    "--agent": _AGENT,
    "--spider": _SPIDER,
    "--robots-txt": _option("read the rules from FILE instead of fetching them", "FILE"),
    "--format": _FORMAT,
}
_STATE = _option(
    "what the site said last: rules, unavailable, denied or unreachable; may be repeated",
    "STATE",
    action="append",
    choices=["rules", "unavailable", "denied", "unreachable"],
)


class _Subcommand(NamedTuple):
    """What the help of a subcommand says, and its options.

    ``clean``, ``found`` and ``unknown`` say when it ends with status 0, 1 and 3.
    """

    question: str
    example: str
    options: Mapping[str, Option]
    clean: str
    found: str = ""
    unknown: str = ""


_SUBCOMMANDS = {
    "check": _Subcommand(
        "may my crawler fetch these URLs?",
        "scrapy robots check --agent mybot https://example.org/private/page",
        {"urls": _option("", "URL", nargs="+"), **_JUDGING},
        "all URLs are allowed",
        "a URL is disallowed",
        "a robots.txt is unreachable",
    ),
    "explain": _Subcommand(
        "why may my crawler fetch a URL, or why not?",
        "scrapy robots explain https://example.org/private/page",
        {"url": _option("", "URL"), **_JUDGING},
        "the URL is allowed",
        "the URL is disallowed",
        "the robots.txt is unreachable",
    ),
    "lint": _Subcommand(
        "what is wrong with a robots.txt?",
        "scrapy robots lint robots.txt https://example.org/",
        {
            "sources": _option("", "FILE|URL|-", nargs="+"),
            "--all": _option("report what needs no change, too (information)", action="store_true"),
            "--select": _option("report these codes only (a,b or repeat)", "CODE", action="append"),
            "--ignore": _option("do not report these codes", "CODE", action="append"),
            "--fail-on": _option(
                "the least severity that makes the exit status 1; default: warning",
                choices=[*SEVERITIES, "never"],
                default="warning",
            ),
            "--spider": _SPIDER,
            "--format": {**_FORMAT, "choices": ["text", "json", "sarif", "github"]},
        },
        "there is no finding of the severity of --fail-on",
        "there is one",
        "a source could not be fetched",
    ),
    "diff": _Subcommand(
        "what does a change of a robots.txt mean?",
        "scrapy robots diff approved.txt https://example.org/",
        {
            "old": {**_VERSION, "metavar": "OLD"},
            "new": {**_VERSION, "metavar": "NEW"},
            "--agent": {
                **_AGENT,
                "help": "a crawler to compare for; repeat it for several. Without it: all crawlers "
                "that the files name, and all others (*)",
            },
            "--spider": _SPIDER,
            "--format": _FORMAT,
        },
        "nothing changes for any crawler",
        "something changes",
        "a robots.txt is unreachable",
    ),
    "filter": _Subcommand(
        "which of many URLs may my crawler fetch?",
        "scrapy robots filter --rejected rejected.tsv urls.txt > allowed.txt",
        {
            "source": _FILE_OR_STDIN,
            "--agent": _AGENT,
            "--spider": _SPIDER,
            "--robots-txt": _option("these rules govern all URLs", "FILE"),
            "--warc": _option("an archive of responses (extra: scrapy_rep[evidence])", "FILE"),
            "--missing": _option(
                "what becomes of URLs of sites that the archive lacks; without it they are "
                "rejected, and the exit status is 3",
                choices=["reject", "allow"],
            ),
            "--rejected": _option("write the other URLs to FILE, each with TAB and reason", "FILE"),
        },
        "every URL was decided",
        "",
        "the rules of some sites are not known; their URLs are rejected",
    ),
    "store": _Subcommand(
        "what does the configured store hold?",
        "scrapy robots store list --state unreachable",
        {},
        "done",
        "the store knows nothing of a URL",
        "the store cannot be used",
    ),
    "verify": _Subcommand(
        "do recorded decisions follow from an archive?",
        "scrapy robots verify decisions.jsonl --warc robots-20261122093000-7c6cd3b8.warc.gz",
        {
            "log": _option("a decision log, of REP_DECISION_LOG", "DECISIONS|-"),
            "--warc": _option(
                "an archive of REP_WARC; repeat it for several (extra: scrapy_rep[evidence])",
                "FILE",
                action="append",
                required=True,
            ),
            "--format": _FORMAT,
        },
        "all that could be compared agree",
        "a decision differs",
        "some decisions could not be compared",
    ),
    "report": _Subcommand(
        "what do decision logs say?",
        "scrapy robots report monday.jsonl.gz tuesday.jsonl -o report.html",
        {
            "logs": _option("decision logs, of REP_DECISION_LOG", "DECISIONS|-", nargs="+"),
            "-o": _option(
                "write a page of HTML to FILE (extra: scrapy_rep[report])", "FILE|-", dest="output"
            ),
            "--format": _FORMAT,
        },
        "done",
    ),
}
_ACTIONS: dict[str, tuple[str, Mapping[str, Option]]] = {
    "list": ("what is known of each site", {"--state": _STATE, "--format": _FORMAT}),
    "show": (
        "all about some sites, as JSON",
        {
            "urls": _option("", "URL", nargs="+"),
            "--body": _option("write only robots.txt itself, byte for byte", action="store_true"),
        },
    ),
    "export": ("everything, as lines of JSON that import reads", {}),
    "import": ("merge lines of JSON into the store", {"source": _FILE_OR_STDIN}),
    "forget": (
        "drop some sites",
        {
            "urls": _option("", "URL", nargs="*"),
            "--state": _STATE,
            "--all": _option("forget everything", action="store_true"),
        },
    ),
}
_STORE_OF = _option("the store that this spider of the project uses", "NAME")


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and where to find help."""

    def __init__(self, **how: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(**how, formatter_class=raw, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
        self.exit(Status.USAGE, f"{self.prog}: {line} (see {self.prog} --help)\n")

    def add(self, options: Mapping[str, Option]) -> None:
        """Add options by their names."""
        for name, how in options.items():
            self.add_argument(name, **how)


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command, and those of its subcommands and the actions of store."""
    parser = Parser(
        prog="scrapy robots",
        description="Ask what robots.txt files allow, before you crawl.",
        epilog=f"'scrapy robots SUBCOMMAND --help' has the options of one.\n{_GLOBAL}",
    )
    several = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    found: dict[str, Parser] = {}
    for name, one in _SUBCOMMANDS.items():
        found[name] = several.add_parser(
            name,
            help=one.question,
            description=_capitalised(one.question),
            epilog=f"example:\n  {one.example}\n\nexit status:\n{_statuses(one)}\n\n{_GLOBAL}",
        )
        found[name].add(one.options)
    actions = found["store"].add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (what, options) in _ACTIONS.items():
        action = actions.add_parser(name, help=what, description=_capitalised(what))
        action.add({**options, "--spider": _STORE_OF})
        found[f"store {name}"] = action
    return parser, found


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _statuses(one: _Subcommand) -> str:
    several = [
        (Status.CLEAN, one.clean),
        (Status.FOUND, one.found),
        (Status.USAGE, "the command line or the input is not right"),
        (Status.UNKNOWN, one.unknown),
        (Status.INTERRUPTED, "interrupted"),
    ]
    return "\n".join(f"  {int(status):>3}  {what}" for status, what in several if what)
