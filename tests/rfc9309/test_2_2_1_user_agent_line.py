"""RFC 9309 section 2.2.1: the user-agent line."""

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.product_token import product_token
from tests.rows import rows

HEADER = "Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)"


def is_closed(value: str, crawler: str) -> bool:
    """The group of that value, which disallows everything, is obeyed by a crawler."""
    robots = RobotsTxt.parse(f"user-agent: {value}\ndisallow: /\n".encode("latin-1"))
    return not robots.allowed("https://e.org/", crawler)


def test_the_product_token_is_found_in_the_header_of_the_figure() -> None:
    """RFC 9309 section 2.2.1, figure 1: the token is a substring of the User-Agent header."""
    assert product_token(HEADER) == "ExampleBot"
    assert is_closed("ExampleBot", HEADER)
    assert not is_closed("ExampleBot", HEADER.replace("ExampleBot", "OtherBot"))


@rows("line", ["examplebot", "EXAMPLEBOT", "eXaMpLeBoT"])
@rows("crawler", ["ExampleBot", "examplebot", "EXAMPLEBOT"])
def test_crawlers_use_case_insensitive_matching(line: str, crawler: str) -> None:
    """RFC 9309 section 2.2.1: crawlers MUST use case-insensitive matching to find the group."""
    assert is_closed(line, crawler)


@rows(
    "line, crawler",
    [("bot", "mybot"), ("my", "mybot"), ("mybot", "my"), ("mybot", "bot"), ("foo", "foobot")],
)
def test_a_part_of_a_token_is_another_token(line: str, crawler: str) -> None:
    """RFC 9309 section 2.2.1, figure 2: groups that match the same product token exactly."""
    assert not is_closed(line, crawler)


@rows("rest", ["/1.0", " bar", ", other", "*", ";", " (x)", "\t/", ".x"])
def test_a_token_ends_before_the_first_character_that_no_token_holds(rest: str) -> None:
    """RFC 9309 section 2.2.1: the token MUST contain only letters, ``_`` and ``-``."""
    assert is_closed(f"mybot{rest}", "mybot")
    assert not is_closed(f"mybot{rest}", "other")


def test_digits_belong_to_the_tokens_of_real_files() -> None:
    """Departure from RFC 9309 section 2.2.1: files that name ``MJ12bot`` mean the whole name."""
    assert is_closed("MJ12bot", "MJ12bot")
    assert not is_closed("MJ12bot", "MJ")


def test_underscore_and_hyphen_belong_to_a_token() -> None:
    """RFC 9309 section 2.2.1: letters, underscores and hyphens."""
    assert is_closed("my_bot-news", "my_bot-news")
    assert not is_closed("my_bot-news", "my_bot")
    assert not is_closed("my_bot-news", "my")


FIGURE_2 = b"""\
user-agent: ExampleBot
disallow: /foo
disallow: /bar

user-agent: ExampleBot
disallow: /baz
"""


def test_groups_of_the_same_token_are_merged() -> None:
    """RFC 9309 section 2.2.1, figure 2: the matching groups' rules MUST be combined."""
    robots = RobotsTxt.parse(FIGURE_2)
    merged = RobotsTxt.parse(FIGURE_2.replace(b"\nuser-agent: ExampleBot\n", b""))
    for path, allowed in [("/foo", False), ("/bar", False), ("/baz", False), ("/qux", True)]:
        assert robots.allowed(f"https://e.org{path}", "ExampleBot") is allowed
        assert merged.allowed(f"https://e.org{path}", "ExampleBot") is allowed


def test_groups_merge_across_other_groups_and_lists_of_agents() -> None:
    """RFC 9309 section 2.2.1: if there is more than one group matching the user-agent."""
    robots = RobotsTxt.parse(
        b"user-agent: a\nuser-agent: b\ndisallow: /1\n"
        b"user-agent: c\ndisallow: /2\n"
        b"user-agent: B\ndisallow: /3\nallow: /1/b\n"
    )
    answers = [robots.allowed(f"https://e.org/{path}", "b") for path in ("1", "2", "3", "1/b")]
    assert answers == [False, True, False, True]
    assert not robots.allowed("https://e.org/1/b", "a")


FIGURE_3 = b"""\
user-agent: *
disallow: /foo
disallow: /bar

user-agent: BazBot
disallow: /baz
"""


@rows(
    "path, example, baz",
    [("/foo", False, True), ("/bar", False, True), ("/baz", True, False), ("/qux", True, True)],
)
def test_the_star_group_is_obeyed_if_no_other_matches(path: str, example: bool, baz: bool) -> None:
    """RFC 9309 section 2.2.1, figure 3: crawlers MUST obey the group with ``*``, if present."""
    robots = RobotsTxt.parse(FIGURE_3)
    assert robots.allowed(f"https://e.org{path}", "ExampleBot") is example
    assert robots.allowed(f"https://e.org{path}", "BazBot") is baz


def test_several_star_groups_are_one() -> None:
    """RFC 9309 section 2.2.1: groups of one value are combined, and ``*`` is a value."""
    robots = RobotsTxt.parse(b"user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b\n")
    assert not robots.allowed("https://e.org/a", "x")
    assert not robots.allowed("https://e.org/b", "x")


@rows("value", ["*", "* ", "*;", "*\\", "* foo", "*/1.0", "**", "*\xa0", "*.*"])
def test_a_star_with_anything_after_it_is_the_default_group(value: str) -> None:
    """RFC 9309 section 2.2.1: what follows a token does not change it."""
    assert is_closed(value, "x")


@rows("value", ["*MJ12bot*", "*scalepostAI", "*libwww*", "*-x", "*_x", "*9"])
def test_a_star_before_a_name_is_no_default_group(value: str) -> None:
    """RFC 9309 section 2.2: neither an identifier nor ``*``; such lines mean one crawler.

    Large news sites have groups like ``User-agent: *MJ12bot*`` with ``Disallow: /``. Taken for
    the default group, they would close the site to all.
    """
    assert not is_closed(value, "x")


@rows("body", [b"", b"\n\n", b"# nothing\n", b"user-agent: other\ndisallow: /\n"])
def test_without_a_matching_group_no_rules_apply(body: bytes) -> None:
    """RFC 9309 section 2.2.1: no group matches and there is no ``*``, or no groups at all."""
    robots = RobotsTxt.parse(body)
    assert robots.allowed("https://e.org/anything", "mybot")
    assert robots.verdict("https://e.org/anything", "mybot").reason == "no group"
