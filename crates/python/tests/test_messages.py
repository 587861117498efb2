"""Messages of a capture, one by one."""

import datetime
import os
import pickle
import threading
from decimal import Decimal
from pathlib import Path

import feed
import pandas
import pytest
import tickwire

QUOTES = [
    feed.quote("AB", 3, [(1001, 5), (1000, 7)]),
    feed.status(9, b"\x00\xff"),
    feed.quote("C", None, []),
]


def capture(directory: Path, packets: list[bytes] = QUOTES, **options: object) -> tickwire.Capture:
    templates = feed.write(directory, "t.xml", feed.TEMPLATES)
    path = feed.write(directory, "c.bin", feed.prefixed(packets))
    return tickwire.open(path, templates, input_format="u32be", **options)  # type: ignore[arg-type]


def test_messages_come_in_order_with_their_place(tmp_path: Path) -> None:
    messages = list(capture(tmp_path))
    assert [(m.template, m.id, m.packet, m.offset, m.time) for m in messages] == [
        ("Quote", 1, 0, 0, None),
        ("Status", 2, 1, 0, None),
        ("Quote", 1, 2, 0, None),
    ]
    assert messages[0].length == len(QUOTES[0])


def test_another_session_of_a_capture_begins_with_empty_dictionaries(tmp_path: Path) -> None:
    xml = '<templates><template name="T" id="1"><int32 name="Price"><delta/></int32></template></templates>'
    templates = tickwire.TemplateSet.parse(xml)
    session = [b"\xc0\x81\x8a", b"\x80\x81"]
    path = feed.write(tmp_path, "joined.bin", feed.prefixed(session + session))
    one = tickwire.open(path, templates, input_format="u32be")
    two = tickwire.open(path, templates, input_format="u32be", reset_at=[2])
    assert [message.Price for message in one] == [10, 11, 21, 22]
    assert [message.Price for message in two] == [10, 11, 10, 11]
    assert two.table()["Price"].to_pylist() == [10, 11, 10, 11]
    assert "21" in str(one.explain(2))
    assert "21" not in str(two.explain(2))


def test_fields_are_attributes_and_items(tmp_path: Path) -> None:
    first, second, third = capture(tmp_path)
    assert (first.Symbol, first.Count, first.Last) == ("AB", 3, None)
    assert [(level.Price, level["Size"]) for level in first.Levels] == [
        (Decimal("10.01"), 5),
        (Decimal("10.00"), 7),
    ]
    assert str(first.Levels[1].Price) == "10.00"
    assert second.Raw == b"\x00\xff"
    assert (third.Count, third.Levels) == (None, [])
    assert first.keys() == ["Symbol", "Count", "Last", "Levels"]
    assert "Symbol" in first and "State" not in first
    with pytest.raises(AttributeError, match="no field State"):
        _ = first.State
    with pytest.raises(KeyError):
        _ = first["State"]


def test_dictionaries_are_as_decode_writes_them(tmp_path: Path) -> None:
    assert [message.to_dict() for message in capture(tmp_path)] == [
        {
            "Symbol": "AB",
            "Count": 3,
            "Last": None,
            "Levels": [
                {"Price": {"m": 1001, "e": -2}, "Size": 5},
                {"Price": {"m": 1000, "e": -2}, "Size": 7},
            ],
        },
        {"State": 9, "Raw": {"hex": "00ff"}},
        {"Symbol": "C", "Count": None, "Last": None, "Levels": []},
    ]


def test_messages_and_fields_may_be_chosen(tmp_path: Path) -> None:
    chosen = capture(tmp_path, messages=["Quote"], fields=["Symbol", "Levels/Size"])
    assert [message.to_dict() for message in chosen] == [
        {"Symbol": "AB", "Levels": [{"Size": 5}, {"Size": 7}]},
        {"Symbol": "C", "Levels": []},
    ]
    assert [m.template for m in capture(tmp_path, messages=[2])] == ["Status"]
    with pytest.raises(ValueError, match="Nothing"):
        capture(tmp_path, messages=["Nothing"])
    with pytest.raises(tickwire.TickwireError, match="Nothing"):
        capture(tmp_path, fields=["Nothing"])


