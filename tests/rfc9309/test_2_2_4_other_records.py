"""RFC 9309 section 2.2.4: other records."""

from scrapy_rep import RobotsTxt
from tests.rows import rows

OTHERS = [
    *(b"Sitemap: https://e.org/sitemap.xml", b"Crawl-delay: 5", b"Host: e.org", b"Noindex: /x"),
    *(b"Clean-param: a /b", b"Request-rate: 1/5", b"Visit-time: 0600-0845", b"something else"),
    *(b"user-agents: x", b": /", b"<html><body>disallow me</body></html>"),
]


@rows("other", OTHERS)
def test_another_record_does_not_end_a_group(other: bytes) -> None:
    """RFC 9309 section 2.2.4: a "Sitemaps" record MUST NOT terminate a group."""
    lines = [b"User-agent: a", b"User-agent: b", b"Disallow: /1", b"Disallow: /2"]
    for at in range(1, len(lines) + 1):
        body = b"\n".join([*lines[:at], other, *lines[at:]])
        robots = RobotsTxt.parse(body)
        for agent in "ab":
            assert not robots.allowed("https://e.org/1", agent)
            assert not robots.allowed("https://e.org/2", agent)
            assert robots.allowed("https://e.org/x", agent)


@rows("key", ["dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DISALOW"])
def test_common_misspellings_of_disallow_are_accepted(key: str) -> None:
    """RFC 9309 section 2.2.4: crawlers may accept common misspellings of the record."""
    robots = RobotsTxt.parse(f"user-agent: *\n{key}: /x\nuser-agent: b\n{key}: /y".encode())
    assert not robots.allowed("https://e.org/x", "a")
    assert robots.allowed("https://e.org/x", "b")
    assert robots.allowed("https://e.org/y", "a")
    assert not robots.allowed("https://e.org/y", "b")


@rows("key", ["useragent", "user agent", "UserAgent", "User Agent", "user-agent "])
def test_common_misspellings_of_user_agent_are_accepted(key: str) -> None:
    """RFC 9309 section 2.2.4: crawlers may be lenient."""
    robots = RobotsTxt.parse(f"user-agent: a\ndisallow: /x\n{key}: b\ndisallow: /y".encode())
    assert [robots.allowed(f"https://e.org/{p}", "a") for p in "xy"] == [False, True]
    assert [robots.allowed(f"https://e.org/{p}", "b") for p in "xy"] == [True, False]


def test_a_colon_may_be_missing_between_two_words() -> None:
    """RFC 9309 section 2.2.4: lenient as common crawlers are."""
    body = b"user-agent a\ndisallow /x\nallow \t /x/y\nuser-agent  b\ndisallow /z"
    robots = RobotsTxt.parse(body)
    assert not robots.allowed("https://e.org/x", "a")
    assert robots.allowed("https://e.org/x/y", "a")
    assert robots.allowed("https://e.org/z", "a")
    assert not robots.allowed("https://e.org/z", "b")


def test_a_missing_colon_is_forgiven_between_two_words_only() -> None:
    """RFC 9309 section 2.2: a line of prose is no rule."""
    body = b"user-agent: *\ndisallow all of it\ndisallow\nallow /x /y\ndisallow/z"
    robots = RobotsTxt.parse(body)
    assert robots.allowed("https://e.org/all", "a")
    assert robots.verdict("https://e.org/x", "a").rule is None


@rows("key", ["sitemap", "Sitemaps", "SITE-MAP", " sitemap "])
def test_sitemaps_are_of_the_file(key: str) -> None:
    """RFC 9309 section 2.2.4: other records, for example Sitemaps, MAY be interpreted."""
    body = f"{key}: https://e.org/1\nuser-agent: a\n{key}: https://e.org/2 # x\ndisallow: /\n"
    body += f"{key}: https://e.org/1\n{key}:\n"
    assert RobotsTxt.parse(body.encode()).sitemaps == ("https://e.org/1", "https://e.org/2")
