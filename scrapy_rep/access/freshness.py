"""How long a response may be used, and when its server may be asked again (RFC 9111, RFC 9110).

Header values in, seconds out. What cannot be read is ignored, but an unreadable ``Expires`` means
expired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

_MAX_AGE = re.compile(rb"(?:^|[\s,])max-age[ \t]*=[ \t]*\"?(\d+)", re.IGNORECASE)
_LONGEST = 2.0**31
"""The seconds that any larger number counts as (RFC 9111 section 1.2.2)."""

_UNCACHEABLE = re.compile(rb"(?:^|[\s,])(?:no-cache|no-store)(?:$|[\s,;=])", re.IGNORECASE)


def lifetime(headers: Mapping[str, bytes | None], now: float) -> float | None:
    """Return for how many more seconds a response is fresh, ``None`` if it does not say.

    With ``no-cache`` or ``no-store`` that is 0, whatever else it says. Reads ``Cache-Control``,
    ``Expires``, ``Date`` and ``Age`` (RFC 9111 sections 4.2.1 and 4.2.3); ``now`` is in seconds
    since the epoch. Never negative.
    """
    control = headers.get("Cache-Control") or b""
    # Such a response may not be used again without asking, however old it is (section 5.2.2.4).
    if _UNCACHEABLE.search(control):
        return 0.0
    age = _seconds(headers.get("Age")) or 0.0
    if found := _MAX_AGE.search(control):
        return max(0.0, min(float(found[1]), _LONGEST) - age)
    expires = headers.get("Expires")
    if expires is None:
        return None
    until = _date(expires)
    if until is None:  # "0" and other invalid dates mean: already expired (section 5.3)
        return 0.0
    sent = _date(headers.get("Date"))
    return max(0.0, until - (now if sent is None else sent) - age)


def retry_after(value: bytes | None, now: float) -> float | None:
    """Return the seconds of a ``Retry-After`` (RFC 9110 section 10.2.3), ``None`` if unreadable.

    A number of any length is accepted; the policy limits how long is waited.
    """
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    date = _date(value)
    return None if date is None else max(0.0, date - now)


def _seconds(value: bytes | None) -> float | None:
    text = (value or b"").strip()
    return min(float(text), _LONGEST) if text.isdigit() else None


def _date(value: bytes | None) -> float | None:
    if value is None:
        return None
    try:
        date = parsedate_to_datetime(value.decode("latin-1"))
        # An HTTP date is in GMT even where it does not say so (RFC 9110 section 5.6.7).
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
