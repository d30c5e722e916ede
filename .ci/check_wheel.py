"""Check that the wheel in a folder holds the whole package, and nothing else."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

[wheel] = Path(sys.argv[1]).glob("*.whl")
packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
files = (path for path in Path("scrapy_rep").rglob("*") if path.is_file())
here = {path.as_posix() for path in files if "__pycache__" not in path.parts}
if packed != here:
    sys.exit(f"the wheel and the package differ: {sorted(packed ^ here)}")
print(f"the wheel holds all {len(here)} files of the package")
