"""How the tests switch the plugin on, and the robots.txt that most of them use."""

from __future__ import annotations

from typing import Any

RULES = "User-agent: *\nDisallow: /private\n"
NOTHING = "User-agent: *\nDisallow: /\n"


def obey(**settings: Any) -> dict[str, Any]:
    """The settings of a project that uses the add-on; without waits between attempts."""
    return {"ADDONS": {"scrapy_rep.Addon": 100}, "REP_RETRY_DELAYS": [], **settings}
