"""Decimals at the limits of mantissa, exponent and Decimal128, in every form of output and back."""

from __future__ import annotations

from decimal import Context, Decimal
from pathlib import Path

import feed
import polars
import pyarrow
import pyarrow.parquet
import pytest
import tickwire
from test_fix_messages import sealed
from tickwire import fix

# With these exponents Arrow's 38 digits hold every mantissa; with others, columns are mantissa and exponent.
FIXED = [0, -1, -2, -18, -19]
APART = [-20, -63, 1, 18, 63]
MANTISSAS = [0, 1, -1, 9, -10, 2**53 + 1, 10**18, -(10**18), 2**63 - 1, -(2**63)]
EXPONENTS = [-63, -62, -38, -19, -18, -1, 0, 1, 18, 38, 62, 63]
# More digits than any value here.
EXACT = Context(prec=200)


def signed(value: int) -> bytes:
    """A stop-bit encoded signed integer."""
    groups = [value & 0x7F]
    value >>= 7
    while not (value == 0 and groups[0] < 0x40 or value == -1 and groups[0] >= 0x40):
        groups.insert(0, value & 0x7F)
        value >>= 7
    groups[-1] |= 0x80
    return bytes(groups)


def decimal(mantissa: int, exponent: int) -> Decimal:
    return Decimal(mantissa).scaleb(exponent, EXACT)


def written(directory: Path) -> tuple[Path, Path, list[tuple[int, int]]]:
    """A capture; each message has one decimal without and one with each fixed exponent, all with
    the same mantissa."""
    parts = "".join(
        f'<decimal name="f{index}"><exponent><constant value="{exponent}"/></exponent><mantissa/></decimal>'
        for index, exponent in enumerate(FIXED + APART)
    )
    xml = f'<templates><template name="D" id="1"><decimal name="free"/>{parts}</template></templates>'
    pairs = [(mantissa, exponent) for mantissa in MANTISSAS for exponent in EXPONENTS]
    packets = [
        b"\xc0\x81" + signed(exponent) + signed(mantissa) * (1 + len(FIXED + APART))
        for mantissa, exponent in pairs
    ]
    path = feed.write(directory, "d.bin", feed.prefixed(packets))
    return path, feed.write(directory, "d.xml", xml), pairs


@pytest.fixture
def capture(tmp_path: Path) -> tickwire.Capture:
    path, templates, _ = written(tmp_path)
    return tickwire.open(path, templates, input_format="u32be")


PAIRS = [(mantissa, exponent) for mantissa in MANTISSAS for exponent in EXPONENTS]


def test_attributes_and_json_are_exact(capture: tickwire.Capture) -> None:
    for message, (mantissa, exponent) in zip(capture, PAIRS, strict=True):
        assert message.free == decimal(mantissa, exponent)
        assert message.free.as_tuple().exponent == exponent
        fields = message.to_dict()
        assert fields["free"] == {"m": mantissa, "e": exponent}
        for index, fixed in enumerate(FIXED + APART):
            assert getattr(message, f"f{index}") == decimal(mantissa, fixed)
            assert fields[f"f{index}"] == {"m": mantissa, "e": fixed}


def test_arrow_and_parquet_are_exact(capture: tickwire.Capture, tmp_path: Path) -> None:
    capture.to_parquet(tmp_path / "d.parquet")
    for table in (capture.table(), pyarrow.parquet.read_table(tmp_path / "d.parquet")):
        assert table["free.mantissa"].to_pylist() == [mantissa for mantissa, _ in PAIRS]
        assert table["free.exponent"].to_pylist() == [exponent for _, exponent in PAIRS]
        for index, fixed in enumerate(FIXED):
            column = table[f"f{index}"]
            assert column.type == pyarrow.decimal128(19, -fixed)
            assert column.to_pylist() == [decimal(mantissa, fixed) for mantissa, _ in PAIRS]
            for batch in column.chunks:
                batch.validate(full=True)
        for index, fixed in enumerate(APART, len(FIXED)):
            assert table[f"f{index}.mantissa"].to_pylist() == [mantissa for mantissa, _ in PAIRS]
            assert table[f"f{index}.exponent"].to_pylist() == [fixed] * len(PAIRS)


