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
  member. ``KEY:workers``: until when each one counts as alive, unless it makes another step.
- ``KEY:pushed``: the number of the last push of each worker, which is also the time of that push,
  by the worker's clock.
- ``KEY:unreadable``: what could not be read, for a person to look at. It is as an older class keeps
  requests, so that it can be renamed to ``KEY`` once workers can read it.

A site that has no requests is forgotten when its time has come, or when the last worker leaves an
empty queue. The last push of a worker is forgotten then, or after a day. Nothing grows for ever.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Keys(NamedTuple):
    """The Redis keys of one queue, in the order in which the scripts get them."""

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
        """Return the keys of the queue at a SCHEDULER_QUEUE_KEY."""
        return cls._make([*(f"{key}:{name}" for name in cls._fields[:-1]), key])


_BEGIN = """
local hosts, due, pace, out, workers, pushed, unreadable, older = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local function n(number) return string.format('%016.0f', number) end
local RING = 4e15  -- the sites that wait for nothing, by the time when they were asked last
local function add(member)
  redis.call('ZADD', hosts, 0, member)
  redis.call('ZADD', due, 'NX', n(RING + now), string.match(member, '%Z*'))  -- its name
end
"""

# Arguments: worker, number; for each request, what stands before its time, and the request.
PUSH = (
    _BEGIN
    + """
local last = redis.call('ZSCORE', pushed, ARGV[1])
if last and tonumber(last) >= tonumber(ARGV[2]) then return end  -- it may come late
redis.call('ZADD', pushed, ARGV[2], ARGV[1])
for i = 3, #ARGV, 2 do add(ARGV[i] .. n(now + i) .. ARGV[i + 1]) end
"""
)

# Arguments: each request, and what stands before its time, "" if it cannot be read.
MOVE = (
    _BEGIN
    + """
local is_list = redis.call('TYPE', older).ok == 'list'
for i = 1, #ARGV, 2 do
  local removed
  if is_list then  -- what others have taken meanwhile is not searched for: the list may be long
    removed = redis.call('LINDEX', older, -1) == ARGV[i] and redis.call('RPOP', older)
  else removed = redis.call('ZREM', older, ARGV[i]) > 0 end
  if removed and ARGV[i + 1] == '' then redis.call('RPUSH', unreadable, ARGV[i])
  elseif removed then add(ARGV[i + 1] .. n(now + i) .. ARGV[i]) end
end
"""
)

