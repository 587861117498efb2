"""Real captures beside the project: every message equals its expected values."""

import gzip
import json
from pathlib import Path

import pyarrow
import pytest
import tickwire

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
        pytest.skip(f"{path} is not there")
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


def rows(message: tickwire.Message) -> list[dict[str, object]]:
    """The rows of a message with one sequence at most, by path; decimals as mantissa and exponent."""
    fields = message.to_dict()
    lists = [name for name, value in fields.items() if isinstance(value, list)]
    assert len(lists) <= 1
    around = {name: value for name, value in fields.items() if name not in lists}
    entries = fields[lists[0]] if lists else []
    return [around | {f"{lists[0]}/{name}": value for name, value in entry.items()} for entry in entries] or [
        around
    ]


def cell(table: pyarrow.Table, name: str) -> list[object] | None:
    """A column as the JSON form has it; None where its type has another form."""
    if f"{name}.mantissa" in table.column_names:
        parts = zip(table[f"{name}.mantissa"].to_pylist(), table[f"{name}.exponent"].to_pylist(), strict=True)
        return [None if m is None else {"m": m, "e": e} for m, e in parts]
    if name not in table.column_names or not str(table[name].type).startswith(
        ("int", "uint", "string", "bool")
    ):
        return None
    return table[name].to_pylist()


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_columns_have_the_values_of_messages(name: str, framing: str) -> None:
    capture = opened(name, framing)
    compared = 0
    for template in capture.counts():
        messages = [message for message in capture if message.template == template]
        lists = [value for value in messages[0].to_dict().values() if isinstance(value, list)]
        if len(lists) > 1:
            continue
        expected = [row for message in messages for row in rows(message)]
        table = capture.table(template)
        assert table.num_rows == len(expected)
        for field in {field for row in expected for field in row}:
            values = cell(table, field)
            if values is not None:
                assert values == [row.get(field) for row in expected], f"{template}: {field}"
                compared += 1
    assert compared > 0
