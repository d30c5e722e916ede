"""Whether a crawl may continue with what an earlier run has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_rep.scheduling.shutdown import may_resume


class KeepingScheduler:
    """A custom scheduler, which need not keep its requests in a job directory."""


KEEPING = {"SCHEDULER": KeepingScheduler}


@pytest.mark.parametrize(
    ("chosen", "resumes"),
    [
        ({}, False),
        ({"SCHEDULER_PERSIST": True}, False),  # a setting that Scrapy's scheduler does not read
        (KEEPING, False),
        ({**KEEPING, "SCHEDULER_PERSIST": False}, False),
        ({**KEEPING, "SCHEDULER_PERSIST": True}, True),
    ],
)
def test_a_custom_scheduler_that_keeps_its_requests_may_resume(
    chosen: dict[str, Any], resumes: bool
) -> None:
    """It is told so by a setting of scrapy-redis."""
    assert may_resume(Settings(chosen)) is resumes


def test_a_crawl_resumes_in_a_job_directory_that_holds_something(tmp_path: Path) -> None:
    """A directory that is missing or empty is that of a first run."""
    job = tmp_path / "job"
    settings = Settings({"JOBDIR": str(job)})
    assert not may_resume(settings)
    job.mkdir()
    assert not may_resume(settings)
    (job / "requests.queue").touch()
    assert may_resume(settings)
