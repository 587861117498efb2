"""OPRA captures: messages, and columns by category."""

import ast
import collections
import decimal
import json
import pathlib

import feed
import pytest
import tickwire
from needs import skip
from tickwire import opra

SHARED = pathlib.Path(__file__).parents[4] / "shared" / "corpus" / "opra"
PLACE = ["pkt", "off", "time", "source", "destination"]


@pytest.fixture(params=["2.0", "1.03"])
def trace(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    path = tmp_path / "trace.bin"
    opra.simulate(path, 3000, seed=7, version=request.param)
    return path


def rows_are_messages(capture: opra.Capture, categories: list[str]) -> None:
    """Check that tables have the fields of the messages, and nothing else."""
    of_category: dict[str, list[opra.Message]] = {category: [] for category in categories}
    for message in capture:
        if message.category in of_category:
            of_category[message.category].append(message)
    for category, messages in of_category.items():
        table = capture.table(category)
        assert table.column_names[:5] == PLACE
        rows = iter(table.to_pylist())
        for message in messages:
            names = message.keys()
            fields = {name: message[name] for name in names}
            entries = fields.pop("groups", None) or [{}]
            assert isinstance(entries, list)
            del fields["cat"]
            for entry in entries:
                row = next(rows)
                assert (row["pkt"], row["off"]) == (message.packet, message.offset)
                seen = fields | entry
                assert {name: row[name] for name in seen} == seen, (category, message)
                others = set(row) - set(seen) - {*PLACE, "cat", "message_time", "entry"}
                assert all(row[name] is None for name in others), (row, others)
        assert next(rows, None) is None


def test_each_row_is_a_message(trace: pathlib.Path) -> None:
    capture = opra.open(trace)
    counts = capture.counts()
    assert sum(counts.values()) == sum(1 for _ in capture) >= 3000
    assert set(counts) >= {"quote", "last_sale", "open_interest"}
    rows_are_messages(capture, list(counts))


def test_dictionaries_are_json_of_the_wire(trace: pathlib.Path) -> None:
    quotes = [message for message in opra.open(trace) if message.category == "quote"]
    for quote in quotes[:200]:
        raw = quote.to_dict()
        assert raw["cat"] == "k"
        assert raw["seq"] == quote.seq
        assert raw["symbol"] == quote.symbol
        assert json.loads(json.dumps(raw)) == raw
    priced = next(quote for quote in quotes if quote.to_dict().get("bid"))
    bid, raw = priced.bid, priced.to_dict()
    assert isinstance(bid, decimal.Decimal)
    assert bid.scaleb(-int(str(bid.as_tuple().exponent))) == raw["bid"]


def test_columns_are_chosen_and_written(trace: pathlib.Path, tmp_path: pathlib.Path) -> None:
    import polars
    import pyarrow.parquet

    capture = opra.open(trace)
    table = capture.table("k", ["symbol", "bid"], floats=True)
    assert table.column_names == [*PLACE, "symbol", "bid"]
    assert str(table["bid"].type) == "double"
    frame = capture.to_polars("quote", ["symbol"])
    assert isinstance(frame, polars.DataFrame) and frame["symbol"].to_list() == table["symbol"].to_pylist()
    assert len(capture.to_pandas("quote")) == len(table)
    capture.to_parquet(tmp_path / "quote.parquet", "quote")
    assert pyarrow.parquet.read_table(tmp_path / "quote.parquet").equals(capture.table("quote"))


def test_what_does_not_decode_is_told(tmp_path: pathlib.Path) -> None:
    whole, broken = tmp_path / "whole.bin", tmp_path / "broken.bin"
    opra.simulate(whole, 500, seed=3)
    data = bytearray(whole.read_bytes())
    length = int.from_bytes(data[:4], "big")
    # Overwrites the end byte of the first packet.
    data[3 + length] = 0x7F
    broken.write_bytes(data)
    capture = opra.open(broken)
    messages = iter(capture)
    seen = []
    with pytest.raises(tickwire.DecodeError) as raised:
        seen.extend(iter(lambda: next(messages), None))
    assert raised.value.packet == 0 and raised.value.offset is not None
    after = list(messages)
    assert after and all(message.packet != 0 for message in after)
    with pytest.raises(tickwire.DecodeError):
        capture.table("quote")
    kept = opra.open(broken, on_error="keep")
    assert [message.to_dict() for message in kept if message.packet] == [m.to_dict() for m in after]
    assert kept.error_count == 1 and "packet 0 (file offset" in str(kept.errors[0])


def test_mistakes_say_what_there_is(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.bin"
    opra.simulate(path, 500)
    capture = opra.open(path)
    with pytest.raises(ValueError, match="no category quotes; there are quote, last_sale"):
        capture.batches("quotes")
    with pytest.raises(ValueError, match="fields price: the category has no such column; it has"):
        capture.batches("quote", ["price"])
    with pytest.raises(ValueError, match=r"several categories: name one of quote \(\d+\)"):
        capture.batches()
    with pytest.raises(ValueError, match="on_error skip: expected raise or keep"):
        opra.open(path, on_error="skip")  # pyright: ignore[reportArgumentType]
    with pytest.raises(tickwire.TickwireError, match=r"cannot open .*nowhere"):
        opra.open(tmp_path / "nowhere")
    with pytest.raises(OSError, match="nowhere"):
        opra.simulate(tmp_path / "nowhere" / "x.bin")
    with pytest.raises(ValueError, match="version 3: expected 2.0 or 1.03"):
        opra.simulate(path, version="3")  # pyright: ignore[reportArgumentType]
    message = next(iter(capture))
    with pytest.raises(AttributeError, match=f"this {message.category} message has no field prize; it has"):
        _ = message.prize
    with pytest.raises(KeyError):
        _ = message["prize"]
    assert repr(message).startswith(f"<{message.category} {{")


def test_messages_of_a_real_line_are_those_expected() -> None:
    path = SHARED / "trace_v2.bin"
    if not path.exists():
        skip("files", f"{path} does not exist")
    stats = path.with_name("trace_v2.stats.txt").read_text().splitlines()
    counts = ast.literal_eval(stats[0][stats[0].index("{") :])
    sums = ast.literal_eval(next(line for line in stats if line.startswith("sums"))[len("sums") :].strip())
    found: collections.Counter[str] = collections.Counter()
    added: collections.Counter[str] = collections.Counter()
    for message in opra.open(path):
        fields = message.to_dict()
        found[str(fields["cat"])] += 1
        for name, value in fields.items():
            if isinstance(value, int):
                added[name] += value
    assert dict(found) == counts
    assert {name: added[name] for name in sums} == sums
    capture = opra.open(path)
    assert capture.table("quote", ["symbol"]).num_rows == counts["k"]
    others = [category for category in capture.counts() if category != "quote"]
    assert len(others) == len(counts) - 1
    rows_are_messages(capture, others)


def test_times_that_go_back_are_warnings(tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "trace.bin"
    opra.simulate(trace, 500, seed=7)
    raw, packets = trace.read_bytes(), []
    while raw:
        end = 4 + int.from_bytes(raw[:4], "big")
        packets.append(raw[4:end])
        raw = raw[end:]
    times = [10**18 + index * 1000 for index in range(len(packets))]
    times[2] -= 5000
    content = feed.pcap(list(zip(times, packets, strict=True)))
    capture = opra.open(feed.write(tmp_path, "back.pcap", content))
    assert sum(capture.counts().values()) >= 500
    (warning,) = capture.warnings
    assert warning.startswith("1 packet with a time before that of an earlier packet, by up to 4µs")
