"""Measures what Python and polars add to Rust for `open(...).to_polars(template)`, like for like.

    python benches/overhead.py --capture FILE --templates FILE --framing NAME [--template NAME]

Both tasks open the capture, decode all messages and keep the rows of the same template, with strings as views:

- ``Rust``: `Batches.collect(views=True)`, one call of the Rust module, which releases the GIL and keeps all batches
- ``to_polars``: the same batches as a data frame of polars

Each measurement is a process of its own, so that both pay for the memory that they use first; ``--calls`` measures
later calls of a process too. The tasks alternate. The last line is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

import polars
import tickwire

WORKS = ("Rust", "to_polars")


def once(args: argparse.Namespace) -> tuple[float, int]:
    """Seconds and rows of one call."""
    start = time.perf_counter()
    capture = tickwire.open(args.capture, args.templates, args.framing)
    if args.work == "Rust":
        kept = capture.batches(args.template).collect(views=True)
        taken = time.perf_counter() - start
        return taken, len(polars.DataFrame(kept))
    frame = capture.to_polars(args.template)
    return time.perf_counter() - start, len(frame)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--capture", required=True)
    parser.add_argument("--templates", required=True)
    parser.add_argument("--framing", default="none")
    parser.add_argument("--template", help="by default that with the most messages")
    parser.add_argument("--repeat", type=int, default=7, help="processes for each work")
    parser.add_argument("--calls", type=int, default=3, help="calls in a process")
    parser.add_argument(
        "--work", choices=WORKS, help="runs in this process and prints the times of its calls"
    )
    args = parser.parse_args()
    if args.work is not None:
        for _ in range(args.calls):
            print(*once(args))
        return
    if args.template is None:
        counts = tickwire.open(args.capture, args.templates, args.framing).counts()
        args.template = max(counts, key=lambda name: counts[name])
    times: dict[str, list[list[float]]] = {work: [] for work in WORKS}
    rows: set[int] = set()
    for _ in range(args.repeat):
        for work in WORKS:
            # The last of repeated options counts.
            command = [sys.executable, __file__, *sys.argv[1:], "--template", args.template]
            command += ["--work", work]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            lines = [line.split() for line in told.splitlines()]
            rows |= {int(count) for _, count in lines}
            times[work].append([float(taken) for taken, _ in lines])
    (count,) = rows
    print(f"{count} rows of {args.template}; ms and ns per row, medians of {args.repeat} processes")
    for name, calls in (("first call", slice(0, 1)), ("later calls", slice(1, None))):
        medians = []
        for work in WORKS:
            taken = [seconds for process in times[work] for seconds in process[calls]]
            if taken:
                medians.append(statistics.median(taken))
                print(f"{name:12} {work:10} {medians[-1] * 1e3:9.1f} {medians[-1] * 1e9 / count:7.1f}")
        if medians:
            print(f"{name:12} {'ratio':10} {medians[1] / medians[0]:9.3f}")


if __name__ == "__main__":
    main()
