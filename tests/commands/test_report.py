"""`scrapy robots report`: what it writes, what it says, and how it ends."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path

import pytest
from lxml import html

from tests.commands.running import Ended, assert_one_line, environment, results, robots, unforked
from tests.commands.test_terminal import shown
from tests.records.samples import crawl, decision, lines, refusal, run, write
from tests.rows import first, rows


def report(*words: object, cwd: Path | None = None, given: bytes = b"") -> Ended:
    """The command."""
    return robots("report", *words, cwd=cwd, given=given)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of one run."""
    return write(tmp_path / "decisions.jsonl", run(), decision(), refusal())


def test_report_writes_a_page_and_says_what_was_read(tmp_path: Path, log: Path) -> None:
    """One line on stdout, nothing on stderr, status 0; nothing else is left behind."""
    page = tmp_path / "report.html"
    ended = report(log, "-o", page)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"{page}: 2 decisions, 1 of them refusals, on 1 site\n")
    assert "Disallow: /private" in html.fromstring(page.read_bytes()).text_content()
    assert {path.name for path in tmp_path.iterdir()} == {"decisions.jsonl", "report.html"}
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_several_logs_are_merged(tmp_path: Path, log: Path) -> None:
    """Of files and of standard input; lines that are no decisions are counted."""
    other = "1" * 32
    second = write(tmp_path / "b.jsonl", run(crawl=other), *[refusal(crawl=other)] * 3)
    given = lines(refusal(crawl=other)) + b'noise\n{"type":"deci'
    ended = report(log, second, "-", "-o", tmp_path / "r.html", given=given)
    assert ended.status == 0
    assert ": 6 decisions, 5 of them refusals" in ended.out
    assert ended.out.endswith("; 2 lines could not be read\n")
    assert "2 lines could not be read" in (tmp_path / "r.html").read_text("utf-8")


def test_without_an_output_there_is_a_summary(tmp_path: Path, log: Path) -> None:
    """The total first, then what has something to say; a compressed log is read as it is."""
    ended = report(log)
    assert (ended.status, ended.err) == (0, "")
    first, when, *rest = ended.out.splitlines()
    assert first == "2 decisions, 1 of them refusals, on 1 site"
    assert when == "2026-11-22 08:00:01 to 2026-11-22 08:00:01 UTC"
    assert rest[:3] == ["", "Why requests were refused", "Reason                Requests  Share"]
    assert not any(tmp_path.glob("*.html"))
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert report(packed) == ended
    packed.write_bytes(gzip.compress(log.read_bytes())[:-9])
    ended = report(packed)
    assert (ended.status, ended.out) == (2, "")
    assert "Compressed file ended before" in ended.err


def test_a_summary_fits_a_terminal(tmp_path: Path) -> None:
    """Columns that have no room are left out."""
    log = write(tmp_path / "log", *crawl())
    for columns in (80, 120):
        text = shown("report", log, cwd=tmp_path, COLUMNS=str(columns), NO_COLOR="1")
        assert max(map(len, text.splitlines())) <= columns
        assert "Disallow: /private/" in text


def test_json_has_all_figures(log: Path) -> None:
    """In the envelope of all subcommands."""
    [found] = results(report(log, "--format", "json").out)
    assert found["totals"]["decisions"] == 2
    assert [one["name"] for one in found["sections"]] == ["reasons", "sites", "rules", "runs"]


def test_the_page_goes_to_standard_output_on_request(tmp_path: Path, log: Path) -> None:
    """And nothing but the page."""
    ended = report(log, "-o", "-")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("<!DOCTYPE html>")
    assert ended.out.endswith("</html>")
    report(log, "-o", tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8") == ended.out


@rows(
    "words, reason",
    ("none.jsonl -o r.html", "none.jsonl: No such file or directory"),
    ("folder -o r.html", "folder: Is a directory"),
    ("empty -o r.html", "empty: it is not a decision log"),
    ("noise -o r.html", "noise: it is not a decision log"),
    ("log -o none/r.html", "none/r.html: No such file or directory"),
    ("log -o folder", "folder: Is a directory"),
    ("log -o log", "log is read, and would be overwritten"),
    ("log -o ./folder/../log", "is read, and would be overwritten"),
    ("-o r.html", "the following arguments are required: DECISIONS"),
)
def test_what_cannot_be_done_is_status_2_and_one_line(
    tmp_path: Path, words: str, reason: str
) -> None:
    """Nothing is written, nothing is lost."""
    (tmp_path / "folder").mkdir(exist_ok=True)
    write(tmp_path / "log", run(), decision())
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(os.urandom(5_000))
    ended = report(*words.split(), cwd=tmp_path)
    assert_one_line(ended)
    assert ended.err.startswith("scrapy robots report: ")
    assert reason in ended.err
    assert not (tmp_path / "r.html").exists()
    assert (tmp_path / "log").read_bytes() == lines(run(), decision())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to be had")
def test_a_full_disk_is_status_2(log: Path) -> None:
    """A device is written to, and never replaced by a file."""
    ended = report(log, "-o", "/dev/full")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "scrapy robots report: No space left on device\n"
    assert report(log, "-o", "/dev/null").status == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    first(1, [("msgspec", [], "evidence"), ("jinja2", ["-o", "r.html"], "report")]),
)
def test_a_missing_dependency_is_named_with_the_extra(
    tmp_path: Path, log: Path, missing: str, words: list[str], extra: str
) -> None:
    """In one line. A summary does without Jinja2."""
    (tmp_path / "broken").mkdir()
    text = f"raise ModuleNotFoundError('No {missing}', name='{missing}')\n"
    (tmp_path / "broken" / f"{missing}.py").write_text(text)
    path = os.pathsep.join([str(tmp_path / "broken"), environment()["PYTHONPATH"]])
    ended = unforked("report", log, *words, cwd=tmp_path, env=environment(PYTHONPATH=path))
    said = f"scrapy robots report: this needs {missing}: pip install 'scrapy_rep[{extra}]'\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)
    if missing == "jinja2":
        assert robots("report", log, PYTHONPATH=path).status == 0
