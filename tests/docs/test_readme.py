"""README.rst is short, and says what is so; CHANGES.rst begins with this version."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import docutils.core
import docutils.nodes
import pytest

from tests.crawl.harness import ROOT
from tests.docs.pages import README
from tests.rows import rows
from tests.test_example import demo

PLAIN = {"halt_level": 2, "report_level": 2, "file_insertion_enabled": False}
DOCUMENTS = ["README.rst", "CHANGES.rst", "CONTRIBUTING.rst", "SECURITY.rst", "tests/README.rst"]
ADDRESS = re.compile(r"https?://[\w.:-]+")
KNOWN = {
    "https://example.org",
    "https://example.net",
    "https://www.scrapy.org",
    "https://www.rfc-editor.org",
    "https://...",
}


@cache
def document(name: str) -> docutils.nodes.document:
    """A document, read; a warning of docutils is an error."""
    text = (ROOT / name).read_text("utf-8")
    return docutils.core.publish_doctree(text, name, settings_overrides=PLAIN)


@rows("name", DOCUMENTS)
def test_documents_are_well_formed_and_their_links_to_files_lead_somewhere(name: str) -> None:
    """Each can be shown by itself, without Sphinx; a link without a scheme is a file."""
    assert document(name).children
    for node in document(name).findall(docutils.nodes.reference):
        target = node.get("refuri", "")
        if target and ":" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), target


def test_readme_is_short() -> None:
    """Everything else has its place in docs."""
    assert len(README.read_text("utf-8").splitlines()) <= 110


def test_readme_has_no_link_that_a_package_index_does_not_resolve() -> None:
    """It names the pages of the site, and each of them exists."""
    nodes = document("README.rst").findall(docutils.nodes.reference)
    links = [node.get("refuri", "") for node in nodes]
    assert [link for link in links if ":" not in link] == []
    named = re.findall(r"``((?:docs/)?[\w/-]+\.rst)``", README.read_text("utf-8"))
    assert len(named) > 6
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_readme_makes_up_no_address() -> None:
    """The project has no public address yet."""
    found = set(ADDRESS.findall(README.read_text("utf-8")))
    assert {url for url in found if not url.startswith("http://127.0.0.")} <= KNOWN


COMMANDS = re.findall(r"^    (python3 -m venv .+)$", README.read_text("utf-8"), re.M)
"""What `.ci/run` runs: the indented lines that begin with the making of a virtual environment."""


def test_two_commands_run_the_example_and_the_tests() -> None:
    """Each makes its virtual environment first, and bears no prompt of a shell."""
    example, tests = COMMANDS
    assert example.endswith("(cd example_project && ../.venv/bin/scrapy crawl demo)")
    assert tests.endswith("-m pytest")
    assert not re.search(r"^ *[$>] ", README.read_text("utf-8"), re.M)


@pytest.mark.parametrize("pasted", [COMMANDS, COMMANDS[::-1], COMMANDS[:1] * 2])
def test_commands_may_be_pasted_into_one_shell(tmp_path: Path, pasted: list[str]) -> None:
    """In any order: each program in them is called in the folder that it needs."""
    (tmp_path / "example_project").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("python3", ".venv/bin/pip", ".venv/bin/python", ".venv/bin/scrapy"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho "$(pwd -P) {name}" >>{tmp_path}/called\n')
        program.chmod(0o755)
    shell = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(
        ["bash", "-e"], input="\n".join(pasted), text=True, cwd=tmp_path, env=shell, check=True
    )
    top = str(tmp_path.resolve())
    called = [line.rsplit(" ", 1) for line in (tmp_path / "called").read_text().splitlines()]
    assert len(called) == 3 * len(pasted)
    for folder, program in called:
        assert folder == (f"{top}/example_project" if program.endswith("scrapy") else top)


def test_ci_runs_these_commands() -> None:
    """It finds the same two lines in the README, and no others."""
    finds = re.search(r"^ +sed -n '(.+)' README.rst", (ROOT / ".ci/run").read_text(), re.M)
    sed = ["sed", "-n", finds.group(1), "README.rst"]
    assert subprocess.check_output(sed, cwd=ROOT, text=True).splitlines() == COMMANDS


def test_readme_shows_what_the_demo_prints() -> None:
    """Each line of the excerpt, but for ports and times, and in that order."""
    [excerpt] = [
        node.astext()
        for node in document("README.rst").findall(docutils.nodes.literal_block)
        if "robots.txt: 503, 503" in node.astext()
    ]
    printed = [timeless(line) for line in demo().stdout.splitlines()]
    at = 0
    for line in excerpt.splitlines()[2:]:
        at = printed.index(timeless("  " + line if line.startswith("/") else line), at) + 1


def timeless(line: str) -> str:
    """A line without what differs from run to run."""
    return re.sub(r":\d{4,5}\b| *\d+\.\d s", "#", line).strip()


def test_changes_begin_with_this_version() -> None:
    """The first section of CHANGES.rst is of the package's version, which is in one place."""
    changes = document("CHANGES.rst")
    [version] = re.findall(r"^version = (.+)$", (ROOT / "setup.cfg").read_text("utf-8"), re.M)
    titles = [node.astext().split()[0] for node in changes.findall(docutils.nodes.subtitle)]
    titles += [node.astext().split()[0] for node in changes.findall(docutils.nodes.title)]
    assert version in titles[:2]
