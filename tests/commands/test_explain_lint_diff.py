"""`scrapy robots explain`, `lint` and `diff`: what they print, and how they end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scrapy_rep import Verdict
from scrapy_rep.robotstxt.verdict import as_plain
from tests.commands.archive import write_archive
from tests.commands.running import robots
from tests.replies import Reply
from tests.rows import first
from tests.site import Site

FAST = ("-s", "REP_RETRY_DELAYS=[]")


class TestExplain:
    """`scrapy robots explain URL`."""

    def test_text_shows_file_rules_groups_forms_and_profiles(self, robots_txt: Path) -> None:
        """The deciding line is marked, and each rule that lost says why."""
        url = "https://e.invalid/private/%70ress"
        ended = robots("explain", "--robots-txt", robots_txt, url)
        assert ended.status == 0
        assert "  >    3  Allow: /private/press\n" in ended.out
        assert "line 3: Allow: /private/press  (14 octets)  decides\n" in ended.out
        assert "line 2: Disallow: /private  (8 octets)  loses: shorter than line 3\n" in ended.out
        assert "  line 1: *: chosen, for all crawlers without a group\n" in ended.out
        assert "  line 5: mybot: does not name scrapy\n" in ended.out
        assert "  URL   /private/press\n" in ended.out
        assert "  1994: disallowed (Disallow: /private, line 2)\n" in ended.out

    def test_json_says_the_same(self, robots_txt: Path) -> None:
        """As plain data."""
        words = ("--agent", "mybot", "--robots-txt", robots_txt, "https://e.invalid/search?q")
        ended = robots("explain", "--format", "json", *words)
        told = json.loads(ended.out)
        assert ended.status == 1
        assert (told["allowed"], told["rule"], told["line"]) == (False, "Disallow: /search", 6)
        assert [(one["line"], one["chosen"]) for one in told["groups"]] == [
            (1, False),
            (5, True),
            (9, False),
        ]
        assert [one["decides"] for one in told["matched"]] == [True]

    def test_json_says_a_verdict_as_a_decision_log_does(self, robots_txt: Path) -> None:
        """The same keys in the same order, wherever a verdict is told."""
        words = ("--robots-txt", robots_txt, "https://e.invalid/private/press")
        told = json.loads(robots("explain", "--format", "json", *words).out)
        keys = [*as_plain(Verdict(allowed=True))]
        assert [*told][: len(keys) + 2] == ["url", *keys, "decided_by"]
        verdicts = [told["by_rules"], *told["other_profiles"].values()]
        assert [[*one] for one in verdicts] == [keys] * len(verdicts)
        assert len(verdicts) > 1

    @pytest.mark.parametrize("profile", ["rfc9309", "google", "1996", "1994", "kollar"])
    def test_every_profile_is_explained(self, robots_txt: Path, profile: str) -> None:
        """The rule that decides is among those that match."""
        words = ("--rep-profile", profile, "--robots-txt", robots_txt, "--format", "json")
        told = json.loads(robots("explain", *words, "https://e.invalid/private").out)
        assert [one["line"] for one in told["matched"] if one["decides"]] == [told["line"]] == [2]

    def test_fetched_file_is_explained(self, site: Site) -> None:
        """By the rules of the crawl."""
        shop = site.authority(robots="User-agent: *\nDisallow: /x\n")
        ended = robots("explain", shop.url("/x"))
        assert ended.status == 1
        assert f"The file ({shop.url('/robots.txt')})" in ended.out

    @pytest.mark.parametrize(("reply", "status"), [(Reply(404), 0), (Reply(503), 3)])
    def test_without_a_file_the_status_is_explained(
        self, site: Site, reply: Reply, status: int
    ) -> None:
        """404 allows everything; 503 is no answer."""
        shop = site.authority(robots=reply)
        ended = robots("explain", shop.url("/x"), *FAST)
        assert ended.status == status
        assert str(reply.status) in ended.out + ended.err


class TestLint:
    """`scrapy robots lint FILE|URL|-`."""

    @pytest.mark.parametrize(
        ("body", "words", "status"),
        [
            (b"User-agent: *\nDisallow:\n", [], 0),
            (b"User-agent: b0t\nDisallow:\n", [], 0),
            (b"User-agent: b0t\nDisallow:\n", ["--fail-on", "information"], 1),
            (b"User-agent: a/1\nDisallow:\n", [], 1),
            (b"User-agent: a/1\nDisallow:\n", ["--fail-on", "error"], 0),
            (b"User-agent: a/1\nDisallow:\n", ["--ignore", "agent-not-a-token"], 0),
            (b"User-agent: a/1\nDisallow:\n", ["--select", "agent-digit,empty-file"], 0),
            (b"Disallow: /\n", ["--fail-on", "never"], 0),
            (b"", [], 0),
            (os.urandom(5000) + b"\n:\xff", [], 1),
        ],
        ids=["clean", "information", "fail-on information", "warning", "fail-on error", "ignored",
             "not selected", "never", "empty", "binary"],
    )  # fmt: skip
    def test_exit_status(self, body: bytes, words: list[str], status: int) -> None:
        """Warnings and errors fail; the reason is one line."""
        ended = robots("lint", *words, "-", given=body)
        assert ended.status == status
        assert ended.err.count("\n") == (status > 0)

    def test_text_names_file_line_and_column(self, tmp_path: Path) -> None:
        """As compilers do."""
        (tmp_path / "robots.txt").write_text("Disallow: /x\n")
        ended = robots("lint", "robots.txt", cwd=tmp_path)
        assert ended.out.startswith("robots.txt:1:1: error the line stands before the first")
        assert ended.err == "scrapy robots lint: 1 error\n"

    @pytest.mark.parametrize("form", ["json", "sarif", "github"])
    def test_formats_hold_several_files(self, tmp_path: Path, form: str) -> None:
        """Each finding says of which file it is."""
        for name in ("one.txt", "two.txt"):
            (tmp_path / name).write_text("Disallow: /x\n")
        ended = robots("lint", "--format", form, "one.txt", "two.txt", cwd=tmp_path)
        assert ended.status == 1
        assert "one.txt" in ended.out
        assert "two.txt" in ended.out
        if form != "github":
            json.loads(ended.out)

    def test_url_is_fetched(self, site: Site) -> None:
        """As a crawl would fetch it; an unreachable one is status 3."""
        shop = site.authority(robots="Disallow: /x\n")
        assert "rule-before-group" in robots("lint", shop.url("/some/page")).out
        shop.robots = Reply(503)
        assert robots("lint", shop.url("/"), *FAST).status == 3

    def test_hostile_text_is_escaped(self) -> None:
        """Colours only on a terminal, and no escape sequence of the file's."""
        ended = robots("lint", "-", given=b"\x1b[31mDisallow: /\n")
        assert "\\x1b[31m" in ended.out
        assert "\x1b" not in ended.out


