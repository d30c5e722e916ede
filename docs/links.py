"""``python -m docs.links FOLDER`` checks all links within a site that was built: pages and anchors.

It prints each link that leads nowhere, and ends with status 1 if there is one. Links to other sites
are not followed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

TARGETS = ("href", "src")


class Page(HTMLParser):
    """The links and anchors of one page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: set[str] = set()
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, and by which names it can be linked to."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (
                name in TARGETS and value and not (tag == "link" and ("rel", "canonical") in attrs)
            ):
                self.links.add(value)


def broken(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each page of a site with a link that leads nowhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            known = pages.get(target)
            if not target.exists() or (known and unquote(parts.fragment) not in known.anchors):
                yield path, link


def main() -> None:
    """Check the site in the folder that the command line names."""
    folder = Path(sys.argv[1]).resolve()
    found = list(broken(folder))
    for path, link in found:
        print(f"{path.relative_to(folder)}: {link} leads nowhere")
    pages = len(list(folder.rglob("*.html")))
    print(f"{pages} pages, {len(found)} broken links")
    sys.exit(bool(found) or not pages)


if __name__ == "__main__":
    main()
