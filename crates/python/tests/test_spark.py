"""Captures in Apache Spark: the same rows as on one machine, whatever fails or is added."""

from __future__ import annotations

import datetime
import doctest
import importlib.util
import inspect
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import feed
import pyarrow
import pytest
import tickwire
import tickwire.simulate
from needs import reason, skip
from test_corpora import CAPTURES, corpus, on_error, opened

if importlib.util.find_spec("pyspark") is None:
    skip("programs", "pyspark is not installed: pip install tickwire[spark]")
if shutil.which("java") is None:
    skip("programs", "Spark needs Java, which is not installed")

import tickwire.spark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, datasource
from pyspark.sql import functions as f

# pyspark 4.1 passes filters to a source, 4.2 the start of a batch to a stream.
HAS_FILTERS = hasattr(datasource, "GreaterThan")
HAS_STARTS = "start" in inspect.signature(datasource.DataSourceStreamReader.latestOffset).parameters


def session(master: str) -> SparkSession:
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.Builder().master(master).appName("tickwire")
    for name, value in settings.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    tickwire.spark.register(started)
    return started


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    started = session("local[2]")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tickwire.simulate.Day:
    return tickwire.simulate.day(tmp_path_factory.mktemp("day"), packets=5000, instruments=5)


def test_the_example_of_register_runs(spark: SparkSession) -> None:
    test = doctest.DocTestFinder().find(tickwire.spark.register, "register", tickwire.spark)[0]
    assert doctest.DocTestRunner().run(test) == doctest.TestResults(0, len(test.examples))


def options(day: tickwire.simulate.Day, **others: str) -> dict[str, str]:
    """Options for the template with the most messages."""
    counts = tickwire.open(day.capture, day.templates, day.framing, "packet").counts()
    template = max(counts, key=lambda name: counts[name])
    named = {"templates": str(day.templates), "template": template, "framing": day.framing}
    return named | {"reset": "packet", "split_bytes": "50000"} | others


def expected(day: tickwire.simulate.Day, path: Path | None = None) -> pyarrow.Table:
    named = options(day)
    return tickwire.open(path or day.capture, day.templates, day.framing, "packet").table(named["template"])


