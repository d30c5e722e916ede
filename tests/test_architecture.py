"""The modules of the package: which may import which, and how large they may be.

The imports are read from the source: those at the start, those in functions, and those that are for
type checkers only.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import scrapy_rep
from scrapy_rep.scrapy_names import NAMES
from tests.rows import rows

PACKAGE = Path(scrapy_rep.__file__).parent
OPTIONAL = {"jinja2", "markupsafe", "msgspec", "redis", "resource", "rich", "warcio", "yarl"}
"""Dependencies of extras, and what Windows lacks, imported where they are first needed."""

SLOW_TO_IMPORT = {"http_sf"}
"""What is imported when it is first needed."""

REACTOR = "twisted.internet.reactor"
"""What installs a reactor when it is imported, so that it must wait until one is running."""

OUTSIDE = {
    "scrapy_rep.overrides": {"tomli"},
    "scrapy_rep.pages": {"lxml", "w3lib"},
    "scrapy_rep.preferences": {"http_sf"},
    "scrapy_rep.access": set(),
    "scrapy_rep.linting": {"http_sf"},
    "scrapy_rep.stores": {"redis"},
    "scrapy_rep.frontier.order": set(),
    "scrapy_rep.frontier.sites": set(),
    "scrapy_rep.frontier.states": set(),
}
"""What a package or a module may import from outside the standard library and this package."""

PURE = {"access", "linting", "pages", "preferences", "robotstxt"}
"""Packages without a clock, a network or a log."""

WORLD = {"time", "logging", "os", "socket", "random", "threading"}
"""Modules that give access to a clock, a network, a log or a state shared by threads."""


class Import(NamedTuple):
    """One import of a module, or of a name from it.

    `when`: "start", "late" if it happens in a function, "never" if it is for type checkers only.
    """

    importer: str
    target: str
    name: str
    line: int
    when: str

    def __str__(self) -> str:
        return f"{self.importer} imports {self.target} in line {self.line}"


def name_of(path: Path) -> str:
    """The dotted name of a file."""
    parts = [*path.relative_to(PACKAGE.parent).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}

EVERYTHING = {"scrapy_rep"}
"""What may be imported by the modules that only connect the others."""

CONNECTING = (
    *("", "addon", "downloadermiddlewares", "extensions", "parts", "redis_queue"),
    "spidermiddlewares",
)
MAY_IMPORT: dict[str, set[str]] = dict.fromkeys(CONNECTING, EVERYTHING) | {
    package: {*names.split()}
    for package, names in {
        "robotstxt": "",
        "access": "robotstxt",
        "pages": "robotstxt",
        "preferences": "pages robotstxt",
        "linting": "preferences robotstxt",
        "awaiting": "",
        "stats": "access robotstxt",
        "exceptions": "preferences access robotstxt",
        "settings": "preferences access robotstxt stores.uri",
        "robotparser": "awaiting robotstxt settings",
        "stores": "access",
        "scrapy_names": "",
        "signals": "access exceptions robotstxt",
        "sites": "awaiting access robotstxt scrapy_names settings signals stats stores",
        "frontier": "access awaiting robotstxt scrapy_names settings stats",
        "scheduler": "frontier robotstxt settings",
        "gate": "access awaiting exceptions frontier overrides pages preferences robotstxt"
        " scrapy_names settings signals sites stats",
        "overrides": "access robotstxt settings",
        "records": "access exceptions overrides robotstxt settings signals stats",
        "commands": "access awaiting downloadermiddlewares exceptions gate linting overrides"
        " preferences records robotstxt settings signals sites stats stores",
    }.items()
}
"""Each package and each module beside the packages, and what it may import besides itself."""


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(MODULES[module].read_text("utf-8"))


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package."""
    return tuple(
        found for module in MODULES for found in imports_of(module, tree_of(module), "start")
    )


