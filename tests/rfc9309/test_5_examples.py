"""RFC 9309 section 5: the examples."""

from scrapy_rep.robotstxt.robotstxt import RobotsTxt
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
    "agent, path, allowed",
    [
        ("anybot", "/publications/a.html", True),
        ("anybot", "/example/", False),
        ("anybot", "/example/page.html", False),
        ("anybot", "/a/b.gif", False),
        ("anybot", "/a/b.gifs", True),
        ("anybot", "/other", True),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/page.html?x", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/example/", False),
        ("foobot", "/", False),
        ("foobot", "/publications/", False),
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/page.html", False),
        ("barbot", "/example/", True),
        ("bazbot", "/a/b.gif", True),
        ("quxbot", "/example/page.html", True),
        ("quxbot", "/a/b.gif", True),
    ],
)
def test_simple_example(agent: str, path: str, allowed: bool) -> None:
    """RFC 9309 section 5.1, as its text explains it."""
    assert RobotsTxt.parse(SIMPLE).allowed(f"https://example.com{path}", agent) is allowed


def test_longest_match_example() -> None:
    """RFC 9309 section 5.2: the longest rule MUST be used."""
    robots = RobotsTxt.parse(
        b"User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    )
    verdict = robots.verdict("https://example.com/example/page/disallowed.gif", "foobot")
    assert not verdict.allowed
    assert verdict.line == 3
    assert robots.allowed("https://example.com/example/page/disallow.gif", "foobot")
