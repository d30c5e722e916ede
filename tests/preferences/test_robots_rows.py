"""What robots.txt files say about use: documents, row by row, each with its source.

Sources: `attach` is draft-ietf-aipref-attach-05, `vocab` draft-ietf-aipref-vocab-08, `sf` RFC 9651,
`rep` RFC 9309, `signals` draft-romm-aipref-contentsignals-00 and the policy text of Cloudflare,
`choice` what no document says; docs/guides/preferences.rst names the choices.
"""

from __future__ import annotations

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.preferences.robots_txt import refusal_by_name
from tests.preferences.answers import answers
from tests.rows import rows

# The figure of attach section 3, and one with both ways to write a rule for all paths.
FIGURE = """\
User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: / train-ai=y
"""

# What Cloudflare puts before a site's own file.
MANAGED = """\
# As a condition of accessing this website, you agree to abide by the following content signals.
# BEGIN Cloudflare Managed content

User-agent: *
Content-Signal: search=yes,ai-train=no,use=reference
Allow: /

User-agent: Bytespider
Disallow: /

# END Cloudflare Managed Content

"""
OWN = "User-agent: *\nDisallow: /admin\n\nUser-agent: mybot\nDisallow: /mine\n"

# source, robots.txt, agent, path, answers
ROWS: list[tuple[str, str, str, str, str | None]] = [
    ("attach 3, figure", FIGURE, "otherbot", "/test", "train-ai=n"),
    ("attach 3, figure", FIGURE, "otherbot", "/never/test", None),
    ("attach 3, figure", FIGURE, "otherbot", "/ai-ok/test", "train-ai=y"),
    ("attach 3, figure", FIGURE, "examplebot", "/test", "train-ai=y"),
    ("attach 3, figure", FIGURE, "ExampleBot/1.0", "/never/test", "train-ai=y"),
    ("attach 3: the path ends at SP", "C: /a  train-ai=n", "b", "/a", "train-ai=n"),
    ("attach 3: or at HTAB", "C: /a\ttrain-ai=n", "b", "/a", "train-ai=n"),
    ("attach 3: a path is a prefix", "C: /a train-ai=n", "b", "/abc", "train-ai=n"),
    ("attach 3: of the path alone", "C: /a train-ai=n", "b", "/b/a", ""),
    ("attach 3: no path, all paths", "C: train-ai=n", "b", "/", "train-ai=n"),
    ("attach 3: no path is the shortest", "C: train-ai=n\nC: / train-ai=y", "b", "/", "train-ai=y"),
    ("attach 3: longest match", "C: /a train-ai=n\nC: /a/b train-ai=y", "b", "/a/b", "train-ai=y"),
    ("attach 3: order says nothing", "C: /a/b train-ai=y\nC: /a train-ai=n", "b", "/a/b",
     "train-ai=y"),
    ("attach 3: the longer replaces the shorter", "C: / search=n\nC: /a train-ai=n", "b", "/a",
     "train-ai=n"),
    ("attach 3: a longer rule may say nothing", "C: / train-ai=y\nC: /a ", "b", "/a", ""),
    ("attach 3: equal paths, strictest", "C: /a train-ai=y\nC: /a train-ai=n", "b", "/a",
     "train-ai=n"),
    ("attach 3: equal paths add up", "C: /a train-ai=y\nC: /a search=n", "b", "/a",
     "train-ai=y search=n"),
    ("attach 3: equal without a path too", "C: train-ai=y\nC: train-ai=n", "b", "/", "train-ai=n"),
    ("attach 3: equal in normal form", "C: /%61 train-ai=n\nC: /a train-ai=y", "b", "/a",
     "train-ai=n"),
    ("attach 3: octets of the encoded path", "C: /\u00e9 train-ai=y\nC: /*abcd train-ai=n", "b",
     "/\u00e9abcd", "train-ai=y"),
    ("attach 3: %20 stands for a space", "C: /a%20b train-ai=n", "b", "/a%20b", "train-ai=n"),
    ("attach 3: UTF-8 equals its escapes", "C: /\u00e9 train-ai=n", "b", "/%C3%A9", "train-ai=n"),
    ("attach 3: a comment ends the line", "C: train-ai=n # search=n", "b", "/", "train-ai=n"),
    ("attach 3: label without case", "content-USAGE: train-ai=n", "b", "/", "train-ai=n"),
    ("attach 3: space around the colon", "  Content-Usage \t:\ttrain-ai=n  ", "b", "/",
     "train-ai=n"),
    ("attach 3: disallowed paths have none", "Disallow: /\nC: train-ai=y", "b", "/", None),
    ("attach 3: but robots.txt itself may be fetched", "Disallow: /\nC: train-ai=y", "b",
     "/robots.txt", "train-ai=y"),
    ("attach 3: allowed within a disallow", "Disallow: /\nAllow: /a\nC: train-ai=n", "b", "/a",
     "train-ai=n"),
    ("attach 3: mixed with rules", "C: train-ai=n\nDisallow: /x\nC: /a search=n", "b", "/a",
     "search=n"),
    ("rep 2.2.3: *", "C: /*.pdf train-ai=n", "b", "/x/y.pdf", "train-ai=n"),
    ("rep 2.2.3: $", "C: /*.pdf$ train-ai=n", "b", "/y.pdf?x", ""),
    ("rep 2.2.2: the query counts", "C: /a?b train-ai=n", "b", "/a?bc", "train-ai=n"),
    ("choice: dot segments, both ways", "C: /a train-ai=y\nC: /b train-ai=n", "b", "/a/../b",
     "train-ai=n"),
    ("choice: dot segments, both ways", "C: /a train-ai=n\nC: /b train-ai=y", "b", "/a/../b",
     "train-ai=n"),
    ("choice: a tie of two patterns", "C: /a* train-ai=y\nC: /*a train-ai=n", "b", "/a",
     "train-ai=n"),
    ("rep 2.2.1: named group", "Allow: /\nC: train-ai=n\n\nUser-agent: b\nC: search=n", "b",
     "/", "search=n"),
    ("rep 2.2.1: no group inherits from *", "Allow: /\nC: train-ai=n\n\nUser-agent: b\n"
     "Disallow: /x", "b", "/", ""),
    ("rep 2.2.1: groups of a token merge", "C: / train-ai=n\nAllow: /\nUser-agent: x\nDisallow: /\n"
     "User-agent: *\nC: / search=n", "b", "/", "train-ai=n search=n"),
    ("attach 3: a rule line ends a list of agents", "C: train-ai=n\n\nUser-agent: b\n"
     "C: search=n", "b", "/", "search=n"),
    ("attach 3: a rule line ends a list of agents", "Disallow: /q\nUser-agent: a\nC: train-ai=n\n"
     "User-agent: b\nAllow: /", "b", "/", ""),
    ("attach 3: a rule line ends a list of agents", "Disallow: /q\nUser-agent: a\nC: train-ai=n\n"
     "User-agent: b\nAllow: /", "a", "/", "train-ai=n"),
    ("attach 3: the permission of one is not another's", "C: train-ai=n\n\nUser-agent: goodbot\n"
     "C: /public/ train-ai=y", "anybot", "/public/x", "train-ai=n"),
    ("attach 3: the permission of one is not another's", "C: train-ai=n\n\nUser-agent: goodbot\n"
     "C: /public/ train-ai=y", "goodbot", "/x", ""),
    ("rep 2.1: a signal closes no list of agents", "Disallow: /q\nUser-agent: a\n"
     "Content-Signal: ai-train=no\nUser-agent: b\nAllow: /", "a", "/", "train-ai=n"),
    ("rep 2.1: a rule does", "Disallow: /q\nUser-agent: a\nC: train-ai=n\nAllow: /\n"
     "User-agent: b\nAllow: /", "b", "/", ""),
    ("rep 2.2.4: Sitemap ends nothing", "Disallow: /q\nSitemap: http://e.org/s\nC: train-ai=n",
     "b", "/", "train-ai=n"),
    ("choice: no rule before a group", "^C: train-ai=n\nUser-agent: *\nAllow: /", "b", "/", ""),
    ("choice: a signal before a group is for all", "^Content-Signal: ai-train=no\nUser-agent: *\n"
     "Allow: /", "b", "/", "train-ai=n"),
    ("choice: also for a named crawler", "^Content-Signal: ai-train=no\nUser-agent: b\nAllow: /",
     "b", "/", "train-ai=n"),
    ("choice: also without any group", "^Content-Signal: ai-train=no", "b", "/", "train-ai=n"),
    ("vocab: three labels", "C: train-ai=n, ai-use=y, search=y", "b", "/",
     "train-ai=n ai-use=y search=y"),
    ("vocab: search alone governs search", "C: train-ai=n, search=y", "b", "/",
     "train-ai=n search=y"),
    ("vocab: flat, train-ai says nothing of ai-use", "C: train-ai=n", "b", "/", "train-ai=n"),
    ("vocab: other tokens are unknown", "C: train-ai=no", "b", "/", ""),
    ("vocab: Y is another token", "C: train-ai=Y", "b", "/", ""),
    ("vocab: a string is unknown", 'C: train-ai="n"', "b", "/", ""),
    ("vocab: a boolean is unknown", "C: train-ai=?0", "b", "/", ""),
    ("vocab: a bare key is true, unknown", "C: train-ai", "b", "/", ""),
    ("vocab: an inner list is unknown", "C: train-ai=(n)", "b", "/", ""),
    ("vocab: a bad value spares the others", "C: train-ai=maybe, search=n", "b", "/", "search=n"),
    ("vocab: parameters are ignored", "C: train-ai=n;exceptions=ptr", "b", "/", "train-ai=n"),
    ("vocab: the draft's own example ends with ;", "C: train-ai=n;", "b", "/", ""),
    ("vocab: unknown labels are ignored", "C: infer-user=n, train-ai=y", "b", "/", "train-ai=y"),
    ("vocab 00: labels of old drafts count for nothing", "C: tdm=n, ai=n, genai=n, inference=n",
     "b", "/", ""),
    ("sf 3.2: the last duplicate counts", "C: train-ai=n, train-ai=y", "b", "/", "train-ai=y"),
    ("sf 3.2: the last duplicate counts", "C: train-ai=y, train-ai=n", "b", "/", "train-ai=n"),
    ("sf 4.2: upper case is no key", "C: Train-AI=n, search=n", "b", "/", ""),
    ("sf 4.2: one error, nothing is said", "C: train-ai=n, search=n, %", "b", "/", ""),
    ("sf 4.2: a semicolon parts no members", "C: train-ai=n;search=n", "b", "/", "train-ai=n"),
    ("sf 4.2: empty says nothing", "C:", "b", "/", ""),
    ("choice: too long says nothing", "C: train-ai=n, a=" + "x" * 8192, "b", "/", ""),
    ("choice: just short enough", "C: train-ai=n, a=" + "x" * (8192 - 14), "b", "/", "train-ai=n"),
    ("choice: another error spares other lines", "C: train-ai=n,\nC: search=n", "b", "/",
     "search=n"),
    ("signals: yes and no", "Content-Signal: search=yes, ai-train=no", "b", "/",
     "train-ai=n search=y"),
    ("signals: ai-input", "Content-Signal: ai-input=no", "b", "/", "ai-use=n"),
    ("signals: all three", "Content-Signal: search=no,ai-input=yes,ai-train=yes", "b", "/",
     "train-ai=y ai-use=y search=n"),
    ("signals: absent is neither", "Content-Signal: search=yes", "b", "/", "search=y"),
    ("signals: use is kept, and counts for nothing", "Content-Signal: use=full", "b", "/", ""),
    ("signals: managed block", MANAGED, "mybot", "/x", "train-ai=n search=y"),
    ("signals: managed block, a refused crawler", MANAGED, "bytespider", "/x", None),
    ("signals: managed block before a file", MANAGED + OWN, "otherbot", "/x",
     "train-ai=n search=y"),
    ("signals: managed block before a file", MANAGED + OWN, "otherbot", "/admin", None),
    ("choice: a group of the site's own hides it", MANAGED + OWN, "mybot", "/x", ""),
    ("choice: values without case", "Content-Signal: AI-Train=NO", "b", "/", "train-ai=n"),
    ("choice: other values are unknown", "Content-Signal: ai-train=n, search=true", "b", "/", ""),
    ("choice: a bad member spares the others", "Content-Signal: =, ai-train, x=y, search=no", "b",
     "/", "search=n"),
    ("choice: two lines, strictest", "Content-Signal: ai-train=yes\nContent-Signal: ai-train=no",
     "b", "/", "train-ai=n"),
    ("choice: twice on a line, strictest", "Content-Signal: ai-train=no, ai-train=yes", "b", "/",
     "train-ai=n"),
    ("choice: no form with a path", "Content-Signal: /a ai-train=no", "b", "/a", ""),
    ("choice: too long says nothing", "Content-Signal: ai-train=no," + "x" * 8192, "b", "/", ""),
    ("choice: a space before = is harmless", "Content-Signal: ai-train = no", "b", "/",
     "train-ai=n"),
    ("choice: semicolons part nothing", "Content-Signal: search=yes; ai-train=no", "b", "/", ""),
    ("choice: another key", "Content-Signals: /content-signals.json", "b", "/", ""),
    ("choice: strictest of both vocabularies", "C: train-ai=y\nContent-Signal: ai-train=no", "b",
     "/", "train-ai=n"),
    ("choice: strictest of both vocabularies", "C: train-ai=n\nContent-Signal: ai-train=yes", "b",
     "/", "train-ai=n"),
    ("choice: unknown takes nothing away", "C: train-ai=maybe\nContent-Signal: ai-train=yes", "b",
     "/", "train-ai=y"),
    ("rep: nothing is said", "Disallow: /x", "b", "/", ""),
    ("rep: an empty file", "^", "b", "/", ""),
    ("rep: a UTF-8 mark", "^\ufeffUser-agent: *\nContent-Usage: train-ai=n", "b", "/",
     "train-ai=n"),
]  # fmt: skip


