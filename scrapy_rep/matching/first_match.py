"""The rules of one crawler where their order decides.

Section 3.2.2 of the draft of 1996. :class:`FirstMatchRules` answers the same two questions as
:class:`scrapy_rep.matching.rule_set.LongestMatchRules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scrapy_rep.matching.match import Match, strictest
from scrapy_rep.matching.memory import Measure, measured
from scrapy_rep.matching.normal_form import (
    ROBOTS_TXT,
    NormalForm,
    normal_path,
    normal_pattern,
    readings,
    written_path,
)


class FirstMatchRules:
    """The first rule that matches, in the order of the file, decides (1996 section 3.2.2)."""

    __slots__ = ("_form", "_free_path", "_is_allow", "_measured", "_prefixes", "_written")

    def __init__(
        self, rules: Iterable[tuple[bool, str]], form: NormalForm, *, robots_txt_is_free: bool
    ) -> None:
        first: dict[tuple[str, bool], str] = {}
        for is_allow, pattern in rules:
            if pattern:
                first.setdefault((normal_pattern(pattern, form), is_allow), pattern)
        self._prefixes = tuple([prefix for prefix, _ in first])
        self._is_allow = bytes([is_allow for _, is_allow in first])
        self._written = {
            number: pattern
            for number, ((prefix, _), pattern) in enumerate(first.items())
            if prefix != pattern
        }
        self._form = form
        self._free_path = ROBOTS_TXT if robots_txt_is_free else None
        self._measured: Measure | None = None

    @property
    def size(self) -> int:
        """Octets of memory."""
        found = self._measured = measured(self, self._measured)
        return found[1]

    @property
    def state(self) -> tuple[object, ...]:
        """Nothing is made on demand."""
        return ()

    def matcher(self, replace: object) -> Callable[[str], bool]:
        """Return a function that tells whether a URI may be fetched; it never replaces itself."""
        return self._allows

    def _allows(self, uri: str) -> bool:
        """Return True unless the first rule that matches a reading of a URI is a disallow rule."""
        paths = readings(written_path(uri, self._form), self._form)
        return all(self._allows_path(normal_path(written, self._form)) for written in paths)

    def _allows_path(self, path: str) -> bool:
        if not path.startswith(self._prefixes) or path == self._free_path:
            return True
        return bool(self._is_allow[next(self._matching(path))])

    def _matching(self, path: str) -> Iterator[int]:
        """Return the numbers of the rules that match a path, in their order."""
        prefixes = enumerate(self._prefixes)
        return (number for number, prefix in prefixes if path.startswith(prefix))

    def match(self, uri: str) -> Match:
        """Return the rule that decides, and the first rule of the other kind that it overrules."""
        matches = [
            self._match(normal_path(written, self._form))
            for written in readings(written_path(uri, self._form), self._form)
        ]
        return strictest(matches, self._free_path)

    def _match(self, path: str) -> Match:
        matching = [*self._matching(path)]
        if not matching:
            return Match(path)
        first = matching[0]
        is_allow = self._is_allow[first]
        others = [number for number in matching if self._is_allow[number] != is_allow][:1]
        return Match(path, bool(is_allow), self._as_written([first]), self._as_written(others))

    def _as_written(self, numbers: list[int]) -> list[str]:
        return [self._written.get(number, self._prefixes[number]) for number in numbers]
