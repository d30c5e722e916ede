"""One authority's robots.txt, fetched through Scrapy's downloader."""
