"""``REP_OVERRIDES`` is read at the start: what is wrong is one line with the file and the entry."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.access.authority import Authority
from scrapy_rep.overrides.override import Override
from scrapy_rep.overrides.reading import configured_overrides
from scrapy_rep.settings import RepSettings
from tests.rows import rows

NOON = datetime(2026, 11, 21, 12, tzinfo=timezone.utc).timestamp()

HOST = "intranet.example.org"
GOOD: dict[str, Any] = {
    "authority": f"https://{HOST}",
    "action": "allow",
    "reason": "our own site, ticket OPS-114",
    "by": "crawl-team@example.org",
    "until": date(2027, 3, 31),
}


def entry(**changes: Any) -> dict[str, Any]:
    """A good entry with changes; ``None`` takes a key out."""
    return {key: value for key, value in {**GOOD, **changes}.items() if value is not None}


def read_overrides(value: Any) -> tuple[Override, ...]:
    """What that value of the setting comes to."""
    return configured_overrides(RepSettings(overrides=value), NOON)


def read(**changes: Any) -> Override:
    """The override that one entry becomes."""
    (override,) = read_overrides([entry(**changes)])
    return override


def test_an_entry_becomes_a_value() -> None:
    """All that it says is kept; the number counts from one."""
    assert read() == Override(
        1,
        Authority("https", HOST, 443),
        "allow",
        "our own site, ticket OPS-114",
        "crawl-team@example.org",
        date(2027, 3, 31),
    )


def test_a_file_holds_several(tmp_path: Path) -> None:
    """They are numbered in the order of the file."""
    file = tmp_path / "overrides.toml"
    common = '[[override]]\nauthority = "http://a.example"\nreason = "agreed"\nby = "ops"\n'
    file.write_text(
        f'{common}action = "agent"\nagent = "partnerbot"\nuntil = 2027-01-01\n\n'
        f'{common}action = "delay"\ndelay = 2\nuntil = "2027-01-01"\n'
    )
    first, second = read_overrides(str(file))
    assert (first.entry, first.tokens) == (1, ("partnerbot",))
    assert (second.entry, second.delay, second.until) == (2, 2.0, date(2027, 1, 1))


@rows(
    "host, port, texts",
    (HOST, 443, ["https://INTRANET.Example.org", f"https://{HOST}.", f"https://{HOST}:443"]),
    (HOST, 443, [f"https://{HOST}/"]),
    (HOST, 8443, [f"https://{HOST}:8443"]),
    ("xn--bcher-kva.example", 443, ["https://b\xfccher.example"]),
    ("::1", 8080, ["https://[::1]:8080"]),
    ("192.0.2.1", 443, ["https://192.0.2.1"]),
)
def test_an_authority_is_in_its_normal_form(host: str, port: int, texts: list[str]) -> None:
    """RFC 9309 section 2.3: however it is spelled, it is the one that requests are for."""
    for text in texts:
        assert read(authority=text).authority == Authority("https", host, port), text


@rows(
    "fault, several",
    *((f"'{key}' is missing", [{key: None}]) for key in ("reason", "by", "until", "authority")),
    ("'delay' is missing", [{"action": "delay"}]),
    ("action None is not one of allow, forbid,", [{"action": None}]),
    ("action 'permit' is not one of allow, forbid,", [{"action": "permit"}]),
    ("action ['allow'] is not one of allow, forbid,", [{"action": ["allow"]}]),
    ("action 'profile' is not one of allow, forbid,", [{"action": "profile", "profile": "google"}]),
    ("action 'file' is not one of allow, forbid,", [{"action": "file", "file": "local.txt"}]),
    ("'reason' must be text, and not blank", [{"reason": " \t"}]),
    ("'by' must be text, and not blank", [{"by": ""}, {"by": 7}]),
    ("authority '*' must be http:// or https:// and a host", [{"authority": "*"}]),
    ("authority 5 must be http:// or https:// and a host", [{"authority": 5}]),
    ("must be http:// or https:// and a host", [{"authority": HOST}, {"authority": "https://"}]),
    ("must be http:// or https:// and a host", [{"authority": f"ftp://{HOST}"}]),
    ("must be http:// or https:// and a host", [{"authority": "https://a.example:99999"}]),
    ("without wildcards", [{"authority": "https://*.example.org"}]),
    ("a path belongs under 'paths'", [{"authority": "https://a.example/private"}]),
    ("a path belongs under 'paths'", [{"authority": "https://a.example#top"}]),
    ("must not hold a user name", [{"authority": "https://me:secret@a.example"}]),
    ("'until' must be a date, such as 2027-03-31", [{"until": "31.03.2027"}]),
    ("until '2027-02-30'", [{"until": "2027-02-30"}]),
    ("'until' must be a date", [{"until": datetime(2027, 1, 1)}]),
    ("until 2027-12-26 is more than 366 days ahead", [{"until": date(2027, 12, 26)}]),
    ("'paths' must be a list", [{"paths": []}, {"paths": "/a"}]),
    ("path 'a' must be text that begins with / or *", [{"paths": ["a"]}]),
    ("path 1 must be text that begins with / or *", [{"paths": [1]}]),
    ("must not hold #", [{"paths": ["/a#b"]}]),
    ("must not hold #, control characters", [{"paths": ["/a\nAllow: /"]}]),
    ("unknown key 'path' for the action allow", [{"path": ["/a"]}]),
    ("unknown key 'delay' for the action allow", [{"delay": 3}]),
    ("delay -1 must be seconds, from 0 to 86400", [{"action": "delay", "delay": -1}]),
    ("delay True must be seconds", [{"action": "delay", "delay": True}]),
    ("delay nan must be seconds", [{"action": "delay", "delay": float("nan")}]),
    ("agent []: must be a product token", [{"action": "agent", "agent": []}]),
    ("agent 'Mozilla/5.0' names no crawler", [{"action": "agent", "agent": "Mozilla/5.0"}]),
)
def test_a_fault_is_one_line_that_names_the_entry(fault: str, several: list[Any]) -> None:
    """An exception is neither applied nor skipped in silence."""
    other = entry(authority="https://other.example")
    for changes in several:
        with pytest.raises(ValueError, match=r"\AREP_OVERRIDES: the list, entry 2: ") as raised:
            read_overrides([other, entry(**changes)])
        said = str(raised.value)
        assert fault in said, changes
        assert "\n" not in said
        assert "secret" not in said


@rows(
    "octets, fault",
    (b"[[override]\n", "is not TOML"),
    (b"\xff\xfe", "is not TOML"),
    (b"[[overrides]]\n", "may hold [[override]] tables, and nothing else"),
    (b"[override]\naction = 'allow'\n", "may hold [[override]] tables, and nothing else"),
    (b"override = [1]\n", "entry 1: must be a table of keys and values"),
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, octets: bytes, fault: str) -> None:
    """Each in one line."""
    file = tmp_path / "overrides.toml"
    file.write_bytes(octets)
    with pytest.raises(ValueError, match=re.escape(fault)) as raised:
        read_overrides(str(file))
    assert str(raised.value).startswith(f"REP_OVERRIDES: {file}")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """So is a directory."""
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ValueError, match="cannot be read"):
            read_overrides(str(path))


def test_it_ends_with_its_last_day_in_utc() -> None:
    """The day itself is inside, whatever the zone of the machine is."""
    end = datetime(2026, 11, 22, tzinfo=timezone.utc).timestamp()
    assert read(until=date(2026, 11, 21)).end == end
    assert read(until="2026-11-21").end == end


def test_an_expired_entry_is_read() -> None:
    """It is checked like the others, and has ended."""
    assert read(until=date(2026, 11, 20)).end <= NOON


def test_366_days_ahead_are_accepted() -> None:
    """The last day that is."""
    assert read(until=date(2027, 11, 22)).until == date(2027, 11, 22)


def test_no_path_is_cut_off_however_many_there_are() -> None:
    """A limit for the files of sites is not one for the operator's own patterns."""
    paths = [f"/{number:05}{'x' * 30}" for number in range(20_000)]
    override = read(action="forbid", paths=paths)
    assert override.covers(f"https://{HOST}{paths[-1]}")


@pytest.mark.parametrize(
    "url", ["https://u:p@{}/robots.txt", "https://{}:443/robots.txt", "https://{}/robots.txt#part"]
)
def test_no_spelling_of_the_robots_txt_is_covered(url: str) -> None:
    """It is always allowed (RFC 9309 section 2.2.2)."""
    assert not read(action="forbid").covers(url.format(HOST))
    assert read(action="forbid").covers(f"https://{HOST}/a/robots.txt")