def document(text: str) -> str:
    """A row's file: `C:` is `Content-Usage:`, and a group for all comes first unless `^` does."""
    if text.startswith("^") or text.lower().lstrip("# ").startswith(("user-agent", "as a cond")):
        whole = text.removeprefix("^")
    else:
        whole = f"User-agent: *\n{text}"
    whole = whole.replace("\nC:", "\nContent-Usage:")
    return whole.replace("C:", "Content-Usage:", 1) if whole.startswith("C:") else whole


@rows("source, text, agent, path, expected", ROWS)
def test_a_robots_txt_says_for_a_path(
    source: str, text: str, agent: str, path: str, expected: str | None
) -> None:
    """The answers of the file alone, by the document that is named in the row."""
    robots = RobotsTxt.parse(document(text))
    assert answers(robots.preferences(f"https://example.org{path}", agent)) == expected


@rows("profile", ["google", "1996", "1994", "kollar"])
def test_every_profile_knows_the_lines(profile: str) -> None:
    """Groups are those of the profile; paths are matched as RFC 9309 says in each of them."""
    body = "User-agent: *\nDisallow: /no\nContent-Usage: /*b train-ai=n\nContent-Signal: search=no"
    robots = RobotsTxt.parse(body, profile=profile)
    assert answers(robots.preferences("https://e.org/ab", "mybot")) == "train-ai=n search=n"
    assert answers(robots.preferences("https://e.org/no", "mybot")) is None


