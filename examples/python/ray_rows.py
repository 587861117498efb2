"""Rows of captures on Ray: each split is decoded by a task, and the blocks are a data set of Ray.

pip install "./crates/python[arrow]" "ray[data]"; python examples/python/ray_rows.py [CAPTURES TEMPLATES FRAMING TEMPLATE]
"""

import sys
import tempfile

import pyarrow
import ray
import ray.data
import tickwire.simulate


@ray.remote
def decoded(split: tickwire.Split, template: str) -> pyarrow.Table:
    return pyarrow.table(split.batches(template))


def rows(captures: str, templates: str, framing: str, template: str) -> "ray.data.Dataset":
    # A capture is split only if its packets are independent, as the framing says: "cme" does, so does "none,reset=packet".
    splits = tickwire.plan(captures, templates, framing, split_bytes=1 << 20)
    return ray.data.from_arrow_refs([decoded.remote(split, template) for split in splits])


def main(captures: str, templates: str, framing: str, template: str) -> None:
    # For a cluster pass its address to ray.init(). Here everything runs on this machine.
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    data = rows(captures, templates, framing, template)
    print(f"{data.count()} rows, the last packet is {data.max('pkt')}")
    ray.shutdown()


if __name__ == "__main__":
    if len(sys.argv) == 5:
        main(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            day = tickwire.simulate.day(folder, packets=20_000)
            names = tickwire.open(day.capture, day.templates, day.framing).counts()
            main(folder, str(day.templates), day.framing, max(names, key=lambda name: names[name]))
