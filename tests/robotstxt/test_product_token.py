"""Product tokens, of files and of crawlers."""

# ruff: noqa: E501 (User-Agent strings are quoted whole)

from scrapy_rep.robotstxt.product_token import product_token, tokens_of
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from tests.rows import rows

RFC = PROFILES["rfc9309"]


@rows(
    "user_agent, token",
    [
        ("mybot", "mybot"),
        ("my_bot-9", "my_bot-9"),
        ("mozilla", "mozilla"),
        ("mybot/1.0", "mybot"),
        ("FigTree/0.1 Robot libwww-perl/5.04", "FigTree"),
        ("Mozilla/5.0 (compatible; my_bot-9/v2.0; +https://e.org/2026)", "my_bot-9"),
        ("Mozilla/5.0 (compatible; Foo; Bar/1.0)", "Foo"),
        ("Mozilla/5.0 (compatible; Windows NT 6.1; Foo/1.0)", "Foo"),
        ("Mozilla/5.0 (compatible; MSIE 6.0; Windows) (compatible; Foo/1.0)", "Foo"),
        ("Mozilla/5.0 (COMPATIBLE ;Foo", "Foo"),
        ("Mozilla/5.0 (X11; Linux) (Foo/1.0; www.e.org)", "Foo"),
        ("Mozilla/5.0 (X11; Linux) Chrome/9 (Chrome/9; Foo/v1; foo@e.org)", "Foo"),
        ("  mybot/1  ", "mybot"),
    ],
)
def test_the_product_that_names_the_crawler_is_its_token(user_agent: str, token: str) -> None:
    """RFC 9309 section 2.2.1: the token is a substring of the identification string."""
    assert product_token(user_agent) == token


CRAWLERS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; "
    "+http://www.google.com/bot.html) Chrome/130.0.0.0 Safari/537.36": "Googlebot",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; "
    "+http://www.google.com/bot.html)": "Googlebot",
    "Mediapartners-Google": "Mediapartners-Google",
    "AdsBot-Google (+http://www.google.com/adsbot.html)": "AdsBot-Google",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 14_7_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
    "like Gecko) Version/14.1.2 Mobile/15E148 Safari/604.1 (compatible; "
    "AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)": "AdsBot-Google-Mobile",
    "APIs-Google (+https://developers.google.com/webmasters/APIs-Google.html)": "APIs-Google",
    "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)": "FeedFetcher-Google",
    "Mozilla/5.0 (compatible; GoogleOther)": "GoogleOther",
    "Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)": "Google-InspectionTool",
    "msnbot/2.0b (+http://search.msn.com/msnbot.htm)": "msnbot",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": "Slurp",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/84.0 Safari/537.36 (compatible;Baiduspider-render/2.0; "
    "+http://www.baidu.com/search/spider.html)": "Baiduspider-render",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)": "DuckDuckBot",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)": "Applebot",
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile "
    "Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)": "Bytespider",
    "Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)": "PetalBot",
    "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)": "archive",
    "ia_archiver (+http://www.alexa.com/site/help/webmasters; crawler@alexa.com)": "ia_archiver",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; "
    "+https://openai.com/bot": "ChatGPT-User",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; "
    "+claudebot@anthropic.com)": "ClaudeBot",
    "CCBot/2.0 (https://commoncrawl.org/faq/)": "CCBot",
    "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)": "meta-externalagent",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)": "LinkedInBot",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)": "SemrushBot",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)": "MJ12bot",
    "Mozilla/5.0 (compatible; coccocbot-web/1.0; +http://help.coccoc.com/searchengine)": "coccocbot-web",
    "Mozilla/5.0 (compatible; Mail.RU_Bot/2.0; +http://go.mail.ru/help/robots)": "Mail",
    "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)": "Sogou",
    "Scrapy/2.14.0 (+https://scrapy.org)": "Scrapy",
    "python-requests/2.32.3": "python-requests",
}
"""What well-known crawlers send, one of each form, and the name that files call them by."""

