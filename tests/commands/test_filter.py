"""`scrapy robots filter`: what is allowed comes out, byte for byte and in order."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import itertools
import os
import random
import re
import signal
import subprocess
import time
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.access.authority import Authority
from scrapy_rep.commands.archives import NewestResponses
from scrapy_rep.commands.filter import LONGEST, chunks_of
from scrapy_rep.commands.output import EndingError
from tests.benchmarks import inputs
from tests.commands.archive import Fields, Response, write_archive
from tests.commands.running import SCRAPY, Ended, environment, robots, unforked, written
from tests.replies import Reply
from tests.rows import first, rows
from tests.site import Site

RULES = b"User-agent: *\nDisallow: /private\n"
A_ORG = Authority("https", "a.org", 443)
DATE = "2026-01-01T00:00:00Z"


def day(number: int) -> str:
    """A date of WARC; the first one is `DATE`."""
    return f"2026-01-0{number}T00:00:00Z"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive with the files of some sites."""
    return write_archive(
        tmp_path / "robots.warc.gz",
        ("https://e.org/robots.txt", DATE, 200, RULES),
        ("https://e.org:8443/robots.txt", DATE, 200, b"User-agent: *\nDisallow: /\n"),
        ("http://open.org/robots.txt", DATE, 200, b""),
    )


@pytest.fixture
def rejected(tmp_path: Path) -> Path:
    """The file for what is not allowed."""
    return tmp_path / "rejected"


def by_archive(file: Path, given: bytes | str, *words: object) -> Ended:
    """What the command makes of some URLs by an archive."""
    return robots("filter", "--warc", file, *words, given=given)


def reasons(rejected: Path) -> dict[str, str]:
    """Why each URL was rejected."""
    return dict(line.split("\t") for line in rejected.read_text().splitlines())


