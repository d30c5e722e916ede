"""Verdicts, and what else a robots.txt is asked."""

import gc
import random

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.pace import LONGEST_DELAY, RequestRate
from scrapy_rep.robotstxt.printable import printable, printable_error, without_credentials
from scrapy_rep.robotstxt.profiles import PROFILES
from scrapy_rep.robotstxt.robotstxt import MOST_AGENTS, OCTETS_OF_A_LINE
from scrapy_rep.robotstxt.verdict import Rule, Verdict, as_plain
from tests.rows import rows

BODY = b"""\
Sitemap: https://e.org/a.xml
User-agent: MyBot
User-agent: other
Disallow: /private # not for you
Allow: /private/open
Crawl-delay: 5

User-agent: *
Disallow: /caf\xc3\xa9
Disallow: /\xff*
Host: e.org
"""


def test_a_verdict_names_the_rule_its_line_and_the_group() -> None:
    """RFC 9309 section 2.2.2: the most specific match is what decides."""
    verdict = RobotsTxt.parse(BODY).verdict("https://e.org/private/x", "mybot")
    assert verdict == Verdict(False, Rule(False, "/private", 4), 4, "mybot", "rule")
    assert str(verdict.rule) == "Disallow: /private"
    assert verdict.overruled is None


def test_a_verdict_names_the_rule_that_lost() -> None:
    """RFC 9309 section 2.2.2: the allow rule has more octets."""
    verdict = RobotsTxt.parse(BODY).verdict("https://e.org/private/open", "MyBot/2.0")
    assert verdict.allowed
    assert verdict.rule == Rule(True, "/private/open", 5)
    assert verdict.overruled == Rule(False, "/private", 4)


def test_the_first_agent_that_has_a_group_wins() -> None:
    """RFC 9309 section 2.2.1, for crawlers with several names in falling preference."""
    robots = RobotsTxt.parse(BODY)
    for agents in (["mybot-news", "mybot"], ("mybot-news", "mybot"), ["mybot", "other"]):
        assert robots.verdict("https://e.org/private", agents).group == "mybot"
        assert not robots.allowed("https://e.org/private", agents)
    assert robots.verdict("https://e.org/private", ["x", "y"]).group == "*"
    assert robots.allowed("https://e.org/private", [])


def test_more_agents_than_are_kept_are_answered_too() -> None:
    """RFC 9309 section 2.5: what is kept is bounded, what is answered is not."""
    robots = RobotsTxt.parse(BODY)
    for number in range(300):
        assert robots.allowed("https://e.org/private", f"bot{number}")
        assert not robots.allowed("https://e.org/private", "mybot")
        assert not robots.verdict("https://e.org/private", "other").allowed
        robots.crawl_delay(f"bot{number}")
    assert robots.size < 200_000


def test_other_records_belong_to_group_or_file() -> None:
    """RFC 9309 section 2.2.4: other records."""
    robots = RobotsTxt.parse(BODY)
    assert robots.crawl_delay("mybot") == 5
    assert robots.crawl_delay("other") == 5
    assert robots.crawl_delay("third") is None
    assert robots.sitemaps == ("https://e.org/a.xml",)
    assert robots.host == "e.org"
    assert RobotsTxt.parse(b"").sitemaps == ()
    assert RobotsTxt.parse(b"").host is None


def test_a_delay_is_of_the_user_agent_lines_right_above_it() -> None:
    """RFC 9309 section 2.2.4: it ends no group for rules, but it is for one crawler alone.

    One in three of the sites that write Crawl-delay has it for one crawler right above the group
    of another.
    """
    robots = RobotsTxt.parse(b"User-agent: a\nCrawl-delay: 7\nUser-agent: b\nDisallow: /x\n")
    assert robots.crawl_delay("a") == 7
    assert robots.crawl_delay("b") is None
    assert not robots.allowed("https://e.org/x", "a")


