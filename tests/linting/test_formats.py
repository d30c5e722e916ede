"""The formats for programs: valid by their schemas, and safe to print."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import scrapy_rep
from scrapy_rep.linting import formats
from scrapy_rep.linting.checks import lint
from scrapy_rep.linting.codes import CODES
from scrapy_rep.linting.formats import Located
from tests.linting.reference import described

SCHEMA = json.loads(
    (Path(scrapy_rep.__file__).parent / "linting" / "findings.schema.json").read_text()
)
HOSTILE = b"\x1b[31m: /\nUser-agent: \x1b]0;x\x07\nDisallow: a\x1b[2J%0A\n\xff\xfe: x\n"


@cache
def everything() -> list[Located]:
    """Findings of every code, and of a file full of control sequences."""
    bodies = {f"{name} robots.txt": one.bad for name, one in described().items()}
    bodies["-"] = bodies["/srv/a,b:c%d.txt"] = bodies["https://e.org/"] = HOSTILE
    return [(file, one) for file, body in bodies.items() for one in lint(body)]


def as_json() -> Any:
    """What the command writes with `--format json`."""
    results = [formats.plain(file, one) for file, one in everything()]
    return {"schema": "scrapy_rep/lint/1", "results": json.loads(json.dumps(results))}


def test_json_is_valid_by_its_schema() -> None:
    """With every code."""
    told = as_json()
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(told, SCHEMA)
    assert {one["code"] for one in told["results"]} == {*CODES}


@pytest.mark.parametrize("some", [list, everything], ids=["none", "all"])
def test_sarif_is_valid_by_its_schema(some: Callable[[], list[Located]]) -> None:
    """SARIF 2.1.0."""
    # Takes a fifth of a second, which each worker would spend on its start.
    from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

    found = some()
    told = json.loads(formats.as_sarif(found, "1.0.0"))
    Sarif.model_validate(told)
    assert told["version"] == "2.1.0"
    assert len(told["runs"][0]["results"]) == len(found)


def test_sarif_results_name_their_files() -> None:
    """Every URI is relative or has a scheme."""
    [run] = json.loads(formats.as_sarif(everything(), "1.0.0"))["runs"]
    for result in run["results"]:
        [place] = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert not uri.startswith("/")
        assert " " not in uri


def test_github_has_one_command_in_a_line() -> None:
    """Commas, colons and line ends in names do not end a property."""
    lines = [formats.as_command(file, one) for file, one in everything()]
    assert len(lines) == len(everything())
    assert all(line.startswith(("::error file=", "::warning file=", "::notice file="))
               for line in lines)  # fmt: skip
    assert any("file=/srv/a%2Cb%3Ac%25d.txt," in line for line in lines)


def test_no_control_character_of_a_file_is_printed() -> None:
    """A hostile file must not talk to the terminal, in whichever format."""
    commands = [formats.as_command(file, one) for file, one in everything()]
    for text in (json.dumps(as_json()), formats.as_sarif(everything(), "1.0.0"), *commands):
        assert all(character.isprintable() for character in text.replace("\n", ""))
