"""Findings for programs: plain values, SARIF 2.1.0, and GitHub workflow commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import quote

from scrapy_rep.linting.codes import CODES
from scrapy_rep.linting.lines import Finding
from scrapy_rep.robotstxt.printable import escaped

Located = tuple[str, Finding]
"""The name of a file, and a finding about it."""

_LEVELS: Final = {"error": "error", "warning": "warning", "information": "note"}
_COMMANDS: Final = {"error": "error", "warning": "warning", "information": "notice"}


def plain(file: str, one: Finding) -> dict[str, Any]:
    """Return a finding as plain values, for JSON."""
    return {"file": file.encode("utf-8", "backslashreplace").decode(), **asdict(one)}


def as_sarif(found: Sequence[Located], version: str) -> str:
    """Return findings as a log of SARIF 2.1.0; ``version`` is that of this package."""
    rules = [
        {
            "id": code.name,
            "shortDescription": {"text": code.meaning},
            "help": {"text": f"Source: {code.source}."},
            "defaultConfiguration": {"level": _LEVELS[code.severity]},
        }
        for code in CODES.values()
    ]
    tool = {"driver": {"name": "scrapy_rep", "version": version, "rules": rules}}
    run = {
        "tool": tool,
        "columnKind": "unicodeCodePoints",
        "results": [_result(file, one) for file, one in found],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(file: str, one: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if one.line is not None:
        place["region"] = {"startLine": one.line, "startColumn": one.column}
    return {
        "ruleId": one.code,
        "level": _LEVELS[one.severity],
        "message": {"text": f"{one.message}. Fix: {one.fix}."},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """Return the name of a file as a URI reference; a URL stands for itself."""
    if file.lower().startswith(("http://", "https://")):
        return quote(file, safe="/:?#[]@!$&'()*+,;=%")
    if file == "-":
        return "stdin"
    octets = file.encode("utf-8", "surrogateescape")
    return ("file://" if file.startswith("/") else "") + quote(octets, safe="/")


def as_command(file: str, one: Finding) -> str:
    """Return a finding as a GitHub workflow command."""
    where = f"file={_property(file)}"
    if one.line is not None:
        where += f",line={one.line},col={one.column}"
    text = _in_a_line(f"{one.message}. Fix: {one.fix}.")
    return f"::{_COMMANDS[one.severity]} {where},title={one.code}::{text}"


def _in_a_line(text: str) -> str:
    """Return text in one line, with the escapes of workflow commands."""
    return escaped(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _in_a_line(text).replace(":", "%3A").replace(",", "%2C")
