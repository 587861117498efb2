"""Recorded captures: every message equals its expected values."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import tickwire
from needs import skip

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"

CAPTURES = [
    ("cme_2012/cme_2012_sampleMD", "cme"),
    ("cme_like/cme30000", "none,reset=packet"),
    ("cme_like/cme_channel9_30000", "none,reset=packet"),
    ("cqg_2024/cqg_2024_fastlib", "cqg"),
    ("moex_forts/moex_forts_2013.increment_a", "moex-forts"),
    ("moex_forts/moex_forts_2013.snapshot", "moex-forts"),
    ("oci_complex/oci_complex30000", "none"),
    ("simple/simple30000", "none,reset=packet"),
]


def opened(name: str, framing: str) -> tickwire.Capture:
    path = CORPUS / f"{name}.bin"
    if not path.exists():
        skip("files", f"{path} does not exist")
    return tickwire.open(path, path.with_name("templates.xml"), framing=framing, input_format="u32be")


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_every_message_is_as_expected(name: str, framing: str) -> None:
    capture = opened(name, framing)
    count = 0
    with gzip.open(CORPUS / f"{name}.expected.jsonl.gz", "rt") as lines:
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


HEADER = ["pkt", "off", "time", "seq_num", "source", "destination", "line"]


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_files_of_columns_are_as_expected(tmp_path: Path, name: str, framing: str) -> None:
    capture = opened(name, framing)
    expected: dict[str, list[dict[str, object]]] = {}
    with gzip.open(CORPUS / f"{name}.expected.jsonl.gz", "rt") as lines:
        for line in lines:
            message = json.loads(line)
            place = {"pkt": message["pkt"], "off": message["off"]}
            expected.setdefault(message["n"], []).extend(place | row for row in rows(message["msg"]))
    for template, wanted in expected.items():
        capture.to_parquet(tmp_path / "x.parquet", template)
        table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
        assert table.num_rows == len(wanted)
        told = {column for row in wanted for column, value in row.items() if value is not None}
        missing = told - {name.removesuffix(".mantissa") for name in table.column_names}
        assert not missing, f"{template} has no columns {missing}"
        for column in table.column_names:
            if column not in HEADER[2:]:
                values = table[column].to_pylist()
                assert values == [expected_of(row, column) for row in wanted], f"{template}: {column}"
