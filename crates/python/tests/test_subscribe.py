"""Samples over shared memory: received and lost ones, and killed processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import tickwire
from needs import skip


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def test_samples_come_with_all_their_members(directory: Path) -> None:
    publisher = tickwire.Publisher(["Book", "Trade"], directory=directory)
    samples = tickwire.subscribe(["Book", "Trade"], directory=directory)
    level = {"price": Decimal("101.25"), "size": 3, "orders": 2}
    publisher.publish("Book", source="s", instrument="I", kind="outright", bids=[level, level])
    book = next(samples)
    assert book.topic == "Book" and book.bids == [level, level] and book.offers == []
    assert book["instrument"] == book.to_dict()["instrument"] == "I"
    assert set(book.keys()) == set(book.to_dict())
    assert 0 < book.written_ns <= book.taken_ns
    publisher.publish("Trade", instrument="I", has_price=True, price=Decimal("-0.005"), id="7")
    trade = next(samples)
    assert (trade.price, trade.id, trade.has_size) == (Decimal("-0.005"), "7", False)
    with pytest.raises(AttributeError):
        _ = trade.nothing
    with pytest.raises(KeyError):
        _ = trade["nothing"]
    publisher.finish()
    assert list(samples) == [] and samples.lost == 0


def test_wrong_arguments_are_told(directory: Path) -> None:
    with pytest.raises(ValueError, match="topic Nothing: expected one of BookTop"):
        tickwire.subscribe("Nothing", directory=directory)
    with pytest.raises(ValueError, match="transport"):
        tickwire.subscribe("Book", "tcp", directory=directory)  # pyright: ignore[reportArgumentType]
    for spin, error in ((-1, ValueError), (float("nan"), ValueError), ("50us", TypeError)):
        with pytest.raises(error, match="expected True, False or seconds to spin before blocking"):
            tickwire.subscribe("Book", directory=directory, spin=spin)  # pyright: ignore[reportArgumentType]
    publisher = tickwire.Publisher(["Quote"], directory=directory)
    with pytest.raises(TypeError, match="has no member price"):
        publisher.publish("Quote", price=1)
    with pytest.raises(OverflowError):
        publisher.publish("Quote", Price=-1)
    with pytest.raises(ValueError, match="not one ASCII character"):
        publisher.publish("Quote", ExchangeId="NY")
    with pytest.raises(ValueError, match="topic Trade"):
        publisher.publish("Trade")
    publisher.finish()
    with pytest.raises(tickwire.TickwireError, match="finished"):
        publisher.publish("Quote")
    os.chmod(directory, 0o777)
    with pytest.raises(tickwire.TickwireError, match="nobody else may write"):
        tickwire.subscribe("Quote", "shm", directory=directory)
    os.chmod(directory, 0o700)


def test_a_late_subscriber_has_the_last_value_of_each_key(directory: Path) -> None:
    publisher = tickwire.Publisher(["BookTop"], directory=directory)
    for number in range(1, 31):
        publisher.publish("BookTop", instrument=str(number % 3), seq_num=number)
    late = tickwire.subscribe("BookTop", directory=directory)
    without = tickwire.subscribe("BookTop", directory=directory, last_values=False)
    publisher.publish("BookTop", instrument="0", seq_num=31)
    publisher.finish()
    tops = list(late)
    assert [top.seq_num for top in tops if top.is_last_value] == [28, 29, 30]
    assert [top.seq_num for top in tops if not top.is_last_value] == [31]
    assert [top.seq_num for top in without] == [31]
    assert late.lost == without.lost == 0


def test_a_subscriber_that_is_lapped_is_told_how_much_it_lost(directory: Path) -> None:
    publisher = tickwire.Publisher(["Quote"], directory=directory)
    quotes = tickwire.subscribe("Quote", directory=directory)
    for number in range(150_000):
        publisher.publish("Quote", SequenceNumber=number)
    publisher.finish()
    received = missed = 0
    for quote in quotes:
        received += 1
        missed += quote.missed
    assert missed > 0 and received + missed == 150_000
    assert quotes.lost == quotes.missing == missed


def test_a_conflating_subscriber_skips(directory: Path) -> None:
    publisher = tickwire.Publisher(["Book"], directory=directory)
    books = tickwire.subscribe("Book", directory=directory, max_rate=10)
    for number in range(1, 21):
        publisher.publish("Book", instrument=str(number % 2), seq_num=number)
    publisher.finish()
    assert [book.seq_num for book in books] == [19, 20]
    assert books.lost == 0


def test_a_publisher_of_another_type_is_a_warning(directory: Path) -> None:
    publisher = tickwire.Publisher(["Quote", "New"], directory=directory)
    [ring] = directory.glob("tNew-*.ring")
    ring.rename(ring.with_name(ring.name.replace("tNew", "tQuote", 1).replace("-1.ring", "-9.ring")))
    [waiters] = directory.glob("tNew-*.waiters")
    waiters.rename(waiters.with_name(waiters.name.replace("tNew", "tQuote", 1).replace("-1.", "-9.")))
    quotes = tickwire.subscribe("Quote", directory=directory)
    publisher.publish("Quote", OrderId=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert next(quotes).OrderId == 1
        assert quotes.poll(0.1) is None
    assert len(told) == 1 and "MiddlewareNewsBrief::New" in str(told[0].message)


def test_asyncio_tasks_that_are_cancelled_lose_nothing(directory: Path) -> None:
    publisher = tickwire.Publisher(["Quote"], directory=directory)
    quotes = tickwire.subscribe("Quote", directory=directory)

    async def run() -> list[int]:
        numbers: list[int] = []
        sending = threading.Thread(target=send)
        sending.start()
        while True:
            try:
                quote = await asyncio.wait_for(anext(quotes), 0.05)
            except asyncio.TimeoutError:
                continue
            except StopAsyncIteration:
                break
            numbers.append(quote.SequenceNumber)
        sending.join()
        return numbers

    def send() -> None:
        for number in range(30):
            publisher.publish("Quote", SequenceNumber=number)
            time.sleep(0.02)
        publisher.finish()

    assert asyncio.run(run()) == list(range(30))
    assert quotes.lost == 0


def cpu_share(spin: bool | float, directory: Path) -> float:
    """Return the CPU time per second of waiting for a sample that does not come."""
    with tickwire.subscribe("Quote", "shm", directory=directory, spin=spin) as quotes:
        begun, used = time.monotonic(), time.process_time()
        assert quotes.poll(0.5) is None
        return (time.process_time() - used) / (time.monotonic() - begun)


def test_waiting_spins_as_long_as_it_was_told_to(directory: Path) -> None:
    for spin in (False, 0, 1e-4, 0.05, True):
        publisher = tickwire.Publisher(["Quote"], directory=directory)
        with tickwire.subscribe("Quote", "shm", directory=directory, spin=spin) as quotes:
            for number in range(1000):
                publisher.publish("Quote", SequenceNumber=number)
                assert next(quotes).SequenceNumber == number
            publisher.finish()
            assert list(quotes) == [] and quotes.lost == 0
    # Other processes may also use the CPUs, so the shares are compared with each other.
    blocked, spun = cpu_share(False, directory), cpu_share(True, directory)
    assert blocked < 0.1 and spun > 3 * blocked, f"{blocked} {spun}"
    assert cpu_share(1e-4, directory) < spun / 2


def over_dds(domain: int, directory: Path) -> tickwire.Subscription:
    """Subscribe with transport auto while nothing is published."""
    quotes = tickwire.subscribe("Quote", domain=domain, directory=directory)
    if quotes.transport == "shm":
        quotes.close()
        skip("machine", "this build has no DDS")
    return quotes


def test_auto_moves_to_shared_memory_while_no_publisher_has_come(directory: Path) -> None:
    quotes = over_dds(60 + os.getpid() % 40, directory)
    assert quotes.transport == "dds" and quotes.poll(0.1) is None
    publisher = tickwire.Publisher(["Quote"], directory=directory)
    publisher.publish("Quote", SequenceNumber=1)
    until = time.monotonic() + 10
    # This sample was written before the subscriber found the publisher, so it is a last value.
    while (quote := quotes.poll(0.1)) is None:
        assert time.monotonic() < until
    assert (quote.SequenceNumber, quote.is_last_value) == (1, True)
    assert quotes.transport == "shm" and "shm" in repr(quotes)
    publisher.publish("Quote", SequenceNumber=2)
    publisher.finish()
    assert [quote.SequenceNumber for quote in quotes] == [2]
    assert quotes.lost == 0


def test_auto_warns_of_channels_that_cannot_be_read(directory: Path) -> None:
    over_dds(60 + os.getpid() % 40, directory).close()
    os.chmod(directory, 0o777)
    with pytest.warns(RuntimeWarning, match="shared memory: .*nobody else may write"):
        quotes = tickwire.subscribe("Quote", domain=60 + os.getpid() % 40, directory=directory)
    assert quotes.transport == "dds"
    quotes.close()
    os.chmod(directory, 0o700)


def test_close_ends_a_subscriber_that_waits(directory: Path) -> None:
    quotes = tickwire.subscribe("Quote", "shm", directory=directory)
    timer = threading.Timer(0.2, quotes.close)
    timer.start()
    assert list(quotes) == []
    timer.join()


READER = """
import sys, tickwire
quotes = tickwire.subscribe("Quote", directory=sys.argv[1], stay=True)
print("ready", flush=True)
for quote in quotes:
    print(quote.SequenceNumber, flush=True)
