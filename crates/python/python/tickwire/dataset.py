"""Captures for query engines: fields that a query does not use are not stored, and packets outside
its time range not decoded.

`Capture.dataset` returns a `Dataset`. DuckDB, DataFusion, Polars (``polars.scan_pyarrow_dataset``)
and pyarrow read it like a dataset of files. It needs pyarrow.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.fs

from tickwire._tickwire import Batches

__all__ = ["Dataset", "Fragment", "Scan"]

# Opens the capture limited to these fields and this range of capture times.
Read = Callable[[Sequence[str] | None, int | None, int | None], Batches]

# Number of scans that a dataset records.
_SCANS = 100
# Header columns, which say where a message came from; they precede the fields.
_PLACE = ("pkt", "off", "time", "seq_num", "source", "destination")
# Suffixes of column names, after the path of a field.
_PARTS = (".mantissa", ".exponent", ".present", ".length", ".entry")
_TIME = "time"
_TIME_MAX = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Scan:
    """One scan of a capture by an engine.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> capture = tickwire.open(day.capture, day.templates, day.framing)
    >>> dataset = capture.dataset(capture.templates[0])
    >>> import pyarrow.compute as pc
    >>> middle = dataset.to_table(columns=["time"])["time"][100]
    >>> rows = dataset.to_table(columns=["pkt"], filter=pc.field("time") < middle)
    >>> scan = dataset.scans[-1]
    >>> scan.columns, scan.start, scan.end == middle.value
    (['pkt', 'time'], None, True)
    >>> scan.fields, scan.packets, scan.packets_skipped
    (1, 675, 635)
    """

    columns: list[str]
    """Requested columns, including those of the filter."""
    start: int | None
    """First capture time that the filter accepts, nanoseconds since 1970-01-01 UTC; None if
    unbounded."""
    end: int | None
    """End of the accepted capture times (exclusive); None if unbounded."""
    fields: int
    """Number of fields of the template that were stored."""
    _batches: Batches

    @property
    def packets(self) -> int:
        """Packets read so far."""
        return self._batches.packets

    @property
    def packets_skipped(self) -> int:
        """Packets that were not decoded, because they are outside the time range.

        No packet is skipped if dictionaries persist between packets.
        """
        return self._batches.packets_skipped


class Dataset(pyarrow.dataset.Dataset):
    """The rows of a template's messages, for query engines: created by `Capture.dataset`.

    Each scan reads the capture from its start. Columns that it does not use are not stored. Packets
    outside the range of its filter on ``time`` are not decoded, if dictionaries are reset at every
    packet. ``scans`` records the last 100 scans.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> capture = tickwire.open(day.capture, day.templates, day.framing)
    >>> dataset = capture.dataset(capture.templates[0])
    >>> import pyarrow.compute as pc
    >>> dataset.schema.names[:3], str(dataset.partition_expression)
    (['pkt', 'off', 'time'], 'true')
    >>> rows = dataset.count_rows()
    >>> dataset.to_table().num_rows == rows == sum(batch.num_rows for batch in dataset.to_batches())
    True
    >>> dataset.head(2, columns=["pkt"]).num_rows, dataset.take([0], columns=["pkt"]).num_rows
    (2, 1)
    >>> [fragment] = dataset.get_fragments()
    >>> late = pc.field("time") >= capture.table(capture.templates[0])["time"][-1]
    >>> dataset.scanner(columns=["pkt"], filter=late).count_rows() < rows
    True
    >>> dataset.scans[-1].columns
    ['pkt', 'time']
    """

    # There is no C++ dataset behind this object: every method that would use it is overridden here.
    def __init__(self, read: Read, time_unit: str) -> None:
        self._read = read
        self._time_unit = time_unit
        all_columns = read(None, None, None).select(None, time_unit)
        self._schema = pyarrow.RecordBatchReader.from_stream(all_columns).schema
        self.scans: deque[Scan] = deque(maxlen=_SCANS)

    @property
    def schema(self) -> pyarrow.Schema:
        """Names and types of the columns."""
        return self._schema

    @property
    def partition_expression(self) -> pyarrow.compute.Expression:
        """True: nothing is known about all rows."""
        return pyarrow.compute.scalar(True)

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, pyarrow.compute.Expression] | None = None,
        filter: pyarrow.compute.Expression | None = None,
        **options: Any,
    ) -> pyarrow.dataset.Scanner:
        """Create a scanner of these columns for the rows that a filter accepts."""
        named = self._schema.names
        if columns is not None and not isinstance(columns, Mapping):
            unknown = [name for name in columns if name not in named]
            if unknown:
                raise KeyError(f"the table has no column {unknown[0]}: it has {', '.join(named)}")
            filtered = [] if filter is None else _columns_of(filter, self._schema)
            named = [name for name in named if name in columns or name in filtered]
        start, end = (None, None) if filter is None else _time_range(filter, self._schema)
        batches = self._read(_fields(named, self._schema.names), start, end).select(named, self._time_unit)
        self.scans.append(Scan(named, start, end, batches.fields, batches))
        # pyarrow's threads read ahead, even while Python exits: batches must not be Python objects.
        rows = pyarrow.RecordBatchReader.from_stream(batches)
        known = {name: options[name] for name in ("batch_size", "use_threads") if name in options}
        columns = columns if columns is None or isinstance(columns, Mapping) else list(columns)
        return pyarrow.dataset.Scanner.from_batches(rows, columns=columns, filter=filter, **known)

    def get_fragments(self, filter: pyarrow.compute.Expression | None = None) -> Iterator[Fragment]:
        """The only fragment: a capture is read as a whole."""
        yield Fragment(self)

    def to_batches(self, **options: Any) -> Iterator[pyarrow.RecordBatch]:
        """Record batches of a scan; options are those of `scanner`."""
        return self.scanner(**options).to_batches()

    def to_table(self, **options: Any) -> pyarrow.Table:
        """The rows of a scan as a table; options are those of `scanner`."""
        return self.scanner(**options).to_table()

    def head(self, num_rows: int, **options: Any) -> pyarrow.Table:
        """The first rows of a scan."""
        return self.scanner(**options).head(num_rows)

    def count_rows(self, **options: Any) -> int:
        """Number of rows of a scan."""
        return self.scanner(**{"columns": [], **options}).count_rows()

    def take(self, indices: Any, **options: Any) -> pyarrow.Table:
        """The rows of a scan with these indexes."""
        return self.to_table(**options).take(indices)

    def _not_of_captures(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("a capture is read by scans: take to_table() for this")

    filter: Callable[..., NoReturn] = _not_of_captures
    join: Callable[..., NoReturn] = _not_of_captures
    join_asof: Callable[..., NoReturn] = _not_of_captures
    sort_by: Callable[..., NoReturn] = _not_of_captures
    replace_schema: Callable[..., NoReturn] = _not_of_captures
    _get_fragments: Callable[..., NoReturn] = _not_of_captures

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Dataset of a capture cannot be pickled: open the capture where it is read")

    def __repr__(self) -> str:
        return f"<tickwire.dataset.Dataset of {len(self._schema)} columns>"


class Fragment:
    """The only fragment of a dataset, for engines that read fragments.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> capture = tickwire.open(day.capture, day.templates, day.framing)
    >>> dataset = capture.dataset(capture.templates[0])
    >>> [fragment] = dataset.get_fragments()
    >>> fragment.scanner(columns=["pkt"]).count_rows() == dataset.count_rows()
    True
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def scanner(self, schema: pyarrow.Schema | None = None, **options: Any) -> pyarrow.dataset.Scanner:
        """A scan of the dataset; it has only one schema."""
        return self._dataset.scanner(**options)


