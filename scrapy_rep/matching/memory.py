"""The memory that an object takes is measured by walking over all that it refers to.

A robots.txt of 500 KB may take 0.1 or 20 MB once it is asked, depending on the shape of its rules.
No formula of a few lines is right for all of them, and a limit on memory is only as good as the
figure that it is compared with. The walk takes about 0.3 us for each object: 50 us for a file of
the usual size, and 50 ms for the worst file of 500 KB. Only rules that have just been compiled are
so much alike that the lengths of their patterns say enough.
"""

from __future__ import annotations

import gc
from enum import Enum
from sys import getsizeof
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Protocol

from scrapy_rep.matching.normal_form import NormalForm

_SHARED = (type, ModuleType, BuiltinFunctionType, CodeType, Enum, NormalForm)
"""Types of objects that exist once, however many objects refer to them."""

Measure = tuple[object, int]
"""The state of an object when it was measured, and its octets."""


class Growing(Protocol):
    """An object that makes much of what it holds on demand."""

    @property
    def state(self) -> object:
        """What was made; it changes when the object holds more than before."""


def measured(one: Growing, before: Measure | None, shared: tuple[type, ...] = ()) -> Measure:
    """Measure an object, unless its state is the same as when it was measured ``before``.

    Instances of the types in ``shared`` belong to several objects and are not counted.
    """
    state = one.state
    if before is not None and before[0] == state:
        return before
    return state, octets_held(one, shared)


def octets_held(root: object, shared: tuple[type, ...] = ()) -> int:
    """Return the octets of an object and of all that it refers to, each object counted once."""
    shared = (*_SHARED, *shared)
    octets = 0
    seen = {id(())}
    left: list[Any] = [root]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kind = type(one)
        if kind is str:  # most are
            octets += getsizeof(one)
        elif kind is FunctionType:  # only what it closes over is its own
            cells = one.__closure__ or ()
            octets += getsizeof(one) if cells else 0
            left += cells
        elif not isinstance(one, shared):
            octets += getsizeof(one)
            left += gc.get_referents(one)
    return octets
