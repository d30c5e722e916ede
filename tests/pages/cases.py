"""One row of a table: a page or its header, who reads it, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from scrapy.http import HtmlResponse, Response

from scrapy_rep import PageDirectives, page_directives
from tests.rows import rows as table_of

URL = "https://example.org/shop/page.html"

GOOGLE = "Google, Robots meta tag, data-nosnippet and X-Robots-Tag specifications, 2026-03-24"
REPEXT = "draft-illyes-repext-03"
META_1996 = "Kollar et al., Robot Exclusion Standard Revisited, and its description of 1998"
HTML = "HTML Living Standard"
XML = "XML 1.0"
RFC9110 = "RFC 9110"
BING = "Bing Webmaster Blog, September 2023"
CUSTOM = "custom without a specification"
CHOICE = "a choice: the sources are silent"

Lines = Sequence[tuple[str, str]]


class Case(NamedTuple):
    """`said` is what must be so: restrictions, and other fields as `max_snippet=20`.

    What it does not name must be as on a page that says nothing.
    """

    source: str
    said: str
    body: str | bytes = b""
    lines: Lines = ()
    agent: str | Sequence[str] | None = "mybot"
    profile: str | None = None

    def read(self) -> PageDirectives:
        """What the page asks."""
        return page_directives(response(self.body, self.lines), self.agent, self.profile)

    def check(self) -> None:
        """All fields but the statements are as in the row."""
        expected: dict[str, Any] = {}
        for name, _, value in (one.partition("=") for one in self.said.split()):
            if not value:
                expected.setdefault("restrictions", set()).add(name)
            elif name == "unavailable_after":
                expected[name] = datetime.fromisoformat(value).replace(tzinfo=timezone.utc)
            else:
                expected[name] = int(value) if value.lstrip("-").isdigit() else value
        found = self.read()
        for name in {*PageDirectives.__dataclass_fields__} - {"statements"}:
            default = getattr(PageDirectives(), name)
            assert getattr(found, name) == expected.get(name, default), (name, found)


def utc(*fields: int) -> datetime:
    """A moment."""
    return datetime(*fields, tzinfo=timezone.utc)  # type: ignore[arg-type, misc]


def response(body: str | bytes, lines: Lines = (), cls: type[Response] = HtmlResponse) -> Response:
    """A response; its body is HTML unless a Content-Type among the lines says otherwise."""
    headers: dict[str, list[str]] = {}
    for name, value in lines:
        headers.setdefault(name, []).append(value)
    headers.setdefault("Content-Type", ["text/html"])
    octets = body.encode("utf-8") if isinstance(body, str) else body
    return cls(URL, headers=headers, body=octets)


def parameters(table: dict[str, Case]) -> Any:
    """The rows of a table; a case says itself which it is."""
    return table_of("case", table.values())
