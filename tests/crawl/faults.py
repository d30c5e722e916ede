"""An exception at any call and after any await of the package, one place at a time.

The functions of a module are compiled once more, with a point at each call (before it is made)
and each await (after it), and get the new code; an armed point raises.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import pkgutil
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

from scrapy.crawler import Crawler
from twisted.internet.defer import CancelledError

import scrapy_rep
from tests.crawl.harness import settings_of, within
from tests.crawl.logtap import LogTap
from tests.crawl.spiders import TickingSpider

T = TypeVar("T")

POINT = "__point__"

HAVE_POINTS = (
    *("self._guarded", "frontier.key_of", "frontier.pushed", "self._choose", "self._ring"),
    *("self._push", "self._distinct", "_as_it_was", "restored", "flight.resolve"),
    "self.queue.give_back",
)
"""Calls without a point: they are of functions of the package, and what these call has points."""

CANNOT_FAIL = (
    *HAVE_POINTS,
    *("bool", "getattr", "len", "monotonic", "super", "Block", "RequestState", "waiter.callback"),
)
"""Calls without a point: with the arguments that the package gives them, they do not raise."""

NOT_OURS = (
    *("pop", "enqueue", "self.pqfactory", "self.pqueues[key].push"),
    "self._crawler.engine._slot.nextcall.schedule",
)
"""The base scheduler or Scrapy's queue gives out or takes a request, or its engine is woken.

If that fails, no crawl goes on, or one less.
"""


def modules(*names: str) -> list[str]:
    """The modules of the package that these names or beginnings stand for; each names some."""
    every = [module.name for module in pkgutil.walk_packages(scrapy_rep.__path__, "scrapy_rep.")]
    found = {name: [one for one in every if f"{one}.".startswith(f"{name}.")] for name in names}
    assert all(found.values()), found
    return [one for each in found.values() for one in each]


class FaultError(Exception):
    """Something that nobody foresaw."""


async def crawled(settings: Any, spider: Any = TickingSpider, on: Any = (), **more: Any) -> Any:
    """The spider of a crawl in which something fails, or None if that kept it from its start.

    Each request has one end, whatever fails. `on` are signals and their receivers.
    """
    crawler = Crawler(spider, settings_of(settings))
    for signal, receiver in on:
        crawler.signals.connect(receiver, signal)
    with LogTap(), suppress(FaultError, CancelledError):
        try:
            await within(30, crawler.crawl(**more))
        except RuntimeError:
            # If its scheduler cannot be made, Scrapy raises this: it has no slot to close.
            begun: Any = crawler.spider
            if begun is None or begun.made:
                raise
    made: Any = crawler.spider
    if made is None or not made.made:
        return None
    ends = sorted(ending.number for ending in made.endings)
    assert ends == list(range(len(made.made))), "not one end for each request"
    return made


async def struck(
    modules: Iterable[str],
    visit: Callable[[], Awaitable[str]],
    draw: Callable[[list[int]], list[int]],
    *,
    error: type[BaseException] = FaultError,
    lasting: bool = True,
    named: tuple[str, ...] = ("",),
) -> list[str]:
    """What is wrong if a fault strikes at one of some points, which are drawn from those passed.

    The points are those of some modules, whose labels end with one of `named`. `visit` says what is
    wrong after a crawl; nothing may be without a fault.
    """
    with Faults(*modules).installed() as faults:
        faults.passed.clear()  # those outside functions are passed only once
        trouble = await visit()
        assert not trouble, trouble
        points = [one for one in sorted(faults.passed) if faults.labels[one].endswith(named)]
        assert points, named
        points, wrong = draw(points), []
        for point in points:
            with faults.at(point, error, lasting=lasting):
                if trouble := await visit():
                    wrong.append(f"{faults.labels[point]}: {trouble}")
    gc.collect()  # what a fault has left behind is nothing that a later test is to blame for
    return wrong


def some(count: int, seed: Any) -> Callable[[list[int]], list[int]]:
    """So many points, drawn by a seed."""
    return lambda points: Random(seed).sample(points, min(count, len(points)))


class Faults:
    """The points of some modules: which there are, which were passed, which one raises."""

    def __init__(self, *modules: str) -> None:
        self.labels: list[str] = []
        self.passed: set[int] = set()
        self.armed: int | None = None
        self.error: type[BaseException] = FaultError
        self.lasting = True
        self.raised = 0
        self._old: list[tuple[FunctionType, CodeType]] = []
        self._modules = [importlib.import_module(name) for name in modules]

    @contextmanager
    def installed(self) -> Iterator[Faults]:
        """The modules have their points for as long as this lasts."""
        try:
            for module in self._modules:
                self._install(module)
            yield self
        finally:
            for function, code in self._old:
                function.__code__ = code
            for module in self._modules:
                # Timers that a fault has left behind still run the code with the points.
                setattr(module, POINT, lambda number, value: value)

    @contextmanager
    def at(self, point: int, error: type[BaseException], *, lasting: bool) -> Iterator[None]:
        """That point raises: whenever it is passed, or only the first time."""
        self.armed, self.error, self.lasting, self.raised = point, error, lasting, 0
        try:
            yield
        finally:
            self.armed = None

    def point(self, number: int, value: T) -> T:
        """A call or an await is passed."""
        self.passed.add(number)
        if number == self.armed and (self.lasting or not self.raised):
            self.raised += 1
            raise self.error(f"injected at {self.labels[number]}")
        return value

    def _install(self, module: ModuleType) -> None:
        path = Path(module.__file__ or "")
        tree = _Pointing(self.labels, path.stem).visit(ast.parse(path.read_text()))
        code = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
        setattr(module, POINT, self.point)
        new = dict(vars(module))
        exec(code, new)
        found = {f.__qualname__: f for f in functions(new, module.__name__)}
        for function in functions(vars(module), module.__name__):
            if function.__qualname__ in found:
                self._old.append((function, function.__code__))
                function.__code__ = found[function.__qualname__].__code__


class _Pointing(ast.NodeTransformer):
    """`f(x)` becomes `point(n, f)(x)`, `await x` becomes `point(n, await x)`."""

    def __init__(self, labels: list[str], name: str) -> None:
        self.labels = labels
        self.name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call."""
        label = ast.unparse(node.func)
        self.generic_visit(node)
        if label in CANNOT_FAIL + NOT_OURS:
            return node
        node.func = self._pointed(node.func, label + "()")
        return node

    def visit_Await(self, node: ast.Await) -> ast.AST:
        """An await."""
        label = ast.unparse(node)
        self.generic_visit(node)
        return self._pointed(node, label)

    def _pointed(self, node: Any, label: str) -> ast.Call:
        self.labels.append(f"{self.name}.py:{node.lineno}: {label}")
        number = ast.Constant(len(self.labels) - 1)
        call = ast.Call(ast.Name(POINT, ast.Load()), [number, node], [])
        return ast.copy_location(call, node)


def functions(names: dict[str, Any], module: str) -> Iterator[FunctionType]:
    """Those that a module defines, methods and what decorators wrap included."""
    for thing in list(names.values()):
        if getattr(thing, "__module__", None) != module:
            continue
        if inspect.isclass(thing):
            for member in vars(thing).values():
                yield from _bare(member)
        else:
            yield from _bare(thing)


def _bare(thing: Any) -> Iterator[FunctionType]:
    if isinstance(thing, property):
        thing = thing.fget
    thing = getattr(thing, "__func__", thing)
    thing = getattr(thing, "__wrapped__", thing)
    if isinstance(thing, FunctionType):
        yield thing
