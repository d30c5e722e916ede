"""Tells listeners of each exchange of one fetch: the signal ``robots_fetched``.

Its ID stays with what is learnt from it, so that a decision can name the exchange that it rests on,
in a later crawl, too.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING
from uuid import uuid4

from scrapy_rep.access.outcome import Outcome, Unreachable
from scrapy_rep.signals import RobotsExchange, SignalSender, robots_fetched

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

    from scrapy_rep.access.authority import Authority
    from scrapy_rep.access.entry import Answer


class Announcements:
    """Sends the exchanges of a fetch of ``authority``.

    ``copy`` is what a conditional request may confirm.
    """

    def __init__(self, signals: SignalSender, authority: Authority, copy: Answer | None):
        self._signals = signals
        self._authority = authority
        self._copy = copy
        self._last_uri = self._last_id = ""

    def received(
        self, request: Request, response: Response, is_cut: bool, *, is_changed: bool = False
    ) -> None:
        """Send an exchange.

        ``is_cut`` says that the body was cut at the limit, and ``is_changed`` that a component of
        the crawler may have changed or made the response.
        """
        copy, uri = self._copy, request.url
        confirms = response.status == HTTPStatus.NOT_MODIFIED and copy and copy.uri == uri
        self._last_uri, self._last_id = uri, uuid4().urn
        exchange = RobotsExchange(
            self._last_id,
            self._authority,
            uri,
            request,
            response,
            is_cut=is_cut,
            is_changed=is_changed,
            copy=copy if confirms else None,
        )
        self._signals.send(robots_fetched, exchange=exchange)

    def ended(self, outcome: Outcome) -> Outcome:
        """Return the outcome with the ID of its exchange; send a failure without a response."""
        if not isinstance(outcome, Unreachable) or (self._last_id and outcome.status is not None):
            return replace(outcome, exchange=self._last_id)
        uri = self._last_uri or self._authority.robots_uri
        failed = RobotsExchange(
            uuid4().urn, self._authority, uri, previous=self._last_id, failure=outcome
        )
        self._signals.send(robots_fetched, exchange=failed)
        return replace(outcome, exchange=failed.id)
