"""A small web on this machine's loopback addresses: one site for each thing a robots.txt can do."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GROUPS = """\
User-agent: *
Disallow: /

User-agent: examplebot
Disallow: /private/
Allow: /private/open
Disallow: /*?print=

User-agent: otherbot
Disallow: /shop
"""

# What each site answers to a request for /robots.txt: the status, then the body (or the site that
# a redirect leads to).
ROBOTS_TXT = {
    "allows": (200, "User-agent: *\nDisallow:\n\nSitemap: {origin}/sitemap.xml\n"),
    "forbids": (200, "User-agent: *\nDisallow: /\n"),
    "groups": (200, GROUPS),
    "fails": (503, "Service Unavailable\n"),
    "moved": (302, "elsewhere"),
    "missing": (404, "<h1>Not found</h1>\nUser-agent: *\nDisallow: /\n"),
    "paced": (200, "User-agent: *\nCrawl-delay: 0.5\n"),
    "recovers": (200, "User-agent: *\nDisallow: /private/\n"),  # but for the first time: a 503
    "elsewhere": (200, "User-agent: *\nDisallow: /\n"),
}

HOME = """\
<title>home</title>
<a href="/shop">shop</a> <a href="/shop?print=yes">to print</a>
<a href="/private/">private</a> <a href="/private/open">private, but open</a>
"""

SITEMAP = """\
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{origin}/</loc></url> <url><loc>{origin}/shop</loc></url>
</urlset>
"""


class DemoWeb:
    """Serves the sites, each at a separate address, from when it is made until `stop()`."""

    def __init__(self) -> None:
        self.origins: dict[str, str] = {}
        self.recovered = False
        self._servers = [self._serve(name, number) for number, name in enumerate(ROBOTS_TXT, 1)]

    def lines(self) -> list[str]:
        """Return the name and the origin of each site."""
        return [f"{name} {origin}" for name, origin in self.origins.items()]

    def stop(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _serve(self, name: str, number: int) -> ThreadingHTTPServer:
        class Handler(SiteHandler):
            site = name
            web = self

        try:
            server = ThreadingHTTPServer((f"127.0.0.{number}", 0), Handler)
        except OSError:  # not every system has more than one loopback address; the ports differ
            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        host, port = server.server_address[:2]
        self.origins[name] = f"http://{host}:{port}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server


class SiteHandler(BaseHTTPRequestHandler):
    """Answers for one site: /robots.txt from the table above, a sitemap, links, plain pages."""

    site: str
    web: DemoWeb

    def do_GET(self) -> None:
        origin = self.web.origins[self.site]
        if self.path == "/sitemap.xml":
            self._answer(200, SITEMAP.format(origin=origin), content_type="text/xml")
            return
        if self.path != "/robots.txt":
            self._answer(200, HOME if self.path == "/" else "<title>a page</title>")
            return
        status, text = ROBOTS_TXT[self.site]
        if self.site == "recovers" and not self.web.recovered:
            self.web.recovered = True
            status, text = ROBOTS_TXT["fails"]
        if status == 302:
            self._answer(status, "", Location=f"{self.web.origins[text]}/robots.txt")
        else:
            self._answer(status, text.format(origin=origin))

    def _answer(
        self, status: int, text: str, content_type: str = "text/html", **headers: str
    ) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the table says it all."""
