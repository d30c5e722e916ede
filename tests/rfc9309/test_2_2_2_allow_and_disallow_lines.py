"""RFC 9309 section 2.2.2: the allow and disallow lines."""

import itertools

from scrapy_rep import RobotsTxt
from tests.rows import rows


def allowed(rules: str, uri: str) -> bool:
    """Rules of the default group allow a URI of ``e.org``."""
    body = f"user-agent: *\n{rules}\n".encode()
    return RobotsTxt.parse(body).allowed(f"https://e.org{uri}", "a")


def test_paths_are_matched_against_the_uri() -> None:
    """RFC 9309 section 2.2.2: a crawler MUST match the paths in rules against the URI."""
    assert not allowed("disallow: /a", "/a")
    assert not allowed("disallow: /a", "/abc?d=e")
    assert allowed("disallow: /a", "/b")


def test_matching_is_case_sensitive() -> None:
    """RFC 9309 section 2.2.2: the matching SHOULD be case sensitive."""
    assert allowed("disallow: /Private", "/private")
    assert not allowed("disallow: /Private", "/Private")


def test_matching_starts_with_the_first_octet_of_the_path() -> None:
    """RFC 9309 section 2.2.2: the matching MUST start with the first octet of the path."""
    assert allowed("disallow: /b", "/a/b")
    assert allowed("disallow: b", "/b")
    assert allowed("disallow: e.org/b", "/b")


def test_the_most_specific_match_is_used_in_any_order() -> None:
    """RFC 9309 section 2.2.2: the most specific match found MUST be used; it has most octets."""
    rules = ["disallow: /", "allow: /a", "disallow: /a/b", "allow: /a/b/c"]
    for order in itertools.permutations(rules):
        text = "\n".join(order)
        answers = [allowed(text, uri) for uri in ("/x", "/a", "/a/b", "/a/b/c", "/a/b/cd", "/a/bc")]
        assert answers == [False, True, False, True, True, False]


def test_octets_count_and_not_characters() -> None:
    """RFC 9309 section 2.2.2: most octets, once they are percent-encoded."""
    assert not allowed("allow: /a/*12345\ndisallow: /a/ツ", "/a/ツ12345")
    assert not allowed("allow: /a/*12345\ndisallow: /a/%E3%83%84", "/a/ツ12345")
    assert allowed("allow: /a/*12345678\ndisallow: /a/ツ", "/a/ツ12345678")


def test_duplicate_rules_change_nothing() -> None:
    """RFC 9309 section 2.2.2: duplicate rules in a group MAY be deduplicated."""
    rules = "disallow: /a\n" * 3 + "allow: /a/b\n" * 3 + "disallow: /a\n" * 3
    assert not allowed(rules, "/a")
    assert allowed(rules, "/a/b")


@rows("rules", ["allow: /p\ndisallow: /p", "disallow: /p\nallow: /p"])
def test_allow_is_used_if_both_are_equivalent(rules: str) -> None:
    """RFC 9309 section 2.2.2: if both are equivalent, the allow rule SHOULD be used."""
    assert allowed(rules, "/p")
    assert allowed(rules, "/page")


def test_rules_are_equivalent_in_their_encoded_form() -> None:
    """RFC 9309 section 2.2.2: octets are encoded prior to comparison."""
    assert allowed("disallow: /%7Ea\nallow: /~a", "/~a")
    assert allowed("disallow: /ツ\nallow: /%e3%83%84", "/ツ")
    assert allowed("disallow: /a%20b\nallow: /a b", "/a b")
    assert not allowed("disallow: /a%3Ab", "/a:b")
    assert not allowed("disallow: /a:b", "/a%3Ab")


def test_without_a_match_the_uri_is_allowed() -> None:
    """RFC 9309 section 2.2.2: if no match is found, or there are no rules, it is allowed."""
    assert allowed("disallow: /a", "/b")
    assert allowed("", "/b")


@rows("rules", ["disallow: /", "disallow: /robots.txt", "disallow: /*.txt$"])
def test_robots_txt_is_implicitly_allowed(rules: str) -> None:
    """RFC 9309 section 2.2.2: the /robots.txt URI is implicitly allowed."""
    assert allowed(rules, "/robots.txt")
    assert allowed(rules, "/robots%2Etxt")
    robots = RobotsTxt.parse(f"user-agent: *\n{rules}")
    assert robots.verdict("https://e.org/robots.txt", "a").reason == "robots.txt itself"


def test_nothing_but_robots_txt_itself_is_implicitly_allowed() -> None:
    """RFC 9309 section 2.2.2: another URI is another resource."""
    for uri in ("/robots.txt/", "/robots.txt2", "/a/robots.txt", "/Robots.txt", "/robots.txt?x"):
        assert not allowed("disallow: /", uri)


FIGURE_4 = [
    ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
    ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
]


@rows("path, to_match", FIGURE_4)
def test_percent_encoded_components_match_as_the_figure_shows(path: str, to_match: str) -> None:
    """RFC 9309 section 2.2.2, figure 4, both ways: as rule and as URI."""
    for rule, uri in itertools.product((path, to_match), repeat=2):
        assert not allowed(f"disallow: {rule}", uri)
        assert not allowed(f"disallow: {rule}$", uri)


