"""Captures for engines of SQL: what a query does not name is not stored, what it leaves out by time not decoded.

`Capture.dataset` gives a `Dataset`, which DuckDB, DataFusion, Polars (``polars.scan_pyarrow_dataset``) and pyarrow take
as they take one of files. It needs pyarrow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.fs

from tickwire._tickwire import Batches

__all__ = ["Dataset", "Fragment", "Scan"]

# Opens the capture with these fields and capture times alone.
Read = Callable[[Sequence[str] | None, int | None, int | None], Batches]

# What stands behind the path of a field in the names of its columns.
# Columns that tell where a message came from, in front of its fields.
_PLACE = ("pkt", "off", "time", "seq_num", "source", "destination", "line")
_PARTS = (".mantissa", ".exponent", ".present", ".length", ".entry")
_TIME = "time"
_TIME_MAX = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class Scan:
    """One reading of a capture by an engine.

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
    """Columns that were asked for, those of the filter included."""
    start: int | None
    """First capture time that the filter leaves, nanoseconds since 1970-01-01 UTC; None without bound."""
    end: int | None
    """The time behind the last one."""
    fields: int
    """Fields of the template that were stored."""
    _batches: Batches

    @property
    def packets(self) -> int:
        """Packets read so far."""
        return self._batches.packets

    @property
    def packets_skipped(self) -> int:
        """Those of them that were not decoded, as they are out of the time range.

        None are skipped where dictionaries live on from packet to packet.
        """
        return self._batches.packets_skipped


class Dataset(pyarrow.dataset.Dataset):
    """The rows of a template's messages, as engines of SQL read them: made by `Capture.dataset`.

    Each scan reads the capture from its start. Columns that it does not name are not stored, and packets out of the
    range of its filter on ``time`` are not decoded where dictionaries are emptied at each. ``scans`` says what was done.

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

    # What pyarrow makes in C++ is not there: all that would look for it is defined here.
    def __init__(self, read: Read, time_unit: str) -> None:
        self._read = read
        self._time_unit = time_unit
        all_columns = read(None, None, None).select(None, time_unit)
        self._schema = pyarrow.RecordBatchReader.from_stream(all_columns).schema
        self.scans: list[Scan] = []

    @property
    def schema(self) -> pyarrow.Schema:
        """Name and type of the columns."""
        return self._schema

    @property
    def partition_expression(self) -> pyarrow.compute.Expression:
        """True: nothing is known of all rows."""
        return pyarrow.compute.scalar(True)

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, pyarrow.compute.Expression] | None = None,
        filter: pyarrow.compute.Expression | None = None,
        **options: Any,
    ) -> pyarrow.dataset.Scanner:
        """A reading of these columns of the rows that a filter leaves."""
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
        # Threads of pyarrow read ahead, also when Python ends: rows must not come from Python.
        rows = pyarrow.RecordBatchReader.from_stream(batches)
        known = {name: options[name] for name in ("batch_size", "use_threads") if name in options}
        columns = columns if columns is None or isinstance(columns, Mapping) else list(columns)
        return pyarrow.dataset.Scanner.from_batches(rows, columns=columns, filter=filter, **known)

    def get_fragments(self, filter: pyarrow.compute.Expression | None = None) -> Iterator[Fragment]:
        """The one fragment: a capture is read as a whole."""
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
        """How many rows a scan has."""
        return self.scanner(**{"columns": [], **options}).count_rows()

    def take(self, indices: Any, **options: Any) -> pyarrow.Table:
        """The rows with these indexes of a scan."""
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
    """The one fragment of a dataset, for engines that read fragments.

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
        """A scan of the dataset, which has one schema."""
        return self._dataset.scanner(**options)


def _path(column: str) -> str:
    for part in _PARTS:
        column = column.removesuffix(part)
    return column


def _is_named_like_a_part(column: str, of_messages: Sequence[str]) -> bool:
    """Whether a column ends as a part of a field does, but what would stand beside such a part is not there."""
    path, point, part = column.rpartition(".")
    if not point:
        return False
    beside = {"mantissa": "exponent", "exponent": "mantissa", "entry": "length", "length": "entry"}
    if part == "length" and not any(other.endswith(".entry") for other in of_messages):
        # Of messages without their entries.
        return False
    if part == "present":
        return not any(other.startswith(path + "/") for other in of_messages)
    return part in beside and f"{path}.{beside[part]}" not in of_messages


def _fields(columns: Sequence[str], all_columns: Sequence[str]) -> list[str] | None:
    """Paths of the fields that columns are of, and of one in each sequence, as its entries are rows."""
    of_messages = all_columns[len(_PLACE) :]
    if any("#" in column or _is_named_like_a_part(column, of_messages) for column in of_messages):
        # Names that came about by numbering are not of the templates, and those of some fields end as parts do.
        return None
    # Where it has fields inside, naming X for X.length would bring them all.
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
    # A group that is there is known by its fields.
    for column in columns:
        if column.endswith(".present"):
            chosen.add(_path(column))
    return sorted(chosen) or None


def _columns_of(filter: pyarrow.compute.Expression, schema: pyarrow.Schema) -> list[str]:
    """The columns that an expression names: those without which it fits no table."""
    named = []
    for index, name in enumerate(schema.names):
        rest = schema.remove(index)
        try:
            pyarrow.dataset.Scanner.from_batches(iter(()), schema=rest, columns=[], filter=filter)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError):
            named.append(name)
    return named


def _time_range(filter: pyarrow.compute.Expression, schema: pyarrow.Schema) -> tuple[int | None, int | None]:
    """The capture times that a filter can leave, nanoseconds, up to but without the second.

    pyarrow is asked whether the filter leaves anything of all rows from one time to another, as it is asked for files of
    which that much is known; halving finds the bounds.
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
