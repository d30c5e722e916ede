"""Text that others wrote, made harmless for log lines, terminals and messages of exceptions."""

from __future__ import annotations

import re

_LONGEST = 200

_LOGIN = re.compile(r"^([^/\\?#@]*:\s*[/\\]\s*[/\\])[^/\\?#]*@")
"""The beginning of a URL, however Scrapy lets it be written, and the user information after it."""
_LOGIN_WITHIN = re.compile(r"(?<=://)[^/?#\s]*@")
"""The user information of a URL within a text."""


def escaped(text: str) -> str:
    """Return untrusted text without characters that a terminal or a log reader interprets.

    They become escapes, as in Python literals.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def printable(text: str | bytes | None) -> str:
    """Return untrusted text escaped, and cut at 200 characters."""
    if isinstance(text, bytes):  # a character takes at most four octets, so the rest is not shown
        text = text[: 4 * _LONGEST + 4].decode("utf-8", "backslashreplace")
    shown = escaped((text or "")[: _LONGEST + 1])  # a rule may have 500 KB
    return shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "..."


def without_logins(text: str) -> str:
    """Return a text, such as an error message, without the user information of the URLs in it."""
    return _LOGIN_WITHIN.sub("", text)


def printable_error(error: BaseException) -> str:
    """Return the class and the message of an error, printable and without logins.

    This never raises, even if ``str()`` of a custom exception does.
    """
    try:
        message = printable(without_logins(str(error)))
    except Exception:  # noqa: BLE001
        message = "without a text"
    return f"{type(error).__name__}: {message}"


def without_login(url: str) -> str:
    """Return a URL without its user information, and otherwise unchanged; most have none."""
    return _LOGIN.sub(r"\1", url) if "@" in url else url


def without_credentials(url: str) -> str:
    """Return a URL for a log line: without user information, printable, not too long."""
    return printable(without_login(url))
