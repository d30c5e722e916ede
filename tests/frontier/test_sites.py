"""Which site goes next, and which ones wait for what: a sentence of the documentation each."""

from __future__ import annotations

import pytest

from scrapy_rep.frontier import states
from scrapy_rep.frontier.order import ReadySites
from scrapy_rep.frontier.sites import MOST_ASKED, MOST_HEADS
from scrapy_rep.frontier.states import FETCH, READY, SITE, Block, Event, State
from tests.frontier.bench import PARKED, Bench
from tests.rows import rows


def bench_with(*known: str, most: int = 2, places: int = 2, by_priority: bool = False) -> Bench:
    """A bench where the rules of these authorities are known."""
    bench = Bench(by_priority=by_priority)
    bench.gate.known.update(known)
    bench.gate.most, bench.gate.places = most, places
    return bench


def with_due_hosts(hosts: str, others: str = "", **limits: int) -> Bench:
    """A bench with a request to each of some hosts, which will be due in five seconds."""
    bench = bench_with(*hosts, *others, **{"most": 9, **limits})
    for key in hosts:
        bench.gate.paced[key] = 1.0
        bench.gate.due_at[key] = 5.0
        bench.push(key)
    assert bench.all() == []
    return bench


def of_one_host(*keys: str) -> Bench:
    """A bench with sites of one host, which all wait until it is due in five seconds."""
    bench = bench_with(*keys)
    bench.gate.paced["a"] = bench.gate.due_at["a"] = 5.0
    bench.push_all(" ".join(f"{key}/{key}" for key in keys))
    assert bench.all() == []
    return bench


def turn(host: str) -> Block:
    """What sites wait for whose host is not due."""
    return Block(State.TURN, host)


def room(slot: str) -> Block:
    """What sites wait for whose slot is full or busy."""
    return Block(State.ROOM, slot)


def rules(authority: str) -> Block:
    """What sites wait for whose rules are fetched."""
    return Block(State.RULES, authority)


def asked(bench: Bench) -> list[str]:
    """The sites that were asked so far."""
    return [page.key for page, _ in bench.gate.asked]


def order(bench: Bench) -> str:
    """The sites of all requests that go now."""
    return "".join(page.key for page in bench.all())


# --- the order of a call


def test_a_fetch_begins_before_anything_is_handed_out() -> None:
    """And the site for which it begins hands nothing out."""
    bench = bench_with("a")
    page = bench.push("a")
    bench.push("b")
    assert bench.next() is page
    assert asked(bench) == ["b", "a"]
    assert bench.gate.young == {"b"}
    assert bench.state("b") is State.RULES


def test_a_site_whose_rules_have_come_goes_before_the_ring() -> None:
    """Otherwise rules that live for a minute would expire before 100,000 other sites were asked."""
    bench = bench_with("a", "b")
    new = bench.push("c")
    assert bench.next() is None
    bench.push_all("a b")
    bench.arrive("c")
    assert bench.next() is new


ORDERS = {
    "each in turn": ("a/1 a/2 b/3 b/4 c/5 c/6", "abcabc"),
    "each busy slot in turn": ("a a a a b b b b", "abababab"),
    "each busy slot of several sites in turn": (2 * "a/s b/s c/t d/t ", "acbdacbd"),
    "each site of a busy slot in turn": ("a/s b/s c/s a/s b/s c/s", "abcabc"),
    "one that was refused lets a page of another go first": ("s! s! s! a a b b", "ssasbab"),
    "of those that were refused the first": ("x! y! z! x! y! z! a/1 a/2 a/3 a/4", "xxyyzzaaaa"),
    "busy slots before what is refused": ("a b a b" + 9 * " s!", "abssasb" + 6 * "s"),
    "one that was refused, but is not any more": ("h! h h! a/1 a/2 a/3", "hhahaa"),
}
"""Requests as they are pushed, and the sites of those that go."""


@pytest.mark.parametrize(("pushed", "found"), ORDERS.values(), ids=ORDERS)
def test_ready_sites_have_an_order(pushed: str, found: str) -> None:
    """Of each site the last request goes first. Much that is refused leaves others their room."""
    bench = bench_with(*pushed, most=9)
    bench.push_all(pushed)
    assert order(bench) == found


