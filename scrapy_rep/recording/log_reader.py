"""Reads decision logs: each line is checked against the schema before anything relies on it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_rep.recording.chronology import seconds
from scrapy_rep.recording.decisions import SCHEMA_VERSION

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_LONGEST_LINE = 64 * 1024 * 1024
"""Octets of a line that is read; one that the crawler writes is far shorter."""


class LogError(ValueError):
    """What is wrong with a log, in one line."""


class LogLine(NamedTuple):
    """A line of a log: its number in the file, from 1, and its fields."""

    number: int
    fields: dict[str, Any]

    @property
    def is_run(self) -> bool:
        """Whether it is the first line of a run, which says what its decisions depend on."""
        return bool(self.fields["type"] == "run")


def read_log(path: str) -> Iterator[LogLine | int]:
    """Yield the lines of a log; of one that is not JSON, or far too long, its number.

    A process that is killed may leave a line that is cut short, so such lines are passed over.
    Raises ``OSError``, and ``LogError`` for a line that is JSON but is not one of a log.
    """
    with Path(path).open("rb") as file:
        number = 0
        while octets := file.readline(_LONGEST_LINE):
            number += 1
            if not octets.endswith(b"\n") and len(octets) == _LONGEST_LINE:
                while (rest := file.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield number
                continue
            try:
                fields = json.loads(octets, parse_constant=_refuse)
            except (ValueError, RecursionError):
                yield number
                continue
            fault = fault_of(fields)
            if fault:
                raise LogError(f"line {number} is not one of a decision log: {fault}")
            yield LogLine(number, fields)


def fault_of(fields: Any) -> str:
    """Return what is wrong with a line, "" if it is right."""
    kind = fields.get("type") if isinstance(fields, dict) else None
    if kind not in ("run", "decision"):
        return "its type is neither run nor decision"
    if (
        kind == "run"
        and isinstance(fields.get("schema"), int)
        and fields["schema"] > SCHEMA_VERSION
    ):
        return f"its schema is version {fields['schema']}, which this version does not know"
    fault = _fault(fields, _schemas()[kind], "it")
    if not fault:
        try:
            seconds(fields["time"])
        except ValueError:
            fault = "time is not a time"
    return fault


def _refuse(name: str) -> None:
    raise ValueError(name)


@cache
def _schemas() -> dict[str, Any]:
    """Return the schema of each type of line."""
    text = (files("scrapy_rep.recording") / "decisions.schema.json").read_text("utf-8")
    return {one["properties"]["type"]["const"]: one for one in json.loads(text)["oneOf"]}


def _fault(value: Any, schema: Mapping[str, Any], name: str) -> str:
    """Return what is wrong with a value by the keywords that the schema of the log uses."""
    if "oneOf" in schema:
        faults = [_fault(value, one, name) for one in schema["oneOf"]]
        return "" if faults.count("") == 1 else faults[-1]
    kinds = schema.get("type", [])
    if kinds and not any(
        _is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ):
        return f"{name} is not {kinds if isinstance(kinds, str) else ' or '.join(kinds)}"
    if "const" in schema and value != schema["const"]:
        return f"{name} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} is not one of {', '.join(schema['enum'])}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return f"{name} is not of the form {schema['pattern']}"
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        return f"{name} is less than {schema['minimum']}"
    if isinstance(value, list):
        faults = [_fault(one, schema.get("items", {}), f"an item of {name}") for one in value]
        return next(filter(None, faults), "")
    return _fault_of_object(value, schema, name) if isinstance(value, dict) else ""


def _fault_of_object(value: dict[str, Any], schema: Mapping[str, Any], name: str) -> str:
    for key in schema.get("required", ()):
        if key not in value:
            return f"{name} has no {key}"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, one in value.items():
        if key not in known and others is False:
            return f"{name} has an unknown field {key}"
        inner = known.get(key, others if isinstance(others, dict) else {})
        fault = _fault(one, inner, key)
        if fault:
            return fault
    return ""


def _is(value: Any, kind: str) -> bool:
    is_one = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    return is_one and (kind != "number" or _is_finite(value))


def _is_finite(number: float) -> bool:
    """Return whether a number is one that a float may be: ``1e400`` is infinite."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
