"""Product tokens, of files and of crawlers."""

# ruff: noqa: E501 (User-Agent strings are quoted whole)

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.product_token import FORMS, product_token, tokens_of
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.rows import rows

RFC = PROFILES["rfc9309"]


@rows(
    "user_agent, token",
    ("mybot", "mybot"),
    ("my_bot-9", "my_bot-9"),
    ("mozilla", "mozilla"),
    ("mybot/1.0", "mybot"),
    ("archive.org_bot", "archive"),
    ("FigTree/0.1 Robot libwww-perl/5.04", "FigTree"),
    ("Mozilla/5.0 (compatible; my_bot-9/v2.0; +https://e.org/2026)", "my_bot-9"),
    ("Mozilla/5.0 (compatible; Foo; Bar/1.0)", "Foo"),
    ("Mozilla/5.0 (compatible; Windows NT 6.1; Foo/1.0)", "Foo"),
    ("Mozilla/5.0 (compatible; MSIE 6.0; Windows) (compatible; Foo/1.0)", "Foo"),
    ("Mozilla/5.0 (COMPATIBLE ;Foo", "Foo"),
    ("Mozilla/5.0 (X11; Linux) (Foo/1.0; www.e.org)", "Foo"),
    ("Mozilla/5.0 (X11; Linux) Chrome/9 (Chrome/9; Foo/v1; foo@e.org)", "Foo"),
    ("  mybot/1  ", "mybot"),
)
def test_the_product_that_names_the_crawler_is_its_token(user_agent: str, token: str) -> None:
    """RFC 9309 section 2.2.1: the token is a substring of the identification string."""
    assert product_token(user_agent) == token


LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
CRAWLERS = {
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/130.0.0.0 Safari/537.36": "Googlebot",
    "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)": "Googlebot",
    "Mediapartners-Google": "Mediapartners-Google",
    "AdsBot-Google (+http://www.google.com/adsbot.html)": "AdsBot-Google",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 14_7_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/14.1.2 Mobile/15E148 Safari/604.1 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)": "AdsBot-Google-Mobile",
    "APIs-Google (+https://developers.google.com/webmasters/APIs-Google.html)": "APIs-Google",
    "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)": "FeedFetcher-Google",
    "Mozilla/5.0 (compatible; GoogleOther)": "GoogleOther",
    "Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)": "Google-InspectionTool",
    "msnbot/2.0b (+http://search.msn.com/msnbot.htm)": "msnbot",
    "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)": "Slurp",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/84.0 Safari/537.36 (compatible;Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)": "Baiduspider-render",
    "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)": "DuckDuckBot",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)": "Applebot",
    "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)": "Bytespider",
    "Mozilla/5.0 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)": "PetalBot",
    "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)": "archive",
    "ia_archiver (+http://www.alexa.com/site/help/webmasters; crawler@alexa.com)": "ia_archiver",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot": "ChatGPT-User",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)": "ClaudeBot",
    "CCBot/2.0 (https://commoncrawl.org/faq/)": "CCBot",
    "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)": "meta-externalagent",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)": "LinkedInBot",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)": "SemrushBot",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)": "MJ12bot",
    "Mozilla/5.0 (compatible; coccocbot-web/1.0; +http://help.coccoc.com/searchengine)": "coccocbot-web",
    "Mozilla/5.0 (compatible; Mail.RU_Bot/2.0; +http://go.mail.ru/help/robots)": "Mail",
    f"{LINUX}Chrome/118.0.0.0 Safari/537.36 ArchiveBox/0.7.2 (+https://github.com/ArchiveBox/ArchiveBox/)": "ArchiveBox",
    f"{LINUX}Chrome/91.0.4472.124 Safari/537.36 Flyriverbot/1.1 (+https://www.flyriver.com/; AI Content Source Check)": "Flyriverbot",
    f"{LINUX}Chrome/78.0.3904.108 Safari/537.36 SeoSiteCheckup (https://seositecheckup.com)": "SeoSiteCheckup",
    f"{LINUX}Chrome/65.0.3325.181 Safari/537.36 AppEngine-Google; (+http://code.google.com/appengine; appid: s~x)": "AppEngine-Google",
    f"{LINUX}Chrome/137.0.0.0 Safari/537.36; Devin/1.0; +https://devin.ai": "Devin",
    f"{LINUX}Chrome/50.0.2661.102 Safari/537.36; 360Spider": "360Spider",
    f"{LINUX}Chrome/132.0.0.0 Safari/537.36; Manus-User/1.0": "Manus-User",
    f"{LINUX}Chrome/96.0.4664.45 Safari/537.36 PTST/211202.211915": "PTST",
    f"{LINUX}Chrome/69.0.3497.81 YisouSpider/5.0 Safari/537.36": "YisouSpider",
    f"{LINUX}renderer/2020.2.0 Chrome/78.0 Electron/7.1 Safari/537.36 PingdomTMS/2020.2": "PingdomTMS",
    f"{LINUX}Chrome/79.0.3945.0 Safari/537.36 Criticalcss.com/2.0.0": "Criticalcss",
    f"{LINUX}PhantomJS/2.1.1 Safari/538.1 bl.uk_lddc_renderbot/2.0.0 (+ http://www.bl.uk/aboutus)": "bl",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 11_0 like Mac OS X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/43.0 Mobile Safari/537.36; Bytespider;bytespider@bytedance.com": "Bytespider",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 7_0 like Mac OS X) AppleWebKit/537.51.1 (KHTML, like Gecko) Mobile/11A465 Twitter for iPhone BrandVerity/1.0 (http://www.brandverity.com/why)": "BrandVerity",
    "Mozilla/5.0 (Windows NT 6.1; rv:34.0) Gecko/20100101 Firefox/34.0; Dragonbot; http://www.dragonmetrics.com": "Dragonbot",
    "Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US) Speedy Spider (http://www.entireweb.com/about/)": "Speedy",
    "Mozilla/5.0 (Windows NT 6.1; Win64; x64; +http://www.komodia.com/index.php) KomodiaBot/1.0": "KomodiaBot",
    "Mozilla/5.0 (compatible) SemanticScholarBot (+https://www.semanticscholar.org/crawler)": "SemanticScholarBot",
    "Mozilla/5.0 (compatible; +https://probely.com/sos) ProbelySPDR/0.1.0": "ProbelySPDR",
    "Mozilla/4.0 compatible ZyBorg/1.0 (wn-14.zyborg@looksmart.net; http://www.WISEnutbot.com)": "ZyBorg",
    "Mozilla/5.0 (compatible; Linux x86_64; Mail.RU_Bot/2.0; +http://go.mail.ru/help/robots)": "Mail",
    "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0;  WOW64;  BingPreview/1.0b)": "BingPreview",
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; RetrevoPageAnalyzer; +http://www.retrevo.com)": "RetrevoPageAnalyzer",
    "Mozilla/5.0 Moreover/5.1 (+http://www.moreover.com)": "Moreover",
    "Mozilla/5.0 zgrab/0.x": "zgrab",
    "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)": "Sogou",
    "Scrapy/2.14.0 (+https://scrapy.org)": "Scrapy",
    "python-requests/2.32.3": "python-requests",
}
"""What well-known crawlers send, one of each form, and the name that files call them by."""