def test_a_statement_says_where_it_stands() -> None:
    """Source, line, label and value."""
    robots = RobotsTxt.parse("User-agent: *\n\nContent-Usage: /a train-ai=n;x=1, foo=7\n")
    found = robots.preferences("https://e.org/a", "mybot")
    [train, foo] = found.statements
    assert (train.vocabulary, train.label, train.value) == ("content-usage", "train-ai", "n")
    assert (train.source, train.line) == ("robots.txt", 3)
    assert (train.category, train.answer) == ("train-ai", "disallowed")
    assert (foo.label, foo.value, foo.category, foo.answer) == ("foo", "7", None, "unknown")
    assert found.about("train-ai") == (train,)
    assert found.against("train-ai") == train
    assert found.against("search") is None


def test_a_value_that_cannot_be_read_is_kept_as_it_is_written() -> None:
    """One statement without a label, and its text."""
    robots = RobotsTxt.parse("User-agent: *\nContent-Usage: Train-AI=n")
    found = robots.preferences("https://e.org/a", "mybot")
    [statement] = found.statements
    assert (statement.label, statement.answer, statement.value) == ("", "unknown", "Train-AI=n")


def test_a_license_that_is_not_a_url_is_neither_a_licence_nor_a_statement() -> None:
    """RSL 1.0; but the group has such a line, so that those of the whole file do not count."""
    robots = RobotsTxt.parse("License: https://e.org/l\nUser-agent: a\nLicense: none\nAllow: /")
    for agent, licenses in (("a", []), ("b", ["https://e.org/l"])):
        found = robots.preferences("https://e.org/", agent)
        assert ([one.url for one in found.licenses], found.statements) == (licenses, ())