NO_CRAWLERS = [
    "",
    "   ",
    "(mybot)",
    "/1.0",
    "Mozilla/5.0 (compatible; +https://e.org/2026)",
    "Mozilla/5.0 (compatible; https://e.org/2026/)",
    "Mozilla/5.0 (compatible; www.e.org)",
    "Mozilla/5.0 (compatible; foo@e.org)",
    "Mozilla/5.0 (compatible;)",
    "Mozilla/5.0 (compatible; )",
    "Mozilla/5.0",
    "Mozilla/5.0 (X11; Linux x86_64; Foo/1.0) Chrome/130.0",
    "Mozilla/5.0 (X11; https://e.org/2026/) Chrome/130.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
    "like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Linux; Android 14; SM-S921B Build/UP1A.231005.007; wv) AppleWebKit/537.36 "
    "(KHTML, like Gecko) Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Win64; x64; Trident/5.0; .NET CLR "
    "3.5.30729; Zune 4.7)",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.0; Trident/4.0; SLCC1; chromeframe/12.0)",
    "Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko",
    "Mozilla/5.0 (compatible; Konqueror/4.5; Linux; X11; en_US) KHTML/4.5.4 (like Gecko) Kubuntu",
    "Mozilla/5.0 (compatible; Windows; U; Windows NT 6.2; WOW64; en-US; rv:12.0) "
    "Gecko/20120403211507 Firefox/12.0",
]


@rows("user_agent", CRAWLERS)
def test_well_known_crawlers_are_known_by_their_name(user_agent: str) -> None:
    """RFC 9309 section 2.2.1: their group holds for the whole string that they send."""
    token = CRAWLERS[user_agent]
    assert product_token(user_agent) == token
    robots = RobotsTxt.parse(f"User-agent: {token}\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    assert not robots.allowed("https://e.org/", user_agent)


@rows("user_agent", NO_CRAWLERS)
def test_what_does_not_name_a_crawler_has_no_token(user_agent: str) -> None:
    """RFC 9309 section 2.2.1: a browser's string leaves the default group, whatever it holds."""
    assert product_token(user_agent) is None
    robots = RobotsTxt.parse("User-agent: *\nDisallow: /\n")
    assert not robots.allowed("https://e.org/", user_agent)


def test_a_name_with_a_dot_is_cut_as_a_user_agent_line_is() -> None:
    """RFC 9309 section 2.2.1: both sides of the comparison end where the token does."""
    robots = RobotsTxt.parse("User-agent: archive.org_bot\nDisallow: /\n")
    sent = "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)"
    assert not robots.allowed("https://e.org/", sent)
    assert not robots.allowed("https://e.org/", "archive.org_bot")


@rows(
    "user_agent, token",
    [
        ("Lycos_Spider_(Rex)/1.0 libwww/3.1", "lycos_spider_(rex)"),
        ("Mozilla/5.0 (compatible; foobot/1.0)", "foobot"),
        ("MOZILLA/5.0 (X11; Linux)", None),
        ("/1.0", None),
    ],
)
def test_kollar_reads_all_of_a_name_up_to_its_version(user_agent: str, token: str | None) -> None:
    """Kollar: but what begins as a browser does names its crawler where that is named today."""
    assert tokens_of(user_agent, PROFILES["kollar"]) == ((token,) if token else ())


def test_agents_become_tokens_in_falling_preference() -> None:
    """RFC 9309 section 2.2.1: matching is case-insensitive; ``*`` is no crawler's token."""
    assert tokens_of("MyBot/1.0 (x)", RFC) == ("mybot",)
    assert tokens_of(["MyBot-News", "MyBot"], RFC) == ("mybot-news", "mybot")
    assert tokens_of(b"MyBot/1.0 (\xe9)", RFC) == ("mybot",)  # type: ignore[arg-type]
    assert tokens_of(["MyBot-News", b"MyBot"], RFC) == ("mybot-news", "mybot")  # type: ignore[list-item]
    assert tokens_of(("*",), RFC) == ()
    assert tokens_of("*", RFC) == ()
    assert tokens_of("", RFC) == ()
