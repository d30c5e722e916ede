"""`scrapy robots filter`: what is allowed comes out, octet by octet and in order."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import pty
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from scrapy_rep.commands.urls import LONGEST
from scrapy_rep.robotstxt.robotstxt import RobotsTxt
from tests.benchmarks import inputs
from tests.commands.archive import Response, write_archive
from tests.commands.running import SCRAPY, environment, robots
from tests.replies import Reply
from tests.site import Site

RULES = b"User-agent: *\nDisallow: /private\n"
COMMAND = [*SCRAPY, "robots", "filter"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of some authorities."""
    found = tmp_path / "robots"
    found.mkdir()
    (found / "https_e.org").write_bytes(RULES)
    (found / "https_e.org_8443").write_bytes(b"User-agent: *\nDisallow: /\n")
    (found / "http_open.org_80").write_bytes(b"")
    return found


def test_allowed_urls_come_out_as_they_are(folder: Path, tmp_path: Path) -> None:
    """Octets that are not UTF-8 too; only the line end is always LF."""
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
    ]
    rejected = tmp_path / "rejected.tsv"
    done = subprocess.run(
        [*COMMAND, "--robots-dir", str(folder), "--rejected", str(rejected), "-"],
        env=environment(),
        input=b"\r\n".join(urls),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout.split(b"\n") == [urls[at] for at in (0, 2, 4, 5, 10, 11)] + [b""]
    rows = [line.rpartition(b"\t") for line in rejected.read_bytes().splitlines()]
    assert [(url, reason) for url, _, reason in rows] == [
        (urls[1], b"Disallow: /private (line 2, group *)"),
        (urls[3], b"Disallow: / (line 2, group *)"),
        (urls[6], b"Disallow: /private (line 2, group *)"),
        (urls[7], b"no file"),
        (urls[8], b"not a URL"),
        (urls[9], b"empty line"),
    ]


def test_missing_file_may_be_allowed(folder: Path) -> None:
    """A file that cannot be read is not missing."""
    (folder / "https_odd.org").mkdir()
    given = "https://nobody.org/\nhttps://odd.org/\n"
    ended = robots("filter", "--robots-dir", folder, "--missing", "allow", given=given)
    assert ended == (0, "https://nobody.org/\n", "")


def test_many_urls_get_the_verdicts_of_the_matcher(tmp_path: Path) -> None:
    """In their order, over the borders of chunks, whatever site they belong to."""
    rnd = random.Random(7)
    bodies = {f"s{n}.org": inputs.file(rnd) for n in range(50)}
    folder = tmp_path / "robots"
    folder.mkdir()
    urls = []
    for host, body in bodies.items():
        (folder / f"https_{host}").write_bytes(body)
        urls += [u.replace("www.example.com", host) for u in inputs.urls(rnd, body, 900)]
    rnd.shuffle(urls)
    (tmp_path / "urls").write_text("\n".join(urls))
    ended = robots("filter", "--robots-dir", folder, "--agent", "Googlebot", tmp_path / "urls")
    parsed = {host: RobotsTxt.parse(body) for host, body in bodies.items()}
    wanted = [url for url in urls if parsed[url.split("/")[2]].allowed(url, "Googlebot")]
    assert 0 < len(wanted) < len(urls)
    assert ended.out.split("\n") == [*wanted, ""]


def test_one_file_governs_all(robots_txt: Path) -> None:
    """`--robots-txt`: with the identity of the options or the settings."""
    given = "https://a.org/search\nhttp://b.org/private\n"
    words = ("filter", "--robots-txt", robots_txt)
    assert robots(*words, given=given).out == "https://a.org/search\n"
    assert robots(*words, "--agent", "mybot", given=given).out == "http://b.org/private\n"
    assert robots(*words, "-s", "ROBOTSTXT_USER_AGENT=shopbot", given=given).out == ""


def test_archive_gives_the_rules(tmp_path: Path) -> None:
    """Statuses mean what they mean in a crawl (RFC 9309 section 2.3.1); the newest counts."""
    date = "2026-01-0{}T00:00:00Z".format
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://a.org/robots.txt", date(2), 200, b"User-agent: *\nDisallow: /new"),
        ("https://a.org/robots.txt", date(1), 200, b"User-agent: *\nDisallow: /old"),
        ("https://a.org/page", date(3), 200, b"User-agent: *\nDisallow: /"),
        ("https://b.org/robots.txt", date(1), 404, b"User-agent: *\nDisallow: /"),
        ("https://c.org/robots.txt", date(1), 503, b""),
        ("https://d.org/robots.txt", date(1), 301, b"https://a.org/robots.txt"),
        ("https://e.org/robots.txt", date(1), 301, b"https://lost.org/robots.txt"),
    )
    rejected = tmp_path / "rejected"
    given = "".join(f"https://{site}.org/{path}\n" for site in "abcdef" for path in ("old", "new"))
    ended = robots("filter", "--warc", file, "--rejected", rejected, given=given)
    assert ended.status == 0
    assert ended.out.split() == [
        "https://a.org/old", "https://b.org/old", "https://b.org/new", "https://d.org/old"
    ]  # fmt: skip
    reasons = dict(line.split("\t") for line in rejected.read_text().splitlines())
    assert reasons["https://c.org/old"] == "unreachable: status 503"
    assert reasons["https://e.org/old"] == reasons["https://f.org/old"] == "no file"
    assert reasons["https://d.org/new"] == "Disallow: /new (line 2, group *)"


