"""What a site says about the use of its pages: for training, AI answers, search, text mining.

Octets, records, header fields and metas in, values out. This package does not fetch, log or count.
"""
