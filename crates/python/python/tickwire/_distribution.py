"""Samples from publishers: `subscribe` and `Subscription`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from tickwire import _tickwire
from tickwire._handler import Events
from tickwire._tickwire import Sample

Path = str | os.PathLike[str]


class Subscription(Events[Sample]):
    """Samples, one after the other: iterate with ``for`` or ``async for``.

    The iteration ends when a publisher has declared its feed done and all its samples have been
    received, when `close` is called, or at the end of a ``with`` block. A publisher with another
    type or release of samples causes a RuntimeWarning.

    >>> import asyncio, tempfile, tickwire
    >>> directory = tempfile.mkdtemp(dir="/dev/shm")
    >>> publisher = tickwire.Publisher(["Trade"], directory=directory)
    >>> trades = tickwire.subscribe("Trade", directory=directory)
    >>> trades.transport
    'shm'
    >>> for number in range(3):
    ...     publisher.publish("Trade", instrument="ESZ6", seq_num=number, has_price=True, price=101 + number)
    >>> publisher.finish()
    >>> async def prices():
    ...     return [trade.price async for trade in trades]
    >>> asyncio.run(prices())
    [Decimal('101'), Decimal('102'), Decimal('103')]
    >>> trades.lost, trades.missing
    (0, 0)
    >>> trades.counters()
    {'received': 3, 'duplicates': 0, 'missing': 0}
    >>> trades.publishers()
    [{'received': 3, 'last_values': 0, 'duplicates': 0, 'missing': 0, 'lost': 0, 'written': 3, 'ended': 'done'}]
    >>> next_publisher = tickwire.Publisher(["Trade"], directory=directory)
    >>> more = tickwire.subscribe("Trade", directory=directory)
    >>> more.poll(0.01) is None
    True
    >>> more.close()
    """

    def __init__(self, inner: _tickwire.Samples) -> None:
        super().__init__(inner)  # pyright: ignore[reportArgumentType]
        self._samples = inner

    @property
    def transport(self) -> str:
        """The selected transport: ``"shm"`` or ``"dds"``. With ``"auto"``, ``"dds"`` may become ``"shm"``."""
        return self._samples.transport

    @property
    def lost(self) -> int | None:
        """Number of lost samples of all publishers; None while a publisher is active, or if one
        ended without notice.

        `Sample.missed` has those directly before a sample.
        """
        return self._samples.lost

    @property
    def missing(self) -> int:
        """Number of samples missing between the received ones."""
        return self._samples.missing

    def publishers(self) -> list[dict[str, Any]]:
        """Statistics of each publisher.

        ``received`` samples, of which ``last_values``; ``duplicates``; ``missing`` between the
        received ones; ``lost``, None if unknown; ``written``, which the publisher reports when it
        ends; ``ended``: ``"done"``, ``"stopped"``, ``"gone"`` (without notice), or None.
        """
        return self._samples.publishers()

    def counters(self) -> dict[str, int]:
        """Counters over all publishers: samples ``received``, ``duplicates`` and ``missing``."""
        names = ("received", "duplicates", "missing")
        publishers = self.publishers()
        return {name: sum(publisher[name] for publisher in publishers) for name in names}

    def __repr__(self) -> str:
        counters = " ".join(f"{name}={count}" for name, count in self.counters().items())
        return f"<Subscription {self.transport} {counters}>"

    def __enter__(self) -> Subscription:  # noqa: PYI034
        return self


def subscribe(
    topic: str | Sequence[str],
    transport: Literal["auto", "dds", "shm"] = "auto",
    *,
    domain: int = 0,
    directory: Path | None = None,
    user: int | None = None,
    last_values: bool = True,
    partitions: Sequence[str] = (),
    max_rate: float | None = None,
    stay: bool = False,
    spin: bool | float = False,
) -> Subscription:
    """Subscribe to samples of ``tickwire publish`` or ``tickwire receive --publish`` on this host.

    - ``topic``: BookTop, Book, Trade, Status, Definition, Quote, New, Change, Remove, MarketData or QuoteRequest; or several
    - ``transport``: ``"shm"``, shared memory; ``"dds"``, in a build with the feature ``dds``; or
      ``"auto"``, as in ``tickwire subscribe``: shared memory if one of the topics has a publisher there
      now, otherwise DDS until a publisher over shared memory arrives first. Without the feature ``dds``,
      always shared memory
    - ``domain``: the publisher's ``--domain``
    - ``directory`` and ``user``: directory and owner of the channels, by default ``/dev/shm/tickwire-UID``
      with the numeric id of this process's user
    - ``last_values``: start with the last sample of each key; the publisher must keep them, which is its
      default
    - ``partitions``: names of partitions, as in the publisher's ``--partition``
    - ``max_rate``: conflate: only the last sample of each key, at most this many times per second
    - ``stay``: continue when a publisher declares its feed done
    - ``spin``: True to poll continuously: lower latency, but uses a whole CPU; or the seconds to poll
      after the last sample, before sleeping

    >>> import tempfile, tickwire
    >>> directory = tempfile.mkdtemp(dir="/dev/shm")
    >>> publisher = tickwire.Publisher(["BookTop"], directory=directory)
    >>> with tickwire.subscribe("BookTop", directory=directory) as tops:
    ...     publisher.publish("BookTop", instrument="ESZ6", has_bid=True, bid={"price": 5, "size": 3})
    ...     top = next(tops)
    >>> top.topic, top.instrument, top["has_bid"], top.bid
    ('BookTop', 'ESZ6', True, {'price': Decimal('5'), 'size': Decimal('3'), 'orders': 0})
    >>> top.number, top.missed, top.is_last_value, sorted(top.to_dict()) == sorted(top.keys())
    (1, 0, False, True)

    Polls for 50 microseconds before it sleeps:

    >>> with tickwire.subscribe("BookTop", directory=directory, spin=50e-6) as tops:
    ...     next(tops).is_last_value
    True
    """
    topics = [topic] if isinstance(topic, str) else list(topic)
    inner = _tickwire.Samples(
        topics,
        transport,
        domain=domain,
        directory=None if directory is None else os.fspath(directory),
        user=user,
        last_values=last_values,
        partitions=list(partitions),
        max_rate=max_rate,
        stay=stay,
        spin=spin,
    )
    return Subscription(inner)
