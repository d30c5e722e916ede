"""The documents of 1994 to 2022 and their own examples, row by row."""

import dataclasses

import pytest

from scrapy_rep.robotstxt.profiles import PROFILES, named
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
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
    "body, agent, path, expected",
    [
        (EXAMPLE_1994_1, "anybot", "/", True),
        (EXAMPLE_1994_1, "anybot", "/cyberworld/map/index.html", False),
        (EXAMPLE_1994_1, "anybot", "/cyberworld/map", True),
        (EXAMPLE_1994_1, "anybot", "/tmp/xxx", False),
        (EXAMPLE_1994_1, "anybot", "/foo.html", False),
        (EXAMPLE_1994_1, "anybot", "/foo.htm", True),
        (EXAMPLE_1994_2, "anybot", "/cyberworld/map/x", False),
        (EXAMPLE_1994_2, "CyberMapper", "/cyberworld/map/x", True),
        (EXAMPLE_1994_2, "anybot", "/x", True),
        (EXAMPLE_1994_3, "anybot", "/", False),
        (b"", "anybot", "/", True),
    ],
)
def test_examples_of_1994(profile: str, body: bytes, agent: str, path: str, expected: bool) -> None:
    """1994, Examples, and an empty file, which is as if it was not present; in all documents."""
    assert allowed(body, path, agent, profile) is expected


@rows(
    "pattern, path, expected",
    [
        ("/help", "/help.html", False),
        ("/help", "/help/index.html", False),
        ("/help/", "/help/index.html", False),
        ("/help/", "/help.html", True),
        ("/a*c", "/abc", True),
        ("/a*c", "/a*c", False),
        ("/abc$", "/abc", True),
        ("/cgi?q", "/cgi?q=1", False),
    ],
)
def test_1994_matches_the_begin_of_a_url(pattern: str, path: str, expected: bool) -> None:
    """1994, Disallow: any URL that starts with this value; not a regular expression."""
    body = f"User-agent: *\nDisallow: {pattern}\n".encode()
    assert allowed(body, path, "anybot", "1994") is expected


def test_1994_knows_no_allow() -> None:
    """1994, The Format: unrecognised headers are ignored."""
    body = b"User-agent: *\nAllow: /a/b\nDisallow: /a\n"
    assert not allowed(body, "/a/b", "anybot", "1994")
    assert allowed(body, "/a/b", "anybot", "1996")


@rows("profile", ["1994", "1996", "kollar"])
def test_a_blank_line_ends_a_record(profile: str) -> None:
    """1994, The Format: records are separated by one or more blank lines."""
    body = b"User-agent: a\nDisallow: /x\n\nDisallow: /y\n"
    assert not allowed(body, "/x", "a", profile)
    assert allowed(body, "/y", "a", profile)
    assert not allowed(body, "/y", "a", "rfc9309")


@rows("profile", ["1994", "1996", "kollar"])
def test_a_comment_line_ends_no_record(profile: str) -> None:
    """1994, The Format: lines containing only a comment do not indicate a record boundary."""
    assert not allowed(b"User-agent: a\n# x\nDisallow: /y\n", "/y", "a", profile)


EXTENSIONS = [
    "Crawl-delay: 5",
    "Sitemap: https://e.org/s.xml",
    "Host: e.org",
    "X-Y.z_1: a b",
    "noindex:",
]


@rows("extension", EXTENSIONS)
def test_a_record_of_1996_may_have_extensions_only(extension: str) -> None:
    """1996 section 3.3: ``ruleline = disallowline | allowline | extension``."""
    body = f"User-agent: mybot\n{extension}\n\nUser-agent: *\nDisallow: /\n"
    robots = RobotsTxt.parse(body, profile="1996")
    assert robots.allowed("https://e.org/a", "mybot")
    assert robots.verdict("https://e.org/a", "mybot").group == "mybot"
    assert not robots.allowed("https://e.org/a", "other")


@rows("extension", EXTENSIONS)
def test_an_extension_of_1996_ends_the_list_of_user_agent_lines(extension: str) -> None:
    """1996 section 3.3: ``record = ... agentline *(agentline) 1*ruleline``, then another record."""
    body = f"User-agent: mybot\n{extension}\nUser-agent: other\nDisallow: /\n"
    robots = RobotsTxt.parse(body, profile="1996")
    assert robots.allowed("https://e.org/a", "mybot")
    assert not robots.allowed("https://e.org/a", "other")


@rows("line", ["no colon", ": no key", "two words: a", "# comment: a", "é: a"])
def test_what_is_no_extension_makes_no_record_of_1996(line: str) -> None:
    """1996 section 3.3: ``extension = token : *space value``."""
    body = f"User-agent: mybot\n{line}\n\nUser-agent: *\nDisallow: /\n"
    assert not RobotsTxt.parse(body, profile="1996").allowed("https://e.org/a", "mybot")


