"""docs/guides/command.rst shows what the command prints."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

from scrapy_rep.commands.options import _ACTIONS, _SUBCOMMANDS
from scrapy_rep.commands.output import Status
from tests.commands.running import robots

STORED = {
    "site": "https://example.org",
    "answer": {"status": 200, "uri": "https://example.org/robots.txt", "redirects": [],
        "fetched_at": time.time(), "lifetime": None, "cut_at": None, "body": "User-agent: *\n"},
}  # fmt: skip

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "command.rst"
_FILE = re.compile(r"\.\. code-block:: text\n    :caption: (\S+)\n\n((?:    .*\n|\n)+)")
_CONSOLE = re.compile(r"\.\. code-block:: console\n\n((?:    .*\n|\n(?=    |\n    ))+)")


def files() -> dict[str, str]:
    """The files of the page, by name."""
    return {
        name: dedent(text).rstrip("\n") + "\n" for name, text in _FILE.findall(PAGE.read_text())
    }


def commands() -> Iterator[tuple[list[str], str]]:
    """The commands of the page as words, in order, and what each prints there."""
    for block in _CONSOLE.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", dedent(block), flags=re.MULTILINE)[1:]:
            line, _, out = part.partition("\n")
            yield shlex.split(line), out.rstrip("\n")


def ran(words: list[str], folder: Path) -> str:
    """What a command prints in a folder; files in /tmp are in that folder."""
    if words[0] == "cat":
        return (folder / words[1]).read_text().rstrip("\n")
    assert words[:2] == ["scrapy", "robots"]
    ended = robots(*[word.replace("/tmp/", f"{folder}/") for word in words[2:]], cwd=folder)
    return (ended.out + ended.err).rstrip("\n")


def test_the_guide_has_every_subcommand_action_option_and_exit_status() -> None:
    """Commands that are shown are not enough: a list of what there is can be lost."""
    page = PAGE.read_text("utf-8")
    assert [name for name in _SUBCOMMANDS if f"``{name}``" not in page] == []
    assert [name for name in _ACTIONS if f"\n``store {name}" not in page] == []
    assert [int(status) for status in Status if f"\n{status:d}\n    " not in page] == []
    several = [one.options for one in _SUBCOMMANDS.values()] + [of for _, of in _ACTIONS.values()]
    options = {name for each in several for name in each if name[:2] == "--"}
    assert [name for name in options if f"``{name}" not in page] == []
    hows = [how for each in several for how in each.values()]
    words = {word for how in hows for word in how.get("choices", ()) if word != how.get("default")}
    assert [word for word in words if not re.search(rf"``(--\S+ )?{word}``", page)] == []


def test_commands_print_what_the_guide_shows(tmp_path: Path) -> None:
    """Stdout, and the reason on stderr after it."""
    for name, text in {**files(), "robots.jsonl": json.dumps(STORED)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = [*commands()]
    assert len(shown) >= 8
    for words, out in shown:
        lines = [line.rstrip() for line in ran(words, tmp_path).split("\n")]
        assert "\n".join(lines) == out, words
