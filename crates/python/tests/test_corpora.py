"""Real captures beside the project: every message equals its expected values."""

import gzip
import json
from pathlib import Path

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


@pytest.mark.parametrize(("name", "framing"), CAPTURES)
def test_columns_have_the_values_of_messages(name: str, framing: str) -> None:
    capture = opened(name, framing)
    for template in capture.counts():
        rows = capture.table(template, entries=False)
        fields = [field for field in rows.column_names if "." not in field and "/" not in field]
        messages = [message for message in capture if message.template == template]
        assert rows.num_rows == len(messages)
        for field in fields:
            values = [message[field] for message in messages if field in message]
            if values and all(isinstance(value, (int, str, bytes, type(None))) for value in values):
                column = rows[field]
                if str(column.type).startswith(("timestamp", "duration", "date")):
                    continue
                assert column.to_pylist() == values, f"{template}.{field}"