def test_revisit_is_the_response_that_it_repeats(tmp_path: Path) -> None:
    """ISO 28500 section 6.7. What the archive lacks is not known, and never permission."""
    date = "2026-01-0{}T00:00:00Z".format
    body = b"User-agent: *\nDisallow: /private\n"
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://a.org/robots.txt", date(1), 200, body),
        ("https://a.org/robots.txt", date(2), 304, body),
        ("https://b.org/robots.txt", date(1), 304, body),
        ("https://c.org/robots.txt", date(1), 200, b""),
        ("https://c.org/robots.txt", date(2), 304, body),
    )
    rejected = tmp_path / "rejected"
    given = "".join(f"https://{site}.org/{path}\n" for site in "abc" for path in ("x", "private"))
    words = ("filter", "--warc", file, "--missing", "allow", "--rejected", rejected)
    assert robots(*words, given=given).out == "https://a.org/x\n"
    assert rejected.read_text().count("the archive lacks the response") == 4
    (tmp_path / "new").write_bytes(body)
    places = [f"warc:{file}#https://{site}.org/" for site in "abc"]
    ended = [robots("diff", place, tmp_path / "new") for place in places]
    assert [one.status for one in ended] == [0, 3, 3]
    assert "repeats one that it lacks" in ended[1].err


def test_cut_body_of_an_archive_loses_its_partial_line(tmp_path: Path) -> None:
    """RFC 9309 section 2.5: a cut rule is another rule."""
    body = b"User-agent: *\nDisallow: /a\nDisallow: /private"
    response = ("https://a.org/robots.txt", "2026-01-01T00:00:00Z", 200, body)
    file = write_archive(tmp_path / "a.warc", response, cut=True)
    given = "https://a.org/private\nhttps://a.org/a\n"
    assert robots("filter", "--warc", file, given=given).out == "https://a.org/private\n"


