"""Product tokens, of files and of crawlers."""

import pytest

from scrapy_rep.protocol.agent import names_of, product_token, tokens_of
from scrapy_rep.protocol.profiles import PROFILES

RFC = PROFILES["rfc9309"]


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("mybot", "mybot"),
        ("my_bot-9", "my_bot-9"),
        ("mozilla", "mozilla"),
        ("mybot/1.0", "mybot"),
        ("Scrapy/2.19.0 (+https://scrapy.org)", "Scrapy"),
        ("python-requests/2.32", "python-requests"),
        ("FigTree/0.1 Robot libwww-perl/5.04", "FigTree"),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot"),
        (
            "Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 Chrome/99.0 Mobile "
            "Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Googlebot",
        ),
        ("Mozilla/5.0 (compatible; my_bot-9/v2.0; +https://e.org/2026)", "my_bot-9"),
        ("Mozilla/5.0 (compatible; Foo; Bar/1.0)", "Bar"),
        ("  mybot/1  ", "mybot"),
    ],
)
def test_the_product_that_names_the_crawler_is_its_token(user_agent: str, token: str) -> None:
    """RFC 9309 section 2.2.1: the token is a substring of the identification string."""
    assert product_token(user_agent) == token


@pytest.mark.parametrize(
    "user_agent",
    [
        "",
        "   ",
        "(mybot)",
        "/1.0",
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/130.0.0.0 Safari/537.36",
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
        "Mozilla/5.0 (compatible; +https://e.org/2026)",
        "Mozilla/5.0 (compatible; https://e.org/2026/)",
    ],
)
def test_a_browsers_string_names_no_crawler(user_agent: str) -> None:
    """RFC 9309 section 2.2.1: crawlers set their own name; a browser's is not one."""
    assert product_token(user_agent) is None


def test_agents_become_tokens_in_falling_preference() -> None:
    """RFC 9309 section 2.2.1: matching is case-insensitive; ``*`` is no crawler's token."""
    assert tokens_of("MyBot/1.0 (x)", RFC) == ("mybot",)
    assert tokens_of(["MyBot-News", "MyBot"], RFC) == ("mybot-news", "mybot")
    assert tokens_of(b"MyBot/1.0 (\xe9)", RFC) == ("mybot",)  # type: ignore[arg-type]
    assert tokens_of(["MyBot-News", b"MyBot"], RFC) == ("mybot-news", "mybot")  # type: ignore[list-item]
    assert tokens_of(("*",), RFC) == ()
    assert tokens_of("*", RFC) == ()
    assert tokens_of("", RFC) == ()


@pytest.mark.parametrize(
    ("value", "rfc9309", "google", "draft1996", "kollar"),
    [
        ("foobot", ("foobot",), ("foobot",), ("foobot",), ("foobot",)),
        ("FooBot/1.0", ("foobot",), ("foobot",), ("foobot/1.0",), ("foobot/1.0",)),
        ("MJ12bot", ("mj12bot",), ("mj",), ("mj12bot",), ("mj12bot",)),
        ("foo bar", ("foo",), ("foo",), ("foo bar",), ("foo", "bar")),
        ("*", ("*",), ("*",), ("*",), ("*",)),
        ("* Rex", ("*",), ("*",), ("* rex",), ("*", "rex")),
        ("*;", ("*",), ("",), ("*;",), ("*;",)),
        ("*foo", ("",), ("",), ("*foo",), ("*foo",)),
        ("", ("",), ("",), ("",), ("",)),
    ],
)
def test_each_profile_cuts_names_in_its_own_way(
    value: str,
    rfc9309: tuple[str, ...],
    google: tuple[str, ...],
    draft1996: tuple[str, ...],
    kollar: tuple[str, ...],
) -> None:
    """RFC 9309 section 2.2.1; 1996 section 3.2.1; Kollar: several names on a line."""
    assert names_of(value, RFC) == rfc9309
    assert names_of(value, PROFILES["google"]) == google
    assert names_of(value, PROFILES["1996"]) == draft1996
    assert names_of(value, PROFILES["kollar"]) == kollar
