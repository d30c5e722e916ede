"""`scrapy robots` as Scrapy sees it: found, quick to load, and strict about its options."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from scrapy_rep import commands
from scrapy_rep.commands.options import parsers
from tests.commands.running import SCRAPY, assert_one_line, environment, robots, unforked
from tests.polling import until
from tests.processes import fresh_python, run_python, start_python
from tests.replies import Hang
from tests.rows import first, rows
from tests.site import Site
from tests.timed import timed

SUBCOMMANDS = tuple(parsers()[1])
ACTIONS = ("list", "show", "export", "import", "forget")
LOAD = """
import sys, time
import scrapy.cmdline, scrapy.commands
started = time.process_time()
import scrapy_rep.commands
scrapy_rep.commands.RobotsCommand()
print(time.process_time() - started)
print([name for name in sys.modules if name.startswith("scrapy_rep.")])
"""


def test_scrapy_lists_the_command() -> None:
    """By the entry point of setup.cfg."""
    done = run_python(*SCRAPY[1:], env=environment(), cwd="/")
    assert "\n  robots        Check, explain, lint" in done.stdout


@timed
def test_a_call_of_scrapy_is_at_most_20_ms_longer() -> None:
    """Every call loads the entry point; the best of three, as the machine may be busy."""
    least = min(float(fresh_python("-c", LOAD, env=environment()).split()[0]) for _ in range(3))
    assert least < 0.02


def test_entry_point_imports_nothing_but_itself() -> None:
    """Whatever is broken elsewhere breaks no other command of Scrapy."""
    assert fresh_python("-c", LOAD, env=environment()).splitlines()[1] == "['scrapy_rep.commands']"


@rows("name", SUBCOMMANDS)
def test_help_has_an_example_and_its_own_exit_statuses(name: str) -> None:
    """Only those that the subcommand can end with."""
    text = parsers()[1][name].format_help()
    assert max(map(len, text.splitlines())) <= 100
    example, _, statuses = text.partition("example:")[2].partition("exit status:")
    assert f"scrapy robots {name}" in example
    listed = [int(line.split()[0]) for line in statuses.splitlines() if line[:5].strip().isdigit()]
    without = {"filter": [1], "report": [1, 3]}
    assert listed == [one for one in (0, 1, 2, 3, 130) if one not in without.get(name, [])]


def test_each_subcommand_has_a_module_that_runs_it() -> None:
    """And each module that runs something is a subcommand."""
    names = [each.name for each in iter_modules(commands.__path__)]
    modules = {name: import_module(f"{commands.__name__}.{name}") for name in names}
    runs = {name for name, module in modules.items() if hasattr(module, "run")} - {"cli"}
    assert runs == set(SUBCOMMANDS)


@pytest.mark.parametrize("words", first(1, [[], ["--help"], ["-h"]]))
def test_the_bare_command_is_its_help(words: list[str]) -> None:
    """It names all subcommands."""
    ended = robots(*words)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("usage: scrapy robots [-h] SUBCOMMAND")
    assert all(f"\n    {name} " in ended.out for name in SUBCOMMANDS)


def test_an_unknown_option_points_to_the_help_of_the_subcommand() -> None:
    """There is a list of the options there."""
    ended = robots("check", "--no-such-option", "https://e.org/")
    assert ended.err.endswith("--no-such-option (see scrapy robots check --help)\n")


HELPED = ["check", "store import", *SUBCOMMANDS[1:], *(f"store {action}" for action in ACTIONS)]


@pytest.mark.parametrize("words", first(2, HELPED))
def test_help_of_a_subcommand_or_an_action(words: str) -> None:
    """One word deep, or two."""
    ended = robots(*words.split(), "-h")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith(f"usage: scrapy robots {words} ")


NEVER = "REP_STORE=sqlite:///tmp/never-made/robots.db"


MISTAKES = [
    *("check --robots-txt no-such-file https://e.org/", "filter --warc no-such-file -"),
    *("explain --robots-txt no-such-file https://e.org/", "filter --robots-txt no-such-file -"),
    *("diff no-such-file no-such-file", "filter --robots-txt /dev/null no-such-file"),
    *(f"store import no-such-file -s {NEVER}", "lint a\x1b[31mb", "chek https://e.org/"),
    *("check --agent '' https://e.org/", "check --no-such-option https://e.org/"),
    *("check 'not a url'", "explain e.org/a", "lint --ignore no-such-code -"),
    *("diff - -", "lint - -", "filter --robots-txt -", "report - -"),
    *("filter --robots-txt a --warc b", "filter --missing allow --robots-txt /dev/null"),
    "report -o r.html --format json /dev/null",
    *("check -s REP_PROFILE=1995 https://e.org/", "check --spider nobody https://e.org/"),
]
"""Of each kind one, as a shell would give it."""
MORE_MISTAKES = [
    *("check", "filter --agent ' '", "check --format xml https://e.org/", "check e.org/path"),
    *("check https://", "check https://e.org:port/", "explain https://e.org/a https://e.org/b"),
    *("lint", "lint https://", "lint robots.txt --profile-of-mine x", "lint /", "lint /dev/null/x"),
    *("diff only-one", "diff warc:robots.warc.gz#https://e.org/@2020 /dev/null"),
    *("filter --missing perhaps", "store", "store forget", "store burn"),
    *(f"store show 'not a url' -s {NEVER}", "check -s REP_STORE=nowhere https://e.org/"),
]


@pytest.mark.parametrize("line", first(len(MISTAKES), MISTAKES + MORE_MISTAKES), ids=ascii)
def test_mistake_of_the_user_is_status_2_and_one_line(line: str) -> None:
    """The reason stands on stderr, without what talks to the terminal; nothing is on stdout."""
    ended = robots(*shlex.split(line))
    assert_one_line(ended)
    assert ended.err.startswith("scrapy robots")
    assert "\x1b" not in ended.err


def test_bad_setting_on_the_command_line_is_status_2() -> None:
    """Scrapy itself checks it."""
    assert robots("lint", "-", "-s", "nonsense").status == 2


def test_log_is_silent_unless_it_is_asked_for(project: Path, robots_txt: Path) -> None:
    """Although the project's is DEBUG."""
    words = ["check", "--robots-txt", str(robots_txt), "https://e.org/"]
    assert robots(*words, cwd=project).err == ""
    browser = ("-s", "USER_AGENT=Mozilla/5.0", "-s", "ROBOTSTXT_USER_AGENT=")
    assert robots(*words, *browser).err == ""


