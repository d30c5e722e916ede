"""`python -m example.serve` serves the demo web until it is interrupted, and prints its sites."""

from __future__ import annotations

import signal

from example.demoweb import DemoWeb


def main() -> None:
    web = DemoWeb()
    for name, origin in web.origins.items():
        if name != "elsewhere":  # a robots.txt may lead there; nobody crawls it
            print(origin, flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    web.stop()


if __name__ == "__main__":
    # To be set before a thread is started, so that all of them leave the signals to main().
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    main()
