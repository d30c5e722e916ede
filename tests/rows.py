"""Tests of many rows.

A row costs its own time alone where the table is one test (:func:`rows`). What is seen with a few
rows of a costly test is seen by default, and the rest waits for the slow run (:func:`first`).
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def deep(usual: T, at_length: T) -> T:
    """Return how many of a random kind are tried: ``DEEP=1 pytest -m slow`` tries at length."""
    return at_length if os.environ.get("DEEP") else usual


def rows(names: str, *values: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make one test of a function and a table, as `pytest.mark.parametrize` makes many.

    The table is what follows the names: its rows, or one iterable of them. All rows are tried; the
    test fails with each that does. Fixtures are shared by the rows.
    """
    table = [*values] if len(values) > 1 else [*values[0]]
    asked = [name.strip() for name in names.split(",")]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def test(**fixtures: Any) -> None:
            wrong = []
            for row in table:
                given = dict(zip(asked, row if len(asked) > 1 else [row], strict=True))
                try:
                    function(**given, **fixtures)
                except Exception as error:  # noqa: BLE001
                    wrong.append(f"{given}: {type(error).__name__}: {error}")
            assert table
            assert not wrong, f"{len(wrong)} of {len(table)} rows\n" + "\n".join(wrong)

        signature = inspect.signature(function)
        others = [one for name, one in signature.parameters.items() if name not in asked]
        test.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return test

    return decorate


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """Leave so many values of a parameter in the default run; the others only deepen them.

    A tuple is the values of several parameters. One that is a value itself is given as a
    `pytest.param`.
    """
    kept = [*values]
    deeper = (value if isinstance(value, tuple) else (value,) for value in kept[count:])
    return kept[:count] + [
        pytest.param(*getattr(value, "values", value), marks=pytest.mark.slow) for value in deeper
    ]
