"""What may be shown of a store's URI: its scheme, hosts, ports and path.

A URI may hold a password in its user information, query or fragment, and a password that was not
percent-encoded ends up anywhere: in ``redis://:top#secret@host`` a parser finds the port ``top``.
So only the parts of a URI that can be read in just one way are shown: ``redis://...`` if only the
scheme is certain, ``...`` if nothing is.
"""

from __future__ import annotations

import re

REDIS_SCHEMES = (
    "redis",
    "rediss",
    "unix",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
)
"""Schemes of a Redis server, of its Sentinels, and of a cluster; ``rediss`` is over TLS."""

SCHEMES = ("memory", "sqlite", *REDIS_SCHEMES)
"""Schemes that stores know. What precedes another colon may be a user name."""

_HIDDEN = "..."
_LONGEST = 120

_CLASS_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_HOST = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?"
_HOSTS = re.compile(f"{_HOST}(?:,{_HOST})*")


def shown(value: object) -> str:
    """Return what may be printed of a ``REP_STORE``, in ASCII; of anything but text, its type."""
    if not isinstance(value, str):
        return f"<{type(value).__name__}>"
    text = ascii(_certain(value.strip()))[1:-1]
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _HIDDEN


def is_ambiguous(uri: str) -> bool:
    """Return True if it is unclear where the user information of ``uri`` ends."""
    return "@" in uri and _certain(uri.strip()).endswith(_HIDDEN)


def _certain(uri: str) -> str:
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return uri if _CLASS_PATH.fullmatch(uri) or not uri else _HIDDEN
    if scheme == "sqlite" and (rest.startswith("///") or not ("@" in rest or "//" in rest)):
        return f"{scheme}:{_without_query(rest)}"  # all of it is a path
    is_known = scheme in SCHEMES
    if rest.startswith("//") and (is_known or ("@" not in rest and _SCHEME.fullmatch(scheme))):
        return f"{scheme}://{_hosts_and_path(rest[2:])}"
    return f"{scheme}:{_HIDDEN if rest else ''}" if is_known else _HIDDEN


def _hosts_and_path(rest: str) -> str:
    """Return the hosts and the path of what follows ``//``, if they can be told apart."""
    user, _, rest = rest.rpartition("@")
    if any(c in user for c in "/?#"):  # the last "@" may be part of a password, path or query
        return _HIDDEN
    hosts, slash, path = _without_query(rest).partition("/")
    # Without a host, what looks like a port may be a password. A path on this machine needs none.
    certain = _HOSTS.fullmatch(hosts) or (slash and not hosts)
    return f"{hosts}{slash}{path}" if certain else _HIDDEN


def _without_query(text: str) -> str:
    return re.split("[?#]", text, maxsplit=1)[0]