def waiting(*words: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """The command, which waits for URLs."""
    return subprocess.Popen(
        [*SCRAPY, "robots", "filter", *words],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
    )


def test_allowed_urls_come_out_as_they_are(archive: Path, rejected: Path) -> None:
    """Octets that are not UTF-8 too; only the line end is always LF. The rest is summed up."""
    urls = [
        b"https://e.org/a",
        b"https://e.org/private/x",
        b"https://E.ORG:443/\xff\xfe?\xc3\xa9#f",
        b"https://e.org:8443/a",
        b"https://u:p@e.org/a b",
        b"http://open.org",
        b"https://e.org/private/y\t",
        b"https://nobody.org/",
        b"junk",
        b"",
        b"ftp://e.org/private",
        b"https://e.org?private",
        b"https://u;v:p;w@e.org/private",
    ]
    words = ("filter", "--warc", archive, "--rejected", rejected, "-")
    status, out = written(*words, given=b"\r\n".join(urls))
    assert status == 3
    *allowed, summary, rest = out.split(b"\n")
    assert allowed == [urls[at] for at in (0, 2, 4, 5, 10, 11)]
    said = b"13 lines: 6 allowed, 4 disallowed, 2 malformed, 1 undecided"
    assert (summary, rest) == (b"scrapy robots filter: " + said, b"")
    rows = [line.rpartition(b"\t") for line in rejected.read_bytes().splitlines()]
    assert [(url, reason) for url, _, reason in rows] == [
        (urls[1], b"Disallow: /private, line 2, group *"),
        (urls[3], b"Disallow: /, line 2, group *"),
        (urls[6], b"Disallow: /private, line 2, group *"),
        (urls[7], b"not in the archive"),
        (urls[8], b"not a URL"),
        (urls[9], b"not a URL"),
        (urls[12], b"Disallow: /private, line 2, group *"),
    ]


@rows(
    "words, out, status",
    ((), "", 3),
    (("--missing", "reject"), "", 0),
    (("--missing", "allow"), "https://n.org/\n", 0),
)
def test_what_becomes_of_missing_sites_is_for_the_user_to_say(
    archive: Path, words: tuple[str, ...], out: str, status: int
) -> None:
    """Without it they are rejected, and the status tells that they were not decided."""
    ended = by_archive(archive, "https://n.org/\n", *words)
    assert (ended.status, ended.out) == (status, out)


@pytest.mark.slow
def test_many_urls_get_the_verdicts_of_the_matcher(tmp_path: Path) -> None:
    """In their order, over the borders of chunks, whatever site they belong to."""
    rnd = random.Random(7)
    bodies = {f"s{n}.org": inputs.file(rnd) for n in range(50)}
    files = [(f"https://{host}/robots.txt", DATE, 200, body) for host, body in bodies.items()]
    archive = write_archive(tmp_path / "a.warc.gz", *files)
    urls = []
    for host, body in bodies.items():
        urls += [u.replace("www.example.com", host) for u in inputs.urls(rnd, body, 900)]
    rnd.shuffle(urls)
    (tmp_path / "urls").write_text("\n".join(urls))
    words = ("filter", "--warc", archive, "--agent", "Googlebot")
    ended = robots(*words, tmp_path / "urls")
    parsed = {host: RobotsTxt.parse(body) for host, body in bodies.items()}
    wanted = [url for url in urls if parsed[url.split("/")[2]].allowed(url, "Googlebot")]
    assert 0 < len(wanted) < len(urls)
    assert ended.out.split("\n") == [*wanted, ""]
    (tmp_path / "urls.gz").write_bytes(gzip.compress("\n".join(urls).encode()))
    assert robots(*words, tmp_path / "urls.gz") == ended


@pytest.mark.parametrize(
    ("output", "words"),
    [
        *((name, "--robots-txt rules urls") for name in ("urls", "rules", "link")),
        ("archive.warc", "--warc archive.warc urls"),
        ("overrides.toml", "--robots-txt rules -s REP_OVERRIDES=overrides.toml urls"),
    ],
)
def test_what_is_read_is_never_overwritten(tmp_path: Path, output: str, words: str) -> None:
    """Status 2, and every file is as it was."""
    (tmp_path / "rules").write_bytes(RULES)
    (tmp_path / "urls").write_text("https://e.org/private\n")
    (tmp_path / "link").symlink_to(tmp_path / "rules")
    (tmp_path / "overrides.toml").write_text("")
    write_archive(tmp_path / "archive.warc", ("https://e.org/robots.txt", DATE, 200, RULES))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    ended = robots("filter", *words.split(), "--rejected", output, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == f"scrapy robots filter: {output} is read, and would be overwritten\n"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("uri", ["sqlite:", "sqlite://{}"])
def test_a_store_is_never_overwritten(tmp_path: Path, uri: str) -> None:
    """Whichever way it is named: status 2, and the file is as it was."""
    store = tmp_path / ".scrapy/robots/robots.db"
    robots("store", "import", "-s", f"REP_STORE=sqlite://{store}")
    before = store.read_bytes()
    words = ("filter", "-s", f"REP_STORE={uri.format(store)}", "--rejected", store)
    ended = robots(*words, given="http://127.0.0.1:1/x\n", cwd=tmp_path)
    assert (ended.status, store.read_bytes()) == (2, before)
    assert ended.err == f"scrapy robots filter: {store} is a database, and would be overwritten\n"


def test_a_shell_that_appends_to_an_input_is_stopped(tmp_path: Path) -> None:
    """`filter urls >> urls` would read what it writes, for ever."""
    urls = tmp_path / "urls"
    urls.write_text("https://e.org/a\n")
    with urls.open("ab") as out:
        status, _ = written("filter", "--robots-txt", os.devnull, urls, to=out)
    said = f"scrapy robots filter: {urls} is read, and is standard output as well"
    assert (status, urls.read_text().splitlines()) == (2, ["https://e.org/a", said])


def test_no_output_is_opened_before_the_rules_are_read(tmp_path: Path, rejected: Path) -> None:
    """What an earlier call has written stays if this one cannot begin."""
    rejected.write_text("precious")
    words = ("filter", "--rejected", rejected)
    assert robots(*words, "--robots-txt", tmp_path / "none").status == 2
    assert robots(*words, "--warc", tmp_path / "none").status == 2
    assert rejected.read_text() == "precious"


def test_archive_gives_the_rules(tmp_path: Path, rejected: Path) -> None:
    """Statuses mean what they mean in a crawl (RFC 9309 section 2.3.1); the newest counts."""
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://a.org/robots.txt", day(2), 200, b"User-agent: *\nDisallow: /new"),
        ("https://a.org/robots.txt", day(1), 200, b"User-agent: *\nDisallow: /old"),
        ("https://a.org/page", day(3), 200, b"User-agent: *\nDisallow: /"),
        ("https://b.org/robots.txt", day(1), 404, b"User-agent: *\nDisallow: /"),
        ("https://c.org/robots.txt", day(1), 503, b""),
        ("https://d.org/robots.txt", day(1), 301, b"https://a.org/robots.txt"),
        ("https://e.org/robots.txt", day(1), 301, b"https://lost.org/robots.txt"),
    )
    given = "".join(f"https://{site}.org/{path}\n" for site in "abcdef" for path in ("old", "new"))
    ended = by_archive(file, given, "--rejected", rejected)
    assert ended.status == 3
    assert ended.out.split() == [
        "https://a.org/old", "https://b.org/old", "https://b.org/new", "https://d.org/old"
    ]  # fmt: skip
    why = reasons(rejected)
    assert why["https://c.org/old"] == "unreachable: status 503"
    assert why["https://e.org/old"] == why["https://f.org/old"] == "not in the archive"
    assert why["https://d.org/new"] == "Disallow: /new, line 2, group *"


def test_revisit_is_the_response_that_it_repeats(tmp_path: Path, rejected: Path) -> None:
    """ISO 28500 section 6.7. What the archive lacks is not known, and never permission."""
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://a.org/robots.txt", day(1), 200, RULES),
        ("https://a.org/robots.txt", day(2), 304, RULES),
        ("https://b.org/robots.txt", day(1), 304, RULES),
        ("https://c.org/robots.txt", day(1), 200, b""),
        ("https://c.org/robots.txt", day(2), 304, RULES),
    )
    given = "".join(f"https://{site}.org/{path}\n" for site in "abc" for path in ("x", "private"))
    ended = by_archive(file, given, "--missing", "allow", "--rejected", rejected)
    assert ended.out == "https://a.org/x\n"
    assert rejected.read_text().count("the archive lacks the response") == 4