ODD_DELAYS = [
    *("nan", "NaN", "inf", "-inf", "infinity", "Infinity", "-1", "-0.5", "-1e400", "1,5,0", "s"),
    *("", "0x10", "1_000", "٣", "1 2", "one", "+5", "1e", "--1", ".", "1.2.3", "½", "1e+", "\x00"),
    *("1,000,000", "1.000,5", "1,000.5", "1,", ",5", "5m", "5 min", "1 h", "10sx", "10 s s"),
    "10-20",
    *[f"{number}{unit}" for number in range(60) for unit in ("ms", " minutes", "m", ",", "%")],
    *[f"{sign}{number}" for sign in ("-", "+", "~", "<") for number in range(30)],
]


@rows("value", ODD_DELAYS)
def test_odd_delays_are_passed_by(value: str) -> None:
    """RFC 9309 section 2.2.4: parsing of other records must do no harm."""
    robots = RobotsTxt.parse(f"User-agent: *\nCrawl-delay: {value}\nDisallow: /x\n".encode())
    assert robots.crawl_delay("a") is None
    assert not robots.allowed("https://e.org/x", "a")


@rows(
    "seconds, values",
    (0.0, ["0", "1e-400"]),
    (0.5, ["0.5", ".5"]),
    (2.0, ["2."]),
    (7.0, ["0" * 400 + "7", "7." + "0" * 400]),
    (10.0, ["10", "1e1", "10s", "10 s", "10S", "10 sec", "10secs", "10\tsecond", "10 Seconds"]),
    (1.5, ["1,5", "1.5s", "1,5 sec", "1,50"]),
    (1.0, ["1,000", "1,0", "1 second # at least"]),
    (LONGEST_DELAY, ["31536000", "31536001", "1e99", "1e400", "1e" + "9" * 400, "9" * 400_000]),
)
def test_a_delay_is_a_number_of_seconds(seconds: float, values: list[str]) -> None:
    """RFC 9309 section 2.2.4: other records MAY be interpreted; a year is the longest delay."""
    for value in values:
        robots = RobotsTxt.parse(f"User-agent: a\nCrawl-delay: {value}\nDisallow:\n")
        assert robots.crawl_delay("a") == seconds, value[:99]


@rows(
    "lines, void",
    (["Crawl-delay: 5m"], "crawl-delay: 5m"),
    (["Crawl-delay: 5", "CRAWL DELAY: 1,000,000"], "crawl delay: 1,000,000"),
    (["Request-rate: often", "Crawl-delay: soon"], "request-rate: often"),
    (["Crawl-delay: " + "x" * 400_000], "crawl-delay: " + "x" * 80),
    (["Crawl-delay: 10s", "Request-rate: 1/5", "Visit-time: 0600-0845"], None),
)
def test_the_first_line_that_says_no_pace_is_known(lines: list[str], void: str | None) -> None:
    """RFC 9309 section 2.2.4: an operator can see what a site meant, and it takes no memory."""
    robots = RobotsTxt.parse("\n".join(["User-agent: *", *lines, "Disallow: /x"]))
    assert robots.pace("a").void == void
    assert not robots.allowed("https://e.org/x", "a")


@rows(
    "expected, values",
    (RequestRate(1, 5.0), ["1/5", "1/5 0600-0845", "1/5 9999-9999"]),
    (RequestRate(3, 60.0), ["3/60s"]),
    (RequestRate(1, 600.0), ["1/10m"]),
    (RequestRate(1, 3600.0), ["1 / 1h"]),
    (None, ["1/0", "0/5", "-1/5", "1/", "1/5x", "nan/1", "9" * 400 + "/1", "1/" + "0" * 400]),
    (RequestRate(1, LONGEST_DELAY), ["1/999d", "1/" + "9" * 400]),
    (RequestRate(1000, 86_313_600.0), ["1000/999d"]),
)
def test_request_rates_are_requests_in_seconds(
    expected: RequestRate | None, values: list[str]
) -> None:
    """RFC 9309 section 2.2.4: other records MAY be interpreted."""
    for value in values:
        robots = RobotsTxt.parse(f"User-agent: *\nRequest-rate: {value}\nDisallow:\n".encode())
        assert robots.request_rate("a") == expected, value


