"""What :class:`~scrapy_rep.redis_queue.HostQueue` does on the server, each in one go.

**What Redis keeps**, where ``KEY`` is SCHEDULER_QUEUE_KEY:

- ``KEY:hosts``: all requests, in a sorted set of one score, so in the order of their octets. A
  member is the name of a site, a zero, the priority, the time of the push, and the request. The
  next request of a site is the first one that begins with its name, and a site costs no key.
- ``KEY:due``: the names of the sites, by time. First come those that have to wait, by the time
  from which they may be asked. Behind them comes the *ring* of all others, by the time when they
  were asked last. A step takes one of each in turn, so that a site that asks for a pace does not
  lose time while the ring goes round. A site that is asked is moved to a later time.
- ``KEY:pace``: the interval of each site. A site with an interval is moved by that and by the few
  seconds that a request may take; one with 0 goes to the end of the ring. A site that is not there
  is new. It is moved by those few seconds, in which the worker that got its first request finds
  its pace.
- ``KEY:out``: what each worker has: its name, a zero, the number of the step that took it, and the
  member. ``KEY:workers``: until when each one lives unless it says more.
- ``KEY:pushed``: the number of the last push of each worker.
- ``KEY:unreadable``: what could not be read, for a person to look at.

A site that has no requests is forgotten when its time has come, or when the last worker leaves an
empty queue, so nothing grows for ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Keys(NamedTuple):
    """The names of what Redis keeps of one queue, in the order in which the scripts get them."""

    hosts: str
    due: str
    pace: str
    out: str
    workers: str
    pushed: str
    unreadable: str
    older: str
    """Where scrapy-redis's own classes keep their requests."""

    @classmethod
    def of(cls, key: str) -> Keys:
        """Return those of SCHEDULER_QUEUE_KEY."""
        return cls._make([*(f"{key}:{name}" for name in cls._fields[:-1]), key])


_BEGIN = """
local hosts, due, pace, out, workers, pushed, unreadable, older = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function n(number) return string.format('%.0f', number) end
local function name_of(member)
  return string.sub(member, 1, string.find(member, '\\0', 1, true) - 1)
end
local RING = 4e15  -- the sites that wait for nothing, by the time when they were asked last
local function add(member)
  redis.call('ZADD', hosts, 0, member)
  redis.call('ZADD', due, 'NX', n(RING + now), name_of(member))
end
"""

# Arguments: worker, number, what stands before the time, the request.
PUSH = (
    _BEGIN
    + """
if redis.call('HGET', pushed, ARGV[1]) == ARGV[2] then return 0 end
redis.call('HSET', pushed, ARGV[1], ARGV[2])
redis.call('PEXPIRE', pushed, 3600000)
add(ARGV[3] .. n(now) .. ARGV[4])
return 1
"""
)

# Arguments: each request, and what stands before its time, "" if it cannot be read.
MOVE = (
    _BEGIN
    + """
local is_list = redis.call('TYPE', older).ok == 'list'
for i = 1, #ARGV, 2 do
  local removed
  if is_list then removed = redis.call('LREM', older, -1, ARGV[i])
  else removed = redis.call('ZREM', older, ARGV[i]) end
  if removed > 0 and ARGV[i + 1] == '' then redis.call('RPUSH', unreadable, ARGV[i])
  elseif removed > 0 then add(ARGV[i + 1] .. n(now + i) .. ARGV[i]) end
end
return 1
"""
)