LOCATIONS = (
    *("https://{}:443/robots.txt", "https://{}/ROBOTS.TXT", "https://{}/robots.txt#x"),
    *("https://{}/en/robots.txt", "https://{}/robots.txt?v=2", "/rules.txt"),
)
"""Where redirects of http://{}/robots.txt lead to."""


def test_a_redirect_within_an_archive_is_followed_however_it_is_spelt(tmp_path: Path) -> None:
    """As a crawl follows it; the target may stand before or behind the redirect."""
    records, sites = [], [f"a{number}.org" for number in range(2 * len(LOCATIONS))]
    for site, location in zip(sites, (*LOCATIONS, *LOCATIONS), strict=True):
        source, to = f"http://{site}/robots.txt", location.format(site)
        target = urljoin(source, to).partition("#")[0].replace(":443", "")
        to = to.replace(site, site.upper())
        records += [(source, DATE, 301, to.encode()), (target, DATE, 200, RULES)]
    half = len(records) // 2
    file = write_archive(tmp_path / "a.warc.gz", *records[:half], *records[half:][::-1])
    given = [f"http://{site}/{path}" for site in sites for path in ("private/x", "a")]
    ended = by_archive(file, "\n".join(given), "--missing", "allow")
    assert (ended.status, ended.out.split()) == (0, given[1::2])


