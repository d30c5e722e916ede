"""The rules of one crawler where their order decides.

Section 3.2.2 of the draft of 1996. It answers the same two questions as
:class:`scrapy_rep.matching.rule_set.LongestMatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from scrapy_rep.matching.decisive import Decisive, strictest
from scrapy_rep.matching.memory import Measure, measured
from scrapy_rep.matching.normal_form import (
    ROBOTS_TXT,
    Form,
    literal,
    normal_path,
    path_of,
    readings,
)


class FirstMatch:
    """The first rule that matches, in the order of the file, is used (1996 section 3.2.2)."""

    __slots__ = ("_allow", "_always", "_form", "_heads", "_measured", "_written")

    def __init__(
        self, rules: Iterable[tuple[bool, str]], form: Form, *, robots_txt_is_free: bool
    ) -> None:
        first: dict[tuple[str, bool], str] = {}
        for allow, pattern in rules:
            if pattern:
                first.setdefault((literal(pattern, form), allow), pattern)
        self._heads = tuple([text for text, _ in first])
        self._allow = bytes([allow for _, allow in first])
        self._written = {
            number: pattern
            for number, ((text, _), pattern) in enumerate(first.items())
            if text != pattern
        }
        self._form = form
        self._always = ROBOTS_TXT if robots_txt_is_free else None
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

    def matcher(self) -> Callable[[str], bool]:
        """A function that says whether a URI may be fetched."""
        return self._allows

    def _allows(self, uri: str) -> bool:
        """A URI may be fetched unless the first rule that matches it is a disallow."""
        paths = readings(path_of(uri, self._form), self._form)
        return all(self._passes(normal_path(written, self._form)) for written in paths)

    def _passes(self, path: str) -> bool:
        if not path.startswith(self._heads) or path == self._always:
            return True
        return bool(self._allow[next(self._matching(path))])

    def _matching(self, path: str) -> Iterator[int]:
        """The numbers of the rules that match, in their order."""
        return (number for number, text in enumerate(self._heads) if path.startswith(text))

    def decisive(self, uri: str) -> Decisive:
        """The rule that decides, and the first of the other kind that it overrules."""
        found = [
            self._decisive(normal_path(written, self._form))
            for written in readings(path_of(uri, self._form), self._form)
        ]
        return strictest(found, self._always)

    def _decisive(self, path: str) -> Decisive:
        matching = [*self._matching(path)]
        if not matching:
            return Decisive(path)
        first = matching[0]
        allow = self._allow[first]
        others = [number for number in matching if self._allow[number] != allow][:1]
        return Decisive(path, bool(allow), self._shown([first]), self._shown(others))

    def _shown(self, numbers: list[int]) -> list[str]:
        """Rules as they are written."""
        return [self._written.get(number, self._heads[number]) for number in numbers]
