"""The documents of 1994 to 2022 and their own examples, row by row."""

import dataclasses
from itertools import product

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.profiles import PROFILES, named
from tests.rows import rows

EXAMPLE_1994_1 = b"""\
# robots.txt for http://www.example.com/

User-agent: *
Disallow: /cyberworld/map/ # This is an infinite virtual URL space
Disallow: /tmp/ # these will soon disappear
Disallow: /foo.html
"""

EXAMPLE_1994_2 = b"""\
# robots.txt for http://www.example.com/

User-agent: *
Disallow: /cyberworld/map/ # This is an infinite virtual URL space

# Cybermapper knows where to go.
User-agent: cybermapper
Disallow:
"""

EXAMPLE_1994_3 = b"""\
# go away
User-agent: *
Disallow: /
"""

DOCUMENTS = ["1994", "1996", "kollar", "rfc9309", "google"]


def allowed(body: bytes, path: str, agent: str, profile: str) -> bool:
    """A body in a profile allows a path of ``www.example.com``."""
    robots = RobotsTxt.parse(body, profile=profile)
    url = f"http://www.example.com{path}"
    answer = robots.allowed(url, agent)
    assert robots.verdict(url, agent).allowed is answer
    return answer


@rows("profile", DOCUMENTS)
@rows(
    "body, agent, free, closed",
    (
        EXAMPLE_1994_1,
        "anybot",
        ["/", "/cyberworld/map", "/foo.htm"],
        ["/cyberworld/map/index.html", "/tmp/xxx", "/foo.html"],
    ),
    (EXAMPLE_1994_2, "anybot", ["/x"], ["/cyberworld/map/x"]),
    (EXAMPLE_1994_2, "CyberMapper", ["/cyberworld/map/x"], []),
    (EXAMPLE_1994_3, "anybot", [], ["/"]),
    (b"", "anybot", ["/"], []),
)
def test_examples_of_1994(
    profile: str, body: bytes, agent: str, free: list[str], closed: list[str]
) -> None:
    """1994, Examples, and an empty file, which is as if it was not present; in all documents."""
    for path in [*free, *closed]:
        assert allowed(body, path, agent, profile) is (path in free), path


@rows(
    "pattern, free, closed",
    ("/help", [], ["/help.html", "/help/index.html"]),
    ("/help/", ["/help.html"], ["/help/index.html"]),
    ("/a*c", ["/abc"], ["/a*c"]),
    ("/abc$", ["/abc"], []),
    ("/cgi?q", [], ["/cgi?q=1"]),
)
def test_1994_matches_the_begin_of_a_url(pattern: str, free: list[str], closed: list[str]) -> None:
    """1994, Disallow: any URL that starts with this value; not a regular expression."""
    body = f"User-agent: *\nDisallow: {pattern}\n".encode()
    for path in [*free, *closed]:
        assert allowed(body, path, "anybot", "1994") is (path in free), path


LINES = ["", "no colon", ": no key", "two words: a", "# comment: a", "é: a"]
EXTENSIONS = ["Crawl-delay: 5", "Sitemap: https://e.org/s.xml", "Host: e.org", "Xy.z_1: a b", "a:"]


@rows(
    "profile, lines, is_a_rule",
    ("1996", EXTENSIONS, True),
    ("1996", LINES, False),
    ("1994", [*EXTENSIONS, *LINES], False),
    ("kollar", [*EXTENSIONS, *LINES], False),
)
def test_a_record_needs_a_rule(profile: str, lines: list[str], is_a_rule: bool) -> None:
    """1994, Disallow: at least one Disallow field needs to be present in a record.

    1996 section 3.3: ``ruleline = disallowline | allowline | extension``, where ``extension = token
    : *space value``. What is a rule also ends the list of user-agent lines before it.
    """
    for line in lines:
        alone = f"User-agent: mybot\n{line}\n\nUser-agent: *\nDisallow: /\n"
        verdict = RobotsTxt.parse(alone, profile=profile).verdict("https://e.org/a", "mybot")
        assert (verdict.allowed, verdict.group) == (is_a_rule, "mybot" if is_a_rule else "*"), line
        body = f"User-agent: mybot\n{line}\nUser-agent: other\nDisallow: /\n".encode()
        assert not allowed(body, "/a", "other", profile)
        assert allowed(body, "/a", "mybot", profile) is (is_a_rule or not line)


