"""Ready requests, indexed: what comes out is what a look at all of them would find."""

from __future__ import annotations

import random
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.scheduling.queues import ReadyQueues, Slot, Waiting
from tests.rows import rows


class FreeSlot:
    """A slot of the downloader without a limit."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.free = 8

    def enter(self, request: Request) -> None:
        """One more."""
        self.free -= 1


def waiting(key: str, host: str, priority: int = 0) -> Waiting:
    """A request that waits."""
    slot: Any = FreeSlot(key)
    return Waiting(Request(f"http://{host}/", priority=priority), Slot(slot), host)


def drained(queues: ReadyQueues) -> list[Waiting]:
    """All that are open, in the order in which they may go."""
    found = []
    while (queue := queues.first_open()) is not None:
        found.append(queues.take(queue))
        found[-1].is_over = True
    return found


def test_the_most_urgent_of_all_queues_comes_first() -> None:
    """By priority, then by arrival, whatever the slots."""
    queues = ReadyQueues()
    chance = random.Random(1)
    made = [waiting(f"s{n % 7}", f"h{n % 5}", chance.randint(0, 3)) for n in range(300)]
    for one in chance.sample(made, len(made)):
        queues.push(one)
    assert drained(queues) == sorted(made, key=lambda one: one.order)
    assert not queues


def test_a_blocked_queue_keeps_no_other_waiting() -> None:
    """Until its slot, or its host, has changed; then it comes in its order."""
    queues = ReadyQueues()
    urgent, ordinary, late = waiting("a", "a", 5), waiting("b", "b"), waiting("c", "c", -1)
    for one in (urgent, ordinary, late):
        queues.push(one)
    for block, reopen in (
        (queues.block_by_slot, queues.open_slot),
        (queues.block_by_host, queues.open_host),
    ):
        first = queues.first_open()
        assert first is not None
        assert first.first is urgent
        block(first)
        second = queues.first_open()
        assert second is not None
        assert second.first is ordinary
        assert queues.has_slot("a")
        assert queues.has_host("a")
        reopen("a")
    assert drained(queues) == [urgent, ordinary, late]


@pytest.mark.parametrize("by", ["slot", "host"])
@pytest.mark.parametrize("opened", [0, 1, 2])
def test_what_a_fault_keeps_from_being_opened_is_opened_the_next_time(
    monkeypatch: pytest.MonkeyPatch, by: str, opened: int
) -> None:
    """Otherwise its requests would wait for ever."""
    queues = ReadyQueues()
    made = [waiting("a", name) if by == "slot" else waiting(name, "a") for name in "xyz"]
    for one in made:
        queues.push(one)
    while (queue := queues.first_open()) is not None:
        (queues.block_by_slot if by == "slot" else queues.block_by_host)(queue)
    reopen = queues.open_slot if by == "slot" else queues.open_host
    offer, calls = queues._offer, iter(range(3))

    def faulty(queue: Any) -> None:
        if next(calls) == opened:
            raise MemoryError
        offer(queue)

    with monkeypatch.context() as patch:
        patch.setattr(queues, "_offer", faulty)
        with pytest.raises(MemoryError):
            reopen("a")
    reopen("a")
    assert drained(queues) == made
    assert not queues


@rows("seed", range(20))
def test_any_order_of_events_leaves_the_queues_right(seed: int) -> None:
    """Pushed, ended, blocked, opened and taken at random, beside a list that is always sorted."""
    chance = random.Random(seed)
    queues, model = ReadyQueues(), []
    for _ in range(600):
        what = chance.random()
        if what < 0.45:
            one = waiting(
                f"s{chance.randint(0, 4)}", f"h{chance.randint(0, 3)}", chance.randint(0, 3)
            )
            queues.push(one)
            model.append(one)
        elif what < 0.55 and model:
            gone = chance.choice(model)
            gone.is_over = True
            model.remove(gone)
        elif what < 0.7:
            first = queues.first_open()
            if first is not None:
                (queues.block_by_slot if chance.random() < 0.5 else queues.block_by_host)(first)
        elif what < 0.8:
            for number in range(5):
                queues.open_slot(f"s{number}")
                queues.open_host(f"h{number}")
        else:
            first = queues.first_open()
            if first is not None:
                popped = queues.take(first)
                popped.is_over = True
                assert popped in model
                model.remove(popped)
    queues.open_slots()
    for number in range(4):
        queues.open_host(f"h{number}")
    assert drained(queues) == sorted(model, key=lambda one: one.order)
    assert not queues


def test_a_slot_has_room_for_one_more_than_it_sends() -> None:
    """What waits at the gate is in the slot for the scheduler alone, and takes no room."""
    slot: Any = FreeSlot("a")
    waits = Slot(slot)
    assert waits.room == 8 + 1
    for number in range(3):
        waits.enter(Request(f"http://a/{number}"))
        waits.waiting += 1
        assert (slot.free, waits.waiting, waits.room) == (7 - number, number + 1, 8 + 1)
    waits.waiting -= 1  # one was let go, and is in the slot
    assert waits.room == 8
