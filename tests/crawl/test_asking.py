"""A robots.txt is asked for as its pages are: otherwise its answer says nothing about them.

What is sent where is read off the servers' own records.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware

from scrapy_rep.stores.sqlite import SqliteStore
from scrapy_rep.stores.stored import StoredEntry
from tests.crawl.harness import visit
from tests.crawl.middlewares import Component, middleware
from tests.crawl.plugin import NOTHING, OPEN, RULES
from tests.crawl.spiders import OneByOneSpider
from tests.proxy import Proxy, by_proxy
from tests.replies import Reply, redirect
from tests.site import Authority, Hit, Script, Site

# --- a cookie wall is not a missing file


def sets(to: str, *cookies: str, status: int = 302) -> Reply:
    """A redirect that sets cookies."""
    return Reply(status, b"", [("Location", to), *(("Set-Cookie", cookie) for cookie in cookies)])


FOUND = Reply.text(RULES)


def only(header: str, wanted: str, shows: Reply, otherwise: Reply) -> Any:
    """A site that shows this to a request with something in a header, and else answers so."""
    return lambda hit: shows if wanted in (hit.header(header) or "") else otherwise


def wall(to: str, *own: str, wants: str = "seen=1", status: int = 302, shows: Reply = FOUND) -> Any:
    """A site that shows its rules to a request with a cookie, and redirects any other."""
    return only("Cookie", wants, shows, sets(to, *(own or (wants,)), status=status))


def with_login_host(site: Site) -> Authority:
    """A login host has a cookie of its own, and leads back with a ticket."""
    shop = site.authority()
    back = redirect(shop.url("/robots.txt?ticket=1"))
    gate = site.authority(None, {"/in": wall("/in", wants="sso=1", shows=back)})
    without_ticket = wall(gate.url("/in"), "asked=1")

    def tell(hit: Hit) -> Reply:
        has_ticket = hit.target.endswith("ticket=1")
        return sets("/robots.txt", "seen=1") if has_ticket else without_ticket(hit)

    shop.robots = tell
    return shop


def counting(hit: Hit) -> Reply:
    """The cookie changes on each hop."""
    seen = int((hit.header("Cookie") or "n=0").partition("n=")[2])
    return Reply.text(RULES) if seen == 3 else sets("/robots.txt", f"n={seen + 1}")


WALLS: dict[str, Script] = {
    "to itself": wall("/robots.txt"),
    "with a query": wall("/robots.txt?cookieSet=1"),
    "there and back": wall("/set"),
    "another on each hop": counting,
    "for this path": wall(
        "/robots.txt", "seen=1; Path=/robots.txt; HttpOnly; SameSite=Lax; Max-Age=60"
    ),
    "one of two": wall("/robots.txt", "a=b", "seen=1"),
    "after one that has expired": wall(
        "/robots.txt", "seen=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "seen=1"
    ),
    "307": wall("/robots.txt", status=307),
    "beyond ASCII": wall("/robots.txt", wants="seen=\xc3\xa4"),
    "quoted": wall("/robots.txt", wants='seen="1 2"'),
}
SET = {"/set": sets("/robots.txt", "seen=1; Path=/")}
"""A page that sets the cookie, and leads back."""


async def test_a_cookie_wall_is_no_missing_file(site: Site, mode: str) -> None:
    """RFC 9309 section 2.3.1.2: the rules behind it count. Its cookies are gone with the fetch.

    Nothing of the page reaches the fetch, and nothing of the fetch reaches a page.
    """
    there = {name: site.authority(script, SET) for name, script in WALLS.items()}
    there["over a login host"] = with_login_host(site)
    urls = [shop.url(path) for shop in there.values() for path in ("/open", "/private")]
    result = await visit([{"url": url, "cookies": {"of": "page"}} for url in urls], mode=mode)
    kinds = dict(zip(there, zip(result.kinds[::2], result.kinds[1::2], strict=True), strict=True))
    assert kinds == dict.fromkeys(there, ("downloaded", "forbidden"))
    for shop in there.values():
        assert shop.robots_hits[0].header("Cookie") is None
        assert "of=page" not in str([hit.headers for hit in shop.robots_hits])
        (page,) = [hit for hit in shop.page_hits if hit.path == "/open"]
        assert page.header("Cookie") == "of=page"


async def test_cookies_go_no_further_than_their_site(site: Site) -> None:
    """Not to another host of the chain, and not with the next fetch."""
    last = site.authority(RULES)
    middle = site.authority(sets(last.url("/robots.txt"), "middle=1"))
    first = site.authority([sets("/robots.txt", "first=1"), sets(middle.url("/robots.txt"), "b=1")])
    result = await visit([first.url("/private")])
    assert result.forbidden == [first.url("/private")]
    assert [hit.header("Cookie") for hit in first.robots_hits] == [None, "first=1"]
    assert [hit.header("Cookie") for hit in [*middle.hits, *last.hits]] == [None, None]


ODD: dict[str, list[str]] = {
    "empty": [""],
    "without a name": ["=1", "=", ";", ";;;", ",", "Path=/"],
    "of another host": ["a=b; Domain=example.org", "a=b; Domain=.", "a=b; Domain="],
    "odd attributes": ["a=b; Max-Age=9999999999999999999999; Expires=never; Version=x; Port=y"],
    "odd quotes": ['a="', 'b="\\', "c=' ; d"],
    "long": ["long=" + "x" * 4_091, "lost=" + "x" * 4_092],
    "many": [f"n{number}=1" for number in range(90)],
}


async def test_odd_cookies_end_nothing(site: Site, mode: str) -> None:
    """Each is kept as a cookie or is not; at most 50 are, and none over 4,096 bytes."""
    there = {name: site.authority([sets("/robots.txt", *odd), RULES]) for name, odd in ODD.items()}
    urls = [shop.url("/private") for shop in there.values()]
    result = await visit(urls, mode=mode)
    assert result.forbidden == urls
    sent = {name: shop.robots_hits[1].header("Cookie") or "" for name, shop in there.items()}
    assert len(sent["many"].split(";")) == 50
    assert (len(sent["long"]), "lost" in sent["long"]) == (4_096, False)
    assert sent["of another host"] in ("", "a=b")
    assert not [line for line in result.log if "cookiejar" in line.text]


async def test_redirects_without_end_are_said_once_a_site(site: Site) -> None:
    """RFC 9309 section 2.3.1.2: unavailable. With or without cookies, and a chain that is long."""
    chain = site.authority(RULES)
    for _ in range(6):
        chain = site.authority(redirect(chain.url("/robots.txt")))
    shops = [
        site.authority(redirect("/robots.txt")),
        site.authority(sets("/robots.txt", "same=1")),
        site.authority(lambda hit: sets("/robots.txt", f"n{len(str(hit.header('Cookie')))}=1")),
        chain,
    ]
    result = await visit([shop.url(path) for shop in shops for path in ("/a", "/b")])
    assert len(result.downloaded) == 8
    lines = result.lines("redirects more than 5 times", "WARNING")
    assert [sum(f"{shop.url('')} " in line for line in lines) for shop in shops] == [1] * 4
    assert len(lines) == 4
    assert [len(shop.robots_hits) for shop in shops] == [6, 6, 6, 1]


# --- a header of ours does not make the answer


def negotiating(packed: Any, coding: str, status: int = 406, name: str = "Accept-Encoding") -> Any:
    """A site that has one form of the file, and refuses what does not take it."""
    shows = Reply(200, packed(RULES.encode()), {"Content-Encoding": coding} if coding else {})
    wants = {"Accept-Encoding": "gzip", "Accept": "text/html"}[name]
    return only(name, wants, shows, Reply(status, "not acceptable"))


def elsewhere(site: Site, robots: Any) -> Authority:
    """A site that redirects to one that says this."""
    return site.authority(redirect(site.authority(robots).url("/robots.txt")))


async def test_a_file_in_one_coding_is_asked_for_once_more(site: Site, mode: str) -> None:
    """RFC 9110 section 15.5.7: 406, or 415, and what is decoded is bounded."""
    bomb = gzip.compress(RULES.encode() + b"#" * (64 << 20), 1)
    shops = [
        site.authority(negotiating(gzip.compress, "gzip")),
        site.authority(negotiating(gzip.compress, "gzip", 415)),
        site.authority(negotiating(zlib.compress, "deflate")),
        site.authority(negotiating(bytes, "", name="Accept")),
        site.authority(negotiating(lambda _: bomb, "gzip")),
        elsewhere(site, negotiating(gzip.compress, "gzip")),
    ]
    urls = [shop.url(path) for shop in shops for path in ("/open", "/private")]
    result = await visit(urls, mode=mode)
    assert result.kinds == ["downloaded", "forbidden"] * len(shops)
    assert [len(shop.robots_hits) for shop in shops] == [2, 2, 2, 2, 2, 1]
    assert shops[0].robots_hits[0].header("Accept-Encoding") == "identity"


async def test_a_refusal_of_both_questions_is_an_answer(site: Site) -> None:
    """RFC 9309 section 2.3.1.3: 4xx. After 404 and other statuses nothing is asked again."""
    refusing = [site.authority(Reply(status)) for status in (406, 415)]
    broken = site.authority([Reply(406), Reply(503)])
    others = [site.authority(Reply(status)) for status in (400, 403, 404, 410, 422, 451)]
    shops = [*refusing, broken, *others]
    result = await visit([shop.url("/a") for shop in shops])
    assert result.unreachable == [broken.url("/a")]
    assert len(result.downloaded) == len(shops) - 1
    assert [len(shop.robots_hits) for shop in shops] == [2, 2, 2, *[1] * len(others)]


# --- signed-in pages


def basic(login: str = "user:word") -> str:
    """An Authorization header."""
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def secured(login: str = basic(), says: str = RULES) -> Any:
    """A site that shows its rules to this login only."""
    refusal = Reply(401, NOTHING, {"WWW-Authenticate": 'Basic realm="shop"'})
    return only("Authorization", login, Reply.text(says), refusal)


LOGIN = {"http_user": "user", "http_pass": "word"}
SIGNED_IN: dict[str, Callable[[Authority, str], dict[str, Any]]] = {
    "header": lambda shop, path: {"url": shop.url(path), "headers": {"Authorization": basic()}},
    "meta": lambda shop, path: {"url": shop.url(path), "meta": LOGIN},
    "meta with a domain": lambda shop, path: {
        "url": shop.url(path),
        "meta": LOGIN | {"http_auth_domain": f"{shop.host}:{shop.port}"},
    },
}


@pytest.mark.parametrize("anonymous_first", [True, False])
async def test_the_rules_behind_a_login_are_those_of_its_pages(
    site: Site, mode: str, anonymous_first: bool
) -> None:
    """Whoever asks first. Without a reactor a login may stand in the URL; otherwise none can.

    The login is asked for once, and what it brings holds for all.
    """
    ways = dict(SIGNED_IN)
    if mode == "none":
        ways["user information"] = lambda shop, path: {"url": shop.url(path, user="user:word")}
    shops = {name: site.authority(secured()) for name in ways}
    plans: list[Any] = []
    for name, way in ways.items():
        shop = shops[name]
        anonymous = [shop.url("/private?anonymous")]
        signed_in = [way(shop, path) for path in ("/open", "/private", "/private?again")]
        plans += [*anonymous, *signed_in] if anonymous_first else [*signed_in, *anonymous]
    result = await visit(plans, OneByOneSpider, mode=mode)
    kinds = ["downloaded", "forbidden", "forbidden"]
    row = ["downloaded", *kinds] if anonymous_first else [*kinds, "forbidden"]
    assert result.kinds == row * len(ways)
    for shop in shops.values():
        assert [hit.header("Authorization") for hit in shop.robots_hits] == [None, basic()]


async def test_all_at_once_each_gets_the_answer_to_its_own_question(site: Site, mode: str) -> None:
    """Two logins of which one is refused, and none: 401 is the answer to those it was given to."""
    shop = site.authority(secured(basic("good:word")))
    headers = [None, *({"Authorization": basic(f"{name}:word")} for name in ("bad", "good", "bad"))]
    plans = [{"url": shop.url(f"/private?{n}"), "headers": h} for n, h in enumerate(headers)]
    alone = site.authority(secured("nobody"))
    plans += [{"url": alone.url(f"/private?{n}"), "headers": h} for n, h in enumerate(headers)]
    result = await visit(plans, mode=mode)
    assert result.kinds[2] == "forbidden"
    assert result.kinds[4:] == ["downloaded"] * 4
    sent = [hit.header("Authorization") for hit in alone.robots_hits]
    assert sorted(sent, key=str) == [basic("bad:word"), basic("good:word"), None]


async def test_a_login_goes_to_its_own_site_alone(site: Site, mode: str) -> None:
    """Not to a site that is redirected to, another port, or the site behind a rendering service.

    User information in a Location is dropped.
    """
    other = site.authority(secured())
    port = site.authority(secured(), host=other.host)
    named = other.url("/robots.txt", user="evil:word")
    first = [site.authority(redirect(url)) for url in (other.url("/robots.txt"), named)]
    moved = site.authority(redirect(port.url("/robots.txt")), host=other.host)
    shops = [*first, moved]
    plans = [way(shop, f"/?{len(name)}") for shop in shops for name, way in SIGNED_IN.items()]
    away = site.authority(secured())
    plans.append({"url": away.url("/a"), "meta": LOGIN | {"http_auth_domain": "example.org"}})
    service, page = site.authority(OPEN), site.authority(secured())
    rendered = {"robotstxt_page": page.url("/a")}
    login = {"Authorization": basic()}
    plans.append({"url": service.url("/render"), "meta": rendered, "headers": login})
    result = await visit(plans, mode=mode)
    assert len(result.downloaded) == len(plans)
    asked = [*other.hits, *port.hits, *away.robots_hits, *page.robots_hits]
    assert [hit.header("Authorization") for hit in asked] == [None] * len(asked)
    assert len(away.robots_hits) == len(page.robots_hits) == 1


async def test_both_second_questions_may_follow_each_other(site: Site) -> None:
    """Each once: 401, then 406, and the rules in the end; the fetch is one."""

    def tell(hit: Hit) -> Reply:
        if hit.header("Authorization") != basic():
            return Reply(401)
        return negotiating(gzip.compress, "gzip")(hit)

    shop, refusing = site.authority(tell), site.authority([Reply(401), Reply(406), Reply(401)])
    plans = [SIGNED_IN["header"](one, "/private") for one in (shop, refusing)]
    result = await visit(plans)
    assert result.kinds == ["forbidden", "downloaded"]
    assert (len(shop.robots_hits), len(refusing.robots_hits)) == (3, 3)
    assert result.stats["robotstxt/request_count"] == 2


async def test_a_stored_401_is_no_answer_to_a_login(site: Site, stored: Any) -> None:
    """Nor is it asked for again by requests without one."""
    shop = site.authority(secured())
    assert (await visit([shop.url("/private")], **stored)).kinds == ["downloaded"]
    assert (await visit([shop.url("/private")], **stored)).kinds == ["downloaded"]
    assert len(shop.robots_hits) == 1
    plans = [SIGNED_IN["header"](shop, "/private"), shop.url("/private?2")]
    assert (await visit(plans, OneByOneSpider, **stored)).kinds == ["forbidden", "forbidden"]
    assert (await visit([shop.url("/private")], **stored)).kinds == ["forbidden"]
    assert len(shop.robots_hits) <= 3


@pytest.mark.parametrize("store", ["memory:", "sqlite:robots.db"])
async def test_logins_without_end_are_asked_with_no_more_than_twenty_times(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """As where each request is signed for itself; a refused site is asked as often, and no more."""
    shop = site.authority(Reply(401))
    urls = [shop.url(f"/{n}") for n in range(40)]
    plans = [{"url": url, "headers": {"Authorization": f"Signed {url}"}} for url in urls]
    monkeypatch.chdir(tmp_path)
    result = await visit(plans, OneByOneSpider, REP_STORE=store)
    assert len(result.downloaded) == 40
    assert len(shop.robots_hits) <= 22


async def test_access_denied_holds_as_long_as_the_refusal(site: Site) -> None:
    """1996 section 3.1: a 401 closes a site to those it was given to."""
    shop = site.authority(secured(says=OPEN))
    plans: list[Any] = [shop.url("/a"), SIGNED_IN["meta"](shop, "/b"), shop.url("/c")]
    result = await visit(plans, OneByOneSpider, REP_ACCESS_DENIED="disallow")
    assert result.kinds == ["forbidden", "downloaded", "downloaded"]


async def test_a_401_says_the_same_to_every_name(site: Site) -> None:
    """It is the login that is refused, once."""
    shop = site.authority(Reply(401))
    login = {"Authorization": basic()}
    plans: list[Any] = [
        {"url": shop.url(f"/{n}"), "headers": login | {"User-Agent": f"browser {n}"}}
        for n in range(8)
    ]
    result = await visit(plans, OneByOneSpider)
    assert result.kinds == ["downloaded"] * 8
    assert len(shop.robots_hits) == 2


# --- pages under another name


@pytest.mark.parametrize("named_first", [True, False])
@pytest.mark.parametrize("status", [402, 403])
async def test_a_refusal_to_the_name_of_the_crawl_says_nothing_to_another(
    site: Site, mode: str, status: int, named_first: bool
) -> None:
    """Sites refuse crawlers by their User-Agent. What the one of the page is told counts."""

    def tell(hit: Hit) -> Reply:
        is_crawler = "Scrapy" in str(hit.header("User-Agent"))
        return Reply(status) if is_crawler else Reply.text(RULES)

    shop, closed = site.authority(tell), site.authority(Reply(status))
    plans: list[Any] = [
        {"url": one.url(path), "headers": {"User-Agent": "Mozilla/5.0 Firefox/140.0"}}
        for one in (shop, closed)
        for path in ("/private", "/private?2", "/open")
    ]
    plans = plans if named_first else [shop.url("/a"), *plans]
    result = await visit(plans, OneByOneSpider, mode=mode)
    assert result.kinds[-6:] == ["forbidden"] * 2 + ["downloaded"] * 4
    asked = [str(hit.header("User-Agent")).partition("/")[0] for hit in shop.robots_hits]
    assert asked == ["Scrapy", *([] if named_first else ["Scrapy"]), "Mozilla"]
    assert len(closed.robots_hits) == 2


@pytest.mark.parametrize("order", [50, 400])
async def test_a_name_from_a_middleware_is_one_of_the_page(site: Site, order: int) -> None:
    """Those that rotate browsers' names are behind the gate. The rules that its pages see count."""

    def rotate(request: Any) -> None:
        request.headers.setdefault("User-Agent", "Mozilla/5.0 Firefox/140.0")

    shop = site.authority(only("User-Agent", "Mozilla", FOUND, Reply(403)))
    mw: Any = {UserAgentMiddleware: None, middleware(process_request=rotate): order}
    plans = [shop.url(path) for path in ("/private", "/open", "/private?2")]
    result = await visit(plans, OneByOneSpider, DOWNLOADER_MIDDLEWARES=mw)
    assert result.kinds == ["forbidden", "downloaded", "forbidden"]
    assert [hit.target for hit in shop.page_hits] == ["/open"]


