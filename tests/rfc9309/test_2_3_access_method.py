"""RFC 9309 section 2.3, one crawl for each sentence that binds a crawler."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.crawl.harness import crawl
from tests.crawl.plugin import NOTHING, RULES, obey
from tests.crawl.result import Result
from tests.replies import Reply, Reset, redirect
from tests.site import Authority, Script, Site


async def _visit(authority: Authority, *paths: str, **settings: Any) -> Result:
    plans = [authority.url(path) for path in paths]
    return (await crawl(settings=obey(**settings), plans=plans)).check()


async def _forbidden(authority: Authority, *paths: str) -> list[str]:
    """Return which of these paths are forbidden; the others are downloaded."""
    result = await _visit(authority, *paths)
    forbidden = [path for path in paths if authority.url(path) in result.forbidden]
    assert {*result.downloaded} == {authority.url(path) for path in paths if path not in forbidden}
    return forbidden


async def _ends(shops: dict[Any, Authority]) -> dict[Any, tuple[str, str]]:
    """Return how the requests for /open and /private of each authority end: one crawl."""
    plans = [shop.url(path) for shop in shops.values() for path in ("/open", "/private")]
    result = (await crawl(settings=obey(), plans=plans)).check()
    kinds = iter(result.kinds)
    return {name: (next(kinds), next(kinds)) for name in shops}


async def test_the_rules_are_in_the_top_level_path_in_lower_case(site: Site) -> None:
    """2.3: a file named "/robots.txt" (all lowercase) in the top-level path of the service."""
    shop = site.authority(RULES)
    await _visit(shop, "/deep/down/page", "/deep/Robots.txt")
    assert [hit.target for hit in shop.robots_hits] == ["/robots.txt"]


async def test_a_successful_access_is_followed(site: Site) -> None:
    """2.3.1.1: the crawler MUST follow the parseable rules."""
    shop = site.authority(RULES)
    assert await _forbidden(shop, "/open", "/private") == ["/private"]


async def test_five_consecutive_redirects_are_followed(site: Site) -> None:
    """2.3.1.2: crawlers SHOULD follow at least five consecutive redirects."""
    shops = {}
    for status, hops in product((301, 302, 303, 307, 308), (1, 5)):
        pages: dict[str, Script] = {f"/{n}": redirect(f"/{n + 1}", status) for n in range(1, hops)}
        first = redirect("/1", status)
        shops[status, hops] = site.authority(first, {**pages, f"/{hops}": RULES})
    assert await _ends(shops) == dict.fromkeys(shops, ("downloaded", "forbidden"))


async def test_redirects_are_followed_across_authorities(site: Site) -> None:
    """2.3.1.2: even across authorities (for example, hosts in the case of HTTP)."""
    other = site.authority(NOTHING)
    shop = site.authority(redirect(other.url("/robots.txt")))
    assert await _forbidden(shop, "/open") == ["/open"]


async def test_redirected_rules_are_those_of_the_initial_authority(site: Site) -> None:
    """2.3.1.2: its rules followed in the context of the initial authority, and of no other."""
    other = site.authority(RULES, pages={"/rules": NOTHING})
    shop = site.authority(redirect(other.url("/rules")))
    plans = [shop.url("/open"), other.url("/open"), other.url("/private")]
    result = (await crawl(settings=obey(), plans=plans)).check()
    assert result.forbidden == [shop.url("/open"), other.url("/private")]
    assert result.downloaded == [other.url("/open")]


async def test_more_than_five_redirects_are_unavailable(site: Site) -> None:
    """2.3.1.2: with more than five, crawlers MAY assume that robots.txt is unavailable."""
    pages: dict[str, Script] = {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 6)}
    shop = site.authority(redirect("/1"), {**pages, "/6": NOTHING})
    assert await _forbidden(shop, "/open") == []


async def test_unavailable_allows_any_resource(site: Site) -> None:
    """2.3.1.3: for a status of 400-499 the crawler MAY access any resources on the server."""
    statuses = (400, 401, 402, 403, 404, 410, 418, 451, 499)
    shops = {status: site.authority(Reply(status, NOTHING)) for status in statuses}
    assert await _ends(shops) == dict.fromkeys(shops, ("downloaded", "downloaded"))


async def test_unreachable_is_complete_disallow(site: Site) -> None:
    """2.3.1.4: due to server or network errors the crawler MUST assume complete disallow."""
    replies = {"500": Reply(500), "503": Reply(503, RULES), "599": Reply(599), "reset": Reset()}
    shops = {name: site.authority(reply) for name, reply in replies.items()}
    assert await _ends(shops) == dict.fromkeys(shops, ("unreachable", "unreachable"))


async def test_every_line_is_tried(site: Site) -> None:
    """2.3.1.5: crawlers MUST try to parse each line, and MUST use the parseable rules."""
    body = b"\x00nonsense\nUser-agent: *\n\x01: \xf0\nallow allow\n: : :\nDisallow: /x\n"
    shop = site.authority(Reply(200, body))
    assert await _forbidden(shop, "/x", "/y") == ["/x"]
