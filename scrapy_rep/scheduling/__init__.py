"""When a request may go on: waiting for rules, for its host's pace, and for a place; shutdown."""