def test_the_newest_record_counts_to_the_fraction_of_a_second(tmp_path: Path) -> None:
    """WARC 1.1 has dates with fractions; 00.5 is later than 00."""
    ends = {"00Z": b"", "00.5Z": RULES, "00.25Z": b""}
    records, wanted = [], []
    for number, two in enumerate(itertools.permutations(ends, 2)):
        site = f"https://a{number}.org"
        date = "2026-01-01T00:00:{}".format
        records += [(f"{site}/robots.txt", date(end), 200, ends[end]) for end in two]
        wanted += [f"{site}/private"] * ("00.5Z" not in two)
    file = write_archive(tmp_path / "a.warc.gz", *records)
    given = "".join(f"https://a{number}.org/private\n" for number in range(6))
    assert by_archive(file, given).out.split() == wanted


@pytest.mark.parametrize("compressed", first(1, [True, False]), ids=["gzip", "plain"])
def test_an_archive_that_breaks_off_decides_nothing(tmp_path: Path, compressed: bool) -> None:
    """Wherever it breaks off: refused, or as if the records behind that place were not there."""
    file = write_archive(
        tmp_path / ("a.warc.gz" if compressed else "a.warc"),
        ("https://other.org/robots.txt", DATE, 200, b""),
        ("https://a.org/robots.txt", DATE, 200, RULES),
    )
    whole = file.read_bytes()
    decided = 0
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with contextlib.suppress(EndingError):
            found = NewestResponses(str(file), 5).find(A_ORG)
            decided += found is not None
            # Or it broke off at the very end of a record.
            assert found is None or (found.status, found.body, found.damage) == (200, RULES, "")
    assert decided <= 4  # only the line ends behind the last record are missing


@pytest.mark.parametrize("at", [0, 1], ids=["first", "last"])
def test_a_record_that_ends_with_its_gzip_member_may_be_cut(tmp_path: Path, at: int) -> None:
    """Its Content-Length counts: where a member ends well, the record within it may be cut."""
    urls = ("https://a.org/robots.txt", "https://other.org/robots.txt")
    file = write_archive(tmp_path / "a.warc.gz", *[(url, DATE, 200, RULES) for url in urls])
    members, rest = [], file.read_bytes()
    while rest:
        member = zlib.decompressobj(31)
        members.append(member.decompress(rest))
        rest = member.unused_data
    for cut in (5, 6, 10, 40):  # behind the body stand four octets of line ends
        several = [
            octets[: -cut or None] if n == at else octets for n, octets in enumerate(members)
        ]
        file.write_bytes(b"".join(map(gzip.compress, several)))
        with pytest.raises(EndingError, match="is damaged"):
            NewestResponses(str(file), 5)


def test_a_record_that_is_damaged_decides_nothing(tmp_path: Path, rejected: Path) -> None:
    """A wrong digest, or a Content-Length that is not that of the record."""
    file = write_archive(
        tmp_path / "a.warc",
        ("https://a.org/robots.txt", DATE, 200, RULES),
        ("https://other.org/robots.txt", DATE, 200, b""),
    )
    whole = file.read_bytes()
    words = ("--missing", "allow", "--rejected", rejected)
    file.write_bytes(whole.replace(b"Disallow: /private", b"Disallow: /privatf"))
    given = "https://a.org/private\nhttps://other.org/a\n"
    ended = by_archive(file, given, *words)
    assert (ended.status, ended.out) == (3, "https://other.org/a\n")
    assert "its digest is wrong" in rejected.read_text()
    length = re.search(rb"Content-Length: (\d+)", whole)
    for wrong in (int(length[1]) + 7, int(length[1]) - 7):
        file.write_bytes(whole.replace(length[0], b"Content-Length: %d" % wrong, 1))
        ended = by_archive(file, given, *words)
        assert (ended.status, ended.out) == (2, "")
        assert "is damaged" in ended.err