def test_sites_that_were_woken_go_in_turn_with_the_ring() -> None:
    """Neither is ever starved."""
    bench = bench_with(*"abcdefgh", most=9)
    waiting = [bench.push(key, slot=f"slot {key}") for key in "abc"]
    for page in waiting:
        bench.gate.loads[page.slot] = bench.gate.most
    assert bench.all() == []
    ring = bench.push_all("e f g h")
    for page in waiting:
        bench.gate.loads[page.slot] = 1
        bench.leave(page.slot)
    found = [bench.next() for _ in range(7)]
    assert found == [waiting[0], ring[0], waiting[1], ring[1], waiting[2], ring[2], ring[3]]


def test_one_request_of_a_host_that_is_due_goes_after_each_other_one() -> None:
    """A thousand paced hosts leave the others half of the processor."""
    bench = with_due_hosts("abcd", "ef")
    bench.advance(5.0)
    bench.push_all("e f")
    assert order(bench) == "aebfcd"


def test_new_sites_leave_a_host_that_is_due_half_of_the_pages() -> None:
    """Fetches may bring rules faster than pages come."""
    bench = with_due_hosts("abcd", places=99)
    bench.push_all("e f g h")
    assert bench.next() is None
    bench.arrive(*"efgh")
    bench.advance(5.0)
    assert order(bench) == "eafbgchd"


def test_sites_whose_rules_are_at_hand_after_all_go_in_turn_with_the_others() -> None:
    """A store may know the rules of all sites: none is begun, and none holds up the ring."""
    bench = with_due_hosts("d", "abc", places=1)
    bench.push_all("e f g h a b c")
    bench.gate.known.update("efgh")
    bench.advance(5.0)
    assert order(bench) == "edfagbhc"
    assert bench.gate.begun == []


def test_a_slot_that_is_busy_and_not_full_stands_in_line_until_nothing_else_is_ready() -> None:
    """It is told then that it may share."""
    bench = bench_with("a", "b", most=9)
    bench.push("a")
    bench.next()
    second = bench.push("a")
    bench.push_all("b b/other")
    assert [page.key for page in (bench.next(), bench.next())] == ["b", "b"]  # type: ignore[union-attr]
    assert bench.state("a") is State.ROOM
    assert bench.next() is second
    assert bench.gate.asked[-1] == (second, True)


def test_the_last_site_that_is_ready_may_share_its_slot_at_once() -> None:
    """Nothing else could take the place."""
    bench = bench_with("a")
    pages = bench.push_all("a a")
    assert bench.all() == pages[::-1]
    assert [may_share for _, may_share in bench.gate.asked] == [True, True]


def test_due_hosts_and_refusals_together_leave_other_sites_their_half() -> None:
    """A request of either gives one of the others its turn."""
    bench = with_due_hosts("abcd", "es")
    bench.push_all(9 * "s! ")
    assert order(bench) == "s" * 9
    bench.push_all(9 * "s! ")
    assert bench.next() is bench.pages[-1]
    bench.advance(5.0)
    bench.push_all("e/1 e/2 e/3 e/4")
    assert order(bench) == "sasesbsescsesdse"


def test_a_due_host_that_gets_no_turn_does_not_hold_up_the_others() -> None:
    """Its store grants none, and a thousand of them would be asked in a row."""
    bench = with_due_hosts("abcd", "ef")
    bench.gate.withheld.update("abcd")
    bench.advance(5.0)
    bench.push_all("e f")
    before = len(bench.gate.asked)
    assert order(bench) == "ef"
    assert "".join(asked(bench)[before:]) == "ae" + "bf" + "cd"


def test_of_what_was_refused_one_is_asked_after_each_page_though_it_has_to_wait() -> None:
    """A thousand whose rules have expired would be asked in a row."""
    bench = bench_with(*"xyza", most=9)
    bench.push_all(4 * "x! y! z! ")
    assert [bench.next().key for _ in range(5)] == [*"xxyxz"]  # type: ignore[union-attr]
    bench.push_all("a/1 a/2 a/3")
    bench.gate.known -= {*"xyz"}
    assert order(bench) == "aaa"
    assert "".join(asked(bench)[5:]) == "yaxaza"


def test_the_engine_is_woken_for_a_site_whose_request_was_refused() -> None:
    """If a call has asked as many sites as it may."""
    bench = bench_with("shut", most=1)
    last, *others = (bench.push("shut", is_refused=True) for _ in range(3))
    assert [bench.next(), bench.next()] == others[::-1]
    bench.push_all(" ".join(f"-{number}/service" for number in range(MOST_ASKED)))
    bench.gate.loads["service"] = 1
    assert bench.next() is None
    assert bench.will_ask
    assert bench.next() is last