def comparable(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        utc = value if value.tzinfo else value.astimezone()
        return utc.astimezone(datetime.timezone.utc).replace(tzinfo=None, microsecond=utc.microsecond)
    return bytes(value) if isinstance(value, bytearray) else value


def rows_of(table: pyarrow.Table) -> Counter[tuple[Any, ...]]:
    """Rows as Spark has them, with times truncated to microseconds."""
    columns = []
    for column in table.columns:
        if pyarrow.types.is_timestamp(column.type) or pyarrow.types.is_duration(column.type):
            kind = pyarrow.duration if pyarrow.types.is_duration(column.type) else pyarrow.timestamp
            zone = {} if kind is pyarrow.duration else {"tz": "UTC"}
            column = column.cast(kind("us", **zone), safe=False)
        columns.append([comparable(value) for value in column.to_pylist()])
    return Counter(zip(*columns, strict=True))


def rows_in(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(comparable(value) for value in row) for row in frame.collect())


def test_rows_are_those_of_one_machine(spark: SparkSession, day: tickwire.simulate.Day) -> None:
    frame = spark.read.format("tickwire").options(**options(day)).load(str(day.capture))
    assert frame.rdd.getNumPartitions() > 5
    table = expected(day)
    assert frame.columns == table.column_names
    assert rows_in(frame) == rows_of(table)


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_rows_of_corpora_are_those_of_one_machine(
    spark: SparkSession, name: str, framing: str, tmp_path: Path
) -> None:
    capture = opened(name, framing)
    path = corpus(f"{name}.bin")
    for template, count in sorted(capture.counts().items()):
        frame = (
            spark.read.format("tickwire")
            .option("templates", str(path.with_name("templates.xml")))
            .options(template=template, framing=framing, input_format="u32be")
            .options(split_bytes="400000", index_directory=str(tmp_path))
            .options(errors={"raise": "fail", "keep": "keep"}[on_error(name)])
            .load(str(path))
        )
        table = capture.table(template)
        if count > 5000:
            # Large tables are compared by counts and sums, smaller ones by values.
            numbers = [field.name for field in table.schema if pyarrow.types.is_integer(field.type)]
            sums = frame.select(*[f.sum(f"`{name}`") for name in numbers], f.count("*")).first()
            assert sums is not None
            values = [[one for one in table[name].to_pylist() if one is not None] for name in numbers]
            of_table = [*(sum(column) if column else None for column in values), len(table)]
            assert [None if one is None else int(one) for one in sums] == of_table, template
        else:
            assert rows_in(frame) == rows_of(table), template


def test_columns_are_chosen_by_an_option_or_a_schema(spark: SparkSession, day: tickwire.simulate.Day) -> None:
    table = expected(day)
    names = [table.column_names[-1], "pkt"]
    reader = spark.read.format("tickwire").options(**options(day))
    frame = reader.option("fields", ", ".join(names)).option("file", "true").load(str(day.capture))
    assert frame.columns == [*names, "file"]
    assert {row.file for row in frame.select("file").distinct().collect()} == {str(day.capture)}
    assert rows_in(frame.drop("file")) == rows_of(table.select(names))
    chosen = spark.read.format("tickwire").options(**options(day)).schema("pkt long")
    assert rows_in(chosen.load(str(day.capture))) == rows_of(table.select(["pkt"]))
    wrong = spark.read.format("tickwire").options(**options(day)).schema("pkt string")
    with pytest.raises(PySparkException, match="column pkt is bigint"):
        wrong.load(str(day.capture)).collect()
    for name, value, text in (
        ("fields", "Nothing", "no column Nothing"),
        ("errors", "hide", "expected fail or keep"),
        ("speed", "9", "no option speed"),
    ):
        with pytest.raises(PySparkException, match=text):
            spark.read.format("tickwire").options(**options(day)).option(name, value).load("x").schema  # noqa: B018


def test_decimals_are_doubles_by_an_option(spark: SparkSession, tmp_path: Path) -> None:
    levels = [[(1001, 5), (7, 1)], [(3, 2)], []]
    packets = [feed.quote("A", None, level) for level in levels]
    path = feed.write(tmp_path, "c.bin", feed.prefixed(packets))
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    named = {"templates": str(templates), "template": "Quote", "input_format": "u32be"}
    frame = spark.read.format("tickwire").options(**named, floats="true").load(str(path))
    assert dict(frame.dtypes)["Levels/Price"] == "double"
    found = sorted((row["pkt"], row["Levels.entry"], row["Levels/Price"]) for row in frame.collect()[:3])
    assert found == [(0, 0, 10.01), (0, 1, 0.07), (1, 0, 0.03)]
    table = tickwire.open(path, templates, input_format="u32be").table("Quote", floats=True)
    assert rows_in(frame) == rows_of(table)


def test_a_range_of_time_is_pushed_down(spark: SparkSession, day: tickwire.simulate.Day) -> None:
    table = expected(day)
    times = sorted(
        {
            comparable(value)
            for value in table["time"].cast(pyarrow.timestamp("us", tz="UTC"), safe=False).to_pylist()
        }
    )
    first, last = times[len(times) // 3], times[len(times) // 2]
    frame = spark.read.format("tickwire").options(**options(day)).load(str(day.capture))
    low, high = f.lit(f"{first}+00:00").cast("timestamp"), f.lit(f"{last}+00:00").cast("timestamp")
    index = table.column_names.index("time")
    for filtered, wanted in (
        (frame.filter((f.col("time") >= low) & (f.col("time") < high)), lambda t: first <= t < last),
        (frame.filter((f.col("time") > low) & (f.col("time") <= high)), lambda t: first < t <= last),
        (frame.filter(f.col("time") == low), lambda t: t == first),
    ):
        rows = Counter({row: count for row, count in rows_of(table).items() if wanted(row[index])})
        assert rows_in(filtered) == rows
        assert rows


@pytest.mark.skipif(not HAS_FILTERS, reason=reason("machine", "this pyspark passes no filters: 4.1 does"))
def test_times_of_filters_are_nanoseconds(day: tickwire.simulate.Day) -> None:
    from pyspark.sql.datasource import GreaterThan, LessThanOrEqual

    source = tickwire.spark.TickwireDataSource(options(day))
    reader: Any = source.reader(source.schema())
    zone = datetime.timezone.utc
    at = datetime.datetime(2024, 1, 1, tzinfo=zone)
    assert len(list(reader.pushFilters([GreaterThan(("time",), at), LessThanOrEqual(("time",), at)]))) == 2
    nanos = int(at.timestamp()) * 10**9
    assert (reader._rows.start, reader._rows.end) == (nanos + 1000, nanos + 1000)


def test_what_is_not_decoded_fails_or_is_counted(
    spark: SparkSession, day: tickwire.simulate.Day, tmp_path: Path
) -> None:
    content = day.capture.read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(content[: len(content) - 3])
    frame = spark.read.format("tickwire").options(**options(day)).load(str(path))
    with pytest.raises(PySparkException, match="cut.pcap: .*the file ends inside"):
        frame.collect()
    named = options(day, errors="keep")
    kept = spark.read.format("tickwire").options(**named).load(str(path))
    on_one = tickwire.open(path, day.templates, day.framing, "packet", on_error="keep")
    assert rows_in(kept) == rows_of(on_one.table(named["template"]))
    errors = spark.read.format("tickwire").options(**options(day, table="errors")).load(str(path)).collect()
    assert [(row.file, row.error) for row in errors] == [(str(path), str(on_one.errors[0]))]


def test_what_cannot_be_read_is_named(
    spark: SparkSession, day: tickwire.simulate.Day, tmp_path: Path
) -> None:
    reader = spark.read.format("tickwire").options(**options(day))
    with pytest.raises(PySparkException, match="named as captures are"):
        reader.load(str(tmp_path)).collect()
    with pytest.raises(PySparkException, match="No such file"):
        reader.load(str(tmp_path / "none")).collect()
    # An index of another capture is rebuilt, and so is a truncated index.
    path = tmp_path / "a.pcap"
    shutil.copy(day.capture, path)
    index = tmp_path / "a.pcap.tickwire-index"
    wanted = rows_of(expected(day))
    assert rows_in(reader.load(str(path))) == wanted
    whole = index.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"TWINDEX1 of another", b""):
        index.write_bytes(damaged)
        assert rows_in(reader.load(str(path))) == wanted
        assert index.read_bytes() == whole


@pytest.mark.skipif(os.geteuid() == 0, reason=reason("machine", "root may list every directory"))
def test_a_directory_that_cannot_be_listed_is_named(
    spark: SparkSession, day: tickwire.simulate.Day, tmp_path: Path
) -> None:
    tmp_path.chmod(0)
    with pytest.raises(PySparkException, match="ermission"):
        spark.read.format("tickwire").options(**options(day)).load(str(tmp_path)).collect()
    tmp_path.chmod(0o700)


def appear(day: tickwire.simulate.Day, directory: Path, name: str) -> None:
    shutil.copy(day.capture, directory / f"{name}.partial")
    os.replace(directory / f"{name}.partial", directory / name)


def stream_reader(day: tickwire.simulate.Day, directory: Path, **others: str) -> Any:
    source = tickwire.spark.TickwireDataSource(options(day, **others) | {"path": str(directory)})
    return source.streamReader(source.schema())


def test_offsets_of_a_stream_are_the_captures_that_are_done_and_there(
    day: tickwire.simulate.Day, tmp_path: Path
) -> None:
    for name in ("a.pcap", "b.pcap", "c.pcap"):
        appear(day, tmp_path, name)
    # Each reader stands for a restarted stream: it knows only the start offset.
    done = {"files": ["a.pcap", "c.pcap"]}
    assert stream_reader(day, tmp_path).latestOffset(done, None) == {"files": ["a.pcap", "b.pcap", "c.pcap"]}
    appear(day, tmp_path, "d.pcap")
    limited = stream_reader(day, tmp_path, max_files="1")
    assert limited.latestOffset(limited.initialOffset(), None) == {"files": ["a.pcap"]}
    end = stream_reader(day, tmp_path, max_files="1").latestOffset(done, None)
    assert end == {"files": ["a.pcap", "b.pcap", "c.pcap"]}
    paths = {part.value.path for part in stream_reader(day, tmp_path, max_files="1").partitions(done, end)}
    assert paths == {str(tmp_path / "b.pcap")}
    # A capture that was moved away is removed from the offset by the next batch.
    (tmp_path / "a.pcap").unlink()
    assert limited.latestOffset(end, None) == {"files": ["b.pcap", "c.pcap", "d.pcap"]}
    (tmp_path / "d.pcap").unlink()
    assert limited.latestOffset(end, None) == end, "no batch without a new capture"
    with pytest.raises(ValueError, match="max_files is 0"):
        stream_reader(day, tmp_path, max_files="0")


def test_a_stream_whose_start_is_unknown_is_not_limited(day: tickwire.simulate.Day, tmp_path: Path) -> None:
    """Spark before 4.2 does not pass the start offset: if an offset had only some captures, captures that were
    processed before a restart would be read again."""
    for name in ("a.pcap", "b.pcap"):
        appear(day, tmp_path, name)
    with pytest.raises(tickwire.TickwireError, match="max_files needs pyspark 4.2"):
        stream_reader(day, tmp_path, max_files="1").latestOffset()
    assert stream_reader(day, tmp_path).latestOffset() == {"files": ["a.pcap", "b.pcap"]}


@pytest.mark.parametrize("max_files", [None, "1"])
def test_a_stream_goes_on_from_its_checkpoint(
    spark: SparkSession, day: tickwire.simulate.Day, tmp_path: Path, max_files: str | None
) -> None:
    if max_files is not None and not HAS_STARTS:
        skip("machine", "this pyspark passes no starts: 4.2 does")
    limit = {} if max_files is None else {"max_files": max_files}
    directory, out = tmp_path / "captures", tmp_path / "out"
    directory.mkdir()

    def run() -> None:
        frame = (
            spark.readStream.format("tickwire")
            .options(**options(day, file="true", **limit))
            .load(str(directory))
        )
        query = (
            frame.select("pkt", "off", "file")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start(str(out))
        )
        query.processAllAvailable()
        query.stop()

    count = len(expected(day))
    seen: set[str] = set()
    for names in (["b.pcap"], [], ["a.pcap", "c.pcap"], ["d.pcap"]):
        for name in names:
            appear(day, directory, name)
        # A file that is being written is not yet a capture.
        (directory / "z.pcap.partial").write_bytes(b"half")
        run()
        seen |= {str(directory / name) for name in names}
        rows = spark.read.parquet(str(out)).groupBy("file").count().collect()
        assert {row.file: row["count"] for row in rows} == dict.fromkeys(seen, count)