def test_an_archive_is_read_within_the_limits_of_the_crawl(tmp_path: Path) -> None:
    """RFC 9309 sections 2.3.1.2 and 2.5: what lies behind the default limits may forbid."""
    hops: list[Response] = [
        (f"http://h{n}.org/robots.txt", DATE, 301, f"http://h{n + 1}.org/robots.txt".encode())
        for n in range(7)
    ]
    large = b"User-agent: *\n" + (b"#" * 99 + b"\n") * 6_000 + b"Disallow: /\n"
    file = write_archive(
        tmp_path / "a.warc",
        *hops,
        ("http://h7.org/robots.txt", DATE, 200, b"User-agent: *\nDisallow: /\n"),
        ("http://large.org/robots.txt", DATE, 200, large),
    )
    far, near, last = "http://h0.org/a\n", "http://h2.org/a\n", "http://large.org/a\n"
    assert by_archive(file, far + near + last).out == far + last
    more = ("-s", "REP_MAX_REDIRECTS=7", "-s", "REP_MAX_SIZE=2000000")
    assert by_archive(file, far + near + last, *more).out == ""


GZIPPED = gzip.compress(RULES, mtime=0)


ANSWERS: dict[str, tuple[int, Fields, bytes, str]] = {
    "302 to nowhere": (302, [], b"", "unreachable: status 302"),
    "302 to no host": (302, [("Location", "http://")], b"", "unreachable: status 302"),
    "302 to no URL": (302, [("Location", "http://[bad/")], b"", "unreachable: status 302"),
    "302 to ftp": (302, [("Location", "ftp://e.org/robots.txt")], b"", "unreachable: status 302"),
    "407": (407, [], b"", "unreachable: proxy failure 407"),
    "206": (206, [], RULES, "unreachable: status 206"),
    "x-gzip": (200, [("Content-Encoding", "x-gzip")], GZIPPED, "Disallow: /private"),
    "gzip twice": (200, [("Content-Encoding", "gzip, gzip")], gzip.compress(GZIPPED, mtime=0),
        "Disallow: /private"),
    "codings in two fields": (200, [("Content-Encoding", "gzip"), ("Content-Encoding", "identity")],
        GZIPPED, "Disallow: /private"),
    "not gzip": (200, [("Content-Encoding", "gzip")], RULES, "cannot be read"),
    "half of gzip": (200, [("Content-Encoding", "gzip")], GZIPPED[:-4], "cannot be read"),
    "compress": (200, [("Content-Encoding", "compress")], RULES, "cannot be read"),
    "broken brotli": (200, [("Content-Encoding", "br")], b"\xff\xff", "cannot be read"),
    **{f"a cut {status}": (status, [("Location", "/a"), ("Content-Length", "99")], RULES,
        "shorter than its Content-Length") for status in (200, 301, 403, 404)},
    "a whole one": (200, [("Content-Length", str(len(RULES)))], RULES, "Disallow: /private"),
}  # fmt: skip


def test_a_refusal_by_a_proxy_is_not_the_sites(tmp_path: Path, rejected: Path) -> None:
    """As in a crawl: one in plain http with the mark of a proxy; through TLS none can answer."""
    squid = [("X-Squid-Error", "ERR_ACCESS_DENIED 0")]
    marks: list[Fields] = [squid, [("Server", "tinyproxy/1")], [("Proxy-Authenticate", "Basic")]]
    urls = [f"http://a{n}.org/" for n in range(len(marks))] + ["https://b.org/"]
    fields = {f"{url}robots.txt": mark for url, mark in zip(urls, [*marks, squid], strict=True)}
    records = [(url, DATE, 403, b"") for url in fields]
    file = write_archive(tmp_path / "a.warc", *records, fields=fields)
    ended = by_archive(file, "\n".join(urls), "--rejected", rejected)
    assert ended[:2] == (3, "https://b.org/\n")
    assert rejected.read_text().count("a proxy") == len(marks)


@rows("target, status", ("http://proxy.org/denied", 3), ("https://a.org/robots.txt", 0))
def test_a_proxy_may_redirect_to_a_page_of_its_own(
    tmp_path: Path, target: str, status: int
) -> None:
    """A redirect to another host is no answer of the site; one from http to https may be."""
    fields = {"http://a.org/robots.txt": [("X-Squid-Error", "ERR 0"), ("Location", target)]}
    records = [("http://a.org/robots.txt", DATE, 302, b""), (target, DATE, 200, b"<p>Denied")]
    file = write_archive(tmp_path / "a.warc", *records, fields=fields)
    assert by_archive(file, "http://a.org/").status == status


