"""How long a response may be used, and when its server may be asked again (RFC 9111, RFC 9110).

Header values in, seconds out; what cannot be read is as if it were not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

_MAX_AGE = re.compile(rb"(?:^|[\s,])max-age[ \t]*=[ \t]*\"?(\d{1,10})", re.IGNORECASE)
_UNCACHEABLE = re.compile(rb"(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,;=])", re.IGNORECASE)


def lifetime(headers: Mapping[str, bytes | None], now: float) -> float | None:
    """Return for how many more seconds a response is fresh, ``None`` if it does not say.

    Reads ``Cache-Control``, ``Expires``, ``Date`` and ``Age`` (RFC 9111 sections 4.2.1 and
    4.2.3); ``now`` is in seconds since the epoch. Never negative.
    """
    control = headers.get("Cache-Control") or b""
    age = _seconds(headers.get("Age")) or 0.0
    if found := _MAX_AGE.search(control):
        return max(0.0, float(found[1]) - age)
    if _UNCACHEABLE.search(control):
        return 0.0
    expires = headers.get("Expires")
    if expires is None:
        return None
    until = _date(expires)
    if until is None:  # "0" and other invalid dates mean: already expired (section 5.3)
        return 0.0
    sent = _date(headers.get("Date"))
    return max(0.0, until - (now if sent is None else sent) - age)


def retry_after(value: bytes | None, now: float) -> float | None:
    """Return the seconds of a ``Retry-After`` (RFC 9110 section 10.2.3), ``None`` if unreadable."""
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    date = _date(value)
    return None if date is None else max(0.0, date - now)


def _seconds(value: bytes | None) -> float | None:
    text = (value or b"").strip()
    return float(text) if text.isdigit() and len(text) <= 10 else None


def _date(value: bytes | None) -> float | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value.decode("latin-1"))
        # An HTTP date is in GMT even where it does not say so (RFC 9110 section 5.6.7).
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
