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
    """An open OPRA capture: iterate over it for messages, or take the columns of a category.

    Categories have the names of the tables of ``tickwire export --opra``, such as ``quote`` and
    ``last_sale``, or their codes; the name may be omitted if the capture has messages of only one
    category. Columns are those of these tables: codes are strings, prices decimals with eight
    places (or doubles with ``floats``), ``message_time`` is the message's own time.

    Each iteration and each table reads the file from its start. An undecodable packet raises
    `tickwire.DecodeError` after the messages or rows before the error; an iteration over messages
    can continue after it. With ``on_error="keep"`` errors are collected in ``errors`` and not
    raised.

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
        """Decoding errors so far, the first 10,000. Each reading of the capture adds its own."""
        return self._inner.errors

    @property
    def error_count(self) -> int:
        """Number of decoding errors so far, in all readings together."""
        return self._inner.error_count

    @property
    def warnings(self) -> list[str]:
        """Remarks that are not errors: headers of packets that disagree with their messages, capture
        times that go back. The first 10,000; each reading of the capture adds its own."""
        return self._inner.warnings

    def counts(self) -> dict[str, int]:
        """Decode the capture once and count messages by category."""
        return self._inner.counts()

    def batches(
        self, category: str | None = None, fields: Sequence[str] | None = None, *, floats: bool = False
    ) -> Batches:
        """Record batches of a category's messages, for the Arrow C stream interface.

        A row is a message; for underlying values, an entry of the group. ``fields`` selects
        columns; the header columns, which say where a message came from, are always included.
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
        """Write all messages of a category to a Parquet file, batch by batch.

        Files are written as by ``tickwire export``: compressed with zstd; the first rows select the
        encoding of each column. For other settings pass `batches` to your own writer. The file gets
        its name only when it is complete.
        """
        _columns.to_parquet(self.batches(category, fields, floats=floats), path)


def open(
    path: Path,
    input_format: str | None = None,
    *,
    on_error: Literal["raise", "keep"] = "raise",
) -> Capture:
    """Open an OPRA capture: pcap, pcapng, length-prefixed packets, or a raw file with a single
    packet; also .gz and .zst.

    - ``input_format``: ``"pcap"``, ``"u32be"``, ``"u32le"`` or ``"raw"``; detected by default
    - ``on_error``: ``"raise"``, or ``"keep"`` to collect errors in ``Capture.errors``

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
    """Write a synthetic trace of length-prefixed packets, with at least ``messages`` messages.
    Message and packet sizes are those of real lines.

    The same arguments produce the same bytes.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trace.bin"
    >>> simulate(path, messages=500, seed=7, version="1.03")
    >>> sum(open(path).counts().values()) >= 500
    True
    """
    _opra.simulate(path, messages, seed, version)