def test_an_archive_is_read_within_the_limits_of_the_crawl(tmp_path: Path) -> None:
    """RFC 9309 sections 2.3.1.2 and 2.5: what lies behind the default limits may forbid."""
    date = "2026-01-01T00:00:00Z"
    hops: list[Response] = [
        (f"http://h{n}.org/robots.txt", date, 301, f"http://h{n + 1}.org/robots.txt".encode())
        for n in range(7)
    ]
    large = b"User-agent: *\n" + (b"#" * 99 + b"\n") * 6_000 + b"Disallow: /\n"
    file = write_archive(
        tmp_path / "a.warc",
        *hops,
        ("http://h7.org/robots.txt", date, 200, b"User-agent: *\nDisallow: /\n"),
        ("http://large.org/robots.txt", date, 200, large),
    )
    far, near, last = "http://h0.org/a\n", "http://h2.org/a\n", "http://large.org/a\n"
    words = ("filter", "--warc", file)
    assert robots(*words, given=far + near + last).out == far + last
    more = ("-s", "REP_MAX_REDIRECTS=7", "-s", "REP_MAX_SIZE=2000000")
    assert robots(*words, *more, given=far + near + last).out == ""
    (tmp_path / "open").write_bytes(b"")
    archived = f"warc:{file}#http://large.org/"
    assert robots("diff", archived, tmp_path / "open").status == 0
    assert robots("diff", archived, tmp_path / "open", *more).status == 1


GZIPPED = gzip.compress(RULES, mtime=0)


@pytest.mark.parametrize(
    ("status", "fields", "body", "why"),
    [
        (302, [], b"", "unreachable: status 302"),
        (302, [("Location", "http://[bad/")], b"", "unreachable: status 302"),
        (302, [("Location", "ftp://e.org/robots.txt")], b"", "unreachable: status 302"),
        (407, [], b"", "unreachable: proxy failure 407"),
        (206, [], RULES, "unreachable: status 206"),
        (200, [("Content-Encoding", "x-gzip")], GZIPPED, "Disallow: /private"),
        (200, [("Content-Encoding", "gzip, gzip")], gzip.compress(GZIPPED, mtime=0), "Disallow"),
        (200, [("Content-Encoding", "gzip")], RULES, "unreachable"),
        (200, [("Content-Encoding", "gzip")], GZIPPED[:-4], "unreachable"),
        (200, [("Content-Encoding", "compress")], RULES, "unreachable"),
        (200, [("Content-Encoding", "br")], b"\xff\xff", "unreachable"),
    ],
    ids=[
        "302 to nowhere",
        "302 to no URL",
        "302 to ftp",
        "407",
        "206",
        "x-gzip",
        "gzip twice",
        "not gzip",
        "half of gzip",
        "compress",
        "broken brotli",
    ],
)
def test_an_archived_answer_means_what_it_means_in_a_crawl(
    tmp_path: Path, status: int, fields: list[tuple[str, str]], body: bytes, why: str
) -> None:
    """RFC 9309 section 2.3.1, and no answer spoils the archive for other sites."""
    file = write_archive(
        tmp_path / "a.warc.gz",
        ("https://other.org/robots.txt", "2026-01-01T00:00:00Z", 200, RULES),
        ("https://e.org/robots.txt", "2026-01-01T00:00:00Z", status, body),
        fields=fields,
    )
    rejected = tmp_path / "rejected"
    words = ("filter", "--warc", file, "--missing", "allow", "--rejected", rejected)
    given = "https://e.org/private\nhttps://other.org/a\n"
    assert robots(*words, given=given).out == "https://other.org/a\n"
    assert why in rejected.read_text()


def test_a_file_elsewhere_in_an_archive_is_not_the_robots_txt(tmp_path: Path) -> None:
    """RFC 9309 section 2.3: at the top of the site, and nowhere else."""
    date = "2026-01-01T00:00:00Z"
    file = write_archive(
        tmp_path / "a.warc",
        ("https://e.org/robots.txt", date, 200, RULES),
        ("https://e.org/tenant/robots.txt", "2026-01-02T00:00:00Z", 200, b""),
    )
    assert robots("filter", "--warc", file, given="https://e.org/private\n").out == ""


@pytest.mark.parametrize("body", [b"", b"no archive\n" * 100, b"\x1f\x8b\x08nonsense"])
def test_file_that_is_no_archive_is_status_2_or_has_nothing(tmp_path: Path, body: bytes) -> None:
    """One line, whatever is in it."""
    (tmp_path / "a.warc").write_bytes(body)
    ended = robots("filter", "--warc", tmp_path / "a.warc", given="https://a.org/\n")
    assert ended.status == (2 if body else 0)
    assert ended.out == ""


