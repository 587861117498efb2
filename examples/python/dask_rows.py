"""Rows of captures on Dask: each split is a partition of a data frame, decoded when a result is asked for.

pip install "./crates/python[pandas]" "dask[dataframe]"; python examples/python/dask_rows.py [CAPTURES TEMPLATES FRAMING TEMPLATE]
"""

import sys
import tempfile

import dask.dataframe
import pandas
import pyarrow
import tickwire.simulate


def decoded(split: tickwire.Split, template: str) -> pandas.DataFrame:
    return pyarrow.table(split.batches(template)).to_pandas()


def rows(captures: str, templates: str, framing: str, template: str) -> dask.dataframe.DataFrame:
    # A capture is split only if its packets are independent, as the framing says: "cme" does, so does "none,reset=packet".
    splits = tickwire.plan(captures, templates, framing, split_bytes=1 << 20)
    columns = pyarrow.RecordBatchReader.from_stream(splits[0].batches(template)).schema
    return dask.dataframe.from_map(decoded, splits, template=template, meta=columns.empty_table().to_pandas())


def main(captures: str, templates: str, framing: str, template: str) -> None:
    data = rows(captures, templates, framing, template)
    # With a dask.distributed.Client the same code runs on its workers.
    count, last = dask.compute(data.shape[0], data["pkt"].max(), scheduler="processes", num_workers=2)
    print(f"{count} rows, the last packet is {last}")


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            day = tickwire.simulate.day(folder, packets=20_000)
            names = tickwire.open(day.capture, day.templates, day.framing).counts()
            main(folder, str(day.templates), day.framing, max(names, key=lambda name: names[name]))
