"""The octets of a robots.txt become rules, and rules become verdicts.

Pure: octets in, values out. A reader may take the modules in this order. ``text`` and ``lines``
find the rules of a crawler in the octets. ``normal_form`` says when two spellings are equal: why
``%2F`` is not ``/``. ``patterns`` says how ``/a*b$`` is compared with a path, and what bounds the
time. ``rules`` asks the patterns of a crawler, and ``robotstxt`` keeps the rules of each crawler
asked about. ``profiles`` has the differences between the documents, ``product_token`` the names of
crawlers, ``pace`` the interval between requests, and ``verdict`` and ``printable`` the answers.
"""
