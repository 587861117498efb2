"""The feed handler: `Handler` and what it gives."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, TypeAlias, TypeVar

from tickwire import _tickwire
from tickwire._tickwire import Book, Gap, Message, Notice, Trade

Path = str | os.PathLike[str]

Event: TypeAlias = Message | Book | Trade | Gap | Notice
"""What a handler tells: a message of the lines in order, a book that changed or became stale or fresh, a trade, numbers
that no line brought, or something else, such as a reset or a message that cannot be decoded."""

T = TypeVar("T")

# How long a thread that waits for asyncio looks before it goes on waiting.
_LOOK = 0.2


class Events(Generic[T]):
    """What a handler makes of packets, one after the other: iterate with ``for`` or ``async for``.

    Sockets stay open until the iteration ends, `close` is called, or a ``with`` block is left.
    """

    def __init__(self, inner: _tickwire.Events) -> None:
        self._inner = inner
        self._asked: asyncio.Future[T | None] | None = None

    def __iter__(self) -> Events[T]:
        return self

    def __next__(self) -> T:
        return next(self._inner)

    def poll(self, seconds: float = 0.0) -> T | None:
        """The next event, or None if none comes within so many seconds. At the end StopIteration is raised."""
        return self._inner.poll(seconds)

    def __aiter__(self) -> Events[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            if self._asked is None:
                self._asked = asyncio.ensure_future(asyncio.to_thread(self._look))
            # A task that is cancelled loses no event: the next one takes what was asked for.
            found = await asyncio.shield(self._asked)
            self._asked = None
            if found is not None:
                return found

    def _look(self) -> T | None:
        try:
            return self._inner.poll(_LOOK)
        except StopIteration:
            # A StopIteration cannot leave a future.
            raise StopAsyncIteration from None

    def counters(self) -> dict[str, int]:
        """What was counted so far.

        ``packets`` that came on the lines, ``messages`` decoded, ``undecodable`` messages, ``gaps`` and the numbers
        ``lost`` in them, ``instruments`` known and how many are ``stale``.
        """
        return self._inner.counters()

    def close(self) -> None:
        """End it: close the files or the sockets."""
        self._inner.close()

    def __enter__(self) -> Events[T]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Handler:
    """A channel of a feed file (docs/feed-file.md): lines A and B made one, gaps told, books recovered from snapshots.

    Packets come from the groups that the file names, from the captures that it names as lines, or from ``captures``,
    whose packets belong to lines by group and port; several are merged by time. Each iteration begins anew.

    >>> for book in Handler("feed.toml", captures=["day.pcap.zst"]).books():  # doctest: +SKIP
    ...     print(book.instrument, book.bids[:1], book.asks[:1])
    """

    def __init__(
        self,
        feed: Path,
        channel: str | None = None,
        captures: Path | Sequence[Path] = (),
    ) -> None:
        paths = [captures] if isinstance(captures, (str, os.PathLike)) else list(captures)
        self._inner = _tickwire.Handler(feed, channel, paths)

    @property
    def channel(self) -> str:
        """Name of the channel."""
        return self._inner.channel

    def __iter__(self) -> Events[Event]:
        return self.events()

    def __aiter__(self) -> Events[Event]:
        return self.events()

    def events(self, *, depth: int | None = None, idle: float | None = None) -> Events[Event]:
        """Everything, in order. Books have at most ``depth`` levels a side.

        A live feed ends when nothing has come for ``idle`` seconds; without it, never.
        """
        return self._events(["message", "book", "trade", "gap", "notice"], depth, idle)

    def messages(self, *, idle: float | None = None) -> Events[Message]:
        """The messages of the lines, each once and in order."""
        return self._events(["message"], None, idle)

    def books(self, *, depth: int | None = None, idle: float | None = None) -> Events[Book]:
        """Books that changed, or became stale or fresh: one a message and instrument."""
        return self._events(["book"], depth, idle)

    def trades(self, *, idle: float | None = None) -> Events[Trade]:
        """Trades."""
        return self._events(["trade"], None, idle)

    def gaps(self, *, idle: float | None = None) -> Events[Gap]:
        """Numbers that no line brought, or whose packet cannot be decoded."""
        return self._events(["gap"], None, idle)

    def _events(self, kinds: list[str], depth: int | None, idle: float | None) -> Events:
        return Events(self._inner.events(kinds, depth, idle))
