"""Recorded captures: every message equals its expected values."""

import gzip
import json
import os
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow
import pyarrow.parquet
import pytest
import tickwire
from needs import skip

ROOT = Path(__file__).resolve().parents[3]
# Files beside the project, and those that .ci/fetch-captures fetches.
FOLDERS = [ROOT.parent / "shared" / "corpus", ROOT / "captures"]

CAPTURES = [
    ("cme_2012/cme_2012_sampleMD", "cme"),
    ("cme_like/cme30000", "none,reset=packet"),
    ("cme_like/cme_channel9_30000", "none,reset=packet"),
    ("cme_like/cme_channel11_30000", "none,reset=packet"),
    ("cqg_2024/cqg_2024_fastlib", "cqg"),
    ("moex_forts/moex_forts_2013.increment_a", "moex-forts"),
    ("moex_forts/moex_forts_2013.increment_b", "moex-forts"),
    ("moex_forts/moex_forts_2013.snapshot", "moex-forts"),
    ("oci_complex/oci_complex30000", "none"),
    ("simple/simple30000", "none,reset=packet"),
]


def corpus(name: str) -> Path:
    """Path of a file; skips the test if it is not there."""
    found = [folder / name for folder in FOLDERS if (folder / name).exists()]
    if not found:
        skip("files", f"{name} is not there: .ci/fetch-captures fetches public captures")
    return found[0]


def on_error(name: str) -> Literal["raise", "keep"]:
    """CQG's capture has two sessions. Its expected values are those of a decoder that does not reset dictionaries
    between them."""
    return "keep" if name.startswith("cqg_2024/") else "raise"


def opened(name: str, framing: str, errors: Literal["raise", "keep"] | None = None) -> tickwire.Capture:
    path = corpus(f"{name}.bin")
    errors = errors or on_error(name)
    return tickwire.open(
        path, path.with_name("templates.xml"), framing=framing, input_format="u32be", on_error=errors
    )


def test_a_second_session_is_an_error() -> None:
    capture = opened("cqg_2024/cqg_2024_fastlib", "cqg", "raise")
    with pytest.raises(tickwire.DecodeError, match=r"went back from 966 to 1 in packet 8.*reset_at=\[8\]"):
        capture.counts()


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_every_message_is_as_expected(name: str, framing: str) -> None:
    capture = opened(name, framing)
    count = 0
    with gzip.open(corpus(f"{name}.expected.jsonl.gz"), "rt") as lines:
        for message, line in zip(capture, lines, strict=True):
            expected = json.loads(line)
            got = (message.packet, message.id, message.template, message.to_dict())
            assert got == (expected["pkt"], expected["t"], expected["n"], expected["msg"]), line
            count += 1
    assert count > 0


def is_decimal(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"m", "e"}


def rows(record: dict[str, Any], path: str = "") -> list[dict[str, object]]:
    """The rows of a message as dictionaries by column name: one per innermost entry, with the
    enclosing fields."""
    around: dict[str, object] = {}
    inner: list[dict[str, object]] = []
    for name, value in record.items():
        name = path + name
        if isinstance(value, list):
            around[f"{name}.length"] = len(value)
            for index, entry in enumerate(value):
                inner += [{f"{name}.entry": index} | row for row in rows(entry, f"{name}/")]
        elif isinstance(value, dict) and not is_decimal(value):
            around[f"{name}.present"] = True
            (group,) = rows(value, f"{name}/")
            around |= group
        else:
            around[name] = value
    return [around | row for row in inner] or [around]


def expected_of(row: dict[str, object], column: str) -> object:
    """The expected value of a column in a row: that of the JSON form, or a part of a decimal."""
    name, _, part = column.rpartition(".")
    if part in ("mantissa", "exponent") and (is_decimal(row.get(name)) or name in row):
        value = row[name]
        return value and value[part[0]]  # type: ignore[index]
    value = row.get(column)
    return Decimal(value["m"]).scaleb(value["e"]) if is_decimal(value) else value  # type: ignore[index]


HEADER = ["pkt", "off", "time", "seq_num", "source", "destination"]


def rows_of(name: str) -> dict[str, list[dict[str, object]]]:
    """The expected rows of each template."""
    expected: dict[str, list[dict[str, object]]] = {}
    with gzip.open(corpus(f"{name}.expected.jsonl.gz"), "rt") as lines:
        for line in lines:
            message = json.loads(line)
            place = {"pkt": message["pkt"], "off": message["off"]}
            expected.setdefault(message["n"], []).extend(place | row for row in rows(message["msg"]))
    return expected


def check(table: pyarrow.Table, wanted: list[dict[str, object]], template: str, floats: bool = False) -> None:
    """Compare all values of a table."""
    assert table.num_rows == len(wanted)
    told = {column for row in wanted for column, value in row.items() if value is not None}
    missing = told - {name.removesuffix(".mantissa") for name in table.column_names}
    assert not missing, f"{template} has no columns {missing}"
    for column in table.column_names:
        if column not in HEADER[2:]:
            values = [expected_of(row, column) for row in wanted]
            if floats:
                values = [float(value) if isinstance(value, Decimal) else value for value in values]
            assert table[column].to_pylist() == values, f"{template}: {column}"


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_files_of_columns_are_as_expected(tmp_path: Path, name: str, framing: str) -> None:
    capture = opened(name, framing)
    for template, wanted in rows_of(name).items():
        capture.to_parquet(tmp_path / "x.parquet", template)
        check(pyarrow.parquet.read_table(tmp_path / "x.parquet"), wanted, template)


def command() -> str:
    """The command `tickwire` with the feature `columns`: TICKWIRE_COMMAND, or a build of this tree."""
    built = [str(ROOT / "target" / profile / "tickwire") for profile in ("debug", "release")]
    for path in [os.environ["TICKWIRE_COMMAND"]] if "TICKWIRE_COMMAND" in os.environ else built:
        if Path(path).exists():
            told = subprocess.run([path, "export", "--help"], check=False, capture_output=True, text=True)
            if "--decimals" in told.stdout:
                return path
    skip(
        "machine", "there is no tickwire with the feature columns: cargo build -p tickwire --features columns"
    )


@pytest.mark.parametrize(
    ("name", "framing", "floats"),
    # As floating-point numbers: one capture with fixed exponents, and one with other exponents.
    [*[(*capture, False) for capture in CAPTURES], (*CAPTURES[3], True), (*CAPTURES[4], True)],
)
def test_exported_files_are_as_expected(tmp_path: Path, name: str, framing: str, floats: bool) -> None:
    program, path = command(), corpus(f"{name}.bin")
    export = [program, "export", str(path), "-t", str(path.with_name("templates.xml")), "--framing", framing]
    export += ["--input-format", "u32be", "--decimals", "float64" if floats else "exact"]
    run = subprocess.run([*export, "-o", str(tmp_path / "out")], check=False, capture_output=True, text=True)
    expected = rows_of(name)
    tables = {*expected}
    # The start of the second session in this capture is a row of errors; all messages are rows nevertheless.
    if on_error(name) == "keep":
        assert run.returncode == 1
        assert "went back from 966 to 1 in packet 8" in run.stderr
        tables.add("errors")
    else:
        assert run.returncode == 0, run.stderr
    assert {table.name for table in (tmp_path / "out").iterdir() if table.is_dir()} == tables
    for template, wanted in expected.items():
        check(pyarrow.parquet.read_table(tmp_path / "out" / template), wanted, template, floats)