@pytest.mark.parametrize("status", [404, 302])
def test_a_body_that_does_not_count_need_not_be_decoded(tmp_path: Path, status: int) -> None:
    """As in a crawl: the page of an error may say gzip, and be none."""
    url, fields = "https://a.org/robots.txt", [("Location", "/x"), ("Content-Encoding", "gzip")]
    records = [(url, DATE, status, RULES), ("https://a.org/x", DATE, 404, b"")]
    file = write_archive(tmp_path / "a.warc", *records, fields={url: fields})
    given = "https://a.org/private\n"
    assert by_archive(file, given)[:2] == (0, given)


def test_an_archived_answer_means_what_it_means_in_a_crawl(tmp_path: Path, rejected: Path) -> None:
    """RFC 9309 section 2.3.1, and no answer spoils the archive for other sites."""
    urls = {name: f"https://a{number}.org/" for number, name in enumerate(ANSWERS)}
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://other.org/robots.txt", DATE, 200, RULES),
        *[(f"{urls[name]}robots.txt", DATE, ANSWERS[name][0], ANSWERS[name][2]) for name in urls],
        fields={f"{urls[name]}robots.txt": ANSWERS[name][1] for name in urls},
    )
    given = [*(f"{url}private" for url in urls.values()), "https://other.org/a"]
    ended = by_archive(file, "\n".join(given), "--missing", "allow", "--rejected", rejected)
    assert (ended.status, ended.out) == (3, "https://other.org/a\n")
    whys = [line.rpartition("\t")[2] for line in rejected.read_text().splitlines()]
    for name, why in zip(urls, whys, strict=True):
        assert ANSWERS[name][3] in why, name


@rows(
    "path, body, cut",
    ("tenant/robots.txt", b"", ""),
    ("robots.txt", b"User-agent: *\nDisallow: /private\nDisallow: /a", "length"),
)
def test_what_is_no_rule_of_the_site_decides_nothing(
    tmp_path: Path, path: str, body: bytes, cut: str
) -> None:
    """RFC 9309 sections 2.3 and 2.5: a file that is not at the top, and a line that was cut."""
    newer = (f"https://e.org/{path}", day(2), 200, body)
    older = ("https://e.org/robots.txt", DATE, 200, RULES)
    file = write_archive(tmp_path / "a.warc", older, newer, cut=cut)
    given = "https://e.org/private\nhttps://e.org/a\n"
    assert by_archive(file, given).out == "https://e.org/a\n"


@pytest.mark.parametrize("reason", ["time", "disconnect", "unspecified"])
def test_half_a_file_decides_nothing(tmp_path: Path, reason: str) -> None:
    """RFC 9309 section 2.3.1.4: what was cut, and not at a limit, is unreachable in a crawl, too.

    A status that needs no body holds nevertheless.
    """
    half = ("https://a.org/robots.txt", DATE, 200, RULES)
    gone = ("https://b.org/robots.txt", DATE, 404, b"Not fou")
    file = write_archive(tmp_path / "a.warc", half, gone, cut=reason)
    given = "https://a.org/a\nhttps://a.org/private\nhttps://b.org/a\n"
    assert by_archive(file, given)[:2] == (3, "https://b.org/a\n")


@pytest.mark.parametrize("body", [b"", b"no archive\n", gzip.compress(b"filedesc:")], ids=range(3))
def test_file_that_is_no_archive_is_status_2(tmp_path: Path, body: bytes) -> None:
    """One line, whatever is in it."""
    (tmp_path / "a.warc").write_bytes(body)
    ended = by_archive(tmp_path / "a.warc", "https://a.org/\n")
    assert (ended.status, ended.out) == (2, "")
    assert "is not a WARC file" in ended.err


