"""The mark of a test with an upper bound on time.

Such a bound is meant for a machine that is free. Where it is missed, others may have used the
machine: then the test is run again, and has to pass.
"""

from __future__ import annotations

import pytest

timed = pytest.mark.flaky(reruns=2, reruns_delay=1)
