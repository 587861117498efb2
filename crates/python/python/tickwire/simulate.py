"""The simulated exchange, for your own tests: feeds with known books.

>>> import tempfile, tickwire
>>> written = day(tempfile.mkdtemp(), packets=500, instruments=3, loss=0.01, seed=7)
>>> handler = tickwire.Handler(written.feed, captures=written.capture)
>>> last = {book.instrument: book for book in handler.books()}
>>> all((book.bids, book.asks) == written.books()[name] for name, book in last.items() if book.is_fresh)
True
"""

from __future__ import annotations

import os
import pathlib
from typing import Literal

from tickwire import _tickwire
from tickwire._tickwire import Day

__all__ = ["Day", "day"]


def day(
    directory: str | os.PathLike[str],
    shape: Literal["futures", "shares"] = "futures",
    *,
    seed: int = 1,
    packets: int = 10_000,
    instruments: int = 20,
    loss: float = 0.0,
    duplicate: float = 0.0,
    reorder: float = 0.0,
    skew: float = 0.0,
    mid_session: bool = False,
) -> Day:
    """Write a trading day to a directory: ``day.pcap``, ``templates.xml`` and ``feed.toml``.

    The capture has lines A and B, snapshots and definitions, each with its own address, and one
    packet per millisecond. The same arguments produce the same bytes. ``futures`` publish price
    levels by position in CME's framing, ``shares`` every order in MOEX ASTS's. ``loss``,
    ``duplicate`` and ``reorder`` are the probabilities that a packet of a line is lost, duplicated
    or overtaken; line B lags by ``skew`` seconds. With ``mid_session`` books are full at the start,
    so a receiver needs a snapshot. The result has the paths, and the true books at the end.

    >>> import tempfile
    >>> written = day(tempfile.mkdtemp(), "shares", packets=200, instruments=2, seed=3)
    >>> written.framing, len(written.books())
    ('preamble=4,seq=0:4:le,reset=packet', 2)
    """
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    return _tickwire.day(
        directory,
        shape,
        seed=seed,
        packets=packets,
        instruments=instruments,
        loss=loss,
        duplicate=duplicate,
        reorder=reorder,
        skew=skew,
        mid_session=mid_session,
    )
