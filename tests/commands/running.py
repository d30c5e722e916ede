"""Runs `scrapy` as a process of its own, with the entry points that setup.cfg declares.

The package need not be installed: its metadata is written to a folder that the process looks at
first, so that what is tested is setup.cfg and not an installation.
"""

from __future__ import annotations

import atexit
import configparser
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from tests.processes import ROOT, run_python, start_python

SCRAPY = [sys.executable, "-c", "from scrapy.cmdline import execute; execute()"]
FAST = ("-s", "REP_RETRY_DELAYS=[]")
"""A robots.txt that fails is not asked for again."""


class Ended(NamedTuple):
    """How a process ended."""

    status: int
    out: str
    err: str


@cache
def metadata() -> str:
    """A folder with the metadata of this package, as far as Python reads it."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    folder = Path(tempfile.mkdtemp(prefix="scrapy_rep_metadata"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    name, version = config["metadata"]["name"], config["metadata"]["version"]
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    sections = config["options.entry_points"].items()
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]{lines}\n" for group, lines in sections)
    )
    return str(folder)


def environment(**more: str) -> dict[str, str]:
    """The environment of such a process."""
    path = os.pathsep.join([metadata(), str(ROOT), *filter(None, sys.path)])
    kept = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
    return {**kept, "PYTHONPATH": path, "COLUMNS": "80", **more}


def robots(
    *arguments: object,
    cwd: Path | str | None = None,
    given: bytes | str = b"",
    timeout: float = 200,
    **variables: str,
) -> Ended:
    """`scrapy robots` with some arguments, in a folder without a project unless one is named."""
    done = run_python(
        *SCRAPY[1:],
        "robots",
        *map(str, arguments),
        cwd=cwd or tempfile.gettempdir(),
        env=environment(**variables),
        given=given.encode() if isinstance(given, str) else given,
        timeout=timeout,
    )
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in ended.err, ended.err
    return ended


def written(
    *arguments: object, given: bytes = b"", to: BinaryIO | None = None, **variables: str
) -> tuple[int, bytes]:
    """The status of `scrapy robots`, and the octets of both its streams, which go `to` a file."""
    with tempfile.TemporaryFile() if to is None else nullcontext(to) as file:
        process = start_python(
            *SCRAPY[1:],
            "robots",
            *map(str, arguments),
            cwd=tempfile.gettempdir(),
            env=environment(**variables),
            given=given,
            output=file.fileno(),
        )
        status = process.wait(200)
        process.close()
        if to is not None:
            return status, b""
        file.seek(0)
        return status, file.read()


def write_project(folder: Path, settings: Mapping[str, object], spider: str) -> Path:
    """A project with one spider, which obeys and fetches a robots.txt that fails no second time."""
    spiders = folder / "shop" / "spiders"
    spiders.mkdir(parents=True)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    for package in (spiders.parent, spiders):
        (package / "__init__.py").touch()
    chosen = {
        "BOT_NAME": "shop",
        "SPIDER_MODULES": ["shop.spiders"],
        "ADDONS": {"scrapy_rep.Addon": 100},
        "REP_RETRY_DELAYS": [],
        **settings,
    }
    text = "".join(f"{name} = {value!r}\n" for name, value in chosen.items())
    (folder / "shop" / "settings.py").write_text(text)
    (spiders / "shop.py").write_text(spider)
    return folder


def overriding(folder: Path, url: str, *actions: str) -> tuple[str, ...]:
    """The words that name a file with an override of a site for each action that is not ""."""
    until = datetime.now(timezone.utc).date() + timedelta(days=7)
    about = f'authority = "{url}"\nreason = "ours"\nby = "ops"\nuntil = {until}\n'
    file = folder / "overrides.toml"
    file.write_text("".join(f"[[override]]\n{about}{action}\n" for action in actions if action))
    return "-s", f"REP_OVERRIDES={file}"


def unforked(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    """`scrapy robots` as a process that imports all by itself, and has the streams of `how`."""
    usual = {"env": environment(), "stdin": subprocess.DEVNULL, "text": True, "timeout": 100}
    if "stdout" not in how and "stderr" not in how:
        usual["capture_output"] = True
    return subprocess.run([*SCRAPY, "robots", *map(str, words)], check=False, **(usual | how))


def options(settings: Mapping[str, object]) -> list[str]:
    """Settings as words of a command line."""
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


def assert_one_line(ended: Ended, status: int = 2) -> None:
    """It ended with that status: the reason is one line on stderr, and nothing is on stdout."""
    assert (ended.status, ended.out, ended.err.count("\n")) == (status, "", 1), ended


def told(*words: object, cwd: Path | None = None) -> Any:
    """The results that a subcommand writes as JSON."""
    return results(robots(*words, "--format", "json", cwd=cwd).out)


def results(out: str) -> Any:
    """The results in the JSON that every subcommand writes in one envelope."""
    held = json.loads(out)
    assert [*held] == ["schema", "results"]
    assert held["schema"].startswith("scrapy_rep/")
    return held["results"]
