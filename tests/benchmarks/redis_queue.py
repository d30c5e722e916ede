"""What a request costs a Redis server: memory, and time at a push and at a pop.

``python -m tests.benchmarks.redis_queue [HOSTS]``, which needs ``redis-server`` and scrapy-redis.
There are a million hosts if the command does not say otherwise. One client pushes a request to each
host, and then pops them all. Ours is asked once more with twenty requests to each of fewer hosts.

What is printed for each queue: octets of memory a request, and then, for the push and for the pop,
the microseconds that the server took for a request and the commands that it got for one. The time
of a push counts the number of requests that are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
from scrapy import Request, Spider
from scrapy.utils.misc import load_object

from tests.benchmarks.running import argument
from tests.stores.servers import running_server

QUEUES = {
    "scrapy_redis.queue.FifoQueue": ("lpush", "rpop"),
    "scrapy_redis.queue.PriorityQueue": ("zadd", "exec"),
    "scrapy_rep.redis_queue.HostQueue": ("evalsha", "evalsha"),
}
"""The queues, and the commands that they send at a push and at a pop."""


def cost(client: Any, command: str, count: int, do: Callable[[], None]) -> str:
    """The microseconds and commands of something that is done to so many requests."""
    client.config_resetstat()
    do()
    used = client.info("commandstats")[f"cmdstat_{command}"]
    return f"{used['usec'] / count:>10.1f}{used['calls'] / count:>10.3f}"


def measure(path: str, hosts: int, each: int) -> str:
    """One row."""
    with running_server() as server, redis.Redis(port=server.port) as client:
        queue = load_object(path)(client, Spider("bench"), "%(spider)s:requests")
        before, count = client.info("memory")["used_memory"], hosts * each

        def push() -> None:
            for page in range(each):
                for host in range(hosts):
                    url = f"https://www.example-{host}.org/some/path/page-{page}.html"
                    queue.push(Request(url))

        def pop() -> None:
            for _ in range(count):
                assert queue.pop() is not None

        pushed = cost(client, QUEUES[path][0], count, push)
        memory = (client.info("memory")["used_memory"] - before) / count
        popped = cost(client, QUEUES[path][1], count, pop)
        assert len(queue) == 0
    name = f"{path.rpartition('.')[2]}, {hosts} x {each}"
    return f"{name:32}{memory:>10.0f}{pushed}{popped}"


if __name__ == "__main__":
    hosts = argument(1_000_000)
    head = ("octets", "push, us", "commands", "pop, us", "commands")
    print(" " * 32, *(f"{word:>10}" for word in head), sep="")
    for path in QUEUES:
        print(measure(path, hosts, 1), flush=True)
    print(measure("scrapy_rep.redis_queue.HostQueue", max(hosts // 20, 1), 20), flush=True)