NO_CRAWLERS = [
    *("", "   ", "(mybot)", "/1.0", "Mozilla/5.0", "Mozilla/5.0 (compatible; www.e.org)"),
    *("Mozilla/5.0 (compatible;)", "Mozilla/5.0 (compatible; )"),
    *("Mozilla/5.0 (compatible; +https://e.org/2026)", "Mozilla/5.0 (compatible; foo@e.org)"),
    "Mozilla/5.0 (compatible; https://e.org/2026/)",
    "Mozilla/5.0 (X11; Linux x86_64; Foo/1.0) Chrome/130.0",
    "Mozilla/5.0 (X11; https://e.org/2026/) Chrome/130.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Linux; Android 14; SM-S921B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Win64; x64; Trident/5.0; .NET CLR 3.5.30729; Zune 4.7)",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.0; Trident/4.0; SLCC1; chromeframe/12.0)",
    "Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko",
    "Mozilla/5.0 (compatible; Konqueror/4.5; Linux; X11; en_US) KHTML/4.5.4 (like Gecko) Kubuntu",
    "Mozilla/5.0 (compatible; Windows; U; Windows NT 6.2; WOW64; en-US; rv:12.0) Gecko/20120403211507 Firefox/12.0",
    f"{LINUX}Chrome/134.0.0.0 Safari/537.36 EdgA/134.0.0.0",
    f"{LINUX}Chrome/135.0.0.0 Mobile DuckDuckGo/5 Safari/537.36",
    f"{LINUX}Chrome/140.0 YaBrowser/25.10.6 SA/3 Safari/537.36",
    f"{LINUX}Chrome/133.0 Safari/537.36 OPR/117.0.0.0",
    f"{LINUX}Chrome/120.0 Safari/537.36 Vivaldi/6.5",
    f"{LINUX}Chrome/133.0 Safari/537.36 AVG/133.0",
    f"{LINUX}HeadlessChrome/120.0.0.0 Safari/537.36",
    f"{LINUX}PhantomJS/2.1.1 Safari/538.1",
    f"{LINUX}QtWebEngine/5.12.4 Chrome/69.0 Safari/537.36",
    f"{LINUX}jsdom/20.0.3",
    f"{LINUX}SamsungBrowser/27.0 Chrome/125.0 Mobile Safari/537.36",
    f"{LINUX}Chrome/30.0 Safari/537.36 Puffin/4.8.0.2965AT",
    f"{LINUX}Safari/537.36 (+https://example.org)",
    f"{LINUX}Safari/537.36 (compatible; +https://example.org/)",
    f"{LINUX}Chrome/64.0 Safari/537.36; Android 14",
    "Mozilla/5.0 (iPad; CPU OS 15_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/319.0 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15 Ddg/17.1",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/501.2.0;FBBV/717317385;FBDV/iPhone12,8]",
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; Trident/4.0; InfoPath.3; BRI/2; .NET4.0C; AskTbORJ/5.15)",
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows Phone 8.0; Trident/6.0; IEMobile/10.0; ARM; Touch; NOKIA; 909)",
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows Phone OS 7.0; Trident/3.1; IEMobile/7.0) Asus;Galaxy6",
    "Mozilla/5.0 (X11; U; Linux i686; en-US; rv:1.9.1.3) Gecko/20090824 Fedora/1.0.7-1.1.fc4 Firefox/3.5.3",
    "Mozilla/5.0 (X11; U; Linux i686; en-US; rv:1.9.1.2) Gecko/20090803 Ubuntu/9.04 (jaunty) Shiretoko/3.5.2",
    "Mozilla/5.0 (Windows NT 10.0; rv:45.9) Gecko/20100101 Goanna/3.2 Firefox/45.9 PaleMoon/27.4.0",
    "Mozilla/5.0 (Mobile; LYF_F30C; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.0",
    "Mozilla/5.0 (Linux; Android 13; SM-G981U1; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/135.0 Mobile Safari/537.36 Line/15.4.2/IAB",
    "Mozilla/5.0 (Windows NT 5.1; SV1; +https://example.org)",
]