TABLE_1996 = [
    ("/tmp", ["/tmp", "/tmp.html", "/tmp/a.html"], []),
    ("/tmp/", ["/tmp/", "/tmp/a.html"], ["/tmp"]),
    ("/a%3cd.html", ["/a%3cd.html", "/a%3Cd.html"], []),
    ("/a%3Cd.html", ["/a%3cd.html", "/a%3Cd.html"], []),
    ("/a%2fb.html", ["/a%2fb.html"], ["/a/b.html"]),
    ("/a/b.html", ["/a/b.html"], ["/a%2fb.html"]),
    ("/%7ejoe/index.html", ["/~joe/index.html"], []),
    ("/~joe/index.html", ["/%7Ejoe/index.html"], []),
]


@rows("profile", ["1996", "1994", "kollar", "rfc9309"])
@rows("record, matching, others", TABLE_1996)
def test_table_of_1996(profile: str, record: str, matching: list[str], others: list[str]) -> None:
    """1996 section 3.2.2: which record paths match which URL paths."""
    body = f"User-agent: *\nDisallow: {record}\n".encode()
    for path in [*matching, *others]:
        assert allowed(body, path, "anybot", profile) is (path in others), path


@rows("octet", "?&=+,;!'()%#*$")
def test_1996_decodes_all_but_the_slash(octet: str) -> None:
    """1996 section 3.2.2: it is unencoded prior to comparison, unless it is the "/" character."""
    encoded = f"%{ord(octet):02x}"
    if octet not in "?#":
        body = f"User-agent: *\nDisallow: /x{encoded}y\n".encode()
        assert not allowed(body, f"/x{octet}y", "anybot", "1996")
        body = f"User-agent: *\nDisallow: /x{octet}y\n".encode()
        assert not allowed(body, f"/x{encoded}y", "anybot", "1996")


FICT = b"""\
# /robots.txt for http://www.fict.org/
# comments to webmaster@fict.org

User-agent: unhipbot
Disallow: /

User-agent: webcrawler
User-agent: excite
Disallow:

User-agent: *
Disallow: /org/plans.html
Allow: /org/
Allow: /serv
Allow: /~mak
Disallow: /
"""

MATRIX_1996 = [
    ("/", "No", "Yes", "No"),
    ("/index.html", "No", "Yes", "No"),
    ("/robots.txt", "Yes", "Yes", "Yes"),
    ("/server.html", "No", "Yes", "Yes"),
    ("/services/fast.html", "No", "Yes", "Yes"),
    ("/services/slow.html", "No", "Yes", "Yes"),
    ("/orgo.gif", "No", "Yes", "No"),
    ("/org/about.html", "No", "Yes", "Yes"),
    ("/org/plans.html", "No", "Yes", "No"),
    ("/%7Ejim/jim.html", "No", "Yes", "No"),
    ("/%7Emak/mak.html", "No", "Yes", "Yes"),
]


@rows("profile", ["1996", "rfc9309"])
@rows("path, unhip, web, other", MATRIX_1996)
def test_matrix_of_1996(profile: str, path: str, unhip: str, web: str, other: str) -> None:
    """1996 section 4: three robots and eleven URLs."""
    answers = [
        allowed(FICT, path, agent, profile)
        for agent in ("UnhipBot/0.1", "WebCrawler/3.0", "Excite/1.0", "otherbot")
    ]
    assert answers == [word == "Yes" for word in (unhip, web, web, other)]


