"""The diagrams: what is known of a site, what it waits for, and how waiting goes."""

from __future__ import annotations

from typing import Final, NamedTuple

from docs.pictures.drawing import ACCENT, BAD, FAINT, GOOD, Drawing
from scrapy_rep.frontier.states import SITE, State

Point = tuple[float, float]


def entry() -> Drawing:
    """The states of what is known of a site."""
    d = Drawing(760, 300)
    d.box(80, 90, 120, 56, "unknown\nwait", edge=FAINT)
    d.box(280, 90, 130, 56, "fresh\nuse it", edge=GOOD)
    d.box(480, 90, 130, 56, "ageing\nuse it, refresh", edge=GOOD)
    d.box(670, 90, 120, 56, "expired\nwait", edge=FAINT)
    d.box(280, 230, 150, 56, "failing, with a copy\nfollow the copy", edge=GOOD)
    d.box(560, 230, 160, 56, "failing, without one\ndisallow all", edge=BAD)
    d.arrow((140, 90), (215, 90))
    d.text(178, 70, "answer", colour=FAINT)
    d.arrow((345, 90), (415, 90))
    d.text(380, 70, "90 % of\nits life", colour=FAINT)
    d.arrow((545, 90), (610, 90))
    d.text(578, 70, "its life\nis over", colour=FAINT)
    d.arrow((460, 62), (460, 26), (290, 26), (290, 62), colour=GOOD)
    d.arrow((670, 62), (670, 14), (270, 14), (270, 62), colour=GOOD)
    d.text(375, 38, "an answer", colour=FAINT)
    d.arrow((480, 118), (480, 150), (310, 150), (310, 202), colour=BAD)
    d.arrow((670, 118), (670, 164), (330, 164), (330, 202), colour=BAD)
    d.text(440, 181, "a failed fetch", colour=FAINT)
    d.arrow((80, 118), (80, 284), (520, 284), (520, 258), colour=BAD)
    d.text(170, 272, "a failed fetch", colour=FAINT)
    d.arrow((355, 230), (480, 230), colour=BAD)
    d.text(418, 216, "copy too old", colour=FAINT)
    d.arrow((250, 202), (250, 118), colour=GOOD)
    d.text(200, 164, "an answer", colour=FAINT)
    d.arrow((640, 230), (735, 230), (735, 5), (250, 5), (250, 62), colour=GOOD)
    return d


class Box(NamedTuple):
    """Where a state is drawn: its middle and its size."""

    x: float
    y: float
    width: float
    height: float

    def shared(self, other: Box) -> Point | None:
        """Return the range of ``x`` that is in both boxes; None if one is beside the other."""
        left = max(self.x - self.width / 2, other.x - other.width / 2)
        right = min(self.x + self.width / 2, other.x + other.width / 2)
        return (left, right) if left < right else None


STATES: Final[dict[State, Box]] = {
    State.GONE: Box(50, 145, 80, 226),
    State.READY: Box(452, 60, 600, 56),
    State.FETCH: Box(212, 230, 90, 56),
    State.RULES: Box(332, 230, 90, 56),
    State.TURN: Box(452, 230, 90, 56),
    State.ROOM: Box(572, 230, 90, 56),
    State.UNTIL: Box(692, 230, 90, 56),
}


def site_states() -> Drawing:
    """The states of a site, and the events that lead from one to another."""
    d = Drawing(760, 270)
    colours = {State.GONE: FAINT, State.READY: GOOD}
    for state, box in STATES.items():
        d.box(*box, state.name, edge=colours.get(state, ACCENT))
    events: dict[tuple[State, State], list[str]] = {}
    for (before, event), states in SITE.items():
        for after in State:
            if after in states:
                events.setdefault((before, after), []).append(event.name.lower())
    for (before, after), names in events.items():
        _way(d, STATES[before], STATES[after], "\n".join(names))
    return d


def _way(d: Drawing, start: Box, end: Box, words: str) -> None:
    """Draw an arrow from one box to another one, above or beside it, or to itself."""
    if start is end:
        x, y = start.x + start.width / 2 - 50, start.y - start.height / 2
        d.arrow((x - 20, y), (x - 20, y - 18), (x + 20, y - 18), (x + 20, y))
        d.text(x - 28, y - 12, words, anchor="end", colour=FAINT)
    elif shared := start.shared(end):
        way = 1 if end.y > start.y else -1  # down or up, each on its own side
        x = sum(shared) / 2 - 8 * way
        d.arrow((x, start.y + way * start.height / 2), (x, end.y - way * end.height / 2))
        y = (start.y + end.y) / 2
        d.text(x - 6 * way, y, words, anchor="end" if way > 0 else "start", colour=FAINT)
    else:
        way = 1 if end.x > start.x else -1
        y = min(start, end, key=lambda box: box.height).y - 8 * way
        d.arrow((start.x + way * start.width / 2, y), (end.x - way * end.width / 2, y))
        x = (start.x + end.x + way * (start.width - end.width) / 2) / 2
        d.text(x, y - 12 * way, words, colour=FAINT)


def waiting() -> Drawing:
    """A paced host beside two that ask for nothing."""
    d = Drawing(760, 210)
    left, second = 130.0, 50.0
    hosts = {
        "4 s apart": [(0.0, 0.8), (4.8, 1.2), (10.0, 0.6)],
        "no pace": [(0.0, 0.9), (1.0, 0.7), (1.8, 1.1), (3.0, 0.9), (4.0, 0.8), (4.9, 1.3)],
        "no pace, too": [(0.2, 1.4), (1.7, 0.8), (2.6, 1.5), (4.2, 1.1), (5.4, 0.9), (6.4, 1.2)],
    }
    for row, (name, requests) in enumerate(hosts.items()):
        y = 40 + 48 * row
        d.text(left - 16, y + 10, name, anchor="end")
        d.line((left, y + 10), (left + 12 * second, y + 10), dashed=True)
        for start, length in requests:
            colour = ACCENT if row == 0 else FAINT
            d.bar(left + start * second, y, length * second, 20, colour=colour)
    for end, start in ((0.8, 4.8), (6.0, 10.0)):
        middle = left + (end + start) / 2 * second
        d.text(middle, 26, "4 s", colour=FAINT)
        d.arrow((middle + 14, 26), (left + start * second, 26), colour=FAINT)
        d.arrow((middle - 14, 26), (left + end * second, 26), colour=FAINT)
    for second_number in range(0, 13, 2):
        d.text(left + second_number * second, 190, f"{second_number} s", colour=FAINT)
    return d


DIAGRAMS = (entry, site_states, waiting)
