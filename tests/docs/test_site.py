"""The site: its tables are those of the code, its drawings are current, its links are good."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs import links
from docs.pictures.__main__ import HERE, drawn
from scrapy_rep.access.outcome import STATUS_MEANINGS
from scrapy_rep.access.policy import DECISIONS, TRANSITIONS
from tests.crawl.harness import ROOT


def test_drawings_are_current() -> None:
    """`python -m docs.pictures` would change nothing."""
    kept = {path.name: path.read_text("utf-8") for path in HERE.glob("*.svg")}
    assert kept == drawn()


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    """To a page that is missing, or an anchor; other sites are not looked at."""
    good = '<p id="here"><a href="b.html#there">x</a> <a href="#here">x</a>'
    (tmp_path / "a.html").write_text(good + '<a href="https://example.org/">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html#gone">x</a>')
    (tmp_path / "c.html").write_text('<img src="gone.png"><a href="a.html">x</a>')
    found = [(path.name, link) for path, link in links.broken(tmp_path)]
    assert found == [("b.html", "a.html#gone"), ("c.html", "gone.png")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a network; a warning is an error."""
    pytest.importorskip("sphinx_scrapy")
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    blocked = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", str(folder)]
    done = subprocess.run(
        build, cwd=ROOT, env={**blocked, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return folder


@pytest.mark.slow
def test_all_links_lead_somewhere(site: Path) -> None:
    """Within the site."""
    assert list(links.broken(site)) == []


@pytest.mark.slow
def test_tables_are_those_by_which_is_decided(site: Path) -> None:
    """RFC 9309 section 2.3.1: each row is there."""
    page = (site / "explanation" / "verdict.html").read_text("utf-8")
    words = [meaning.value for _, _, meaning, _ in STATUS_MEANINGS]
    words += [row.effect for row in TRANSITIONS.values()]
    words += [state.value for state in DECISIONS]
    assert [word for word in words if f"<p>{word}</p>" not in page] == []


@pytest.mark.slow
def test_no_address_of_the_project_is_made_up(site: Path) -> None:
    """Read the Docs says where the site is; without it, links are relative."""
    for page in site.rglob("*.html"):
        assert "readthedocs.io/" not in page.read_text("utf-8"), page