def test_rules_are_fetched_once_through_the_store(site: Site, project: Path) -> None:
    """What cannot be had is rejected, and the status is 0 all the same."""
    shop = site.authority(robots=RULES)
    gone = site.authority(robots=Reply(404))
    down = site.authority(robots=Reply(503))
    urls = [one.url(path) for path in ("/a", "/private", "/b") for one in (shop, gone, down)]
    rejected = project / "rejected"
    for _ in range(2):
        ended = robots("filter", "--rejected", rejected, given="\n".join(urls), cwd=project)
        assert ended.status == 0
        wanted = [shop.url("/a"), gone.url("/a"), gone.url("/private"), shop.url("/b"),
                  gone.url("/b")]  # fmt: skip
        assert ended.out.split() == wanted
        reasons = dict(line.split("\t") for line in rejected.read_text().splitlines())
        assert reasons[down.url("/a")] == "unreachable: status 503"
    assert (len(shop.robots_hits), len(gone.robots_hits)) == (1, 1)


def test_byte_order_mark_is_no_part_of_the_first_url(folder: Path) -> None:
    """Programs on Windows write it; an empty list with one has no URL."""
    given = codecs.BOM_UTF8 + b"https://e.org/a\nhttps://e.org/b\n"
    assert robots("filter", "--robots-dir", folder, given=given).out == given[3:].decode()
    assert robots("filter", "--robots-dir", folder, given=codecs.BOM_UTF8).out == ""


def test_line_that_is_too_long_is_rejected(folder: Path, tmp_path: Path) -> None:
    """And the next one is read."""
    rejected = tmp_path / "rejected"
    given = b"https://e.org/" + b"a" * (3 * LONGEST) + b"\nhttps://e.org/a\n"
    ended = robots("filter", "--robots-dir", folder, "--rejected", rejected, given=given)
    assert ended.out == "https://e.org/a\n"
    assert rejected.read_text() == "\tline too long\n"


def test_closed_pipe_is_no_error(folder: Path) -> None:
    """`scrapy robots filter ... | head`."""
    with subprocess.Popen(
        [*COMMAND, "--robots-dir", str(folder)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
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


@pytest.mark.parametrize("online", [False, True], ids=["folder", "crawl"])
def test_interrupt_leaves_whole_lines_and_status_130(
    folder: Path, tmp_path: Path, site: Site, online: bool
) -> None:
    """While it waits for more."""
    shop = site.authority(robots=RULES)
    url = shop.url("/a") if online else "https://e.org/a"
    out = tmp_path / "out"
    words = [] if online else ["--robots-dir", str(folder)]
    with (
        out.open("wb") as stdout,
        subprocess.Popen(
            [*COMMAND, *words],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdin
        assert process.stderr
        process.stdin.write(f"{url}\n{url}\n{url[:-3]}".encode())
        process.stdin.flush()
        started = time.monotonic()
        while out.stat().st_size < 2 * len(url) and time.monotonic() - started < 60:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().count(b"\n") == 1
    assert out.read_text() == f"{url}\n{url}\n"


def test_terminal_gets_escaped_urls_and_a_bar(folder: Path) -> None:
    """What a pipe gets as it is, a terminal gets harmless."""
    main, other = pty.openpty()
    given = "".join(f"https://e.org/\x1b[31m{n}\n" for n in range(3))
    process = subprocess.run(
        [*COMMAND, "--robots-dir", str(folder)],
        env=environment(TERM="xterm", NO_COLOR="1"),
        input=given.encode(),
        stdout=other,
        stderr=other,
        check=False,
        timeout=60,
    )
    os.close(other)
    shown = b""
    try:
        while read := os.read(main, 65536):
            shown += read
    except OSError:  # all has been read
        pass
    os.close(main)
    assert process.returncode == 0
    assert b"https://e.org/\\x1b[31m2" in shown
    assert b"allowed, 0 rejected" in shown