def test_floating_point_numbers_are_the_nearest_ones(capture: tickwire.Capture, tmp_path: Path) -> None:
    """Mantissa and exponent of the first column differ from row to row."""
    wanted = {"free": [float(decimal(mantissa, exponent)) for mantissa, exponent in PAIRS]}
    for index, fixed in enumerate(FIXED + APART):
        wanted[f"f{index}"] = [float(decimal(mantissa, fixed)) for mantissa, _ in PAIRS]
    capture.to_parquet(tmp_path / "d.parquet", floats=True)
    frame, pandas = capture.to_polars(floats=True), capture.to_pandas(floats=True)
    for table in (
        capture.table(floats=True),
        pyarrow.parquet.read_table(tmp_path / "d.parquet"),
        pyarrow.table(capture.batches(floats=True)),
        capture.dataset(floats=True).to_table(),
        capture.table(entries=False, floats=True),
    ):
        assert table.column_names[-len(wanted) :] == list(wanted)
        for name, values in wanted.items():
            assert table[name].type == pyarrow.float64()
            assert table[name].to_pylist() == values, name
    for name, values in wanted.items():
        assert frame[name].to_list() == list(pandas[name]) == values, name
    chosen = capture.dataset(floats=True).to_table(columns=["f0"])
    assert chosen["f0"].to_pylist() == wanted["f0"] and chosen.column_names == ["f0"]


def test_absent_decimals_are_no_floating_point_numbers(tmp_path: Path) -> None:
    packets = [feed.quote("A", 1, [(1001, 5), (-0, 7)]), feed.quote("B", None, [])]
    path = feed.write(tmp_path, "c.bin", feed.prefixed(packets))
    capture = tickwire.open(path, feed.write(tmp_path, "t.xml", feed.TEMPLATES), input_format="u32be")
    table = capture.table("Quote", floats=True)
    assert table["Last"].to_pylist() == [None, None, None]
    assert table["Levels/Price"].to_pylist() == [10.01, 0.0, None]
    [split] = tickwire.plan(path, tmp_path / "t.xml", input_format="u32be")
    assert pyarrow.table(split.batches("Quote", floats=True))["Levels/Price"].to_pylist() == [
        10.01,
        0.0,
        None,
    ]


def test_polars_and_back_are_exact(capture: tickwire.Capture, tmp_path: Path) -> None:
    frame = capture.to_polars()
    frame.write_parquet(tmp_path / "p.parquet")
    for taken in (frame, polars.read_parquet(tmp_path / "p.parquet"), polars.from_arrow(frame.to_arrow())):
        assert isinstance(taken, polars.DataFrame)
        for index, fixed in enumerate(FIXED):
            assert taken[f"f{index}"].to_list() == [decimal(mantissa, fixed) for mantissa, _ in PAIRS]
        assert taken["free.mantissa"].to_list() == [mantissa for mantissa, _ in PAIRS]


def test_pandas_is_exact(capture: tickwire.Capture) -> None:
    frame = capture.to_pandas()
    for index, fixed in enumerate(FIXED):
        assert list(frame[f"f{index}"]) == [decimal(mantissa, fixed) for mantissa, _ in PAIRS]


def test_what_was_decoded_is_encoded_to_the_same_bytes(tmp_path: Path) -> None:
    path, templates, _ = written(tmp_path)
    decoder, encoder = tickwire.Decoder(templates, "packet"), tickwire.Encoder(templates, "packet")
    rest = path.read_bytes()
    while rest:
        length = int.from_bytes(rest[:4], "big")
        packet, rest = rest[4 : 4 + length], rest[4 + length :]
        (message,) = decoder.decode(packet)
        encoder.begin_packet()
        assert encoder.encode({"n": "D", "msg": message.to_dict()}) == packet


def test_exponents_beyond_63_are_errors(tmp_path: Path) -> None:
    _, templates, _ = written(tmp_path)
    for exponent in (-64, 64):
        packet = b"\xc0\x81" + signed(exponent) + signed(1) * (1 + len(FIXED + APART))
        with pytest.raises(tickwire.DecodeError) as raised:
            tickwire.Decoder(templates).decode(packet)
        assert (raised.value.code, raised.value.field) == ("R1", "free")


def test_decimals_of_fix_that_have_no_place_are_kept_as_text(tmp_path: Path) -> None:
    """Columns hold numbers of up to 35 digits, at most 20 before the point and 18 after it."""
    fits = [
        "0",
        "-0.000000000000000001",
        "99999999999999999.999999999999999999",
        "1.500000000000000000000",
    ]
    too_long = [
        "100000000000000000000",
        "0.0000000000000000001",
        "-100000000000000000000.5",
        "99999999999999999999.999999999999999999",
    ]
    lines = [sealed(f"35=D|11=1|44={price}|") for price in fits + too_long]
    path = feed.write(tmp_path, "o.log", b"\n".join(lines) + b"\n")
    table = fix.open(path).table("D", ["Price"])
    assert table["Price"].to_pylist() == [*map(Decimal, fits), *[None] * len(too_long)]
    kept = [
        [entry["value"].decode() for entry in row if entry["tag"] == 44] for row in table["other"].to_pylist()
    ]
    assert kept == [[]] * len(fits) + [[text] for text in too_long]
