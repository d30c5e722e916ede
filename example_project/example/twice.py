"""`python -m example.twice` crawls the demo web twice; the second run fetches no robots.txt.

Both runs keep what robots.txt says in one SQLite file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from example.demoweb import DemoWeb


def main() -> None:
    web = DemoWeb()
    with tempfile.TemporaryDirectory() as folder:
        sites = Path(folder, "sites.txt")
        sites.write_text("\n".join(web.lines()))
        store = f"REP_STORE=sqlite://{Path(folder, 'robots.db')}"
        crawl = [sys.executable, "-m", "scrapy", "crawl", "demo", "-a", f"sites={sites}"]
        for run in ("first", "second"):
            print(f"The {run} run:", flush=True)
            subprocess.run([*crawl, "-s", store], check=True)
    web.stop()


if __name__ == "__main__":
    main()
