"""The files around the package agree with each other."""

from __future__ import annotations

import re
from configparser import ConfigParser

import pytest

from tests.crawl.harness import ROOT

METADATA = ConfigParser()
METADATA.read(ROOT / "setup.cfg", "utf-8")
WORKFLOWS = sorted((ROOT / ".github").rglob("*.yml"))


def text_of(name: str) -> str:
    """A file of the repository."""
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("name", ["tox.ini", ".pre-commit-config.yaml"])
def test_ruff_has_one_version(name: str) -> None:
    """That of the extra `check`."""
    pinned = set(re.findall(r"ruff ?== ?([\d.]+)", text_of(name)))
    assert pinned == set(re.findall(r"ruff == ([\d.]+)", text_of("setup.cfg")))


def test_the_oldest_scrapy_is_the_one_that_is_tried() -> None:
    """What setup.cfg asks for, tox.ini installs."""
    [oldest] = re.findall(r"Scrapy >= ([\d.]+)", METADATA["options"]["install_requires"])
    assert re.findall(r"Scrapy == ([\d.]+)", text_of("tox.ini")) == [oldest]


def test_classifiers_name_the_versions_of_python_that_are_tried() -> None:
    """In setup.cfg, in tox.ini and in the workflow."""
    named = re.findall(r"Python :: (3\.\d+)$", METADATA["metadata"]["classifiers"], re.MULTILINE)
    [factors] = re.findall(r"newest-py\{(.+)\}", text_of("tox.ini"))
    assert [f"3.{version[1:]}" for version in factors.split(",")] == named
    tried = re.findall(
        r'python: "(3\.\d+)", environment: newest', text_of(".github/workflows/tests.yml")
    )
    assert tried == named


def test_each_requirement_says_what_it_is_for() -> None:
    """A comment stands above each requirement, or above a few that belong together."""
    text = text_of("setup.cfg").partition("[options.extras_require]")[2]
    for extra in re.split(r"^\w+ =\n", text, flags=re.MULTILINE)[1:]:
        assert extra.lstrip().startswith("#"), extra


def test_ci_runs_environments_of_tox_only() -> None:
    """And each of them exists."""
    names = {
        name
        for line in re.findall(r'"\$tox" run-parallel .*-e ([\w,]+),"', text_of(".ci/run"))
        for name in line.split(",")
    }
    names |= set(re.findall(r'"\$tox" run -e ([\w-]+)', text_of(".ci/run")))
    names |= set(re.findall(r"environment: (\w+)\}", text_of(".github/workflows/tests.yml")))
    sections = " ".join(re.findall(r"^\[testenv:(.+)\]$", text_of("tox.ini"), re.MULTILINE))
    assert names >= {"slow", "waits", "timed", "style", "types", "coverage", "site", "build"}
    for name in names - {"newest"}:
        assert name.removesuffix("-py310") in re.findall(r"[\w-]+", sections), name


def test_only_tests_with_bounds_on_time_are_run_again_by_themselves() -> None:
    """A failure of any other is to be seen."""
    marked = re.compile(r"mark\.flaky|reruns")
    here = {"tests/timed.py", "tests/test_project.py"}
    users = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if marked.search(path.read_text("utf-8"))
    }
    assert users == here
    assert "reruns" not in text_of("pyproject.toml") + text_of("tox.ini")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_hold_no_secret_and_few_rights(path: object) -> None:
    """Publishing is by trusted publishing; a checkout leaves no credentials behind.

    Each action is named by the digest of a release.
    """
    text = path.read_text("utf-8")  # type: ignore[attr-defined]
    assert "secrets." not in text
    assert "password" not in text.replace("no password", "")
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    for action in re.findall(r"uses: (.+)", text):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    if "jobs:" in text:
        assert re.search(r"^permissions:", text, re.MULTILINE)
