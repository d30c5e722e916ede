"""`scrapy robots explain`, `lint` and `diff`: what they print, and how they end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from scrapy_rep.robotstxt.profiles import PROFILES
from tests.commands.running import FAST, results, robots, told
from tests.replies import Reply
from tests.rows import first
from tests.site import Site


class TestExplain:
    """`scrapy robots explain URL`."""

    def test_only_the_groups_that_count_are_shown(self, robots_txt: Path) -> None:
        """However many others there are."""
        others = "".join(f"User-agent: bot{n}\nDisallow: /x{n}\n\n" for n in range(60))
        robots_txt.write_text(f"{others}User-agent: mybot\nDisallow: /search\n\n{others}")
        words = ("--agent", "mybot", "--robots-txt", robots_txt, "https://e.invalid/search")
        out = robots("explain", *words).out
        assert "  >  182  Disallow: /search  (decides)\n" in out
        assert len(out.splitlines()) < 15

    @pytest.mark.parametrize("status", [200, 404])
    def test_json_has_one_shape(self, site: Site, status: int) -> None:
        """With a file and without one."""
        shop = site.authority(robots=Reply(status, b"User-agent: *\nDisallow: /search\n"))
        ended = robots("explain", "--format", "json", shop.url("/search"))
        [said] = results(ended.out)
        [checked] = told("check", shop.url("/search"))
        assert [*said] == [*checked, "by_rules", "other_profiles"]
        word = "allowed" if status == 404 else "disallowed"
        assert (said["verdict"], ended.status) == (word, status == 200)
        assert said["lack_of_rules"] == (None if status == 200 else "no robots.txt: status 404")
        by_rules = said["by_rules"]
        assert (by_rules and by_rules["line"]) == (2 if status == 200 else None)

    @pytest.mark.parametrize("profile", first(2, PROFILES))
    def test_every_profile_is_explained(self, robots_txt: Path, profile: str) -> None:
        """By the rule that decides."""
        words = ("-s", f"REP_PROFILE={profile}", "--robots-txt", robots_txt)
        [said] = told("explain", *words, "https://e.invalid/private")
        assert said["by_rules"]["line"] == said["line"] == 2


class TestLint:
    """`scrapy robots lint FILE|URL|-`."""

    @pytest.mark.parametrize(
        ("body", "words", "status", "said"),
        first(6, [
            (b"User-agent: *\nDisallow:\n", [], 0, "no findings\n"),
            (b"User-agent: bot\n", [], 0, "no findings\n"),
            (b"User-agent: bot\n", ["--all"], 0, "[group-without-rules]"),
            (b"User-agent: a/1\nDisallow:\n", [], 1, "[agent-not-a-token]"),
            (b"User-agent: a/1\nDisallow:\n", ["--ignore", "agent-not-a-token"], 0, "no findings"),
            (b"\x1b[31mDisallow: /\n", [], 1, "\\x1b[31m"),
            (b"", [], 0, "no findings\n"),
            (os.urandom(5000) + b"\n:\xff", [], 1, ""),
        ]),
    )  # fmt: skip
    def test_exit_status(self, body: bytes, words: list[str], status: int, said: str) -> None:
        """Warnings and errors fail, and the reason is one line; the rest is shown with `--all`.

        Colours only on a terminal, and no escape sequence of the file's.
        """
        ended = robots("lint", *words, "-", given=body)
        assert (ended.status, said in ended.out, "\x1b" in ended.out) == (status, True, False)
        assert ended.err.count("\n") == (status > 0)

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
        """As a crawl would fetch it."""
        shop = site.authority(robots="Disallow: /x\n")
        assert "rule-before-group" in robots("lint", shop.url("/some/page")).out

    def test_an_unreadable_source_loses_no_findings(self, site: Site, robots_txt: Path) -> None:
        """The others are reported; the status says that one is missing, and alone it has none."""
        robots_txt.write_text("Disallow: /x\n")
        down = site.authority(robots=Reply(503))
        for source, status in ((down.url("/"), 3), ("no-such-file", 2)):
            alone = robots("lint", source, *FAST)
            assert (alone.status, alone.out) == (status, "")
            ended = robots("lint", source, robots_txt, *FAST)
            assert ended.status == status
            assert "[rule-before-group]" in ended.out
            missing, summed = ended.err.splitlines()
            assert source in missing
            assert summed == "scrapy robots lint: 1 error"

    @pytest.mark.parametrize("status", [404, 403])
    @pytest.mark.parametrize("denied", ["allow", "disallow"])
    def test_a_site_without_a_file_has_nothing_to_find(
        self, site: Site, status: int, denied: str
    ) -> None:
        """Nothing is said of a file that there is not, nor of what is allowed."""
        shop = site.authority(robots=Reply(status))
        ended = robots("lint", "--all", shop.url("/"), "-s", f"REP_ACCESS_DENIED={denied}")
        assert (ended.status, ended.out) == (0, "no findings\n")
        said = f"{shop.url('/')}: no robots.txt: status {status}"
        assert ended.err == f"scrapy robots lint: {said}\n"

    def test_names_of_files_may_be_anything(self, tmp_path: Path) -> None:
        """In SARIF a name is a URI, whatever its encoding, and an absolute one stays absolute."""
        name = os.fsdecode(os.fsencode(tmp_path) + b"/r\xe4.txt")
        Path(name).write_text("Disallow: /x\n")
        for form in ("sarif", "json", "github", "text"):
            ended = robots("lint", "--format", form, name)
            assert ended.status == 1, form
            assert "fault" not in ended.err
        found = json.loads(robots("lint", "--format", "sarif", name).out)["runs"][0]["results"]
        place = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert place == f"file://{tmp_path}/r%E4.txt"


class TestDiff:
    """`scrapy robots diff OLD NEW`."""

    def test_no_difference_is_status_0(self, robots_txt: Path) -> None:
        """However the files are written."""
        ended = robots("diff", robots_txt, "-", given=b"# x\n" + robots_txt.read_bytes())
        assert ended == (0, "", "")

    def test_json_is_plain_data(self, robots_txt: Path) -> None:
        """With the pace."""
        [one] = told("diff", "--agent", "mybot", robots_txt, "/dev/null")
        assert one["agents"] == ["mybot"]
        assert one["paths"][0]["old"]["rule"] == "Disallow: /search"
        assert (one["old_pace"], one["new_pace"]) == ({"crawl delay": "2 s"}, {})

    @pytest.mark.parametrize("denied", first(1, ["disallow", "allow"]))
    @pytest.mark.parametrize("status", first(2, [403, 503, 401, 402, 404, 410]))
    def test_an_answer_without_rules_means_what_it_means_in_a_crawl(
        self, site: Site, tmp_path: Path, status: int, denied: str
    ) -> None:
        """As a file that is open or closed, or status 3."""
        shop = site.authority(robots=Reply(status))
        (tmp_path / "allowed").write_text("User-agent: *\nAllow: /\n")
        (tmp_path / "disallowed").write_text("User-agent: *\nDisallow: /\n")
        words = (*FAST, "-s", f"REP_ACCESS_DENIED={denied}")
        [row] = told("check", *words, shop.url("/"))
        for name in ("allowed", "disallowed"):
            ended = robots("diff", shop.url("/"), name, *words, cwd=tmp_path)
            expected = 3 if row["verdict"] == "unreachable" else row["verdict"] != name
            assert ended.status == expected, (name, ended)

    @pytest.mark.parametrize(("status", "word"), [(404, "allowed"), (403, "disallowed")])
    def test_nothing_is_said_of_a_file_that_there_is_not(
        self, site: Site, robots_txt: Path, status: int, word: str
    ) -> None:
        """A 403 has neither a line nor a group."""
        shop = site.authority(robots=Reply(status))
        robots_txt.write_text(f"User-agent: *\n{'Dis' * (word == 'allowed')}allow: /\n")
        ended = robots("diff", robots_txt, shop.url("/"), "-s", "REP_ACCESS_DENIED=disallow")
        said = "scrapy robots diff: the rules differ for 1 crawler\n"
        assert (ended.status, ended.err) == (1, said)
        assert f"    + {word}: no robots.txt: status {status}\n" in ended.out
