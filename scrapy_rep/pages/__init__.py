"""What a page and its response say to crawlers: META robots, X-Robots-Tag and their like.

Pure: header lines and octets in, values out.
"""
