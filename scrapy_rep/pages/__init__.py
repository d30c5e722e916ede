"""What a page and its response say to crawlers: META robots, X-Robots-Tag, links.

Pure: header lines and octets in, values out.
"""