def _path(column: str) -> str:
    for part in _PARTS:
        column = column.removesuffix(part)
    return column


def _is_named_like_a_part(column: str, of_messages: Sequence[str]) -> bool:
    """True if a column has the suffix of a field's part, but the companion columns of such a part
    do not exist."""
    path, point, part = column.rpartition(".")
    if not point:
        return False
    beside = {"mantissa": "exponent", "exponent": "mantissa", "entry": "length", "length": "entry"}
    if part == "length" and not any(other.endswith(".entry") for other in of_messages):
        # Tables of messages have a sequence's ``.length`` without ``.entry``.
        return False
    if part == "present":
        return not any(other.startswith(path + "/") for other in of_messages)
    return part in beside and f"{path}.{beside[part]}" not in of_messages


def _fields(columns: Sequence[str], all_columns: Sequence[str]) -> list[str] | None:
    """Paths of the fields of these columns, and of one field per sequence, because rows are its
    entries."""
    of_messages = all_columns[len(_PLACE) :]
    if any("#" in column or _is_named_like_a_part(column, of_messages) for column in of_messages):
        # The fields are not known: a column name with an appended number is not in the template, and a
        # field name can have the suffix of a part.
        return None
    # If sequence X has fields, selecting X for X.length would select all of them.
    sequences = [column.removesuffix(".length") for column in of_messages if column.endswith(".length")]
    inside = [path for path in sequences if any(other.startswith(path + "/") for other in of_messages)]
    leaves = [
        _path(column) for column in of_messages if not column.endswith((".length", ".entry", ".present"))
    ]
    chosen = {_path(column) for column in columns if column in of_messages} & set(leaves)
    for path in [*inside, ""]:
        below = [leaf for leaf in leaves if not path or leaf.startswith(path + "/")]
        if below and not any(leaf in chosen for leaf in below):
            chosen.add(below[0])
    # The presence of a group follows from its fields.
    for column in columns:
        if column.endswith(".present"):
            chosen.add(_path(column))
    return sorted(chosen) or None


