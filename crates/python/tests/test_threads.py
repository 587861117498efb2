"""Other threads run while Rust works."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import tickwire
from tickwire import fix, opra, simulate

# How often the main thread must run meanwhile; with the GIL held it would run once or twice.
TICKS_MIN = 8


def ticks_during(work: Callable[[], object]) -> int:
    """Count how often this thread runs, a millisecond apart, while another one does the work."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        ticks = 0
        while not working.done():
            time.sleep(0.001)
            ticks += 1
        working.result()
    return ticks


@pytest.mark.parametrize("kind", ["table", "to_polars", "counts", "to_parquet"])
def test_fast(tmp_path: Path, kind: str) -> None:
    day = simulate.day(tmp_path, packets=20_000)
    capture = tickwire.open(day.capture, day.templates, framing="cme", on_error="keep")
    template = max(capture.counts().items(), key=lambda count: count[1])[0]
    works: dict[str, Callable[[], object]] = {
        "table": lambda: capture.table(template),
        "to_polars": lambda: capture.to_polars(template),
        "counts": capture.counts,
        "to_parquet": lambda: capture.to_parquet(tmp_path / "x.parquet", template),
    }
    assert ticks_during(works[kind]) >= TICKS_MIN


def test_fix_logs(tmp_path: Path) -> None:
    line = b"8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=098|\n"
    path = tmp_path / "orders.log"
    path.write_bytes(line * 20_000)
    log = fix.open(path)
    assert ticks_during(lambda: log.table("D")) >= TICKS_MIN
    assert ticks_during(lambda: log.to_parquet(tmp_path / "x.parquet", "D")) >= TICKS_MIN


def test_opra(tmp_path: Path) -> None:
    opra.simulate(tmp_path / "trace.bin", 60_000)
    capture = opra.open(tmp_path / "trace.bin")
    assert ticks_during(lambda: capture.table("quote")) >= TICKS_MIN
    assert ticks_during(lambda: capture.to_parquet(tmp_path / "x.parquet", "quote")) >= TICKS_MIN


def test_the_simulated_exchange(tmp_path: Path) -> None:
    assert ticks_during(lambda: simulate.day(tmp_path, packets=20_000)) >= TICKS_MIN
    assert ticks_during(lambda: opra.simulate(tmp_path / "trace.bin", 60_000)) >= TICKS_MIN