# Arguments: worker, number, how many to take (-1: the worker leaves), the lease, the time that it
# should be, if the worker may declare another one dead, how long a request may take beyond the
# interval of its site, whether the worker says what it has; then five lists, each preceded by its
# length: what the worker has; what is done; given back; unreadable; and advice: name, wait,
# interval. Advice without an interval never lets a site with a pace be asked earlier: it does not
# know what others have made.
#
# Nothing is done for a worker that Redis does not know, or has forgotten, before it says what it
# has. If the answer to that is lost, it says so again.
STEP = (
    _BEGIN
    + """
local worker, number, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local lease, beyond, at = tonumber(ARGV[4]), tonumber(ARGV[6]), 8
local may_judge = now - ARGV[5] < 2000000  -- otherwise the clock was set forward
local function each(size, use)
  local last = at + tonumber(ARGV[at]) * size
  for i = at + 1, last, size do use(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  at = last + 1
end
local function between(set, first, last, most)
  return redis.call('ZRANGEBYLEX', set, '[' .. first, '(' .. last, 'LIMIT', 0, most)
end
local function member_of(entry)
  return string.sub(entry, string.find(entry, '\\0', 1, true) + 11)
end
local function all_back(of)
  local entries = between(out, of .. '\\0', of .. '\\1', 1000)
  for _, entry in ipairs(entries) do
    redis.call('ZREM', out, entry)
    add(member_of(entry))
  end
  return #entries
end

local lives_until = tonumber(redis.call('ZSCORE', workers, worker) or 0)
if lives_until < 0 then return {now, 'dead', 0, 0, 0} end
local is_new = lives_until == 0
if is_new and ARGV[7] == '0' then return {now, 'unknown', 0, 0, 0} end
local step = worker .. '\\0' .. number
local taken = between(out, step, step .. '\\255', 1000)
local moved, wait, paces, is_cut = 0, -1, {}, false
if #taken == 0 then
  each(1, function(entry) redis.call('ZADD', out, 0, entry) end)
  each(1, function(entry) redis.call('ZREM', out, entry) end)
  each(1, function(entry)
    if redis.call('ZREM', out, entry) > 0 or is_new then add(member_of(entry)) end
  end)
  each(1, function(entry)
    if redis.call('ZREM', out, entry) > 0 then
      redis.call('RPUSH', unreadable, member_of(entry))
    end
  end)
  each(3, function(name, wait, interval)
    local when = now + tonumber(wait)
    if interval == '' then
      if (redis.call('HGET', pace, name) or '0') ~= '0' then
        when = math.max(when, tonumber(redis.call('ZSCORE', due, name) or 0))
      end
    else
      if wait == '0' and interval == '0' then when = RING + now end
      redis.call('HSET', pace, name, interval)
    end
    redis.call('ZADD', due, n(when), name)
  end)
  if most < 0 then
    moved = all_back(worker)
    if moved < 1000 then redis.call('ZREM', workers, worker) end
    redis.call('HDEL', pushed, worker)
    local others = redis.call('ZCOUNT', workers, 0, '+inf')
    if others + redis.call('EXISTS', hosts, out, older) == 0 then
      redis.call('UNLINK', due, pace)
    end
    return {now, 'left', 0, moved, 0}
  end
  if may_judge then
    local dead = redis.call('ZRANGEBYSCORE', workers, 0, '(' .. n(now), 'LIMIT', 0, 1)[1]
    if dead and dead ~= worker then
      moved = all_back(dead)
      if moved < 1000 then redis.call('ZADD', workers, n(-now), dead) end
      redis.call('HDEL', pushed, dead)
    end
    redis.call('ZREMRANGEBYSCORE', workers, n(86400000000 - now), '(0')
    local last = redis.call('ZREVRANGE', workers, 0, 0, 'WITHSCORES')
    if last[1] and tonumber(last[2]) > now + lease then  -- the clock was set back
      redis.call('ZADD', workers, n(now + lease), last[1])
    end
  end
  redis.call('ZADD', workers, n(now + lease), worker)
  for round = 1, most do  -- a site has one request in each
    local rest = most - #taken
    local timed = redis.call('ZRANGEBYSCORE', due, '-inf', n(now), 'LIMIT', 0, rest)
    local ring = redis.call('ZRANGEBYSCORE', due, n(RING), '+inf', 'LIMIT', 0, rest)
    local names = {}
    for i = 1, math.max(#timed, #ring) do
      names[#names + 1] = timed[i]
      names[#names + 1] = ring[i]
    end
    if rest == 0 or #names == 0 then break end
    is_cut = round == most and #taken == 0  -- more sites may be without requests
    local intervals = redis.call('HMGET', pace, unpack(names))
    for i = 1, math.min(#names, rest) do
      local name, known = names[i], intervals[i]
      local member = between(hosts, name .. '\\0', name .. '\\1', 1)[1]
      if member then
        taken[#taken + 1] = step .. member
        paces[#taken] = known or ''
        redis.call('ZADD', out, 0, taken[#taken])
        redis.call('ZREM', hosts, member)
        local when = RING + now + round
        if not known and string.sub(name, 1, 1) ~= '-' and beyond > 0 then when = now + beyond
        elseif known and known ~= '0' then when = now + known + beyond end
        redis.call('ZADD', due, n(when), name)
      else
        redis.call('ZREM', due, name)
        redis.call('HDEL', pace, name)
      end
    end
  end
  for i = 1, most do
    local name, when = unpack(redis.call('ZRANGE', due, 0, 0, 'WITHSCORES'))
    wait = name and tonumber(when) < RING and tonumber(when) - now or -1
    if wait <= 60000000 then break end
    local interval = tonumber(redis.call('HGET', pace, name)) or 0
    if wait <= 2 * interval then break end
    redis.call('ZADD', due, n(now + interval), name)  -- the clock was set back
  end
  if is_cut and #taken == 0 then wait = 0 end
end
local reply = {now, 'alive', wait, moved, redis.call('EXISTS', older)}
for i, entry in ipairs(taken) do
  reply[#reply + 1] = entry
  reply[#reply + 1] = paces[i] or redis.call('HGET', pace, name_of(member_of(entry))) or ''
end
return reply
"""
)


def octets(reply: list[Any]) -> list[Any]:
    """Return a reply with octets for text, which REDIS_DECODE_RESPONSES makes of them."""
    return [each.encode() if isinstance(each, str) else each for each in reply]
