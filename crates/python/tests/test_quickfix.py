"""Programs in QuickFIX's style: an exchange and a client over loopback, with `import tickwire.quickfix as fix`."""

from __future__ import annotations

import datetime
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import tickwire.quickfix as fix
from tickwire.fix import FixError


class Executor(fix.Application):
    """QuickFIX's example executor.py, as it is, for FIX 4.0 to 4.4."""

    orderID = 0
    execID = 0

    def onCreate(self, sessionID):
        return

    def onLogon(self, sessionID):
        return

    def onLogout(self, sessionID):
        return

    def toAdmin(self, message, sessionID):
        return

    def toApp(self, message, sessionID):
        return

    def fromAdmin(self, message, sessionID):
        return

    def fromApp(self, message, sessionID):
        beginString = fix.BeginString()
        msgType = fix.MsgType()
        message.getHeader().getField(beginString)
        message.getHeader().getField(msgType)
        if msgType.getValue() != fix.MsgType_NewOrderSingle:
            raise fix.UnsupportedMessageType

        symbol = fix.Symbol()
        side = fix.Side()
        ordType = fix.OrdType()
        orderQty = fix.OrderQty()
        price = fix.Price()
        clOrdID = fix.ClOrdID()

        message.getField(ordType)
        if ordType.getValue() != fix.OrdType_LIMIT:
            raise fix.IncorrectTagValue(ordType.getField())

        message.getField(symbol)
        message.getField(side)
        message.getField(orderQty)
        message.getField(price)
        message.getField(clOrdID)

        executionReport = fix.Message()
        executionReport.getHeader().setField(beginString)
        executionReport.getHeader().setField(fix.MsgType(fix.MsgType_ExecutionReport))

        executionReport.setField(fix.OrderID(self.genOrderID()))
        executionReport.setField(fix.ExecID(self.genExecID()))
        executionReport.setField(fix.OrdStatus(fix.OrdStatus_FILLED))
        executionReport.setField(symbol)
        executionReport.setField(side)
        executionReport.setField(fix.CumQty(orderQty.getValue()))
        executionReport.setField(fix.AvgPx(price.getValue()))
        executionReport.setField(fix.LastShares(orderQty.getValue()))
        executionReport.setField(fix.LastPx(price.getValue()))
        executionReport.setField(clOrdID)
        executionReport.setField(orderQty)

        if beginString.getValue() in (fix.BeginString_FIX40, fix.BeginString_FIX41, fix.BeginString_FIX42):
            executionReport.setField(fix.ExecTransType(fix.ExecTransType_NEW))

        if beginString.getValue() >= fix.BeginString_FIX41:
            if beginString.getValue() <= fix.BeginString_FIX42:
                executionReport.setField(fix.ExecType(fix.ExecType_FILL))
            else:
                executionReport.setField(fix.ExecType(fix.ExecType_TRADE))
            executionReport.setField(fix.LeavesQty(0))

        try:
            fix.Session.sendToTarget(executionReport, sessionID)
        except fix.SessionNotFound:
            return

    def genOrderID(self):
        self.orderID = self.orderID + 1
        return str(self.orderID)

    def genExecID(self):
        self.execID = self.execID + 1
        return str(self.execID)


