"""What the answer of a site to a request for its robots.txt means.

Pure: numbers and header fields in, decisions out; the time is an argument. Begin with ``outcome``,
which says what a fetch came to, and ``policy``, which says what follows from it. ``entry`` is what
is known of an ``authority``, and ``freshness`` how long a response may be used.
"""
