"""The feed handler: `Handler` and its events."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, TypeAlias, TypeVar

from tickwire import _tickwire
from tickwire._tickwire import Book, FeedEvent, Gap, Message, Trade

Path = str | os.PathLike[str]

Event: TypeAlias = Message | Book | Trade | Gap | FeedEvent
"""An event of a handler: a message of the arbitrated lines, a book that changed or became stale or
fresh, a trade, a gap (sequence numbers received on no line), or a feed event, such as a reset or an
undecodable message."""

T = TypeVar("T")

# Longest time, in seconds, that an asyncio worker thread waits before it checks for cancellation.
_LOOK = 0.2


class Events(Generic[T]):
    """Events of a handler, one after the other: iterate with ``for`` or ``async for``.

    Sockets stay open until the iteration ends, `close` is called, or a ``with`` block ends.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> import asyncio
    >>> handler = tickwire.Handler(day.feed, captures=day.capture)
    >>> with handler.trades() as trades:
    ...     first = next(trades)
    >>> trades = handler.trades()
    >>> trades.poll(1.0).price == first.price
    True
    >>> sorted(trades.counters())
    ['gaps', 'instruments', 'lost', 'messages', 'packets', 'stale', 'undecodable']
    >>> trades.close()
    >>> async def count() -> int:
    ...     return len([trade async for trade in handler.trades()])
    >>> asyncio.run(count()) == len(list(handler.trades()))
    True
    """

    def __init__(self, inner: _tickwire.Events) -> None:
        self._inner = inner
        # Events found by asyncio worker threads: the task that asked may have been cancelled, so the next one
        # takes them.
        self._found: deque[T | Exception] = deque()
        # Reentrant: a signal handler may take from the iterator that it interrupts, on the same thread.
        self._looking = threading.RLock()

    def __iter__(self) -> Events[T]:
        return self

    def __next__(self) -> T:
        found = self._take_first()
        return next(self._inner) if found is None else found

    def poll(self, seconds: float = 0.0) -> T | None:
        """The next event, or None if there is none within ``seconds``. Raises StopIteration at the
        end."""
        found = self._take_first()
        return self._inner.poll(seconds) if found is None else found

    def __aiter__(self) -> Events[T]:
        return self

    async def __anext__(self) -> T:
        while True:
            found = self._take()
            if found is not None:
                return found
            if await asyncio.to_thread(self._look):
                raise StopAsyncIteration

    def _take(self) -> T | None:
        """Take the oldest found event; an error is raised, once."""
        try:
            found = self._found.popleft()
        except IndexError:
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def _take_first(self) -> T | None:
        """Take the oldest event that was found, or is being found for a cancelled task: it precedes
        all later ones."""
        with self._looking:
            return self._take()

    def _look(self) -> bool:
        """Wait for an event, unless one has been found; return True at the end."""
        with self._looking:
            if self._found:
                return False
            try:
                found = self._inner.poll(_LOOK)
            except StopIteration:
                return True
            except Exception as error:  # noqa: BLE001
                found = error
            if found is not None:
                self._found.append(found)
            return False

    def counters(self) -> dict[str, int]:
        """Counters so far.

        ``packets`` received on the lines, ``messages`` decoded, ``undecodable`` messages, ``gaps``
        and the sequence numbers ``lost`` in them, ``instruments`` known, and how many of them are
        ``stale``.
        """
        return self._inner.counters()

    def __repr__(self) -> str:
        counters = " ".join(f"{name}={count}" for name, count in self.counters().items())
        return f"<Events {counters}>"

    def close(self) -> None:
        """Stop the handler: close the files or the sockets."""
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
    """A channel of a feed file (docs/feed-file.md): arbitrates lines A and B, reports gaps,
    recovers books from snapshots.

    Packets come from the multicast groups in the file, from the captures that the file gives as
    lines, or from ``captures``. Packets of ``captures`` are assigned to lines by group and port;
    several captures are merged by time. Each iteration starts from the beginning.

    >>> import itertools
    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> handler = tickwire.Handler(day.feed, captures=[day.capture])
    >>> handler.channel
    'day'
    >>> for book in itertools.islice(handler.books(depth=1), 3):
    ...     print(book.instrument, book.bids, book.asks)
    20000 [] [(Decimal('11267.00'), Decimal('365'), 1)]
    20007 [] [(Decimal('3279.25'), Decimal('159'), 1)]
    20000 [(Decimal('11263.25'), Decimal('282'), 1)] [(Decimal('11265.00'), Decimal('336'), 1)]
    >>> sum(1 for _ in handler.messages()), sum(1 for _ in handler.trades()), sum(1 for _ in handler.gaps())
    (300, 154, 0)
    >>> from collections import Counter
    >>> sorted(Counter(type(event).__name__ for event in handler.events()))
    ['Book', 'FeedEvent', 'Message', 'Trade']
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

    def __repr__(self) -> str:
        over = "captures" if self._inner.is_captured else "sockets"
        return f"<Handler of the channel {self.channel}, over {over}>"

    def __iter__(self) -> Events[Event]:
        return self.events()

    def __aiter__(self) -> Events[Event]:
        return self.events()

    def events(self, *, depth: int | None = None, idle: float | None = None) -> Events[Event]:
        """All events, in order. Books have at most ``depth`` levels per side.

        A live feed ends after ``idle`` seconds without packets; by default never.
        """
        return self._events(["message", "book", "trade", "gap", "event"], depth, idle)

    def messages(self, *, idle: float | None = None) -> Events[Message]:
        """Messages of the arbitrated lines, each once and in order."""
        return self._events(["message"], None, idle)

    def books(self, *, depth: int | None = None, idle: float | None = None) -> Events[Book]:
        """Books that changed, or became stale or fresh: one per message and instrument."""
        return self._events(["book"], depth, idle)

    def trades(self, *, idle: float | None = None) -> Events[Trade]:
        """Trades."""
        return self._events(["trade"], None, idle)

    def gaps(self, *, idle: float | None = None) -> Events[Gap]:
        """Gaps: sequence numbers received on no line, or whose packet cannot be decoded."""
        return self._events(["gap"], None, idle)

    def _events(self, kinds: list[str], depth: int | None, idle: float | None) -> Events:
        return Events(self._inner.events(kinds, depth, idle))