async def test_pages_that_are_judged_again_do_not_go_all_at_once(site: Site) -> None:
    """Their slot gets no more than it may send while they wait for the rules under their name."""
    under_way, most = 0, 0

    def rotate(request: Any) -> None:
        nonlocal under_way, most
        if request.url.endswith("/robots.txt"):
            return
        request.headers.setdefault("User-Agent", "Mozilla/5.0 Firefox/140.0")
        under_way += 1
        most = max(most, under_way)

    def ended(request: Any, response: Any) -> Any:
        nonlocal under_way
        under_way -= not request.url.endswith("/robots.txt")
        return response

    shop = site.authority(Reply(403, delay=0.1))
    rotating = middleware(process_request=rotate, process_response=ended)
    mw: Any = {UserAgentMiddleware: None, rotating: 400}
    plans = [shop.url(f"/{number}") for number in range(40)]
    result = await visit(plans, DOWNLOADER_MIDDLEWARES=mw, CONCURRENT_REQUESTS_PER_DOMAIN=2)
    assert len(result.downloaded) == 40
    assert most == 2


async def test_a_stored_refusal_holds_for_a_redirected_page(site: Site, stored: Any) -> None:
    """Its request has the name of the crawl in its header, and no other one."""
    shop = site.authority(Reply(403), {"/a": redirect("/b")})
    for _ in range(2):
        result = await visit([shop.url("/a")], **stored)
        assert result.kinds == ["downloaded"]
    assert len(shop.robots_hits) == 1