# Arguments: worker, number, how many to take (-1: the worker leaves), the lease, the time that the
# worker expects here (0: it may not declare others dead), how long a request may take beyond the
# interval of its site, whether the worker says what it has; then four lists, each preceded by its
# length: what the worker has; what is done; given back; and advice: name, wait, interval. Advice
# without an interval never lets a site with a pace be asked earlier: the worker does not know which
# requests others have made.
#
# The reply: the time, the state of the worker, for how long no site is due, how many requests of a
# dead worker were put back, the type of ``older``, and each request with the interval of its site.
#
# Nothing is done for a worker that Redis does not know, or has forgotten, before it says what it
# has. If the answer to that is lost, it says so again.
#
# What is written to one key is written at once, as each call takes its time. What needs memory
# comes first: a Redis that is full refuses that, and then nothing has been removed.
STEP = (
    _BEGIN
    + """
local worker, most = ARGV[1], tonumber(ARGV[3])
local step = worker .. '\\0' .. ARGV[2]
local lease, beyond, at = tonumber(ARGV[4]), tonumber(ARGV[6]), 8
local may_judge = now - ARGV[5] < 2000000  -- otherwise the clock was set forward
local MINUTE, DAY = 60000000, 86400000000
local function each(size, use)
  local last = at + tonumber(ARGV[at]) * size
  for i = at + 1, last, size do use(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  at = last + 1
end
local function put(list, one, two)
  list[#list + 1] = one
  list[#list + 1] = two
end
local function call(list, ...)  -- a call takes no more than some thousand arguments
  for first = 1, #list, 4000 do
    local arguments = {...}
    for i = first, math.min(first + 3999, #list) do arguments[#arguments + 1] = list[i] end
    redis.call(unpack(arguments))
  end
end
local function between(set, first, last, most)
  return redis.call('ZRANGEBYLEX', set, '[' .. first, '(' .. last, 'LIMIT', 0, most)
end
-- The name of a worker and the number of a step, which come first, always have the same length.
local function member_of(entry) return string.sub(entry, #step + 1) end
local function forget_old()  -- who was declared dead, or has left, and pushes: after a day
  redis.call('ZREMRANGEBYSCORE', workers, n(DAY - now), '(0')
  redis.call('ZREMRANGEBYSCORE', pushed, '-inf', n(now - DAY))
end
local function all_back(of)
  local entries = between(out, of .. '\\0', of .. '\\1', -1)
  for _, entry in ipairs(entries) do add(member_of(entry)) end
  call(entries, 'ZREM', out)
  return #entries
end

local lives_until = tonumber(redis.call('ZSCORE', workers, worker) or 0)
if lives_until < 0 then return {now, most < 0 and 'left' or 'dead', 0, 0, 0} end
local is_new = lives_until == 0
if is_new and ARGV[7] == '0' then return {now, 'unknown', 0, 0, 0} end
if is_new then redis.call('PERSIST', workers) end  -- the end of an earlier crawl let it expire
local taken = most > 0 and between(out, step, step .. '\\255', most) or {}
local wait, of_dead, older_type, paces = 0, 0, 'none', {}
if #taken == 0 then
  local has, done, intervals, times = {}, {}, {}, {}
  each(1, function(entry) put(has, 0, entry) end)
  each(1, function(entry) put(done, entry) end)
  call(has, 'ZADD', out)
  call(done, 'ZREM', out)
  each(1, function(entry)
    if redis.call('ZREM', out, entry) > 0 or is_new then add(member_of(entry)) end
  end)
  each(3, function(name, wait, interval)
    local when = now + tonumber(wait)
    if interval == '' then
      if (redis.call('HGET', pace, name) or '0') ~= '0' then
        when = math.max(when, tonumber(redis.call('ZSCORE', due, name) or 0))
      end
    else
      if wait == '0' and interval == '0' then when = RING + now end
      put(intervals, name, interval)
    end
    put(times, n(when), name)
  end)
  call(intervals, 'HSET', pace)
  call(times, 'ZADD', due)
  if most < 0 then
    all_back(worker)
    redis.call('ZADD', workers, n(-now), worker)  -- in case that this step is repeated
    forget_old()  -- each crawl may take less time than a worker needs to judge others
    local others = redis.call('ZCOUNT', workers, n(now), '+inf')
    if others + redis.call('EXISTS', hosts, out, older) == 0 then
      redis.call('UNLINK', due, pace, pushed)
      redis.call('EXPIRE', workers, 86400)  -- one that was declared dead has to learn that
    end
    return {now, 'left', 0, 0, 0}
  end
  if math.abs(lives_until - now - lease) > lease / 30 then  -- once a second
    redis.call('ZADD', workers, n(now + lease), worker)
    if may_judge then
      local dead = redis.call('ZRANGEBYSCORE', workers, 0, '(' .. n(now), 'LIMIT', 0, 1)[1]
      if dead then
        of_dead = all_back(dead)
        redis.call('ZADD', workers, n(-now), dead)
      end
      forget_old()
      local last = redis.call('ZREVRANGE', workers, 0, 0, 'WITHSCORES')
      if tonumber(last[2]) > now + lease then  -- the clock was set back
        redis.call('ZADD', workers, n(now + lease), last[1])
      end
    end
    local late = redis.call('ZREVRANGEBYSCORE', due, '(' .. n(RING), n(now + MINUTE),
      'WITHSCORES', 'LIMIT', 0, 100)
    times = {}
    for i = 1, #late, 2 do
      local interval = tonumber(redis.call('HGET', pace, late[i])) or 0
      if late[i + 1] - now > 2 * interval then  -- the clock was set back
        put(times, n(now + interval), late[i])
      end
    end
    call(times, 'ZADD', due)
  end
  local names = {}
  for round = 1, most do  -- a site has one request in each
    local rest = most - #taken
    if rest == 0 then break end
    local timed = redis.call('ZRANGEBYSCORE', due, '-inf', n(now), 'LIMIT', 0, rest)
    local ring = redis.call('ZRANGEBYSCORE', due, n(RING), '+inf', 'LIMIT', 0, rest)
    names = {}
    for i = 1, math.max(#timed, #ring) do put(names, timed[i], ring[i]) end
    if #names == 0 then break end
    local known = redis.call('HMGET', pace, unpack(names))
    local entries, members, moves, gone = {}, {}, {}, {}
    for i = 1, math.min(#names, rest) do
      local name, interval = names[i], known[i]
      local member = between(hosts, name .. '\\0', name .. '\\1', 1)[1]
      if member then
        put(taken, step .. member)
        put(entries, 0, taken[#taken])
        put(members, member)
        paces[#taken] = interval or ''
        local when = RING + now + round
        if not interval and string.sub(name, 1, 1) ~= '-' and beyond > 0 then when = now + beyond
        elseif interval and interval ~= '0' then when = now + interval + beyond end
        put(moves, n(when), name)
      else
        put(gone, name)
      end
    end
    call(entries, 'ZADD', out)
    call(moves, 'ZADD', due)
    call(members, 'ZREM', hosts)
    call(gone, 'ZREM', due)
    call(gone, 'HDEL', pace)
  end
  if #taken == 0 then
    older_type = redis.call('TYPE', older).ok
    if #names == 0 then  -- otherwise more sites may be without requests
      wait = (redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2] or RING) - now
    end
  end
end
local reply = {now, 'alive', wait, of_dead, older_type}
for i, entry in ipairs(taken) do
  put(reply, entry, paces[i] or '')  -- if this is said again, the pace counts as unknown
end
return reply
"""
)


def octets(reply: list[Any]) -> list[Any]:
    """Return a reply with its text encoded again, which REDIS_DECODE_RESPONSES has decoded."""
    return [each.encode() if isinstance(each, str) else each for each in reply]
