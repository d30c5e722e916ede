"""The page in a browser, if there is one: a phone never scrolls sideways, and hides no figure."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.records.test_page import HOSTILE, hostile, whole
from tests.stores.servers import installed

MEASURE = """<script>
const seen = [...document.body.querySelectorAll('*:not(thead, thead *)')];
const wide = seen.filter(one => one.getBoundingClientRect().right > innerWidth + 1);
const root = document.documentElement;
const cells = [...document.querySelectorAll('td:not(.empty), .course span')];
const boxes = cells.map(one => one.getBoundingClientRect());
const hidden = boxes.filter(one => one.height < 0.5 || one.width < 2);
const found = ['measured', innerWidth, root.scrollWidth, wide.length, hidden.length].join(' ');
parent.postMessage(found, '*');
</script>"""
FRAME = """<!DOCTYPE html><title>none</title>
<script>onmessage = event => { document.title = event.data; }</script>
<iframe src="page.html" style="border: 0; width: %dpx; height: 900px"></iframe>"""
"""A window cannot be as narrow as a phone, a frame can."""

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom"),
    *("--window-size=1600,900", "--virtual-time-budget=5000"),
)


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("source", ["whole", "hostile"])
def test_all_is_seen_and_nothing_is_wider_than_the_window(
    tmp_path: Path, width: int, source: str
) -> None:
    """The page of a usual log, and one whose texts have no place to break."""
    text = whole() if source == "whole" else hostile("x" * 290 + HOSTILE[0])
    text = re.sub(r"<meta http-equiv.*", "", text).replace("</body>", f"{MEASURE}</body>")
    (tmp_path / "page.html").write_text(text, "utf-8")
    file = tmp_path / "frame.html"
    file.write_text(FRAME % width, "utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [installed("chromium"), *OPTIONS, profile, file.as_uri()]
    done = subprocess.run(command, capture_output=True, check=True, timeout=90)
    found = re.search(r"<title>measured (\d+) (\d+) (\d+) (\d+)</title>", done.stdout.decode())
    inner, scrolled, wide, hidden = map(int, found.groups())
    assert inner == width
    assert scrolled <= inner
    assert wide == 0
    assert hidden == 0