def imports_of(importer: str, node: ast.AST, when: str) -> Iterator[Import]:
    """The imports in a syntax tree."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        when = "late"
    elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        when = "never"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(importer, alias.name, "", node.lineno, when)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"{importer} line {node.lineno}: a relative import"
        for alias in node.names:
            source, inner = node.module or "", f"{node.module}.{alias.name}"
            target = inner if inner in MODULES or inner == REACTOR else source
            yield Import(importer, target, alias.name, node.lineno, when)
    for child in ast.iter_child_nodes(node):
        yield from imports_of(importer, child, when)


def within(module: str, package: str) -> bool:
    """A module is `package`, or lies in it."""
    return module == package or module.startswith(package + ".")


def outer(module: str) -> str:
    """The package or module right below ``scrapy_rep`` that a module belongs to; "" for itself."""
    return module.split(".")[1] if "." in module else ""


def top(module: str) -> str:
    """The outermost package of a module."""
    return module.partition(".")[0]


def is_ours(module: str) -> bool:
    """A module is of this package."""
    return top(module) == "scrapy_rep"


def test_every_package_and_module_is_in_the_table() -> None:
    """A module without a row could import anything."""
    assert {outer(module) for module in MODULES} == set(MAY_IMPORT)


def test_modules_import_only_what_the_table_allows() -> None:
    """The table says which package may import which."""
    for found in imports():
        if is_ours(found.target):
            allowed = MAY_IMPORT[outer(found.importer)]
            names = {f"scrapy_rep.{name}" for name in (*allowed, outer(found.importer))}
            known = allowed == EVERYTHING or any(within(found.target, name) for name in names)
            assert known, str(found)


def test_pure_packages_and_stores_know_the_standard_library_only() -> None:
    """But for the optional dependencies of stores: no Scrapy, no Twisted."""
    for found in imports():
        for package, outside in OUTSIDE.items():
            if within(found.importer, package) and not is_ours(found.target):
                known = sys.stdlib_module_names | outside | {"tomllib"}  # since Python 3.11
                assert top(found.target) in known, str(found)


def test_pure_packages_have_no_clock_network_or_log() -> None:
    """Octets and numbers in, values out: `now` is an argument."""
    for found in imports():
        if outer(found.importer) in PURE:
            assert top(found.target) not in WORLD, str(found)


def reads_the_time(node: ast.AST) -> bool:
    """An expression is `now`, `today` or `utcnow` of some object, as of `datetime`."""
    return isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow")


@pytest.mark.parametrize("package", sorted(PURE | {"sites", "frontier"}))
def test_the_time_of_day_is_handed_in(package: str) -> None:
    """So that a test can let a day pass. Pure packages measure no time at all."""
    assert any(outer(module) == package for module in MODULES)
    allowed = set() if package in PURE else {"monotonic"}
    for found in imports():
        if outer(found.importer) == package and top(found.target) == "time":
            assert found.name in allowed, str(found)
    for module in MODULES:
        if outer(module) == package:
            for node in ast.walk(tree_of(module)):
                assert not reads_the_time(node), f"{module} line {getattr(node, 'lineno', 0)}"


def test_no_import_installs_a_reactor() -> None:
    """A crawl may run under any reactor, or without one."""
    for found in imports():
        assert found.when == "late" or found.target != REACTOR, str(found)


@rows("unit", [str, outer])
def test_imports_have_no_cycle(unit: Callable[[str], str]) -> None:
    """A module, or a package, can be read after those that it imports, be it for types alone."""
    graph: dict[str, set[str]] = {unit(module): set() for module in MODULES}
    for found in imports():
        importer, target = unit(found.importer), unit(found.target)
        if found.target in MODULES and importer != target:
            graph[importer].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' <- '.join(error.args[1])}")


BESIDE_THE_PACKAGES = 13
"""Modules that stand beside the packages."""


def test_few_modules_stand_beside_the_packages() -> None:
    """What belongs to a subject lies in its package."""
    beside = [name for name in MODULES if name.count(".") == 1 and MODULES[name].stem != "__init__"]
    assert len(beside) <= BESIDE_THE_PACKAGES, beside


def test_only_what_may_be_missing_is_imported_late() -> None:
    """All imports stand at the top, except of a reactor, an extra, or a module that needs one.

    What would make the matcher slow to start is imported late, too.
    """
    early = [found for found in imports() if found.when == "start"]
    needing = {found.importer for found in early if top(found.target) in OPTIONAL}
    for _ in MODULES:  # also what imports a module that needs an extra
        needing |= {found.importer for found in early if found.target in needing}
    for found in imports():
        if found.when == "late":
            optional = top(found.target) in OPTIONAL | SLOW_TO_IMPORT or found.target in needing
            assert optional or found.target == REACTOR, str(found)


def test_public_names_are_few_and_there() -> None:
    """At most twenty, in order, and each can be imported."""
    names = scrapy_rep.__all__
    assert len(names) <= 20
    assert names == sorted(set(names))
    assert all(getattr(scrapy_rep, name).__doc__ for name in names)


INSIDE = "scrapy_rep.scrapy_names"
OF_A_SUBCLASS = {"scrapy_rep.frontier.queues": {"pqueues", "pqfactory", "curprio"}}
"""The module that has a subclass of what Scrapy does not document, and what it uses of that."""

ORDINARY = {"engine", "active", "closing", "connector", "handlers", "schedule", "_limit", "_slot"}
"""Words of these names that others use, too, or that Scrapy documents."""

SCRAPYS_OWN = {part for name in NAMES for part in name.split(".")} - ORDINARY


def words_of(node: ast.AST) -> Iterator[str]:
    """The name of an attribute; the words of a string that stands for attributes."""
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
        yield from node.value.split(".")


def test_only_one_module_touches_what_scrapy_does_not_document() -> None:
    """No other module names it, neither as an attribute nor as a string: `getattr(x, "slots")`."""
    for module in MODULES:
        if module != INSIDE:
            for node in ast.walk(tree_of(module)):
                named = SCRAPYS_OWN & {*words_of(node)} - OF_A_SUBCLASS.get(module, set())
                assert not named, f"{module} line {getattr(node, 'lineno', 0)}: {named}"


@rows("module", MODULES)
def test_files_and_functions_are_short(module: str) -> None:
    """A file has fewer than 500 lines; a function fits on one screen, of 50."""
    assert len(MODULES[module].read_text("utf-8").splitlines()) < 500
    for node in ast.walk(tree_of(module)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= 50, f"{node.name}: {lines} lines"


NOT_THE_STANDARDS_WORDS = ("directive", "useragent", "netloc", "manager", "handler", "utils")
HEADER = "user_agent"
"""The header field of HTTP; a crawler goes by a product token."""

PUBLIC_TERM = "pagedirectives"
"""What the sources and the users call the statements of a page: a name of the public interface."""

NOT_A_MODULE = (*NOT_THE_STANDARDS_WORDS, "helpers", "core")


def test_names_are_the_standards_words() -> None:
    """Modules, classes, functions and parameters have the terms of RFC 9309 for names."""
    for module in MODULES:
        assert not [word for word in NOT_A_MODULE if word in module.split(".")], module
        for node in ast.walk(tree_of(module)):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.arg)):
                given = node.arg if isinstance(node, ast.arg) else node.name
                if given == HEADER:
                    continue
                name = given.replace("_", "").lower().replace(PUBLIC_TERM, "")
                assert not [w for w in NOT_THE_STANDARDS_WORDS if w in name], f"{module}: {name}"


def test_no_two_classes_have_one_name() -> None:
    """One word means one thing; what begins with an underscore is the matter of its module."""
    found: dict[str, list[str]] = {}
    for module in MODULES:
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(module)
    twice = {name: modules for name, modules in found.items() if len(modules) > 1}
    assert not twice
