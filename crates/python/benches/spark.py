"""Rows per second through Spark, with one core and with two, compared with the same work without
Spark.

    python benches/spark.py [--capture FILE --templates FILE --framing NAME --template NAME] [--repeat 3]

Without a capture, a day of the simulated exchange is written and read. Packets must be independent
(``reset=packet``), so that the capture can be split. Spark sums two columns of every row; no row
becomes a Python object. Each figure is the best of the runs, without the first run of a session,
which starts Java and Python.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow
import pyarrow.types
import tickwire
import tickwire.dataset
import tickwire.simulate
import tickwire.spark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType


def best(runs: int, work: Callable[[], int]) -> tuple[int, float]:
    rows, times = 0, []
    for _ in range(runs):
        start = time.perf_counter()
        rows = work()
        times.append(time.perf_counter() - start)
    return rows, min(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capture")
    parser.add_argument("--templates")
    parser.add_argument("--framing", default="none")
    parser.add_argument("--template")
    parser.add_argument("--input-format")
    parser.add_argument("--packets", type=int, default=1_000_000, help="of the day that is simulated")
    parser.add_argument("--split-bytes", type=int, default=8 << 20)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.capture is None:
            day = tickwire.simulate.day(folder, packets=given.packets)
            given.capture, given.templates = str(day.capture), str(day.templates)
            given.framing = day.framing
        measure(given)


def measure(given: argparse.Namespace) -> None:
    capture = tickwire.open(
        given.capture, given.templates, given.framing, "packet", given.input_format, on_error="keep"
    )
    if given.template is None:
        counts = capture.counts()
        given.template = max(counts, key=lambda name: counts[name])
    size = os.path.getsize(given.capture)

    def report(what: str, rows: int, seconds: float) -> None:
        rates = f"{rows / seconds / 1e6:6.2f} million rows/s  {size / seconds / 1e6:7.1f} MB/s"
        print(f"{what:32} {rows:>10,} rows  {seconds:7.3f} s  {rates}", flush=True)

    def plan() -> int:
        return len(splits())

    def splits() -> list[tickwire.Split]:
        return tickwire.plan(
            given.capture,
            given.templates,
            given.framing,
            "packet",
            given.input_format,
            split_bytes=given.split_bytes,
        )

    index = given.capture + ".tickwire-index"
    if os.path.exists(index):
        os.unlink(index)
    _, seconds = best(1, plan)
    print(f"plan, without index: {seconds:.3f} s, {size / seconds / 1e6:,.0f} MB/s")
    _, seconds = best(given.repeat, plan)
    print(f"plan, with index: {seconds * 1e3:.1f} ms, {len(splits())} splits")

    def batches() -> int:
        taken = (pyarrow.RecordBatchReader.from_stream(split.batches(given.template)) for split in splits())
        return sum(batch.num_rows for reader in taken for batch in reader)

    report("Arrow batches, one thread", *best(given.repeat, batches))

    # Without the header columns, and constants, which are dictionaries of one word.
    schema = pyarrow.RecordBatchReader.from_stream(splits()[0].batches(given.template)).schema
    fields = [field.name for field in schema if not pyarrow.types.is_dictionary(field.type)]
    fields = [name for name in fields if name not in tickwire.dataset._PLACE]
    print(f"{len(schema.names)} columns, of which {len(fields)} of fields without constants")

    for cores in (1, 2):
        spark = session(cores)
        reader = spark.read.format("tickwire").options(
            templates=given.templates,
            template=given.template,
            framing=given.framing,
            reset="packet",
            split_bytes=given.split_bytes,
        )
        if given.input_format is not None:
            reader = reader.option("input_format", given.input_format)
        frame = reader.load(given.capture)
        numbers = [
            field.name for field in frame.schema if field.dataType.simpleString() in ("int", "bigint")
        ][-2:]

        chosen = (
            ("all columns", frame.columns),
            ("fields without constants", fields),
            ("two columns", numbers),
        )
        for what, columns in chosen:
            wanted = StructType([field for field in frame.schema if field.name in {*columns, *numbers}])
            rows = reader.schema(wanted).load(given.capture)
            sums = rows.agg(f.count("*"), *[f.sum(f"`{name}`") for name in numbers])

            def work(sums: DataFrame = sums) -> int:
                first = sums.first()
                assert first is not None
                return int(first[0])

            work()
            report(f"Spark local[{cores}], {what}", *best(given.repeat, work))
        spark.stop()


def session(cores: int) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.Builder().master(f"local[{cores}]").appName("tickwire")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    tickwire.spark.register(spark)
    return spark


if __name__ == "__main__":
    main()