def test_sites_whose_rules_have_come_do_not_hold_up_one_whose_request_was_refused() -> None:
    """Fetches may bring rules faster than pages come."""
    bench = bench_with("shut", places=9, most=9)
    refused = [bench.push("shut", is_refused=True) for _ in range(3)]
    assert bench.next() is refused[-1]
    bench.push_all("a b c")
    assert bench.next() is refused[-2]
    bench.arrive(*"abc")
    assert [page.key for page in bench.all()] == ["a", "shut", "b", "c"]


def test_a_full_slot_is_left_alone_until_one_of_its_requests_has_ended() -> None:
    """Its sites are not asked in vain."""
    bench = bench_with("a", "b", most=1)
    first, second = bench.push_all("a b", slot="service")
    assert bench.all() == [first]
    assert bench.state("b") is State.ROOM
    before = len(bench.gate.asked)
    bench.push("a", slot="service")
    bench.all()
    assert asked(bench)[before:] == ["a"]
    bench.end(first)
    assert bench.will_ask
    assert bench.next() is second


# --- limits of a call, and when the engine is woken


def test_a_call_asks_fifty_sites_at_most_and_wakes_the_engine_for_the_others() -> None:
    """Responses are not kept waiting."""
    bench = bench_with(most=1)
    bench.push_all(" ".join(f"-{number}/service" for number in range(MOST_ASKED + 1)))
    bench.push("-last", slot="other")
    bench.gate.loads["service"] = 1
    bench.will_ask = False
    assert bench.sites.next() is None
    assert len(bench.gate.asked) == MOST_ASKED
    assert bench.will_ask
    assert bench.next() is bench.pages[-1]
    assert len(bench.gate.asked) == MOST_ASKED + 2


def test_the_engine_is_woken_for_a_busy_slot_that_was_not_asked_any_more() -> None:
    """Nothing else tells it."""
    bench = bench_with(most=2)
    pages = [bench.push(f"-{number}", slot="service") for number in range(MOST_ASKED)]
    bench.gate.loads["service"] = 1
    assert bench.next() is None
    assert bench.will_ask
    assert bench.all() == pages[:1]


def test_a_call_in_which_nothing_is_left_wakes_nothing() -> None:
    """The engine would go round in circles."""
    bench = bench_with("a", most=1)
    bench.push_all("a b")
    assert len(bench.all()) == 1
    wakes = bench.wakes
    assert bench.next() is None
    assert bench.wakes == wakes


def test_what_becomes_ready_within_a_call_wakes_nothing() -> None:
    """The call itself looks at it."""
    bench = bench_with()
    bench.gate.at_once.add("a")
    page = bench.push("a")
    wakes = bench.wakes
    assert bench.next() is page
    assert bench.wakes == wakes


@rows("event", ["pushed", "pushed for a fetch", "freed", "slot", "arrived", "due", "grown old"])
def test_each_event_wakes_the_engine_if_a_site_becomes_ready(event: str) -> None:
    """Between two calls."""
    bench = bench_with("a", "b", most=1, places=1)
    bench.gate.paced["b"] = 5.0
    bench.gate.until["u"] = 3.0
    bench.push_all("a a b x")
    bench.push("b", slot="other")
    bench.push("old", authority="u")
    bench.gate.known.add("u")
    bench.push("y")
    assert [page.key for page in bench.all()] == ["a", "b"]
    assert {bench.state(key) for key in [*"abxy", "old"]} == PARKED
    bench.will_ask = False
    if event == "pushed":
        bench.push("-c")
    elif event == "pushed for a fetch":
        bench.gate.places = 2
        bench.push("z")
    elif event == "freed":
        del bench.gate.turns["b"]
        bench.sites.freed(turn("b"))
    elif event == "slot":
        bench.leave("a")
    elif event == "arrived":
        bench.arrive("x")
    elif event == "due":
        bench.advance(3.0)
    else:
        bench.age("x")
    assert bench.will_ask


def test_the_engine_is_woken_for_a_slot_that_is_no_longer_full() -> None:
    """No site is ready by that, but one may share the slot if nothing else is."""
    bench = bench_with("a", most=2)
    bench.push_all("a a a")
    assert len(bench.all()) == 2
    assert bench.sites.is_parked_for(room("a"))
    bench.will_ask = False
    bench.leave("a")
    assert bench.will_ask
    assert bench.next() is not None
    assert not bench.sites.is_parked_for(room("a"))


