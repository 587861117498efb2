"""Captures as a data source of Apache Spark: rows of a template's messages, decoded on the
executors.

    import tickwire.spark

    tickwire.spark.register(spark)
    frame = (
        spark.read.format("tickwire")
        .option("templates", "templates.xml")
        .option("template", "MDIncrementalRefresh_30")
        .option("framing", "cme")
        .load("captures/")
    )

A partition is a split of `tickwire.plan`. Rows are those of ``tickwire.open(...).table(template)``. Options:

- ``path``: a file, a directory or a pattern; set by `load`
- ``templates``: template files, separated by commas; ``template``: name or id of the template whose
  messages become rows
- ``framing``, ``reset``, ``input_format``: as in `tickwire.open`
- ``fields``: names of the columns to read, separated by commas; other fields are not stored. Spark does not
  tell a Python data source which columns a query uses. A schema set with ``spark.read.schema(...)`` has the
  same effect.
- ``floats``: ``true`` for decimals as double; by default they are decimal columns, or mantissa and exponent
- ``file``: ``true`` for a column ``file`` with the path of the capture
- ``errors``: ``fail``: undecodable data fail the job with their error, or ``keep``: undecodable data
  are skipped
- ``table``: ``errors`` for the decoding errors, one row each, instead of the messages
- ``split_bytes``, ``index_directory``: as in `tickwire.plan`
- ``max_files``: most captures in a batch of a stream; needs pyspark 4.2 or later

A range of ``time`` in a filter is pushed down. ``readStream`` follows a directory: captures that
are renamed into it become rows of the next batch. Offsets are the names of the processed captures
that are still in the directory. Earlier ones may be moved away, but not back: they would be read
again.

It needs pyspark 4.0 or later (filter push-down: 4.1), and pyarrow. On executors, tickwire must be
installed and the captures must have the same paths; templates are sent to them.
"""

from __future__ import annotations

import datetime
import inspect
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.types
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from tickwire import _tickwire
from tickwire._errors import TickwireError
from tickwire._plan import SPLIT_BYTES, Place, Reading, captures_of, plan
from tickwire._tickwire import TemplateSet
from tickwire.dataset import _fields

__all__ = ["TickwireDataSource", "register"]

_OPTIONS = {
    "path",
    "templates",
    "template",
    "framing",
    "reset",
    "input_format",
    "fields",
    "floats",
    "file",
    "errors",
    "table",
    "split_bytes",
    "index_directory",
    "max_files",
}
_FILE = "file"
_TIME = "time"
# Numbers that fit 63 bits in any capture.
_COUNTS = ("pkt", "off", "file_offset")
# pyspark 4.2 requires the time zone of timestamps. In earlier versions it is UTC by default.
_ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
)


