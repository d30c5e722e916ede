"""The README prints the two tables by which access is decided, word for word.

``python -m tests.test_readme_policy`` prints what it has to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from scrapy_rep.protocol.outcome import STATUS_MEANINGS
from scrapy_rep.protocol.policy import DECISIONS, TRANSITIONS

README = Path(__file__).parents[1] / "README.rst"


def list_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a reStructuredText table."""
    lines = [".. list-table::", "    :header-rows: 1", ""]
    for row in (head, *rows):
        lines += [f"    {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def statuses() -> str:
    """The table of status codes."""
    spans = [
        (str(first) if first == last else f"{first} to {last}", meaning.value, section)
        for first, last, meaning, section in STATUS_MEANINGS
    ]
    rest = ("any other, and none", "unreachable", "a failure is no permission")
    return list_table(("Status, first match", "Means", "Section"), [*spans, rest])


def transitions() -> str:
    """The table of what a fetch makes of what is known."""
    rows = [
        (kind.__name__, transition.effect, transition.section)
        for kind, transition in TRANSITIONS.items()
    ]
    return list_table(("A fetch ends as", "Then", "Section"), rows)


def decisions() -> str:
    """The table of what is done with a request."""
    rows = [
        (state.value, answer.decision.value, answer.fetch.value, answer.section)
        for state, answer in DECISIONS.items()
    ]
    return list_table(("What is known", "A request", "A fetch", "Section"), rows)


def test_the_readme_says_what_a_status_means() -> None:
    """RFC 9309 section 2.3.1: README and code are the same table."""
    assert statuses() in README.read_text("utf-8")


def test_the_readme_says_what_a_fetch_teaches() -> None:
    """RFC 9309 section 2.3.1: README and code are the same table."""
    assert transitions() in README.read_text("utf-8")


def test_the_readme_says_what_is_decided() -> None:
    """RFC 9309 sections 2.3.1 and 2.4: README and code are the same table."""
    assert decisions() in README.read_text("utf-8")


if __name__ == "__main__":
    print(statuses(), transitions(), decisions(), sep="\n")  # noqa: T201
