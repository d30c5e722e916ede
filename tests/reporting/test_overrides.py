"""What a report says of an override is what the operator wrote."""

from __future__ import annotations

from datetime import date
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_rep.access.authority import Authority
from scrapy_rep.overrides.override import Override
from scrapy_rep.reporting.operation import overrides
from scrapy_rep.reporting.summary import Summary
from tests.reporting.samples import lines, overridden, run

PIECES = st.sampled_from(
    ["a", " ", "(", ")", '"', "\\", ", until 2027-01-01)", ' ("', "entry 1: ", "ä"]
)
"""What the text of an override is made of, and whatever else."""

TEXT = (
    st.lists(PIECES | st.text(max_size=3), min_size=1, max_size=9)
    .map(lambda several: " ".join("".join(several).split()))
    .filter(bool)
)


def override(reason: str, by: str) -> Override:
    """An override as the file of the operator names it."""
    authority = Authority("https", "example.org", 443)
    return Override(7, authority, "allow", reason, by, date(2027, 3, 31))


def row(text: str) -> list[str]:
    """The cells of action, reason, person and end, of a decision with an override."""
    summary = Summary()
    summary.read("log", BytesIO(lines(run(), overridden(override=text))))
    ((_, *cells),) = overrides(summary).tables[0].rows
    return [cell.text for cell in cells[:4]]


@given(TEXT, TEXT)
@example("our own site", "Jane Doe (operations)")
@example("our own site (the old one)", "Jane (ops, until 2027-01-01)")
@example('ours ("x", until 2027-01-01)', '"Jane" (ops)')
def test_an_override_is_split_as_it_was_written(reason: str, by: str) -> None:
    """Whatever is in the reason and in the name."""
    assert row(str(override(reason, by))) == ["allow", reason, by, "2027-03-31"]


def test_the_text_of_an_override_is_as_short_as_it_can_be() -> None:
    """A name is quoted only where it could be taken for another one."""
    plain = override("our own site (the old one)", "jane@example.org")
    assert str(plain).endswith("site (the old one) (jane@example.org, until 2027-03-31)")
    quoted = override("ours", "Jane (ops)")
    assert str(quoted) == 'allow, entry 7: ours ("Jane (ops)", until 2027-03-31)'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow",
        'allow, entry 1: a ("b, until 2027-03-31)',
        'allow, entry 1: a ("\\x", until 2027-03-31)',
        str(override("long " * 400, "jane")),
    ],
)
def test_what_is_not_the_text_of_an_override_is_left_whole(text: str) -> None:
    """Of another program, damaged, or cut for its length."""
    action, *others = row(text)
    assert action.rstrip("…")[:1_000] == text[:1_000]
    assert others == ["", "", ""]
