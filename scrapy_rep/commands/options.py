"""The subcommands of ``scrapy robots``: their options, and what their help says."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from scrapy_rep.commands.output import Status
from scrapy_rep.robotstxt.printable import escaped, without_logins

_GLOBAL = """Scrapy's global options are allowed, too. Settings are given with -s:
-s REP_PROFILE=google follows another document, -s REP_STORE=memory: leaves the
store alone."""

Option = dict[str, Any]
"""What :meth:`argparse.ArgumentParser.add_argument` is told of an option."""


def _option(what: str = "", metavar: str | None = None, **how: Any) -> Option:
    """Return an option; ``what`` is its help."""
    return {"help": what or None, **({"metavar": metavar} if metavar else {}), **how}


def _token(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must be a product token")
    return text


_FORMAT = _option("default: text", choices=["text", "json"], default="text")
_SPIDER = _option("ask as this spider of the project does", "NAME")
_FILE_OR_STDIN = _option("", "FILE|-", nargs="?", default="-")
_VERSION = _option("FILE, URL or - for standard input")
_URLS = _option("", "URL", nargs="+")
_AGENT = _option(
    "product token of the crawler; repeat it to give several, the preferred one first",
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
        "May my crawler fetch these URLs?",
        "scrapy robots check --agent mybot https://example.org/private/page",
        {"urls": _URLS, **_JUDGING},
        "all URLs are allowed",
        "a URL is disallowed",
        "a robots.txt is unreachable",
    ),
    "explain": _Subcommand(
        "Why may my crawler fetch a URL, or why not?",
        "scrapy robots explain https://example.org/private/page",
        {"url": _option("", "URL"), **_JUDGING},
        "the URL is allowed",
        "the URL is disallowed",
        "the robots.txt is unreachable",
    ),
    "sitemaps": _Subcommand(
        "Which sitemaps does the robots.txt of a site name?",
        "scrapy robots sitemaps https://example.org/",
        {"urls": _URLS, "--spider": _SPIDER, "--format": _FORMAT},
        "every site names a sitemap",
        "a site names none",
        "a robots.txt is unreachable",
    ),
    "lint": _Subcommand(
        "What is wrong with a robots.txt?",
        "scrapy robots lint robots.txt https://example.org/",
        {
            "sources": _option("", "FILE|URL|-", nargs="+"),
            "--all": _option("also report what needs no change (information)", action="store_true"),
            "--ignore": _option("leave out codes (a,b)", "CODE", action="append", default=[]),
            "--spider": _SPIDER,
            "--format": {**_FORMAT, "choices": ["text", "json", "sarif", "github"]},
        },
        "there is neither an error nor a warning",
        "there is one",
        "a source could not be fetched",
    ),
    "diff": _Subcommand(
        "What does a change of a robots.txt mean?",
        "scrapy robots diff approved.txt https://example.org/",
        {
            "old": {**_VERSION, "metavar": "OLD"},
            "new": {**_VERSION, "metavar": "NEW"},
            "--agent": {**_AGENT, "help": "compare for this crawler, not for all; repeatable"},
            "--spider": _SPIDER,
            "--format": _FORMAT,
        },
        "no verdict and no pace changes for any crawler",
        "one changes",
        "a robots.txt is unreachable",
    ),
    "filter": _Subcommand(
        "Which of many URLs may my crawler fetch?",
        "scrapy robots filter --rejected rejected.tsv urls.txt > allowed.txt",
        {
            "source": _FILE_OR_STDIN,
            "--agent": _AGENT,
            "--spider": _SPIDER,
            "--robots-txt": _option("these rules govern all URLs", "FILE"),
            "--warc": _option("read the rules from an archive of responses", "FILE"),
            "--missing": _option(
                "what to do with URLs of sites that are not in the archive",
                choices=["reject", "allow"],
            ),
            "--rejected": _option("write the other URLs to FILE, each with TAB and reason", "FILE"),
        },
        "every URL was decided",
        "",
        "the rules of some sites are not known; their URLs are rejected",
    ),
    "store": _Subcommand(
        "What does the configured store hold?",
        "scrapy robots store list",
        {},
        "done",
        "the store knows nothing of a URL",
        "the store cannot be used",
    ),
    "verify": _Subcommand(
        "Do recorded decisions follow from an archive?",
        "scrapy robots verify decisions.jsonl --warc robots-*.warc.gz",
        {
            "logs": _option("decision logs, of REP_DECISION_LOG", "DECISIONS|-", nargs="+"),
            "--warc": _option("archives", "FILE", nargs="+", action="extend", required=True),
            "--format": _FORMAT,
        },
        "all decisions that could be compared agree",
        "a decision differs",
        "some decisions could not be compared",
    ),
    "report": _Subcommand(
        "What do decision logs say?",
        "scrapy robots report monday.jsonl.gz tuesday.jsonl -o report.html",
        {
            "logs": _option("decision logs, of REP_DECISION_LOG", "DECISIONS|-", nargs="+"),
            "-o": _option("write a page of HTML to FILE", "FILE|-", dest="output"),
            "--format": _FORMAT,
        },
        "done",
    ),
}
_ACTIONS: dict[str, tuple[str, Mapping[str, Option]]] = {
    "list": ("What is known of each site", {"--format": _FORMAT}),
    "show": ("The robots.txt of some sites, byte for byte", {"urls": _URLS}),
    "export": ("Everything, as lines of JSON that import reads", {}),
    "import": ("Merge lines of JSON into the store", {"source": _FILE_OR_STDIN}),
    "forget": ("Drop some sites", {"urls": _URLS}),
}


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and where to find help."""

    def __init__(self, **how: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(**how, formatter_class=raw, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        self.exit(
            Status.USAGE,
            f"{self.prog}: {escaped(without_logins(message))} (see {self.prog} --help)\n",
        )

    def add(self, options: Mapping[str, Option]) -> None:
        """Add options by their names."""
        for name, how in options.items():
            self.add_argument(name, **how)


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command, and those of its subcommands by their names."""
    parser = Parser(
        prog="scrapy robots",
        description="Ask what robots.txt files allow, before you crawl.",
        epilog=f"'scrapy robots SUBCOMMAND --help' has the options of one.\n{_GLOBAL}",
    )
    subparsers = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    by_name: dict[str, Parser] = {}
    for name, one in _SUBCOMMANDS.items():
        by_name[name] = subparsers.add_parser(
            name,
            help=one.question,
            description=one.question,
            epilog=f"example:\n  {one.example}\n\nexit status:\n{_statuses(one)}\n\n{_GLOBAL}",
        )
        by_name[name].add(one.options)
    actions = by_name["store"].add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (what, options) in _ACTIONS.items():
        action = actions.add_parser(name, help=what, description=what)
        action.add({**options, "--spider": _SPIDER})
    return parser, by_name


def _statuses(one: _Subcommand) -> str:
    statuses = [
        (Status.CLEAN, one.clean),
        (Status.FOUND, one.found),
        (Status.USAGE, "the command line or the input is not right"),
        (Status.UNKNOWN, one.unknown),
        (Status.INTERRUPTED, "interrupted"),
    ]
    return "\n".join(f"  {int(status):>3}  {what}" for status, what in statuses if what)
