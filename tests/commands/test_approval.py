"""`scrapy robots check --approve`: rules that somebody has read still hold, or not."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import Ended, robots
from tests.commands.test_check import FAST, RULES
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

URL = "https://e.org/a"


class TestApproval:
    """`--approve`: the rules that somebody has read still hold, or not."""

    def approve(self, site_url: str, file: Path) -> tuple[int, str]:
        """The exit status and stderr of one run."""
        ended = robots("check", "--agent", "mybot", "--approve", file, site_url)
        return ended.status, ended.err

    @pytest.mark.parametrize(
        "new",
        first(
            1,
            [
                RULES.replace("Disallow: /search\n", "Disallow: /search\nDisallow: /search/x\n"),
                RULES,
                f"# a comment\n{RULES}",
                RULES.replace("Disallow: /private", "Disallow: /"),
            ],
        ),
        ids=["covered rule", "same", "comment", "another crawler"],
    )
    def test_same_effect_is_still_approved(self, site: Site, tmp_path: Path, new: str) -> None:
        """However it is written."""
        shop = site.authority(robots=RULES)
        assert self.approve(shop.url("/a"), tmp_path / "ok.json") == (0, "")
        shop.robots = new
        assert self.approve(shop.url("/a"), tmp_path / "ok.json") == (0, "")

    def test_changed_effect_is_status_4(self, site: Site, tmp_path: Path) -> None:
        """Whether the URL that is asked about is concerned or not."""
        shop = site.authority(robots=RULES)
        self.approve(shop.url("/a"), tmp_path / "ok.json")
        shop.robots = RULES.replace("/search", "/find")
        status, err = self.approve(shop.url("/a"), tmp_path / "ok.json")
        assert status == 4
        assert "/find was allowed (no rule matches), is disallowed (Disallow: /find)" in err
        shop.robots = RULES.replace("Crawl-delay: 2", "Crawl-delay: 20")
        assert self.approve(shop.url("/a"), tmp_path / "ok.json")[0] == 4

    def test_new_site_is_approved_at_its_first_run(self, site: Site, tmp_path: Path) -> None:
        """And those that are approved already stay."""
        shop, other = site.authority(robots=RULES), site.authority(robots=RULES)
        self.approve(shop.url("/a"), tmp_path / "ok.json")
        self.approve(other.url("/a"), tmp_path / "ok.json")
        approved = json.loads((tmp_path / "ok.json").read_text())["approved"]
        assert len(approved) == 2

    @pytest.mark.parametrize(
        "text",
        [
            *("", "[]", '{"version": 2}', "\0", '{"version": 1}'),
            '{"version": 1, "approved": {"a site": {"rules": 0, "overrides": []}}}',
        ],
    )
    def test_bad_file_is_status_2(self, site: Site, tmp_path: Path, text: str) -> None:
        """And it is left as it is."""
        shop = site.authority(robots=RULES)
        (tmp_path / "ok.json").write_text(text)
        ended = robots("check", "--approve", tmp_path / "ok.json", shop.url("/a"))
        assert (ended.status, ended.out) == (2, "")
        assert not shop.robots_hits
        assert (tmp_path / "ok.json").read_text() == text

    def test_folder_without_permission_is_status_2(self, site: Site, tmp_path: Path) -> None:
        """Here a file that is none."""
        shop = site.authority(robots=RULES)
        (tmp_path / "file").write_text("")
        assert self.approve(shop.url("/a"), tmp_path / "file" / "ok.json")[0] == 2


def test_what_lies_beyond_the_limit_is_not_approved(tmp_path: Path) -> None:
    """RFC 9309 section 2.5: a crawl does not read it, so a change there changes nothing."""
    file, approved = tmp_path / "robots.txt", tmp_path / "approved.json"
    words = ("check", "--robots-txt", file, "--approve", approved, "-s", "REP_MAX_SIZE=512000")
    for beyond in ("Disallow: /a\n", "Disallow: /b\n"):
        file.write_text("User-agent: *\n" + 6_000 * ("#" * 99 + "\n") + beyond)
        ended = robots(*words, "https://e.org/a")
        assert (ended.status, ended.err) == (0, "")


def days_ahead(days: int) -> str:
    """A date, as an override has it."""
    return (datetime.now(timezone.utc).date() + timedelta(days=days)).isoformat()


class TestOverrides:
    """What an override makes of the rules is approved with them."""

    def write(self, folder: Path, url: str = URL, **entry: Any) -> None:
        """The file of overrides, with one of them."""
        given = {"reason": "ours", "by": "ops", "until": days_ahead(7), **entry}
        lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
        head = f'[[override]]\nauthority = "{url.rpartition("/")[0]}"\n'
        (folder / "overrides.toml").write_text(head + "\n".join(lines) + "\n")

    def check(self, folder: Path, *words: object) -> Ended:
        """One run that compares."""
        named = ("-s", f"REP_OVERRIDES={folder / 'overrides.toml'}", *FAST)
        return robots("check", "--approve", folder / "ok.json", *named, *words)

    def offline(self, folder: Path, rules: str) -> Ended:
        """One run with rules from a file."""
        (folder / "robots.txt").write_text(rules)
        return self.check(folder, "--robots-txt", folder / "robots.txt", URL)

    def test_rules_of_the_agent_that_is_used_count(self, tmp_path: Path) -> None:
        """And no others."""
        rules = "User-agent: *\nDisallow: /\n\nUser-agent: partnerbot\nDisallow: /x\n"
        self.write(tmp_path, action="agent", agent="partnerbot")
        assert self.offline(tmp_path, rules).status == 0
        assert self.offline(tmp_path, rules.replace("Disallow: /\n", "Allow: /\n")).status == 0
        ended = self.offline(tmp_path, rules + "Disallow: /y\n")
        assert ended.status == 4
        assert "/y was allowed (no rule matches), is disallowed (Disallow: /y)" in ended.err

    @pytest.mark.parametrize(
        ("change", "status"),
        [
            ({"reason": "another", "by": "others", "until": days_ahead(30)}, 0),
            ({"until": days_ahead(-1)}, 4),
            ({"paths": ["/b"]}, 4),
            ({"action": "forbid"}, 4),
            ({"action": "delay", "delay": 3}, 4),
        ],
        ids=["told otherwise", "expired", "paths", "action", "pace"],
    )
    def test_another_effect_of_an_override_needs_approval(
        self, tmp_path: Path, change: dict[str, Any], status: int
    ) -> None:
        """But not another reason, person, or end."""
        entry = {"action": "allow", "paths": ["/a"]}
        self.write(tmp_path, **entry)
        assert self.offline(tmp_path, "User-agent: *\nDisallow: /\n").status == 0
        self.write(tmp_path, **{**entry, **change})
        ended = self.offline(tmp_path, "User-agent: *\nDisallow: /\n")
        assert ended.status == status
        assert ("the overrides for https://e.org have changed" in ended.err) == (status == 4)


def test_rules_are_neither_approved_nor_compared_while_they_are_unreachable(
    site: Site, tmp_path: Path
) -> None:
    """Status 3 says that; then the rules that were approved before it hold, or not."""
    shop = site.authority(robots=Reply(503))
    words = ("check", "--agent", "mybot", "--approve", tmp_path / "ok.json", *FAST, shop.url("/a"))
    statuses = []
    for rules in (Reply(503), RULES, Reply(503), RULES, RULES.replace("/search", "/find")):
        shop.robots = rules
        statuses.append(robots(*words).status)
    assert statuses == [3, 0, 3, 0, 4]


def test_a_purpose_that_is_newly_disallowed_is_a_change(tmp_path: Path) -> None:
    """`REP_PREFERENCES = "skip"`: a crawl would no longer fetch the page."""
    file = tmp_path / "robots.txt"
    words = ("check", "--robots-txt", file, "--approve", tmp_path / "ok.json", URL)
    words = (*words, "-s", "REP_PREFERENCES=skip", "-s", "REP_PURPOSES=train-ai")
    file.write_text("User-agent: *\nAllow: /\n")
    assert robots(*words).status == 0
    file.write_text("User-agent: *\nAllow: /\nContent-Usage: /b train-ai=n\n")
    ended = robots(*words)
    assert ended.status == 4
    assert (
        "/b was allowed (Allow: /), is disallowed (Content-Usage disallows train-ai)" in ended.err
    )
