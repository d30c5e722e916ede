"""The page that a request asks for, without a crawl."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.settings import Settings

from scrapy_rep.gate.page_url import leads_elsewhere, requested_url, sending


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


def test_a_page_is_judged_as_it_is_sent() -> None:
    """aiohttp, which a crawl without a reactor uses, decodes escapes; a service may not."""
    pytest.importorskip("yarl", reason="Scrapy 2.14 does without aiohttp")
    url, without = "http://e.org/a%28b", Settings({"TWISTED_REACTOR_ENABLED": False})
    assert sending(without)(Request(url), url) == "http://e.org/a(b"
    assert sending(without)(Request("http://service/"), url) == url
    assert sending(Settings())(Request(url), url) == url


LONG = f"http://u:pass@{'ä' * 256}/"


@pytest.mark.parametrize("url", ["http://u:pa/ss@e.org/", "http://e.org:65536/", "http://[/", LONG])
def test_no_message_holds_a_password(url: str) -> None:
    """What is wrong with a URL is not quoted. A long host is not encoded: that may take seconds."""
    with pytest.raises(ValueError, match=r"^no usable host and port in the URL\Z"):
        requested_url(url)


ASKED = "http://e.org/a?b"


@pytest.mark.parametrize(
    ("asked", "final"),
    [
        (ASKED, ASKED),
        (ASKED, f"{ASKED}#c"),
        (f"{ASKED}#c", ASKED),
        (ASKED, "HTTP://E.ORG:80/a?b"),
        (ASKED, "http://e.org./a?b"),
        (ASKED, "http://user:secret@e.org/a?b"),
        ("http://e.org", "http://e.org/"),
        ("http://e.org?q", "http://e.org/?q"),
        ("https://e.org:443/a", "https://e.org/a"),
        ("http://ü.org/a", "http://xn--tda.org/a"),
        ("data:,a", "data:,a"),
        ("s3://bucket/key", "https://s3.amazonaws.com/bucket/key"),
    ],
)
def test_a_spelling_that_no_rule_can_tell_apart_is_the_same_page(asked: str, final: str) -> None:
    """What download handlers make of a URL, and the S3 handler, which asks by https."""
    assert not leads_elsewhere(Request(asked), final)


@pytest.mark.parametrize(
    "final",
    [
        *("https://e.org/a?b", "http://e.org:8080/a?b", "http://www.e.org/a?b"),
        *("http://e.org/a", "http://e.org/a?", "http://e.org/a/?b", "http://e.org/A?b"),
        *("http://e.org/%61?b", "http://e.org//a?b", "http://e.org/x/../a?b"),
        *("about:blank", ""),
    ],
)
def test_what_a_rule_may_tell_apart_is_another_page(final: str) -> None:
    """An escape as well: not every profile decodes it."""
    assert leads_elsewhere(Request(ASKED), final)


@pytest.mark.parametrize("final", ["http://", "https://:443/", "http://h:port/", "http://[::1/"])
def test_a_final_url_without_a_host_is_an_error(final: str) -> None:
    """Nothing says whose rules count."""
    with pytest.raises(ValueError, match="no usable host"):
        leads_elsewhere(Request(ASKED), final)
