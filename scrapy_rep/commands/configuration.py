"""The settings that a subcommand goes by: those of the project, the command line, its options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING

from scrapy_rep.commands.endings import usage
from scrapy_rep.protocol.product_token import product_token
from scrapy_rep.settings import RepSettings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def settings_of(settings: BaseSettings) -> RepSettings:
    """Return the settings of this package; raise ``EndingError`` for a bad one."""
    try:
        return RepSettings.from_settings(settings)
    except ValueError as error:
        raise usage(str(error)) from None


def identity_of(settings: BaseSettings, options: Namespace) -> Sequence[str]:
    """Return the tokens of the crawler outside a crawl: as given, or by the settings."""
    chosen = options.agent or settings_of(settings).user_agent
    if chosen:
        return tuple(chosen)
    return (product_token(str(settings.get("USER_AGENT") or "")) or "*",)


def profile_of(settings: BaseSettings, options: Namespace) -> str:
    """Return the name of the profile: as given, or by the settings."""
    return str(options.rep_profile or settings_of(settings).profile)


def version() -> str:
    """Return the version of this package."""
    try:
        return metadata.version("scrapy_rep")
    except metadata.PackageNotFoundError:
        return "unknown"