@pytest.mark.parametrize("reset", ["packet", "never"])
def test_a_range_of_time_is_up_to_its_end(tmp_path: Path, reset: str) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    second = 10**9
    packets = [(time * second, feed.status(time, b"")) for time in range(1, 6)]
    path = feed.write(tmp_path, "c.pcap", feed.pcap(packets))

    def states(**options: datetime.datetime | int) -> list[int]:
        return [m.State for m in tickwire.open(path, templates, reset=reset, **options)]  # type: ignore[arg-type]

    assert states() == [1, 2, 3, 4, 5]
    assert states(start=2 * second, end=4 * second) == [2, 3]
    zone = datetime.timezone(datetime.timedelta(hours=1))
    assert states(start=datetime.datetime(1970, 1, 1, 1, 0, 4, tzinfo=zone)) == [4, 5]
    with pytest.raises(ValueError, match="time zone"):
        states(start=datetime.datetime(1970, 1, 1))
    assert states(start=pandas.Timestamp(3 * second, tz="UTC")) == [3, 4, 5]  # pyright: ignore[reportArgumentType]
    assert states(start=pandas.Timestamp(3 * second + 1, tz="UTC")) == [4, 5]  # pyright: ignore[reportArgumentType]


def test_times_that_go_back_are_warnings(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    packets = [(time * 1000, feed.status(time, b"")) for time in [1, 9, 5, 10]]
    opened = tickwire.open(feed.write(tmp_path, "c.pcap", feed.pcap(packets)), templates)
    assert [message.State for message in opened] == [1, 9, 5, 10]
    (warning,) = opened.warnings
    assert warning.startswith("1 packet with a time before that of an earlier packet, by up to 4µs")
    assert opened.error_count == 0


def test_what_cannot_be_decoded_is_raised_and_iteration_goes_on(tmp_path: Path) -> None:
    broken = [QUOTES[0], b"\xc0\x85\x80", QUOTES[1], QUOTES[1][:-1], QUOTES[2]]
    messages = iter(capture(tmp_path, broken, reset="packet"))
    assert next(messages).template == "Quote"
    with pytest.raises(tickwire.DecodeError) as raised:
        next(messages)
    assert (raised.value.code, raised.value.packet, raised.value.offset) == ("D9", 1, 1)
    assert next(messages).template == "Status"
    with pytest.raises(tickwire.DecodeError) as raised:
        next(messages)
    error = raised.value
    assert (error.template, error.field, error.packet) == ("Status", "Raw", 3)
    assert next(messages).Symbol == "C"
    assert next(messages, None) is None


def test_errors_may_be_kept(tmp_path: Path) -> None:
    kept = capture(tmp_path, [QUOTES[0], b"\xc0\x85\x80", QUOTES[1]], reset="packet", on_error="keep")
    assert (kept.errors, kept.error_count) == ([], 0)
    assert [message.template for message in kept] == ["Quote", "Status"]
    [error] = kept.errors
    assert isinstance(error, tickwire.DecodeError)
    assert (error.code, error.packet, kept.error_count) == ("D9", 1, 1)


def test_what_is_wrong_with_files_is_told_when_they_are_opened(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    path = feed.write(tmp_path, "c.bin", feed.prefixed(QUOTES))
    with pytest.raises(tickwire.TickwireError, match="nowhere.bin"):
        tickwire.open(tmp_path / "nowhere.bin", templates)
    with pytest.raises(tickwire.TickwireError, match="nowhere.xml"):
        tickwire.open(path, tmp_path / "nowhere.xml")
    with pytest.raises(tickwire.TickwireError):
        tickwire.open(feed.write(tmp_path, "x.pcap", b"\xd4\xc3\xb2\xa1"), templates)
    for option in ("framing", "reset", "input_format", "on_error"):
        with pytest.raises(ValueError, match=option):
            tickwire.open(path, templates, **{option: "nonsense"})  # type: ignore[arg-type]


def test_everything_that_is_wrong_in_templates_is_told(tmp_path: Path) -> None:
    xml = '<templates><template name="T" id="1"><uInt32/><string nam="x"/></template></templates>'
    path = feed.write(tmp_path, "w.xml", xml)
    lines = tickwire.TemplateSet.check(path)
    assert len(lines) >= 2 and all(line.startswith(f"{path}: ") for line in lines)
    with pytest.raises(tickwire.TemplateError) as raised:
        tickwire.TemplateSet(path)
    assert raised.value.errors == lines
    good = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    assert tickwire.TemplateSet.check(good) == []
    assert tickwire.TemplateSet(good).names == ["Quote", "Status"]
    assert tickwire.TemplateSet(good).signature == tickwire.TemplateSet.parse(feed.TEMPLATES).signature
    twice = tickwire.TemplateSet.check([good, good])
    assert len(twice) == 1, "a template of each name in both files"


def test_a_decoder_takes_packets() -> None:
    decoder = tickwire.Decoder(tickwire.TemplateSet.parse(feed.TEMPLATES))
    messages = decoder.decode(QUOTES[0] + QUOTES[1])
    assert [(m.template, m.offset) for m in messages] == [("Quote", 0), ("Status", len(QUOTES[0]))]
    with pytest.raises(tickwire.DecodeError) as raised:
        decoder.decode(QUOTES[1] + b"\xc0\x85")
    assert (raised.value.code, raised.value.offset) == ("D9", len(QUOTES[1]) + 1)
    decoder.reset()
    assert decoder.decode(QUOTES[2])[0].Symbol == "C"


def test_threads_may_share_a_capture(tmp_path: Path) -> None:
    shared = capture(tmp_path, QUOTES * 200)
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(sum(1 for _ in shared))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [600] * 4


def test_what_was_decoded_is_encoded_to_the_same_bytes() -> None:
    templates = tickwire.TemplateSet.parse(feed.TEMPLATES)
    decoder, encoder = tickwire.Decoder(templates), tickwire.Encoder(templates)
    for packet in QUOTES:
        [message] = decoder.decode(packet)
        assert encoder.encode({"n": message.template, "msg": message.to_dict()}) == packet
    encoder.begin_packet()


def test_values_may_be_as_attributes_have_them() -> None:
    encoder = tickwire.Encoder(tickwire.TemplateSet.parse(feed.TEMPLATES))
    levels = [{"Price": Decimal("10.01"), "Size": 5}, {"Price": Decimal("10.00"), "Size": 7}]
    quote = {"t": 1, "msg": {"Symbol": "AB", "Count": 3, "Last": None, "Levels": levels}}
    assert encoder.encode(quote) == QUOTES[0]
    assert encoder.encode({"n": "Status", "msg": {"State": 9, "Raw": b"\x00\xff"}})[-2:] == b"\x00\xff"


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        ({"n": "Quote", "msg": {"Symbol": "A"}}, tickwire.EncodeError, "Levels"),
        (
            {"n": "Status", "msg": {"State": "x", "Raw": b""}},
            tickwire.EncodeError,
            "field State: expected an integer",
        ),
        ({"n": "Status", "msg": {"State": 1.5, "Raw": b""}}, TypeError, "float"),
        ({"n": "Nothing", "msg": {}}, tickwire.EncodeError, "Nothing"),
        ({"n": "Status", "msg": {"Sate": 1}}, tickwire.EncodeError, "there are State, Raw"),
    ],
)
def test_what_cannot_be_encoded_is_named(
    message: dict[str, object], error: type[Exception], text: str
) -> None:
    encoder = tickwire.Encoder(tickwire.TemplateSet.parse(feed.TEMPLATES))
    with pytest.raises(error, match=text):
        encoder.encode(message)