"""


def started(directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READER, str(directory)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert reader.stdout is not None and reader.stdout.readline() == "ready\n"
    return reader


def test_ctrl_c_and_kill_end_a_subscriber_and_leave_the_publisher_alone(directory: Path) -> None:
    publisher = tickwire.Publisher(["Quote"], directory=directory)
    for end in (signal.SIGINT, signal.SIGKILL):
        reader = started(directory)
        assert reader.stdout is not None and reader.stderr is not None
        publisher.publish("Quote", SequenceNumber=1)
        assert reader.stdout.readline() == "1\n"
        reader.send_signal(end)
        begun = time.monotonic()
        status = reader.wait(10)
        assert time.monotonic() - begun < 5
        assert status != 0
        if end == signal.SIGINT:
            assert "KeyboardInterrupt" in reader.stderr.read()
    quotes = tickwire.subscribe("Quote", directory=directory)
    publisher.publish("Quote", SequenceNumber=2)
    publisher.finish()
    assert [quote.SequenceNumber for quote in quotes][-1] == 2


WRITER = """
import os, signal, sys, tickwire
publisher = tickwire.Publisher(["Quote"], directory=sys.argv[1])
publisher.wait_subscribers()
publisher.publish("Quote", SequenceNumber=7)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_publisher_that_is_killed_is_gone_and_its_loss_unknown(directory: Path) -> None:
    quotes = tickwire.subscribe("Quote", "shm", directory=directory)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(directory)])
    assert next(quotes).SequenceNumber == 7
    writer.wait(10)
    until = time.monotonic() + 10
    while quotes.publishers()[0]["ended"] != "gone":
        assert time.monotonic() < until
        assert quotes.poll(0.1) is None
    assert quotes.lost is None and quotes.missing == 0
