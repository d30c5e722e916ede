"""The processes of the tests are processes: their own state, their own end."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.processes import ROOT, environment, run_python


def test_a_process_gets_its_arguments_and_input_and_gives_its_output() -> None:
    """And its exit status."""
    code = (
        "import sys; print(sys.argv, __name__, sys.stdin.read());"
        "print('said', file=sys.stderr); sys.exit(3)"
    )
    done = run_python("-c", code, "a", "b", given=b"given")
    assert (done.returncode, done.stdout, done.stderr) == (
        3,
        "['-c', 'a', 'b'] __main__ given\n",
        "said\n",
    )


def test_nothing_of_a_process_is_left_for_the_next(tmp_path: Path) -> None:
    """Modules, environment and folder."""
    code = (
        "import os, sys; print(hasattr(sys, 'mark'), os.environ.get('MARK'), os.getcwd());"
        "sys.mark = 1; os.environ['MARK'] = 'left'; os.chdir('/')"
    )
    told = [
        run_python("-c", code, cwd=folder, env=environment(**more)).stdout
        for folder, more in ((tmp_path, {"MARK": "mine"}), (ROOT, {}))
    ]
    assert told == [f"False mine {tmp_path}\n", f"False None {ROOT}\n"]


def test_modules_and_files_are_run_as_the_interpreter_runs_them(tmp_path: Path) -> None:
    """Their folder is the first where modules are looked for."""
    (tmp_path / "mine.py").write_text("import sys, beside; print(__name__, beside.X, sys.argv[1:])")
    (tmp_path / "beside.py").write_text("X = 7")
    for arguments in (("-m", "mine"), (str(tmp_path / "mine.py"),)):
        done = run_python(*arguments, "a", cwd=tmp_path)
        assert (done.stdout, done.stderr) == ("__main__ 7 ['a']\n", "")


def test_a_process_ends_as_python_ends() -> None:
    """With what is registered for the end, or with a traceback and status 1."""
    done = run_python("-c", "import atexit; atexit.register(print, 'end'); print('x')")
    assert (done.returncode, done.stdout) == (0, "x\nend\n")
    done = run_python("-c", "1 / 0")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ZeroDivisionError")
    threads = "import threading; threading.Timer(0.1, print, ['late']).start()"
    done = run_python("-c", threads)
    assert (done.returncode, done.stdout) == (0, "late\n")
    done = run_python("-c", "import sys; sys.exit('why')")
    assert (done.returncode, done.stderr) == (1, "why\n")
    assert run_python("-c", "import os, signal; os.kill(os.getpid(), 9)").returncode == -9


def test_a_process_that_takes_too_long_is_killed() -> None:
    """And the next one is not taken for it."""
    with pytest.raises(subprocess.TimeoutExpired):
        run_python("-c", "import time; time.sleep(60)", timeout=0.2)
    assert run_python("-c", "print('next')").stdout == "next\n"


def test_options_of_the_interpreter_count() -> None:
    """As -Werror does."""
    code = "import warnings; warnings.warn('x')"
    assert run_python("-c", code).returncode == 0
    assert run_python("-c", code, options=["-Werror"]).returncode == 1
