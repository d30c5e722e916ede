"""What a page and its response say to crawlers: META robots, X-Robots-Tag, links.

Pure: header lines and octets in, values out. ``source`` is one response, and ``markup`` the
elements of its page. ``terms`` splits what they say into terms, and ``directives`` says what these
come to for one crawler. ``links`` finds the links that are not to be followed.
"""