class TestDiff:
    """`scrapy robots diff OLD NEW`."""

    def test_changed_paths_are_shown_with_both_rules(self, tmp_path: Path) -> None:
        """For each crawler that is concerned."""
        (tmp_path / "old").write_text("User-agent: *\nDisallow: /a\n")
        (tmp_path / "new").write_text("User-agent: *\nDisallow: /a/b\n")
        ended = robots("diff", "old", "new", cwd=tmp_path)
        assert ended.status == 1
        assert ended.out == (
            "*\n  /a\n    - disallowed by Disallow: /a (line 2, group *)\n"
            "    + allowed (no rule matches)\n"
        )
        assert ended.err == "scrapy robots diff: the rules differ for 1 crawler\n"

    def test_no_difference_is_status_0(self, robots_txt: Path) -> None:
        """However the files are written."""
        ended = robots("diff", robots_txt, "-", given=b"# x\n" + robots_txt.read_bytes())
        assert ended == (0, "", "")

    def test_json_is_plain_data(self, robots_txt: Path) -> None:
        """With the pace."""
        ended = robots("diff", "--format", "json", "--agent", "mybot", robots_txt, "/dev/null")
        [one] = json.loads(ended.out)["differences"]
        assert one["agents"] == ["mybot"]
        assert one["paths"][0]["old"]["rule"] == "Disallow: /search"
        assert (one["old_pace"]["crawl_delay"], one["new_pace"]["crawl_delay"]) == ("2 s", None)

    def test_stored_version_is_compared_with_the_live_one(self, site: Site, tmp_path: Path) -> None:
        """And versions of an archive with each other."""
        shop = site.authority(robots="User-agent: *\nDisallow: /a\n")
        store = ("-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
        robots("check", shop.url("/"), *store)
        shop.robots = "User-agent: *\nDisallow: /b\n"
        ended = robots("diff", f"store:{shop.url('/')}", shop.url("/"), "--no-store", *store)
        assert ended.status == 2 or "/b" in ended.out

    def test_archived_versions_are_compared_by_date(self, tmp_path: Path) -> None:
        """The newest until that time counts."""
        file = write_archive(
            tmp_path / "a.warc.gz",
            (
                "https://e.org/robots.txt",
                "2026-01-01T00:00:00Z",
                200,
                b"User-agent: *\nDisallow: /a",
            ),
            (
                "https://e.org/robots.txt",
                "2026-02-01T00:00:00Z",
                200,
                b"User-agent: *\nDisallow: /b",
            ),
        )
        ended = robots(
            "diff", f"warc:{file}#https://e.org/@2026-01-15", f"warc:{file}#https://e.org"
        )
        assert ended.status == 1
        assert "  /a\n    - disallowed" in ended.out
        assert robots("diff", f"warc:{file}#https://x.org", "/dev/null").status == 3

    @pytest.mark.parametrize("denied", first(1, ["disallow", "allow"]))
    @pytest.mark.parametrize("status", first(2, [403, 503, 401, 402, 404, 410]))
    def test_an_answer_without_rules_means_what_it_means_in_a_crawl(
        self, site: Site, tmp_path: Path, status: int, denied: str
    ) -> None:
        """Live, from a store and from an archive: as a file that is open or closed, or status 3."""
        shop = site.authority(robots=Reply(status))
        (tmp_path / "allowed").write_text("User-agent: *\nAllow: /\n")
        (tmp_path / "disallowed").write_text("User-agent: *\nDisallow: /\n")
        answer = (shop.url("/robots.txt"), "2026-01-01T00:00:00Z", status, b"")
        archive = write_archive(tmp_path / "a.warc.gz", answer)
        words = (*FAST, "-s", f"REP_STORE=sqlite://{tmp_path}/robots.db")
        words = (*words, "-s", f"REP_ACCESS_DENIED={denied}")
        [row] = json.loads(robots("check", "--format", "json", *words, shop.url("/")).out)
        for source in (shop.url("/"), f"store:{shop.url('/')}", f"warc:{archive}#{shop.url('/')}"):
            for name in ("allowed", "disallowed"):
                ended = robots("diff", source, name, *words, cwd=tmp_path)
                expected = 3 if row["verdict"] == "unreachable" else row["verdict"] != name
                assert ended.status == expected, (source, name, ended)

    @pytest.mark.parametrize("denied", ["allow", "disallow"])
    def test_refusal_that_a_store_holds_counts_for_its_crawler(
        self, site: Site, project: Path, denied: str
    ) -> None:
        """For the others, the rules from before it are what the store holds."""
        shop = site.authority(robots="User-agent: *\nDisallow: /a\n")
        (project / "rules").write_text("User-agent: *\nDisallow: /a\n")
        (project / "allow").write_text("")
        (project / "disallow").write_text("User-agent: *\nDisallow: /\n")
        words = ("-s", f"REP_ACCESS_DENIED={denied}")
        robots("check", shop.url("/"), *words, cwd=project)
        robots("cache", "expire", "--all", cwd=project)
        shop.robots = Reply(403)
        robots("check", shop.url("/"), *words, cwd=project)
        stored = f"store:{shop.url('/')}"
        assert robots("diff", stored, denied, *words, cwd=project).status == 0
        other = (*words, "-s", "USER_AGENT=otherbot/1.0")
        assert robots("diff", stored, "rules", *other, cwd=project).status == 0

    def test_an_archived_407_leaves_the_rules_undefined(self, tmp_path: Path) -> None:
        """It may have come from a proxy, which an archive does not say; `filter` agrees."""
        answer = ("https://e.org/robots.txt", "2026-01-01T00:00:00Z", 407, b"")
        archive = write_archive(tmp_path / "a.warc.gz", answer)
        assert robots("diff", f"warc:{archive}#https://e.org", "/dev/null").status == 3
        assert robots("filter", "--warc", archive, given="https://e.org/a").out == ""
