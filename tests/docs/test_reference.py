"""The reference says what the code does: settings, stats, meta keys and public names."""

from __future__ import annotations

import ast
import json
import re
from io import BytesIO

from scrapy.settings import Settings

import scrapy_rep
from scrapy_rep import exceptions, signals, stats
from scrapy_rep.access.outcome import Cause
from scrapy_rep.exceptions import BY_PAGE_DIRECTIVE
from scrapy_rep.overrides.override import ACTIONS
from scrapy_rep.pages.directives import RESTRICTIONS
from scrapy_rep.records.lines import DecisionLine, read_lines
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.settings import SETTINGS, RepSettings
from tests.crawl.harness import ROOT
from tests.docs.pages import DOCS, described, settings
from tests.rows import rows

SWITCH = "ROBOTSTXT_OBEY"
CHECKS = {name: (each.name, each.metadata["check"]) for name, each in SETTINGS.items()}


def test_every_setting_has_a_section() -> None:
    """Each setting that is read, and no other."""
    assert set(settings()) == {SWITCH, *CHECKS}


@rows("name", CHECKS)
def test_the_default_of_a_setting_is_the_one_in_force(name: str) -> None:
    """The default in the reference is the one without a setting."""
    field, check = CHECKS[name]
    default = ast.literal_eval(settings()[name].default)
    in_force = getattr(RepSettings.from_settings(Settings()), field)
    assert in_force == (default if default is None else check(default))


@rows("name", CHECKS)
def test_the_example_of_a_setting_changes_something(name: str) -> None:
    """It passes the check, and differs from the default."""
    field, _ = CHECKS[name]
    example = ast.literal_eval(settings()[name].example)
    in_force = getattr(RepSettings.from_settings(Settings({name: example})), field)
    assert in_force != getattr(RepSettings(), field)


def test_profiles_are_named_with_their_defaults() -> None:
    """All are there, and the defaults that the documents of the nineties set."""
    named = set(re.findall(r"``(\w+)``", settings()["REP_PROFILE"].text))
    assert named == set(PROFILES)
    for profile in ("1996", "1994", "kollar"):
        chosen = RepSettings.from_settings(Settings({"REP_PROFILE": profile}))
        assert chosen.max_ttl == 7 * 86_400
        assert chosen.access_denied == "disallow"
        assert chosen.max_redirects == 20


def test_the_example_of_the_decision_log_has_each_field() -> None:
    """In the order of the lines, and it can be read as one."""
    text = (DOCS / "guides" / "records.rst").read_text("utf-8")
    [example] = re.findall(r"code-block:: json\n\n((?:    .+\n)+)", text)
    found = json.loads(example)
    assert [*found] == ["type", *DecisionLine.__struct_fields__]
    [line] = read_lines(BytesIO(json.dumps(found).encode()))
    assert isinstance(line, DecisionLine)


def test_what_pages_can_say_is_named() -> None:
    """In the guide to page directives: all profiles, and all restrictions."""
    text = (DOCS / "guides" / "page-directives.rst").read_text("utf-8")
    assert {*PROFILES} | RESTRICTIONS <= {*re.findall("``([^`]+)``", text)}


def test_every_stat_is_described() -> None:
    """Each stat that is counted, and no other."""
    counted = {
        value.replace("status_count/{}", "status_count/N").replace("{}", "TYPE")
        for name, value in vars(stats).items()
        if name.isupper() and isinstance(value, str) and value.startswith("robotstxt/")
    }
    assert described("stat", "reference/stats.rst") == counted


def test_every_stat_is_counted() -> None:
    """A constant and a section are not enough. `stats.py` has some of the calls itself."""
    text = "".join(path.read_text("utf-8") for path in (ROOT / "scrapy_rep").rglob("*.py"))
    used = {*re.findall(r"(?:\bnames\.|\binc\(|\breturn )([A-Z_]+)\b", text)}
    assert {"WAITING_MAX", "FORBIDDEN", "RESPONSE_STATUS"} <= used
    counted = {name for name, value in vars(stats).items() if str(value)[:10] == "robotstxt/"}
    assert counted - used == set()


CAUSES = {str(cause) for cause in Cause}
DECIDED_BY = {by for name, by in vars(exceptions).items() if name.startswith("BY_")}


@rows(
    "page, words",
    ("guides/answers.rst", CAUSES),
    ("reference/exceptions.rst", CAUSES | DECIDED_BY),
    ("guides/command.rst", DECIDED_BY - {BY_PAGE_DIRECTIVE}),
    ("guides/overrides.rst", {f'"{action}"' for action in ACTIONS}),
)
def test_what_refuses_requests_is_named(page: str, words: set[str]) -> None:
    """Each cause and each override, where users look for it; a status may follow a cause."""
    text = " ".join((DOCS / page).read_text("utf-8").split())
    assert [word for word in words if not re.search(rf"``{re.escape(word)}(?: \d+)?``", text)] == []


def test_the_guide_has_a_line_of_each_reason_of_a_refusal() -> None:
    """As the log has it."""
    text = (DOCS / "guides" / "answers.rst").read_text("utf-8")
    assert [by for by in DECIDED_BY if f"] DEBUG: Forbidden by {by}: <" not in text] == []


def test_every_signal_is_described_and_sent() -> None:
    """Each signal of this package; another module sends it by its name."""
    ours = {name for name, value in vars(signals).items() if type(value) is object}
    assert ours <= described("signal", "reference/signals.rst")
    used = {
        found.name
        for path in (ROOT / "scrapy_rep").glob("[!_]*/*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == signals.__name__
        for found in node.names
    }
    assert ours - used == set()


def test_every_meta_key_is_described() -> None:
    """Each name that can be one, wherever it is read; what is private begins otherwise."""
    read = set()
    for path in (ROOT / "scrapy_rep").rglob("*.py"):
        text = path.read_text("utf-8")
        read |= set(re.findall(r'"(robotstxt_\w+|\w+_robotstxt)"', text))
    assert read <= described("reqmeta", "reference/meta-keys.rst")
    assert {"dont_obey_robotstxt", "robotstxt_user_agent", "robotstxt_page"} <= read


def test_every_public_name_is_described() -> None:
    """Whatever can be imported has its docstring in the reference."""
    pages = (DOCS / "reference").glob("*.rst")
    listed = "".join(page.read_text("utf-8") for page in pages)
    described = re.findall(r"^\.\. auto\w+:: scrapy_rep\.(\w+)$", listed, re.MULTILINE)
    assert {*scrapy_rep.__all__} - {*described} == set()