@rows(
    "url, is_url",
    ("mailto:a@b", True),
    ("chrome-extension://a/b", True),
    ("abcdefgh:/x", True),
    ("postgresql://h/x", True),
    ("ftp://e.org:x/a", False),
    ("postgresql://e.org:99999/", False),
    ("x://:", False),
    ("mailto:", False),
    ("localhost:8000/private", False),
    ("e.org:80", False),
    ("e.org:443?q", False),
)
def test_url_of_another_scheme_needs_no_rules(archive: Path, url: str, is_url: bool) -> None:
    """But a request can be made for it, as `check` says. A host and a port are no URL."""
    asked = robots("check", "--robots-txt", os.devnull, url)
    assert (asked.status, by_archive(archive, url).out) == ((0, f"{url}\n") if is_url else (2, ""))


def test_nothing_of_an_archive_is_written_as_it_is(tmp_path: Path) -> None:
    """What warcio says of a record quotes it."""
    strange = ("https://e.org/\x1b[2J \x1b[31mx", DATE, 200, b"")
    file = write_archive(
        tmp_path / "a.warc", strange, ("https://e.org/robots.txt", DATE, 200, RULES)
    )
    ended = by_archive(file, "https://e.org/a\n")
    assert ended.out == "https://e.org/a\n"
    assert ended.err == "scrapy robots filter: 1 line: 1 allowed\n"


def test_rejected_lines_do_not_go_where_the_others_go(tmp_path: Path) -> None:
    """`-` is standard output, and no file of that name is written over."""
    (tmp_path / "-").write_text("https://e.org/private\n")
    words = ("filter", "--robots-txt", os.devnull, "--rejected", "-", "./-")
    ended = robots(*words, cwd=tmp_path)
    assert (ended.status, (tmp_path / "-").read_text()) == (2, "https://e.org/private\n")
    assert "--rejected needs a file" in ended.err


def test_rules_are_fetched_once_through_the_store(site: Site, project: Path) -> None:
    """What cannot be had is rejected, and the status says so. A host may be no name at all."""
    shop = site.authority(robots=RULES)
    gone = site.authority(robots=Reply(404))
    down = site.authority(robots=Reply(503))
    urls = [one.url(path) for path in ("/a", "/private", "/b") for one in (shop, gone, down)]
    rejected = project / "rejected"
    for _ in range(2):
        given = "\n".join([*urls, "http://../"])
        ended = robots("filter", "--rejected", rejected, given=given, cwd=project)
        assert ended.status == 3
        assert ended.err.endswith("1 malformed, 3 undecided\n")
        wanted = {shop.url("/private"), *map(down.url, ("/a", "/private", "/b"))}
        assert ended.out.split() == [url for url in urls if url not in wanted]
        assert reasons(rejected)[down.url("/a")] == "unreachable: status 503"
    assert (len(shop.robots_hits), len(gone.robots_hits)) == (1, 1)


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal(archive: Path, tmp_path: Path) -> None:
    """On stderr, while stdout goes elsewhere; a long list takes minutes."""
    urls = tmp_path / "urls.txt"
    urls.write_text("https://e.org/a\n" * 1_000)
    leader, follower = os.openpty()
    command = [*SCRAPY, "robots", "filter", "--warc", archive, urls]
    with (tmp_path / "allowed.txt").open("wb") as out:
        subprocess.run(
            command, stdout=out, stderr=follower, env=environment(TERM="xterm"), check=True
        )
    os.close(follower)
    said = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "100%" in said
    assert "1,000 lines: 1,000 allowed" in said


def test_byte_order_mark_is_no_part_of_the_first_url(archive: Path) -> None:
    """Programs on Windows write it; an empty list with one has no URL."""
    given = codecs.BOM_UTF8 + b"https://e.org/a\nhttps://e.org/b\n"
    assert by_archive(archive, given).out == given[3:].decode()
    assert by_archive(archive, codecs.BOM_UTF8).out == ""


def test_a_mark_that_comes_in_pieces_is_none_either() -> None:
    """A pipe gives what is there."""
    octets = [bytes([octet]) for octet in codecs.BOM_UTF8 + b"https://e.org/a\nb"]
    source: Any = SimpleNamespace(read1=lambda _: octets.pop(0) if octets else b"")
    told: list[int] = []
    assert [*chunks_of(source, told.append)] == [b"https://e.org/a", b"b"]
    assert sum(told) == len(codecs.BOM_UTF8) + 17