NAMES = ["Bytespider", "Applebot", "ArchiveBox", "Devin", "360Spider", "BingPreview", "PTST"]


def test_each_form_has_an_example_that_no_form_before_it_reads() -> None:
    """RFC 9309 section 2.2.1: the table of the forms says what each of them is for."""
    assert len(FORMS) == len(NAMES)
    for at, ((_, _, example), name) in enumerate(zip(FORMS, NAMES, strict=True)):
        text = f"Mozilla/5.0 {example}"
        readers = [
            n for n, (place, read, _) in enumerate(FORMS) if any(map(read, place.findall(text)))
        ]
        assert readers[0] == at
        assert product_token(text) == name


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


@rows(
    "user_agent, token",
    ("Lycos_Spider_(Rex)/1.0 libwww/3.1", "lycos_spider_(rex)"),
    ("Mozilla/5.0 (compatible; foobot/1.0)", "foobot"),
    ("MOZILLA/5.0 (X11; Linux)", None),
    ("/1.0", None),
)
def test_kollar_reads_all_of_a_name_up_to_its_version(user_agent: str, token: str | None) -> None:
    """Kollar: but what begins as a browser does names its crawler where that is named today."""
    assert tokens_of(user_agent, PROFILES["kollar"]) == ((token,) if token else ())


@rows(
    "user_agent, token",
    ("F.Bot/1.0 (+http://e.org)", "f.bot"),
    ("f.bot", "f.bot"),
    ("foobot, by e.org", "foobot"),
    ("Lycos_Spider_(Rex)/1.0 libwww/3.1", "lycos_spider_"),
    ("Mozilla/5.0 (compatible; foobot/1.0)", "foobot"),
    ("Mozilla/5.0 (X11; Linux)", None),
)
def test_half_a_name_is_not_looked_for_within_others(user_agent: str, token: str | None) -> None:
    """1996 sections 3.2.1 and 3.3: the line contains the name token, in which a dot may be."""
    text = "User-agent: surfbot\nDisallow:\n\nUser-agent: *\nDisallow: /\n"
    for profile in ("1996", "1994"):
        assert tokens_of(user_agent, PROFILES[profile]) == ((token,) if token else ())
        assert not RobotsTxt.parse(text, profile=profile).allowed("https://e.org/", user_agent)


@rows(
    "user_agent, named",
    ("foobot+http://e.org/", "foobot"),
    ("Foobot. Write to me@e.org", "foobot"),
    ("Yahoo! Slurp", "Yahoo"),
    ("Mozilla/5.0 (compatible; Moz/1.0)", "Moz"),
)
def test_only_dots_within_a_name_are_part_of_it(user_agent: str, named: str) -> None:
    """Whatever else the draft of 1996 permits in a token: the line names this crawler."""
    text = f"User-agent: {named}\nDisallow: /\n"
    for profile in ("1996", "1994"):
        assert not RobotsTxt.parse(text, profile=profile).allowed("https://e.org/", user_agent)


def test_agents_become_tokens_in_falling_preference() -> None:
    """RFC 9309 section 2.2.1: matching is case-insensitive; ``*`` is no crawler's token."""
    assert tokens_of("MyBot/1.0 (x)", RFC) == ("mybot",)
    assert tokens_of(["MyBot-News", "MyBot"], RFC) == ("mybot-news", "mybot")
    assert tokens_of(b"MyBot/1.0 (\xe9)", RFC) == ("mybot",)  # type: ignore[arg-type]
    assert tokens_of(["MyBot-News", b"MyBot"], RFC) == ("mybot-news", "mybot")  # type: ignore[list-item]
    assert tokens_of(("*",), RFC) == ()
    assert tokens_of("*", RFC) == ()
    assert tokens_of("", RFC) == ()
