"""The subcommands and their options.

Scrapy's parser reads its global options and hands over the rest, so that what is left over here is
a mistake of the user's: argparse ends the command with status 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from scrapy_rep.linting.codes import SEVERITIES
from scrapy_rep.robotstxt.profiles import PROFILES

_GLOBAL = """Scrapy's global options (-s, -L, --logfile, --nolog, --profile, --pdb) are
allowed, too."""
_STATUSES = """exit status:
    0  all is allowed, or nothing was found
    1  some is disallowed, or something was found
    2  the command line or the input is not right
    3  the rules could not be fetched or read
    4  rules that were approved have changed
  130  interrupted"""

_EXAMPLES = {
    "check": """examples:
  scrapy robots check https://example.org/private/page
  scrapy robots check --agent mybot --format json https://example.org/
  scrapy robots check --spider shop https://example.org/
  scrapy robots check --robots-txt new-robots.txt https://example.org/private
  scrapy robots check --approve approved.json https://example.org/""",
    "explain": """examples:
  scrapy robots explain https://example.org/private/page
  scrapy robots explain --agent mybot --rep-profile google https://e.org/
  scrapy robots explain --robots-txt robots.txt https://example.org/a""",
    "lint": """examples:
  scrapy robots lint robots.txt
  scrapy robots lint https://example.org/
  scrapy robots lint --fail-on error --ignore agent-digit robots.txt
  scrapy robots lint --format sarif robots.txt > robots.sarif""",
    "diff": """examples:
  scrapy robots diff old-robots.txt new-robots.txt
  scrapy robots diff https://example.org/ robots.txt
  scrapy robots diff store:https://example.org https://example.org/
  scrapy robots diff --agent mybot old-robots.txt new-robots.txt""",
    "filter": """examples:
  scrapy robots filter --agent mybot urls.txt > allowed.txt
  zcat urls.gz | scrapy robots filter --rejected rejected.tsv - | sort -u
  scrapy robots filter --robots-dir robots/ --missing allow urls.txt
  scrapy robots filter --warc CC-MAIN-robotstxt.warc.gz urls.txt""",
    "replay": """examples:
  scrapy robots replay decisions.jsonl --warc robots.warc.gz
  scrapy robots replay decisions.jsonl --warc robots-20261122093000-7c6cd3b8.warc.gz
  scrapy robots replay decisions.jsonl --warc robots.warc.gz --rep-profile google""",
    "cache": """examples:
  scrapy robots cache count
  scrapy robots cache list --prefix https://example --state unreachable
  scrapy robots cache show https://example.org/
  scrapy robots cache forget https://example.org/
  scrapy robots cache export > robots.jsonl
  scrapy robots cache import robots.jsonl""",
    "report": """examples:
  scrapy robots report decisions.jsonl -o report.html
  scrapy robots report worker-1.jsonl worker-2.jsonl -o report.html
  zcat decisions.jsonl.gz | scrapy robots report - -o report.html""",
}


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, and where to find help."""

    def error(self, message: str) -> NoReturn:
        """End with status 2."""
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)
        self.exit(2, f"{self.prog}: {line} (see {self.prog} --help)\n")


def parse(args: Sequence[str], *, wants_help: bool) -> argparse.Namespace:
    """Return the options of a subcommand; end with status 2, or with 0 if help is wanted."""
    parser = _parser()
    if wants_help:
        depth = 2 if args[:1] == ["cache"] else 1
        names = [name for name in args[:depth] if not name.startswith("-")]
        parser.parse_args([*names, "--help"])
    if not args:
        parser.error(f"a subcommand is missing: one of {', '.join(_EXAMPLES)}")
    return parser.parse_args(args)


def _parser() -> Parser:
    parser = Parser(
        prog="scrapy robots",
        description="Ask what robots.txt files allow, before you crawl.",
        epilog=f"{_STATUSES}\n\n{_GLOBAL}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    several = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
    _check(_subparser(several, "check", "may my crawler fetch these URLs?"))
    _explain(_subparser(several, "explain", "why may my crawler fetch a URL, or why not?"))
    _lint(_subparser(several, "lint", "what is wrong with a robots.txt?"))
    _diff(_subparser(several, "diff", "what does a change of a robots.txt mean?"))
    _filter(_subparser(several, "filter", "which of many URLs may my crawler fetch?"))
    _replay(_subparser(several, "replay", "do recorded decisions follow from an archive?"))
    _cache(_subparser(several, "cache", "what does the configured store hold?"))
    _report(_subparser(several, "report", "what do decision logs say?"))
    return parser


def _subparser(several: Any, name: str, what: str) -> Parser:
    parser: Parser = several.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:],
        epilog=f"{_EXAMPLES[name]}\n\n{_STATUSES}\n\n{_GLOBAL}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def _identity(parser: Parser, *, fetches: bool = True) -> None:
    parser.add_argument(
        "--agent",
        action="append",
        type=_token,
        metavar="TOKEN",
        help="product token of the crawler; repeat it for tokens in order of preference. "
        "Without it: that of the spider or the settings",
    )
    parser.add_argument(
        "--rep-profile",
        choices=[*PROFILES],
        metavar="PROFILE",
        help=f"the document to follow: {', '.join(PROFILES)}; without it: REP_PROFILE",
    )
    if fetches:
        _fetching(parser)


def _fetching(parser: Parser) -> None:
    parser.add_argument("--spider", metavar="NAME", help="fetch as this spider of the project does")
    parser.add_argument(
        "--no-store", action="store_true", help="neither read nor write the configured store"
    )


def _format(parser: Parser, *names: str) -> None:
    parser.add_argument("--format", choices=names, default="text", help="default: text")


def _check(parser: Parser) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL")
    _identity(parser)
    parser.add_argument(
        "--robots-txt", metavar="FILE", help="read the rules from FILE instead of fetching them"
    )
    parser.add_argument(
        "--approve",
        metavar="FILE",
        help="keep the rules and overrides in force for the crawler in FILE, or compare them with "
        "it: status 4 if their effect has changed",
    )
    _format(parser, "text", "json", "jsonl")


def _explain(parser: Parser) -> None:
    parser.add_argument("url", metavar="URL")
    _identity(parser)
    parser.add_argument(
        "--robots-txt", metavar="FILE", help="read the rules from FILE instead of fetching them"
    )
    _format(parser, "text", "json")


def _lint(parser: Parser) -> None:
    parser.add_argument("sources", nargs="+", metavar="FILE|URL|-")
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
    _format(parser, "text", "json", "sarif", "github")


def _diff(parser: Parser) -> None:
    where = "FILE, URL, -, store:URL or warc:FILE#URL[@TIME]"
    parser.add_argument("old", metavar="OLD", help=where)
    parser.add_argument("new", metavar="NEW", help=where)
    _identity(parser)
    _format(parser, "text", "json")


def _filter(parser: Parser) -> None:
    parser.add_argument("source", nargs="?", default="-", metavar="FILE|-")
    _identity(parser)
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--robots-txt", metavar="FILE", help="these rules govern all URLs")
    given.add_argument(
        "--robots-dir", metavar="DIR", help="a folder of files https_HOST or https_HOST_PORT"
    )
    given.add_argument(
        "--warc", metavar="FILE", help="an archive of responses (extra: scrapy_rep[evidence])"
    )
    parser.add_argument(
        "--missing",
        choices=["reject", "allow"],
        default="reject",
        help="what becomes of URLs for which DIR or the archive has no file; default: reject",
    )
    parser.add_argument(
        "--rejected", metavar="FILE", help="write the other URLs to FILE, each with TAB and reason"
    )


def _replay(parser: Parser) -> None:
    parser.add_argument("decisions", metavar="DECISIONS", help="a file of REP_DECISION_LOG")
    parser.add_argument(
        "--warc",
        action="append",
        required=True,
        metavar="FILE",
        help="an archive, or the name in REP_WARC, which stands for the archives of all its runs; "
        "repeat it for several (extra: scrapy_rep[evidence])",
    )
    parser.add_argument(
        "--agent",
        action="append",
        metavar="TOKEN",
        help="list what would change for this product token; repeat it for tokens in order of "
        "preference",
    )
    parser.add_argument(
        "--rep-profile", choices=[*PROFILES], help="list what would change under this document"
    )
    _format(parser, "text", "jsonl")


def _cache(parser: Parser) -> None:
    several = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, what in (
        ("count", "how many authorities the store knows"),
        ("list", "what it knows, one authority in a line of JSON"),
        ("show", "all about some authorities, with the octets"),
        ("forget", "drop some authorities"),
        ("expire", "have some fetched again at their next use; keep copies and validators"),
        ("prune", "drop what is no longer useful"),
        ("leases", "which authorities are being fetched"),
        ("export", "everything, as lines of JSON that import reads"),
        ("import", "merge lines of JSON into the store"),
    ):
        action = several.add_parser(
            name, help=what, description=what[0].upper() + what[1:], allow_abbrev=False
        )
        action.add_argument(
            "--spider", metavar="NAME", help="the store that this spider of the project uses"
        )
        if name in ("show", "forget", "expire"):
            action.add_argument("urls", nargs="*", metavar="URL")
        if name in ("forget", "expire"):
            action.add_argument("--all", action="store_true", help="all that match the filters")
        if name in ("count", "list", "forget", "expire", "export"):
            _cache_filters(action)
        if name == "import":
            action.add_argument("source", nargs="?", default="-", metavar="FILE|-")


def _report(parser: Parser) -> None:
    parser.add_argument(
        "logs", nargs="+", metavar="DECISIONS|-", help="decision logs, of REP_DECISION_LOG"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE|-", help="write the page to FILE"
    )


def _cache_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prefix", default="", metavar="TEXT", help="authorities that begin so")
    parser.add_argument(
        "--older-than", type=_seconds, metavar="SECONDS", help="learnt longer ago than that"
    )
    parser.add_argument(
        "--state",
        action="append",
        choices=["rules", "unavailable", "denied", "unreachable"],
        help="what the authority said last; may be repeated",
    )
    parser.add_argument("--cause", metavar="TEXT", help="unreachable by this cause: dns, timeout")


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
