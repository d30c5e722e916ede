"""Whether a request may be made: by which rules, for which agent, and in spite of what."""
