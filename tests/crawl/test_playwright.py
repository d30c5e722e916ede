"""scrapy-playwright and a real Chromium, which follows redirects by itself.

``test_final_url.py`` shows the same with a download handler, without a browser.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

import pytest

from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import RULES, obey
from tests.replies import Reply, html, redirect
from tests.site import Site

pytestmark = pytest.mark.slow


@pytest.fixture
def browser() -> dict[str, Any]:
    """The settings that have pages loaded in the browser.

    Without it the tests are skipped; with CI set they fail.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None or find_spec("scrapy_playwright") is None:
        missing = pytest.fail if os.environ.get("CI") else pytest.skip
        missing("Chromium (Debian: apt-get install chromium) or the extra `browser` is missing")
    options = {"executable_path": program, "args": ["--no-sandbox", "--no-proxy-server"]}
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    return {"DOWNLOAD_HANDLERS": {"http": handler}, "PLAYWRIGHT_LAUNCH_OPTIONS": options}


def test_the_page_that_the_browser_was_redirected_to_is_judged(
    site: Site, browser: dict[str, Any]
) -> None:
    """By the rules of its own site, and a forbidden one never reaches a callback."""
    far, dark = site.authority(RULES), site.authority(Reply(503))
    pages = {
        "/plain": html("a page"),
        "/own": redirect("/private/x"),
        "/far": redirect(far.url("/private")),
        "/twice": redirect("/far"),
        "/dark": redirect(dark.url("/")),
        "/open": redirect(far.url("/open#top")),
    }
    shop = site.authority(RULES, pages)
    plans = [{"url": shop.url(path), "meta": {"playwright": True}} for path in pages]
    result = crawl_in_child(settings=obey(**browser), plans=plans, timeout=100).check()
    kinds = {path: result.kind(shop.url(path)) for path in pages}
    assert kinds == {
        "/plain": "downloaded",
        "/own": "forbidden",
        "/far": "forbidden",
        "/twice": "forbidden",
        "/dark": "unreachable",
        "/open": "downloaded",
    }
    assert result.ending(shop.url("/open")).final.startswith(far.url("/open"))
    assert result.stats["robotstxt/final_url/judged"] == 5
    assert result.stats["robotstxt/final_url/refused"] == 4
    assert len(far.robots_hits) == len(dark.robots_hits) == 1
