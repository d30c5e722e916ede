"""What a status code says of a robots.txt."""

from scrapy_rep.access.entry import Answer
from scrapy_rep.access.outcome import (
    TEMPORARY,
    Meaning,
    Unreachable,
    archived_outcome,
    meaning_of,
)
from tests.rows import rows


def _expected(status: int) -> Meaning:
    if status in (202, 408, 421, 425):
        return Meaning.UNREACHABLE
    if 200 <= status <= 299 and status != 206:
        return Meaning.SUCCESS
    if status in (301, 302, 303, 307, 308):
        return Meaning.REDIRECT
    if status == 304:
        return Meaning.NOT_MODIFIED
    if 400 <= status <= 499 and status != 429:
        return Meaning.UNAVAILABLE
    return Meaning.UNREACHABLE


@rows("status", [*range(-1, 1001), 10**6])
def test_every_status_has_one_meaning(status: int) -> None:
    """RFC 9309 section 2.3.1: success, redirect, unavailable; all else is unreachable.

    Some mean "not now". Where they do not, as in the profile of Google, their class counts.

    In an archive a 407 says nothing of the site: it is the answer of the crawler's proxy.
    """
    assert meaning_of(status, TEMPORARY) is _expected(status)
    archived = archived_outcome(status, b"", "", TEMPORARY)
    bodies = {Meaning.SUCCESS: b"", Meaning.UNAVAILABLE: None}
    if status != 407 and _expected(status) in bodies:
        assert archived == Answer(status, bodies[_expected(status)])
    else:
        assert isinstance(archived, Unreachable)
    if status in (202, 408, 421, 425):
        of_class = Meaning.SUCCESS if status == 202 else Meaning.UNAVAILABLE
        assert meaning_of(status, frozenset()) is of_class