@rows("profile", ["1994", "kollar"])
def test_an_extension_is_no_rule_of_1994(profile: str) -> None:
    """1994: at least one Disallow field needs to be present in a record."""
    body = "User-agent: mybot\nCrawl-delay: 5\n\nUser-agent: *\nDisallow: /\n"
    assert not RobotsTxt.parse(body, profile=profile).allowed("https://e.org/a", "mybot")


@rows("profile", ["1994", "1996", "kollar"])
def test_a_record_needs_a_rule(profile: str) -> None:
    """1994, Disallow: at least one Disallow field needs to be present in a record."""
    body = b"User-agent: a\n\nUser-agent: *\nDisallow: /\n"
    assert not allowed(body, "/", "a", profile)
    assert RobotsTxt.parse(body, profile=profile).verdict("/", "a").group == "*"


TABLE_1996 = [
    ("/tmp", "/tmp", True),
    ("/tmp", "/tmp.html", True),
    ("/tmp", "/tmp/a.html", True),
    ("/tmp/", "/tmp", False),
    ("/tmp/", "/tmp/", True),
    ("/tmp/", "/tmp/a.html", True),
    ("/a%3cd.html", "/a%3cd.html", True),
    ("/a%3Cd.html", "/a%3cd.html", True),
    ("/a%3cd.html", "/a%3Cd.html", True),
    ("/a%3Cd.html", "/a%3Cd.html", True),
    ("/a%2fb.html", "/a%2fb.html", True),
    ("/a%2fb.html", "/a/b.html", False),
    ("/a/b.html", "/a%2fb.html", False),
    ("/a/b.html", "/a/b.html", True),
    ("/%7ejoe/index.html", "/~joe/index.html", True),
    ("/~joe/index.html", "/%7Ejoe/index.html", True),
]


@rows("profile", ["1996", "1994", "kollar", "rfc9309"])
@rows("record, path, expected", TABLE_1996)
def test_table_of_1996(profile: str, record: str, path: str, expected: bool) -> None:
    """1996 section 3.2.2: which record paths match which URL paths."""
    body = f"User-agent: *\nDisallow: {record}\n".encode()
    assert allowed(body, path, "anybot", profile) is not expected


@rows("octet", "?&=+,;!'()%#*$")
def test_1996_decodes_all_but_the_slash(octet: str) -> None:
    """1996 section 3.2.2: it is unencoded prior to comparison, unless it is the "/" character."""
    encoded = f"%{ord(octet):02x}"
    if octet not in "?#":
        body = f"User-agent: *\nDisallow: /x{encoded}y\n".encode()
        assert not allowed(body, f"/x{octet}y", "anybot", "1996")
        body = f"User-agent: *\nDisallow: /x{octet}y\n".encode()
        assert not allowed(body, f"/x{encoded}y", "anybot", "1996")


def test_1996_matches_the_path_without_the_query() -> None:
    """1996 section 3.2.2: every octet in the path portion of the URL."""
    body = b"User-agent: *\nDisallow: /a?b\nDisallow: /c\n"
    assert allowed(body, "/a?b", "anybot", "1996")
    assert not allowed(body, "/c?d", "anybot", "1996")


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


def test_1996_uses_the_first_match_in_order() -> None:
    """1996 section 3.2.2: in the order they occur in the record; the first match is used."""
    body = b"User-agent: *\nAllow: /tmp/ok\nDisallow: /tmp\nAllow: /tmp/late\n"
    assert allowed(body, "/tmp/ok.html", "a", "1996")
    assert not allowed(body, "/tmp/late", "a", "1996")
    assert allowed(body, "/tmp/late", "a", "rfc9309")


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


def test_1996_obeys_the_first_star_record_only() -> None:
    """1996 section 3.2.1: the first record with a User-agent line with a ``*`` value."""
    body = b"User-agent: *\nDisallow: /1\n\nUser-agent: *\nDisallow: /2\n"
    assert not allowed(body, "/1", "a", "1996")
    assert allowed(body, "/2", "a", "1996")
    assert not allowed(body, "/2", "a", "rfc9309")


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
    "body, path, agent, expected",
    [
        (KOLLAR_1, "/", "anybot", False),
        (KOLLAR_1, "/", "Lycos", True),
        (KOLLAR_1, "/x", "Lycos_Spider_(Rex)/1.0 libwww/3.1", True),
        (KOLLAR_1, "/cgi-bin/x", "Lycos", False),
        (KOLLAR_1, "/tmp/x", "Lycos_Spider_(Rex)/1.0 libwww/3.1", False),
        (KOLLAR_2, "/tmp/", "Copernicus", True),
        (KOLLAR_2, "/tmp/", "Fred", True),
        (KOLLAR_2, "/tmp/", "anybot", False),
        (KOLLAR_2, "/tea-time/", "Rex", False),
        (KOLLAR_2, "/top-cat.txt", "Lycos_Spider_(Rex)/1.0", False),
        (KOLLAR_2, "/x", "anybot", True),
        (KOLLAR_3, "/spiders/not/here/", "anybot", False),
        (KOLLAR_3, "/spiders/not/here/yes/even/me.html", "anybot", False),
        (KOLLAR_3, "/spiders/not/her", "anybot", True),
    ],
)
def test_examples_of_kollar(body: bytes, path: str, agent: str, expected: bool) -> None:
    """Kollar: several paths or names on a line, ``*`` beside a name, and empty Disallow lines."""
    assert allowed(body, path, agent, "kollar") is expected


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


