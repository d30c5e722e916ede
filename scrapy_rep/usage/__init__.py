"""Applies the preferences of sites in a crawl: refuses requests, and drops items."""