def test_1996_obeys_the_first_record_whose_line_contains_the_name() -> None:
    """1996 section 3.2.1: whose value contains the name token of the robot as a substring."""
    body = b"User-agent: x figtree y\nDisallow: /1\n\nUser-agent: figtree\nDisallow: /2\n"
    header = "FigTree/0.1 Robot libwww-perl/5.04"
    assert not allowed(body, "/1", header, "1996")
    assert allowed(body, "/2", header, "1996")
    assert allowed(body, "/1", "tree2", "1996")
    assert not allowed(body, "/1", "tree", "1996")
    assert allowed(body, "/1", header, "rfc9309")
    assert not allowed(body, "/2", header, "rfc9309")


KOLLAR_1 = b"""\
User-Agent: *
Disallow: /

User-Agent: Lycos
Disallow: /cgi-bin/ /tmp/
"""
KOLLAR_2 = b"""\
User-Agent: Copernicus Fred
Disallow:

User-Agent: * Rex
Disallow: /t
"""
KOLLAR_3 = b"""\
# This is for every spider!
User-Agent: *
# stay away from this
Disallow: /spiders/not/here/ #and everything in it
Disallow: # a little nothing
Disallow: #This could be habit forming!

# Don't comments make code much more readable!!!
"""


@rows(
    "body, agent, free, closed",
    (KOLLAR_1, "anybot", [], ["/"]),
    (KOLLAR_1, "Lycos", ["/"], ["/cgi-bin/x"]),
    (KOLLAR_1, "Lycos_Spider_(Rex)/1.0 libwww/3.1", ["/x"], ["/tmp/x"]),
    (KOLLAR_2, "Copernicus", ["/tmp/"], []),
    (KOLLAR_2, "Fred", ["/tmp/"], []),
    (KOLLAR_2, "anybot", ["/x"], ["/tmp/"]),
    (KOLLAR_2, "Rex", [], ["/tea-time/"]),
    (KOLLAR_2, "Lycos_Spider_(Rex)/1.0", [], ["/top-cat.txt"]),
    (
        KOLLAR_3,
        "anybot",
        ["/spiders/not/her"],
        ["/spiders/not/here/", "/spiders/not/here/yes/even/me.html"],
    ),
)
def test_examples_of_kollar(body: bytes, agent: str, free: list[str], closed: list[str]) -> None:
    """Kollar: several paths or names on a line, ``*`` beside a name, and empty Disallow lines."""
    for path in [*free, *closed]:
        assert allowed(body, path, agent, "kollar") is (path in free), path


def test_kollar_splits_only_what_is_a_list() -> None:
    """Kollar: several paths on a line, if each begins with ``/``; several names, if each is one."""
    body = b"User-agent: My Bot; yours\nDisallow: /a b /c\nDisallow: /d\t/e\n"
    robots = RobotsTxt.parse(body, profile="kollar")
    assert robots.verdict("http://e.org/d", "my bot; yours").group is None
    body = body.replace(b"My Bot; yours", b"*")
    assert allowed(body, "/c", "x", "kollar")
    assert allowed(body, "/a", "x", "kollar")
    assert not allowed(body, "/a%20b%20/c", "x", "kollar")
    assert not allowed(body, "/d", "x", "kollar")
    assert not allowed(body, "/e", "x", "kollar")


STAR = b"User-agent: *\n"
LONG = "/x" + "a" * 16_663
INDEX = STAR + b"Allow: /a/index.html\nAllow: /b/index.htm\nDisallow: /\n"
ENCODED = STAR + b"Disallow: /%7e/\nDisallow: /caf\xc3\xa9\n"


