"""FIX messages: parsing, access, validation."""

import datetime
from decimal import Decimal
from pathlib import Path

import pytest
import tickwire
from tickwire import fix

UTC = datetime.timezone.utc


def sealed(body: str, begin_string: str = "FIX.4.4") -> bytes:
    """Return a message with BodyLength and CheckSum; ``|`` separates fields."""
    text = body.replace("|", "\x01").encode()
    message = b"8=%s\x019=%d\x01%s" % (begin_string.encode(), len(text), text)
    return message + b"10=%03d\x01" % (sum(message) % 256)


HEADER = "35=D|34=7|49=A|52=20260105-12:30:01.123456789|56=B|"
PARTIES = "453=2|448=X|447=D|452=3|802=2|523=s1|803=1|523=s2|803=2|448=Y|447=D|452=1|"
ORDER = sealed(
    HEADER + PARTIES + "11=id|55=MSFT|54=1|60=20260105-12:30:01|38=100|40=2|44=10.50|114=N|432=20260106|"
)


def test_fields_have_the_types_of_the_dictionary() -> None:
    order = fix.parse(ORDER)
    assert (order.msg_type, order.name, order.BeginString, order.wrong) == (
        "D",
        "NewOrderSingle",
        "FIX.4.4",
        [],
    )
    assert (order.MsgSeqNum, order.ClOrdID, order.OrderQty, order.LocateReqd) == (
        7,
        "id",
        Decimal(100),
        False,
    )
    assert str(order.Price) == "10.50" and order[44] == order["Price"] == order.get("Price")
    assert order.SendingTime == datetime.datetime(2026, 1, 5, 12, 30, 1, 123456, UTC)
    assert order.raw("SendingTime") == b"20260105-12:30:01.123456789"
    assert order.ExpireDate == datetime.date(2026, 1, 6)


def test_groups_are_lists_of_entries() -> None:
    order = fix.parse(ORDER)
    assert [(party.PartyID, party.PartyRole) for party in order.NoPartyIDs] == [("X", 3), ("Y", 1)]
    first, second = order[453]
    assert [sub.PartySubID for sub in first.NoPartySubIDs] == ["s1", "s2"]
    assert (second.NoPartySubIDs, "NoPartySubIDs" in second, 447 in second) == (None, False, True)
    assert first.keys() == ["PartyID", "PartyIDSource", "PartyRole", "NoPartySubIDs"]
    # Fields of entries are not the message's own.
    assert order.PartyID is None and "PartyID" not in order
    assert order.keys().count("PartyID") == 0


def test_names_that_no_dictionary_has_are_errors_and_absent_fields_are_none() -> None:
    order = fix.parse(ORDER)
    assert order.Text is None and order.get("Text", "-") == "-" and order.raw(58) is None
    with pytest.raises(AttributeError, match="no field Txet"):
        _ = order.Txet
    for key in ("Text", "Txet", 58):
        assert key not in order
        with pytest.raises(KeyError):
            _ = order[key]


def test_fields_are_as_on_the_wire() -> None:
    order = fix.parse(ORDER)
    assert bytes(order) == ORDER == b"".join(b"%d=%s\x01" % field for field in order.fields())
    assert order == fix.parse(ORDER.replace(b"\x01", b"|")) and order != fix.parse(sealed("35=0|"))
    assert len({order, fix.parse(ORDER)}) == 1
    assert "Price" in str(order) and repr(order).startswith("<Message 8=FIX.4.4|9=")


@pytest.mark.parametrize("separator", ["|", "\x01", "^A", ";", " | ", "<SOH>"])
def test_any_separator_is_found_or_given(separator: str) -> None:
    text = ORDER.decode().replace("\x01", separator)
    assert fix.parse(text) == fix.parse(text, separator) == fix.parse(text.encode(), separator.encode())
    assert bytes(fix.parse(f"12:30 out [{text}]")) == ORDER


@pytest.mark.parametrize(
    ("text", "tag", "offset"),
    [
        (ORDER.replace(b"10.50", b"10.51"), 10, len(ORDER) - 7),
        (ORDER.replace(b"\x019=", b"\x019=1", 1), 9, 10),
        (ORDER[:-7], 10, len(ORDER) - 7),
        (b"35=D|55=X|10=001|", None, None),
        (b"8=FIX.4.4", None, None),
        (b"nothing", None, None),
        (ORDER + ORDER, None, None),
        (b"", None, None),
    ],
)
def test_what_is_garbled_is_an_error_with_its_place(text: bytes, tag: int | None, offset: int | None) -> None:
    with pytest.raises(fix.FixError) as raised:
        fix.parse(text)
    assert isinstance(raised.value, tickwire.TickwireError)
    assert (raised.value.tag, raised.value.offset, raised.value.reason) == (tag, offset, None)


def test_checks_may_be_left_out() -> None:
    order = fix.parse(ORDER.replace(b"10.50", b"10.51"), checks=False)
    assert order.Price == Decimal("10.51") and [text[:13] for text in order.wrong] == ["CheckSum (10)"]
    assert [error.tag for error in order.validate()] == [10]
    with pytest.raises(fix.FixError, match="separator"):
        fix.parse(ORDER[:-1], "")


