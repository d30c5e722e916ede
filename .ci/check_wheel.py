"""Check that the wheel in a folder holds the whole package, and the source archive its tests."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

[wheel] = Path(sys.argv[1]).glob("*.whl")
packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
files = (path for path in Path("scrapy_rep").rglob("*") if path.is_file())
here = {path.as_posix() for path in files if "__pycache__" not in path.parts}
if packed != here:
    sys.exit(f"the wheel and the package differ: {sorted(packed ^ here)}")
[archive] = Path(sys.argv[1]).glob("*.tar.gz")
with tarfile.open(archive) as source:
    packed = {name.partition("/")[2] for name in source.getnames()}
folders = (Path(name) for name in ("docs", "example_project", "tests"))
tested = {path.as_posix() for folder in folders for path in folder.rglob("*.py")}
if missing := tested - packed:
    sys.exit(f"the source archive lacks {sorted(missing)}")
print(f"the wheel holds all {len(here)} files of the package")
