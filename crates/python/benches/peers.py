"""Compares Tickwire with other packages on the same messages, in one process, with alternating runs.

    pip install simplefix quickfix databento-dbn pyarrow # missing packages are skipped
    python benches/peers.py [--program tickwire] [--fastlib PROGRAM --capture FILE --templates FILE --reset WHEN]

The values that the packages read are compared before anything is measured. Every row says what the package
does, because no two do exactly the same. A figure is the fastest of the rounds. ``fastlib`` is the program
of peers/fastlib, which decodes the given capture (length-prefixed packets) and measures itself.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow
import tickwire
import tickwire.simulate
from tickwire import fix

SOH = "\x01"


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out")
        return None


def measure(rounds: int, per: int, works: dict[str, Callable[[], object]]) -> None:
    least: dict[str, float] = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            least[name] = min(least[name], time.perf_counter() - start)
    for name, seconds in least.items():
        print(f"  {name:78} {seconds / per * 1e9:10,.0f}")


def order(number: int) -> str:
    fields = f"35=D|49=CLIENT|56=EXCHANGE|34={number}|52=20260105-12:30:00.000|11=o{number}|55=MSFT|54={1 + number % 2}"
    fields += (
        f"|60=20260105-12:30:00.000|38={100 + number % 900}|40=2|44={100 + number % 50}.{number % 100:02}|"
    )
    body = fields.replace("|", SOH)
    text = f"8=FIX.4.4{SOH}9={len(body)}{SOH}{body}"
    return f"{text}10={sum(text.encode()) % 256:03}{SOH}"


# Fields read from each order: OrderQty and Price.
Read = list[tuple[str, str]]


def fix_messages(rounds: int, count: int, folder: pathlib.Path) -> None:
    texts = [order(number) for number in range(1, count + 1)]
    path = folder / "orders.log"
    path.write_text("".join(text + "\n" for text in texts))
    expected = [
        (str(100 + number % 900), f"{100 + number % 50}.{number % 100:02}") for number in range(1, count + 1)
    ]

    def by_tickwire() -> Read:
        found = []
        for text in texts:
            message = fix.parse(text)
            found.append((str(message.OrderQty), str(message.Price)))
        return found

    def log_by_tickwire() -> Read:
        return [(str(message.OrderQty), str(message.Price)) for message in fix.open(path)]

    def columns() -> pyarrow.Table:
        return fix.open(path).table("D", ["OrderQty", "Price"])

    works: dict[str, Callable[[], object]] = {
        "tickwire.fix.parse: BodyLength and CheckSum checked, two fields as numbers": by_tickwire,
        "tickwire.fix.open: the log's messages found and checked, two fields as numbers": log_by_tickwire,
        "tickwire.fix.open(..).table: the same as columns of decimals": columns,
    }
    simplefix = optional("simplefix")
    if simplefix is not None:

        def by_simplefix() -> Read:
            parser, found = simplefix.FixParser(), []
            for text in texts:
                parser.append_buffer(text.encode())
                message = parser.get_message()
                found.append((message.get(38).decode(), message.get(44).decode()))
            return found

        def log_by_simplefix() -> Read:
            parser, found = simplefix.FixParser(), []
            with path.open("rb") as file:
                for line in file:
                    parser.append_buffer(line.rstrip(b"\n"))
                    message = parser.get_message()
                    found.append((message.get(38).decode(), message.get(44).decode()))
            return found

        works["simplefix: cut into tags and values, nothing checked, two fields as bytes"] = by_simplefix
        works["simplefix: lines of the log, cut, nothing checked, two fields as bytes"] = log_by_simplefix
    quickfix = optional("quickfix")
    if quickfix is not None:
        quantity, price = quickfix.OrderQty(), quickfix.Price()

        def read_by_quickfix(text: str) -> tuple[str, str]:
            # Checks BodyLength and CheckSum.
            message = quickfix.Message(text, True)
            message.getField(quantity)
            message.getField(price)
            return quantity.getString(), price.getString()

        def by_quickfix() -> Read:
            return [read_by_quickfix(text) for text in texts]

        def log_by_quickfix() -> Read:
            with path.open(encoding="latin-1", newline="\n") as file:
                return [read_by_quickfix(line.rstrip("\n")) for line in file]

        works["quickfix.Message: BodyLength and CheckSum checked, two fields as text"] = by_quickfix
        works["quickfix.Message: lines of the log, checked, two fields as text"] = log_by_quickfix
    for name, work in works.items():
        found = work()
        if isinstance(found, pyarrow.Table):
            quantities, prices = found["OrderQty"].to_pylist(), found["Price"].to_pylist()
            pairs = zip(quantities, prices, strict=True)
            found = [(f"{quantity:.0f}", f"{price:.2f}") for quantity, price in pairs]
        assert found == expected, name
    print(f"FIX: {count:,} NewOrderSingle of {path.stat().st_size / count:.0f} bytes, nanoseconds a message")
    measure(rounds, count, works)


def records(rounds: int, given: argparse.Namespace, folder: pathlib.Path) -> None:
    """Instrument, price and size of the entries of a simulated day, as FAST and as DBN records."""
    day = tickwire.simulate.day(folder / "day", packets=given.packets)
    template = "MDIncrementalRefresh"

    def capture(wanted: list[str] | None = None) -> tickwire.Capture:
        return tickwire.open(day.capture, day.templates, day.framing, fields=wanted)

    fields = [f"MDEntries/{name}" for name in ("SecurityID", "MDEntryPx", "MDEntrySize")]
    table = capture(fields).table(template)
    instruments = table[fields[0]].to_pylist()
    mantissas, exponents = (
        table[f"{fields[1]}.mantissa"].to_pylist(),
        table[f"{fields[1]}.exponent"].to_pylist(),
    )
    sizes = [size or 0 for size in table[fields[2]].to_pylist()]
    # DBN prices are in units of 1e-9, with a reserved number for an absent price.
    prices = [
        2**63 - 1 if mantissa is None else mantissa * 10 ** (9 + exponent)
        for mantissa, exponent in zip(mantissas, exponents, strict=True)
    ]
    expected = list(zip(instruments, prices, sizes, strict=True))
    parquet = folder / "day.parquet"
    works: dict[str, Callable[[], object]] = {
        "tickwire: FAST to Arrow columns, three fields": lambda: capture(fields).table(template),
        "tickwire: FAST to Arrow columns, all fields": lambda: capture().table(template),
        "tickwire: FAST to a Parquet file (zstd 1), all fields": lambda: capture().to_parquet(
            parquet, template
        ),
        "tickwire: FAST to objects of messages, no field read": lambda: sum(1 for _ in capture()),
    }
    if given.program is not None:
        for form in ("csv", "jsonl"):
            command = [given.program, "decode", str(day.capture), "-t", str(day.templates)]
            command += [
                "--framing",
                day.framing,
                "--format",
                form,
                "-o",
                str(folder / f"day.{form}"),
                "--force",
            ]
            work = functools.partial(subprocess.run, command, check=True, capture_output=True)
            works[f"tickwire decode: FAST to a file of {form}, all fields"] = work
    dbn = optional("databento_dbn")
    if dbn is not None:
        works |= of_dbn(dbn, expected, folder)
    print(f"records: {len(expected):,} entries, nanoseconds an entry")
    measure(rounds, len(expected), works)


def of_dbn(
    dbn: Any, expected: list[tuple[int, int, int]], folder: pathlib.Path
) -> dict[str, Callable[[], object]]:
    metadata = dbn.Metadata(
        dataset="GLBX.MDP3",
        start=0,
        stype_in=dbn.SType.RAW_SYMBOL,
        stype_out=dbn.SType.INSTRUMENT_ID,
        schema=dbn.Schema.MBO,
    )
    add, bid = dbn.Action.ADD, dbn.Side.BID
    made = [
        bytes(
            dbn.MBOMsg(1, instrument, 1 + number, number, price, size, add, bid, 1 + number, sequence=number)
        )
        for number, (instrument, price, size) in enumerate(expected)
    ]
    data = bytes(metadata) + b"".join(made)

    def objects() -> list[Any]:
        decoder = dbn.DBNDecoder()
        decoder.write(data)
        return decoder.decode()[1:]

    read = [(record.instrument_id, record.price, record.size) for record in objects()]
    assert read == expected, "dbn"

    def transcode(encoding: Any, compression: Any, name: str) -> None:
        with (folder / name).open("wb") as file:
            transcoder = dbn.Transcoder(file, encoding, compression, map_symbols=False)
            transcoder.write(data)
            transcoder.finish()

    return {
        f"dbn: DBN ({len(made[0])} bytes a record) to objects of Python": objects,
        "dbn: DBN to DBN with zstd": lambda: transcode(dbn.Encoding.DBN, dbn.Compression.ZSTD, "day.dbn.zst"),
        "dbn: DBN to a file of CSV": lambda: transcode(dbn.Encoding.CSV, dbn.Compression.NONE, "dbn.csv"),
        "dbn: DBN to a file of JSON": lambda: transcode(dbn.Encoding.JSON, dbn.Compression.NONE, "dbn.json"),
    }


def fast(rounds: int, given: argparse.Namespace) -> None:
    command = [given.fastlib, given.templates, given.capture, "0", given.reset, "2"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    opened = tickwire.open(given.capture, given.templates, "none", given.reset, "u32be")
    counts = opened.counts()
    messages, template = sum(counts.values()), max(counts, key=lambda name: counts[name])
    assert messages == told["messages"], f"fastlib has {told['messages']} messages, Tickwire {messages}"
    print(f"FAST: {messages:,} messages, nanoseconds a message")
    print(f"  {'fastlib: decoded by its message factory, nothing kept':78} {told['ns_per_message']:10,.0f}")

    def batches() -> int:
        reader = pyarrow.RecordBatchReader.from_stream(opened.batches(template))
        return sum(batch.num_rows for batch in reader)

    measure(
        rounds,
        messages,
        {
            "tickwire: decoded and counted": opened.counts,
            f"tickwire: decoded to Arrow batches, {batches() / counts[template]:.1f} rows a message": batches,
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fastlib", help="the program of peers/fastlib")
    parser.add_argument("--capture", help="what fastlib decodes")
    parser.add_argument("--templates", help="its templates")
    parser.add_argument("--reset", default="packet", help="when its dictionaries are emptied")
    parser.add_argument("--program", help="the command tickwire, for its files of text")
    parser.add_argument("--messages", type=int, default=100_000, help="of FIX")
    parser.add_argument("--packets", type=int, default=100_000, help="of the simulated day")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fix_messages(given.rounds, given.messages, pathlib.Path(folder))
        records(given.rounds, given, pathlib.Path(folder))
    if given.fastlib is not None:
        fast(given.rounds, given)


if __name__ == "__main__":
    main()
