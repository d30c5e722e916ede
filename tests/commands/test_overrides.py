"""`scrapy robots check` and `explain` show both verdicts where an override changes one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.commands.running import results, robots
from tests.crawl.plugin import NOTHING
from tests.replies import Reply
from tests.site import Authority, Site


def overrides(folder: Path, shop: Authority, action: str) -> tuple[str, ...]:
    """The options that name a file with one override."""
    until = datetime.now(timezone.utc).date() + timedelta(days=7)
    file = folder / "overrides.toml"
    file.write_text(
        f'[[override]]\nauthority = "{shop.url("/")}"\naction = "{action}"\npaths = ["/a"]\n'
        f'reason = "ours"\nby = "ops"\nuntil = {until}\n'
    )
    return "-s", f"REP_OVERRIDES={file}", "-s", "REP_RETRY_DELAYS=[]"


def test_check_shows_both_verdicts(site: Site, tmp_path: Path) -> None:
    """In JSON as two fields, in text on the line of the URL."""
    shop = site.authority(robots=NOTHING)
    given = overrides(tmp_path, shop, "allow")
    urls = (shop.url("/a"), shop.url("/b"))
    ended = robots("check", "--format", "json", *given, *urls)
    one, other = results(ended.out)
    assert ended.status == 1
    assert (one["verdict"], one["reason"], one["without"]) == ("allowed", "override", "disallowed")
    assert one["override"].startswith("allow, entry 1: ours (ops, until")
    assert (other["verdict"], other["override"], other["without"]) == ("disallowed", None, None)
    ended = robots("check", *given, urls[0])
    assert ended.status == 0
    [line] = ended.out.splitlines()
    assert line.startswith(f"allowed  {urls[0]}  override: allow, entry 1: ours")
    assert line.endswith("without it: disallowed")


def test_explain_shows_both_verdicts(site: Site, tmp_path: Path) -> None:
    """First the one that counts, then all about the other one."""
    shop = site.authority(robots=NOTHING)
    given = overrides(tmp_path, shop, "allow")
    ended = robots("explain", *given, shop.url("/a"))
    assert ended.status == 0
    first, by, *rest = ended.out.splitlines()
    assert first == f"allowed: {shop.url('/a')}"
    assert by.startswith("  override: allow, entry 1: ours (ops")
    assert rest[0] == "  by the rules alone: disallowed, Disallow: / (line 2, group *)"
    [told] = results(robots("explain", "--format", "json", *given, shop.url("/a")).out)
    assert (told["verdict"], told["decided_by"]) == ("allowed", "override")
    assert told["override"].startswith("allow, entry 1: ours (ops")
    assert told["by_rules"]["allowed"] is False


def test_an_unreachable_site_can_be_checked_and_explained(site: Site, tmp_path: Path) -> None:
    """Although there are no rules."""
    shop = site.authority(robots=Reply(503))
    given = overrides(tmp_path, shop, "unreachable-is-allowed")
    [row] = results(robots("check", "--format", "json", *given, shop.url("/a")).out)
    assert (row["verdict"], row["without"]) == ("allowed", "unreachable")
    ended = robots("explain", *given, shop.url("/a"))
    assert ended.status == 0
    assert ended.out.splitlines()[0] == f"allowed: {shop.url('/a')}"
    assert ended.out.endswith(": unreachable: status 503\n")
    assert robots("check", *given, shop.url("/b")).status == 3
    assert robots("explain", *given, shop.url("/b")).status == 3