def test_octets_outside_ascii_are_percent_encoded() -> None:
    """RFC 9309 section 2.2.2: octets outside ASCII MUST be percent-encoded prior to comparison."""
    assert not allowed("disallow: /caf%c3%a9", "/café")
    assert not allowed("disallow: /café", "/caf%C3%A9")
    assert allowed("disallow: /café", "/caf%E9")


@rows("octet", sorted(set("abcxyzABCXYZ0189-._~")))
def test_unreserved_octets_are_decoded(octet: str) -> None:
    """RFC 9309 section 2.2.2: a percent-encoded ASCII octet MUST be unencoded."""
    for encoded in (f"%{ord(octet):02X}", f"%{ord(octet):02x}"):
        assert not allowed(f"disallow: /x{octet}y", f"/x{encoded}y")
        assert not allowed(f"disallow: /x{encoded}y", f"/x{octet}y")


@rows("octet", sorted("/?#!&'()+,;=%"))
def test_reserved_octets_stay_as_they_are_in_a_path(octet: str) -> None:
    """RFC 9309 section 2.2.2: ... unless it is a reserved character in the URI."""
    encoded = f"%{ord(octet):02X}"
    if octet not in "#%":
        assert allowed(f"disallow: /x{octet}y", f"/x{encoded}y")
        assert allowed(f"disallow: /x{encoded}y", f"/x{octet}y")
        assert not allowed(f"disallow: /x{octet}y", f"/x{octet}y")
    assert not allowed(f"disallow: /x{encoded}y", f"/x{encoded}y")
    assert not allowed(f"disallow: /x{encoded}y", f"/x{encoded.lower()}y")


@rows("octet", ":@[]")
@rows("where", ["/x{}y", "/x?y={}z", "/a/*/x{}y"])
def test_some_reserved_octets_equal_their_encoded_form(octet: str, where: str) -> None:
    """RFC 9309 section 2.2.2, figure 4, row 2: ``:`` is ``%3A``."""
    raw, encoded = where.format(octet), where.format(f"%{ord(octet):02x}")
    for rule, uri in itertools.product((raw, encoded), repeat=2):
        assert not allowed(f"disallow: {rule}", uri.replace("*", "b"))


@rows("octet", "/?")
def test_slash_and_question_mark_equal_their_encoded_form_in_a_query(octet: str) -> None:
    """RFC 9309 section 2.2.2, figure 4, row 2: ``/`` is ``%2F`` inside the query."""
    raw, encoded = f"/x?u=a{octet}b", f"/x?u=a%{ord(octet):02X}b"
    for rule, uri in itertools.product((raw, encoded), repeat=2):
        assert not allowed(f"disallow: {rule}", uri)
        assert not allowed(f"disallow: {rule.replace('x?', '*?')}", uri)
        assert not allowed(f"disallow: /*{rule[5:]}", uri)
        assert not allowed(f"disallow: /*{rule[5:]}$", uri)


def test_the_first_question_mark_is_no_encoded_one() -> None:
    """RFC 9309 section 2.2.2: ``%3F`` in a path does not begin a query."""
    assert allowed("disallow: /x?y", "/x%3Fy")
    assert allowed("disallow: /x%3Fy", "/x?y")
    assert allowed("disallow: /*%3Fy$", "/x?y")
    assert not allowed("disallow: /*%3Fy", "/x?z?y")


def test_a_percent_sign_without_two_hex_digits_is_an_octet() -> None:
    """RFC 9309 section 2.2.2: what may not stand in a URI is percent-encoded."""
    for text in ("/100%", "/100%x", "/100%4", "/100%zz", "/100%%"):
        assert not allowed(f"disallow: {text}", text)
        assert not allowed(f"disallow: {text}", text.replace("%", "%25"))
        assert not allowed(f"disallow: {text.replace('%', '%25')}", text)


def test_a_percent_sign_is_decoded_once() -> None:
    """RFC 9309 section 2.2.2: ``%25`` stands for a percent sign and begins no other octet."""
    assert allowed("disallow: /%41", "/%2541")
    assert allowed("disallow: /%2541", "/A")
    assert not allowed("disallow: /%%41", "/%A")
    assert not allowed("disallow: /%%341", "/%2541")


def test_a_match_needs_the_end_of_the_rule_before_a_difference() -> None:
    """RFC 9309 section 2.2.2: if and only if the end of the path from the rule is reached."""
    assert not allowed("disallow: /fish", "/fish.html")
    assert allowed("disallow: /fish/", "/fish")
    assert allowed("disallow: /fish.html", "/fish")


def test_rules_outside_any_group_are_ignored() -> None:
    """RFC 9309 section 2.2.2: rules that precede the first user-agent line SHOULD be ignored."""
    robots = RobotsTxt.parse(b"disallow: /\nallow: /x\nuser-agent: *\ndisallow: /y\n")
    assert robots.allowed("https://e.org/a", "a")
    assert not robots.allowed("https://e.org/y", "a")


def test_a_file_that_is_not_utf8_is_matched_by_its_octets() -> None:
    """RFC 9309 section 2.2.2: implementors MAY bridge encoding mismatches."""
    robots = RobotsTxt.parse(b"user-agent: *\ndisallow: /caf\xe9\n")
    assert not robots.allowed("https://e.org/caf%E9", "a")
    assert not robots.allowed("https://e.org/caf\udce9", "a")
    assert robots.allowed("https://e.org/café", "a")
