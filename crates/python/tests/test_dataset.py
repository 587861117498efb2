"""SQL on captures: queries return the right rows, and decode no more than needed."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path
from typing import Any

import datafusion
import duckdb
import feed
import polars
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pytest
import tickwire
import tickwire.simulate

TEMPLATES = """<templates><template name="Quote" id="1">
<uInt32 name="Id"/><string name="Symbol"/><uInt32 name="Other"/>
<sequence name="Levels"><decimal name="Price"/><uInt32 name="Size"/></sequence></template></templates>"""
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
PACKETS = 1000


def quote(index: int) -> bytes:
    body = bytes([0xC0, 0x81, 0x80 | index % 100, 0x41 + index % 3 | 0x80, 0x85])
    return body + bytes([0x82, 0xFE, 0x80 | index % 60, 0x81, 0xFE, 0x81, 0x82])


@pytest.fixture
def capture(tmp_path: Path) -> tickwire.Capture:
    """One packet per second, each with a message of two entries."""
    (tmp_path / "t.xml").write_text(TEMPLATES)
    out = bytearray(b"\x4d\x3c\xb2\xa1\x02\0\x04\0" + bytes(8) + b"\xff\xff\0\0\x01\0\0\0")
    for index in range(PACKETS):
        body = quote(index)
        udp = b"\x1f\x90\x1f\x90" + (8 + len(body)).to_bytes(2, "big") + b"\0\0"
        ip = b"\x45\0" + (28 + len(body)).to_bytes(2, "big") + b"\0\0\0\0\x10\x11\0\0\x7f\0\0\x01\xe0\0\0\x01"
        frame = b"\x01\0\x5e\0\0\x01" + bytes(6) + b"\x08\0" + ip + udp + body
        seconds, length = START // SECOND + index, len(frame)
        out += b"".join(part.to_bytes(4, "little") for part in (seconds, 0, length, length)) + frame
    (tmp_path / "c.pcap").write_bytes(out)
    return tickwire.open(tmp_path / "c.pcap", tmp_path / "t.xml", reset="packet")


def at(second: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(START // SECOND + second, datetime.timezone.utc)


def expected(capture: tickwire.Capture) -> list[dict[str, Any]]:
    rows = capture.table().filter(pyarrow.compute.field("time") >= pyarrow.scalar(at(100)))
    rows = rows.filter(pyarrow.compute.field("time") < pyarrow.scalar(at(200)))
    return rows.select(["Symbol", "Levels/Size"]).to_pylist()


def check_range(dataset: Any, fields: int) -> None:
    """100 of 1,000 packets were decoded, and this number of fields stored."""
    scan = dataset.scans[-1]
    assert (scan.packets, scan.packets_skipped) == (PACKETS, PACKETS - 100)
    assert (scan.start, scan.end) == (START + 100 * SECOND, START + 200 * SECOND)
    assert scan.fields == fields


def test_duckdb_pushes_fields_and_times(capture: tickwire.Capture) -> None:
    dataset = capture.dataset(time_unit="us")
    connection = duckdb.connect()
    connection.register("quotes", dataset)
    query = 'select Symbol, "Levels/Size" from quotes where time >= ? and time < ?'
    rows = connection.execute(query, [at(100), at(200)]).fetchall()
    assert rows == [tuple(row.values()) for row in expected(capture)]
    check_range(dataset, 2)
    count = connection.execute("select count(*) from quotes where Symbol = 'A'").fetchall()
    assert count == [(668,)]


def test_polars_pushes_fields_and_times(capture: tickwire.Capture) -> None:
    dataset = capture.dataset()
    frame = polars.scan_pyarrow_dataset(dataset)
    frame = frame.filter(polars.col("time") >= at(100), polars.col("time") < at(200))
    assert frame.select("Symbol", "Levels/Size").collect().to_dicts() == expected(capture)
    check_range(dataset, 2)


def test_datafusion_pushes_fields_and_times(capture: tickwire.Capture) -> None:
    dataset = capture.dataset()
    context = datafusion.SessionContext()
    context.register_dataset("quotes", dataset)
    times = f"time >= '{at(100).isoformat()}' and time < '{at(200).isoformat()}'"
    rows = context.sql(f'select "Symbol", "Levels/Size" from quotes where {times}').to_pylist()
    assert rows == expected(capture)
    check_range(dataset, 2)


def test_rows_are_the_same_whatever_is_chosen(capture: tickwire.Capture) -> None:
    whole, dataset = capture.table(), capture.dataset()
    assert dataset.to_table().equals(whole.replace_schema_metadata(dataset.schema.metadata))
    for name in whole.column_names:
        assert dataset.to_table(columns=[name])[name].equals(whole[name]), name
    assert dataset.count_rows() == len(whole) == 2 * PACKETS
    assert dataset.scans[-1].fields == 1, "one field of the entries, as they are rows"
    assert dataset.head(3, columns=["Id"]).num_rows == 3
    field = pyarrow.dataset.field
    some = dataset.to_table(columns=["Id"], filter=(field("Levels/Size") == 1) & (field("Symbol") == "B"))
    assert some.num_rows == 333 and some.column_names == ["Id"]
    with pytest.raises(KeyError, match="no column Nothing"):
        dataset.to_table(columns=["Nothing"])


def test_times_of_any_filter_are_found(capture: tickwire.Capture) -> None:
    dataset = capture.dataset()
    field = pyarrow.dataset.field

    def times(filter: Any) -> tuple[int | None, int | None]:
        dataset.scanner(columns=["Id"], filter=filter)
        scan = dataset.scans[-1]
        return scan.start, scan.end

    time, ten, twenty = field("time"), pyarrow.scalar(at(10)), pyarrow.scalar(at(20))
    first, second = START + 10 * SECOND, START + 20 * SECOND
    assert times(time == ten) == (first, first + 1)
    assert times((time > ten) & (time <= twenty) & (field("Id") > 3)) == (first + 1, second + 1)
    assert times((time < ten) | (time > twenty)) == (None, None), "two ranges are one that holds both"
    assert times((time < ten) | (field("Id") == 3)) == (None, None)
    assert dataset.to_table(filter=(time < ten) & (time > twenty)).num_rows == 0
    # If dictionaries persist, every packet is decoded; the rows are the same.
    assert dataset.to_table(filter=time == ten)["pkt"].to_pylist() == [10, 10]


def test_the_last_scans_are_recorded(capture: tickwire.Capture) -> None:
    dataset = capture.dataset()
    for index in range(120):
        dataset.scanner(columns=["pkt"] if index < 60 else ["Id"])
    assert len(dataset.scans) == 100
    assert [scan.columns for scan in dataset.scans] == [["pkt"]] * 40 + [["Id"]] * 60


def test_what_a_dataset_of_files_has_and_a_capture_has_not_is_refused(capture: tickwire.Capture) -> None:
    dataset = capture.dataset()
    for wrong in (
        lambda: dataset.join(dataset, "Id"),
        lambda: dataset.sort_by("Id"),
        lambda: dataset.filter(None),
    ):
        with pytest.raises(NotImplementedError, match="to_table"):
            wrong()
    with pytest.raises(TypeError, match="pickled"):
        __import__("pickle").dumps(dataset)


def test_python_ends_while_rows_are_read_ahead(tmp_path: Path) -> None:
    program = f"""