@rows(
    "fact, profiles, body, differ, do_not",
    [
        # paths to which the profile has another answer than RFC 9309, and to which it has the same
        ("1994: headers that are not recognised are ignored", "1994",
         STAR + b"Allow: /a/b\nDisallow: /a\n", ["/a/b"], ["/a", "/b"]),
        ("1994: blank lines separate records", "1994 1996 kollar",
         STAR + b"Disallow: /x\n\nDisallow: /y\n", ["/y"], ["/x"]),
        ("1994: a comment line is no boundary", "1994 1996 kollar",
         STAR + b"# x\nDisallow: /y\n", [], ["/y"]),
        ("1996 3.2.2: the path portion of the URL", "1996",
         STAR + b"Disallow: /a?b\nDisallow: /c\n", ["/a?b"], ["/c?d", "/a"]),
        ("1996 3.2.2: the first match is used", "1996",
         STAR + b"Allow: /a/ok\nDisallow: /a\nAllow: /a/late\n", ["/a/late"], ["/a/ok", "/a"]),
        ("1996 3.2.1: the first record with *", "1996",
         STAR + b"Disallow: /1\n\nUser-agent: *\nDisallow: /2\n", ["/2"], ["/1"]),
        ("google: a name ends before a digit", "google",
         b"User-agent: bot42\nDisallow: /\n", ["/"], []),
        ("google: Allow of an index page allows the directory", "google",
         INDEX, ["/a/", "/b/"], ["/a/index.html", "/a/x", "/", "/b/index.ht"]),
        ("google: Disallow of one does not", "google",
         STAR + b"Disallow: /a/index.html\n", [], ["/a/", "/a/index.html"]),
        ("google: a line ends at octet 16,663", "google", STAR + f"Disallow: {LONG}b\n".encode(),
         [LONG[: 16_663 - len("Disallow: ")]], [LONG[:16_000]]),
        ("google: a part of a mark is skipped", "google",
         b"\xef" + STAR + b"Disallow: /\n", ["/"], []),
        ("google: a part of a mark is skipped", "google",
         b"\xef\xbb" + STAR + b"Disallow: /\n", ["/"], []),
        ("google: and a whole one", "google", b"\xef\xbb\xbf" + STAR + b"Disallow: /\n", [], ["/"]),
        ("google: unreserved octets stay", "google", ENCODED, ["/~/"], ["/%7E/", "/caf%C3%A9"]),
        ("google: URLs are taken as they are", "google", ENCODED, ["/café"], ["/x"]),
    ],
)  # fmt: skip
def test_other_documents_differ_in_these_points(
    fact: str, profiles: str, body: bytes, differ: list[str], do_not: list[str]
) -> None:
    """And in these alone: the answer for RFC 9309 tells which of the two it is."""
    for path, profile in product([*differ, *do_not], profiles.split()):
        same = allowed(body, path, "bot", profile) is allowed(body, path, "bot", "rfc9309")
        assert same is (path in do_not), path


def test_google_takes_the_beginning_of_a_key_for_allow_and_disallow_alone() -> None:
    """Profile google: ``Disallow-all`` disallows, and ``Crawl-delayed`` is an unknown line."""
    body = b"User-agent: *\nDisallow-all: /a\nCrawl-delayed: 5\nSitemap-list: http://e.org/s\n"
    robots = RobotsTxt.parse(body, profile="google")
    assert not robots.allowed("http://e.org/a", "x")
    assert robots.crawl_delay("x") is None
    assert robots.sitemaps == ()


def test_google_reads_no_rule_where_white_space_alone_follows_a_key_without_a_colon() -> None:
    """Profile google: so both user-agent lines belong to one group."""
    body = b"User-agent: *\nAllow \v\nUser-agent: other\nDisallow: /\n"
    assert not RobotsTxt.parse(body, profile="google").allowed("https://e.org/", "mybot")