def test_queues_that_join_do_not_wake_the_engine() -> None:
    """It may still wait for a filter of duplicates to open, and asks when it starts."""
    bench = bench_with("a")
    bench.sites.join(bench.queues[0], {"a": 1, "b": 1})
    assert bench.sites.is_ready
    assert bench.wakes == 0
    bench.push("-c")
    assert bench.wakes == 1


def test_an_event_that_makes_no_site_ready_does_not_wake_the_engine() -> None:
    """Nothing is parked for it, or it is not free after all."""
    bench = bench_with("a", most=1)
    bench.gate.paced["a"] = 5.0
    bench.push_all("a a")
    assert len(bench.all()) == 1
    assert bench.state("a") is State.ROOM
    bench.will_ask = False
    bench.sites.freed(turn("a"))
    bench.sites.freed(FETCH)
    bench.sites.slot_freed(room("other"))
    bench.arrive("other")
    bench.push("a")
    assert not bench.will_ask


# --- parked: by what, and until when


def test_a_site_whose_rules_are_not_known_is_parked_at_the_push_by_its_key() -> None:
    """Its request stays in the queue until its fetch begins, and is the head then."""
    bench = bench_with(places=1)
    pages = bench.push_all("a b c")
    assert [bench.state(key) for key in "abc"] == [READY, State.FETCH, State.FETCH]
    assert bench.queues[0].takes == 0
    assert bench.next() is None
    assert bench.queues[0].takes == 1
    assert bench.gate.begun == [(pages[0], "a")]
    assert bench.sites.by_key["a"].heads[0].request is pages[0]


def test_the_head_stays_in_memory_while_its_site_is_parked() -> None:
    """It is asked for again, and no other request is taken for it."""
    bench = bench_with("a", most=1)
    bench.gate.loads["a"] = 1
    page = bench.push("a")
    assert bench.next() is None
    later = bench.push("a")
    bench.leave("a")
    assert bench.next() is page
    assert bench.queues[0].takes == 1
    bench.end(page)
    assert bench.next() is later


def test_a_more_urgent_request_becomes_a_second_head() -> None:
    """Whichever queue has it; the first head goes next."""
    for queue in (0, 1):
        bench = bench_with("a", most=1)
        bench.gate.loads["a"] = 1
        first = bench.push("a", priority=1)
        assert bench.next() is None
        urgent = bench.push("a", priority=2, queue=queue)
        third = bench.push("a", priority=1, queue=queue)
        bench.leave("a")
        assert bench.next() is urgent
        assert [head.request for head in bench.sites.by_key["a"].heads] == [first]
        bench.end(urgent)
        assert bench.next() is first
        bench.end(first)
        assert bench.next() is third


def test_heads_of_one_priority_go_by_age() -> None:
    """Those that were taken first."""
    bench = bench_with()
    pages = bench.push_all("a a a")
    assert bench.next() is None
    assert bench.heads_for("a") == [pages[2], pages[1]]
    assert bench.heads_for("a") == [pages[2], pages[1], pages[0]]
    bench.arrive("a")
    bench.gate.most = 9
    assert bench.all() == pages[::-1]


def test_of_one_priority_the_queue_that_joined_first_goes_first() -> None:
    """Between the priorities, the higher one does."""
    bench = bench_with("a", most=9)
    for priority in (0, 1):
        for queue in (1, 0):
            for _ in range(2):
                bench.push("a", priority=priority, queue=queue)
    assert [page.number for page in bench.all()] == [7, 6, 4, 5, 3, 2, 0, 1]


def test_three_requests_of_a_site_at_most_ask_for_its_rules() -> None:
    """One more each time that a fetch has failed; several sites may wait for one authority."""
    bench = bench_with()
    for key in ("a", "old"):
        for _ in range(MOST_HEADS + 1):
            bench.push(key, authority="a")
    bench.push("b")
    assert bench.next() is None
    for count in (2, 3, 3):
        heads = bench.heads_for("a")
        assert [page.key for page in heads] == ["a"] * count + ["old"] * count
        assert len(set(heads)) == 2 * count
    assert bench.heads_for("other") == []


def test_a_place_for_a_fetch_wakes_the_site_that_has_waited_longest() -> None:
    """Each site that begins one wakes the next, until there is no place."""
    bench = bench_with(places=1)
    bench.push_all("a b c d e")
    assert bench.next() is None
    assert bench.gate.begun == [(bench.pages[0], "a")]
    bench.gate.places = 3
    bench.age("a")
    assert [bench.state(key) for key in "bcde"] == [READY] + [State.FETCH] * 3
    assert bench.next() is None
    assert [authority for _, authority in bench.gate.begun] == [*"abcd"]
    assert bench.state("e") is State.FETCH