import tickwire, tickwire.simulate
day = tickwire.simulate.day({str(tmp_path)!r}, packets=20_000)
capture = tickwire.open(day.capture, templates=day.templates, framing=day.framing)
print(capture.dataset(capture.templates[0]).head(1).num_rows)
"""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr


def test_an_error_ends_a_query(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(TEMPLATES)
    (tmp_path / "c.bin").write_bytes(
        b"".join(len(body).to_bytes(4, "big") + body for body in (quote(1), b"\xc0\x8f"))
    )
    dataset = tickwire.open(tmp_path / "c.bin", tmp_path / "t.xml").dataset("Quote")
    with pytest.raises(pyarrow.ArrowException, match="packet 1"):
        dataset.to_table()


def test_fields_that_are_named_like_parts_of_others(tmp_path: Path) -> None:
    names = ["a.mantissa", "b.exponent", "c.entry", "d.present", "e.length", "f"]
    fields = "".join(f'<uInt32 name="{name}"/>' for name in names)
    xml = f"""<templates><template name="T" id="1">{fields}
        <sequence name="S"><uInt32 name="x"/></sequence></template></templates>"""
    templates = tickwire.TemplateSet.parse(xml)
    message = {name: number for number, name in enumerate(names)} | {"S": [{"x": 7}]}
    packet = tickwire.Encoder(templates).encode({"n": "T", "msg": message})
    path = feed.write(tmp_path, "t.bin", feed.prefixed([packet]))
    capture = tickwire.open(path, templates, input_format="u32be")
    table, dataset = capture.table(), capture.dataset()
    for name in table.column_names:
        assert dataset.to_table(columns=[name])[name].to_pylist() == table[name].to_pylist(), name