@rows(
    "lines, seconds",
    ("crawl delay: 2", 2.0),
    ("Crawl-delay: 2\nCrawl-delay: 3\nCrawl-delay: 1", 3.0),
    ("Crawl-delay: 5\nCrawl-delay: nan\nCrawl-delay: -9\nCrawl-delay: inf", 5.0),
    ("Crawl-delay: 1\nDisallow:\nUser-agent: mybot\nCrawl-delay: 7", 7.0),
    ("Request-rate: 1/5\nRequest-rate: 1/1m\nRequest-rate: 10/1m\n", 60.0),
    ("Request-rate: 2/1", 0.5),
    ("Request-rate: 30/1m", 2.0),
    ("Request-rate: 1/5\nCrawl-delay: 4", 5.0),
    ("Request-rate: 1/5\nCrawl-delay: 6", 6.0),
    ("Request-rate: 1/5 0000-0100\nRequest-rate: 1/2", 5.0),
    ("Request-rate: 1/5 0200-0300\nVisit-time: 0400-0500", 5.0),
    ("Crawl-delay: -1\nRequest-rate: 0/5\nRequest-rate: 5/0", 0.0),
)
def test_the_politest_pace_counts(lines: str, seconds: float) -> None:
    """RFC 9309 section 2.2.4: of all records, at any time of the day, the longest interval."""
    body = f"User-agent: mybot\n{lines}\nDisallow:\n\nUser-agent: *\nCrawl-delay: 99\n"
    assert RobotsTxt.parse(body).pace("mybot").interval == seconds


@rows("key", ["Crawl-delay", "Request-rate"])
def test_no_pace_is_out_of_range(key: str) -> None:
    """RFC 9309 section 3: no value raises, and none is negative, endless or no number."""
    chance = random.Random(1)
    for _ in range(500):
        value = "".join(chance.choices("0123456789.,eE+-/smhd nif\t%", k=chance.randint(1, 12)))
        robots = RobotsTxt.parse(f"User-agent: *\n{key}: {value}\nDisallow: /private\n")
        assert 0 <= robots.pace("mybot").interval <= LONGEST_DELAY, value
        assert not robots.allowed("https://e.org/private", "mybot"), value


def test_of_equal_rules_the_first_in_the_file_is_named() -> None:
    """RFC 9309 section 2.2.2: they decide alike; which is named depends on nothing but the file."""
    ties = "Disallow: /*ab\nDisallow: /*cd\nDisallow: /*ef\n"
    others = "".join(f"Disallow: /*x{number:04}\n" for number in range(80))
    robots = RobotsTxt.parse(f"User-agent: *\n{ties}{others}".encode())
    for _ in range(50):
        verdict = robots.verdict("https://e.org/efcdab", "mybot")
        assert (verdict.line, verdict.rule and verdict.rule.pattern) == (2, "/*ab")


