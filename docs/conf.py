"""How Sphinx builds the documentation: ``sphinx-build -W -n docs docs/_build/html``.

Nothing is fetched, so the build needs no network.
"""

from __future__ import annotations

import os
import sys
from configparser import ConfigParser
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

metadata = ConfigParser()
metadata.read(HERE.parent / "setup.cfg", "utf-8")

project = "scrapy_rep"
author = metadata["metadata"]["author"]
copyright = f"2026, {author}"  # noqa: A001
release = version = metadata["metadata"]["version"]

# sphinx_scrapy brings the roles and directives for settings, stats, signals, meta keys and
# commands. The other two are beside this file: tables made from the package, and drawings.
extensions = ["sphinx_scrapy", "generated_tables", "pictures_inline"]

# The inventories of other projects would have to be fetched.
scrapy_intersphinx_disable = ["python", "scrapy"]

# Where the site is published, if Read the Docs builds it. Nowhere else is an address made up.
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "/")

exclude_patterns = ["_build"]

# Blocks after "::" are log lines and files. Code has a directive that names its language.
highlight_language = "none"
html_theme = "furo"
html_title = f"scrapy_rep {release}"
html_static_path = ["_static"]
html_css_files = ["scrapy_rep.css"]
html_copy_source = False
html_show_sphinx = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True

# Every reference has to lead somewhere, but for the types of other projects in signatures.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!scrapy_rep\.\w+$).*")]
