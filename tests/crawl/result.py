"""The result of a crawl, the same whether it ran in this process or in a child."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import scrapy
from scrapy.exceptions import IgnoreRequest

from scrapy_rep import RepDownloaderMiddleware

TOLD_LOUDLY = ["FileException"] if scrapy.version_info < (2, 15) else []
"""Scrapy 2.14 logs any file that did not come as an error of its own."""

TROUBLE = re.compile(r"Traceback \(most recent|Unhandled|never retrieved|never awaited|destroyed")


@dataclass(frozen=True)
class Problem:
    """An exception that an errback got; `exception` itself only if the crawl ran here.

    `causes` are the names of the classes of its `__cause__`, if it has one.
    """

    type: str
    bases: tuple[str, ...]
    text: str
    data: dict[str, Any]
    causes: tuple[str, ...] = ()
    exception: BaseException | None = None

    @classmethod
    def of(cls, exception: BaseException) -> Problem:
        """The exception and its public attributes, in plain values."""
        bases = tuple(base.__name__ for base in type(exception).__mro__)
        data = {name: plain(value) for name, value in vars(exception).items() if name[0] != "_"}
        cause = exception.__cause__
        causes = () if cause is None else tuple(base.__name__ for base in type(cause).__mro__)
        return cls(type(exception).__name__, bases, str(exception), data, causes, exception)

    @property
    def kind(self) -> str:
        """`forbidden`, `unreachable` or `error`; Scrapy's own refusals are known by their text."""
        if "RobotsUnreachable" in self.bases:
            return "unreachable"
        by_scrapy = IgnoreRequest.__name__ in self.bases and self.text == "Forbidden by robots.txt"
        return "forbidden" if by_scrapy or "RobotsForbidden" in self.bases else "error"


@dataclass(frozen=True)
class Ending:
    """How a request ended: `url` is what was asked for, `final` where it led."""

    number: int
    url: str
    final: str
    status: int | None = None
    problem: Problem | None = None

    @property
    def kind(self) -> str:
        """`downloaded`, `forbidden`, `unreachable` or `error`."""
        return self.problem.kind if self.problem else "downloaded"


@dataclass(frozen=True)
class LogLine:
    """One log record; `traceback` is empty without one."""

    level: str
    logger: str
    text: str
    traceback: str = ""


@dataclass
class Result:
    """The end of each request, the stats and the log of one crawl."""

    made: list[str]
    endings: list[Ending]
    stats: dict[str, Any]
    log: list[LogLine] = field(default_factory=list)
    crawler: Any = None

    def urls(self, kind: str) -> list[str]:
        """The URLs, as asked for and in the order of asking, whose requests ended in that way."""
        endings = sorted(self.endings, key=lambda ending: ending.number)
        return [ending.url for ending in endings if ending.kind == kind]

    @property
    def downloaded(self) -> list[str]:
        """The URLs of the requests that brought a page."""
        return self.urls("downloaded")

    @property
    def forbidden(self) -> list[str]:
        """The URLs of the requests that the rules of a robots.txt stopped."""
        return self.urls("forbidden")

    @property
    def unreachable(self) -> list[str]:
        """The URLs of the requests that the want of a robots.txt stopped."""
        return self.urls("unreachable")

    @property
    def errors(self) -> list[tuple[str, Problem]]:
        """What ended in another exception, and in which."""
        return [(e.url, e.problem) for e in self.endings if e.problem and e.kind == "error"]

    def ending(self, url: str) -> Ending:
        """The end of the one request for that URL."""
        (found,) = (ending for ending in self.endings if ending.url == url)
        return found

    def problem(self, url: str) -> Problem:
        """The exception in which the one request for that URL ended."""
        found = self.ending(url).problem
        assert found is not None
        return found

    @property
    def kinds(self) -> list[str]:
        """How each request ended, in the order of asking."""
        return [ending.kind for ending in sorted(self.endings, key=lambda ending: ending.number)]

    @property
    def by_url(self) -> dict[str, str]:
        """How the request for each URL ended."""
        return {ending.url: ending.kind for ending in self.endings}

    @property
    def gate(self) -> RepDownloaderMiddleware:
        """The middleware of a crawl that ran here."""
        gate: Any = self.crawler.get_downloader_middleware(RepDownloaderMiddleware)
        assert gate is not None
        return gate

    def kind(self, url: str) -> str:
        """How the one request for that URL ended."""
        return self.ending(url).kind

    def lines(self, pattern: str, level: str | None = None) -> list[str]:
        """The log lines in which the pattern is found, of any level or of one."""
        fits = (line for line in self.log if level in (None, line.level))
        return [line.text for line in fits if re.search(pattern, line.text)]

    def check(self, expected: Iterable[str] = ()) -> Result:
        """Each request ended exactly once, and the log holds no trouble but that expected."""
        numbers = sorted(ending.number for ending in self.endings)
        assert numbers == list(range(len(self.made))), self._unequal(numbers)
        return self.check_log(expected)

    def check_log(self, expected: Iterable[str] = ()) -> Result:
        """The log holds no trouble: no ERROR, no traceback, nothing that nobody handled.

        `expected` are patterns for the lines and tracebacks that may be there all the same.
        """
        excused = re.compile("|".join(expected) or "(?!)")
        trouble = [line for line in self.log if _troubled(line)]
        rest = [t for t in trouble if not excused.search(f"{t.text}\n{t.traceback}")]
        assert not rest, rest
        return self

    def _unequal(self, numbers: list[int]) -> str:
        lost = [url for number, url in enumerate(self.made) if number not in numbers]
        twice = [self.made[number] for number in set(numbers) if numbers.count(number) > 1]
        return f"requests without an end: {lost}; with two: {twice}; log: {self.log[-10:]}"

    def dump(self, path: Path) -> None:
        """The result goes into a JSON file."""
        values = {
            f.name: plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name != "crawler"
        }
        path.write_text(json.dumps(values))

    @classmethod
    def load(cls, path: Path) -> Result:
        """The result out of a JSON file."""
        values = json.loads(path.read_text())
        endings = [_ending(**ending) for ending in values["endings"]]
        log = [LogLine(**line) for line in values["log"]]
        return cls(values["made"], endings, values["stats"], log)


def _ending(problem: dict[str, Any] | None, **rest: Any) -> Ending:
    if problem is None:
        return Ending(**rest)
    return Ending(problem=Problem(**{**problem, "bases": tuple(problem["bases"])}), **rest)


def _troubled(line: LogLine) -> bool:
    loud = line.level in ("ERROR", "CRITICAL")
    return bool(loud or line.traceback or TROUBLE.search(line.text))


def plain(value: Any) -> Any:
    """The value as JSON knows it: dataclasses are dictionaries, strangers their text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return str(value)