def test_google_cuts_names_at_digits() -> None:
    """Profile google: a name ends before the first character outside ``[A-Za-z_-]``."""
    body = b"User-agent: bot42\nDisallow: /\n"
    assert not allowed(body, "/", "bot", "google")
    assert allowed(body, "/", "bot42", "google")


def test_google_takes_the_beginning_of_a_key_for_allow_and_disallow_alone() -> None:
    """Profile google: ``Disallow-all`` disallows, and ``Crawl-delayed`` is an unknown line."""
    body = b"User-agent: *\nDisallow-all: /a\nCrawl-delayed: 5\nSitemap-list: http://e.org/s\n"
    robots = RobotsTxt.parse(body, profile="google")
    assert not robots.allowed("http://e.org/a", "x")
    assert robots.crawl_delay("x") is None
    assert robots.sitemaps == ()


def test_google_allows_the_directory_of_an_index_page() -> None:
    """Profile google: Allow of ``index.htm`` or ``index.html`` allows the directory itself."""
    body = b"User-agent: *\nAllow: /a/index.html\nAllow: /b/index.htm\nDisallow: /\n"
    for path in ("/a/", "/b/", "/a/index.html"):
        assert allowed(body, path, "x", "google")
    for path in ("/a/x", "/", "/b/index.ht"):
        assert not allowed(body, path, "x", "google")
    assert not allowed(body, "/a/", "x", "rfc9309")


def test_google_reads_the_first_octets_of_a_line() -> None:
    """Profile google: what lies behind octet 16,663 of a line is ignored."""
    long = "/x" + "a" * 16_663
    body = f"User-agent: *\nDisallow: {long}b\n".encode()
    assert not allowed(body, long[: 16_663 - len("Disallow: ")], "x", "google")
    assert allowed(body, long[: 16_663 - len("Disallow: ")], "x", "rfc9309")


@rows("mark", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"])
def test_google_skips_a_byte_order_mark_and_parts_of_one(mark: bytes) -> None:
    """Profile google: the first octets of a mark are skipped, whole or not."""
    body = mark + b"User-agent: *\nDisallow: /\n"
    assert not allowed(body, "/", "x", "google")
    assert allowed(body, "/", "x", "rfc9309") is (len(mark) in (1, 2))


def test_google_takes_two_slashes_for_an_authority() -> None:
    """Profile google: ``//e.org/a`` is a URL without its scheme."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a$\n", profile="google")
    assert not robots.allowed("//e.org/a", "x")
    assert not robots.allowed("e.org/a", "x")


def test_google_leaves_the_encoding_of_urls_to_its_caller() -> None:
    """Profile google: only patterns are put in normal form, and unreserved octets stay."""
    body = b"User-agent: *\nDisallow: /%7e/\nDisallow: /caf\xc3\xa9\n"
    assert allowed(body, "/~/", "x", "google")
    assert not allowed(body, "/%7E/", "x", "google")
    assert not allowed(body, "/caf%C3%A9", "x", "google")
    assert allowed(body, "/café", "x", "google")


def test_access_defaults_are_data_too() -> None:
    """1996 sections 3.1 and 3.4: 401 and 403 close a site, and seven days are the default."""
    assert PROFILES["1996"].access_denied_closes_the_site
    assert PROFILES["1996"].default_life == 7 * 24 * 3600
    assert PROFILES["rfc9309"].default_life == 24 * 3600
    assert not PROFILES["rfc9309"].access_denied_closes_the_site
    assert PROFILES["1996"].redirects_followed > PROFILES["rfc9309"].redirects_followed == 5


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
    [
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
            b"User-agent: x\nDisallow: /1\n\nUser-agent: x\nDisallow: /2",
            True,
        ),
        ("allow_is_a_rule", False, b"User-agent: x\nDisallow: /2\nAllow: /2", False),
        ("several_paths_on_a_line", True, b"User-agent: x\nDisallow: /1 /2", False),
        ("unreserved_is_decoded", False, b"User-agent: x\nDisallow: /%32", True),
        ("uri_is_taken_as_it_is", True, b"User-agent: x\nDisallow: /%32", True),
    ],
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