def test_agents_may_be_anything() -> None:
    """Nothing that names no crawler leaves the default group; what cannot be read is refused."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /\n\nUser-agent: mybot\nAllow: /\n")
    assert robots.allowed("https://e.org/", b"mybot")  # type: ignore[arg-type]
    assert not robots.allowed("https://e.org/", [None])  # type: ignore[list-item]
    for wrong in (None, 3, ([],), [[]]):
        with pytest.raises(TypeError):
            robots.allowed("https://e.org/", wrong)  # type: ignore[arg-type]


def test_the_lines_that_a_verdict_needs_take_memory() -> None:
    """RFC 9309 section 3: what is kept of a file counts, and is kept once."""
    robots = RobotsTxt.parse("User-agent: *\nDisallow: /a\nAllow: /a/b\n")
    assert not robots.allowed("/a", "x")
    before = robots.size
    for _ in range(2):
        assert robots.verdict("/a", "x").line == 2
    assert before + 2 * OCTETS_OF_A_LINE <= robots.size < before + 5 * OCTETS_OF_A_LINE


def test_a_negative_limit_is_refused() -> None:
    """RFC 9309 section 2.5: a limit that cuts octets off the end would be an accident."""
    with pytest.raises(ValueError, match="max_size is -1"):
        RobotsTxt.parse(b"User-agent: *\nDisallow: /\n", max_size=-1)
    assert RobotsTxt.parse(b"User-agent: *\nDisallow: /\n", max_size=0).allowed("/", "x")


def test_a_dropped_file_is_freed_at_once() -> None:
    """RFC 9309 section 3: nothing waits for a search for cycles, however the file was asked."""
    body = b"User-agent: *\nDisallow: /a\nDisallow: /*b\nAllow: /c\nCrawl-delay: 3\nSitemap: x\n"
    body += b"".join(b"Disallow: /%d\n" % number for number in range(60))

    def use(profile: str) -> None:
        robots = RobotsTxt.parse(body, profile=profile)
        for path in ("/x", "/a", "/c/b", "/%41?b", "/7") * 10:
            robots.allowed(f"https://e.org{path}", "mybot")
            robots.verdict(f"https://e.org{path}", ["other", "mybot"])
        robots.crawl_delay("mybot")
        assert robots.sitemaps

    for profile in PROFILES:
        use(profile)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for profile in [*PROFILES] * 5:
            use(profile)
        gc.collect()
        # What else runs in this process may leave something, too. A function has a module of its
        # own, an object its class's.
        modules = [str(getattr(one, "__module__", "")) for one in gc.garbage]
        assert [name for name in modules if name.startswith("scrapy_rep")] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@rows(
    "url, agent, said",
    ("/private/x", "mybot", "disallowed: Disallow: /private, line 4, group mybot"),
    ("/private/open", "other", "allowed: Allow: /private/open, line 5, group other"),
    ("/x", "mybot", "allowed: no rule matches, group mybot"),
    ("/x", "third", "allowed: no rule matches, group *"),
    ("/café", "x", "disallowed: Disallow: /café, line 9, group *"),
    ("/%FF", "x", r"disallowed: Disallow: /\xff*, line 10, group *"),
    ("/robots.txt", "x", "allowed: robots.txt itself, group *"),
)
def test_a_verdict_is_one_readable_line(url: str, agent: str, said: str) -> None:
    """Its answer, and the rule, line and group, or the reason."""
    verdict = RobotsTxt.parse(BODY).verdict(f"https://e.org{url}", agent)
    assert (str(verdict), repr(verdict)) == (said, f"<Verdict {said}>")


def test_a_verdict_shows_a_last_good_copy_and_an_override() -> None:
    """What decided comes first; the other answer follows."""
    rule = Rule(False, "/x", 2)
    stale = Verdict(False, rule, 2, "*", "rule (last good copy)")
    assert str(stale) == "disallowed: Disallow: /x, line 2, group * (last good copy)"
    allowed = Verdict(True, override="allow, entry 1", without=stale)
    assert str(allowed) == (
        "allowed: allow, entry 1; without it: forbidden, Disallow: /x, line 2, group * "
        "(last good copy)"
    )
    assert str(Verdict(False, reason="unreachable")) == "disallowed: unreachable"


@rows(
    "body, said",
    (b"", "0 bytes, rfc9309: "),
    (b"User-agent: *\r\nDisallow: /\n", r"27 bytes, rfc9309: User-agent: *\r\nDisallow: /\n"),
    ("\N{BYTE ORDER MARK}Disallow: /café".encode(), r"19 bytes, rfc9309: \ufeffDisallow: /café"),
    (b"\x1b[31m\xff\x00", r"7 bytes, rfc9309: \x1b[31m\xff\x00"),
    (b"#" * 400_000, f"400,000 bytes, rfc9309: {'#' * 200}..."),
)
def test_a_file_is_one_readable_line(body: bytes, said: str) -> None:
    """Its size, its profile and its beginning, whatever octets it has."""
    robots = RobotsTxt.parse(body)
    assert str(robots) == repr(robots) == f"<RobotsTxt {said}>"
    other = RobotsTxt.parse(body, profile="1996")
    assert repr(other) == f"<RobotsTxt {said.replace('rfc9309', '1996')}>"


@rows(
    "url, shown",
    ("http://e.org/a@b", "http://e.org/a@b"),
    ("http://me:secret@e.org/a@b?c@d", "http://e.org/a@b?c@d"),
    ("http://me:secret@e.org?a@b", "http://e.org?a@b"),
    ("http://me@e.org#a@b", "http://e.org#a@b"),
    ("http://me:a@b@e.org", "http://e.org"),
    ("http://e.org/\n\x1b[2J", r"http://e.org/\n\x1b[2J"),
    ("http://e.org/" + "a" * 200, "http://e.org/" + "a" * 187 + "..."),
    ("me@e.org", "me@e.org"),
    (b"\xff", r"\xff"),
    ("\U0001f916".encode() * 200, "\U0001f916" * 200),
    ("\U0001f916".encode() * 201, "\U0001f916" * 200 + "..."),
    (None, ""),
)
def test_what_others_wrote_is_shown_in_one_line_without_a_login(
    url: str | bytes | None, shown: str
) -> None:
    """RFC 3986 section 7.5: user information may be a password."""
    assert (without_credentials(url) if isinstance(url, str) else printable(url)) == shown


def test_no_octets_break_the_line_of_a_file_or_a_verdict() -> None:
    """Random octets, and each line end and control character as a pattern."""
    chance = random.Random(9309)
    bodies = [chance.randbytes(chance.randrange(2_000)) for _ in range(300)]
    awkward = ["\x85", "\u2028", "\x0b", "\x1b[2J", "\u202e", "\x7f", "\0"]
    bodies += [f"User-agent: *\nDisallow: /{c}x\n".encode() for c in awkward]
    for body in bodies:
        robots = RobotsTxt.parse(body)
        verdict = robots.verdict("https://e.org/" + "".join(awkward[:1]) + "x", "mybot")
        for said in (repr(robots), str(robots), repr(verdict), str(verdict)):
            assert said.isprintable()
            assert len(said) < 1_000
    for c in awkward:
        verdict = Verdict(False, Rule(False, f"/{c}", 1), 1, f"a{c}", f"b{c}")
        assert str(verdict).isprintable()
        assert repr(verdict.rule).isprintable()


def test_questions_under_many_spellings_of_an_agent_are_answered_as_those_under_one() -> None:
    """RFC 9309 section 3: what is kept for each of them is dropped in time."""
    robots = RobotsTxt.parse(BODY)
    for number in range(200):
        assert not robots.allowed("https://e.org/private", f"MyBot/{number}")
    assert len(robots._allows) <= 4 * MOST_AGENTS


def test_json_has_the_rule_of_a_verdict_as_its_line() -> None:
    """RFC 9309 section 2.2.2."""
    said = as_plain(RobotsTxt.parse(BODY).verdict("https://e.org/private/x", "mybot"))
    assert (said["allowed"], said["rule"], said["line"]) == (False, "Disallow: /private", 4)


class SilentError(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise ValueError


def test_what_is_said_of_an_error_is_harmless() -> None:
    """No login, no control characters; and it never fails."""
    said = printable_error(OSError("no way to http://user:word@e.org\x1b[31m"))
    assert said.startswith("OSError: no way to http://")
    assert "word" not in said
    assert "\x1b" not in said
    assert printable_error(SilentError()) == "SilentError: without a text"
