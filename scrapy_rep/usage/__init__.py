"""What sites say about use, in a crawl: requests that are not made, items that are dropped."""
