"""The page that a request asks for, without a crawl."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy import Request

from scrapy_rep.page_url import requested_url


@given(st.text(), st.sampled_from(["", " ", "http://e.org/", "HTTP://U:p%2f@ä.org:080?"]))
@example("http://e.org\\a", "")
@example("mailto:a@e.org?", "")
def test_requested_url_is_that_of_a_request(text: str, start: str) -> None:
    """Of any text of which Scrapy makes a request."""
    try:
        request = Request(start + text)
    except ValueError:
        return
    assert requested_url(start + text) == request.url


def test_octets_of_a_command_line_are_quoted() -> None:
    """Python decodes those that are not UTF-8 to surrogates, which no request takes."""
    assert requested_url("http://e.org/\udce4\t?") == "http://e.org/%E4"


@pytest.mark.parametrize("url", ["http://u:pa/ss@e.org/", "http://e.org:65536/", "http://[/"])
def test_no_message_holds_a_password(url: str) -> None:
    """What is wrong with a URL is not quoted."""
    with pytest.raises(ValueError, match=r"^no usable host and port in the URL\Z"):
        requested_url(url)
