"""Projects for the command: with scrapy.cfg, and with pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    folder = tmp_path / "project"
    package = folder / "shop"
    (package / "spiders").mkdir(parents=True)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    for name, text in {
        "__init__.py": "",
        "settings.py": (
            'BOT_NAME = "shop"\n'
            'SPIDER_MODULES = ["shop.spiders"]\n'
            'ADDONS = {"scrapy_rep.Addon": 100}\n'
            'ROBOTSTXT_USER_AGENT = "mybot"\n'
            'REP_STORE = "sqlite:robots.db"\n'
            "REP_RETRY_DELAYS = []\n"
            'EXTENSIONS = {"shop.loud.Loud": 1}\n'
            'ITEM_PIPELINES = {"shop.loud.Loud": 1}\n'
            'SPIDER_MIDDLEWARES = {"shop.loud.Loud": 1}\n'
            'FEEDS = {"items.jsonl": {"format": "jsonlines"}}\n'
            'LOG_LEVEL = "DEBUG"\n'
        ),
        "loud.py": LOUD,
        "spiders/__init__.py": "",
        "spiders/shop.py": SPIDER,
    }.items():
        (package / name).write_text(text)
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
