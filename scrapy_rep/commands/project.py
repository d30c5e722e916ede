"""The project that a subcommand asks for: its settings, its spider, and the name of its crawler."""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.spiderloader import get_spider_loader

from scrapy_rep.commands.output import described, usage_error
from scrapy_rep.gate.identity import Identity
from scrapy_rep.settings import RepSettings
from scrapy_rep.stats import RepStats

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings


class Project:
    """The settings of the project and the command line, and the spider that ``--spider`` names.

    ``given`` are the settings without those of the spider, ``settings`` those with them. Raises
    ``EndingError`` if the project has no such spider, or if it cannot be loaded.
    """

    def __init__(self, given: BaseSettings, name: str | None) -> None:
        self.given = given
        self.settings = given.copy()
        self.spider: type[Spider] | None = None
        if name is None:
            return
        try:
            self.spider = get_spider_loader(given).load(name)
        except KeyError:
            raise usage_error(f"no spider is called {name}") from None
        except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
            raise usage_error(f"the spiders cannot be loaded: {described(error)}") from None
        try:
            self.spider.update_settings(self.settings)
        except Exception as error:  # noqa: BLE001  # the code of a project may raise anything
            said = f"the settings of the spider {name} cannot be read: {described(error)}"
            raise usage_error(said) from None

    @cached_property
    def chosen(self) -> RepSettings:
        """The settings of this package; raises ``EndingError`` for a bad one."""
        try:
            return RepSettings.from_settings(self.settings)
        except ValueError as error:
            raise usage_error(str(error)) from None

    @property
    def agent(self) -> tuple[str, ...]:
        """The tokens of a crawl; raises ``EndingError`` if the spider's are not valid."""
        crawler: Any = SimpleNamespace(settings=self.settings, spider=self.spider)
        try:
            return Identity(crawler, self.chosen, RepStats()).default
        except ValueError as error:
            raise usage_error(str(error)) from None
