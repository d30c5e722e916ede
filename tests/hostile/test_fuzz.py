"""A coverage-guided fuzzer looks for octets that raise, hang, or get two answers.

RFC 9309 section 3: untrusted content. Atheris has wheels for some Pythons only, so that it is
imported if it is there; it runs in a process of its own, as it takes the process over.
"""

import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.benchmarks import inputs
from tests.rows import deep

SECONDS = deep(10, 600)
WORDS = (
    "user-agent: ", "useragent", "disallow: ", "allow: ", "disalow", "crawl-delay: ", "sitemap: ",
    "*", "$", "#", "mybot", "%2F", "%3F", "%2A", "%41", "\\x0a", "\\x0d", "\\xef\\xbb\\xbf",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(SECONDS * 5)
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed")
def test_the_fuzzer_finds_nothing(tmp_path: Path) -> None:
    """RFC 9309 section 3: no octets do harm, and the short cuts say what the records say."""
    target = Path(__file__).parent / "fuzz_target.py"
    root = target.parents[2]
    words = tmp_path / "words"
    words.write_text("".join(f'"{word}"\n' for word in WORDS), encoding="ascii")
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    rnd = random.Random(1)
    for number in range(100):
        body = inputs.file(rnd, rnd.randrange(6), wildcards=0.5)
        path = inputs.pattern(rnd).lstrip("/").encode()
        (seeds / str(number)).write_bytes(body + b"\0\0" + path)
    limits = [f"-max_total_time={SECONDS}", "-max_len=1000", "-timeout=5", f"-dict={words}"]
    ran = subprocess.run(
        [sys.executable, str(target), *limits, str(seeds)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
