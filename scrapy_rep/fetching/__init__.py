"""Fetches the robots.txt of one authority through Scrapy's downloader."""
