"""What reaches a terminal: colours if wanted, lines that fit, and nothing that it obeys."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest

from scrapy_rep.commands.options import _SUBCOMMANDS
from tests.commands.running import SCRAPY, environment, robots
from tests.processes import start_python
from tests.rows import first, rows

HOSTILE = b"User-agent: *\nDisallow: /a\x1b[2J\xc2\x9b31m\x07\r\nFoo\x1b]0;x\x07: y\n"
URL = "https://e.org/a%1B[2J%C2%9B31m%07"
COLOUR = re.compile(r"\x1b\[[0-9]*m")


def shown(*words: object, cwd: Path, **variables: str) -> str:
    """What a terminal gets, from stdout and stderr."""
    main, other = pty.openpty()
    process = start_python(
        *SCRAPY[1:],
        "robots",
        *map(str, words),
        cwd=cwd,
        env=environment(TERM="xterm", **variables),
        output=other,
    )
    os.close(other)
    read = b""
    try:
        while some := os.read(main, 65536):
            read += some
    except OSError:  # all has been read
        pass
    os.close(main)
    process.communicate(60)
    return read.decode().replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a hostile robots.txt, another one, and a URL that the first disallows."""
    (tmp_path / "hostile").write_bytes(HOSTILE)
    (tmp_path / "none").write_bytes(b"")
    (tmp_path / "urls").write_bytes(b"https://e.org/\x1b[2J\xc2\x9b31m\x07b\n")
    return tmp_path


@rows(
    "words, coloured",
    (("check", "--robots-txt", "hostile", URL), True),
    (("explain", "--robots-txt", "hostile", URL), True),
    (("lint", "hostile"), True),
    (("diff", "none", "hostile"), True),
    (("filter", "--robots-txt", "none", "urls"), False),
    (("lint", "a\x1b[2J\x9b31m\x07"), False),
    (("check", "https://e.org\x1b[2J/\x9b31m\x07"), False),
    (("store", "list", "-s", "REP_STORE=a\x1b[2J\x9b31m\x07"), False),
    (("check", "--spider", "a\x1b[2J\x9b31m\x07", URL), False),
    (("\x1b[2J\x9b31m\x07",), False),
)
def test_terminal_gets_colours_and_no_other_control(
    folder: Path, words: tuple[str, ...], coloured: bool
) -> None:
    """None at all with NO_COLOR, whatever a file, a URL, a name or an option holds."""
    text = shown(*words, cwd=folder)
    assert bool(COLOUR.search(text)) == coloured
    for line in COLOUR.sub("", text).split("\n"):
        assert line.isprintable(), repr(line)
    assert "\x9b" not in text
    assert "\x07" not in text
    assert "\x1b[2J" not in text
    if coloured:
        assert not COLOUR.search(shown(*words, cwd=folder, NO_COLOR="1"))


FORMATS = {
    "check": ("--robots-txt", "hostile", f"https://ann:secret@{URL[8:]}\x1b[2J"),
    "explain": ("--robots-txt", "hostile", f"https://ann:secret@{URL[8:]}\x1b[2J"),
    "lint": ("hostile",),
    "diff": ("none", "hostile"),
}
"""What needs neither a site nor a log, and shows URLs or files in each of its formats."""


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_has_controls_or_passwords_or_is_another(folder: Path, name: str) -> None:
    """Each that the options name; one that the subcommand does not know would be text."""
    forms = _SUBCOMMANDS[name].options["--format"]["choices"]
    outs = [robots(name, *FORMATS[name], "--format", form, cwd=folder).out for form in forms]
    for form, out in zip(forms, outs, strict=True):
        assert out.replace("\n", "").isprintable(), form
        assert "secret" not in out, form
    assert len({*outs}) == len(forms)


@pytest.mark.parametrize("columns", first(1, ["80", "120"]))
def test_a_line_of_check_is_as_wide_as_what_it_says(folder: Path, columns: str) -> None:
    """Whatever the terminal: nothing is padded to the widths of columns."""
    (folder / "robots.txt").write_text("User-agent: mybot\nDisallow: /private\nCrawl-delay: 2\n")
    words = ("check", "--robots-txt", "robots.txt", "--agent", "mybot", "https://e.org/private/x")
    assert shown(*words, cwd=folder, COLUMNS=columns, NO_COLOR="1").splitlines() == [
        "disallowed  https://e.org/private/x  Disallow: /private, line 2, group mybot",
        "scrapy robots check: of 1 URL, 1 disallowed",
    ]
