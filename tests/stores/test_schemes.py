"""Each scheme of ``REP_STORE`` opens its store, has its extra, and is in the guide.

The tests go by ``SCHEMES``. A new row needs a sample of its URI, below.
"""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

import scrapy_rep
from scrapy_rep.stores import NAMES, check_store, open_store
from scrapy_rep.stores.uri import SCHEMES, Scheme, redacted
from tests.rows import rows

ROOT = Path(scrapy_rep.__file__).parent.parent
GUIDE = ROOT / "docs" / "guides" / "stores.rst"

SAMPLES = {
    "sqlite": "sqlite:",
    "redis": "redis://127.0.0.1:1/0",
    "rediss": "rediss://127.0.0.1:1/0",
    "unix": "unix:///nowhere/redis.sock",
    "redis+sentinel": "redis+sentinel://127.0.0.1:1/name/0",
    "rediss+sentinel": "rediss+sentinel://127.0.0.1:1/name/0",
    "redis+cluster": "redis+cluster://127.0.0.1:1",
    "rediss+cluster": "rediss+cluster://127.0.0.1:1",
}
"""The URI of a store that is not there yet."""

STORES = [scheme for scheme in SCHEMES.values() if scheme.store]


@rows("scheme", STORES)
def test_each_scheme_opens_its_store(scheme: Scheme, tmp_path: Path) -> None:
    """It is checked and opened by the class of its row, and shown whole without a password."""
    uri = SAMPLES.get(scheme.begins.partition(":")[0])
    assert uri is not None, f"add a sample of {scheme.begins} to {__name__}"
    check_store(uri)
    assert redacted(uri) == uri
    store = open_store(uri, directory=tmp_path)
    store.close()
    assert f"{type(store).__module__}.{type(store).__name__}" == scheme.store


@rows("scheme", STORES)
def test_each_scheme_refuses_what_its_store_cannot_be(scheme: Scheme) -> None:
    """The class is asked before a crawl begins."""
    bad = f"{scheme.begins}a b?c=d"
    with pytest.raises(ValueError, match=r"names no|not the URI"):
        check_store(bad)
    with pytest.raises(ValueError, match=r"names no|not the URI"):
        open_store(bad)


@rows("scheme", [scheme for scheme in STORES if scheme.extra])
def test_the_extra_of_each_scheme_can_be_installed(scheme: Scheme) -> None:
    """``pip install 'scrapy_rep[...]'`` is what the error says; the tests need it as well."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    assert scheme.extra in extras, f"setup.cfg has no extra {scheme.extra!r} for {scheme.begins}"
    needed = {line.strip() for line in extras[scheme.extra].splitlines() if line.strip()}
    for requirement in needed - {line for line in needed if line.startswith("#")}:
        assert requirement in extras["test"], f"the extra test lacks {requirement}"


@rows("scheme", SCHEMES.values())
def test_each_scheme_is_named(scheme: Scheme) -> None:
    """In error messages and in the guide."""
    assert f"{scheme.begins}," in NAMES or f"{scheme.begins} or" in NAMES
    assert f"``{scheme.begins}" in GUIDE.read_text("utf-8"), f"{GUIDE.name} lacks {scheme.begins}"
