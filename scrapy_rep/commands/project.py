"""The settings that a subcommand goes by: those of the project, the command line, its options."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from scrapy.spiderloader import get_spider_loader

from scrapy_rep.commands.output import described, usage_error
from scrapy_rep.robotstxt.product_token import product_token
from scrapy_rep.settings import RepSettings, product_tokens

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings


def settings_of(settings: BaseSettings) -> RepSettings:
    """Return the settings of this package; raise ``EndingError`` for a bad one."""
    try:
        return RepSettings.from_settings(settings)
    except ValueError as error:
        raise usage_error(str(error)) from None


def settings_with_spider(
    settings: BaseSettings, options: Namespace
) -> tuple[BaseSettings, type[Spider] | None]:
    """Return a copy of the settings with those of the spider that is named, and its class.

    Raises ``EndingError`` if the project has no such spider.
    """
    settings, name = settings.copy(), options.spider
    if name is None:
        return settings, None
    try:
        spider: type[Spider] = get_spider_loader(settings).load(name)
    except KeyError:
        raise usage_error(f"no spider is called {name}") from None
    except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
        raise usage_error(f"the spiders cannot be loaded: {described(error)}") from None
    try:
        spider.update_settings(settings)
    except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
        said = f"the settings of the spider {name} cannot be read: {described(error)}"
        raise usage_error(said) from None
    return settings, spider


def settings_chosen(settings: BaseSettings, options: Namespace) -> RepSettings:
    """Return the settings of this package with those of the spider; raise ``EndingError``."""
    return settings_of(settings_with_spider(settings, options)[0])


def tokens_of_crawl(settings: BaseSettings, spider: type[Spider] | None) -> tuple[str, ...]:
    """Return the tokens of a crawl by its settings, which hold those of its spider.

    Raises ``EndingError`` if the spider names something that is not a token.
    """
    chosen = getattr(spider, "robotstxt_user_agent", None) or settings_of(settings).user_agent
    if chosen:
        try:
            return tuple(product_tokens(chosen))
        except ValueError as error:
            raise usage_error(f"robotstxt_user_agent = {chosen!r}: {error}") from None
    headers = settings.getdict("DEFAULT_REQUEST_HEADERS").items()
    sent = next((value for name, value in headers if name.lower() == "user-agent"), None)
    sent = sent or getattr(spider, "user_agent", None) or settings.get("USER_AGENT")
    return (product_token(str(sent or "")) or "*",)