def test_a_fetch_that_has_ended_leaves_its_place_to_the_next_site() -> None:
    """No site may have waited for its rules: it was begun for a direct download."""
    bench = bench_with(places=1)
    bench.gate.young.add("other")
    bench.push("a")
    assert bench.all() == []
    bench.arrive("other")
    assert bench.state("a") is READY


def test_rules_that_were_not_asked_for_yet_take_a_place_for_a_fetch() -> None:
    """Fetches follow the demand of the engine; asking such a site frees the place."""
    bench = bench_with(places=1)
    bench.push_all("a b")
    bench.next()
    bench.arrive("a")
    assert bench.sites.unasked == 1
    assert bench.state("b") is State.FETCH
    assert bench.next() is bench.pages[0]
    assert bench.sites.unasked == 0
    assert bench.state("b") is READY
    assert bench.next() is None
    assert bench.gate.young == {"b"}


def test_a_head_joins_a_fetch_that_another_site_waits_for() -> None:
    """No place is needed for that; one that needs a fetch of its own waits for a place."""
    bench = bench_with(places=1)
    bench.push("a")
    bench.next()
    bench.push("old-1", authority="a")
    bench.push("old-2", authority="b")
    assert bench.next() is None
    assert bench.state("old-1") is State.RULES
    assert bench.state("old-2") is State.FETCH
    assert [page.key for page, _ in bench.gate.begun] == ["a", "old-1"]


def test_rules_wake_all_sites_that_wait_for_them() -> None:
    """Those with heads, and the one with the key, though it waits for a fetch."""
    bench = bench_with(places=1)
    bench.push_all("old-1 old-2", authority="a")
    assert bench.next() is None
    bench.push_all("b a")
    keys = "old-1", "old-2", "a"
    assert [bench.state(key) for key in keys] == [State.RULES, State.RULES, State.FETCH]
    bench.arrive("a")
    assert [bench.state(key) for key in keys] == [READY] * 3
    assert bench.state("b") is State.FETCH
    assert bench.sites.unasked == 3


def test_a_site_is_parked_until_a_time() -> None:
    """Its robots.txt is unreachable."""
    bench = bench_with("a", "b")
    for key, when in (("a", 5.0), ("b", 3.0)):
        bench.gate.until[key] = when
        bench.push(key)
    assert bench.next() is None
    assert [bench.state(key) for key in "ab"] == [State.UNTIL] * 2
    for seconds, found in ((3.0, [State.UNTIL, READY]), (2.0, [READY, READY])):
        bench.advance(seconds)
        assert [bench.state(key) for key in "ab"] == found


def test_a_time_that_was_waited_for_no_longer_wakes_nothing() -> None:
    """The rules have come before; the site may wait for another time by then, or the same one."""
    for later in (9.0, 3.0):
        bench = bench_with("a")
        bench.gate.until["a"] = 3.0
        page = bench.push("a")
        bench.all()
        bench.arrive("a", until=later)
        assert bench.state("a") is READY
        bench.all()
        assert bench.state("a") is State.UNTIL
        bench.advance(3.0)
        assert bench.state("a") is (READY if later == 3.0 else State.UNTIL)
        bench.advance(6.0)
        assert bench.all() == [page]


# --- events


def test_an_event_wakes_one_site_the_one_that_has_waited_longest() -> None:
    """One for each thing that is waited for."""
    bench = of_one_host("a:1", "a:2", "a:3")
    bench.advance(5.0)
    bench.sites.freed(turn("a"))
    assert [bench.state(key) for key in ("a:1", "a:2", "a:3")] == [READY, State.TURN, State.TURN]
    assert bench.all() == bench.pages[:1]


@rows("is_refused", [False, True])
def test_an_event_is_passed_on_by_a_site_that_does_not_need_it(is_refused: bool) -> None:
    """It is refused, and takes no turn, or waits for something else. It would be lost otherwise."""
    bench = of_one_host("a:1", "a:2")
    bench.pages[0].is_refused = is_refused
    bench.gate.loads["a:1"] = 0 if is_refused else bench.gate.most
    bench.advance(5.0)
    assert bench.all() == (bench.pages if is_refused else bench.pages[1:])
    assert bench.state("a:1") is (State.GONE if is_refused else State.ROOM)
    assert bench.gate.turns == {"a": bench.pages[1]}


