"""The ends of a request that is not downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.robotstxt.printable import why

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.outcome import Cause
    from scrapy_rep.preferences.statement import Statement
    from scrapy_rep.robotstxt.robotstxt import Verdict


class RobotsForbidden(IgnoreRequest):
    """The rules of ``authority`` forbid the request (RFC 9309 section 2.2.2).

    ``verdict`` says by which rule. Its text begins ``Forbidden by robots.txt`` and names the rule,
    its line and its group.

    Under ``REP_PAGE_DIRECTIVES = "obey"`` it also ends a request that the page it was found on asks
    not to follow; ``verdict.reason`` is then ``nofollow (meta)``, or names another source.
    ``authority`` is ``None`` if no robots.txt governs the scheme of the URL. ``statement`` is what
    disallows a purpose of ``REP_PURPOSES``, if that is the reason.
    """

    def __init__(
        self,
        verdict: Verdict,
        authority: Authority | None,
        statement: Statement | None = None,
    ):
        whose = "" if authority is None else f" ({authority})"
        super().__init__(f"Forbidden by robots.txt: {why(verdict)}{whose}")
        self.verdict = verdict
        self.authority = authority
        self.statement = statement

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.verdict, self.authority, self.statement)


class RobotsUnreachable(IgnoreRequest):
    """The rules of ``authority`` are undefined: complete disallow (RFC 9309 section 2.3.1.4).

    ``cause`` says why, ``retry_at`` (seconds since the epoch, or ``None`` if unknown) from when
    on the authority will be asked again. ``authority`` is ``None`` where the URL names none.
    """

    def __init__(
        self,
        verdict: Verdict,
        authority: Authority | None,
        cause: Cause | str,
        retry_at: float | None = None,
    ):
        super().__init__(f"robots.txt unreachable: {cause} ({authority})")
        self.verdict = verdict
        self.authority = authority
        self.cause = str(cause)
        self.retry_at = retry_at

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.verdict, self.authority, self.cause, self.retry_at)
