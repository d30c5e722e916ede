"""What is shown of a store's URI: never more than scheme, host, port and path."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scrapy.settings import Settings

from scrapy_rep.settings import RepSettings
from scrapy_rep.stores import check_store
from scrapy_rep.stores.redis_client import open_client
from scrapy_rep.stores.redis_uri import RedisUri
from scrapy_rep.stores.uri import SCHEMES, redacted
from tests.rows import deep, rows

WORD = "hunter2"

# A password of words, each of which would be found out, between what a URI may trip over.
MARKS = [*"/?@#%:;&=+,[]\\ \n\t.$'\"{}", "", "//", "://", "%2F", "%40", "\xe9", "\ud800"]
secrets = st.lists(st.sampled_from(MARKS), max_size=5).map(
    lambda marks: WORD + "".join(f"{mark}{WORD}" for mark in marks)
)
schemes = st.sampled_from([*SCHEMES, "redis+unix", "mysql", "x"])

URIS = [
    *("{scheme}://{secret}@host:6379/0", "{scheme}://user:{secret}@host:6379/0"),
    *("{scheme}://:{secret}@host", "{scheme}://user:1{secret}@[::1]:6379/0"),
    *("{scheme}://user:1/{secret}@host/0", "{scheme}://:1?{secret}@host/0"),
    *("{scheme}://:1#{secret}@host/0", "{scheme}://user:{secret}@h1:1,user:{secret}@h2:2/name/0"),
    *("{scheme}://user:{secret}@/tmp/redis.sock", "{scheme}://host/0?password={secret}"),
    *("{scheme}://host/0?{secret}", "{scheme}://host/0?{secret}=1", "{scheme}://host/0#{secret}"),
    "{scheme}://host/0?ssl_cert_reqs={secret}&ssl_password={secret}",
    *("{scheme}:/user:{secret}@host/0", "{scheme}//user:{secret}@host/0", "user:{secret}@host"),
    *("user:{secret}@host:6379/0", "{secret}@host", "user:{secret}@host://0"),
    *("//user:{secret}@host/0", "://user:{secret}@host/0", "redis:user:{secret}@host"),
    *("redis:///user:{secret}@host/0", "sqlite:robots.db?{secret}"),
    *("sqlite:///tmp/robots.db?key={secret}", "sqlite:///tmp/robots.db#{secret}"),
]


def read(value: Any) -> list[str]:
    """All that is said of a `REP_STORE` before its store is used."""
    said = [redacted(value)]
    try:
        chosen = RepSettings.from_settings(Settings({"REP_STORE": value}))
        said.append(repr(chosen))
        check_store(chosen.store or "")
        said.append(str(RedisUri(chosen.store or "")))
    except ValueError as error:
        said += [str(error), repr(error), "".join(traceback.format_exception(error))]
    return said


@rows("scheme", SCHEMES)
@rows("form", URIS)
def test_a_plain_secret_is_never_shown(form: str, scheme: str) -> None:
    """In each place of the user information, the query or the fragment, with each scheme."""
    for text in read(form.format(scheme=scheme, secret=WORD)):
        assert WORD not in text.lower()


@settings(max_examples=deep(40, 2_000))
@given(form=st.sampled_from(URIS), scheme=schemes, secret=secrets)
@example(form="{scheme}://:{secret}@host", scheme="redis", secret=f"{WORD}#x")
@example(form="{scheme}://:{secret}@host", scheme="redis", secret=f"{WORD}/x")
@example(form="{secret}@host", scheme="", secret=f"{WORD}://{WORD}")
def test_a_secret_is_never_shown(form: str, scheme: str, secret: str) -> None:
    """Whatever else it is made of. What is shown is one short line, fit for a log."""
    uri = form.format(scheme=scheme, secret=secret)
    for text in read(uri):
        assert WORD not in text.lower()
    text = redacted(uri)
    assert text.isascii()
    assert text.isprintable()
    assert len(text) < 130


@given(secret=secrets)
def test_of_anything_but_text_the_type_is_shown(secret: str) -> None:
    """Octets, a list, a tuple, a dictionary, an object whose representation tells all."""
    uri = f"redis://:{secret}@host"
    kinds = [uri.encode("utf-8", "replace"), [uri], (uri,), {uri: uri}, {"url": uri}, {uri}]
    for value in [*kinds, Settings({"URL": uri})]:
        for text in read(value):
            assert WORD not in text
        assert redacted(value) == f"<{type(value).__name__}>"


WHOLE = [
    *("memory:", "sqlite:", "sqlite:my%20robots.db", "sqlite:///home/a@b/robots.db"),
    *("redis://host:6379/0", "package.module.Class", ""),
]


@rows(
    "uri, text",
    *zip(WHOLE, WHOLE, strict=True),
    ("redis://user:p@ss@host:6379/0", "redis://host:6379/0"),
    ("rediss://:pw@[::1]:6379/1?ssl_cert_reqs=none", "rediss://[::1]:6379/1"),
    ("unix://:pw@/run/redis.sock?db=1", "unix:///run/redis.sock"),
    ("redis+sentinel://u:p@h1:1,h2:2/NAME/0", "redis+sentinel://h1:1,h2:2/NAME/0"),
    ("redis+cluster://:pw@h1:7000,h2:7001", "redis+cluster://h1:7000,h2:7001"),
    ("mysql://host:1/db?password=pw", "mysql://host:1/db"),
    ("mysql://user:pw@host:1/db", "..."),
    ("redis://b\xfccher.example/0", r"redis://b\xfccher.example/0"),
    ("redis://host:6379\n", "redis://host:6379"),
    ("redis://:6379", "redis://..."),
    ("redis://user:pw/x", "redis://..."),
)
def test_scheme_host_port_and_path_are_shown(uri: str, text: str) -> None:
    """As much as is certain: what could be a password is not."""
    assert redacted(uri) == text


@rows("uri", ["redis://:1?x@host/0", "redis://:1#x@host", "redis://u:1/2@host", "unix:///a@b?db=1"])
def test_what_can_be_read_in_two_ways_is_refused(uri: str) -> None:
    """A password that was not encoded would send the crawl to some other server."""
    with pytest.raises(ValueError, match="percent-encoded"):
        check_store(uri)


@rows(
    "uri",
    *("redis://hunter2:hunter2@127.0.0.1:1/0", "redis://:hunter2%2Fhunter2%40@127.0.0.1:1/0"),
    "redis://127.0.0.1:1/0?username=hunter2&password=hunter2",
    "rediss://127.0.0.1:1/0?ssl_certfile=hunter2&ssl_keyfile=hunter2&ssl_password=hunter2",
    *("rediss://127.0.0.1:1/0?ssl_cert_reqs=hunter2", "rediss://127.0.0.1:1/0?ssl_hunter2=1"),
    "rediss://127.0.0.1:1/0?ssl_ca_data=hunter2",
    "rediss://127.0.0.1:1/0?ssl_min_version=hunter2",
    "unix://hunter2:hunter2@/nowhere/redis.sock?db=1",
)
def test_what_redis_py_says_of_an_option_is_not_shown(uri: str) -> None:
    """Its errors quote options; they are what the log tells of a store that fails."""
    address = None
    with pytest.raises(Exception) as caught:  # noqa: PT011, PT012 (whatever it is)
        address = RedisUri(uri)
        open_client(address, 1.0).run([("PING",)])
    assert WORD not in (address.describe(caught.value) if address else str(caught.value))