# --- a proxy's own refusal


def proxy_that_answers(site: Site, reply: Reply) -> str:
    """A proxy that asks no site, and says this to each request."""
    host, port = site.listen(lambda hit: reply)
    return f"http://{host}:{port}"


MARKED: dict[str, Reply] = {
    "tinyproxy": Reply(401, "", {"Server": "tinyproxy/1.11.1", "WWW-Authenticate": "Basic"}),
    "squid": Reply(403, NOTHING, {"X-Squid-Error": "ERR_ACCESS_DENIED 0", "Via": "1.1 proxy"}),
    "Proxy-Authenticate": Reply(403, "", {"Proxy-Authenticate": 'Basic realm="proxy"'}),
    "407": Reply(407, OPEN),
    "Proxy-Status": Reply(403, "", {"Proxy-Status": "p.example; error=http_request_denied"}),
    "payment": Reply(402, "", {"Proxy-Status": 'a, b; error="destination_unavailable"; details=1'}),
    "privoxy": Reply(404, "No such domain", {"Server": "Privoxy"}),
    "3proxy": Reply(400, "", {"Server": "3proxy / 0.9"}),
    "squid that redirects": Reply(
        302, "", {"X-Squid-Error": "403 Access Denied", "Location": "http://portal.example/denied"}
    ),
    "squid that finds no host": Reply(503, "", {"X-Squid-Error": "ERR_DNS_FAIL 0"}),
}
UNMARKED: dict[str, Reply] = {
    "plain": Reply(403, NOTHING),
    "CDN": Reply(403, "", {"Via": "1.1 varnish", "Server": "nginx"}),
    "Proxy-Status without an error": Reply(403, "", {"Proxy-Status": "p; received-status=403"}),
    "401": Reply(401, "", {"WWW-Authenticate": "Basic"}),
    "402": Reply(402, ""),
}