def test_pipes_are_refused_because_they_can_be_read_once(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", feed.TEMPLATES)
    os.mkfifo(tmp_path / "pipe")
    for framing in ["none", "auto"]:
        with pytest.raises(tickwire.TickwireError, match="is a pipe, but a capture is read more than once"):
            tickwire.open(tmp_path / "pipe", templates, input_format="u32be", framing=framing)


def test_messages_before_an_error_are_those_of_the_exception() -> None:
    templates = tickwire.TemplateSet.parse(
        '<templates><template name="T" id="1"><uInt32 name="Id"><increment/></uInt32></template></templates>'
    )
    decoder = tickwire.Decoder(templates, reset="never")
    with pytest.raises(tickwire.DecodeError) as raised:
        decoder.decode(bytes.fromhex("e08187 c081 c089"))
    assert (raised.value.code, raised.value.offset) == ("D9", 6)
    assert [message.Id for message in raised.value.messages] == [7, 8]
    # The dictionaries are those after the messages that were decoded.
    decoder.reset()
    with pytest.raises(tickwire.DecodeError) as raised:
        decoder.decode(bytes.fromhex("c089"))
    assert raised.value.messages == []


def test_errors_of_a_packet_with_messages_can_be_pickled() -> None:
    templates = tickwire.TemplateSet.parse(feed.TEMPLATES)
    with pytest.raises(tickwire.DecodeError) as raised:
        tickwire.Decoder(templates).decode(feed.status(1, b"x") + bytes.fromhex("c089"))
    assert len(raised.value.messages) == 1
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.code, again.offset, again.messages) == (str(raised.value), "D9", 6, [])