def test_an_event_is_not_passed_on_by_a_site_that_waits_for_the_same_again() -> None:
    """Two sites of one host whose store refuses the turn would ask each other for ever."""
    bench = of_one_host("a:1", "a:2")
    bench.gate.withheld.add("a")
    before = len(bench.gate.asked)
    bench.advance(5.0)
    for _ in range(5):
        bench.next()
    assert asked(bench)[before:] == ["a:1"]
    bench.answer("a")
    assert bench.all() == [bench.pages[0]]


def test_a_slot_that_becomes_idle_wakes_a_site_for_it_at_once() -> None:
    """One that is only not full puts its sites into line."""
    bench = bench_with("a", "b", "c", most=2)
    first = bench.push_all("a b", slot="service")
    assert bench.all() == first
    bench.push("c", slot="service")
    assert bench.all() == []
    bench.end(first[0])
    assert bench.state("c") is State.ROOM
    assert list(bench.sites._busy_slots) == [room("service")]
    bench.end(first[1])
    assert bench.state("c") is READY
    assert list(bench.sites._busy_slots) == []


# --- requests that cannot be read


def test_a_head_goes_though_its_queue_gives_nothing_any_more() -> None:
    """And the site is gone after it."""
    bench = bench_with("a", most=1)
    bench.gate.loads["a"] = 1
    page = bench.push("a")
    bench.push("a")
    page = bench.pages[1]
    assert bench.all() == []
    bench.push("a", priority=1)
    bench.lose("a", 0)
    bench.leave("a")
    assert bench.next() is page
    bench.end(page)
    assert bench.all() == []
    assert bench.state("a") is State.GONE


def test_the_requests_in_the_other_queue_go_though_one_gives_nothing() -> None:
    """The file of a site cannot be read, and what could not be kept on disk is in memory."""
    bench = bench_with("a")
    bench.push("a", queue=0)
    kept = bench.push("a", queue=1)
    bench.lose("a", 0)
    assert bench.all() == [kept]


# --- counts


def test_what_waits_for_room_is_not_counted() -> None:
    """Room is a limit of the operator."""
    bench = bench_with("r", most=1)
    bench.gate.loads["r"] = 1
    bench.push("r")
    assert bench.all() == []
    assert bench.state("r") is State.ROOM
    assert (bench.sites.sites_waiting, bench.sites.waited) == (0, 0)


def test_each_request_that_waits_is_counted_once() -> None:
    """Though it waits for its rules and then for each turn of its host."""
    bench = bench_with(most=9)
    bench.gate.paced["a"] = 5.0
    bench.push_all("a a a")
    assert bench.sites.waited == 1  # the others wait when it is found that they have to
    bench.all()
    assert bench.sites.waited == 3
    bench.arrive("a")
    for count in (3, 2, 1):
        assert bench.sites.by_key["a"].counted == count
        (page,) = bench.all()
        bench.end(page)
        bench.advance(5.0)
    assert bench.sites.waited == 3
    bench.push("-b")
    bench.all()
    assert bench.sites.waited == 3


def test_a_site_that_waits_counts_what_is_pushed_meanwhile_and_one_that_is_ready_does_not() -> None:
    """It may never wait."""
    bench = bench_with(places=1)
    bench.push_all("a b")
    assert (bench.state("a"), bench.sites.waited) == (READY, 1 + 1)
    bench.push("a")
    assert bench.sites.waited == 2
    bench.push("b")
    assert bench.sites.waited == 3
    bench.check()


def test_a_turn_is_wanted_while_a_site_is_parked_for_it_or_was_woken_for_it() -> None:
    """The turns of a store would be given back otherwise."""
    bench = bench_with("a")
    bench.gate.paced["a"] = 5.0
    bench.gate.due_at["a"] = 5.0
    assert not bench.sites.is_wanted(turn("a"))
    bench.push("a")
    assert not bench.sites.is_wanted(turn("a"))
    bench.all()
    assert bench.sites.is_wanted(turn("a"))
    bench.advance(5.0)
    assert bench.state("a") is READY
    assert bench.sites.is_wanted(turn("a"))
    bench.all()
    assert not bench.sites.is_wanted(turn("a"))


# --- queues with one order for all sites


def test_the_most_urgent_ready_site_is_next_where_the_queues_have_one_order() -> None:
    """Then that which became ready first."""
    bench = bench_with(*"abcd", by_priority=True)
    for key, priority in (("a", 0), ("b", 2), ("c", 2), ("d", 1), ("-e", 3)):
        bench.push(key, priority=priority)
    assert [page.key for page in bench.all()] == ["-e", "b", "c", "d", "a"]


