"""The URI of a SQLite file: ``sqlite:``, ``sqlite:NAME`` or ``sqlite:///PATH``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from scrapy_rep.stores.uri import shown

FILE = "robots.db"
"""The file's name where a URI gives none."""

FILES = "use sqlite:NAME or sqlite:///PATH"


def path_of(uri: str, directory: Path) -> Path:
    """Return the path of a file, which is in ``directory`` if it has only a name.

    Raises ``ValueError`` if the URI names no file.
    """
    rest = uri.partition(":")[2]
    if not any(mark in rest for mark in ("?", "#", "%00", "\0")):
        if rest.startswith("///") and not rest.endswith("/"):
            return Path(without_slash(unquote(rest[2:])))
        if "/" not in rest:
            return directory / (unquote(rest) or FILE)
    raise ValueError(f"{shown(uri)!r} names no file: {FILES}, with %3F for ? and %23 for #")


def without_slash(path: str, system: str = sys.platform) -> str:
    """Return the absolute path of a URI; on Windows it begins with a drive, not with a slash."""
    return path[1:] if system == "win32" and re.match("/[A-Za-z]:/", path) else path
