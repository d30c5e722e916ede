"""The signals of this package, what is sent with them, and how they are sent.

Connect to them as to Scrapy's own: ``crawler.signals.connect(handler, signal=robots_decided)``. A
handler takes the arguments that it names, and may not be a coroutine. If a handler of
``robots_decided`` raises ``IgnoreRequest``, an allowed request ends in that; anywhere else it has
no effect. Other errors of handlers are logged, as those of handlers of Scrapy's signals are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydispatch import dispatcher
from scrapy.exceptions import IgnoreRequest
from twisted.python.failure import Failure

from scrapy_rep.access.in_force import RulesInForce

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer
    from scrapy_rep.access.outcome import Unreachable
    from scrapy_rep.exceptions import RobotsForbidden, RobotsUnreachable
    from scrapy_rep.robotstxt.verdict import Verdict

robots_decided: Final = object()
"""Sent with ``decision`` and ``request`` for each decision: before a request goes on, when one is
refused, and for a response of another page than was asked for. ``decision`` is a
:class:`RobotsDecision`."""

robots_fetched: Final = object()
"""Sent with ``exchange`` for each exchange with a server for a ``robots.txt``, and for each fetch
that failed without a response. ``exchange`` is a :class:`RobotsExchange`."""

BYPASSED: Final = "dont_obey_robotstxt"
"""The reason of the verdict on a request that does not obey."""

WITHOUT_A_NAME: Final = "without a name"
"""The override of that verdict: no entry of ``REP_OVERRIDES``."""


@dataclass(frozen=True, slots=True)
class RobotsDecision:
    """What was decided about a request, and what that rests on."""

    request: Request
    url: str
    """The URL of the page that was decided about: that of the request, the page that its meta
    names, or the final URL of a response."""

    authority: Authority | None
    """The scheme, host and port of ``url``, ``None`` if no ``robots.txt`` governs its scheme."""

    agent: tuple[str, ...]
    """The names of the crawler in order of preference."""

    verdict: Verdict
    """Whether the request may be made, and by which rule."""

    rules: RulesInForce = field(default_factory=RulesInForce)
    """What was in force at the site."""

    requested: str | None = None
    """The page that was asked for, if ``url`` is the final URL of a response."""

    delay: float | None = None
    """The seconds between two requests that the ``robots.txt`` asks for, if the request may be
    made. ``None`` if the site has overrides, and if ``REP_CRAWL_DELAY`` is off."""

    preferences: Mapping[str, str] | None = None
    """What the ``robots.txt`` says about the use of the page, or what refused the request, by
    purpose: ``allowed``, ``disallowed`` or ``unknown``."""

    error: RobotsForbidden | RobotsUnreachable | None = None
    """What the request ends in, ``None`` if it goes on."""


@dataclass(frozen=True, slots=True)
class RobotsExchange:
    """A request for a ``robots.txt`` and the response to it, or the failure of a fetch."""

    id: str
    """A random UUID, as a URN."""

    authority: Authority
    uri: str
    """The URI that was asked for: redirects lead to others than that of the authority."""

    request: Request | None = None
    response: Response | None = None
    """The response as the server sent it, its content codings included, as far as it was read."""

    is_cut: bool = False
    """Whether the body was cut at ``REP_MAX_SIZE``."""

    is_changed: bool = False
    """Whether a component of the crawler may have changed or made the response."""

    copy: Answer | None = None
    """The copy that a 304 confirms."""

    previous: str = ""
    """The ID of the exchange before it, if a fetch failed after that."""

    failure: Unreachable | None = None
    """Why the fetch failed; then there is neither a request nor a response."""


def _listen() -> None:
    """Receive a signal that is never sent."""


class SignalSender:
    """Sends the signals of this package for one crawler."""

    def __init__(self, crawler: Crawler):
        self._crawler = crawler
        self._knows_listeners = self._finds_listeners()

    def _finds_listeners(self) -> bool:
        """Return whether PyDispatcher, on which Scrapy's signals are built, knows a listener."""
        crawler, probe = self._crawler, object()
        crawler.signals.connect(_listen, signal=probe)
        found = bool(dispatcher.getReceivers(crawler, probe))
        crawler.signals.disconnect(_listen, signal=probe)
        return found

    def is_heard(self, signal: object) -> bool:
        """Return whether anything may listen to a signal.

        If nothing does, this is all that the signal costs: 0.6 microseconds. To make and send one
        takes ten or more.
        """
        return not self._knows_listeners or bool(dispatcher.getReceivers(self._crawler, signal))

    def send(self, signal: object, **what: Any) -> IgnoreRequest | None:
        """Send a signal; return the first ``IgnoreRequest`` that a handler has raised."""
        results = self._crawler.signals.send_catch_log(signal, dont_log=IgnoreRequest, **what)
        for _, result in results:
            if isinstance(result, Failure) and isinstance(result.value, IgnoreRequest):
                return result.value
        return None
