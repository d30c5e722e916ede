"""Records of a crawl: decisions, what sites answered, and the replay of one from the other."""
