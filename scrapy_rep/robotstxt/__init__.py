"""The octets of a robots.txt become rules, and rules become verdicts. Only that, and purely.

A reader may take the modules in this order: ``lines`` finds the rules of a crawler in the text,
``normal_form`` says when two spellings are equal, ``rules`` compares patterns with a path, and
``robotstxt`` puts the three together. ``profiles`` has the differences between the documents,
``product_token`` the names of crawlers, ``pace`` the interval between requests, and ``verdict`` and
``printable`` the answers.
"""
