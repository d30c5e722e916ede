"""Whether a worker counts as alive, and whether it may say that another one is dead."""

from __future__ import annotations

from time import monotonic
from typing import Final

_CLOCK_SET: Final = 1.0
"""If the offset of the server's clock from ours changes by more seconds, a clock was set."""


class Contact:
    """When the server has answered a worker, by the monotonic clock of this machine.

    After ``silent_for`` seconds without a sign of life, a worker counts as dead.
    """

    def __init__(self, silent_for: float):
        self._silent_for = silent_for
        self._asked_at = self._heard_at = self._since = monotonic()
        self._offset = 0.0

    def asks(self) -> None:
        """Note that the server is asked now."""
        self._asked_at = monotonic()

    def heard(self, server_time: float) -> None:
        """Note that the server has answered, and since when it has done so without a break.

        The answer may have taken long, so this worker counts as alive from when it first asked.
        """
        now = monotonic()
        offset = server_time - now
        if self.is_old or abs(offset - self._offset) > _CLOCK_SET:
            self._since = now  # nobody is dead, or the clock of the server was set
        self._heard_at, self._offset = self._asked_at, offset

    @property
    def is_old(self) -> bool:
        """Whether nothing was heard for so long that the server should be asked."""
        return monotonic() > self._heard_at + self._silent_for / 3

    @property
    def is_alive(self) -> bool:
        """Whether this worker counts as alive, with a little to spare."""
        return monotonic() < self._heard_at + 0.9 * self._silent_for

    @property
    def server_time(self) -> float:
        """The time of the server in seconds; 0 unless this worker may say that others are dead.

        It may if it has been in contact for long enough: after an outage nobody is dead.
        """
        now = monotonic()
        may_judge = self._since + self._silent_for < now and not self.is_old
        return now + self._offset if may_judge else 0.0