async def test_what_a_proxy_refuses_itself_is_not_the_sites_answer(site: Site, mode: str) -> None:
    """The request by it ends as a failure of the proxy; by another proxy the rules are found."""
    good = Proxy(site)
    plans: list[Any] = []
    for number, reply in enumerate(MARKED.values()):
        origin = f"http://s{number}.example"
        good.authority(origin, RULES)
        plans += by_proxy(proxy_that_answers(site, reply), f"{origin}/private?1")
        plans += by_proxy(good.url, f"{origin}/private?2")
    # A failure on our own side holds for a second; attempts by other proxies come at once.
    retries = {"REP_RETRY_DELAYS": [0.05]}
    result = await visit(plans, mode=mode, **retries)
    assert dict(zip(MARKED, result.kinds[1::2], strict=True)) == dict.fromkeys(MARKED, "forbidden")
    assert set(result.kinds[::2]) == {"forbidden"}
    alone = [plan | {"url": f"{plan['url']}&alone"} for plan in plans[::2]]
    result = await visit(alone, mode=mode)
    assert result.kinds == ["unreachable"] * len(MARKED)
    causes = [result.problem(plan["url"]).data["cause"] for plan in alone]
    assert causes == [f"proxy failure {reply.status}" for reply in MARKED.values()]