def register(spark: SparkSession) -> None:
    """Register the format ``tickwire`` with a session, and enable filter push-down to Python data
    sources.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> spark = SparkSession.builder.getOrCreate()
    >>> register(spark)
    >>> reader = spark.read.format("tickwire").option("framing", day.framing)
    >>> reader = reader.option("templates", str(day.templates)).option("template", "MDIncrementalRefresh")
    >>> reader.load(str(day.capture)).select("pkt").distinct().count()
    600
    """
    spark.dataSource.register(TickwireDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


class TickwireDataSource(DataSource):
    """Captures as rows: see the module.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> from tickwire.spark import TickwireDataSource
    >>> template = tickwire.open(day.capture, day.templates, day.framing).templates[0]
    >>> options = {"path": str(day.capture), "templates": str(day.templates), "template": template, "framing": day.framing,
    ...            "fields": "pkt,time"}
    >>> source = TickwireDataSource(options)
    >>> source.name(), source.schema().names
    ('tickwire', ['pkt', 'time'])
    >>> reader = source.reader(source.schema())
    >>> [partition] = reader.partitions()
    >>> next(reader.read(partition)).column_names
    ['pkt', 'time']
    >>> source = TickwireDataSource(options | {"path": str(day.directory)})
    >>> source.streamReader(source.schema()).latestOffset()
    {'files': ['day.pcap']}
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format for ``spark.read.format``."""
        return "tickwire"

    def schema(self) -> spark_types.StructType:
        """Names and types of the columns, from the templates; no capture is read."""
        return _Asked(dict(self.options)).schema()

    def reader(self, schema: spark_types.StructType) -> DataSourceReader:
        """Read captures once."""
        return _Reader(_Asked(dict(self.options)), schema)

    def streamReader(self, schema: spark_types.StructType) -> DataSourceStreamReader:
        """Follow a directory."""
        return _StreamReader(_Asked(dict(self.options)), schema)


class _Asked:
    """Parsed options."""

    def __init__(self, options: dict[str, str]) -> None:
        options = {name.lower(): value for name, value in options.items()}
        unknown = sorted(options.keys() - _OPTIONS)
        if unknown:
            raise ValueError(f"no option {unknown[0]}: there are {', '.join(sorted(_OPTIONS))}")
        self._options = options
        files = [path.strip() for path in self._named("templates").split(",")]
        self.template = self._named("template")
        self.reading = Reading(
            TemplateSet(files),
            options.get("framing", "none"),
            options.get("reset"),
            options.get("input_format"),
        )
        self.floats = self._one_of("floats", "false", "true") == "true"
        self.has_file = self._one_of(_FILE, "false", "true") == "true"
        self.keeps_errors = self._one_of("errors", "fail", "keep") == "keep"
        self.is_errors = self._one_of("table", "messages", "errors") == "errors"
        self.split_bytes = int(options.get("split_bytes", SPLIT_BYTES))
        self.max_files = int(options["max_files"]) if "max_files" in options else None
        if self.max_files is not None and self.max_files < 1:
            raise ValueError(f"option max_files is {self.max_files}: expected a number from 1")

    def _named(self, name: str) -> str:
        if name not in self._options:
            raise ValueError(f"option {name} is not given")
        return self._options[name]

    def _one_of(self, name: str, *values: str) -> str:
        value = self._options.get(name, values[0])
        if value not in values:
            raise ValueError(f"option {name} is {value}: expected {' or '.join(values)}")
        return value

    def path(self) -> str:
        return self._named("path")

    def places(self, captures: Sequence[str]) -> list[Place]:
        reading = self.reading
        splits = plan(
            captures,
            reading.templates,
            reading.framing,
            reading.reset,
            reading.input_format,
            split_bytes=self.split_bytes,
            index_directory=self._options.get("index_directory"),
        )
        return [split.place for split in splits]

    def arrow_schema(self) -> pyarrow.Schema:
        """Arrow schema of the template's columns; it does not depend on the capture."""
        empty = _tickwire.open(os.devnull, self.reading.templates, input_format="raw")
        if self.is_errors:
            rows = empty.lost(self.template)
        else:
            rows = empty.batches(self.template, floats=self.floats)
        return pyarrow.RecordBatchReader.from_stream(rows).schema

    def schema(self) -> spark_types.StructType:
        whole = self.arrow_schema()
        names: Sequence[str] = whole.names
        if "fields" in self._options:
            names = [name.strip() for name in self._options["fields"].split(",")]
            unknown = [name for name in names if name not in whole.names]
            if unknown:
                raise ValueError(f"no column {unknown[0]}: there are {', '.join(whole.names)}")
        fields = [
            spark_types.StructField(name, _spark_type(name, whole.field(name).type), True) for name in names
        ]
        if self.has_file or self.is_errors:
            fields.append(spark_types.StructField(_FILE, spark_types.StringType(), True))
        return spark_types.StructType(fields)


def _spark_type(name: str, arrow: pyarrow.DataType) -> spark_types.DataType:
    types = pyarrow.types
    if name in _COUNTS or types.is_uint32(arrow) or types.is_int64(arrow):
        return spark_types.LongType()
    if types.is_uint64(arrow):
        return spark_types.DecimalType(20, 0)
    if types.is_uint16(arrow) or types.is_int32(arrow):
        return spark_types.IntegerType()
    if types.is_uint8(arrow) or types.is_int16(arrow):
        return spark_types.ShortType()
    if types.is_int8(arrow):
        return spark_types.ByteType()
    if types.is_boolean(arrow):
        return spark_types.BooleanType()
    if types.is_float64(arrow):
        return spark_types.DoubleType()
    if types.is_decimal128(arrow):
        return spark_types.DecimalType(arrow.precision, arrow.scale)
    if types.is_timestamp(arrow):
        return spark_types.TimestampType()
    if types.is_duration(arrow):
        return spark_types.DayTimeIntervalType()
    if types.is_date32(arrow):
        return spark_types.DateType()
    if types.is_string(arrow) or types.is_dictionary(arrow):
        return spark_types.StringType()
    if types.is_binary(arrow):
        return spark_types.BinaryType()
    raise TickwireError(f"column {name}: Spark has no type for {arrow}")


class _Rows:
    """Reads splits; this object is sent to the executors."""

    def __init__(self, asked: _Asked, schema: spark_types.StructType) -> None:
        self.asked = asked
        known = {field.name: field.dataType for field in _Asked.schema(asked).fields}
        whole = asked.arrow_schema()
        known |= {name: _spark_type(name, whole.field(name).type) for name in whole.names}
        for field in schema.fields:
            if known.get(field.name) != field.dataType:
                expected = known.get(field.name)
                what = "does not exist" if expected is None else f"is {expected.simpleString()}"
                raise ValueError(f"column {field.name} {what}: {field.dataType.simpleString()} was asked for")
        self._schema = schema
        self._all_columns: list[str] = whole.names
        self.start: int | None = None
        self.end: int | None = None

    def read(self, place: Place) -> Iterator[pyarrow.RecordBatch]:
        target = to_arrow_schema(self._schema, **_ZONE)
        columns = [name for name in target.names if name in self._all_columns]
        reading, template = self.asked.reading, self.asked.template
        if self.asked.is_errors:
            lost = reading.open(place, on_error="keep").lost(template)
            for batch in pyarrow.RecordBatchReader.from_stream(lost):
                yield _converted(batch, target, place.path)
            return
        fields = _fields(columns, self._all_columns)
        on_error = "keep" if self.asked.keeps_errors else "raise"
        capture = reading.open(place, fields, self.start, self.end, on_error)
        batches = capture.batches(template, floats=self.asked.floats).select(columns)
        try:
            for batch in pyarrow.RecordBatchReader.from_stream(batches):
                yield _converted(batch, target, place.path)
        except pyarrow.ArrowException as error:
            if batches.error is None:
                raise
            raise TickwireError(f"{place.path}: {batches.error}") from error


def _converted(batch: pyarrow.RecordBatch, target: pyarrow.Schema, path: str) -> pyarrow.RecordBatch:
    columns = [
        _column(batch.column(field.name), field.type)
        if field.name in batch.schema.names
        else pyarrow.repeat(path, batch.num_rows)
        for field in target
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=target)


def _column(column: pyarrow.Array, wanted: pyarrow.DataType) -> pyarrow.Array:
    if column.type.equals(wanted):
        return column
    # Spark has microseconds: finer digits are truncated.
    is_cut = getattr(column.type, "unit", None) == "ns"
    return column.cast(wanted, safe=not is_cut)


class _Reader(DataSourceReader):
    def __init__(self, asked: _Asked, schema: spark_types.StructType) -> None:
        self._rows = _Rows(asked, schema)

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        for one in filters:
            self._push(one)
        # Spark applies the filters to the rows too, because they include packets without a time.
        return filters

    def _push(self, one: Any) -> None:
        if getattr(one, "attribute", None) != (_TIME,):
            return
        time = getattr(one, "value", None)
        if not isinstance(time, datetime.datetime):
            return
        if time.tzinfo is None:
            time = time.astimezone()
        micros = (time - _EPOCH) // datetime.timedelta(microseconds=1)
        kind, rows = type(one).__name__, self._rows
        # The rows have whole microseconds.
        if kind in ("GreaterThan", "GreaterThanOrEqual", "EqualTo"):
            start = max(0, micros + (kind == "GreaterThan")) * 1000
            rows.start = start if rows.start is None else max(start, rows.start)
        if kind in ("LessThan", "LessThanOrEqual", "EqualTo"):
            end = max(0, micros + (kind != "LessThan")) * 1000
            rows.end = end if rows.end is None else min(end, rows.end)

    def partitions(self) -> list[InputPartition]:
        asked = self._rows.asked
        return [InputPartition(place) for place in asked.places(captures_of(asked.path()))]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return self._rows.read(partition.value)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class _StreamReader(DataSourceStreamReader):
    """Offsets are ``{"files": [...]}``: the processed captures that are in the directory, by their
    path in it."""

    def __init__(self, asked: _Asked, schema: spark_types.StructType) -> None:
        self._rows = _Rows(asked, schema)
        self._directory = asked.path()
        if not os.path.isdir(self._directory):
            raise TickwireError(f"{self._directory}: a stream follows a directory")

    def initialOffset(self) -> dict[str, list[str]]:
        return {"files": []}

    # Spark passes start and limit from version 4.2 on.
    def latestOffset(self, start: dict[str, list[str]] | None = None, limit: Any = None) -> dict[str, Any]:
        found = [os.path.relpath(path, self._directory) for path in _tickwire.captures_of(self._directory)]
        most = self._rows.asked.max_files
        if start is None:
            if most is not None:
                raise TickwireError(
                    "option max_files needs pyspark 4.2 or later: earlier versions do not say which "
                    "captures a restarted stream has read"
                )
            return {"files": found}
        done = set(start["files"])
        new = [name for name in found if name not in done][:most]
        # An unchanged offset is no batch, even if captures were moved away.
        return {"files": sorted([*done.intersection(found), *new])} if new else start

    def partitions(self, start: dict[str, list[str]], end: dict[str, list[str]]) -> list[InputPartition]:
        known = set(start["files"])
        new = [os.path.join(self._directory, name) for name in end["files"] if name not in known]
        return [InputPartition(place) for place in self._rows.asked.places(new)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return self._rows.read(partition.value)