def test_google_takes_two_slashes_for_an_authority() -> None:
    """Profile google: ``//e.org/a`` is a URL without its scheme."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a$\n", profile="google")
    assert not robots.allowed("//e.org/a", "x")
    assert not robots.allowed("e.org/a", "x")


def test_a_profile_is_asked_for_by_name_or_made_by_hand() -> None:
    """An unknown name is told at once, with those that are known."""
    assert named("1996") is PROFILES["1996"]
    made = dataclasses.replace(PROFILES["rfc9309"], name="mine", allow_is_a_rule=False)
    assert named(made) is made
    robots = RobotsTxt.parse(b"User-agent: *\nAllow: /a\nDisallow: /", profile=made)
    assert not robots.allowed("https://e.org/a", "x")
    with pytest.raises(ValueError, match=r"'2009' is not .* known are 'rfc9309', 'google'"):
        RobotsTxt.parse(b"", profile="2009")
    with pytest.raises(ValueError, match="known are"):
        named(["rfc9309"])  # type: ignore[arg-type]


@rows(
    "field, value, body, answer",
    ("whitespace", " \t\xa0", b"User-agent: x\nDisallow:\xa0/2", False),
    ("nul_ends_the_line", True, b"User-agent: x\nDisallow: /\0 2", False),
    ("longest_line", 12, b"User-agent:x\nDisallow: /2zzz", False),
    ("key_is_a_prefix", True, b"User-agent: x\nDisallow-all: /2", False),
    ("misspelt_disallow", ("verboten",), b"User-agent: x\nVerboten: /2", False),
    ("misspelt_disallow", (), b"User-agent: x\nDissallow: /2", True),
    ("colon_may_be_missing", False, b"User-agent: x\nDisallow /2", True),
    ("blank_line_ends_the_group", True, b"User-agent: x\n\nDisallow: /2", True),
    ("group_needs_a_rule", True, b"User-agent: *\nDisallow: /2\n\nUser-agent: x", False),
    ("name_alphabet", "y", b"User-agent: x\nDisallow: /2", True),
    ("star_ends_at_whitespace", True, b"User-agent: *;\nDisallow: /2", True),
    ("agent_rule", "line contains the token", b"User-agent: axa\nDisallow: /2", False),
    (
        "all_groups_are_merged",
        False,
        b"User-agent: x\nAllow: /1\n\nUser-agent: x\nDisallow: /2",
        True,
    ),
    ("allow_is_a_rule", False, b"User-agent: x\nDisallow: /2\nAllow: /2", False),
    ("several_paths_on_a_line", True, b"User-agent: x\nDisallow: /1 /2", False),
    ("unreserved_is_decoded", False, b"User-agent: x\nDisallow: /%32", True),
    ("uri_is_taken_as_it_is", True, b"User-agent: x\nDisallow: /%32", True),
)
def test_each_field_of_a_profile_has_its_effect_alone(
    field: str, value: object, body: bytes, answer: bool
) -> None:
    """A profile that is built by hand is read by its fields, by a verdict and a quick answer."""
    profile = dataclasses.replace(PROFILES["rfc9309"], **{field: value})  # type: ignore[arg-type]
    robots = RobotsTxt.parse(body, profile=profile)
    url = "http://e.org/2"
    assert robots.allowed(url, "x") is answer
    assert robots.verdict(url, "x").allowed is answer
    usual = RobotsTxt.parse(body)
    assert usual.allowed(url, "x") is not answer
    assert usual.verdict(url, "x").allowed is not answer


@rows("white", ["\xa0", "\x85", "\x0b", "\x1f"])
def test_only_space_and_tab_part_the_paths_of_a_line(white: str) -> None:
    """Kollar's format: a list is parted by spaces or tabs."""
    body = f"User-agent: a{white}b\nDisallow: /a{white}/b\n".encode("latin-1")
    assert allowed(body, "/b", "a", "kollar")
    body = f"User-agent: *\nDisallow: /a{white}/b\n".encode("latin-1")
    assert allowed(body, "/b", "x", "kollar")
    assert not allowed(b"User-agent: *\nDisallow: /a \t/b\n", "/b", "x", "kollar")
