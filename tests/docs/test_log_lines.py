"""Each log line and each stat that the documents quote is one that the package writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import scrapy_rep
from scrapy_rep import stats
from tests.docs.pages import DOCS, PAGES, name_of

QUOTED = re.compile(r"^ +(?:.* )?\[scrapy_rep\] (\w+): (.+)$", re.MULTILINE)
QUOTED_STAT = re.compile(r"^ +'(robotstxt/\S+)': \S+,$", re.MULTILINE)
PLACEHOLDER = re.compile(r"%(?:\.\d+)?[a-z]")
LEVELS = ("debug", "info", "warning", "error")
ENOUGH = 8
"""How many characters of its own a message needs to be told from others."""


@cache
def nodes() -> tuple[ast.AST, ...]:
    """The syntax of the whole package."""
    files = Path(scrapy_rep.__file__).parent.rglob("*.py")
    return tuple(node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))


@cache
def texts() -> tuple[str, ...]:
    """All text in the package that could be a message, or the greater part of one."""
    found = (node.value for node in nodes() if isinstance(node, ast.Constant))
    return tuple(text for text in found if isinstance(text, str) and len(text) > 2 * ENOUGH)


@cache
def messages() -> tuple[tuple[str, str], ...]:
    """The level and the format of each line that is logged; "%s" if it is a variable."""
    return tuple(
        (node.func.attr.upper(), getattr(node.args[0], "value", "%s"))
        for node in nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LEVELS
        and node.args
        and isinstance(node.args[0], ast.Constant | ast.Name)
    )


def is_written(level: str, line: str) -> bool:
    """Whether the package logs such a line at this level."""
    for text in [text for logged_at, text in messages() if logged_at == level]:
        parts = PLACEHOLDER.split(text)
        if len("".join(parts).strip()) < ENOUGH:  # such as "%s %s": the text is elsewhere
            known = any(part in line for part in texts())
        else:
            known = bool(re.fullmatch(".+".join(map(re.escape, parts)), line))
            known = known or bool(re.fullmatch(".*".join(map(re.escape, parts)), line))
        if known:
            return True
    return False


def quoted_lines() -> Iterator[tuple[str, str, str]]:
    """The page, the level and the text of each log line in the documents."""
    for page in PAGES:
        for level, line in QUOTED.findall(page.read_text("utf-8")):
            yield name_of(page), level, line


def test_log_lines_in_the_documents_are_logged() -> None:
    """At that level, and but for names and numbers in these words; other lines are not."""
    quoted = [*quoted_lines()]
    assert len(quoted) > 20
    assert [words for words in quoted if not is_written(*words[1:])] == []
    assert is_written("INFO", "Obeying robots.txt as shopbot")
    assert not is_written("DEBUG", "Obeying robots.txt as shopbot")
    assert not is_written("INFO", "Obeying the robots.txt as shopbot")


def test_stats_in_the_documents_are_counted() -> None:
    """Those that are shown as Scrapy shows them when a crawl ends."""
    names = [value for name, value in vars(stats).items() if name.isupper()]
    names = [re.escape(name).replace(r"\{\}", ".+") for name in names if isinstance(name, str)]
    shown = {stat for page in PAGES for stat in QUOTED_STAT.findall(page.read_text("utf-8"))}
    assert "robotstxt/bypassed" in shown
    assert [stat for stat in shown if not any(re.fullmatch(name, stat) for name in names)] == []


def test_other_messages_of_the_answers_are_those_of_the_package() -> None:
    """What ends a crawl before it starts is no log line."""
    text = (DOCS / "guides" / "answers.rst").read_text("utf-8")
    blocks = re.findall(r"^::\n\n((?: {4}.+\n)+)", text, re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    others = [line for line in lines if not line.startswith(("[scrapy_rep] ", "'robotstxt/"))]
    assert len(others) == 2
    assert [line for line in others if not any(text in line for text in texts())] == []
