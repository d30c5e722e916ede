"""What is known of each authority: one fetch for all requests that wait, refreshed in time."""
