"""FIX logs: messages, and columns of a message type."""

import datetime
import gzip
import struct
from decimal import Decimal
from pathlib import Path

import polars
import pyarrow
import pyarrow.parquet
import pytest
import tickwire
from test_fix_messages import sealed
from tickwire import fix

UTC = datetime.timezone.utc
# The first columns.
PLACE = ["line", "off", "pkt", "time", "source", "destination"]


def order(number: int) -> bytes:
    """Return a NewOrderSingle."""
    parties = "453=1|448=P|447=D|452=3|" if number % 2 else ""
    return sealed(
        f"35=D|34={number}|49=A|52=20260105-12:30:01.{number:03}|56=B|{parties}11=o{number}|55=MSFT|54=1|"
        f"60=20260105-12:30:01|38=100|40=2|44={number}.25|"
    )


def log(directory: Path, count: int = 3, separator: str = "\x01") -> Path:
    lines = [b"12:30:0%d out " % (number % 10) + order(number) for number in range(count)]
    heartbeat = sealed("35=0|34=9|49=A|52=20260105-12:30:01|56=B|")
    path = directory / "orders.log"
    path.write_bytes(b"\n".join([*lines, b"nothing", heartbeat, b""]).replace(b"\x01", separator.encode()))
    return path


def capture(directory: Path, payloads: list[bytes]) -> Path:
    """Write a pcap file of one TCP stream, a packet a second."""
    file = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)]
    seq = 1
    for at, payload in enumerate(payloads):
        tcp = struct.pack(">HHIIBBHHH", 40000, 9001, seq, 1, 5 << 4, 0x18, 65535, 0, 0)
        length = 20 + len(tcp) + len(payload)
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, length, at, 0, 64, 6, 0, b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02"
        )
        file += [struct.pack("<IIII", 1767616200 + at, 5, length, length), ip, tcp, payload]
        seq += len(payload)
    path = directory / "orders.pcap"
    path.write_bytes(b"".join(file))
    return path


@pytest.mark.parametrize("separator", ["\x01", "|", "^A"])
def test_messages_of_text_logs_have_their_line(tmp_path: Path, separator: str) -> None:
    path = log(tmp_path, separator=separator)
    messages = list(fix.open(path))
    assert [(message.line, message.msg_type, message.MsgSeqNum) for message in messages] == [
        (1, "D", 0),
        (2, "D", 1),
        (3, "D", 2),
        (5, "0", 9),
    ]
    assert messages[0].offset == 13 and messages[0].packet is None and messages[0].time is None
    assert list(fix.open(path, separator=separator)) == messages
    assert fix.open(path).counts() == {"D": 3, "0": 1}


def test_messages_of_captures_have_their_record_and_time(tmp_path: Path) -> None:
    stream = order(0) + order(1)
    opened = fix.open(capture(tmp_path, [stream[:50], stream[50:-5], stream[-5:]]))
    messages = list(opened)
    assert [bytes(message) for message in messages] == [order(0), order(1)]
    assert [(message.packet, message.time, message.line) for message in messages] == [
        (1, 1767616201000000005, None),
        (2, 1767616202000000005, None),
    ]
    table = opened.table()
    assert table["pkt"].to_pylist() == [1, 2] and table["line"].null_count == 2
    assert table["source"].to_pylist() == ["10.0.0.1:40000"] * 2
    assert table["destination"].to_pylist() == ["10.0.0.2:9001"] * 2
    assert table["time"].cast(pyarrow.int64()).to_pylist() == [1767616201000000005, 1767616202000000005]


def test_columns_are_those_that_the_messages_have(tmp_path: Path) -> None:
    table = fix.open(log(tmp_path)).table("NewOrderSingle")
    assert table.column_names == [
        *PLACE,
        *["BeginString", "SenderCompID", "TargetCompID", "MsgSeqNum", "SendingTime"],
        *["ClOrdID", "NoPartyIDs", "Symbol", "Side", "TransactTime", "OrderQty", "OrdType", "Price", "other"],
    ]
    assert table["line"].to_pylist() == [1, 2, 3]
    assert table["Price"].to_pylist() == [Decimal("0.25"), Decimal("1.25"), Decimal("2.25")]
    assert table["SendingTime"].type == pyarrow.timestamp("ns", "UTC")
    assert table["NoPartyIDs"].to_pylist() == [
        None,
        [{"PartyID": "P", "PartyIDSource": "D", "PartyRole": 3}],
        None,
    ]
    assert table["other"].to_pylist() == [[], [], []]
    assert table == fix.open(log(tmp_path)).table("D")


def test_columns_may_be_chosen(tmp_path: Path) -> None:
    opened = fix.open(log(tmp_path))
    chosen = opened.to_polars("D", ["Price", "NoPartyIDs"], floats=True)
    assert chosen.columns == [*PLACE, "NoPartyIDs", "Price", "other"]
    assert chosen["Price"].to_list() == [0.25, 1.25, 2.25]
    every = opened.table("D", "all")
    assert {"CheckSum", "Text", "NoPartyIDs", "MsgType"} < set(every.column_names)
    entry = every["NoPartyIDs"].type.value_type
    assert [entry.field(at).name for at in range(entry.num_fields)][-1] == "NoPartySubIDs"
    assert opened.to_pandas("0")["MsgSeqNum"].tolist() == [9]
    for msg_type, fields, text in [
        ("X", None, "no message X"),
        (None, None, "name one of"),
        ("D", ["Nil"], "Nil"),
    ]:
        with pytest.raises(ValueError, match=text):
            opened.table(msg_type, fields)


