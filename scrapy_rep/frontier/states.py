"""The states of a site and of a request, what changes them, and into what.

**A site** is a queue of requests under one key: those of one authority or, if no rules govern them,
of one downloader slot. It is in exactly one state: *ready* if its next request may be asked for,
*parked* until something happens, or *gone* when it has no requests. :data:`SITE` is the whole
table; :mod:`scrapy_rep.frontier.sites` follows it.

A site is parked because of its *head*, the request that would go next. What blocks the head is
asked in this order: rules, room in its downloader slot, the turn of its host. The turn comes last
because it would be wasted on a request that waits for something else.

| parked for | because                                             | until                       |
|------------|-----------------------------------------------------|-----------------------------|
| FETCH      | its rules are not known, and its fetch may not      | a fetch may begin, or they  |
|            | begin yet                                           | have come                   |
| RULES      | its rules are being fetched                         | they have come              |
| TURN       | its host asks for a pace                            | the host is due             |
| ROOM       | its slot is full, or the slot is busy and other     | one of its requests has     |
|            | sites are ready                                     | ended, or no other is ready |
| UNTIL      | its robots.txt is unreachable, and is tried again   | that time has come, or its  |
|            | later (REP_DEFER_UNREACHABLE)                       | rules have                  |

**Events** and what sends them. Each of them wakes the engine if a site becomes ready:

| event   | sent by                                                                              |
|---------|--------------------------------------------------------------------------------------|
| PUSHED  | a queue that gets a request                                                          |
| ASKED   | the engine, which asks the scheduler for a request                                   |
| FREED   | what ends the wait, see below; or a woken site that is not blocked by the same again |
| ARRIVED | the end of a fetch of robots.txt, whatever ended it                                  |
| TIME    | a timer                                                                              |

What frees a site, by the state that it is in:

- *FETCH*: a fetch has ended, has taken a second, or pauses; a site that has its rules was asked;
  a site that needs one got its first request.
- *TURN*: the interval is over (a timer), or has become shorter; the request that had the turn did
  not come; a store has answered; or no pace can be kept any more, after a fault. In a cluster,
  also: the wait is long, so the request of the site should go back.
- *ROOM*: a download of the slot has ended, or a middleware holds up a request of it; or the engine
  asks, nothing else is ready, and the slot is not full.

**A request** is in one :class:`Stage`, from the time when it is taken out of its queue. One object
may be in the scheduler and be downloaded directly, or be downloaded again. What is under way is
known to :class:`~scrapy_rep.frontier.turns.Turns`.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, Final, NamedTuple


class State(Enum):
    """What a site waits for, if it waits."""

    GONE = auto()
    READY = auto()
    FETCH = auto()
    RULES = auto()
    TURN = auto()
    ROOM = auto()
    UNTIL = auto()

    __hash__ = object.__hash__  # that of Enum is Python code: it hashes the name


class Event(Enum):
    """What changes the state of a site."""

    PUSHED = auto()
    ASKED = auto()
    FREED = auto()
    ARRIVED = auto()
    TIME = auto()

    __hash__ = object.__hash__


class Stage(Enum):
    """How far a request has come."""

    HEAD = auto()
    """It was taken out of its queue, and is kept in memory."""
    HANDED_OUT = auto()
    """The engine has it, and the gate has not seen it yet."""
    CHECKED = auto()
    """The gate has it, or has let it pass. Direct downloads begin here."""


READY: Final = State.READY

SITE: Final[dict[tuple[State, Event], frozenset[State]]] = {
    (State.GONE, Event.PUSHED): frozenset({READY, State.FETCH}),
    (READY, Event.ASKED): frozenset(State),
    (State.FETCH, Event.FREED): frozenset({READY}),
    (State.FETCH, Event.ARRIVED): frozenset({READY}),
    (State.RULES, Event.ARRIVED): frozenset({READY}),
    (State.TURN, Event.FREED): frozenset({READY}),
    (State.ROOM, Event.FREED): frozenset({READY}),
    (State.UNTIL, Event.TIME): frozenset({READY}),
    (State.UNTIL, Event.ARRIVED): frozenset({READY}),
}
"""The states that may follow an event in a state. What is not here cannot happen."""

WAITING: Final = frozenset({State.FETCH, State.RULES, State.TURN, State.UNTIL})
"""The states in which the requests of a site count as waiting, in the stats and in the log. ROOM is
not one of them: it is a limit of the operator."""


class Block(NamedTuple):
    """What blocks a request: the authority, host, slot or time that its site has to wait for."""

    state: State
    what: Any = None


class Unblocked(Enum):
    """Why a site does not have to wait, although its request cannot pass now."""

    REFUSED = auto()
    """The request is handed out, but the gate will refuse it, as far as is known."""
    GIVEN_BACK = auto()
    """The request is not handed out: it went back to the queue that workers share."""


FETCH: Final = Block(State.FETCH)
"""What blocks a site that needs a fetch: too many are under way, for whichever sites."""

AGAIN: Final = Block(State.FETCH, "again")
"""The same for a site that was asked, for example because its rules have expired."""

REFUSED: Final = Unblocked.REFUSED
GIVEN_BACK: Final = Unblocked.GIVEN_BACK
