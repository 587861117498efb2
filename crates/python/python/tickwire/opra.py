"""OPRA FAST, 2.0 and 1.03: messages, and columns by category.

>>> import pathlib, tempfile
>>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
>>> simulate(path, messages=500, seed=7)
>>> capture = open(path)
>>> capture.counts()["quote"] > 400
True
>>> quote = next(message for message in capture if message.category == "quote")
>>> quote.symbol == capture.table("quote", ["symbol"])["symbol"][0].as_py()
True
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from tickwire import _columns, _opra
from tickwire._errors import DecodeError
from tickwire._opra import Batches, Message

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Batches", "Capture", "Message", "open", "simulate"]

Path = str | os.PathLike[str]


class Capture:
    """A capture of OPRA that was opened: iterate over it for messages, or take the columns of a category.

    Categories are named as the tables of ``tickwire export --opra`` are, such as ``quote`` and ``last_sale``, or by their
    codes; a name may be left out where the capture has messages of one alone. Columns are those of these tables: codes are
    strings, prices decimals with eight places (or doubles with ``floats``), ``message_time`` the message's own time.

    Each iteration and each table reads the file from its start. A packet that cannot be decoded raises
    `tickwire.DecodeError` after the messages or rows before the fault, and an iteration over messages can go on behind it; with
    ``on_error="keep"`` errors are gathered in ``errors`` and nothing is raised.

    >>> import pathlib, tempfile
    >>> from tickwire import opra
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
    >>> opra.simulate(path, messages=500, seed=7)
    >>> capture = opra.open(path)
    >>> quotes = capture.counts()["quote"]
    >>> sum(1 for message in capture if message.category == "quote") == quotes
    True
    >>> len(capture.to_polars("quote")) == len(capture.to_pandas("quote")) == capture.table("quote").num_rows == quotes
    True
    >>> import pyarrow, pyarrow.parquet
    >>> bids = pyarrow.table(capture.batches("quote", ["bid"], floats=True))["bid"]
    >>> bids.type
    DataType(double)
    >>> capture.to_parquet(path.with_suffix(".parquet"), "quote")
    >>> pyarrow.parquet.read_metadata(path.with_suffix(".parquet")).num_rows == quotes
    True
    >>> capture.errors, capture.error_count, capture.warnings
    ([], 0, [])
    """

    def __init__(self, inner: _opra.Capture) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[Message]:
        return iter(self._inner)

    @property
    def errors(self) -> list[DecodeError]:
        """What could not be decoded so far, the first 10,000. Each reading of the capture adds its own."""
        return self._inner.errors

    @property
    def error_count(self) -> int:
        """How much could not be decoded so far, in all readings together."""
        return self._inner.error_count

    @property
    def warnings(self) -> list[str]:
        """Packets whose header and messages differ, so far, the first 10,000: they are decoded all the same."""
        return self._inner.warnings

    def counts(self) -> dict[str, int]:
        """Decode the capture once and count messages by category."""
        return self._inner.counts()

    def batches(
        self, category: str | None = None, fields: Sequence[str] | None = None, *, floats: bool = False
    ) -> Batches:
        """Record batches of a category's messages, by the Arrow C stream interface.

        A row is a message, of underlying values an entry of their group. ``fields`` chooses columns; those that tell where a
        message came from are always there.
        """
        return self._inner.batches(category, None if fields is None else list(fields), floats)

    def table(
        self, category: str | None = None, fields: Sequence[str] | None = None, *, floats: bool = False
    ) -> pyarrow.Table:
        """All messages of a category as a pyarrow table."""
        return _columns.table(self.batches(category, fields, floats=floats))

    def to_polars(
        self, category: str | None = None, fields: Sequence[str] | None = None, *, floats: bool = False
    ) -> polars.DataFrame:
        """All messages of a category as a polars data frame."""
        return _columns.to_polars(self.batches(category, fields, floats=floats))

    def to_pandas(
        self, category: str | None = None, fields: Sequence[str] | None = None, *, floats: bool = False
    ) -> pandas.DataFrame:
        """All messages of a category as a pandas data frame."""
        return self.table(category, fields, floats=floats).to_pandas()

    def to_parquet(
        self,
        path: Path,
        category: str | None = None,
        fields: Sequence[str] | None = None,
        *,
        floats: bool = False,
    ) -> None:
        """Write all messages of a category to a Parquet file, a batch at a time.

        Files are those of ``tickwire export``: compressed by zstd, each column encoded as its first rows suggest. For another form give
        `batches` to a writer of your own. The file appears under its name when it is whole.
        """
        _columns.to_parquet(self.batches(category, fields, floats=floats), path)


def open(
    path: Path,
    input_format: str | None = None,
    *,
    on_error: Literal["raise", "keep"] = "raise",
) -> Capture:
    """Open a capture of OPRA: pcap, pcapng, packets behind their lengths, or a raw file, which is one packet; also .gz and .zst.

    - ``input_format``: ``"pcap"``, ``"u32be"``, ``"u32le"`` or ``"raw"``; found unless given
    - ``on_error``: ``"raise"``, or ``"keep"`` to gather errors in ``Capture.errors``

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
    >>> simulate(path, messages=500, seed=7)
    >>> next(iter(open(path, input_format="u32be"))).category
    'quote'
    """
    return Capture(_opra.open(os.fspath(path), input_format, on_error))


def simulate(
    path: Path, messages: int = 10_000, *, seed: int = 1, version: Literal["2.0", "1.03"] = "2.0"
) -> None:
    """Write a trace with the message and packet sizes of real lines: at least so many messages, packets behind their lengths.

    The same arguments give the same bytes.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
    >>> simulate(path, messages=500, seed=7, version="1.03")
    >>> sum(open(path).counts().values()) >= 500
    True
    """
    _opra.simulate(path, messages, seed, version)
