"""What the frontier is told of a request, without a crawl."""

from __future__ import annotations

from inspect import signature
from typing import Any

from scrapy import Request

from scrapy_rep.frontier.request_state import RequestState
from scrapy_rep.frontier.states import REFUSED, Block, Stage, State
from scrapy_rep.gate.gate import Gate
from scrapy_rep.gate.nofollow import marked
from tests.scripted import HERE, Bench


async def test_a_mark_refuses_only_the_url_that_it_names() -> None:
    """A request to another page, made with a copy of the meta, waits for its rules as any other."""
    parts: dict[str, Any] = dict.fromkeys(signature(Gate).parameters)
    parts |= {"cache": Bench().cache, "sent_url": lambda _, page: page}
    closed = marked(Request(f"{HERE}/a"), "meta")
    copied = Request(f"{HERE}/b", meta=closed.meta)
    for request, block in ((closed, REFUSED), (copied, Block(State.RULES, HERE))):
        assert Gate(**parts).blocked_by(request, RequestState(Stage.HEAD), None) == block
