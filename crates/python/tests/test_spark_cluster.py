"""A Spark cluster that loses an executor returns the same rows as one machine."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pyarrow
import tickwire
import tickwire.simulate
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from test_spark import options, session


def executors() -> list[int]:
    """Processes of Spark executors started, indirectly, by this process."""
    parents: dict[int, int] = {}
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except (FileNotFoundError, ProcessLookupError):
            continue

    def is_ours(process: int) -> bool:
        while process > 1:
            process = parents.get(process, 0)
            if process == os.getpid():
                return True
        return False

    return [process for process in found if is_ours(process)]


def kill_midway(spark: SparkSession, killed: list[int]) -> None:
    """Kill an executor when some tasks of a stage are done and most are not."""
    tracker = spark.sparkContext.statusTracker()
    end = time.monotonic() + 100
    while time.monotonic() < end:
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and 3 <= info.numCompletedTasks < info.numTasks // 2:
                killed.append(executors()[0])
                os.kill(killed[0], signal.SIGKILL)
                return
        time.sleep(0.01)


def test_an_executor_that_is_killed_costs_no_row(tmp_path: Path) -> None:
    day = tickwire.simulate.day(tmp_path, packets=60_000, instruments=5)
    named = options(day, split_bytes="100000")
    spark = session("local-cluster[2,1,1024]")
    try:
        frame = spark.read.format("tickwire").options(**named).load(str(day.capture))
        assert frame.rdd.getNumPartitions() > 30
        killed: list[int] = []
        killer = threading.Thread(target=kill_midway, args=(spark, killed))
        killer.start()
        # Compares each row, not only their number: the hash covers all columns.
        hashes = f.xxhash64(*[f.col(f"`{name}`") for name in frame.columns])
        rows = frame.select("pkt", "off", hashes.alias("hash")).toPandas()
        killer.join()
        assert killed, "no executor was killed midway"
        assert not Path(f"/proc/{killed[0]}").exists()
        again = frame.select("pkt", "off", hashes.alias("hash")).toPandas()
    finally:
        spark.stop()
    order = ["pkt", "off", "hash"]
    rows, again = (one.sort_values(order).reset_index(drop=True) for one in (rows, again))
    assert rows.equals(again)
    capture = tickwire.open(day.capture, day.templates, day.framing, "packet")
    table = capture.table(named["template"]).select(["pkt", "off"])
    on_one = table.cast(pyarrow.schema([("pkt", "int64"), ("off", "int64")])).to_pandas()
    assert rows[["pkt", "off"]].equals(on_one.sort_values(["pkt", "off"]).reset_index(drop=True))
