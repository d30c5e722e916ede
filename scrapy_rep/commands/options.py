"""The subcommands of ``scrapy robots``, their options, and what their help says."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple, NoReturn

from scrapy_rep.commands.output import Status
from scrapy_rep.linting.codes import SEVERITIES
from scrapy_rep.robotstxt.profiles import PROFILES

_GLOBAL = """Scrapy's global options (-s, -L, --logfile, --nolog, --profile, --pdb) are
allowed, too."""


class _Text(NamedTuple):
    """What the help of a subcommand says: its question, an example, its exit statuses."""

    question: str
    example: str
    clean: str
    found: str = ""
    unknown: str = ""


_TEXTS = {
    "check": _Text(
        "may my crawler fetch these URLs?",
        "scrapy robots check --agent mybot https://example.org/private/page",
        "all URLs are allowed",
        "a URL is disallowed",
        "a robots.txt is unreachable",
    ),
    "explain": _Text(
        "why may my crawler fetch a URL, or why not?",
        "scrapy robots explain https://example.org/private/page",
        "the URL is allowed",
        "the URL is disallowed",
        "the robots.txt is unreachable",
    ),
    "lint": _Text(
        "what is wrong with a robots.txt?",
        "scrapy robots lint robots.txt https://example.org/",
        "there is no finding of the severity of --fail-on",
        "there is one",
        "a source could not be fetched",
    ),
    "diff": _Text(
        "what does a change of a robots.txt mean?",
        "scrapy robots diff approved.txt https://example.org/",
        "nothing changes for any crawler",
        "something changes",
        "a robots.txt is unreachable",
    ),
    "filter": _Text(
        "which of many URLs may my crawler fetch?",
        "scrapy robots filter --rejected rejected.tsv urls.txt > allowed.txt",
        "every URL was decided",
        "",
        "the rules of some sites are not known; their URLs are rejected",
    ),
    "store": _Text(
        "what does the configured store hold?",
        "scrapy robots store list --state unreachable",
        "done",
        "the store knows nothing of a URL",
        "the store cannot be used",
    ),
    "verify": _Text(
        "do recorded decisions follow from an archive?",
        "scrapy robots verify decisions.jsonl --warc robots-20261122093000-7c6cd3b8.warc.gz",
        "all that could be compared agree",
        "a decision differs",
        "some decisions could not be compared",
    ),
    "report": _Text(
        "what do decision logs say?",
        "scrapy robots report monday.jsonl.gz tuesday.jsonl -o report.html",
        "done",
    ),
}


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and where to find help."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
        self.exit(Status.USAGE, f"{self.prog}: {line} (see {self.prog} --help)\n")


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the command, and those of its subcommands."""
    parser = Parser(
        prog="scrapy robots",
        description="Ask what robots.txt files allow, before you crawl.",
        epilog=f"'scrapy robots SUBCOMMAND --help' has the options of one.\n{_GLOBAL}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    several = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    found = {name: _subparser(several, name, text) for name, text in _TEXTS.items()}
    _check(found["check"])
    _explain(found["explain"])
    _lint(found["lint"])
    _diff(found["diff"])
    _filter(found["filter"])
    _store(found["store"])
    _verify(found["verify"])
    _report(found["report"])
    return parser, found


def _subparser(several: Any, name: str, text: _Text) -> Parser:
    statuses = [
        (Status.CLEAN, text.clean),
        (Status.FOUND, text.found),
        (Status.USAGE, "the command line or the input is not right"),
        (Status.UNKNOWN, text.unknown),
        (Status.INTERRUPTED, "interrupted"),
    ]
    listed = "\n".join(f"  {int(status):>3}  {what}" for status, what in statuses if what)
    parser: Parser = several.add_parser(
        name,
        help=text.question,
        description=text.question[0].upper() + text.question[1:],
        epilog=f"example:\n  {text.example}\n\nexit status:\n{listed}\n\n{_GLOBAL}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def _identity(parser: Parser) -> None:
    parser.add_argument(
        "--agent",
        action="append",
        type=_token,
        metavar="TOKEN",
        help="product token of the crawler; repeat it for tokens in order of preference. "
        "Without it: that of the spider or the settings",
    )
    _profile(parser)


def _profile(parser: Parser) -> None:
    parser.add_argument(
        "--rep-profile",
        choices=[*PROFILES],
        metavar="PROFILE",
        help=f"the document to follow: {', '.join(PROFILES)}; without it: REP_PROFILE",
    )


def _fetching(parser: Parser) -> None:
    parser.add_argument("--spider", metavar="NAME", help="fetch as this spider of the project does")
    parser.add_argument(
        "--no-store", action="store_true", help="neither read nor write the configured store"
    )


def _robots_txt(parser: Any) -> None:
    parser.add_argument(
        "--robots-txt", metavar="FILE", help="read the rules from FILE instead of fetching them"
    )


def _format(parser: Any, *names: str) -> None:
    parser.add_argument(
        "--format", choices=["text", "json", *names], default="text", help="default: text"
    )


def _check(parser: Parser) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL")
    _identity(parser)
    _fetching(parser)
    _robots_txt(parser)
    _format(parser)


def _explain(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL")
    _identity(parser)
    _fetching(parser)
    _robots_txt(parser)
    _format(parser)


def _lint(parser: Parser) -> None:
    parser.add_argument("sources", nargs="+", metavar="FILE|URL|-")
    parser.add_argument(
        "--all", action="store_true", help="report what needs no change, too (information)"
    )
    parser.add_argument(
        "--select", action="append", metavar="CODE", help="report these codes only (a,b or repeat)"
    )
    parser.add_argument(
        "--ignore", action="append", metavar="CODE", help="do not report these codes"
    )
    parser.add_argument(
        "--fail-on",
        choices=[*SEVERITIES, "never"],
        default="warning",
        help="the least severity that makes the exit status 1; default: warning",
    )
    _fetching(parser)
    _format(parser, "sarif", "github")


def _diff(parser: Parser) -> None:
    parser.add_argument("old", metavar="OLD", help="FILE, URL or - for standard input")
    parser.add_argument("new", metavar="NEW", help="FILE, URL or - for standard input")
    parser.add_argument(
        "--agent",
        action="append",
        type=_token,
        metavar="TOKEN",
        help="a crawler to compare for; repeat it for several. Without it: all crawlers that the "
        "files name, and all others (*)",
    )
    _profile(parser)
    _fetching(parser)
    _format(parser)


def _filter(parser: Parser) -> None:
    parser.add_argument("source", nargs="?", default="-", metavar="FILE|-")
    _identity(parser)
    _fetching(parser)
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--robots-txt", metavar="FILE", help="these rules govern all URLs")
    given.add_argument(
        "--warc", metavar="FILE", help="an archive of responses (extra: scrapy_rep[evidence])"
    )
    parser.add_argument(
        "--missing",
        choices=["reject", "allow"],
        help="what becomes of URLs of sites that the archive lacks; without it they are rejected, "
        "and the exit status is 3",
    )
    parser.add_argument(
        "--rejected", metavar="FILE", help="write the other URLs to FILE, each with TAB and reason"
    )


def _store(parser: Parser) -> None:
    several = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, what in (
        ("list", "what is known of each site"),
        ("show", "all about some sites"),
        ("export", "everything, as lines of JSON that import reads"),
        ("import", "merge lines of JSON into the store"),
        ("forget", "drop some sites"),
    ):
        action = several.add_parser(
            name, help=what, description=what[0].upper() + what[1:], allow_abbrev=False
        )
        action.add_argument(
            "--spider", metavar="NAME", help="the store that this spider of the project uses"
        )
        if name == "show":
            action.add_argument("urls", nargs="+", metavar="URL")
            action.add_argument(
                "--body", action="store_true", help="write the octets of robots.txt alone"
            )
        if name == "import":
            action.add_argument("source", nargs="?", default="-", metavar="FILE|-")
        if name == "forget":
            action.add_argument("urls", nargs="*", metavar="URL")
            action.add_argument("--all", action="store_true", help="forget everything")
        if name in ("list", "forget", "export"):
            _selection(action)
        if name in ("list", "show"):
            _format(action)


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prefix", default="", metavar="TEXT", help="sites that begin so")
    parser.add_argument(
        "--older-than", type=_seconds, metavar="SECONDS", help="learnt longer ago than that"
    )
    parser.add_argument(
        "--state",
        action="append",
        choices=["rules", "unavailable", "denied", "unreachable"],
        help="what the site said last; may be repeated",
    )


def _verify(parser: Parser) -> None:
    parser.add_argument("log", metavar="DECISIONS|-", help="a decision log, of REP_DECISION_LOG")
    parser.add_argument(
        "--warc",
        action="append",
        required=True,
        metavar="FILE",
        help="an archive of REP_WARC; repeat it for several (extra: scrapy_rep[evidence])",
    )
    _format(parser)


def _report(parser: Parser) -> None:
    parser.add_argument(
        "logs", nargs="+", metavar="DECISIONS|-", help="decision logs, of REP_DECISION_LOG"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE|-",
        help="write a page of HTML to FILE (extra: scrapy_rep[report])",
    )
    _format(parser)


def _token(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must be a product token")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds, 0 or more")
    return seconds
