"""Where the text of a robots.txt comes from: a file, standard input, or a URL that is fetched."""

from __future__ import annotations

import sys
from pathlib import Path

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.access.policy import Policy
from scrapy_rep.commands.endings import usage_error, why
from scrapy_rep.gate.page_url import requested_url

STDIN = "-"
NOTHING_ALLOWED = b"User-agent: *\nDisallow: /\n"
"""What stands for an answer that a crawl takes to disallow everything."""
_MOST_OCTETS = 64 * 1024 * 1024
"""Octets of a file that are read; only the first 500 KiB can hold rules."""


def is_url(source: str) -> bool:
    """Return True if a source is to be fetched."""
    return source.lower().startswith(("http://", "https://"))


def read(source: str, *, url_may_be_meant: bool = False) -> bytes:
    """Return the octets of a file or of standard input; raise ``EndingError``."""
    try:
        if source == STDIN:
            return sys.stdin.buffer.read(_MOST_OCTETS)
        with Path(source).open("rb") as file:
            return file.read(_MOST_OCTETS)
    except FileNotFoundError as error:
        hint = "; a URL begins with http:// or https://" if url_may_be_meant else ""
        raise usage_error(f"cannot read {source}: {why(error)}{hint}") from None
    except (OSError, ValueError) as error:
        raise usage_error(f"cannot read {source}: {why(error)}") from None


def instead_of_rules(status: int, policy: Policy) -> bytes:
    """Return what a crawl follows after an answer without rules (RFC 9309 section 2.3.1.3)."""
    return NOTHING_ALLOWED if policy.denies(status) else b""


def authority_named(url: str) -> Authority:
    """Return the authority of an http or https URL; raise ``EndingError`` for other text."""
    try:
        authority = authority_of(requested_url(url))
    except ValueError as error:
        raise usage_error(f"{url}: {error}") from None
    if authority is None:
        raise usage_error(f"{url} is not an http or https URL")
    return authority
