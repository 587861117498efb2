"""Ctrl-C ends long work, even if it yields no rows and no messages."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import feed
import pyarrow
import pytest
import tickwire
from tickwire import fix, opra

# Number of errors in each file.
COUNT = 1_000_000


class Counting(Protocol):
    @property
    def error_count(self) -> int: ...


def interrupted(counting: Counting, work: Callable[[], object]) -> int:
    """Run the work, send Ctrl-C once it is in progress, and return the number of errors counted
    until it ended."""

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


def test_errors_of_a_split(tmp_path: Path) -> None:
    """Errors are not counted while they become rows, so that Ctrl-C comes after a time."""
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    path = feed.write(tmp_path, "c.bin", feed.prefixed([bytes([0xC0, 0x89])]) * COUNT)
    [split] = tickwire.plan(path, templates, input_format="u32be")
    errors = split.errors("Quote")
    start = time.monotonic()
    assert pyarrow.table(errors.collect()).num_rows == COUNT
    whole = time.monotonic() - start
    pressing = threading.Timer(whole / 10, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        errors.collect()
    assert time.monotonic() - start < 0.7 * whole


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


@pytest.mark.parametrize("kind", ["fast", "opra", "fix"])
def test_a_signal_handler_cannot_take_from_the_iterator_that_it_interrupts(tmp_path: Path, kind: str) -> None:
    iterator, counting = endless(tmp_path, kind)
    errors: list[str] = []

    def take(*_: object) -> None:
        try:
            next(iterator)
        except RuntimeError as error:
            errors.append(str(error))
        raise InterruptedError

    def press() -> None:
        while counting.error_count == 0:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, take)
    try:
        pressing = threading.Thread(target=press)
        pressing.start()
        with pytest.raises(InterruptedError):
            next(iterator)
        pressing.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(errors) == 1 and "reentrant call" in errors[0], errors
    assert counting.error_count < COUNT
    # The iterator continues after the interruption.
    assert next(iterator, "the end") == "the end"
    assert counting.error_count == COUNT


def endless(directory: Path, kind: str) -> tuple[Iterator[object], Counting]:
    """Messages of a file in which nothing can be decoded, and the object that counts its errors."""
    if kind == "fast":
        templates = feed.write(directory, "t.xml", feed.TEMPLATES)
        path = feed.write(directory, "c.bin", feed.prefixed([bytes([0xC0, 0x89])]) * COUNT)
        capture = tickwire.open(path, templates, reset="packet", input_format="u32be", on_error="keep")
        return iter(capture), capture
    if kind == "opra":
        path = feed.write(directory, "c.bin", feed.prefixed([b"no packet of OPRA"]) * COUNT)
        trace = opra.open(path, "u32be", on_error="keep")
        return iter(trace), trace
    bad = b"8=FIX.4.4|9=22|35=D|55=MSFT|44=10.50|10=099|\n"
    log = fix.open(feed.write(directory, "orders.log", bad * COUNT), on_error="keep")
    return iter(log), log
