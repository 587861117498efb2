"""Ctrl-C ends what takes long, also where no row and no message comes of it."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import feed
import pytest
import tickwire
from tickwire import fix, opra

# What is wrong in each file: errors are counted while it is read.
COUNT = 1_000_000


class Counting(Protocol):
    @property
    def error_count(self) -> int: ...


def interrupted(counting: Counting, work: Callable[[], object]) -> int:
    """Do the work, send Ctrl-C once it goes on, and return how many errors were counted until it ended."""

    def press() -> None:
        while counting.error_count == 0:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    pressing.join()
    return counting.error_count


@pytest.mark.parametrize("kind", ["messages", "counts", "table", "to_polars", "to_parquet"])
def test_fast(tmp_path: Path, kind: str) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    unknown = bytes([0xC0, 0x89])
    path = feed.write(tmp_path, "c.bin", feed.prefixed([unknown]) * COUNT)
    capture = tickwire.open(path, templates, input_format="u32be", on_error="keep")
    works: dict[str, Callable[[], object]] = {
        "messages": lambda: next(iter(capture)),
        "counts": capture.counts,
        "table": lambda: capture.table("Quote"),
        "to_polars": lambda: capture.to_polars("Quote"),
        "to_parquet": lambda: capture.to_parquet(tmp_path / "x.parquet", "Quote"),
    }
    assert interrupted(capture, works[kind]) < COUNT
    assert not list(tmp_path.glob("x.parquet*"))


@pytest.mark.parametrize("kind", ["messages", "counts", "table"])
def test_opra(tmp_path: Path, kind: str) -> None:
    path = feed.write(tmp_path, "c.bin", feed.prefixed([b"no packet of OPRA"]) * COUNT)
    capture = opra.open(path, "u32be", on_error="keep")
    works: dict[str, Callable[[], object]] = {
        "messages": lambda: next(iter(capture)),
        "counts": capture.counts,
        "table": lambda: capture.table("quote"),
    }
    assert interrupted(capture, works[kind]) < COUNT


@pytest.mark.parametrize("kind", ["messages", "table"])
def test_fix(tmp_path: Path, kind: str) -> None:
    good = b"8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=098|\n"
    path = feed.write(tmp_path, "orders.log", good + good.replace(b"10=098", b"10=099") * COUNT)
    log = fix.open(path, on_error="keep")
    works: dict[str, Callable[[], object]] = {
        "messages": lambda: list(log),
        "table": log.batches("D", ["Symbol"]).collect,
    }
    assert interrupted(log, works[kind]) < COUNT