async def test_407_is_of_a_proxy_that_no_meta_names(site: Site, mode: str) -> None:
    """An intercepting one, or one that a download handler has: it is no answer of the site."""
    url = site.authority(Reply(407, OPEN)).url("/a")
    result = await visit([url], mode=mode, REP_RETRY_DELAYS=[])
    assert result.problem(url).data["cause"] == "proxy failure 407"


async def test_any_other_refusal_of_a_proxy_is_its_own(site: Site, stored: Any, mode: str) -> None:
    """It is not stored. What another one brings holds for all."""
    good = Proxy(site)
    shops, plans = [], []
    for number, reply in enumerate(UNMARKED.values()):
        origin = f"http://s{number}.example"
        shops.append(good.authority(origin, RULES))
        one, two, three, four = (f"{origin}/private?{n}" for n in range(1, 5))
        by_bad = partial(by_proxy, proxy_that_answers(site, reply), handle_httpstatus_all=True)
        plans += [*by_bad(one, two), *by_proxy(good.url, three, f"{origin}/open"), *by_bad(four)]
    first = [plan for plan in plans if plan["url"].endswith("1")]
    result = await visit(first, mode=mode, **stored)
    assert result.kinds == ["downloaded"] * len(UNMARKED)
    result = await visit(plans, OneByOneSpider, mode=mode, **stored)
    row = ["downloaded", "downloaded", "forbidden", "downloaded", "forbidden"]
    assert result.kinds == row * len(UNMARKED)
    assert [len(shop.robots_hits) for shop in shops] == [1] * len(UNMARKED)
    assert result.stats["robotstxt/request_count"] == 2 * len(UNMARKED)


