"""The example project, run as a newcomer runs it: by its commands, from its folder."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import pairwise, takewhile

import pytest

from tests.crawl.harness import WARNINGS
from tests.processes import ROOT, run_python
from tests.replies import Reply, html
from tests.rows import first
from tests.site import Site
from tests.timed import timed

FOLDER = ROOT / "example_project"
COLUMN = re.compile(r"(?:^|(?<=\s\s))\S")
SITE = ("-m", "scrapy", "crawl", "site", "-s", "DOWNLOAD_DELAY=0.01", "-a")
HEADING = re.compile(r"(?:(\w+): )?(https?://\S+) \(robots\.txt: (.+)\)")


def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One `scrapy` command in the project's folder, as the command line gives it."""
    return python("-m", "scrapy", *arguments)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One Python process in the project's folder."""
    return run_python(*arguments, options=WARNINGS, cwd=FOLDER)


def printed(*arguments: str) -> str:
    """What one Python process there prints that ends well."""
    done = python(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table_of(output: str) -> dict[str, list[tuple[str, ...]]]:
    """The rows of each site by its name, or its origin: robots.txt, page, result, by, ...

    The status of a robots.txt is in the first row of its site. The times are left out.
    """
    assert max(len(line) for line in output.splitlines()) <= 100
    lines = iter(output.splitlines())
    head = next(line for line in lines if line.startswith("  page "))
    starts = [match.start() for match in COLUMN.finditer(head)]
    next(lines)
    table: dict[str, list[tuple[str, ...]]] = {}
    for line in lines:
        if not line:
            break
        if heading := HEADING.fullmatch(line):
            rows = table.setdefault(heading[1] or heading[2], [])
            status = heading[3]
        else:
            ends = [*starts[1:], None]
            page, result, at, *by = (line[a:b].strip() for a, b in zip(starts, ends, strict=True))
            assert re.fullmatch(r"\d+\.\d s", at)
            rows.append((status, page, result, *by))
            status = ""
    return table


def times_of(output: str, site: str) -> list[float]:
    """When the pages of a site were fetched, in seconds, in order."""
    own = output.partition(f"\n{site}: ")[2].partition(")\n")[2]
    lines = takewhile(lambda line: line.startswith("  "), own.splitlines())
    return sorted(float(line.split("fetched")[1].split()[0]) for line in lines)


@cache
def demo() -> subprocess.CompletedProcess[str]:
    """The demo crawl, run once."""
    return scrapy("crawl", "demo")


def everything(status: str) -> list[tuple[str, ...]]:
    """The rows of a site that forbids nothing."""
    pages = ("/", "/private/", "/private/open", "/shop", "/shop?print=yes")
    return [(status if page == "/" else "", page, "fetched", "", "", "") for page in pages]


def nothing(status: str, *why: str) -> list[tuple[str, ...]]:
    """The rows of a site that forbids everything."""
    pages = ("/", "/private/", "/shop")
    return [(status if page == "/" else "", page, "dropped", *why) for page in pages]


SITES = {
    "allows": everything("200"),
    "forbids": nothing("200", "Disallow: /", "2", "*"),
    # two agents get two groups of one robots.txt (RFC 9309 2.2.1)
    "groups": [
        ("200", "/", "fetched", "", "", ""),
        ("", "/private/", "dropped", "Disallow: /private/", "5", "examplebot"),
        ("", "/private/ as otherbot", "fetched", "", "", ""),
        ("", "/private/open", "fetched", "", "", ""),
        ("", "/shop", "fetched", "", "", ""),
        ("", "/shop as otherbot", "dropped", "Disallow: /shop", "10", "otherbot"),
        ("", "/shop?print=yes", "dropped", "Disallow: /*?print=", "7", "examplebot"),
    ],
    "fails": nothing("503, 503", "unreachable: status 503", "", ""),
    "moved": nothing("302 > 200", "Disallow: /", "2", "*"),
    "missing": everything("404"),
    "paced": everything("200"),
}
"""What the demo finds (RFC 9309 2.2.2, 2.3.1); beside these, there is a site that recovers."""


def test_demo_shows_what_each_site_agrees_to() -> None:
    """Eight sites; one warning, for the site whose robots.txt fails; exit code 0."""
    done = demo()
    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert "is unreachable (status 503)" in line
    assert "robots.txt files fetched: 10" in done.stdout  # two sites take a second attempt
    found = table_of(done.stdout)
    assert [*found] == [*SITES, "recovers"]
    # RFC 9309 2.3.1.4: a 503 forbids everything; the rules of the next attempt are followed.
    rows = found.pop("recovers")
    assert rows[0][0] == "503, 200"
    assert [row[1] for row in rows if row[2] == "fetched"] == ["/", "/shop", "/shop?print=yes"]
    assert {row[3] for row in rows if row[2] == "dropped"} == {"Disallow: /private/"}
    assert found == SITES


@timed
def test_demo_keeps_the_pace_of_a_site() -> None:
    """Crawl-delay: 0.5 (RFC 9309 2.2.4), while the other sites are long done."""
    times = times_of(demo().stdout, "paced")
    assert len(times) == 5
    assert all(b - a >= 0.4 for a, b in pairwise(times))  # the table rounds to tenths


@pytest.mark.slow
def test_each_answer_is_shown_with_the_middleware_of_scrapy_too() -> None:
    """The redirect to another site is dropped, and RetryMiddleware repeats a 503."""
    done = scrapy("crawl", "demo", "-s", "ADDONS={}", "-s", "ROBOTSTXT_OBEY=1")
    found = {site: rows[0][0] for site, rows in table_of(done.stdout).items()}
    assert (found["moved"], found["fails"]) == ("302", "503, 503, 503")


@pytest.mark.slow
def test_second_run_fetches_no_robots_txt() -> None:
    """RFC 9309 2.4: what is stored is used by a later crawl, a failure as well."""
    first, second = printed("-m", "example.twice").split("The second run:")
    assert "robots.txt files fetched: 10" in first
    assert "robots.txt files fetched: 0" in second
    assert {rows[0][0] for rows in table_of(second).values()} == {"stored"}
    assert [(s, *r[1:]) for s, rows in table_of(first).items() for r in rows] == [
        (s, *r[1:]) for s, rows in table_of(second).items() for r in rows
    ]


def test_site_crawls_within_one_host(site: Site) -> None:
    """Links of the same host are followed, once each; robots.txt is obeyed; 404 is a failure."""
    other = site.authority(host="127.0.0.9")
    shop = site.authority("User-agent: examplebot\nDisallow: /private\n")
    links = ("/a", "/a", "/private", "/gone", other.url("/"))
    home = "".join(f'<a href="{link}">x</a>' for link in links)
    shop.pages = {"/": html(home), "/a": html('<a href="/">up</a>'), "/gone": Reply(404)}
    assert table_of(printed(*SITE, f"url={shop.url('/')}")) == {
        shop.url("/").removesuffix("/"): [
            ("200", "/", "fetched", "", "", ""),
            ("", "/a", "fetched", "", "", ""),
            ("", "/gone", "failed", "status 404", "", ""),
            ("", "/private", "dropped", "Disallow: /private", "2", "examplebot"),
        ]
    }
    assert other.hits == []


def test_site_stops_at_its_page_limit(site: Site) -> None:
    """`pages` bounds the requests for pages."""
    shop = site.authority(pages=html("".join(f'<a href="/{n}">x</a>' for n in range(9))))
    printed(*SITE, f"url={shop.url('/')}", "-a", "pages=3")
    assert len(shop.page_hits) == 3


@pytest.mark.parametrize(
    "argument", first(1, ["url=example.org", "url=", "url=ftp://e.org/", "url=http://["])
)
def test_site_names_a_bad_url_in_one_line(argument: str) -> None:
    """A mistake on the command line is answered by how to do it, not by a traceback."""
    done = scrapy("crawl", "site", "-a", argument)
    assert done.returncode != 0
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{argument}: not an http or https URL")