def _columns_of(filter: pyarrow.compute.Expression, schema: pyarrow.Schema) -> list[str]:
    """The columns that an expression uses: without any of them it does not match the table."""
    named = []
    for index, name in enumerate(schema.names):
        rest = schema.remove(index)
        try:
            pyarrow.dataset.Scanner.from_batches(iter(()), schema=rest, columns=[], filter=filter)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError):
            named.append(name)
    return named


def _time_range(filter: pyarrow.compute.Expression, schema: pyarrow.Schema) -> tuple[int | None, int | None]:
    """Return the range of capture times that a filter can accept, in nanoseconds; the end is
    exclusive.

    A binary search finds the bounds: pyarrow simplifies the filter for rows whose time is within a
    given range, as it does for files with known statistics, and says whether any row can match.
    """
    time_type = schema.field(_TIME).type
    time = pyarrow.dataset.field(_TIME)
    file_format, filesystem = pyarrow.dataset.ParquetFileFormat(), pyarrow.fs.LocalFileSystem()

    def leaves(first: int, last: int) -> bool:
        known = (time >= pyarrow.scalar(first, time_type)) & (time <= pyarrow.scalar(last, time_type))
        fragment = file_format.make_fragment("none", filesystem, partition_expression=known)
        files = pyarrow.dataset.FileSystemDataset([fragment], schema, file_format, filesystem)
        return any(True for _ in files.get_fragments(filter=filter))

    if not leaves(0, _TIME_MAX):
        return 0, 0
    scale = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[time_type.unit]
    low, high = 0, _TIME_MAX
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if leaves(0, middle) else (middle + 1, high)
    start = low
    low, high = start, _TIME_MAX
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if leaves(middle, _TIME_MAX) else (low, middle - 1)
    beyond = None if low == _TIME_MAX else (low + 1) * scale
    return start * scale if start else None, beyond
