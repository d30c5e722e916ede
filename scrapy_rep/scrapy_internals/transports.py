"""What the download handlers of Scrapy and of other packages do with a response."""

from __future__ import annotations

from typing import Any

import scrapy

_HANDLERS = "scrapy.core.downloader.handlers"

_SILENT = {f"{_HANDLERS}.http10"}
"""Modules of Scrapy whose handlers send no ``bytes_received``."""

if scrapy.version_info < (2, 18):
    _SILENT.add(f"{_HANDLERS}.http2")


def sends_octets(transport: Any) -> bool:
    """Return True if each chunk of a body is announced by the signal ``bytes_received``.

    Scrapy's own ``download_request`` does so. A handler with a different one, even if it inherits
    from Scrapy's, may read a whole body before it sends a signal. An unknown handler, ``None``, may
    do that, too.
    """
    for kind in type(transport).__mro__:
        if "download_request" in vars(kind):
            return kind.__module__.startswith("scrapy.") and kind.__module__ not in _SILENT
    return False


def negotiates(transport: Any) -> bool:
    """Return True if a handler agrees with the server on the form of a body by itself.

    Zyte API's does: it warns of each request that has an ``Accept`` or ``Accept-Encoding``.
    """
    packages = {kind.__module__.partition(".")[0] for kind in type(transport).__mro__}
    return "scrapy_zyte_api" in packages
