"""A tdmrep.json is requested like any page: not before the rules, and not against them.

Only for the robots.txt itself no robots.txt is asked (RFC 9309 section 2.2.2).
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pytest_twisted import ensureDeferred

from tests.crawl.harness import EACH_MODE, crawl, crawl_in_child
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.test_overrides import entry
from tests.crawl.test_preferences import RESERVED, TDMREP, page
from tests.replies import Reply, redirect
from tests.site import Authority, Site


def paths(shop: Authority) -> list[str]:
    """What a site was asked for."""
    return [hit.path for hit in shop.hits]


def settings_for(mode: str, **more: Any) -> dict[str, Any]:
    """A crawl for text and data mining."""
    return obey(REP_TDMREP=True, REP_PREFERENCES=mode, REP_PURPOSES=["tdm"], **more)


@pytest.mark.parametrize("mode", EACH_MODE)
def test_a_redirect_asks_the_rules_of_its_target(site: Site, mode: str) -> None:
    """Those of another site are fetched first; a page is refused where the file is unknown."""
    closed, open_one = site.authority(NOTHING), site.authority(RULES, {"/t": Reply(200, RESERVED)})
    pages = [closed.url("/t"), open_one.url("/t"), open_one.url("/private")]
    shops = [site.authority(RULES, {TDMREP: redirect(to), "/": page()}) for to in pages]
    plans = [shop.url("/") for shop in shops]
    result = crawl_in_child(mode=mode, settings=settings_for("skip"), plans=plans).check()
    assert sorted(result.forbidden) == sorted(plans)
    reasons = [result.ending(url).problem.text for url in plans]
    assert ["disallows tdm" in reason for reason in reasons] == [False, True, False]
    assert paths(closed) == ["/robots.txt"]
    assert paths(open_one) == ["/robots.txt", "/t"]


@ensureDeferred
async def test_a_redirect_within_a_site_obeys_its_rules(site: Site) -> None:
    """The same rules as for a page, from memory."""
    shop = site.authority(RULES, {TDMREP: redirect("/private"), "/": page()})
    result = (await crawl(settings=settings_for("report"), plans=[shop.url("/")])).check()
    assert result.downloaded == [shop.url("/")]
    assert paths(shop) == ["/robots.txt", TDMREP, "/"]
    assert len(shop.robots_hits) == 1


@pytest.mark.parametrize("action", ["forbid", "file"])
@ensureDeferred
async def test_overrides_hold_for_the_file(site: Site, tmp_path: Path, action: str) -> None:
    """What the operator forbids is not fetched, whatever the site allows."""
    (tmp_path / "local").write_text("User-agent: *\nDisallow: /.well-known/\n")
    more = {"forbid": {"paths": ["/.well-known/"]}, "file": {"file": str(tmp_path / "local")}}
    shop = site.authority(RULES, {TDMREP: Reply(200, RESERVED), "/": page()})
    overrides = [entry(shop, action, **more[action])]
    settings = settings_for("report", REP_OVERRIDES=overrides)
    result = (await crawl(settings=settings, plans=[shop.url("/")])).check()
    assert result.downloaded == [shop.url("/")]
    assert TDMREP not in paths(shop)


@pytest.mark.parametrize("asks", ["Crawl-delay: 1000", "Visit-time: {}"])
@ensureDeferred
async def test_nothing_is_fetched_for_a_page_that_the_pace_refuses(site: Site, asks: str) -> None:
    """The reason is the pace, not the file that is unknown for that."""
    soon = datetime.now(timezone.utc) + timedelta(hours=6)
    window = f"{soon:%H%M}-{soon + timedelta(hours=1):%H%M}"
    shop = site.authority(f"User-agent: *\n{asks.format(window)}\n", {"/": page()})
    settings = settings_for("skip", REP_OVER_MAX_CRAWL_DELAY="forbid", REP_VISIT_TIME="forbid")
    result = (await crawl(settings=settings, plans=[shop.url("/")])).check()
    assert result.forbidden == [shop.url("/")]
    assert "tdmrep" not in result.ending(shop.url("/")).problem.text
    assert paths(shop) == ["/robots.txt"]
