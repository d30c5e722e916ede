"""Links with `rel="nofollow"`, against the requests that Scrapy makes of them."""

from __future__ import annotations

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_rep.gate.page_responses import page_source
from scrapy_rep.pages.links import MOST_HOSTS, canonical, urls_not_to_follow
from tests.rows import rows

REFERENCES = [
    *("/x", " /a b ", "/x\ny\tz", "/é?q=é", "/é?q=é#é", "?q=1&amp;é=2", "../../x/./y/../z"),
    *("/%7ex?%e9=%2F", "\\x\\y", "//other.example/x?é", "/x|y[1]{2}", "/x?a=+&b=%20&a=1"),
    *("HTTPS://E.ORG:443/x", "https://bücher.example/x", "", "#a"),
]


def page(html: str, encoding: str) -> HtmlResponse:
    """A page in an encoding that its header names."""
    headers = {"Content-Type": f"text/html; charset={encoding}"}
    return HtmlResponse("https://e.org/dir/page", headers=headers, body=html.encode(encoding))


@rows("encoding", ["utf-8", "iso-8859-1", "windows-1252"])
@rows("reference", REFERENCES)
def test_whatever_way_a_request_is_made_its_link_is_found(reference: str, encoding: str) -> None:
    """HTML, "encoding-parse a URL": a query is in the encoding of the page, if Scrapy does so."""
    found = page(f'<html><body><a rel="nofollow" href="{reference}">x</a>', encoding)
    markup = page_source(found).markup
    closed = urls_not_to_follow(markup, found.url)
    [anchor] = found.css("a")
    requests = [
        found.follow(anchor),
        Request(found.urljoin(anchor.attrib["href"])),
        *(Request(link.url) for link in LinkExtractor().extract_links(found)),
    ]
    for request in requests:
        assert canonical(request.url) in closed, request.url


@rows("encoding", ["utf-8", "iso-8859-1"])
def test_another_link_opens_a_url_in_each_of_its_forms(encoding: str) -> None:
    """A URL counts as closed only if every link to it does."""
    html = '<html><body><a rel="nofollow" href="/?é">1</a><a href="/?é#b">2</a>'
    markup = page_source(page(html, encoding)).markup
    assert urls_not_to_follow(markup, "https://e.org/") == frozenset()


def closed_by(html: str, base: str = "https://e.org/") -> frozenset[str]:
    """The URLs that a page closes."""
    markup = page_source(page(f"<html><body>{html}", "iso-8859-1")).markup
    return urls_not_to_follow(markup, base)


@rows(
    "html",
    '<a href="/x">x</a>',
    '<a href="/nofollow">the word alone</a>',
    '<a rel="nofollow">no reference</a>',
    '<a rel="nofollow" href="//[x/">malformed</a>',
    '<a rel="nofollow" href="https://e.org:port/?\xe9">malformed where it is compared</a>',
)
def test_a_page_without_a_link_to_leave_closes_no_url(html: str) -> None:
    """HTML Living Standard, link type nofollow; what is no URL leads nowhere."""
    assert closed_by(html) == frozenset()


def test_a_base_counts_unless_it_is_malformed() -> None:
    """HTML Living Standard, 4.2.3."""
    link = '<a rel="nofollow" href="x">x</a>'
    assert closed_by(f'<base href="/dir/">{link}') == {"https://e.org/dir/x"}
    assert closed_by(f'<base href="//[x/">{link}') == {"https://e.org/x"}


def test_a_link_that_is_malformed_once_it_is_joined_is_no_error() -> None:
    """By Python 3.11. Later versions keep the slashes apart."""
    link = '<base href="file:"><a rel="nofollow" href="////[\xe9">x</a>'
    assert closed_by(link) <= {"file:////[%C3%A9"}


def test_an_escaped_dot_segment_of_the_page_stays_one() -> None:
    """A reference is joined with the URL of the page as it is, as link extractors do."""
    link = '<a rel="nofollow" href="../x">x</a>'
    assert closed_by(link, "https://e.org/a/%2E%2E/b") == {"https://e.org/a/x"}


def test_a_base_with_a_name_outside_ascii_counts_like_any_other() -> None:
    """It is encoded once."""
    link = '<base href="//büro.example/dir/"><a rel="nofollow" href="x">x</a>'
    assert closed_by(link) == {canonical("https://xn--bro-hoa.example/dir/x")}


def test_only_so_many_names_outside_ascii_are_read_and_none_that_is_too_long() -> None:
    """Each takes a millisecond to encode, and one of 500 KB takes hours."""
    long = f'<a rel="nofollow" href="//{"ü" * 65}/">x</a>'
    assert closed_by(long) == frozenset()
    many = "".join(f'<a rel="nofollow" href="//ü{n}/">x</a>' for n in range(MOST_HOSTS + 9))
    near = '<a rel="nofollow" href="x">x</a>'
    assert len(closed_by(many + near)) == MOST_HOSTS + 1
