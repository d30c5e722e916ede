"""The two maps for contributors name everything that there is: packages, modules, test folders."""

from __future__ import annotations

import re
from pathlib import Path

import scrapy_rep

PACKAGE = Path(scrapy_rep.__file__).parent
TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
ARCHITECTURE = (ROOT / "docs" / "architecture.rst").read_text("utf-8")
MAP_OF_TESTS = (TESTS / "README.rst").read_text("utf-8")


def words(text: str) -> set[str]:
    """Everything that a document sets in double backquotes."""
    return set(re.findall(r"``([^`]+)``", " ".join(text.split())))


def folders(path: Path) -> list[str]:
    """The Python packages right below a folder."""
    return sorted(found.parent.name for found in path.glob("*/__init__.py"))


def test_the_maps_name_all_packages_modules_and_folders_of_tests() -> None:
    """A reader of `ls` finds each name explained, and a new test its place."""
    for package in folders(PACKAGE):
        assert f"    * - ``{package}``\n      - " in ARCHITECTURE
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert modules - words(ARCHITECTURE) == set()
    assert {*folders(TESTS)} - words(MAP_OF_TESTS) == set()


def test_each_file_and_module_that_the_architecture_names_exists() -> None:
    """What was moved is named where it is now: a path, or ``robotstxt.rules``."""
    named = words(ARCHITECTURE)
    files = [word for word in named if re.fullmatch(r"[\w/]+/\w+\.py", word)]
    assert [
        path for path in files if not ((PACKAGE / path).exists() or (ROOT / path).exists())
    ] == []
    dotted = [word for word in named if re.fullmatch(r"[a-z_]+\.[a-z_]+", word)]
    modules = [word for word in dotted if word.partition(".")[0] in folders(PACKAGE)]
    found = [name for name in modules if (PACKAGE / f"{name.replace('.', '/')}.py").exists()]
    assert found == modules
