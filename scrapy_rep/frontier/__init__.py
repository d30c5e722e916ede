"""Which request goes next, and when: a queue for each site, paced hosts, and limits."""
