"""Whether a request may be made: by which rules, for which agent, and with which overrides."""
