"""RFC 9309 section 2.1: rules and groups."""

from scrapy_rep import RobotsTxt


def test_a_group_is_terminated_by_a_user_agent_line() -> None:
    """RFC 9309 section 2.1: the group is terminated by a user-agent line or end of file."""
    robots = RobotsTxt.parse(b"User-agent: a\nDisallow: /a\nUser-agent: b\nDisallow: /b\n")
    assert not robots.allowed("https://e.org/a", "a")
    assert robots.allowed("https://e.org/b", "a")
    assert robots.allowed("https://e.org/a", "b")
    assert not robots.allowed("https://e.org/b", "b")


def test_one_or_more_user_agent_lines_share_the_rules_that_follow() -> None:
    """RFC 9309 section 2.1: a group is one or more user-agent lines, followed by rules."""
    robots = RobotsTxt.parse(b"User-agent: a\nUser-agent: b\nUser-agent: c\nDisallow: /x\n")
    assert not any(robots.allowed("https://e.org/x", agent) for agent in "abc")
    assert robots.allowed("https://e.org/x", "d")


def test_the_last_group_may_have_no_rules_and_allows_everything() -> None:
    """RFC 9309 section 2.1: the last group may have no rules: it implicitly allows everything."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /\nUser-agent: a")
    assert robots.allowed("https://e.org/x", "a")
    assert not robots.allowed("https://e.org/x", "b")


def test_a_group_without_rules_in_the_middle_shares_those_of_the_next() -> None:
    """RFC 9309 section 2.1: only a rule before it lets a user-agent line begin a new group."""
    robots = RobotsTxt.parse(b"User-agent: a\n\nUser-agent: b\nDisallow: /\n")
    assert not robots.allowed("https://e.org/x", "a")
    assert not robots.allowed("https://e.org/x", "b")