def test_fault_of_ours_is_a_line(project: Path) -> None:
    """Here a store class that raises when it is made."""
    (project / "shop" / "bad.py").write_text(
        "from scrapy_rep.stores import Store\n"
        "class Bad(Store):\n"
        "    def __init__(self): raise ZeroDivisionError('x')\n"
        "    def get(self, authority): ...\n"
        "    def put(self, authority, entry): ...\n"
    )
    ended = robots("store", "list", "-s", "REP_STORE=shop.bad.Bad", cwd=project)
    assert_one_line(ended)
    assert "ZeroDivisionError" in ended.err


@pytest.mark.parametrize(
    "words", first(1, ["check", "explain", "lint", "diff robots.txt", "sitemaps"])
)
def test_an_interrupt_is_status_130(site: Site, robots_txt: Path, words: str) -> None:
    """While a site hangs: one line, and nothing is kept waiting."""
    shop = site.authority(robots=Hang())
    command = (*SCRAPY[1:], "robots", *words.split(), shop.url("/"))
    process = start_python(*command, env=environment(), cwd=robots_txt.parent)
    try:
        until(lambda: shop.hits)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.close()
    assert (process.returncode, out) == (130, "")
    assert err == f"scrapy robots {words.split()[0]}: interrupted\n"


def test_interrupt_while_the_crawl_starts_is_status_130(project: Path) -> None:
    """It is no fault of the component that is made just then."""
    (project / "shop" / "stop.py").write_text(
        "class Stop:\n    def __init__(self): raise KeyboardInterrupt\n"
    )
    middlewares = 'DOWNLOADER_MIDDLEWARES={"shop.stop.Stop": 1}'
    ended = robots("check", "http://127.0.0.1:9/", "-s", middlewares, cwd=project)
    assert ended == (130, "", "scrapy robots check: interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk to be had")
def test_a_stderr_that_cannot_be_written_changes_no_status(robots_txt: Path) -> None:
    """It is full, or its reader has gone: what stdout and the status say is whole."""
    read, write = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    for stream in (write, full):
        words = ("check", "--robots-txt", robots_txt, "https://e.org/private")
        done = unforked(*words, stdout=subprocess.PIPE, stderr=stream)
        os.close(stream)
        assert (done.returncode, done.stdout[:10]) == (1, "disallowed")


@pytest.mark.parametrize("number", first(1, [1, 2_000]))
def test_a_reader_that_has_gone_changes_no_status(robots_txt: Path, number: int) -> None:
    """Whether it is missed at the end or before, `| grep -q` under `set -o pipefail`."""
    read, write = os.pipe()
    os.close(read)
    urls = ["https://e.org/private"] * number
    done = unforked("check", "--robots-txt", robots_txt, *urls, stdout=write)
    os.close(write)
    assert done.returncode == 1


@pytest.mark.slow
def test_a_closed_stream_is_no_fault(robots_txt: Path) -> None:
    """`<&-` and `>&-` of a shell: what would be read is empty, what would be written goes."""
    words = [*SCRAPY, "robots", "check", "--robots-txt", robots_txt, "https://e.org/private"]
    for stream in ("<&-", ">&-", "2>&-"):
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {stream}', "sh", *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, stream
        assert "fault" not in done.stderr


@pytest.mark.slow
def test_a_site_that_takes_long_is_mentioned(site: Site) -> None:
    """A silent command seems to hang."""
    shop = site.authority(robots=Hang())
    ended = robots("check", shop.url("/"), "-s", "REP_TIMEOUT=4", "-s", "REP_RETRY_DELAYS=[]")
    assert ended.status == 3
    assert "scrapy robots check: still waiting for robots.txt" in ended.err
