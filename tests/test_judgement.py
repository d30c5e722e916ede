"""What decides about the URLs of an authority, where no crawl takes place."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.settings import Settings

from scrapy_rep.judgement import Judge, PaceBySettings
from scrapy_rep.page_url import Asked
from scrapy_rep.protocol.outcome import Success
from scrapy_rep.settings import RepSettings
from tests.scripted import Bench, ask, authority

FORBIDDING = {"REP_VISIT_TIME": "forbid", "REP_OVER_MAX_CRAWL_DELAY": "forbid"}


@pytest.mark.parametrize(
    ("text", "settings", "alone"),
    [
        ("Disallow: /private", FORBIDDING, True),
        ("Crawl-delay: 5", FORBIDDING, True),
        ("Crawl-delay: 86400", FORBIDDING, False),
        ("Crawl-delay: 86400", {}, True),
        ("Request-rate: 1/10s", FORBIDDING, True),
        ("Request-rate: 1/10s 0600-0845", FORBIDDING, False),
        ("Visit-time: 0000-2359", FORBIDDING, False),
        ("Visit-time: 0000-2359", {}, True),
    ],
)
@ensureDeferred
async def test_what_may_refuse_a_url_at_some_time_of_the_day_decides_beside_the_rules(
    text: str, settings: dict[str, Any], alone: bool
) -> None:
    """Even if it refuses nothing now: the day goes on while URLs are judged."""
    bench = Bench(Success(f"User-agent: *\n{text}\n".encode()))
    known = await ask(bench)
    pace = PaceBySettings(RepSettings.from_settings(Settings(settings)), bench.clock)
    url = f"{authority()}/a"
    asked = Asked(Request(url), url, authority(), ("mybot",))
    assert Judge(pace, pace, None, None).is_by_rules_alone(asked, known) is alone