def test_columns_have_what_messages_have(tmp_path: Path) -> None:
    opened = fix.open(log(tmp_path, 20_000))
    rows = opened.to_polars("D").to_dicts()
    messages = [message for message in opened if message.msg_type == "D"]
    assert len(rows) == len(messages) == 20_000
    for row, message in zip(rows, messages, strict=True):
        for name in ("MsgSeqNum", "ClOrdID", "Price", "OrderQty", "SendingTime"):
            assert row[name] == message[name]
        assert (row["line"], row["off"]) == (message.line, message.offset)


def test_parquet_files_have_the_same(tmp_path: Path) -> None:
    opened = fix.open(log(tmp_path, 100))
    path = tmp_path / "orders.parquet"
    opened.to_parquet(path, "D")
    assert pyarrow.parquet.read_table(path) == opened.table("D")
    assert polars.read_parquet(path).equals(opened.to_polars("D"))
    assert [entry.name for entry in tmp_path.glob(".*.partial")] == []


def test_errors_come_behind_what_is_before_them_or_are_kept(tmp_path: Path) -> None:
    wrong = order(2).replace(b"2.25", b"2.26")
    path = tmp_path / "wrong.log"
    path.write_bytes(b"\n".join([order(1), wrong, b"8=FIX.4.4 only", order(3)]))
    opened = fix.open(path)
    messages = iter(opened)
    assert next(messages).MsgSeqNum == 1
    with pytest.raises(fix.FixError, match=r"wrong.log: line 2, offset \d+: CheckSum") as raised:
        next(messages)
    assert (raised.value.line, raised.value.tag) == (2, 10)
    with pytest.raises(fix.FixError, match="not a message"):
        next(messages)
    assert next(messages).MsgSeqNum == 3
    with pytest.raises(fix.FixError, match="line 2"):
        opened.table("D")
    kept = fix.open(path, on_error="keep")
    assert kept.table("D")["MsgSeqNum"].to_pylist() == [1, 3]
    assert (kept.error_count, [error.line for error in kept.errors]) == (2, [2, 3])
    loose = fix.open(path, checks=False, on_error="keep")
    assert loose.table("D")["MsgSeqNum"].to_pylist() == [1, 2, 3]
    assert [bool(message.wrong) for message in loose] == [False, True, False]
    parquet = tmp_path / "x.parquet"
    with pytest.raises(fix.FixError):
        opened.to_parquet(parquet, "D")
    assert not parquet.exists()


def test_a_capture_that_is_cut_keeps_the_messages_before_the_cut(tmp_path: Path) -> None:
    path = capture(tmp_path, [order(0), order(1), order(2)])
    path.write_bytes(path.read_bytes()[:-3])
    kept = fix.open(path, on_error="keep")
    assert kept.counts() == {"D": 2}
    assert kept.table("D")["MsgSeqNum"].to_pylist() == [0, 1]
    [error] = kept.errors
    assert isinstance(error, fix.FixError) and "the rest of the file cannot be read" in str(error)
    assert [message.MsgSeqNum for message in kept] == [0, 1]
    kept.to_parquet(tmp_path / "x.parquet", "D")
    assert pyarrow.parquet.read_metadata(tmp_path / "x.parquet").num_rows == 2
    messages = iter(fix.open(path))
    assert [next(messages).MsgSeqNum, next(messages).MsgSeqNum] == [0, 1]
    with pytest.raises(fix.FixError, match="end of the file"):
        next(messages)


@pytest.mark.parametrize("separator", ["\x01", "|", "^A"])
def test_compressed_logs_have_the_rows_of_the_plain_one(tmp_path: Path, separator: str) -> None:
    path = log(tmp_path, separator=separator)
    compressed = tmp_path / "orders.log.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert fix.open(compressed).table("D") == fix.open(path).table("D")
    assert list(fix.open(compressed, separator=separator)) == list(fix.open(path))


def test_files_and_options_that_cannot_be_used_are_errors(tmp_path: Path) -> None:
    with pytest.raises(tickwire.TickwireError, match="cannot read"):
        fix.open(tmp_path / "none.log")
    path = log(tmp_path)
    with pytest.raises(ValueError, match="separator"):
        fix.open(path, separator="")
    with pytest.raises(ValueError, match="on_error"):
        fix.open(path, on_error="no")  # type: ignore[arg-type]
    empty = tmp_path / "empty.log"
    empty.write_bytes(b"")
    assert list(fix.open(empty)) == [] and fix.open(empty).counts() == {}
    with pytest.raises(ValueError, match="no message"):
        fix.open(empty).table()
