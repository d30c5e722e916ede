"""What a site says about the use of its pages: for training, AI answers, search, text mining.

Pure: octets, records, header fields and metas in, values out. ``statement`` has the values, and
``vocabularies`` how each vocabulary is written. ``robots_txt`` and ``page`` are the two places
where a site writes them.
"""
