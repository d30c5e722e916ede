"""RFC 9309 section 2.5: the parsing limit."""

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.text import DEFAULT_MAX_SIZE
from tests.rows import rows


def test_the_limit_is_five_hundred_kibibytes() -> None:
    """RFC 9309 section 2.5: the parsing limit MUST be at least 500 kibibytes."""
    assert DEFAULT_MAX_SIZE == 500 * 1024


def test_rules_within_the_limit_are_followed_and_others_are_not() -> None:
    """RFC 9309 section 2.5: crawlers SHOULD impose a parsing limit."""
    head = b"User-agent: *\nDisallow: /within\n"
    tail = b"\nDisallow: /private\nDisallow: /beyond\n"
    padding = b"#" * (DEFAULT_MAX_SIZE - len(head) - len(b"\nDisallow: /p"))
    robots = RobotsTxt.parse(head + padding + tail)
    assert not robots.allowed("https://e.org/within", "a")
    assert robots.allowed("https://e.org/page", "a")
    assert robots.allowed("https://e.org/private", "a")
    assert robots.allowed("https://e.org/beyond", "a")


@rows("size", [30, 31, 32, 33, 34, 35, 36])
def test_a_line_that_ends_at_the_limit_is_whole(size: int) -> None:
    """RFC 9309 section 2.5: a partial line is dropped, a whole one is not."""
    body = b"User-agent: *\nDisallow: /abcdefg\nDisallow: /x\n"
    robots = RobotsTxt.parse(body, max_size=size)
    assert robots.allowed("https://e.org/abcdefg", "a") is (size < 32)
    assert robots.allowed("https://e.org/abc", "a")
