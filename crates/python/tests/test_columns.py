"""Columns of a template, read by other libraries."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import feed
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import tickwire

PACKETS = [
    feed.quote("AB", 3, [(1001, 5), (1000, 7)]) + feed.status(9, b"\x00\xff"),
    feed.quote("C", None, []),
]


@pytest.fixture
def capture(tmp_path: Path) -> tickwire.Capture:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    return tickwire.open(
        feed.write(tmp_path, "c.bin", feed.prefixed(PACKETS)), templates, input_format="u32be"
    )


def test_a_row_is_an_entry(capture: tickwire.Capture) -> None:
    table = capture.table("Quote")
    assert table.num_rows == 3
    assert table["Symbol"].to_pylist() == ["AB", "AB", "C"]
    assert table["Levels/Price.mantissa"].to_pylist() == [1001, 1000, None]
    assert table["Levels/Size"].to_pylist() == [5, 7, None]
    assert table["Count"].to_pylist() == [3, 3, None]
    assert table["pkt"].to_pylist() == [0, 0, 1]
    assert table.schema.metadata[b"tickwire.template"] == b"Quote"


def test_a_row_is_a_message_without_entries(capture: tickwire.Capture) -> None:
    table = capture.table("Quote", entries=False)
    assert table["Symbol"].to_pylist() == ["AB", "C"]
    assert [name for name in table.column_names if name.startswith("Levels")] == ["Levels.length"]
    assert table["Levels.length"].to_pylist() == [2, 0]


def test_names_in_entries_make_no_rows_of_messages(tmp_path: Path) -> None:
    xml = """<templates><template name="T" id="1"><uInt32 name="Size"/>
        <group name="G"><sequence name="S"><uInt32 name="Size"/></sequence></group>
        <sequence name="L"><uInt32 name="Size"/></sequence></template></templates>"""
    templates = feed.write(tmp_path, "n.xml", xml)
    packet = bytes([0xC0, 0x81, 0x85, 0x82, 0x81, 0x82, 0x82, 0x83, 0x84])
    path = feed.write(tmp_path, "n.bin", feed.prefixed([packet]))
    table = tickwire.open(path, templates, input_format="u32be").table(entries=False)
    columns = ["Size", "G/S.length", "L.length"]
    assert [name for name in table.column_names if name in columns] == columns
    assert (table.num_rows, table["Size"].to_pylist()) == (1, [5])
    assert "L/Size" not in table.column_names


def test_the_template_may_be_left_out_where_one_alone_is_there(
    capture: tickwire.Capture, tmp_path: Path
) -> None:
    assert capture.counts() == {"Quote": 2, "Status": 1}
    with pytest.raises(ValueError, match=r"Quote \(2\), Status \(1\)"):
        capture.table()
    with pytest.raises(ValueError, match="Nothing"):
        capture.table("Nothing")
    assert capture.table(2)["State"].to_pylist() == [9]
    path = feed.write(tmp_path, "one.bin", feed.prefixed([feed.status(1, b"")]))
    assert tickwire.open(path, tmp_path / "t.xml", input_format="u32be").table().num_rows == 1


def test_other_libraries_take_the_stream(capture: tickwire.Capture) -> None:
    frame = capture.to_polars("Quote")
    assert isinstance(frame, polars.DataFrame) and frame["Levels/Size"].to_list() == [5, 7, None]
    pandas_frame = capture.to_pandas("Quote")
    assert isinstance(pandas_frame, pandas.DataFrame) and list(pandas_frame["Symbol"]) == ["AB", "AB", "C"]
    batches = list(pyarrow.RecordBatchReader.from_stream(capture.batches("Quote")))
    assert sum(batch.num_rows for batch in batches) == 3
    stream = capture.batches("Quote")
    assert pyarrow.table(stream) == pyarrow.table(stream), "each taker reads from the start"


def test_many_rows_come_in_batches(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    path = feed.write(tmp_path, "c.bin", feed.prefixed([feed.status(n, b"x") for n in range(20_000)]))
    stream = tickwire.open(path, templates, input_format="u32be").batches("Status")
    batches = list(pyarrow.RecordBatchReader.from_stream(stream))
    assert len(batches) > 1
    assert pyarrow.Table.from_batches(batches)["State"].to_pylist() == list(range(20_000))


def test_repeated_strings_are_read_from_parquet_as_dictionaries(
    capture: tickwire.Capture, tmp_path: Path
) -> None:
    path = tmp_path / "q.parquet"
    capture.to_parquet(path, "Quote")
    assert pyarrow.parquet.read_table(path).schema.field("Symbol").type == pyarrow.string()
    symbols = pyarrow.parquet.read_table(path, read_dictionary=["Symbol"])["Symbol"].combine_chunks()
    assert pyarrow.types.is_dictionary(symbols.type)
    assert symbols.to_pylist() == ["AB", "AB", "C"]


def test_parquet_appears_when_it_is_whole(capture: tickwire.Capture, tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    capture.to_parquet(path, "Quote")
    assert pyarrow.parquet.read_table(path)["Levels/Size"].to_pylist() == [5, 7, None]
    assert pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    broken = feed.write(tmp_path, "b.bin", feed.prefixed([*PACKETS, b"\xc0\x85"]))
    other = tickwire.open(broken, tmp_path / "t.xml", input_format="u32be")
    for take in (other.table, other.to_polars, other.to_pandas):
        with pytest.raises(tickwire.DecodeError) as raised:
            take("Quote")
        assert (raised.value.code, raised.value.packet) == ("D9", 2)
    before = path.read_bytes()
    with pytest.raises(tickwire.DecodeError, match="template id 5"):
        other.to_parquet(path, "Quote")
    assert path.read_bytes() == before, "what was there stays"
    with pytest.raises(OSError, match=r"t\.xml"):
        other.to_parquet(tmp_path / "t.xml" / "q.parquet", "Quote")
    assert list(tmp_path.glob(".*.partial")) == []
    with pytest.raises(tickwire.DecodeError):
        other.counts()
    reader = pyarrow.RecordBatchReader.from_stream(other.batches("Quote"))
    assert reader.read_next_batch().num_rows == 3, "the rows before the error"
    with pytest.raises(pyarrow.ArrowInvalid, match="template id 5"):
        reader.read_next_batch()
    assert sorted(file.name for file in tmp_path.glob("*.parquet*")) == ["q.parquet"]


def test_errors_of_columns_may_be_kept(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    path = feed.write(tmp_path, "b.bin", feed.prefixed([PACKETS[0], b"\xc0\x85", PACKETS[1]]))
    kept = tickwire.open(path, templates, reset="packet", input_format="u32be", on_error="keep")
    assert kept.table("Quote").num_rows == 3
    assert [error.code for error in kept.errors] == ["D9"]


WRITE = """
import resource, tickwire
if {limit}:
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
tickwire.open("c.bin", "t.xml", reset="packet", input_format="u32be").to_parquet("q.parquet", "Status")
"""


def writing(directory: Path, count: int, limit: int) -> subprocess.Popen[str]:
    """Start a process that writes a Parquet file of `count` rows; its files are limited to `limit` bytes."""
    feed.write(directory, "t.xml", feed.TEMPLATES)
    packet = feed.status(1, bytes(range(200)))
    feed.write(directory, "c.bin", feed.prefixed([packet + feed.status(n, packet) for n in range(count)]))
    program = WRITE.format(limit=limit)
    return subprocess.Popen([sys.executable, "-c", program], cwd=directory, stderr=subprocess.PIPE, text=True)


def test_a_parquet_file_for_which_there_is_no_room_is_an_error_and_not_left_behind(tmp_path: Path) -> None:
    process = writing(tmp_path, 2_000, 4096)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "OSError" in told and "q.parquet: " in told and "File too large" in told, told
    assert not list(tmp_path.glob("*q.parquet*"))


def test_a_process_that_is_killed_leaves_no_parquet_file_that_is_not_whole(tmp_path: Path) -> None:
    process = writing(tmp_path, 60_000, 0)
    end = time.monotonic() + 60
    while not (tmp_path / ".q.parquet.partial").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.001)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.glob("*q.parquet*")] == [".q.parquet.partial"]
    capture = tickwire.open(tmp_path / "c.bin", tmp_path / "t.xml", reset="packet", input_format="u32be")
    capture.to_parquet(tmp_path / "q.parquet", "Status")
    assert pyarrow.parquet.read_metadata(tmp_path / "q.parquet").num_rows == 120_000
    assert not (tmp_path / ".q.parquet.partial").exists()
