"""Logs and captures of FIX messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from tickwire import _columns
from tickwire.fix import _native
from tickwire.fix._errors import FixError
from tickwire.fix._native import Batches, Dictionary, Message

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Path = str | os.PathLike[str]
Fields = Sequence[str] | Literal["all"] | None


class Log:
    """An open log or capture: iterate over it for messages, or take the columns of a message type.

    Each iteration and each table reads the file from its start. An invalid message raises
    `FixError` after the messages or rows before it; an iteration over messages can continue after
    it. Consumers of `batches` raise their own exceptions; its ``error`` has the cause. With
    ``on_error="keep"`` errors are collected in ``errors`` and not raised.

    Columns have the names of the fields and types from the dictionary: integers, booleans, decimals
    with 18 places (or ``floats``), timestamps and times in nanoseconds, dates, binary, text; groups
    are lists of structs. The first columns are ``line`` and ``off`` for text logs, ``pkt``,
    ``time``, ``source`` and ``destination`` for captures. The last column, ``other``, lists tags
    and values that have no column: fields that the dictionary does not define there, repeated
    fields, values that do not fit.

    Arguments of the methods that take columns:

    - ``msg_type``: MsgType or name of the messages, such as ``"D"`` or ``"NewOrderSingle"``; may be omitted
      if the log has messages of only one type
    - ``fields``: names of fields (a group includes all its members), or ``"all"`` fields of the dictionary;
      by default those that the log's messages have, without BodyLength, CheckSum and MsgType
    - ``floats``: whether decimals are 64-bit floating-point numbers

    >>> import pathlib, tempfile
    >>> from tickwire import fix
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "orders.log"
    >>> _ = path.write_text("12:30:01 8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=098|")
    >>> log = fix.open(path)
    >>> [order] = log
    >>> order.Symbol, order.line
    ('MSFT', 1)
    >>> log.counts(), log.errors, log.error_count
    ({'D': 1}, [], 0)
    >>> log.table("D", ["Symbol"]).select(["line", "off", "Symbol", "other"]).to_pylist()
    [{'line': 1, 'off': 9, 'Symbol': 'MSFT', 'other': []}]
    >>> log.to_polars("D", ["Price"], floats=True)["Price"].to_list()
    [10.5]
    >>> log.to_pandas("D")["Symbol"].to_list()
    ['MSFT']
    >>> log.to_parquet(path.with_suffix(".parquet"), "D", ["Symbol"])
    >>> import pyarrow, pyarrow.parquet
    >>> pyarrow.parquet.read_table(path.with_suffix(".parquet")) == pyarrow.table(log.batches("D", ["Symbol"]))
    True
    """

    def __init__(self, inner: _native.Log) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[Message]:
        return iter(self._inner)

    @property
    def errors(self) -> list[FixError]:
        """Errors so far, the first 10,000. Each reading of the log adds its own."""
        return self._inner.errors

    @property
    def error_count(self) -> int:
        """Number of errors so far, in all readings together."""
        return self._inner.error_count

    def counts(self) -> dict[str, int]:
        """Read the log once and count messages by MsgType."""
        return self._inner.counts()

    def batches(self, msg_type: str | None = None, fields: Fields = None, *, floats: bool = False) -> Batches:
        """Record batches of a type's messages, one row per message, for the Arrow C stream
        interface.

        Pass the result to ``pyarrow.table``, ``polars.DataFrame``, DuckDB and others, without
        copies.
        """
        if fields == "all":
            return self._inner.batches(msg_type, all=True, floats=floats)
        names = None if fields is None else list(fields)
        return self._inner.batches(msg_type, names, floats=floats)

    def table(
        self, msg_type: str | None = None, fields: Fields = None, *, floats: bool = False
    ) -> pyarrow.Table:
        """All messages of a type as a pyarrow table."""
        return _columns.table(self.batches(msg_type, fields, floats=floats))

    def to_polars(
        self, msg_type: str | None = None, fields: Fields = None, *, floats: bool = False
    ) -> polars.DataFrame:
        """All messages of a type as a polars data frame."""
        return _columns.to_polars(self.batches(msg_type, fields, floats=floats))

    def to_pandas(
        self, msg_type: str | None = None, fields: Fields = None, *, floats: bool = False
    ) -> pandas.DataFrame:
        """All messages of a type as a pandas data frame."""
        return self.table(msg_type, fields, floats=floats).to_pandas()

    def to_parquet(
        self,
        path: Path,
        msg_type: str | None = None,
        fields: Fields = None,
        *,
        floats: bool = False,
    ) -> None:
        """Write all messages of a type to a Parquet file, batch by batch.

        Files are written as by ``tickwire export``: compressed with zstd; the first rows select the
        encoding of each column. For other settings pass `batches` to your own writer. The file gets
        its name only when it is complete.
        """
        _columns.to_parquet(self.batches(msg_type, fields, floats=floats), path)


def open(
    path: Path,
    dictionary: Dictionary | None = None,
    *,
    separator: bytes | str | None = None,
    checks: bool = True,
    on_error: Literal["raise", "keep"] = "raise",
) -> Log:
    """Open a log of FIX messages with any text around them, or a capture (pcap, pcapng, also .gz
    and .zst) of TCP.

    - ``dictionary``: names and types of fields; by default those of each message's version
    - ``separator``: separator of fields in a text log; detected by default
    - ``checks``: whether a message with a wrong BodyLength or CheckSum is an error; if not,
      ``Message.wrong`` lists the errors
    - ``on_error``: ``"raise"``, or ``"keep"`` to collect errors in ``Log.errors``

    Each reading goes through the file once; it is not kept in memory.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "orders.log"
    >>> _ = path.write_text("12:30:01 8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=098|")
    >>> [(order.line, order.Symbol, order.Price) for order in open(path)]
    [(1, 'MSFT', Decimal('10.50'))]
    >>> open(path).table("D", ["Symbol", "Price"], floats=True).select(["line", "Symbol", "Price"]).to_pylist()
    [{'line': 1, 'Symbol': 'MSFT', 'Price': 10.5}]
    """
    return Log(_native.open(os.fspath(path), dictionary, separator, checks, on_error))
