"""FIX sessions with misbehaving applications: wrong fields, cancelled waits, exceptions, no start."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import re
import types
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
import tickwire
from test_fix_sessions import acceptor_settings, eventually, initiator_settings, order, port_of
from tickwire import fix


class Keeps(fix.Application):
    """Keeps received messages; `toApp` and `toAdmin` return the given result."""

    def __init__(self, to_app: Any = None, to_admin: Any = None) -> None:
        self.messages: list[fix.Message] = []
        self.admin: list[fix.Message] = []
        self._to_app, self._to_admin = to_app, to_admin

    def toApp(self, message: fix.Message, session: fix.Session) -> Any:
        return self._to_app

    def toAdmin(self, message: fix.Message, session: fix.Session) -> Any:
        return self._to_admin if message.msg_type == "A" else None

    def fromApp(self, message: fix.Message, session: fix.Session) -> None:
        self.messages.append(message)

    def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
        self.admin.append(message)


@contextlib.contextmanager
def logged_on(acceptor: fix.Application, initiator: fix.Application | None = None) -> Iterator[fix.Session]:
    with (
        fix.Acceptor(acceptor_settings(), acceptor) as peer,
        fix.Initiator(initiator_settings(port_of(peer)), initiator) as client,
    ):
        (session,) = client.sessions
        assert session.wait_logged_on(20)
        yield session


def test_a_wait_that_is_cancelled_takes_no_message_back(capfd: pytest.CaptureFixture[str]) -> None:
    keeps = Keeps()
    with logged_on(keeps) as session:

        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.send(order(1)), 0)

        asyncio.run(give_up())
        sending = session.send(order(2))
        assert not sending.cancel()
        assert sending.result(20) == 3
        eventually(lambda: len(keeps.messages) == 2)
    assert "Exception ignored" not in capfd.readouterr().err


def test_what_was_sent_by_sessions_that_never_started_is_answered() -> None:
    initiator = fix.Initiator(initiator_settings(1))
    (session,) = initiator.sessions
    sending = session.send(order(1))
    initiator.stop()
    assert sending.result(20) == 1
    assert initiator.has_ended
    assert not session.wait_logged_on(20)
    with pytest.raises(tickwire.TickwireError, match="make another one"):
        initiator.start()


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("text", "it returned 'text': expected fields to add"),
        ([("Text", "x")], "expected fields to add"),
        ({"Txt": "x"}, "toApp: FixError: the dictionary has no field Txt"),
        ({"Text": None}, "None is no value of a field"),
        ({"Text": ""}, r"toApp: FixError: Text \(58\): the value is empty"),
        ({"Text": "a\x01b"}, r"Text \(58\): the value contains the delimiter"),
        ({"NoPartyIDs": [{"PartyID": "x"}]}, r"NoPartyIDs \(453\): it is no group here"),
    ],
)
def test_a_message_without_the_fields_to_add_is_withheld(
    returned: object, why: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    keeps = Keeps()
    withheld = pytest.raises(fix.FixError, match="withholds")
    with logged_on(keeps, Keeps(to_app=returned)) as session, withheld:
        session.send(order(1)).result(20)
    assert keeps.messages == []
    assert any(record.levelno == logging.ERROR for record in caplog.records)
    assert re.search(why, caplog.text), caplog.text
    assert "Exception ignored" not in capfd.readouterr().err


def test_added_fields_keep_their_bytes() -> None:
    added = types.MappingProxyType({"Text": b"\xe9\xff"})
    keeps = Keeps()
    to_admin = {"Username": "u", "RawData": b"\x01\xff=\x01"}
    with logged_on(keeps, Keeps(to_app=added, to_admin=to_admin)) as session:
        session.send(order(1)).result(20)
        eventually(lambda: len(keeps.messages) == 1)
    assert keeps.messages[0].raw("Text") == b"\xe9\xff"
    logon = keeps.admin[0]
    assert (logon.Username, logon.raw("RawDataLength"), logon.raw("RawData")) == ("u", b"4", b"\x01\xff=\x01")


def test_wrong_fields_of_a_logon_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    keeps = Keeps()
    with contextlib.suppress(AssertionError), logged_on(keeps, Keeps(to_admin={"Pasword": "x"})):
        pass
    assert "toAdmin: FixError: the dictionary has no field Pasword" in caplog.text


class Rejects(fix.Application):
    """Raises an exception for each message."""

    def __init__(self, *errors: object) -> None:
        self.errors = list(errors)

    def fromApp(self, message: fix.Message, session: fix.Session) -> None:
        error = self.errors.pop(0)
        raise error() if callable(error) else error  # pyright: ignore[reportGeneralTypeIssues]


def test_whatever_a_callback_raises_is_logged_and_sessions_go_on(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    rejects = Rejects(
        SystemExit(3),
        lambda: fix.BusinessReject("x", "3"),  # pyright: ignore[reportArgumentType]
        lambda: fix.BusinessReject("x", 1 << 40),
        lambda: fix.BusinessReject("x", 3, 5),  # pyright: ignore[reportArgumentType]
        fix.BusinessReject("no", 3, "r"),
    )
    keeps = Keeps()
    with logged_on(rejects, keeps) as session:
        for number in range(5):
            session.send(order(number)).result(20)
        eventually(lambda: len(keeps.messages) == 1)
    (reject,) = keeps.messages
    assert (reject.raw(380), reject.raw(379), reject.raw(58)) == (b"3", b"r", b"no")
    assert "fromApp raised SystemExit(3)" in caplog.text
    assert "reason '3': expected BusinessRejectReason" in caplog.text
    assert "ref_id 5: expected a str" in caplog.text
    assert "Exception ignored" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("fields", "error", "why"),
    [
        ({"Text": "a\x01b"}, fix.FixError, r"Text \(58\): the value contains the delimiter, byte 1"),
        ({"Text": ""}, fix.FixError, r"Text \(58\): the value is empty; leave the field out"),
        ({"CheckSum": "000"}, fix.FixError, r"CheckSum \(10\): the session writes it"),
        ({0: "x"}, fix.FixError, "0 is no tag"),
        ({-1: "x"}, TypeError, "-1 is no field: expected a name"),
        ({1.5: "x"}, TypeError, "1.5 is no field: expected a name"),
        ({"Price": float("nan")}, ValueError, "NaN is no number that FIX can write"),
        ({"Price": Decimal("Infinity")}, ValueError, "Infinity is no number that FIX can write"),
        ({"NoPartyIDs": [1]}, TypeError, r"NoPartyIDs \(453\): an entry is a dict of its fields"),
        ({"NoPartyIDs": [{"Symbol": "x"}]}, fix.FixError, r"NoPartyIDs \(453\) have no field Symbol \(55\)"),
        ({"NoPartyIDs": [{"PartyRole": 1}]}, fix.FixError, r"NoPartyIDs \(453\) begins with PartyID \(448\)"),
        ({"MsgType": 5}, TypeError, r"MsgType \(35\) is 5: expected a str"),
    ],
)
def test_what_cannot_be_written_is_named_at_once(
    fields: dict[str | int, object], error: type[Exception], why: str
) -> None:
    initiator = fix.Initiator(initiator_settings(1))
    with pytest.raises(error, match=why):
        initiator.sessions[0].send({"MsgType": "D", **fields})
    initiator.stop()


def test_errors_survive_pickling() -> None:
    lines = ["t.xml:1:2: one", "t.xml:3:4: two"]
    templates = pickle.loads(pickle.dumps(tickwire.TemplateError(lines)))
    assert (str(templates), templates.errors) == ("\n".join(lines), lines)
    wrong = pickle.loads(pickle.dumps(fix.FixError("x", 35, 4, 1, 9)))
    assert (str(wrong), wrong.tag, wrong.offset, wrong.reason, wrong.line) == ("x", 35, 4, 1, 9)
