"""The path of a URL as patterns are compared with it."""

from __future__ import annotations

from scrapy_rep.robotstxt.normal_form import NormalForm, normal_path, readings, written_path


def match_path(uri: str, form: NormalForm) -> str:
    """The first reading of any URI, or of a path without an origin, in normal form."""
    return normal_path(readings(written_path(uri, form), form)[0], form)
