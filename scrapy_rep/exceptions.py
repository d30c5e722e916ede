"""The exceptions in which a request ends if it may not be made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.robotstxt.verdict import UNDEFINED, why

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.outcome import Cause
    from scrapy_rep.preferences.vocabularies import Statement
    from scrapy_rep.robotstxt.verdict import Verdict


BY_ROBOTS_TXT: Final = "robots.txt"
BY_OVERRIDE: Final = "override"
BY_PACE: Final = "pace"
BY_USAGE_PREFERENCE: Final = "usage preference"
BY_PAGE_DIRECTIVE: Final = "page directive"


class RobotsForbidden(IgnoreRequest):
    """Something forbids the request: mostly the rules of ``authority`` (RFC 9309 section 2.2.2).

    ``by`` says what: ``robots.txt``, ``override``, ``pace`` (too long an interval), ``usage
    preference``, or ``page directive``, as in ``nofollow``. The text begins ``Forbidden by`` and
    this word. For ``robots.txt`` it names the rule, its line and its group.

    ``verdict`` says by which rule or why. ``authority`` is ``None`` if no robots.txt governs the
    scheme of the URL. ``statement`` is what disallows a purpose of ``REP_PURPOSES``, if that is the
    reason.
    """

    def __init__(
        self,
        verdict: Verdict,
        authority: Authority | None,
        statement: Statement | None = None,
        by: str = BY_ROBOTS_TXT,
    ):
        if verdict.override is not None:
            by = BY_OVERRIDE
        whose = "" if authority is None else f" ({authority})"
        super().__init__(f"Forbidden by {by}: {why(verdict)}{whose}")
        self.by = by
        self.verdict = verdict
        self.authority = authority
        self.statement = statement

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.verdict, self.authority, self.statement, self.by)


class RobotsUnreachable(IgnoreRequest):
    """The rules of ``authority`` are undefined: complete disallow (RFC 9309 section 2.3.1.4).

    ``cause`` says why, and ``detail`` more of it, if there is more to say. ``retry_at`` (seconds
    since the epoch, or ``None`` if unknown) is from when on the authority will be asked again.
    ``authority`` is ``None`` where the URL names none, or the check itself failed. ``__cause__`` is
    the exception in which the fetch of the robots.txt ended, if it was made in this crawl.
    """

    def __init__(
        self,
        authority: Authority | None,
        cause: Cause | str,
        retry_at: float | None = None,
        detail: str = "",
    ):
        more = f": {detail}" if detail else ""
        whose = "" if authority is None else f" ({authority})"
        super().__init__(f"robots.txt unreachable: {cause}{more}{whose}")
        self.verdict = UNDEFINED
        self.authority = authority
        self.cause = str(cause)
        self.retry_at = retry_at
        self.detail = detail

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.authority, self.cause, self.retry_at, self.detail)