def test_a_category_that_does_not_exist_is_an_error_of_the_caller() -> None:
    """Else a misspelt purpose would never be disallowed."""
    found = RobotsTxt.parse("").preferences("https://e.org/a", "mybot")
    with pytest.raises(KeyError, match="ai-train"):
        found["ai-train"]


def test_a_rule_says_the_same_about_each_page() -> None:
    """draft-ietf-aipref-attach-05 section 3."""
    robots = RobotsTxt.parse(FIGURE)
    for path in ("/ai-ok/a", "/ai-ok/b", "/ai-ok/a"):
        assert answers(robots.preferences(f"https://e.org{path}", "otherbot")) == "train-ai=y"


@rows("path, group", [("/", None), ("/private", "google-extended"), ("/all", None)])
def test_a_purpose_is_refused_by_the_group_that_names_it(path: str, group: str | None) -> None:
    """draft-kelley-aipref-training-preference-signal-00; never by the group of all crawlers."""
    named = "User-agent: Google-Extended\nDisallow: /private\n"
    whole = RobotsTxt.parse("User-agent: *\nDisallow: /all\n" + named)
    found = refusal_by_name(whole, f"https://e.org{path}", "google-extended")
    assert (None if found is None else found.group) == group
    assert refusal_by_name(RobotsTxt.parse(OWN), "https://e.org/admin", "google-extended") is None
