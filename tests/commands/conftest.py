"""Projects for the command: with scrapy.cfg, and with pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.running import write_project

SPIDER = """
import scrapy

class ShopSpider(scrapy.Spider):
    name = "shop"
    robotstxt_user_agent = "shopbot"
    start_urls = ["http://127.0.0.1:9/never"]
    custom_settings = {"REP_PROFILE": "1994"}
"""
LOUD = """
class Loud:
    def __init__(self):
        raise RuntimeError("this must not be made")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that obeys, keeps a store, and breaks if its extension or pipeline is made."""
    loud = {"shop.loud.Loud": 1}
    settings = {
        "ROBOTSTXT_USER_AGENT": "mybot",
        "REP_STORE": "sqlite:robots.db",
        "EXTENSIONS": loud,
        "ITEM_PIPELINES": loud,
        "SPIDER_MIDDLEWARES": loud,
        "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
        "LOG_LEVEL": "DEBUG",
    }
    folder = write_project(tmp_path / "project", settings, SPIDER)
    (folder / "shop" / "loud.py").write_text(LOUD)
    return folder


@pytest.fixture
def robots_txt(tmp_path: Path) -> Path:
    """A robots.txt in a file."""
    file = tmp_path / "robots.txt"
    file.write_text(
        "User-agent: *\nDisallow: /private\nAllow: /private/press\n\n"
        "User-agent: mybot\nDisallow: /search\nCrawl-delay: 2\n\n"
        "User-agent: shopbot\nDisallow: /\n"
    )
    return file
