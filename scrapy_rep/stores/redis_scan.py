"""Lists everything that a Redis deployment holds under one prefix, for its operator.

``SCAN`` goes through all keys of a server, or of every master of a cluster, and may return a key
twice. So the authorities seen are remembered, which takes about 100 octets for each.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from scrapy_rep.access.authority import Authority
from scrapy_rep.stores.codec import decode_parts
from scrapy_rep.stores.redis_client import Client
from scrapy_rep.stores.stored import StoredEntry, StoreError, authority_in_key, beginnings

logger = logging.getLogger(__name__)

_BATCH = 500
"""Keys that are read in one round trip."""

_WRONG_TYPE = "the Redis server answered with a value of a wrong type"


class RedisScan:
    """Reads the keys that begin with ``entries``.

    Methods raise ``StoreError`` and what redis-py raises.
    """

    def __init__(self, client: Client, entries: str) -> None:
        self._client = client
        self._entries = entries

    def entries(self, start: str) -> Iterator[StoredEntry]:
        """Yield the authorities that ``start`` selects, with all refusals."""
        seen = set[Authority]()
        for batch in self._batches(self._entries, start, seen):
            replies = self._client.run([("HGETALL", key) for key, _ in batch])
            for (key, authority), reply in zip(batch, replies, strict=True):
                stored = decode_parts(authority, _parts(key, reply))
                if stored is not None:
                    yield stored

    def find(self, key: str, authority: Authority) -> StoredEntry | None:
        """Return the value of ``key``, which is that of ``authority``."""
        (reply,) = self._client.run([("HGETALL", key)])
        return decode_parts(authority, _parts(key, reply))

    def _batches(
        self, beginning: str, start: str, seen: set[Authority]
    ) -> Iterator[list[tuple[bytes, Authority]]]:
        """Yield keys with ``beginning`` and their authorities, which are added to ``seen``."""
        names = beginnings(start)
        pattern = f"{_escaped(beginning)}*{_escaped(start.lower())}*"
        found = self._new(self._client.keys(pattern), len(beginning.encode()), names, seen)
        while batch := list(islice(found, _BATCH)):
            yield batch

    @staticmethod
    def _new(
        keys: Iterator[bytes], offset: int, names: tuple[str, ...], seen: set[Authority]
    ) -> Iterator[tuple[bytes, Authority]]:
        for key in keys:
            authority = _authority(key[offset:])
            if authority is None or authority in seen:
                continue
            if str(authority).startswith(names):
                seen.add(authority)
                yield key, authority


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[\]^\\])", r"\\\1", text)


def _parts(key: bytes | str, reply: Any) -> dict[str, bytes]:
    """Return the fields of a hash: redis-py makes a list, or a dictionary of them.

    There are none if the key is not a hash: another program has written it, and the others count.
    """
    if isinstance(reply, Exception):
        if not str(reply).startswith("WRONGTYPE"):
            raise reply
        logger.warning("the key %a is not a hash, and is passed over", key)
        return {}
    if isinstance(reply, list):
        reply = dict(zip(reply[::2], reply[1::2], strict=False))
    if not isinstance(reply, dict):
        raise StoreError(_WRONG_TYPE)
    return {field.decode("utf-8", "replace"): octets for field, octets in reply.items()}


def _authority(name: bytes) -> Authority | None:
    """Return the authority of a key, which has braces in a cluster; None for foreign keys."""
    text = name.decode("utf-8", "replace")
    return authority_in_key(text[1:-1] if text.startswith("{") else text)