def test_what_has_waited_is_in_that_order_too() -> None:
    """A head as the first of its site; and a site whose rules have come does not go before."""
    bench = bench_with("a", "b", "c", most=1, by_priority=True)
    bench.gate.loads["a"] = 1
    urgent = bench.push("a", priority=5)
    bench.push("a")
    new = bench.push("d", priority=0)
    bench.all()
    middle = bench.push("b", priority=1)
    bench.push("c", priority=0)
    bench.arrive("d")
    bench.leave("a")
    assert [bench.next() for _ in range(4)] == [urgent, middle, bench.pages[-1], new]


def test_slots_are_shared_where_the_queues_have_one_order() -> None:
    """The next one is that of the base, however busy its slot is, until that is full."""
    bench = bench_with("a", "b", by_priority=True)
    pages = [bench.push("a", priority=priority) for priority in (3, 2, 1)]
    other = bench.push("b", priority=0)
    assert bench.all() == [*pages[:2], other]
    assert bench.state("a") is State.ROOM
    bench.end(pages[0])
    assert bench.all() == pages[2:]


# --- the table


def test_the_table_of_states_has_every_state_and_every_event() -> None:
    """Each state can be left, except by a site that is ready or gone in no other way."""
    assert {state for state, _ in SITE} == set(State)
    assert {event for _, event in SITE} == set(Event)
    assert SITE[READY, Event.ASKED] == set(State)
    for (state, event), after in SITE.items():
        if state in PARKED:
            assert after == {READY}, (state, event)


def test_a_move_that_is_not_in_the_table_is_an_error() -> None:
    """It would be a fault of the frontier, after which nothing of it runs."""
    bench = bench_with("a")
    bench.push("a")
    with pytest.raises(KeyError):
        bench.sites._move(bench.sites.by_key["a"], Event.TIME, READY)
    bench.sites._move(bench.sites.by_key["a"], Event.ASKED, State.FETCH)
    with pytest.raises(AssertionError):
        bench.sites._move(bench.sites.by_key["a"], Event.FREED, State.FETCH)


def test_the_documentation_names_every_state_and_event() -> None:
    """Those for which a site is parked, in the first table; the events, in the second."""
    lines = (states.__doc__ or "").splitlines()
    named = {line.split("|")[1].strip() for line in lines if line.startswith("|")} - {""}
    named = {name for name in named if name.isupper()}
    assert named == {state.name for state in PARKED} | {event.name for event in Event}


def test_new_sites_leave_every_second_page_to_known_ones() -> None:
    """A crawl that goes on finding sites would never come back to one of them otherwise."""
    bench = bench_with("a", places=99, most=9)
    bench.push_all("a/1 a/2 a/3")
    bench.push_all("e f g h")
    assert bench.next().key == "a"
    bench.arrive(*"efgh")
    assert order(bench) == "feagah"


def test_a_known_site_whose_rules_have_expired_uses_up_no_turn() -> None:
    """New sites would get it, and the rules of more and more known ones would expire."""
    bench = with_due_hosts("d", "abw", places=99)
    bench.gate.loads["w"] = 9
    bench.push_all("w e f")
    assert bench.all() == []
    bench.push_all("a b")
    bench.gate.known.discard("a")
    bench.arrive("e", "f")
    bench.gate.loads["w"] = 1
    bench.leave("w")
    bench.advance(5.0)
    assert order(bench) == "ewdbf"


def test_a_fetch_that_begins_gives_no_line_a_second_turn() -> None:
    """Every second site that is asked begins one, while new sites come."""
    bench = with_due_hosts("abcd", "efg", places=99)
    bench.push_all("w x y z")
    bench.advance(5.0)
    bench.push_all("e f g")
    assert order(bench) == "aebfcgd"
    assert "".join(asked(bench)[4:]) == "waxeybzfcgd"


def test_a_known_site_does_not_wait_for_a_fetch_behind_all_new_ones() -> None:
    """Its rules have expired; the two lines take turns."""
    bench = bench_with("a", places=1, most=9)
    bench.push_all("a/a a/a e/e f/f g/g")
    assert bench.next().key == "a"
    assert bench.gate.young == {"e"}
    bench.gate.known.discard("a")
    assert bench.next() is None
    bench.arrive("e")
    assert bench.next().key == "e"
    assert bench.next() is None
    assert bench.gate.young == {"a"}


