"""How far a request has come, and what is kept beside it."""

from __future__ import annotations

import gc

from scrapy import Request

from scrapy_rep.frontier.request_state import RequestStates, restored, to_come_back
from scrapy_rep.frontier.states import Stage
from tests.rows import rows


@rows("dont_filter", [True, False])
def test_a_request_that_comes_back_is_as_it_was(dont_filter: bool) -> None:
    """No filter of duplicates drops it meanwhile, however often it is returned."""
    request = Request("http://a.example/", dont_filter=dont_filter, meta={"mine": 1})
    for _ in range(2):
        assert to_come_back(request) is request
        assert request.dont_filter is True
    assert restored(request) is request
    assert (request.dont_filter, request.meta) == (dont_filter, {"mine": 1})
    assert restored(request).dont_filter is dont_filter


def test_a_state_is_kept_beside_the_request() -> None:
    """A copy has none, and neither have its meta; it goes with the request."""
    states, request = RequestStates(), Request("http://a.example/")
    state = states.begin(request, Stage.HEAD)
    assert states[request] is state
    assert state.stage is Stage.HEAD
    assert request.copy() not in states
    assert request.meta == {}
    assert states.begin(request, Stage.CHECKED) is not state
    assert len(states) == 1
    del request
    gc.collect()
    assert len(states) == 0
