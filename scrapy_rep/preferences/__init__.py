"""What a site says about the use of its pages: for training, AI answers, search, text mining.

Octets, records, header fields and metas in, values out. Nothing here fetches, logs or counts.
"""
