"""What a site says about the use of its pages: for training, AI answers, search, text mining.

Pure: octets, records, header fields and metas in, values out. ``vocabularies`` has the table of the
vocabularies, and how each is written; ``preferences`` what several statements come to.
``robots_txt`` and ``page`` are the two places where a site writes them.
"""
