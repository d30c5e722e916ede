"""The two maps for contributors name everything that there is: packages, modules, test folders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scrapy_rep
from tests.rows import rows

PACKAGE = Path(scrapy_rep.__file__).parent
TESTS = Path(__file__).parent.parent
ARCHITECTURE = (TESTS.parent / "docs" / "architecture.rst").read_text("utf-8")
MAP_OF_TESTS = (TESTS / "README.rst").read_text("utf-8")


def words(text: str) -> set[str]:
    """Everything that a document sets in double backquotes."""
    return set(re.findall(r"``([^`]+)``", " ".join(text.split())))


def folders(path: Path) -> list[str]:
    """The Python packages right below a folder."""
    return sorted(found.parent.name for found in path.glob("*/__init__.py"))


@pytest.mark.parametrize("package", folders(PACKAGE))
def test_each_package_is_in_the_architecture(package: str) -> None:
    """With what it does."""
    assert f"    * - ``{package}``\n      - " in ARCHITECTURE


@pytest.mark.parametrize(
    "module", sorted(path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__")
)
def test_each_module_beside_the_packages_is_in_the_architecture(module: str) -> None:
    """A reader of `ls` finds each name explained."""
    assert module in words(ARCHITECTURE)


@pytest.mark.parametrize("folder", folders(TESTS))
def test_each_folder_of_tests_is_on_the_map(folder: str) -> None:
    """So that a new test finds its place."""
    assert folder in words(MAP_OF_TESTS)


@rows("path", sorted(word for word in words(ARCHITECTURE) if re.fullmatch(r"[\w/]+/\w+\.py", word)))
def test_each_file_that_the_architecture_names_exists(path: str) -> None:
    """A file that was moved is named where it is now."""
    assert (PACKAGE / path).exists() or (TESTS.parent / path).exists()


@pytest.mark.parametrize(
    "name",
    sorted(
        word
        for word in words(ARCHITECTURE)
        if re.fullmatch(r"[a-z_]+\.[a-z_]+", word) and word.partition(".")[0] in folders(PACKAGE)
    ),
)
def test_each_module_that_the_architecture_names_exists(name: str) -> None:
    """As in ``protocol.syntax``."""
    assert (PACKAGE / f"{name.replace('.', '/')}.py").exists()