class Client(fix.Application):
    """Keeps the messages of all callbacks."""

    def __init__(self) -> None:
        self.messages: list[fix.Message] = []
        self.admin: list[fix.Message] = []
        self.log: list[str] = []

    def onCreate(self, sessionID: fix.SessionID) -> None:
        self.log.append(f"create {sessionID}")

    def onLogon(self, sessionID: fix.SessionID) -> None:
        self.log.append(f"logon {sessionID}")

    def onLogout(self, sessionID: fix.SessionID) -> None:
        self.log.append(f"logout {sessionID}")

    def toAdmin(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        msgType = fix.MsgType()
        message.getHeader().getField(msgType)
        begin = message.getHeader().getField(8)
        if msgType.getValue() == fix.MsgType_Logon and begin >= fix.BeginString_FIX43:
            message.setField(fix.Username("me"))
            message.setField(fix.Password("secret"))

    def toApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        if message.getField(11) == "withheld":
            raise fix.DoNotSend

    def fromAdmin(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        self.admin.append(message)

    def fromApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        self.messages.append(message)


def eventually(has_come: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not has_come():
        assert time.monotonic() < until
        time.sleep(0.01)


ACCEPTOR = """[DEFAULT]
ConnectionType=acceptor
SocketAcceptAddress=127.0.0.1
SocketAcceptPort={port}
FileStorePath={directory}/exchange-store
FileLogPath={directory}/exchange-log
StartTime=00:00:00
EndTime=00:00:00

[SESSION]
BeginString={version}
SenderCompID=EXCHANGE
TargetCompID=CLIENT
"""
INITIATOR = """[DEFAULT]
ConnectionType=initiator
SocketConnectHost=127.0.0.1
SocketConnectPort={port}
HeartBtInt=30
ReconnectInterval=1
FileStorePath={directory}/client-store
FileLogPath={directory}/client-log
StartTime=00:00:00
EndTime=00:00:00

[SESSION]
BeginString={version}
SenderCompID=CLIENT
TargetCompID=EXCHANGE
"""


def write(directory: Path, version: str = "FIX.4.4") -> tuple[str, str]:
    """Settings files of an acceptor and an initiator."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for name, text in (("exchange.cfg", ACCEPTOR), ("client.cfg", INITIATOR)):
        (directory / name).write_text(text.format(port=port, directory=directory, version=version))
    return str(directory / "exchange.cfg"), str(directory / "client.cfg")


def order(identity: str, version: str = "FIX.4.4", ord_type: str | None = None) -> fix.Message:
    message = fix.Message()
    message.getHeader().setField(fix.BeginString(version))
    message.getHeader().setField(fix.MsgType(fix.MsgType_NewOrderSingle))
    message.setField(fix.ClOrdID(identity))
    message.setField(fix.HandlInst("1"))
    message.setField(fix.Symbol("MSFT"))
    message.setField(fix.Side(fix.Side_BUY))
    if version >= fix.BeginString_FIX42:
        message.setField(fix.TransactTime())
    message.setField(fix.OrderQty(100))
    message.setField(fix.OrdType(fix.OrdType_LIMIT if ord_type is None else ord_type))
    message.setField(fix.Price(Decimal("10.50")))
    return message


Sessions = tuple[Client, fix.SessionID, str]


@pytest.fixture
def sessions(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """A client that is logged on to an exchange; the parameter is BeginString and the exchange's application."""
    version, exchange = getattr(request, "param", ("FIX.4.4", Executor))
    acceptor_file, initiator_file = write(tmp_path, version)
    settings = fix.SessionSettings(acceptor_file)
    store, log = fix.FileStoreFactory(settings), fix.FileLogFactory(settings)
    acceptor = fix.SocketAcceptor(exchange(), store, settings, log)
    acceptor.start()
    client = Client()
    settings = fix.SessionSettings(initiator_file)
    store, log = fix.FileStoreFactory(settings), fix.FileLogFactory(settings)
    initiator = fix.SocketInitiator(client, store, settings, log)
    initiator.start()
    eventually(lambda: len(client.log) == 2)
    [session] = initiator.getSessions()
    yield client, session, version
    initiator.stop()
    acceptor.stop()
    assert client.log == [f"{name} {session}" for name in ("create", "logon", "logout")]


@pytest.mark.parametrize("sessions", [(f"FIX.4.{minor}", Executor) for minor in range(5)], indirect=True)
def test_the_executor_fills_orders(sessions: Sessions, tmp_path: Path) -> None:
    client, session, version = sessions
    assert fix.Session.sendToTarget(order("o1", version), session) is True
    assert fix.Session.sendToTarget(order("o2", version), "CLIENT", "EXCHANGE") is True
    eventually(lambda: len(client.messages) == 2)
    report = client.messages[0]
    status, price, sending_time = fix.OrdStatus(), fix.AvgPx(), fix.SendingTime()
    assert report.getField(status).getValue() == fix.OrdStatus_FILLED
    assert report.getField(price).getValue() == 10.5
    age = datetime.datetime.now(datetime.timezone.utc) - report.getHeader().getField(sending_time).getValue()
    assert datetime.timedelta(seconds=-1) < age < datetime.timedelta(seconds=60)
    assert report.getField(11) == "o1" and not report.isSetField(fix.Text())
    # The text of the report is that of the wire: BodyLength and CheckSum are right.
    assert report.toString().endswith(f"\x0110={report.getTrailer().getField(10)}\x01")
    assert fix.Message(report.toString()).toString() == report.toString()
    assert (tmp_path / "client-store").is_dir() and (tmp_path / "client-log").is_dir()


def test_messages_are_rejected_and_withheld(sessions: Sessions, caplog: pytest.LogCaptureFixture) -> None:
    client, session, _ = sessions
    # OrdType is wrong, so the answer is a Reject that names this field.
    fix.Session.sendToTarget(order("o1", ord_type=fix.OrdType_STOP), session)
    eventually(lambda: client.admin[-1].getHeader().getField(35) == fix.MsgType_Reject)
    assert (client.admin[-1].getField(373), client.admin[-1].getField(371)) == ("5", "40")
    # Business Message Rejects answer a message without a field, and one of a type that the executor lacks.
    missing = order("o2")
    missing.removeField(fix.Price())
    fix.Session.sendToTarget(missing, session)
    cancel = order("o3")
    cancel.getHeader().setField(fix.MsgType(fix.MsgType_OrderCancelRequest))
    for tag in (21, 40, 44):
        cancel.removeField(tag)
    cancel.setField(fix.OrigClOrdID("o1"))
    fix.Session.sendToTarget(cancel, session)
    eventually(lambda: len(client.messages) == 2)
    told = [(message.getField(380), message.getField(372)) for message in client.messages]
    assert told == [("5", "D"), ("3", "F")]
    assert client.messages[0].getField(58) == "Conditionally Required Field Missing (44)"
    fix.Session.sendToTarget(order("withheld"), session)
    fix.Session.sendToTarget(order("o4"), session)
    eventually(lambda: len(client.messages) == 3)
    assert client.messages[2].getField(11) == "o4"
    assert "withholds" in caplog.text


class Echo(fix.Application):
    """Sends the parties of an order back, in the text of a rejection."""

    def fromAdmin(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        if (
            message.isSetField(fix.RawData())
            or message.getField(553) != "me"
            or message.getField(554) != "secret"
        ):
            raise fix.RejectLogon("who are you")

    def fromApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        answer = fix.Message()
        answer.getHeader().setField(fix.MsgType(fix.MsgType_BusinessMessageReject))
        answer.setField(fix.RefMsgType(fix.MsgType_NewOrderSingle))
        answer.setField(fix.BusinessRejectReason(fix.BusinessRejectReason_OTHER))
        parts = []
        party, sub = fix.Group(453, 448), fix.Group(802, 523)
        for number in range(1, message.groupCount(453) + 1):
            message.getGroup(number, party)
            subs = [party.getGroup(at + 1, sub).getField(523) for at in range(party.groupCount(802))]
            parts.append(f"{party.getField(fix.PartyID()).getValue()}:{party.getField(452)}:{','.join(subs)}")
        answer.setField(fix.Text(" ".join(parts)))
        fix.Session.sendToTarget(answer, sessionID)


@pytest.mark.parametrize("sessions", [("FIX.4.4", Echo)], indirect=True)
def test_groups_go_both_ways(sessions: Sessions) -> None:
    client, session, _ = sessions
    message = order("o1")
    for name, subs in (("BANK", ["x", "y"]), ("DESK", [])):
        party = fix.Group(453, 448)
        party.setField(fix.PartyRole(3))
        party.setField(fix.PartyID(name))
        for sub in subs:
            group = fix.Group(802, 523)
            group.setField(fix.PartySubID(sub))
            group.setField(fix.PartySubIDType(1))
            party.addGroup(group)
        message.addGroup(party)
    # Programs often set the count too; another count is an error.
    message.setField(fix.NoPartyIDs(2))
    with pytest.raises(ValueError, match="field 453 says 1, and the group has 2 entries"):
        message.setField(453, "1")
    text = message.toString().replace("\x01", "|")
    assert "|453=2|448=BANK|452=3|802=2|523=x|803=1|523=y|803=1|448=DESK|452=3|" in text
    fix.Session.sendToTarget(message, session)
    eventually(lambda: len(client.messages) == 1)
    assert client.messages[0].getField(58) == "BANK:3:x,y DESK:3:"
    with pytest.raises(fix.FieldNotFound):
        message.getGroup(3, fix.Group(453, 448))


def test_a_named_value_is_what_its_field_returns() -> None:
    assert fix.PossDupFlag(True).getValue() == fix.PossDupFlag_YES
    assert fix.PossDupFlag_NO is False
    assert fix.Side_BUY == fix.Side("1").getValue()
    assert fix.PartyRole(3).getValue() == fix.PartyRole_CLIENT_ID


def test_files_keep_numbers_and_memory_does_not(tmp_path: Path) -> None:
    acceptor_file, initiator_file = write(tmp_path)

    def run(in_files: bool) -> str:
        """The MsgSeqNum of the exchange's Logon."""
        client = Client()
        connectors: list[fix.SocketAcceptor | fix.SocketInitiator] = []
        for kind, file, application in (
            (fix.SocketAcceptor, acceptor_file, Executor()),
            (fix.SocketInitiator, initiator_file, client),
        ):
            settings = fix.SessionSettings(file)
            store = fix.FileStoreFactory(settings) if in_files else fix.MemoryStoreFactory()
            connectors.append(kind(application, store, settings))
            connectors[-1].start()
        eventually(lambda: client.admin)
        for connector in reversed(connectors):
            connector.stop()
        return client.admin[0].getHeader().getField(34)

    assert [run(in_files) for in_files in (False, False, True, True)] == ["1", "1", "1", "3"]
    # Without a factory there is no log.
    assert not list(tmp_path.glob("*-log"))


@pytest.fixture
def exchange(tmp_path: Path) -> Iterator[fix.SessionSettings]:
    """An exchange that runs, and the settings of its client."""
    acceptor_file, initiator_file = write(tmp_path)
    settings = fix.SessionSettings(acceptor_file)
    acceptor = fix.SocketAcceptor(Executor(), fix.MemoryStoreFactory(), settings)
    acceptor.start()
    yield fix.SessionSettings(initiator_file)
    acceptor.stop()


def test_a_log_on_the_screen_shows_no_password(
    exchange: fix.SessionSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client()
    initiator = fix.SocketInitiator(
        client, fix.MemoryStoreFactory(), exchange, fix.ScreenLogFactory(exchange)
    )
    initiator.start()
    eventually(lambda: len(client.log) == 2)
    initiator.stop()
    told = capsys.readouterr().out
    assert "FIX.4.4:CLIENT->EXCHANGE, event>\n  (Logged on)" in told
    assert "|553=me|554=***|" in told and "secret" not in told
    assert "FIX.4.4:CLIENT->EXCHANGE, incoming>\n  (8=FIX.4.4|" in told


class Changing(Client):
    """Changes messages before they are sent."""

    def __init__(self, change: Callable[[Any], object]) -> None:
        super().__init__()
        self.change = change

    def toApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
        self.change(message)


@pytest.mark.parametrize(
    "change",
    [
        lambda message: message.setField(fix.Price(11)),
        lambda message: message.getHeader().setField(fix.SenderSubID("x")),
        lambda message: message.removeField(44),
        lambda message: message.addGroup(fix.Group(453, 448)),
        lambda message: message.clear(),
    ],
)
def test_a_message_is_not_sent_if_a_callback_cannot_change_it(
    exchange: fix.SessionSettings, change: Callable[[Any], object], caplog: pytest.LogCaptureFixture
) -> None:
    client = Changing(change)
    initiator = fix.SocketInitiator(client, fix.MemoryStoreFactory(), exchange)
    initiator.start()
    eventually(initiator.isLoggedOn)
    [session] = initiator.getSessions()
    with caplog.at_level(logging.ERROR, "tickwire.fix"):
        fix.Session.sendToTarget(order("o1"), session)
        eventually(lambda: "withholds" in caplog.text)
    # A field that the message has may be set to the same value.
    client.change = lambda message: (message.setField(44, "10.50"), message.setField(fix.Text("added")))
    fix.Session.sendToTarget(order("o2"), session)
    eventually(lambda: len(client.messages) == 1)
    initiator.stop()
    assert "a callback can add fields of the body" in caplog.text
    assert client.messages[0].getField(11) == "o2"


def test_a_logon_is_refused_by_its_exception(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Closed(Executor):
        def fromAdmin(self, message, sessionID):
            raise fix.RejectLogon("closed today")

    acceptor_file, initiator_file = write(tmp_path)
    settings = fix.SessionSettings(acceptor_file)
    acceptor = fix.SocketAcceptor(Closed(), fix.MemoryStoreFactory(), settings)
    client, settings = Client(), fix.SessionSettings(initiator_file)
    initiator = fix.SocketInitiator(client, fix.MemoryStoreFactory(), settings)
    acceptor.start()
    initiator.start()
    eventually(lambda: "closed today" in caplog.text)
    initiator.stop()
    acceptor.stop()
    assert len(client.log) == 1


def test_block_ends_with_stop(tmp_path: Path) -> None:
    _, initiator_file = write(tmp_path)
    settings = fix.SessionSettings(initiator_file)
    initiator = fix.SocketInitiator(Client(), fix.MemoryStoreFactory(), settings)
    thread = threading.Thread(target=initiator.block)
    thread.start()
    time.sleep(0.2)
    initiator.stop()
    thread.join(20)
    assert not thread.is_alive() and initiator.isStopped()


def test_fields_have_their_types() -> None:
    assert fix.OrderQty(100).getString() == "100" and fix.OrderQty(100).getValue() == 100.0
    assert fix.AvgPx(0.1).getString() == "0.1"
    assert fix.HeartBtInt(30).getValue() == 30 and fix.ResetSeqNumFlag(True).getString() == "Y"
    assert fix.Symbol().getField() == 55 and fix.Symbol.__name__ == "Symbol"
    stamp = fix.TransactTime()
    assert datetime.datetime.now(datetime.timezone.utc) - stamp.getValue() < datetime.timedelta(seconds=60)
    stamp.setString("20260105-12:30:00.123456789")
    assert stamp.getValue().microsecond == 123456
    stamp.setString("20260105-12:30:00")
    assert stamp.getValue().minute == 30
    for wrong in (fix.Price("x"), fix.HeartBtInt("1.5"), fix.PossDupFlag("x"), fix.TransactTime("today")):
        with pytest.raises(fix.IncorrectDataFormat):
            wrong.getValue()
    with pytest.raises(ValueError, match="no time zone"):
        fix.TransactTime(datetime.datetime(2026, 1, 5))


def test_values_have_the_names_of_quickfix() -> None:
    assert (fix.Side_BUY, fix.OrdType_MARKET, fix.TimeInForce_DAY) == ("1", "1", "0")
    assert (fix.MsgType_Logon, fix.MsgType_ExecutionReport, fix.MsgType_MarketDataRequest) == ("A", "8", "V")
    versions = [fix.BeginString_FIX40, fix.BeginString_FIX44, fix.BeginString_FIXT11]
    assert versions == ["FIX.4.0", "FIX.4.4", "FIXT.1.1"]
    assert (fix.EncryptMethod_NONE, fix.ApplVerID_FIX50SP2, fix.ExecTransType_NEW) == (0, "9", "0")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("SSLSocketInitiator", "SocketUseSSL=Y"),
        ("DataDictionary", "tickwire.fix.Dictionary"),
        ("MySQLStoreFactory", "FileStoreFactory"),
        ("Nothing", r"help\(tickwire.quickfix\)"),
        ("Side_NOTHING", r"help\(tickwire.quickfix\)"),
        ("_nothing", r"help\(tickwire.quickfix\)"),
    ],
)
def test_missing_names_say_what_to_use(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"has no {name}: use .*{instead}"):
        getattr(fix, name)


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    _, initiator_file = write(tmp_path)
    settings = fix.SessionSettings(initiator_file)
    wrong: Any = settings
    with pytest.raises(TypeError, match="expected a FileStoreFactory or MemoryStoreFactory"):
        fix.SocketInitiator(Client(), wrong, settings)
    with pytest.raises(fix.ConfigError, match="expected ConnectionType=acceptor"):
        fix.SocketAcceptor(Client(), fix.MemoryStoreFactory(), settings)
    initiator = fix.SocketInitiator(Client(), fix.MemoryStoreFactory(), settings)
    [session_id] = initiator.getSessions()
    session = fix.Session.lookupSession(session_id)
    assert session is not None
    with pytest.raises(AttributeError, match=r"Session.reset is missing: use .*ResetOnLogon"):
        session.reset()
    with pytest.raises(AttributeError, match=r"SocketInitiator.poll is missing: use start\(\) or block\(\)"):
        initiator.poll()
    with pytest.raises(FixError, match="MsgType"):
        session.send(fix.Message())
    message = order("o1")
    message.setField(fix.StringField(44, "10\x01.5"))
    with pytest.raises(FixError, match="contains the delimiter"):
        session.send(message)
    with pytest.raises(fix.FieldNotFound):
        fix.Session.sendToTarget(order("o1"))
    initiator.stop()
    with pytest.raises(fix.ConfigError, match="no session"):
        settings.get(fix.SessionID("FIX.4.4", "X", "Y"))
    with pytest.raises(fix.ConfigError, match="no Unknown"):
        settings.get().getString("Unknown")
