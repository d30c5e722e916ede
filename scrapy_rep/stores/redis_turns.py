"""Turns on a Redis server: one pace for a host, kept by the workers of many machines.

The hash ``PREFIX:turn:HOST`` says who holds a turn (``token``), and ``since``: when the last
request to the host ended or, while a turn is held, when that turn ends unless it is renewed. Either
way the next turn is granted an interval after ``since``. A worker that dies needs no special case.
``interval`` is the longest that any worker has asked for since that turn was taken, even if it was
refused. Otherwise a worker that knows a shorter interval, and asks more often, would take all
turns. ``ended`` is the token of the last turn that was ended or given back. The hash expires a
while after the interval is over.

A missing hash means that no request was made lately, unless the server has lost its memory. The
hash ``PREFIX:turns`` tells: it says since when turns have been kept, and in which replication
history of the server. Redis begins a new history when it is restarted, even from a dump, which is
older than the last turns, and when a replica takes over, which may lack the last writes. After
both, and after ``FLUSHALL``, the first turns wait for an interval, or for :data:`RENEWED` if that
is longer. A user who may not run ``INFO`` sees no histories; then only a missing hash tells.

The workers renew the turns that are in use within that time. To renew a turn of which the server
knows nothing, or not yet, is to take it again, unless another worker holds one or that very turn
has ended.

A command whose answer does not come in time may still be done: that of a server that hangs lies in
the buffer of its socket. The turn that it takes is held by no worker. So the worker asks once more
with the same token, and finds its turn.

A server whose memory is full refuses commands that need more of it. The script that takes a turn
begins with such a command. Redis lets the rest of a script write once it has written anything: a
turn would be granted, and then could not be ended.

Each command is one script, and goes by the server's clock, in microseconds. In a cluster the two
keys of a script lie on one node: the hosts are spread over :data:`PARTS` parts, each with a
``PREFIX:turns`` hash.
"""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

from scrapy_rep.stores.base import KEPT, LONGEST_INTERVAL, LONGEST_TURN, Turn
from scrapy_rep.stores.redis_client import WRONG_TYPE
from scrapy_rep.stores.stored import MONTH, StoreError

PARTS = 64
"""The parts that the hosts are divided into in a cluster."""

_MICRO = 1_000_000

_NOW = f"""
local KEPT, LONGEST = {KEPT * _MICRO:.0f}, {LONGEST_INTERVAL * _MICRO:.0f}
local LONGEST_TURN, MONTH = {LONGEST_TURN * _MICRO:.0f}, {MONTH * 1000:.0f}
"""
_NOW += """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local key, token = KEYS[1], ARGV[1]

local function bounded(interval)
  local number = tonumber(interval) or 0
  if number > 0 then return math.min(number, LONGEST) end
  return 0
end

local function keep(holder, since, interval)
  redis.call('HMSET', key, 'token', holder, 'since', string.format('%.0f', since),
    'interval', string.format('%.0f', interval))
  local rest = (since - now + math.max(interval, KEPT)) / 1000
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(rest)))
end
"""

# A broken connection may repeat the command, and a worker that got no answer repeats its token.
# Then the token holds the turn already.
TAKE = (
    _NOW
    + """
local lease, interval, renewed = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local info = redis.pcall('INFO', 'replication')
local history = type(info) == 'string' and string.match(info, 'master_replid:(%w+)') or ''
local memory = redis.call('HMGET', KEYS[2], 'since', 'history')
local began = tonumber(memory[1])
if history == '' then history = memory[2] or '' end  -- this worker may not ask for it
if not began or began > now or memory[2] ~= history then began = now end
redis.call('HMSET', KEYS[2], 'since', string.format('%.0f', began), 'history', history)
redis.call('PEXPIRE', KEYS[2], MONTH)

local last = redis.call('HMGET', key, 'token', 'since', 'interval')
if last[1] ~= token then
  local kept = bounded(last[3])
  local longest = math.max(interval, kept)
  local since = tonumber(last[2]) or 0
  if since > now + LONGEST_TURN then  -- the clock was set back
    since, last[1] = now, ''
    keep('', now, longest)
  end
  local wait = math.max(began + math.max(longest, renewed), since + longest) - now
  if wait > 0 then
    if last[2] and interval > kept then keep(last[1] or '', since, interval) end
    if last[1] and last[1] ~= '' then wait = math.min(wait, longest) end
    return {0, wait}
  end
end
keep(token, now + lease, interval)
return {1, 0}
"""
)
RENEW = (
    _NOW
    + """
local last = redis.call('HMGET', key, 'token', 'since', 'interval', 'ended')
local is_free = not last[1] or last[1] == '' or (tonumber(last[2]) or 0) <= now
if last[1] == token or (is_free and last[4] ~= token) then
  keep(token, now + tonumber(ARGV[2]), bounded(last[3]))
end
return 1
"""
)
END = (
    _NOW
    + """
local last = redis.call('HMGET', key, 'token', 'interval', 'since')
local is_held = last[1] and last[1] ~= '' and (tonumber(last[3]) or 0) > now
if not is_held or last[1] == token then
  keep('', now, math.max(tonumber(ARGV[2]), bounded(last[2])))
  redis.call('HSET', key, 'ended', token)
end
return 1
"""
)
CANCEL = f"""
if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then
  redis.call('HMSET', KEYS[1], 'token', '', 'since', 0, 'ended', ARGV[1])
  redis.call('PEXPIRE', KEYS[1], {KEPT * 1000:.0f})
end
return 1
"""


def keys_of(host: str, prefix: str, in_cluster: bool) -> tuple[str, str]:
    """Return the key of what is known of a host, and that of the memory it belongs to."""
    if not in_cluster:
        return f"{prefix}:turn:{host}", f"{prefix}:turns"
    part = f"{{{crc32(host.encode()) % PARTS}}}"
    return f"{prefix}:turn:{part}:{host}", f"{prefix}:turns:{part}"


def turn_of(token: str, reply: Any) -> Turn:
    """Return the turn, or the wait, that a reply stands for. Raises ``StoreError``."""
    if isinstance(reply, list) and len(reply) == 2 and all(isinstance(n, int) for n in reply):
        granted, wait = reply
        # A wait that overflows in the script becomes negative.
        return Turn(token) if granted else Turn(None, max(0.0, wait / _MICRO))
    raise StoreError(WRONG_TYPE)


def micro(seconds: float) -> int:
    """Return microseconds, in which the scripts count."""
    return math.ceil(seconds * _MICRO)
