"""Patterns against paths. Pure: it knows no robots.txt."""
