"""Conversion of record batches to pyarrow, polars, pandas and Parquet files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars
    import pyarrow


class Collected(Protocol):
    """Record batches in memory."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Batches(Protocol):
    """Record batches, and the error that ended their last reading."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> Collected: ...
    def write_parquet(self, path: str | os.PathLike[str]) -> None: ...
    @property
    def error(self) -> Exception | None: ...


def table(batches: Batches) -> pyarrow.Table:
    """All rows as a pyarrow table."""
    import pyarrow

    with _cause(batches):
        # pyarrow would not check for signals while it reads.
        return pyarrow.table(batches.collect())


def to_polars(batches: Batches) -> polars.DataFrame:
    """All rows as a polars data frame."""
    import polars

    with _cause(batches):
        # polars would hold the GIL while it reads, and convert strings to views itself, which takes four
        # times as long.
        return polars.DataFrame(batches.collect(views=True))


def to_parquet(batches: Batches, path: str | os.PathLike[str]) -> None:
    """Write all rows to a Parquet file, batch by batch. The file gets its name only when it is
    complete."""
    with _cause(batches):
        batches.write_parquet(path)


@contextlib.contextmanager
def _cause(batches: Batches) -> Iterator[None]:
    """Raise the error that ended the reading of batches, instead of the consumer's exception for
    it."""
    try:
        yield
    except Exception as error:
        if batches.error is None:
            raise
        raise batches.error from error
