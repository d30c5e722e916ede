"""When a request may go: the requests that the scheduler withholds, places, hosts and turns."""
