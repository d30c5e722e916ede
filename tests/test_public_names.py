"""What ``from scrapy_rep import ...`` offers, and what it costs."""

from __future__ import annotations

import pytest

import scrapy_rep
from tests.hostile.test_budgets import calibration
from tests.processes import fresh_python
from tests.timed import timed

TIMED = """
from time import process_time
before = process_time()
import scrapy_rep
{}
print(process_time() - before)
"""


@timed
@pytest.mark.parametrize(("what", "most"), [("", 0.03), ("scrapy_rep.RobotsTxt", 0.06)])
def test_the_package_is_imported_quickly(what: str, most: float) -> None:
    """The least of five, in processor time: under 30 ms, and under 60 ms with the matcher.

    Or longer by as much as the machine is slower than one that is free.
    """
    least = min(float(fresh_python("-c", TIMED.format(what))) for _ in range(5))
    assert least < most * max(calibration(), 1)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """As for any module, with both names."""
    with pytest.raises(AttributeError, match="module 'scrapy_rep' has no attribute 'Robots'"):
        scrapy_rep.Robots  # type: ignore[attr-defined]  # noqa: B018


def test_all_public_names_are_listed() -> None:
    """`dir()` and `import *` offer them, imported or not.

    Of these the matcher loads the standard library and the protocol, and not Scrapy.
    """
    listed, loaded, *starred = fresh_python(
        "-c",
        "import sys, scrapy_rep; print(*dir(scrapy_rep))\n"
        "scrapy_rep.RobotsTxt, scrapy_rep.Rule, scrapy_rep.Verdict; print(*sys.modules)\n"
        "from scrapy_rep import *; print(*sorted(n for n in dir() if n[:1] != '_'), sep='\\n')",
    ).splitlines()
    assert {*scrapy_rep.__all__, "__name__"} <= {*listed.split()}
    assert "scrapy_rep.robotstxt" in loaded.split()
    assert not {"scrapy", "twisted"} & {*loaded.split()}
    assert [name for name in starred if name not in ("scrapy_rep", "sys")] == scrapy_rep.__all__
