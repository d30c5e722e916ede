"""What a RobotsTxt and its verdicts are as objects: types, copies, threads, memory."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import random
import sys
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from scrapy_rep import RobotsTxt
from scrapy_rep.robotstxt.pace import Pace
from scrapy_rep.robotstxt.profiles import PROFILES, RFC9309
from scrapy_rep.robotstxt.verdict import Rule, Verdict
from tests.benchmarks import inputs
from tests.hostile.test_budgets import BODIES, held_by
from tests.rows import first, rows

pytestmark = pytest.mark.usefixtures("others_set_aside")

TEXT = """\
User-agent: *
Disallow: /é
Allow: /é/open
Disallow: /*%
Clean-param: ref&sid /shop/
Clean-param: ref&sid /shop/
clean-param: lang
Sitemap: https://e.org/é.xml
"""
BODY = TEXT.encode()


@rows("body", [BODY, TEXT, bytearray(BODY), memoryview(BODY), "\ufeff" + TEXT])
@rows("profile", [*PROFILES])
def test_a_body_may_be_octets_or_text(
    body: bytes | str | bytearray | memoryview, profile: str
) -> None:
    """RFC 9309 section 2.3: text stands for its octets in UTF-8."""
    robots = RobotsTxt.parse(body, profile=profile)
    assert not robots.allowed("https://e.org/%C3%A9", "mybot")
    assert robots.sitemaps == ("https://e.org/é.xml",)


def test_text_that_no_encoder_takes_is_a_robots_txt_too() -> None:
    """Lone surrogates stand for the octets that they were made from."""
    text = b"User-agent: *\nDisallow: /\xff".decode("utf-8", "surrogateescape")
    assert not RobotsTxt.parse(text).allowed("https://e.org/%FF", "mybot")
    assert not RobotsTxt.parse("User-agent: *\nDisallow: /\ud800").allowed("/%ED%A0%80", "mybot")


def test_what_is_passed_on_may_change_later() -> None:
    """A bytearray is read when it is parsed."""
    body = bytearray(BODY)
    robots = RobotsTxt.parse(memoryview(body)[:])
    body[:] = bytes(len(body))
    assert not robots.allowed("https://e.org/%C3%A9", "mybot")


@rows("body", [None, 1, 1.5, [b"User-agent: *"], {}, object(), open])
def test_a_body_of_another_type_is_refused_at_once(body: object) -> None:
    """The error says what is wanted, and what came."""
    with pytest.raises(TypeError, match=f"bytes.* or str, not {type(body).__name__}"):
        RobotsTxt.parse(body)  # type: ignore[arg-type]


def test_the_limit_counts_octets_of_text_too() -> None:
    """RFC 9309 section 2.5: ``é`` is two octets."""
    text = "User-agent: *\n#éé\nDisallow: /a\n"
    size = len(text.encode())
    assert not RobotsTxt.parse(text, max_size=size).allowed("/a", "x")
    assert RobotsTxt.parse(text, max_size=size - 2).allowed("/a", "x")


class Watched(RobotsTxt):
    """A robots.txt whose end can be seen."""


@rows("profile", [*PROFILES])
@rows("path", ["/%C3%A9/open", "/%C3%A9", "/a", "/robots.txt"])
def test_a_verdict_keeps_nothing_alive_but_itself(profile: str, path: str) -> None:
    """A spider that keeps its failures keeps no robots.txt of 500 KB."""
    robots = Watched.parse(BODY + b"Disallow: /x\n" * 1_000, profile=profile)
    verdict = robots.verdict(f"https://e.org{path}", "mybot")
    gone = weakref.ref(robots)
    del robots
    gc.collect()
    assert gone() is None
    left: list[object] = [verdict]
    while left:
        one = left.pop()
        assert isinstance(one, (Verdict, Rule, str, bool, int, type(None))), one
        if not isinstance(one, type):
            left += [x for x in gc.get_referents(one) if x is not type(one)]


def test_a_verdict_can_be_kept_and_sent_with_the_rule_that_lost() -> None:
    """A verdict is a value: equal if all it says is equal."""
    verdict = RobotsTxt.parse(BODY).verdict("https://e.org/%C3%A9/open", "mybot")
    assert verdict.overruled == Rule(False, "/é", 2)
    for again in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict)):
        assert again == verdict
        assert again.overruled == verdict.overruled
    assert hash(verdict.overruled) == hash(Rule(False, "/é", 2))


def test_clean_params_are_those_of_the_file() -> None:
    """RFC 9309 section 2.2.4: other records; each value once, in order."""
    robots = RobotsTxt.parse(BODY)
    assert robots.clean_params == ("ref&sid /shop/", "lang")
    assert RobotsTxt.parse(b"").clean_params == ()


def use(robots: RobotsTxt) -> None:
    """Questions of all kinds, so many that prefixes are sorted."""
    for number in range(40):
        robots.allowed(f"https://e.org/{number}?q=%41", "mybot")
        robots.allowed("https://e.org/x" + "y" * 900, f"bot{number}")
    robots.verdict("https://e.org/%C3%A9/open", "mybot")
    robots.crawl_delay("mybot")
    assert robots.sitemaps
    assert robots.size


@rows("profile", ["rfc9309", "1996", "kollar"])
@rows("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy])
def test_a_robots_txt_can_be_pickled_at_any_time(
    profile: str, copied: Callable[[RobotsTxt], RobotsTxt]
) -> None:
    """Before it is asked, in the middle of use, and after."""
    body = BODY + b"".join(b"Disallow: /*x%d=\nDisallow: /%d/\n" % (n, n) for n in range(60))
    robots = RobotsTxt.parse(body, profile=profile)
    for _ in range(2):
        again = copied(robots)
        for path in ("/%C3%A9", "/a", "/7/", "/a?x7=", "/%41"):
            url = f"https://e.org{path}"
            assert again.verdict(url, "mybot") == robots.verdict(url, "mybot")
            assert again.allowed(url, "mybot") is robots.allowed(url, "mybot")
        use(again)
        use(robots)


def test_profiles_stay_themselves_when_they_are_copied() -> None:
    """Profiles are compared by identity; one that is built by hand has no name to be found by."""
    for profile in PROFILES.values():
        assert pickle.loads(pickle.dumps(profile)) is profile
        assert copy.deepcopy(profile) is profile
    built = dataclasses.replace(RFC9309, query_is_matched=False)
    assert pickle.loads(pickle.dumps(built)).query_is_matched is False


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads give way to each other all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("profile", "number"),
    [("rfc9309", 3), *first(0, [("rfc9309", 30), ("google", 30), ("1996", 3), ("kollar", 3)])],
)
def test_several_threads_may_ask_at_once(profile: str, number: int) -> None:
    """Whoever asks first, or while another sorts the prefixes: the answer is the same."""
    lines = "".join(
        f"Disallow: /{n}/\nAllow: /{n}/open\nDisallow: /*x{n}=\nAllow: /*y{n}$\nDisallow: /*{n}Fb\n"
        for n in range(number)
    )
    groups = "".join(f"User-agent: bot{n}\nDisallow: /{n}\n{lines[: 90 * n]}\n" for n in range(9))
    body = f"User-agent: *\nCrawl-delay: 3\n{lines}\n{groups}"
    hosts = ("https://e.org", "http://a.example:8080", "")
    paths = ["/1/", "/1/open", "/a?x2=", "/b/y1", "/2", "/a/../1/x", "/%2Fb", "/é", "/c"]
    paths.append("/" + "z" * 1_200)
    agents = [f"bot{n}" for n in range(12)] + [("bot1", "x")] + [f"other{n}" for n in range(70)]
    questions = [(f"{host}{path}", agent) for host in hosts for path in paths for agent in agents]
    alone = RobotsTxt.parse(body, profile=profile)
    expected = {question: bool(alone.verdict(*question)) for question in questions}
    for attempt in range(2):
        robots = RobotsTxt.parse(body, profile=profile)

        def ask(seed: int, robots: RobotsTxt = robots) -> list[object]:
            rnd = random.Random(seed)
            wrong: list[object] = []
            for url, agent in rnd.sample(questions, 60):
                if robots.allowed(url, agent) is not expected[url, agent]:
                    wrong.append((url, agent))
                if seed % 3 == 0 and bool(robots.verdict(url, agent)) is not expected[url, agent]:
                    wrong.append((url, agent, "verdict"))
                if seed % 5 == 0:
                    assert robots.size > 0
                    assert robots.crawl_delay("third") == alone.crawl_delay("third")
                    pickle.dumps(robots)
            return wrong

        with ThreadPoolExecutor(8) as pool:
            found = [*pool.map(ask, range(attempt * 8, attempt * 8 + 8))]
        assert found == [[]] * 8


def assert_size_is_the_truth(
    body: bytes, work: Callable[[RobotsTxt], object], factor: float, slack: int = 0
) -> None:
    """After some work, a robots.txt says what it holds: a formula, that is right within a factor.

    Other threads of the test run allocate memory too, so the least of three measurements counts.
    """

    def asked() -> RobotsTxt:
        robots = RobotsTxt.parse(bytes(bytearray(body)))
        work(robots)
        return robots

    asked()
    held = []
    for _ in range(3):
        octets, robots = held_by(asked)
        held.append(octets)
        said = robots.size
        if min(held) / factor - slack <= said <= min(held) * factor + slack:
            return
    pytest.fail(f"it says {said}, and holds {held}")


def asked_never(robots: RobotsTxt) -> None:
    """No crawler, no page, as a file that was just fetched."""


def asked_once(robots: RobotsTxt) -> None:
    """One crawler, one page, as most files are."""
    robots.allowed("https://e.org/0", "mybot")
    robots.pace("mybot")


def asked_by_one(robots: RobotsTxt) -> None:
    """One crawler, many pages."""
    for url in inputs.urls(random.Random(1), robots._body, 60):
        robots.allowed(url, "mybot")


def asked_by_many(robots: RobotsTxt) -> None:
    """Several crawlers, and verdicts."""
    asked_by_one(robots)
    for agent in ("Googlebot", "bingbot", "MJ12bot", "x"):
        for url in inputs.urls(random.Random(2), robots._body, 10):
            robots.allowed(url, agent)
        robots.verdict("https://e.org/admin/x", agent)
    assert isinstance(robots.sitemaps, tuple)


HOSTILE = [
    "runs of stars", "200,000 pieces", "one line of 500 KB", "%41 x 170,000", "many exact paths",
    "one head and many stars", "20,000 wildcard rules",
    "1,000 agents over 1,000 rules", "one escape in all", "literals that begin each other",
]  # fmt: skip
SIZED = {f"file {number}": body for number, body in enumerate(inputs.corpus(3, seed=7))}
SIZED |= {"big": inputs.big(), "prefixes": inputs.prefixes(2_000), "floats": inputs.floating(2_000)}


@rows("work", [asked_never, asked_once, asked_by_one, asked_by_many])
@rows("name", SIZED)
def test_the_size_of_a_file_is_the_truth(name: str, work: Callable[[RobotsTxt], object]) -> None:
    """RFC 9309 section 3: within a factor of two, on files of the sizes of the world."""
    assert_size_is_the_truth(SIZED[name], work, factor=2, slack=1_000)


@pytest.mark.parametrize("work", first(1, [asked_by_one, asked_once]))
@pytest.mark.parametrize("name", first(3, HOSTILE))
def test_the_size_of_a_hostile_file_is_the_truth(
    name: str, work: Callable[[RobotsTxt], object]
) -> None:
    """RFC 9309 section 3: the limit on memory is only as good as this figure."""
    assert_size_is_the_truth(BODIES[name]()[:200_000], work, factor=3)


def test_a_file_without_a_pace_keeps_nothing_for_each_crawler_that_asks_for_it() -> None:
    """RFC 9309 section 3: most files name no pace."""
    robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /a\n")
    asked_once(robots)
    assert [robots.pace(f"bot{number}") for number in range(60)] == [Pace()] * 60
    assert len(robots._kept) == 1
