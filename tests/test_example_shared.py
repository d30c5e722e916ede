"""The example project's workers, run as the README says: by its commands, from its folder."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crawl.harness import WARNINGS
from tests.processes import Forked, environment, start_python
from tests.stores.servers import running_server
from tests.test_example import FOLDER, table_of

WORKERS = 4


@contextmanager
def served_sites() -> Iterator[list[str]]:
    """The origins of the demo web, while it is served."""
    server = subprocess.Popen(
        [sys.executable, *WARNINGS, "-m", "example.serve"],
        cwd=FOLDER,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield [server.stdout.readline().strip() for _ in range(8)]
    finally:
        server.terminate()
        _, said = server.communicate(timeout=10)
    assert server.returncode == 0, said


def crawled() -> list[dict[str, list[tuple[str, ...]]]]:
    """What each of the workers says of the sites that it saw."""
    with tempfile.TemporaryDirectory() as name, served_sites() as sites, running_server() as server:
        file = Path(name, "sites.txt")
        file.write_text("\n".join(sites))
        workers: list[Forked] = []
        try:
            crawl = ("-m", "scrapy", "crawl", "shared", "-a", f"sites={file}")
            told = environment(REDIS_URL=server.uri)
            workers += [
                start_python(*crawl, options=WARNINGS, cwd=FOLDER, env=told) for _ in range(WORKERS)
            ]
            said = [worker.communicate(timeout=60) for worker in workers]
        finally:
            for worker in workers:
                worker.close()
    assert [worker.returncode for worker in workers] == [0] * WORKERS, said
    return [table_of(out) for out, _ in said]


@pytest.mark.slow
def test_workers_fetch_each_robots_txt_and_each_page_once() -> None:
    """RFC 9309 section 2.4: of each site one worker has the status, the others have the entry.

    That one has no page of the site if it gave its request back to wait for a turn. The pages of
    all workers together are those of the demo crawl.
    """
    tables = crawled()
    seen = [(site, rows[0][0]) for table in tables for site, rows in table.items() if rows]
    fetched = [site for site, status in seen if status != "stored"]
    assert 6 <= len(fetched) == len(set(fetched))
    assert len({site for site, _ in seen}) == 8
    pages = [(s, *row[1:3]) for table in tables for s, rows in table.items() for row in rows]
    assert len(pages) == len({page[:2] for page in pages}) == 4 * 5 + 4 * 3
    by_result = {result: sum(page[2] == result for page in pages) for _, _, result in pages}
    assert by_result == {"fetched": 3 * 5 + 3, "dropped": 2 + 4 * 3}
