"""`scrapy robots` as Scrapy sees it: found, quick to load, and strict about its options."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import COMMANDS, ROOT, SCRAPY, environment, robots
from tests.processes import start_python
from tests.timed import timed

SUBCOMMANDS = ("check", "explain", "lint", "diff", "filter", "cache", "report")
ACTIONS = ("count", "list", "show", "forget", "expire", "export", "import")
LOAD = """
import time
import scrapy.cmdline, scrapy.commands
started = time.process_time()
import scrapy_rep.commands
scrapy_rep.commands.RobotsCommand()
print(time.process_time() - started)
import sys
print([name for name in sys.modules if name.startswith("scrapy_rep.")])
"""


def python(code: str) -> str:
    """What a process with that code prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_scrapy_lists_the_command() -> None:
    """By the entry point of setup.cfg."""
    done = subprocess.run(
        SCRAPY, env=environment(), cwd="/", capture_output=True, text=True, check=True
    )
    assert "\n  robots        Check, explain, lint" in done.stdout


@timed
def test_a_call_of_scrapy_is_at_most_20_ms_longer() -> None:
    """Every call loads the entry point; the best of three, as the machine may be busy."""
    assert min(float(python(LOAD).split()[0]) for _ in range(3)) < 0.02


def test_entry_point_imports_nothing_but_itself() -> None:
    """Whatever is broken elsewhere breaks no other command of Scrapy."""
    assert python(LOAD).splitlines()[1] == "['scrapy_rep.commands']"


@pytest.mark.parametrize("words", [(), *[(name,) for name in SUBCOMMANDS]])
def test_help_has_examples_or_says_where_they_are(words: tuple[str, ...]) -> None:
    """And the exit statuses."""
    ended = robots(*words, "--help")
    assert ended.status == 0
    assert "exit status:" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80
    assert not ended.err
    if words:
        assert f"scrapy robots {words[0]}" in ended.out.partition("examples:")[2]


@pytest.mark.parametrize("action", ACTIONS)
def test_help_of_an_action(action: str) -> None:
    """Two words deep."""
    ended = robots("cache", action, "-h")
    assert ended.status == 0
    assert ended.out.startswith(f"usage: scrapy robots cache {action}")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["chek", "https://e.org/"],
        ["check"],
        ["check", "--agent", "", "https://e.org/"],
        ["filter", "--agent", " "],
        ["check", "--no-such-option", "https://e.org/"],
        ["check", "--rep-profile", "1995", "https://e.org/"],
        ["check", "--format", "xml", "https://e.org/"],
        ["check", "not a url"],
        ["check", "e.org/path"],
        ["check", "https://"],
        ["check", "https://e.org:port/"],
        ["explain", "https://e.org/a", "https://e.org/b"],
        ["explain", "mailto:a@e.org"],
        ["lint"],
        ["lint", "--select", "no-such-code", "-"],
        ["lint", "--fail-on", "panic", "-"],
        ["lint", "https://"],
        ["diff", "only-one"],
        ["diff", "-", "-"],
        ["diff", "store:nothing", "-"],
        ["diff", "warc:nothing", "-"],
        ["filter", "--robots-txt", "a", "--robots-dir", "b"],
        ["filter", "--missing", "perhaps"],
        ["cache"],
        ["cache", "burn"],
        ["cache", "list", "--older-than", "long"],
        ["cache", "show", "not a url", "-s", "REP_STORE=sqlite:///tmp/never.db"],
        ["check", "-s", "REP_PROFILE=1995", "https://e.org/"],
        ["check", "-s", "REP_STORE=nowhere", "https://e.org/"],
        ["check", "-s", "ROBOTSTXT_OBEY=perhaps", "https://e.org/"],
        ["check", "--spider", "nobody", "https://e.org/"],
        ["lint", "robots.txt", "--profile-of-mine", "x"],
    ],
    ids=" ".join,
)
def test_mistake_of_the_user_is_status_2_and_one_line(words: list[str]) -> None:
    """The reason stands on stderr; nothing is on stdout."""
    ended = robots(*words)
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err.startswith("scrapy robots")
    assert ended.err.count("\n") == 1


def test_a_site_for_a_file_gets_advice() -> None:
    """`lint` and `diff` take files and URLs; elsewhere a URL would not do."""
    advice = "a URL begins with http:// or https://"
    for words in (["lint", "example.org"], ["diff", "example.org", "example.org"]):
        assert robots(*words).err.rstrip().endswith(f"No such file or directory; {advice}")
    ended = robots("check", "--robots-txt", "example.org", "https://example.org/")
    assert ended.err.rstrip().endswith("No such file or directory")


def test_a_missing_subcommand_is_named() -> None:
    """All of them are."""
    assert "one of check, explain, lint, diff, filter, replay, cache, report" in robots().err


def test_bad_setting_on_the_command_line_is_status_2() -> None:
    """Scrapy itself checks it."""
    assert robots("lint", "-", "-s", "nonsense").status == 2


@pytest.mark.parametrize("name", ["/", "a\x1b[31mb", "/dev/null/x"])
def test_name_that_is_no_file_is_status_2(name: str) -> None:
    """A folder, a name that would talk to the terminal, a file in a file."""
    ended = robots("lint", name)
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "{}"],
        ["check", "--robots-txt", "{}", "https://e.org/"],
        ["explain", "--robots-txt", "{}", "https://e.org/"],
        ["diff", "{}", "{}"],
        ["filter", "--robots-txt", "{}", "-"],
        ["filter", "--robots-dir", "{}/x", "-"],
        ["filter", "--warc", "{}", "-"],
        ["filter", "--robots-txt", "/dev/null", "{}"],
        ["cache", "import", "{}", "-s", "REP_STORE=sqlite:///tmp/scrapy-rep-never.db"],
    ],
    ids=" ".join,
)
def test_file_that_does_not_exist_is_status_2(words: list[str]) -> None:
    """In every place where one is named."""
    ended = robots(*[word.replace("{}", "no-such-file") for word in words])
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1


def test_log_is_silent_unless_it_is_asked_for(project: Path, robots_txt: Path) -> None:
    """Although the project's is DEBUG."""
    words = ["check", "--robots-txt", str(robots_txt), "https://e.org/"]
    assert robots(*words, cwd=project).err == ""


def test_fault_of_ours_is_a_line(project: Path) -> None:
    """Here a store class that raises when it is made."""
    (project / "shop" / "bad.py").write_text(
        "from scrapy_rep.stores import Store\n"
        "class Bad(Store):\n"
        "    def __init__(self): raise ZeroDivisionError('x')\n"
        "    def get(self, authority): ...\n"
        "    def put(self, authority, entry): ...\n"
    )
    ended = robots("cache", "count", "-s", "REP_STORE=shop.bad.Bad", cwd=project)
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert "ZeroDivisionError" in ended.err


@pytest.mark.parametrize("words", [["check"], ["explain"], ["lint"], ["diff", "robots.txt"]])
def test_interrupt_while_a_site_hangs_is_status_130(robots_txt: Path, words: list[str]) -> None:
    """One line; nothing is kept waiting."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        command, folder = (*SCRAPY[1:], "robots", *words, url), robots_txt.parent
        process = start_python(*command, imports=COMMANDS, env=environment(), cwd=folder)
        try:
            connection, _ = server.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
        finally:
            process.close()
    assert (process.returncode, out) == (130, "")
    assert err == f"scrapy robots {words[0]}: interrupted\n"
