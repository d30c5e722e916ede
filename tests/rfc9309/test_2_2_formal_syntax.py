"""RFC 9309 section 2.2: the ABNF, production by production."""

from scrapy_rep import RobotsTxt
from tests.rows import rows

CLOSED = "https://e.org/closed"
OPEN = "https://e.org/open"


def obeys(body: bytes) -> bool:
    """A body closes ``/closed`` and nothing else."""
    robots = RobotsTxt.parse(body)
    return not robots.allowed(CLOSED, "a") and robots.allowed(OPEN, "a")


@rows("end", [b"\r", b"\n", b"\r\n"])
def test_each_of_three_line_ends_ends_a_line(end: bytes) -> None:
    """RFC 9309 section 2.2: ``NL = %x0D / %x0A / %x0D.0A``."""
    assert obeys(end.join([b"User-agent: a", b"Disallow: /closed", b"Disallow: /other", b""]))


def test_line_ends_may_be_mixed() -> None:
    """RFC 9309 section 2.2: ``NL`` may be another one on each line."""
    assert obeys(b"User-agent: b\rUser-agent: a\r\nDisallow: /x\n\rDisallow: /closed\r\r\n")


@rows("other", [b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\x85", b"\xc2\x85", b"\xe2\x80\xa8"])
def test_nothing_else_ends_a_line(other: bytes) -> None:
    """RFC 9309 section 2.2: ``NL`` has no other form, whatever Python takes for a line end."""
    robots = RobotsTxt.parse(b"User-agent: a\nDisallow: /x" + other + b"Disallow: /closed\n")
    assert robots.allowed("https://e.org/x", "a")
    assert robots.allowed(CLOSED, "a")
    robots = RobotsTxt.parse(b"User-agent: a" + other + b"Disallow: /closed\n")
    assert robots.allowed(CLOSED, "a")


def test_a_comment_line_ends_no_user_agent_line_early() -> None:
    """RFC 9309 section 2.2: ``emptyline = EOL``, and a comment is part of an EOL."""
    assert obeys(b"User-agent: a\n# comment\n\nUser-agent: b\n \t# more\nDisallow: /closed\n")


@rows("blank", [b"\n", b"\n\n\n", b" \t\n", b"# x\n", b"\t # x # y\n"])
def test_empty_lines_may_stand_anywhere(blank: bytes) -> None:
    """RFC 9309 section 2.2: ``emptyline`` stands in robotstxt and anywhere in a group."""
    lines = [b"User-agent: a\n", b"User-agent: b\n", b"Disallow: /x\n", b"Disallow: /closed\n"]
    assert obeys(blank + blank.join(lines) + blank)


@rows("space", [b"", b" ", b"\t", b" \t  "])
def test_space_and_tab_may_stand_around_key_colon_and_value(space: bytes) -> None:
    """RFC 9309 section 2.2: ``*WS`` before the key, around the colon and before the line end."""
    lines = b"@User-agent@:@a@\n@Disallow@:@/closed@\n"
    assert obeys(lines.replace(b"@", space))


@rows(
    "other",
    [b"\x0b", b"\x0c", b"\x1f", b"\xa0", b"\xc2\xa0", b"\x00", b"\xe2\x80\x82", b"\xe2\x80\x8b"],
)
def test_nothing_else_is_white_space(other: bytes) -> None:
    """RFC 9309 section 2.2: ``WS = %x20 / %x09``."""
    for line in (b"Disallow: /closed@", b"Disallow:@/closed", b"@Disallow: /closed"):
        robots = RobotsTxt.parse(b"User-agent: a\n" + line.replace(b"@", other) + b"\n")
        assert robots.allowed(CLOSED, "a"), line


@rows("agent", [b"user-agent", b"USER-AGENT", b"uSeR-aGeNt"])
@rows("disallow", [b"disallow", b"DISALLOW", b"dIsAlLoW"])
def test_keys_are_case_insensitive(agent: bytes, disallow: bytes) -> None:
    """RFC 5234 section 2.3: the literals of an ABNF are case-insensitive."""
    assert obeys(agent + b": a\n" + disallow + b": /closed\n")


def test_allow_is_a_rule_and_case_insensitive() -> None:
    """RFC 9309 section 2.2: ``rule = *WS ("allow" / "disallow") ...``."""
    for allow in (b"allow", b"ALLOW", b"Allow", b" \taLLow \t"):
        assert obeys(b"User-agent: a\nDisallow: /\nDisallow: /closed\n" + allow + b":/open")


def test_the_key_is_read_whole() -> None:
    """RFC 9309 section 2.2: another key is another line."""
    robots = RobotsTxt.parse(b"User-agent: a\nDisallowed: /closed\nXDisallow: /closed\nDis: /\n")
    assert robots.allowed(CLOSED, "a")


def test_an_empty_pattern_matches_nothing() -> None:
    """RFC 9309 section 2.2: ``empty-pattern = *WS``; it has no octets to match."""
    robots = RobotsTxt.parse(b"User-agent: a\nDisallow: /closed\nAllow:\nDisallow: \t\nAllow: # x")
    assert not robots.allowed(CLOSED, "a")
    assert robots.allowed(OPEN, "a")
    assert robots.verdict(OPEN, "a").rule is None


def test_a_comment_may_follow_any_line() -> None:
    """RFC 9309 section 2.2: ``EOL = *WS [comment] NL``, and a comment may hold more ``#``."""
    assert obeys(b"User-agent: a # the ## crawler\nDisallow: /closed#not /open\n")


def test_the_last_line_needs_no_end() -> None:
    """RFC 9309 section 2.1: the group is terminated by a user-agent line or end of file."""
    assert obeys(b"User-agent: a\nDisallow: /closed")


def test_octets_outside_ascii_are_part_of_a_pattern() -> None:
    """RFC 9309 section 2.2: ``UTF8-char-noctl`` in path-pattern."""
    robots = RobotsTxt.parse("User-agent: a\nDisallow: /ツ/日本\n".encode())
    assert not robots.allowed("https://e.org/ツ/日本語", "a")
    assert robots.allowed("https://e.org/ツ/日", "a")


def test_invalid_octets_cost_their_own_line_only() -> None:
    """RFC 9309 section 2.2: lines that are not of the grammar do not spoil those that are."""
    assert obeys(
        b"\xff\x00\nUser-agent: a\n\xc0\xc1: \xfe\nDisallow: /\xed\xa0\x80\nDisallow: /closed"
    )


def test_a_utf8_byte_order_mark_is_no_part_of_the_first_line() -> None:
    """RFC 9309 section 2.3: the file is UTF-8, which may begin with a mark (RFC 3629)."""
    assert obeys(b"\xef\xbb\xbfUser-agent: a\nDisallow: /closed\n")


@rows("coding", ["utf-16-le", "utf-16-be"])
def test_utf16_with_a_byte_order_mark_is_read(coding: str) -> None:
    """RFC 9309 section 2.2.2: implementors MAY bridge encoding mismatches."""
    assert obeys("\ufeffUser-agent: a\r\nDisallow: /closed\r\n".encode(coding))