def test_validation_says_what_a_session_would_reject() -> None:
    assert fix.validate(ORDER) == []
    cases = [
        (b"54=1", b"54=Q", 54, 5),
        (b"44=10.50", b"44=1e500", 44, 6),
        (b"55=MSFT", b"9999=x1", 9999, 0),
        (b"453=2", b"453=3", 453, 16),
        (b"40=2", b"40=", 40, 4),
    ]
    for old, new, tag, reason in cases:
        body = ORDER.split(b"\x01", 2)[2][:-7].replace(old, new).replace(b"\x01", b"|")
        (error,) = fix.validate(sealed(body.decode()))
        assert (error.tag, error.reason) == (tag, reason), error
        assert error.offset is not None and str(tag) in str(error)
    (error,) = fix.validate(sealed("35=0|", "FIX.9.9"))
    assert "FIX.9.9" in str(error)


def test_values_that_their_type_does_not_allow_are_errors() -> None:
    message = fix.parse(sealed("35=D|44=1,5|114=x|52=20261399-00:00:00|60=20261231-23:59:60|"))
    for key, tag, reason in [
        ("Price", 44, 6),
        (114, 114, 6),
        ("SendingTime", 52, 6),
        ("TransactTime", 60, None),
    ]:
        with pytest.raises(fix.FixError) as raised:
            _ = message[key]
        assert (raised.value.tag, raised.value.reason) == (tag, reason)
    assert message.raw("TransactTime") == b"20261231-23:59:60"


def test_times_with_zones_and_data_and_bytes_that_are_no_text() -> None:
    body = "35=AE|1132=20260105-08:30:00.25+05:30|1079=12:30:00Z|273=12:30:00.5|95=3|96=a|b|58=\xff|"
    message = fix.parse(sealed(body, "FIX.5.0SP2").replace(b"\xc3\xbf", b"\xff"), checks=False)
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    assert message.TZTransactTime == datetime.datetime(2026, 1, 5, 8, 30, 0, 250000, zone)
    assert message.MaturityTime == datetime.time(12, 30, tzinfo=UTC)
    assert message.MDEntryTime == datetime.time(12, 30, 0, 500000, UTC)
    assert (message.RawData, message.Text) == (b"a\x01b", b"\xff")


def test_dictionaries_are_files_versions_or_text(tmp_path: Path) -> None:
    standard = fix.Dictionary.version("FIX.4.4")
    assert (standard.begin_string, standard.tag("Price"), standard.name(44)) == ("FIX.4.4", 44, "Price")
    assert standard.tag("Nothing") is None and standard.name(99999) is None
    assert standard.values("Side")["1"] == "BUY" and standard.values("Price") == {}
    assert standard.messages["D"] == "NewOrderSingle"
    with pytest.raises(KeyError):
        standard.values("Nothing")
    latest = fix.Dictionary.version("FIX50SP2")
    assert (latest.begin_string, latest.messages["A"]) == ("FIX.5.0SP2", "Logon")
    xml = (
        "<fix major='4' minor='4'><header/><trailer/><messages><message name='Own' msgtype='U1' msgcat='app'>"
        "<field name='Colour' required='N'/></message></messages><components/>"
        "<fields><field number='7001' name='Colour' type='INT'/></fields></fix>"
    )
    path = tmp_path / "own.xml"
    path.write_text(xml)
    for own in (fix.Dictionary(path), fix.Dictionary.parse(xml)):
        message = fix.parse(sealed("35=U1|7001=12|"), dictionary=own)
        assert (message.name, message.Colour) == ("Own", 12)
    with pytest.raises(tickwire.TickwireError, match="expected one of FIX40"):
        fix.Dictionary.version("FIX.9.9")
    with pytest.raises(tickwire.TickwireError, match="cannot read"):
        fix.Dictionary(tmp_path / "none.xml")
    with pytest.raises(tickwire.TickwireError):
        fix.Dictionary.parse("<fix")


def test_versions_that_are_not_known_have_tags_alone() -> None:
    message = fix.parse(sealed("35=D|44=10.50|", "FIX.9.9"))
    assert (message.name, message[44], message.keys()) == (None, "10.50", [8, 9, 35, 44, 10])


def test_to_dict_has_numbers_meanings_and_entries() -> None:
    message = fix.parse(ORDER).to_dict()
    assert list(message) == ["msg_type", "name", "fields"]
    fields = {field["name"]: field for field in message["fields"]}
    assert fields["Price"] == {"tag": 44, "name": "Price", "value": Decimal("10.50")}
    assert fields["Side"] == {"tag": 54, "name": "Side", "value": "1", "meaning": "BUY"}
    entry = [field["name"] for field in fields["NoPartyIDs"]["entries"][1]]
    assert entry == ["PartyID", "PartyIDSource", "PartyRole"]
    wrong = fix.parse(ORDER.replace(b"10.50", b"10.51"), checks=False)
    assert wrong.to_dict()["wrong"] == wrong.wrong
