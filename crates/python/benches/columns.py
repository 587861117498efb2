"""Compares converting a capture to Arrow columns in Python and in Rust, and with two threads and
one.

    cargo build --release -p tickwire-arrow --example capture_columns
    python benches/columns.py --capture FILE --templates FILE --framing NAME \
        --rust ../../target/release/examples/capture_columns

The capture should have messages of a single template. Runs alternate; each figure is their median.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import threading
import time
from collections.abc import Callable

import pyarrow
import tickwire


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def together(works: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capture", required=True)
    parser.add_argument("--templates", required=True)
    parser.add_argument("--framing", default="none")
    parser.add_argument("--template", help="unless the capture has messages of one alone")
    parser.add_argument("--rust", help="the program capture_columns")
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    first = tickwire.open(args.capture, args.templates, args.framing)
    template = args.template or max(first.counts().items(), key=lambda count: count[1])[0]
    rows = len(first.to_polars(template))

    def to_polars() -> object:
        return tickwire.open(args.capture, args.templates, args.framing).to_polars(template)

    def to_table() -> object:
        return tickwire.open(args.capture, args.templates, args.framing).table(template)

    def batches() -> object:
        opened = tickwire.open(args.capture, args.templates, args.framing)
        reader = pyarrow.RecordBatchReader.from_stream(opened.batches(template))
        return sum(batch.num_rows for batch in reader)

    works: dict[str, Callable[[], object]] = {
        "batches, each dropped": batches,
        "to_polars": to_polars,
        "table (pyarrow)": to_table,
        "batches twice, two threads": lambda: together([batches, batches]),
        "table twice, two threads": lambda: together([to_table, to_table]),
        "to_polars twice, two threads": lambda: together([to_polars, to_polars]),
    }
    programs = {"Rust, each dropped": [], "Rust, all kept": ["keep"]}
    times: dict[str, list[float]] = {name: [] for name in [*works, *programs]}
    for _ in range(args.repeat):
        for name, work in works.items():
            times[name].append(seconds_of(work))
        for name, more in programs.items() if args.rust else ():
            command = [args.rust, args.capture, args.templates, args.framing, *more]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            # Without the start-up time of the process.
            times[name].append(float(told.rsplit(" in ", 1)[1].split()[0]))
    for name, taken in times.items():
        if taken:
            median = statistics.median(taken)
            print(f"{name:30} {median * 1e3:9.1f} ms  {rows / median / 1e6:6.2f} million rows/s")


if __name__ == "__main__":
    main()
