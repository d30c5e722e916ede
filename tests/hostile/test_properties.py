"""What holds for every robots.txt, every URL and every crawler."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.hostile import oracle
from tests.rows import deep

AGENT = "mybot"

pieces = st.sampled_from(
    ["/", "a", "b", "ab", "*", "*", "$", "?", "%2F", "%2f", "%3F", "%41", "%61", "%", "%2", "%zz",
     "%25", "%2A", "%24", ":", "%3A", "@", "=", "%3D", "&", "é", "%C3%A9", " ", "%20", "~", ";",
     "F", "2", "5", "2F", "/.", "/..", "/%2e", "/.%2E/", "."]
)  # fmt: skip
patterns = st.lists(pieces, max_size=8).map("".join)
rooted = patterns.map(lambda text: "/" + text)
paths = st.lists(pieces, max_size=10).map(lambda parts: "/" + "".join(parts))
rule_lines = st.tuples(st.sampled_from(["Allow", "Disallow"]), rooted | patterns).map(": ".join)
quick = settings(max_examples=deep(60, 2_000))


def body_of(rules: list[str]) -> bytes:
    """One default group."""
    return "\n".join(["User-agent: *", *rules]).encode()


@quick
@given(st.lists(rule_lines, min_size=1, max_size=6), paths)
@example(["Disallow: /*%2Fa"], "/?x=%2Fa")
@example(["Disallow: /*%2Fa?b"], "/x?/a?b")
@example(["Disallow: *F"], "/a%2F")
@example(["Disallow: /*5$"], "/100%")
@example(["Disallow: /*%2Fa*b"], "/x?/ab%2Fa")
@example(["Disallow: /*2Fb"], "/?q=a%2Fb")
@example(["Disallow: /*%"], "/a%41")
@example(["Disallow: /*%2$"], "/a%C3%A9%2")
@example(["Disallow: /b"], "/a/%2e%2E/b")
@example(["Disallow: /a/../b", "Allow: /b"], "/a/../b")
@example(["Allow: /a*c", "Disallow: /a%24c"], "/a$c")
def test_the_matcher_agrees_with_a_slow_one(rules: list[str], path: str) -> None:
    """RFC 9309 section 2.2.2: octet by octet, or all at once, the answer is the same."""
    body = body_of(rules)
    robots = RobotsTxt.parse(body)
    expected = oracle.allowed(body, AGENT, path.encode())
    assert robots.allowed(f"https://e.org{path}", AGENT) is expected
    assert robots.verdict(f"https://e.org{path}", AGENT).allowed is expected


anything = st.text(alphabet=st.characters(exclude_categories=()), max_size=40)
urls = (
    anything
    | anything.map(lambda text: "https://e.org/" + text)
    | st.sampled_from(
        ["", "/", "//", "?", "#", "mailto:a@b", "http://", "https:///x", "http://e.org:x/",
         "http://e.org:99999/", "http://[::1/x", "http://[", "javascript:", "data:,x", "\ud800",
         "http://\udcff/\udcff", "http://e.org/\ud800", "%", "http://e.org/%", "*", "$", "\n"]
    )
)  # fmt: skip
agents = anything | st.lists(anything, max_size=3) | st.lists(anything, max_size=3).map(tuple)
bodies = (
    st.binary(max_size=200)
    | st.lists(rule_lines, max_size=5).map(body_of)
    | st.text(alphabet="user-agent: *\ndislow/#\r\t\x00", max_size=120).map(str.encode)
    | st.text(max_size=60).map(lambda text: ("\ufeff" + text).encode("utf-16", "surrogatepass"))
)


@settings(max_examples=deep(80, 2_000))
@given(profile=st.sampled_from([*PROFILES]), body=bodies, url=urls, agent=agents)
def test_nothing_is_ever_raised(
    profile: str, body: bytes, url: str, agent: str | list[str] | tuple[str, ...]
) -> None:
    """RFC 9309 section 3: the content is untrusted, and so are URLs and names of crawlers."""
    robots = RobotsTxt.parse(body, profile=profile)
    allowed = robots.allowed(url, agent)
    verdict = robots.verdict(url, agent)
    assert verdict.allowed is allowed
    assert str(verdict.rule)
    assert verdict.overruled is None or verdict.overruled.allow is not verdict.allowed
    assert (robots.crawl_delay(agent) or 0) >= 0
    robots.request_rate(agent)
    assert isinstance(robots.sitemaps, tuple)
    assert robots.host is None or robots.host
    assert robots.size > 0
