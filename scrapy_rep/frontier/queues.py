"""Where the requests of each site are kept: in Scrapy's own queues.

:class:`FrontierQueue` is Scrapy's default priority queue with a queue for each authority in place
of each downloader slot. Requests to many sites may share a slot, such as that of a rendering
service: with a queue for each slot, 150 requests to a paced site stopped 249 of 300 pages of
another one. Within a site the order is Scrapy's. So is the format of a job directory: Scrapy's own
class can resume a job of this one, and this one a job of Scrapy's.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final

from queuelib import FifoDiskQueue, LifoDiskQueue
from scrapy.pqueues import DownloaderAwarePriorityQueue

from scrapy_rep.frontier.front import in_order_of_queues
from scrapy_rep.frontier.frontier import frontier_of
from scrapy_rep.frontier.limits import most_files, slot_of
from scrapy_rep.frontier.request_state import restored
from scrapy_rep.robotstxt.printable import printable_error, without_credentials

if TYPE_CHECKING:
    from scrapy import Request

logger = logging.getLogger("scrapy_rep")

_LATER: Final = "_scrapy_rep_later"
"""The meta key of a head that went back to a FIFO queue, with a priority higher by one."""


class _MayBeEmpty:
    """Mixed into a queue on disk, lets it be closed and opened while it is empty.

    Scrapy closes a queue before it gives out the last request, which an error would lose, such as
    that of a full disk. Files that remain are removed: a queue could not be opened again with half
    of one.

    A run that is killed leaves an empty file of a queue that was never written to disk. It is
    removed, and the queue is opened once more.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        queue: Any = self
        try:
            super().__init__(*args, **kwargs)
        except struct.error:  # a custom class may take any arguments, so its path is known now
            if not isinstance(self, LifoDiskQueue) or Path(queue.path).stat().st_size:
                raise
            queue.f.close()
            Path(queue.path).unlink()
            super().__init__(*args, **kwargs)

    def close(self) -> None:
        queue: Any = self
        try:
            super().close()  # type: ignore[misc]
        except OSError:
            if len(queue):
                raise
            if isinstance(self, FifoDiskQueue):
                rmtree(queue.path, ignore_errors=True)
            elif isinstance(self, LifoDiskQueue):
                with suppress(OSError):
                    Path(queue.path).unlink()


def _may_be_empty(cls: type[Any]) -> type[Any]:
    return type(cls.__name__, (_MayBeEmpty, cls), {})