async def test_a_site_that_refuses_is_asked_once_for_each_proxy(site: Site) -> None:
    """And its pages go on: 403 means that there are no rules (RFC 9309 section 2.3.1.3)."""
    proxies = [Proxy(site) for _ in range(3)]
    shops = [proxy.authority("http://shop.example", Reply(403)) for proxy in proxies]
    urls = [f"http://shop.example/{n}" for n in range(30)]
    result = await visit([by_proxy(proxies[n % 3].url, url)[0] for n, url in enumerate(urls)])
    assert len(result.downloaded) == 30
    assert [len(shop.robots_hits) for shop in shops] == [1] * 3


async def test_a_proxy_of_the_environment_is_that_of_all_requests(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A middleware chooses it behind the gate: a refusal by it holds, for redirected pages, too."""
    proxy = Proxy(site)
    monkeypatch.setenv("http_proxy", proxy.url)
    shop = proxy.authority("http://shop.example", Reply(403), {"/1": redirect("/2")})
    result = await visit([f"http://shop.example/{n}" for n in (1, 3, 4)], OneByOneSpider)
    assert len(result.downloaded) == 3
    assert len(shop.robots_hits) == 1


async def test_a_direct_refusal_says_nothing_to_a_proxy(site: Site, stored: Any, mode: str) -> None:
    """An address that is refused sees no rules; the pages by another one have some."""
    shop, proxy = site.authority(Reply(403)), Proxy(site)
    proxy.authority(shop.url(""), RULES)
    others = by_proxy(proxy.url, shop.url("/private?2"), shop.url("/open"))
    result = await visit([shop.url("/private?1"), *others], OneByOneSpider, mode=mode, **stored)
    assert result.kinds == ["downloaded", "forbidden", "downloaded"]
    result = await visit(others[:1], mode=mode, **stored)
    assert result.kinds == ["forbidden"]


class ProxyOfEach(Component):
    """Chooses a proxy behind the gate: one for robots.txt files, and another one for pages."""

    def process_request(self, request: Any) -> None:
        """Choose one, unless there is one."""
        is_page = not request.meta.get("dont_obey_robotstxt")
        request.meta.setdefault("proxy", self.crawler.settings["PROXIES"].split()[is_page])


async def test_a_refusal_to_another_proxy_than_is_chosen_behind_the_gate_does_not_hold(
    site: Site, mode: str
) -> None:
    """Most middlewares that choose a proxy are there. The rules that its pages see count."""
    refused, served = Proxy(site), Proxy(site)
    refused.authority("http://shop.example", Reply(403))
    shop = served.authority("http://shop.example", RULES)
    proxies = {
        "PROXIES": f"{refused.url} {served.url}",
        "DOWNLOADER_MIDDLEWARES": {f"{__name__}.ProxyOfEach": 350},
    }
    urls = [f"http://shop.example/{path}" for path in ("private", "open", "private?2")]
    result = await visit(urls, OneByOneSpider, mode=mode, **proxies)
    assert result.kinds == ["forbidden", "downloaded", "forbidden"]
    assert [hit.target for hit in shop.page_hits] == ["/open"]


async def test_a_refusal_to_a_proxy_that_is_taken_away_does_not_hold(site: Site) -> None:
    """Its pages go without one, by a middleware behind the gate, and see rules."""
    shop, refused = site.authority(RULES), Proxy(site)
    refused.authority(shop.url(""), Reply(403))

    def take_away(request: Any) -> None:
        if not request.meta.get("dont_obey_robotstxt"):
            request.meta.pop("proxy", None)

    plans = by_proxy(refused.url, shop.url("/private"), shop.url("/open"))
    late = {"DOWNLOADER_MIDDLEWARES": {middleware(process_request=take_away): 350}}
    result = await visit(plans, OneByOneSpider, **late)
    assert result.kinds == ["forbidden", "downloaded"]


async def test_a_login_of_the_page_is_not_for_the_proxy(site: Site) -> None:
    """Its own 401 asks for another one."""
    seen: list[Hit] = []

    def tell(hit: Hit) -> Reply:
        seen.append(hit)
        return MARKED["tinyproxy"]

    host, port = site.listen(tell)
    [plan] = by_proxy(f"http://{host}:{port}", "http://a.example/")
    result = await visit([plan | {"headers": {"Authorization": basic()}}])
    assert result.unreachable == ["http://a.example/"]
    assert [hit.header("Authorization") for hit in seen] == [None]


async def test_a_proxy_that_dies_between_the_questions_is_a_failure(site: Site) -> None:
    """Of the way to the site: no permission, although the site answered 401 before."""
    proxy = Proxy(site)
    proxy.authority("http://a.example", [Reply(401), Reply(503)])
    [plan] = by_proxy(proxy.url, "http://a.example/")
    result = await visit([plan | {"headers": {"Authorization": basic()}}])
    assert result.unreachable == ["http://a.example/"]


async def test_a_redirect_to_the_same_host_is_the_sites_own(site: Site) -> None:
    """A site may have a squid in front of it, which leads to https."""
    proxy = Proxy(site)
    squid = Reply(301, "", {"Server": "squid/5.7", "Location": "http://a.example/rules"})
    proxy.authority("http://a.example", squid, {"/rules": RULES})
    plans = by_proxy(proxy.url, "http://a.example/private", "http://a.example/open")
    result = await visit(plans, OneByOneSpider)
    assert result.kinds == ["forbidden", "downloaded"]


async def kept(path: Path, plans: list[Any], *kinds: str) -> StoredEntry:
    """What a store in a file keeps of the one site of a crawl whose requests end like this."""
    result = await visit(plans, OneByOneSpider, REP_STORE=f"sqlite://{path}", REP_RETRY_DELAYS=[])
    assert result.kinds == [*kinds]
    with closing(SqliteStore(path)) as store:
        (stored,) = store.scan()
    return stored


async def test_a_refusal_by_a_proxy_is_not_kept_with_a_failure(site: Site, tmp_path: Path) -> None:
    """A store does not know for whom it holds, so the next crawl would take it for the site's."""
    shop, bad = site.authority(Reply(503)), proxy_that_answers(site, UNMARKED["plain"])
    plans = [*by_proxy(bad, shop.url("/1"), handle_httpstatus_all=True), shop.url("/2")]
    stored = await kept(tmp_path / "r.db", plans, "downloaded", "unreachable")
    assert (stored.entry.failure is None, stored.refusals) == (False, {})


async def test_by_a_proxy_a_body_that_cannot_be_read_is_stored(site: Site, tmp_path: Path) -> None:
    """So it is stored, and the site is left alone for as long as after any failure of its own."""
    proxy = Proxy(site)
    proxy.authority("http://a.example", Reply(200, RULES, {"Content-Encoding": "gzip"}))
    plans = by_proxy(proxy.url, "http://a.example/open")
    stored = await kept(tmp_path / "r.db", plans, "unreachable")
    assert stored.entry.failure is not None
    assert stored.entry.failure.cause == "coding"