@rows("end", [b"", b"\n"])
def test_line_whose_start_is_a_url_is_too_long(archive: Path, rejected: Path, end: bytes) -> None:
    """Although it would not be if it ended with what is read of it."""
    start = b"https://e.org/" + b"a" * (LONGEST - 14)
    ended = by_archive(archive, start + b"\r" + b"b" * 1_000 + end, "--rejected", rejected)
    assert (ended.out, [*reasons(rejected).values()]) == ("", ["line too long"])


def test_line_that_is_too_long_is_rejected(archive: Path, rejected: Path) -> None:
    """And the next one is read."""
    given = b"https://e.org/" + b"a" * (3 * LONGEST) + b"\nhttps://e.org/a\n"
    ended = by_archive(archive, given, "--rejected", rejected)
    assert ended.out == "https://e.org/a\n"
    assert rejected.read_text() == f"https://e.org/{'a' * 186}...\tline too long\n"
    assert "2 lines: 1 allowed, 1 malformed" in ended.err


def test_closed_pipe_is_no_error(archive: Path) -> None:
    """`scrapy robots filter ... | head`."""
    with waiting("--warc", str(archive)) as process:
        process.stdin.write(b"https://e.org/a\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"https://e.org/a\n"
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # it may have ended already
            process.stdin.write(b"https://e.org/a\n" * 10_000)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.parametrize("online", [True, False])
def test_interrupt_leaves_whole_lines_and_status_130(
    archive: Path, tmp_path: Path, site: Site, online: bool
) -> None:
    """While it waits for more."""
    shop = site.authority(robots=RULES)
    url = shop.url("/a") if online else "https://e.org/a"
    out = tmp_path / "out"
    words = [] if online else ["--warc", str(archive)]
    with out.open("wb") as stdout, waiting(*words, stdout=stdout) as process:
        process.stdin.write(f"{url}\n{url}\n{url[:-3]}".encode())
        process.stdin.flush()
        started = time.monotonic()
        while out.stat().st_size < 2 * len(url) and time.monotonic() - started < 60:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().count(b"\n") == 1
    assert out.read_text() == f"{url}\n{url}\n"


def raw(date: str, http: str, more: str = "") -> bytes:
    """A response record as another program may write it."""
    uri = "https://e.org/robots.txt"
    fields = f"WARC-Type: response\r\nWARC-Target-URI: {uri}\r\nWARC-Date: {date}\r\n{more}"
    kind = "Content-Type: application/http; msgtype=response\r\n"
    head = f"WARC/1.0\r\n{fields}{kind}Content-Length: {len(http)}\r\n\r\n"
    return f"{head}{http}\r\n\r\n".encode()


CLOSED = "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nUser-agent: *\nDisallow: /\n"
OPEN = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"


@rows(
    "date, more",
    ("zzz", ""),
    ("31 Dec 2025", ""),
    ("2020-01-01T00:00:00Z", "WARC-Date: 2030-01-01T00:00:00Z\r\n"),
    ("2020-01-01T00:00:00Z\r\n 2030", ""),
)
def test_a_record_without_a_sound_date_is_the_oldest(tmp_path: Path, date: str, more: str) -> None:
    """It does not open a site that a dated record closes."""
    (tmp_path / "a.warc").write_bytes(raw(DATE, CLOSED) + raw(date, OPEN, more))
    ended = by_archive(tmp_path / "a.warc", "https://e.org/x\n", "-")
    assert (ended.status, ended.out) == (0, "")


@pytest.mark.slow
def test_standard_input_that_is_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """`filter --rejected urls - < urls`: status 2, and the file is as it was."""
    urls = tmp_path / "urls"
    urls.write_text("https://e.org/a\n")
    words = ("filter", "--robots-txt", os.devnull, "--rejected", "urls", "-")
    with urls.open("rb") as source:
        done = unforked(*words, stdin=source, cwd=tmp_path)
    assert (done.returncode, urls.read_text()) == (2, "https://e.org/a\n")
