"""``check --approve``: rules that someone has read and approved, and whether they still hold.

The file holds the rules as they took effect, so that a change can be told by its effect: new
comments, another order, or a rule that changes no verdict need no new approval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_rep.commands.endings import usage_error, why
from scrapy_rep.linting.effects import Change, Effect, changes

_VERSION = 1


class Effective(NamedTuple):
    """The robots.txt of an authority, and the crawler and the profile that it is read by."""

    authority: str
    body: bytes
    agent: Sequence[str]
    profile: str

    @property
    def effect(self) -> Effect:
        """What it means for the crawler."""
        return Effect(self.body, tuple(self.agent), self.profile)


class Approval:
    """A file of approved rules; it is made by the first run, and added to by later ones.

    Raises ``EndingError`` for a file that cannot be read, or is something else.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._path = Path(name)
        self._approved = self._read()

    def compare(self, found: Sequence[Effective]) -> str:
        """Return what has changed, in one line, or "". What is new is approved and written."""
        approved = self._approved
        changed = []
        known = len(approved)
        for one in found:
            key = f"{one.authority} {','.join(one.agent).lower()} {one.profile}"
            if key not in approved:
                approved[key] = _entry(one)
            else:
                change = self._change(approved[key], one)
                if change:
                    changed.append(change)
        if len(approved) > known:
            self._write(approved)
        return "; ".join(dict.fromkeys(changed))

    def _change(self, entry: dict[str, Any], one: Effective) -> str:
        new = one.effect
        if entry["fingerprint"] == new.fingerprint:
            return ""
        old = Effect(entry["rules"].encode("latin-1"), tuple(one.agent), one.profile)
        change = next(changes(old, new), None)
        if change is not None:
            return f"the rules of {one.authority} have changed: {_told(change)}"
        if old.pace != new.pace:
            return f"the pace that {one.authority} asks for has changed"
        return ""

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
                entry["fingerprint"], entry["rules"].encode("latin-1")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise usage_error(f"{self._name} is not a file of approved rules") from None
        return approved

    def _write(self, approved: dict[str, Any]) -> None:
        held = {"version": _VERSION, "approved": approved}
        try:
            self._path.write_text(json.dumps(held, indent=2) + "\n", "ascii")
        except (OSError, ValueError) as error:
            raise usage_error(f"cannot write {self._name}: {why(error)}") from None


def _entry(one: Effective) -> dict[str, Any]:
    return {"fingerprint": one.effect.fingerprint, "rules": one.body.decode("latin-1")}


def _told(change: Change) -> str:
    old, new = (
        f"{'allowed' if verdict.allowed else 'disallowed'} ({verdict.rule or verdict.reason})"
        for verdict in (change.old, change.new)
    )
    return f"{change.path} was {old}, is {new}"
