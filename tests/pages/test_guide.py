"""The guide says what is so."""

from __future__ import annotations

import doctest
import re

from scrapy_rep.pages.directives import RESTRICTIONS
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.crawl.harness import ROOT

GUIDE = ROOT / "docs" / "guides" / "page-directives.rst"


def test_examples_work() -> None:
    """As doctest runs them."""
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_what_can_be_said_is_named() -> None:
    """All profiles, and all restrictions."""
    text = GUIDE.read_text("utf-8")
    assert {*PROFILES} | RESTRICTIONS <= {*re.findall("``([^`]+)``", text)}
