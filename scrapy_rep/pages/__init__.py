"""What a page and its response say to crawlers: META robots, X-Robots-Tag, links.

Pure: header lines and octets in, values out. ``source`` is one response, and ``markup`` the
elements of its page. ``directives`` says what these come to for one crawler, and ``links`` finds
the links that are not to be followed.
"""
