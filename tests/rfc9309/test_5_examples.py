"""RFC 9309 section 5: the examples."""

from scrapy_rep import RobotsTxt
from tests.rows import rows

SIMPLE = b"""\
            User-Agent: *
            Disallow: *.gif$
            Disallow: /example/
            Allow: /publications/

            User-Agent: foobot
            Disallow:/
            Allow:/example/page.html
            Allow:/example/allowed.gif

            User-Agent: barbot
            User-Agent: bazbot
            Disallow: /example/page.html

            User-Agent: quxbot

            EOF
"""


@rows(
    "agent, free, closed",
    (
        "anybot",
        ["/publications/a.html", "/a/b.gifs", "/other"],
        ["/example/", "/example/page.html", "/a/b.gif"],
    ),
    (
        "foobot",
        ["/example/page.html", "/example/page.html?x", "/example/allowed.gif"],
        ["/example/", "/", "/publications/"],
    ),
    ("barbot", ["/example/"], ["/example/page.html"]),
    ("bazbot", ["/a/b.gif"], ["/example/page.html"]),
    ("quxbot", ["/example/page.html", "/a/b.gif"], []),
)
def test_simple_example(agent: str, free: list[str], closed: list[str]) -> None:
    """RFC 9309 section 5.1, as its text explains it."""
    robots = RobotsTxt.parse(SIMPLE)
    for path in [*free, *closed]:
        assert robots.allowed(f"https://example.com{path}", agent) is (path in free), path


def test_longest_match_example() -> None:
    """RFC 9309 section 5.2: the longest rule MUST be used."""
    robots = RobotsTxt.parse(
        b"User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    )
    verdict = robots.verdict("https://example.com/example/page/disallowed.gif", "foobot")
    assert not verdict.allowed
    assert verdict.line == 3
    assert robots.allowed("https://example.com/example/page/disallow.gif", "foobot")
