"""Records of a crawl: what was decided, what sites answered, and the report on them."""

NEEDS_MSGSPEC = "needs msgspec: pip install 'scrapy_rep[evidence]'"
NEEDS_WARCIO = "needs warcio: pip install 'scrapy_rep[evidence]'"