def test_a_host_whose_turn_the_store_has_granted_is_the_next_one_that_is_due() -> None:
    """A turn is held for four seconds; the line may take longer."""
    bench = with_due_hosts("abcd", "e")
    bench.gate.withheld.add("a")
    bench.advance(5.0)
    bench.push_all("e/1 e/2 e/3 e/4")
    assert [bench.next().key, bench.next().key] == ["e", "b"]  # "a" was asked in vain before
    bench.answer("a")
    assert [bench.next().key, bench.next().key] == ["e", "a"]


@rows("most", [1, 2])
def test_a_site_whose_rules_expire_while_it_waits_for_room_keeps_its_place(most: int) -> None:
    """At the end of the line they would expire again. Its slot is idle or only not full."""
    bench = bench_with(*"abc", places=9, most=most)
    bench.gate.loads["service"] = most
    pages = bench.push_all("a b c", slot="service")
    assert bench.all() == []
    bench.gate.known.discard("a")
    bench.leave("service")
    assert bench.next() is pages[1]
    new = bench.push("n")
    assert bench.next() is None
    bench.arrive("n", "a")
    assert bench.next() is new
    assert asked(bench)[-2:] == ["a", "n"]
    bench.end(pages[1])
    assert bench.next() is pages[0]


def test_a_host_does_not_pass_others_as_its_site_has_waited_for_room() -> None:
    """A site of many requests is asked again while a page of it is under way."""
    bench = with_due_hosts("bcd", "a")
    bench.gate.paced["a"] = 1.0
    bench.push_all("a a")
    (page,) = bench.all()
    assert bench.state("a") is State.TURN
    bench.advance(4.0)
    bench.end(page)
    bench.advance(1.0)
    assert order(bench) == "bcda"


def test_known_and_new_sites_that_need_a_fetch_take_turns() -> None:
    """Their rules have expired whenever they are asked: neither keeps the other out."""
    bench = bench_with(*"abdp", places=1, most=99)
    bench.gate.paced["p"] = 1.0
    bench.gate.withheld.add("p")
    bench.push_all(20 * "a b d " + "x y z p")
    out = ""
    while len(out) < 20:
        bench.sites.freed(turn("p"))  # other events do not matter
        page = bench.next()
        if page is None:
            bench.arrive(*bench.gate.young)
            continue
        for each in bench.pages:
            each.is_looked_up = False
        out += page.key
        bench.end(page)
        bench.gate.known.discard(page.key)
    assert {*"xyz"} <= {*out[:9]}
    assert min(map(out.count, "abd")) >= 4


def test_no_line_holds_up_another_one() -> None:
    """A list may begin with thousands of sites that allow nothing, or do not answer."""
    ready: ReadySites[str] = ReadySites(None)
    lines = ["with_rules", "ring", "woken", "due", "for_fetch", "refused"]
    for line in lines:
        getattr(ready, line).extend([line] * 64)
    out = []
    for _ in range(64):
        out.append(ready.next() or "")
        ready.handed_out()
    assert [out.count(line) for line in lines] == [4, 4, 4, 4, 16, 32]


@pytest.mark.parametrize("slot", ["service", ""])
def test_new_sites_that_hand_nothing_out_leave_each_call_a_page_of_a_known_one(slot: str) -> None:
    """Their slot is full, or they cannot be reached and wait."""
    bench = bench_with("a", places=256, most=99)
    bench.gate.loads["service"] = 99
    for number in range(200):
        bench.push(f"n{number}", slot=slot)
    for _ in range(9):
        bench.push("a")
        assert bench.next() is bench.pages[-1]
        bench.arrive(*list(bench.gate.young), until=None if slot else 99.0)
        bench.end(bench.pages[-1])


def test_ports_of_a_host_take_turns_even_if_each_waits_for_the_slot_as_well() -> None:
    """One is asked again while its page is under way, and must not pass the other by that."""
    bench = bench_with("h:1", "h:2", "c", most=9)
    bench.gate.paced["h"] = 2.0
    bench.push_all(8 * "h:1 h:2 ", slot="h")
    bench.push_all(40 * "c ")
    came = []
    for _ in range(6):
        pages = [page for _ in range(6) if (page := bench.next()) is not None and page.key != "c"]
        came += [page.key for page in pages]
        for page in pages:
            bench.end(page)
        for _ in range(3):
            bench.next()
        bench.advance(2.0)
    assert came == ["h:1", "h:2"] * 3
