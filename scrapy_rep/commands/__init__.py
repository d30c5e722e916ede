"""The command ``scrapy robots``: ask before you crawl.

Every call of ``scrapy`` loads this module, by the entry point ``scrapy.commands``. So it imports
nothing but what Scrapy has imported already; the rest is imported when the command runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class RobotsCommand(ScrapyCommand):
    """Answers what a robots.txt allows, why, and what is wrong with it."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Return what follows ``scrapy robots``."""
        return "SUBCOMMAND [options] ..."

    def short_desc(self) -> str:
        """Return what the list of commands says."""
        return "Check, explain, lint and compare robots.txt files; sitemaps; filter URLs; records"

    def add_options(self, parser: ArgumentParser) -> None:
        """Add Scrapy's options; those of the subcommands are parsed from what is left over."""
        super().add_options(parser)
        # The usual action would print the help of Scrapy's parser.
        parser.add_argument("-h", "--help", action="store_true", help="show this help")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Parse the subcommand and its options; end with status 2 if they are not right."""
        super().process_options(args, opts)
        import_module("scrapy_rep.commands.cli").prepare(args, opts)

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the subcommand; set the exit status."""
        self.exitcode = import_module("scrapy_rep.commands.cli").run(self.settings, opts)