class FrontierQueue(DownloaderAwarePriorityQueue):
    """Scrapy's default priority queue, with a queue for each site.

    The frontier chooses the site. Without a frontier, and after a fault in it, :meth:`pop` and
    :meth:`push` work as Scrapy's do. Heads are counted, put back and given out first here, so that
    no fault of the frontier can lose one.
    """

    def __init__(self, crawler: Any, queue_cls: type[Any], key: str, *args: Any, **kwargs: Any):
        start_cls = kwargs.get("start_queue_cls")
        if key:
            queue_cls, start_cls = _may_be_empty(queue_cls), start_cls and _may_be_empty(start_cls)
        super().__init__(crawler, queue_cls, key, *args, **{**kwargs, "start_queue_cls": start_cls})
        self._queue_cls = queue_cls
        self._start_cls = start_cls or queue_cls
        self._folder = key
        for empty in [site for site, queue in self.pqueues.items() if not len(queue)]:
            self.pqueues.pop(empty).close()
        sizes = {site: len(queue) for site, queue in self.pqueues.items()}
        self._heads: dict[Request, str] = {}
        """The requests that were taken and not yet given out, with their keys; the oldest first."""
        self._queued = sum(sizes.values())
        self._most_files = most_files() // 2
        """Files that may be open before requests of further sites are kept in memory."""
        self._could_not_keep = False
        frontier = frontier_of(crawler)
        self._frontier = frontier if frontier is not None and frontier.is_open else None
        if self._frontier is not None:
            self._frontier.join(self, sizes)

    def __len__(self) -> int:
        """Return the number of requests, heads included."""
        return self._queued + len(self._heads)

    def push(self, request: Request) -> None:
        """Queue a request; raise ``ValueError`` if it cannot be kept on disk.

        Scrapy's scheduler then keeps it in memory.
        """
        frontier = self._frontier
        # No filter needs the mark from here on. The job may be resumed without this package, and
        # ``dont_filter`` would then let a redirect of the request lead off its site.
        restored(request)
        key = None if frontier is None else frontier.key_of(request)
        place = slot_of(request) if key is None else key
        if self._folder and place not in self.pqueues:
            self._leave_files_to_downloads()
        self._push(place, request)
        if frontier is not None and key is not None:
            frontier.pushed(key)

    def _push(self, key: str, request: Request) -> None:
        is_new = key not in self.pqueues
        try:
            if is_new:
                self.pqueues[key] = self.pqfactory(key)
            self.pqueues[key].push(request)
        except Exception as error:
            if is_new and key in self.pqueues:
                self._forget(key)
            if isinstance(error, OSError):  # such as that of a full disk
                raise self._not_kept(error) from error
            raise
        self._queued += 1

    def _leave_files_to_downloads(self) -> None:
        """Raise ``ValueError`` if half of the files that may be open are, many by queues."""
        try:
            lowest, other = os.pipe()
            os.close(lowest)
            os.close(other)
            has_many = 3 * len(self.pqueues) >= self._most_files // 2
            if has_many and lowest >= self._most_files:
                raise OSError(errno.EMFILE, "half of the files that may be open are open")
        except OSError as error:
            raise self._not_kept(error) from error

    def _not_kept(self, error: OSError) -> ValueError:
        """Return the error by which Scrapy keeps a request in memory; log it once."""
        if not self._could_not_keep:
            self._could_not_keep = True
            logger.warning(
                "Requests stay in memory from now on if their queue cannot be kept on disk: %s. "
                "Scrapy keeps two or three files open for each site",
                error,
            )
        return ValueError(f"it cannot be kept on disk: {error}")

    def take(self, key: str) -> Request | None:
        """Return the next request of a site; it is counted until :meth:`pop` gives it out."""
        queue = self.pqueues.get(key)
        if queue is None:
            return None
        try:
            request = self._take_readable(queue)
        except Exception as error:
            if not _is_damage(error):
                raise
            self._set_aside(key, error)
            return None
        if request is None:
            logger.warning("The last requests to %s could not be read from their queue", key)
            self._queued -= len(queue)
        else:
            request = self._distinct(key, _as_it_was(request))
            self._heads[request] = key
        if request is None or not len(queue):
            self._forget(key)
        return request

    def _distinct(self, key: str, request: Request) -> Request:
        if self._frontier is None:
            return request
        try:
            return self._frontier.distinct(request, self._heads)
        except Exception:  # it must not lose the request
            self._put_back(key, request)
            raise

    def _take_readable(self, queue: Any) -> Request | None:
        """Return the next request of a queue that can be read; None if no such request is left.

        In place of a request that cannot be read, for example because its callback was renamed, the
        queue returns None or raises an error. An error leaves an empty queue within the queue, and
        so does a request that could not be written. Such an inner queue gives None; there are two
        at most in a row, one for start requests. An error that takes nothing out would recur each
        time, and is raised: the file of a queue is damaged, or the disk fails.
        """
        for _ in range(3 * len(queue)):
            size = len(queue)
            try:
                request: Request | None = queue.pop()
                if request is not None:
                    return request
            except Exception as error:
                if len(queue) == size:
                    raise
                logger.error(
                    "A request cannot be read from its queue, and is lost (%s)",
                    printable_error(error),
                )
            finally:
                self._queued -= size - len(queue)
        return None

    def top(self, key: str) -> int | None:
        """Return the priority of the next request of a site, None if there is none."""
        queue = self.pqueues.get(key)
        return None if queue is None or queue.curprio is None else -queue.curprio

    def pop(self) -> Request | None:
        """Return the request that the frontier has chosen, if it is one of this queue."""
        frontier = self._frontier
        if frontier is not None and frontier.is_open:
            request: Request | None = frontier.chosen
            if request is None or request not in self._heads:
                return None
            frontier.chosen = None
        elif self._heads:
            request = next(iter(self._heads))
        else:
            try:
                request = super().pop()
            finally:  # a request that cannot be read is gone as well
                self._queued = sum(map(len, self.pqueues.values()))
            return None if request is None else _as_it_was(request)
        del self._heads[request]
        return request

    def close(self) -> dict[str, list[int]]:
        """Put the heads back where they came from, and close the queues.

        One site after another, as there may be more sites than files that may be open. If a queue
        cannot be closed, only its own requests are lost.
        """
        heads: dict[str, list[Request]] = {}
        for request, key in self._heads.items():
            heads.setdefault(key, []).append(request)
        self._heads.clear()
        active: dict[str, list[int]] = {}
        for key in self.pqueues.keys() - heads.keys():
            self._close(key, active)
        for key, requests in heads.items():
            first_first, last_first = in_order_of_queues(requests, self._queue_cls, self._start_cls)
            for request in first_first:  # with that priority they come out first again
                request.priority += 1
                request.meta[_LATER] = True
            for request in first_first + last_first:
                self._put_back(key, request)
            if key in self.pqueues:
                self._close(key, active)
        return active

    def _close(self, key: str, active: dict[str, list[int]]) -> None:
        try:
            active[key] = self.pqueues[key].close()
            del self.pqueues[key]
        except Exception as error:  # noqa: BLE001  # the others have to be kept
            self._set_aside(key, error, "closed")

    def _put_back(self, key: str, request: Request) -> None:
        try:
            self._push(key, request)
        except Exception as error:  # noqa: BLE001  # the others have to be kept
            logger.error(
                "The queue did not take back <%s>; it is lost (%s)",
                without_credentials(request.url),
                printable_error(error),
            )

    def _forget(self, key: str) -> None:
        queue = self.pqueues.pop(key)
        queue.close()
        if self._folder:  # a crawl may meet a million sites
            with suppress(OSError):
                Path(queue.key).rmdir()

    def _set_aside(self, key: str, error: Exception, what: str = "read") -> None:
        """Leave the damaged queue of a site on disk, where no other run reads it."""
        queue = self.pqueues.pop(key)
        lost = len(queue)
        self._queued -= lost
        aside = f"{queue.key}.damaged-{token_hex(4)}"
        with suppress(Exception):  # as far as it can be closed
            queue.close()
        with suppress(OSError):  # the folder may be gone
            if self._folder:
                Path(queue.key).rename(aside)
        logger.error(
            "A queue cannot be %s (%s): %d requests to %s are lost. Its files are in %s",
            what,
            printable_error(error),
            lost,
            key,
            aside,
        )


def _is_damage(error: Exception) -> bool:
    """Return whether an error says that a file is damaged: it is too short, or missing.

    If the disk is full or fails, nothing is lost.
    """
    is_short = isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.ENOENT)
    return is_short or isinstance(error, struct.error)


def _as_it_was(request: Request) -> Request:
    """Return a request, with the priority and the meta with which it was first pushed."""
    try:
        if request.meta.pop(_LATER, False):
            request.priority -= 1
        return restored(request)
    except Exception:  # it must not lose the request
        logger.exception("The marks of <%s> stay", without_credentials(request.url))
        return request
