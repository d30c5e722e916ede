"""However a URL is written, the command judges what a request for it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_rep.access.authority import Authority, authority_of
from scrapy_rep.commands.filter import Ruling, Sieve, lines_of
from scrapy_rep.gate.page_url import requested_url
from scrapy_rep.robotstxt.normal_form import form_of
from scrapy_rep.robotstxt.profiles import PROFILES
from tests.commands.running import robots, told
from tests.crawl.harness import crawl_in_child
from tests.crawl.plugin import obey
from tests.robotstxt.paths import match_path
from tests.rows import first
from tests.site import Site

TEXT = """User-agent: *
Disallow: /tab
Disallow: /*bad$
Disallow: /*?$
Disallow: /a b
Disallow: /ä
Disallow: /br[1]
Disallow: /pipe?a=b|c
Disallow: /q?q=1
Disallow: //double
Disallow: /dot/b
Disallow: /%7Etilde
Disallow: /quote'
"""
PATHS = (
    *("/", "", "?x", "/free", "/free?", "/free?a=1", "/free#part"),
    *("/tab", "/ta\tb", "/t\ta\tb/page", "/tab ", "\\tab", "/\\tab", "/x\\tab", "/free\ttab"),
    *("/xbad", "/xbad?", "/xbad#part", "/xbad?#part", "/xbad??", "/xbad#part?"),
    *("/xbad ", "/xbad\t"),
    *("/a b", "/a%20b", "/a\tb", "/ä", "/%C3%A4", "/%c3%a4"),
    *("/br[1]", "/br%5B1%5D", "/pipe?a=b|c", "/pipe?a=b%7Cc"),
    *("/q?q=1", "/q?q=1#part", "/q?q=%31", "/q?\tq=1", "//double", "/dot/./b", "/dot/%2e/b"),
    *("/~tilde", "/quote'", "/quote%27", "/%zz", "/robots.txt", "/robots.txt?", "/robots.txt?x"),
)
"""What may stand after the port of a URL."""


def spellings(origin: str) -> list[str]:
    """URLs of a site, written in many ways."""
    host = origin.removeprefix("http://")
    urls = [f"{before}{origin}/tab{after}" for before in ("", " ", "\t ") for after in ("", "  ")]
    urls += [f"HTTP://{host}/tab", f"http://user:pw@{host}/tab", f"ht\ttp://{host}/tab"]
    urls += [f"http:\\\\{host}/tab", f"http://{host[:5]}\t{host[5:]}/xbad?", f"  {origin}/free "]
    return [*dict.fromkeys([origin + path for path in PATHS] + urls)]


def crawled(urls: Sequence[str]) -> dict[str, bool]:
    """Which of these URLs a crawl fetches, by what was asked for."""
    plans = [{"url": url, "dont_filter": True} for url in urls]
    result = crawl_in_child(settings=obey(), plans=plans).check()
    kinds = {url: result.kind(url) for url in urls}
    assert {*kinds.values()} == {"downloaded", "forbidden"}
    return {url: kind == "downloaded" for url, kind in kinds.items()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The rules in a file."""
    file = tmp_path / "robots.txt"
    file.write_text(TEXT)
    return file


def test_every_spelling_is_judged_as_by_a_crawl(site: Site, tmp_path: Path, file: Path) -> None:
    """By `check` and `filter`, with rules that are fetched and from a file; shown as given."""
    rejected = tmp_path / "rejected"
    urls = spellings(site.authority(robots=TEXT).url(""))
    decided = crawled(urls)
    for words in ((), ("--robots-txt", file)):
        rows = told("check", *words, *urls)
        said = {url: row["verdict"] == "allowed" for url, row in zip(urls, rows, strict=True)}
        assert said == decided, words
        assert {row["url"] for row in rows} == {url.replace("user:pw@", "") for url in urls}
        ended = robots("filter", *words, "--rejected", rejected, given="\n".join(urls))
        assert ended.out.split("\n")[:-1] == [url for url in urls if decided[url]], words
        dropped = [line.rpartition("\t")[0] for line in rejected.read_text().split("\n")[:-1]]
        assert dropped == [url for url in urls if not decided[url]], words


@pytest.mark.parametrize(
    ("path", "rule"), first(1, [("/ta\tb", "/tab"), ("/xbad?", "/*bad$"), ("\\tab", "/tab")])
)
@pytest.mark.parametrize("is_fetched", [True, False])
def test_explanation_is_of_the_url_that_is_requested(
    site: Site, file: Path, path: str, rule: str, is_fetched: bool
) -> None:
    """By the rule that decides; the URL is shown as given."""
    url = site.authority(robots=TEXT).url("") + path
    words = () if is_fetched else ("--robots-txt", file)
    [said] = told("explain", *words, url)
    assert (said["url"], said["verdict"]) == (url, "disallowed")
    assert said["by_rules"]["rule"] == said["rule"] == f"Disallow: {rule}"


def test_preferences_are_those_of_the_url_that_is_requested(file: Path) -> None:
    """A tab hides no statement about the use of a page."""
    file.write_text("User-agent: *\nContent-Usage: /art train-ai=n\nDisallow: /private\n")
    [row] = told("check", "--robots-txt", file, "https://e.org/a\trt")
    assert row["preferences"] == {"train-ai": "disallowed"}


@pytest.mark.parametrize(
    "url", first(1, ["http://e.org:99999/tab", "http://e.org:x/", "http:///tab", " http://[::1/"])
)
def test_what_cannot_be_requested_is_a_mistake(tmp_path: Path, file: Path, url: str) -> None:
    """`check` and `explain` end with status 2; `filter` passes over the line."""
    rejected = tmp_path / "rejected"
    for name in ("check", "explain"):
        ended = robots(name, "--robots-txt", file, url)
        assert (ended.status, ended.out) == (2, ""), name
        assert "no usable host and port in the URL" in ended.err
    ended = robots("filter", "--robots-txt", file, "--rejected", rejected, given=url)
    assert (ended.status, ended.out) == (0, "")
    assert rejected.read_text() == f"{url}\tnot a URL\n"


class Asked:
    """Rules that say what they are asked for; `allowed` says what may pass."""

    def __init__(self, allowed: Callable[[str], bool] = lambda _: True) -> None:
        self.urls: list[str] = []
        self._allowed = allowed

    def ruling(self, authority: Authority) -> Ruling:
        """The ruling of any authority."""
        return Ruling(self._ask, lambda _: "a rule")

    def _ask(self, url: str) -> bool:
        self.urls.append(url)
        return self._allowed(url)


def test_octets_that_are_not_utf8_stay_and_hide_nothing() -> None:
    """Latin-1 in a line is kept, and the tab before it is still dropped."""
    rejected = BytesIO()
    rules = Asked(lambda url: "/tab" not in url)
    sieve = Sieve(rejected)
    lines = b"http://e.org/ta\tb\xe4\nhttp://e.org/free\xe4"
    assert sieve.sort(lines_of(lines), rules.ruling) == b"http://e.org/free\xe4\n"
    assert rejected.getvalue() == b"http://e.org/ta\tb\xe4\ta rule\n"


STARTS = ("http://e.org/", "http://e.org?", "http://e.org", "HTTPS://U@E.org:443/a", "http:", "")
LINES = st.builds(
    str.__add__,
    st.sampled_from(STARTS),
    st.text(st.characters(max_codepoint=0x17F, exclude_characters="\n")) | st.text("/?#%[]\\ \t.a"),
)


@given(st.lists(LINES, min_size=1))
@example(["http://e.org/a?", "http://e.org/b"])
@example(["http://e.org/a?#b"])
@example(["http://e.org/a", "http://e.org/b?"])
@example(["http://e.org[::1]/a"])
def test_no_line_is_spared_that_a_request_would_change(lines: list[str]) -> None:
    """What is not quoted has the authority and the path, in each profile, that requests have."""
    rules = Asked()
    Sieve(None).sort(lines_of("\n".join(lines).encode()), rules.ruling)
    whole = [line.removesuffix("\r") for line in "\n".join(lines).split("\n")]
    assert sorted(map(seen, rules.urls)) == sorted(filter(None, map(asked, whole)))


def seen(url: str) -> tuple[str, ...]:
    """The authority of a URL and its path in the form of each profile; () if none governs it."""
    authority = authority_of(url)
    forms = [form_of(PROFILES[name]) for name in ("rfc9309", "google", "1996", "1994", "kollar")]
    return () if authority is None else (str(authority), *(match_path(url, form) for form in forms))


def asked(url: str) -> tuple[str, ...]:
    """The same of what a request for it asks for; () if there can be none."""
    try:
        return seen(requested_url(url))
    except ValueError:
        return ()
