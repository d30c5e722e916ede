"""``check --approve``: rules that someone has read and approved, and whether they still hold.

The file holds the rules as they took effect, so that a change can be told by its effect: new
comments, another order, or a rule that changes no verdict need no new approval. It also holds the
overrides. Any change of what an override does needs a new approval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_rep.commands.comparison import Comparison
from scrapy_rep.commands.endings import usage_error, why

if TYPE_CHECKING:
    from scrapy_rep.access.authority import Authority
    from scrapy_rep.commands.offline import Offline
    from scrapy_rep.overrides.override import Override

_VERSION = 1


class Found(NamedTuple):
    """What is followed at an authority, and for whom; ``body`` is None while it is unreachable."""

    authority: Authority
    agent: tuple[str, ...]
    body: bytes | None


class Approval:
    """A file of approved rules; it is made by the first run, and added to by later ones.

    Raises ``EndingError`` for a file that cannot be read, or is something else.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._path = Path(name)
        self._approved = self._read()

    def compare(self, found: Sequence[Found], offline: Offline) -> str:
        """Return what has changed, in one line, or "". What is new is approved and written."""
        approved, comparison = self._approved, Comparison(offline)
        changed, is_new = [], False
        for one in dict.fromkeys(found):
            key = f"{one.authority} {','.join(one.agent).lower()} {offline.settings.profile}"
            overrides = [_plain(override) for override in comparison.overrides(one.authority)]
            is_new = is_new or key not in approved
            entry = approved.setdefault(key, {"rules": None, "overrides": overrides})
            if entry["overrides"] != overrides:
                changed.append(f"the overrides for {one.authority} have changed")
            elif one.body is not None and entry["rules"] is None:
                entry["rules"] = one.body.decode("latin-1")
                is_new = True
            elif one.body is not None:
                old = entry["rules"].encode("latin-1")
                changed.append(comparison.change(one.authority, one.agent, old, one.body))
        if is_new:
            self._write(approved)
        return "; ".join(dict.fromkeys(filter(None, changed)))

    def _read(self) -> dict[str, Any]:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise usage_error(f"cannot read {self._name}: {why(error)}") from None
        try:
            held = json.loads(text)
            if held["version"] != _VERSION:
                raise usage_error(f"{self._name} was made by another version of scrapy_rep")
            approved: dict[str, Any] = dict(held["approved"])
            for entry in approved.values():
                rules = entry["rules"]
                entry["overrides"], rules is None or rules.encode("latin-1")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise usage_error(f"{self._name} is not a file of approved rules") from None
        return approved

    def _write(self, approved: dict[str, Any]) -> None:
        held = {"version": _VERSION, "approved": approved}
        try:
            self._path.write_text(json.dumps(held, indent=2) + "\n", "ascii")
        except (OSError, ValueError) as error:
            raise usage_error(f"cannot write {self._name}: {why(error)}") from None


def _plain(override: Override) -> dict[str, Any]:
    """Return what an override does, as JSON has it; not why, by whom and until when."""
    value: Any = override.value
    if isinstance(value, tuple):
        value = [*value]
    return {"action": override.action, "paths": [*override.paths], "value": value}
