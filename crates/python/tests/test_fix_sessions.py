"""FIX sessions over loopback: orders and reports, with callbacks and with asyncio."""

import asyncio
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
import tickwire
from tickwire import fix


def acceptor_settings(port: int = 0, more: str = "") -> str:
    return (
        "[DEFAULT]\nConnectionType=acceptor\nBeginString=FIX.4.4\nStartTime=00:00:00\nEndTime=00:00:00\n"
        f"SocketAcceptAddress=127.0.0.1\nSocketAcceptPort={port}\n{more}\n"
        "[SESSION]\nSenderCompID=EXCHANGE\nTargetCompID=CLIENT\n"
    )


def initiator_settings(port: int, more: str = "") -> str:
    return (
        "[DEFAULT]\nConnectionType=initiator\nBeginString=FIX.4.4\nStartTime=00:00:00\nEndTime=00:00:00\n"
        f"SocketConnectHost=127.0.0.1\nSocketConnectPort={port}\nHeartBtInt=30\nReconnectInterval=1\n{more}\n"
        "[SESSION]\nSenderCompID=CLIENT\nTargetCompID=EXCHANGE\n"
    )


def order(number: int) -> dict[str | int, object]:
    return {
        "MsgType": "D",
        "ClOrdID": f"o{number}",
        "Symbol": "MSFT",
        "Side": "1",
        "TransactTime": "20260105-12:30:00.000",
        "OrderQty": 100,
        "OrdType": "2",
        "Price": Decimal("10.50"),
        "NoPartyIDs": [{"PartyRole": 3, "PartyID": "P"}],
    }


class Exchange(fix.Application):
    """Answers an order with a report, in twenty lines, as in QuickFIX applications."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def onCreate(self, session: fix.Session) -> None:
        self.log.append(f"create {session}")

    def onLogon(self, session: fix.Session) -> None:
        self.log.append("logon")

    def onLogout(self, session: fix.Session) -> None:
        self.log.append("logout")

    def fromApp(self, message: fix.Message, session: fix.Session) -> None:
        session.send(
            {
                "MsgType": "8",
                "OrderID": f"x{message.MsgSeqNum}",
                "ExecID": str(message.MsgSeqNum),
                "ExecType": "0",
                "OrdStatus": "0",
                "ClOrdID": message.ClOrdID,
                "Symbol": message.Symbol,
                "Side": message.Side,
                "LeavesQty": message.OrderQty,
                "CumQty": 0,
                "AvgPx": 0,
            }
        )


class Client(fix.Application):
    """Keeps reports."""

    def __init__(self) -> None:
        self.reports: list[fix.Message] = []
        self.changed = threading.Condition()

    def fromApp(self, message: fix.Message, session: fix.Session) -> None:
        with self.changed:
            self.reports.append(message)
            self.changed.notify_all()

    def wait(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.reports) >= count, 20), len(self.reports)


def eventually(has_come: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not has_come():
        assert time.monotonic() < until
        time.sleep(0.01)


def port_of(acceptor: fix.Acceptor) -> int:
    ((_, port),) = acceptor.addresses
    return port


def test_orders_and_reports_go_both_ways() -> None:
    exchange, client = Exchange(), Client()
    acceptor = fix.Acceptor(acceptor_settings(), exchange)
    assert exchange.log == ["create FIX.4.4:EXCHANGE->CLIENT"]
    with acceptor:
        initiator = fix.Initiator(initiator_settings(port_of(acceptor)), client)
        with initiator:
            (session,) = initiator.sessions
            assert session.wait_logged_on(20) and session.is_logged_on
            numbers = [session.send(order(number)).result(20) for number in range(3)]
            assert numbers == [2, 3, 4]
            client.wait(3)
        assert not session.is_logged_on and initiator.has_ended
        eventually(lambda: exchange.log[1:] == ["logon", "logout"])
    assert [report.ClOrdID for report in client.reports] == ["o0", "o1", "o2"]
    assert client.reports[0].LeavesQty == 100 and client.reports[0].validate() == []
    with pytest.raises(tickwire.TickwireError, match="ended"):
        session.send(order(4))


def test_sends_of_many_threads_are_all_stored() -> None:
    client = Client()
    with (
        fix.Acceptor(acceptor_settings(), Exchange()) as acceptor,
        fix.Initiator(initiator_settings(port_of(acceptor)), client) as initiator,
    ):
        (session,) = initiator.sessions
        assert session.wait_logged_on(20)
        numbers: list[int] = []

        def send(first: int) -> None:
            sent = [session.send(order(first + at)) for at in range(100)]
            numbers.extend(sending.result(20) for sending in sent)

        threads = [threading.Thread(target=send, args=(at * 100,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.wait(400)
    assert sorted(numbers) == list(range(2, 402))
    assert {report.ClOrdID for report in client.reports} == {f"o{number}" for number in range(400)}


def test_asyncio_takes_messages_and_awaits_sends() -> None:
    async def trade(port: int) -> list[str]:
        with fix.Initiator(initiator_settings(port)) as initiator:
            (session,) = initiator.sessions
            await asyncio.wait_for(session.logged_on(), 20)
            assert [await session.send(order(number)) for number in range(3)] == [2, 3, 4]
            ids = []
            async for message in session:
                ids.append(message.ClOrdID)
                if len(ids) == 3:
                    return ids
        return []

    with fix.Acceptor(acceptor_settings(), Exchange()) as acceptor:
        assert asyncio.run(trade(port_of(acceptor))) == ["o0", "o1", "o2"]


def test_callbacks_add_fields_refuse_and_withhold(caplog: pytest.LogCaptureFixture) -> None:
    class Guard(Exchange):
        def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
            if message.msg_type == "A" and message.Password != "right":
                raise fix.RejectLogon("no")
            self.log.append(f"admin {message.msg_type}")

        def fromApp(self, message: fix.Message, session: fix.Session) -> None:
            raise fix.BusinessReject("closed", 2, message.ClOrdID)

    class Trader(Client):
        password = "wrong"

        def toAdmin(self, message: fix.Message, session: fix.Session) -> fix.Fields | None:
            return {"Username": "u", 554: self.password} if message.msg_type == "A" else None

        def toApp(self, message: fix.Message, session: fix.Session) -> fix.Fields | None:
            if message.ClOrdID == "o0":
                raise fix.DoNotSend
            return {"Text": "added"}

    guard, trader = Guard(), Trader()
    with (
        caplog.at_level(logging.WARNING, "tickwire.fix"),
        fix.Acceptor(acceptor_settings(), guard) as acceptor,
        fix.Initiator(initiator_settings(port_of(acceptor)), trader) as initiator,
    ):
        (session,) = initiator.sessions
        assert not session.wait_logged_on(0.5) and "logon" not in guard.log
        trader.password = "right"
        assert session.wait_logged_on(20)
        with pytest.raises(fix.FixError, match="withholds"):
            session.send(order(0)).result(20)
        session.send(order(1)).result(20)
        trader.wait(1)
    assert "refused" in caplog.text
    (reject,) = trader.reports
    assert (reject.msg_type, reject.Text, reject.BusinessRejectReason) == ("j", "closed", 2)
    assert "admin A" in guard.log


def test_exceptions_of_callbacks_are_logged_and_end_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Exchange):
        def onLogon(self, session: fix.Session) -> None:
            raise KeyError("logon")

        def fromApp(self, message: fix.Message, session: fix.Session) -> None:
            if message.ClOrdID == "o0":
                raise ZeroDivisionError("app")
            super().fromApp(message, session)

    client = Client()
    with (
        caplog.at_level(logging.ERROR, "tickwire.fix"),
        fix.Acceptor(acceptor_settings(), Broken()) as acceptor,
        fix.Initiator(initiator_settings(port_of(acceptor)), client) as initiator,
    ):
        (session,) = initiator.sessions
        assert session.wait_logged_on(20)
        session.send(order(0)).result(20)
        session.send(order(1)).result(20)
        client.wait(1)
    assert [report.ClOrdID for report in client.reports] == ["o1"]
    assert [record.getMessage() for record in caplog.records] == [
        "onLogon raised KeyError('logon')",
        "fromApp raised ZeroDivisionError('app')",
    ]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"ClOrdID": "x"}, "MsgType"),
        ({"MsgType": "D", "Nothing": 1}, "no field Nothing"),
        ({"MsgType": "D", "ClOrdID": [{}]}, "no group"),
        ({"MsgType": "D", "NoPartyIDs": [{"Text": "x"}]}, r"no field Text \(58\)"),
        ({"MsgType": "D", "NoPartyIDs": [{"PartyRole": 1}]}, r"begins with PartyID \(448\)"),
    ],
)
def test_what_cannot_be_written_is_an_error_at_once(fields: dict[str | int, object], text: str) -> None:
    initiator = fix.Initiator(initiator_settings(1))
    with pytest.raises(fix.FixError, match=text):
        initiator.sessions[0].send(fields)
    initiator.stop()


def test_settings_are_a_path_or_text_and_errors_are_told(tmp_path: Path) -> None:
    path = tmp_path / "acceptor.cfg"
    path.write_text(acceptor_settings())
    acceptor = fix.Acceptor(path)
    assert port_of(acceptor) > 0
    with pytest.raises(tickwire.TickwireError, match="expected ConnectionType=initiator"):
        fix.Initiator(path)
    with pytest.raises(tickwire.TickwireError, match="SocketAcceptPort"):
        fix.Acceptor(acceptor_settings().replace("SocketAcceptPort=0", "SocketAcceptPort=x"))
    with pytest.raises(FileNotFoundError):
        fix.Acceptor(tmp_path / "none.cfg")


def test_an_application_that_does_not_stop_ends_in_order_with_its_process() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_fix_sessions import *\n"
        "acceptor = fix.Acceptor(acceptor_settings(), Exchange()); acceptor.start()\n"
        "initiator = fix.Initiator(initiator_settings(port_of(acceptor)), Client()); initiator.start()\n"
        "assert initiator.sessions[0].wait_logged_on(20)\n"
        "initiator.sessions[0].send(order(1))\n"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_asyncio_ends_with_the_engine() -> None:
    async def wait() -> list[fix.Message]:
        initiator = fix.Initiator(initiator_settings(1))
        initiator.start()
        threading.Timer(0.2, initiator.stop).start()
        (session,) = initiator.sessions
        with pytest.raises(fix.FixError, match="ended"):
            await session.logged_on()
        return [message async for message in session]

    assert asyncio.run(asyncio.wait_for(wait(), 20)) == []


SERVER = """
import sys, time
sys.path.insert(0, sys.argv[2])
from test_fix_sessions import Exchange
from tickwire import fix
acceptor = fix.Acceptor(sys.argv[1], Exchange())
acceptor.start()
print("listening", flush=True)
time.sleep(60)
"""


def test_nothing_is_lost_when_the_acceptor_is_killed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = acceptor_settings(port, f"FileStorePath={tmp_path / 'acceptor'}")

    def server() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SERVER, settings, str(Path(__file__).parent)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "listening\n"
        return process

    client = Client()
    process = server()
    try:
        store = f"FileStorePath={tmp_path / 'initiator'}"
        with fix.Initiator(initiator_settings(port, store), client) as initiator:
            (session,) = initiator.sessions
            assert session.wait_logged_on(20)
            for number in range(200):
                session.send(order(number)).result(20)
                if number == 100:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                if number == 150:
                    eventually(lambda: not session.is_logged_on)
                    process = server()
            client.wait(200)
            # A report arrives twice only if the killed process had not recorded the order that it answered.
            ids = [report.ClOrdID for report in client.reports if report.PossResend is not True]
            assert sorted(set(ids)) == sorted(f"o{number}" for number in range(200))
            numbers = [report.MsgSeqNum for report in client.reports]
            assert numbers == sorted(set(numbers))
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("is_template", [False, True])
def test_names_are_those_of_the_dictionary_in_the_settings(tmp_path: Path, is_template: bool) -> None:
    xml = (Path(__file__).parents[2] / "fix" / "dictionaries" / "FIX44.xml").read_text()
    field = "<field name='Urgency' required='N'/>"
    logon = "<message name='Logon' msgtype='A' msgcat='admin'>"
    assert logon in xml
    ping = f"<message name='Ping' msgtype='U1' msgcat='app'>{field}</message>"
    xml = xml.replace(logon, logon + field).replace("</messages>", f"{ping}</messages>")
    xml = xml.replace("<value enum='BE'", "<value enum='U1' description='PING'/><value enum='BE'")
    xml = xml.replace("</fields>", "<field number='5001' name='Urgency' type='INT'/></fields>")
    (tmp_path / "own.xml").write_text(xml)
    dictionary = f"DataDictionary={tmp_path / 'own.xml'}"
    seen: list[tuple[str | None, object]] = []
    came = threading.Event()

    class Own(fix.Application):
        def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
            if message.msg_type == "A":
                seen.append((message.name, message.Urgency))

        def fromApp(self, message: fix.Message, session: fix.Session) -> None:
            seen.append((message.name, message.Urgency))
            came.set()

    class Urgent(fix.Application):
        def toAdmin(self, message: fix.Message, session: fix.Session) -> fix.Fields | None:
            return {"Urgency": 5} if message.msg_type == "A" else None

    settings = acceptor_settings(more=dictionary)
    if is_template:
        settings = settings.replace("TargetCompID=CLIENT", "TargetCompID=*\nAcceptorTemplate=Y")
    acceptor = fix.Acceptor(settings, Own())
    connect = initiator_settings(acceptor.addresses[0][1], dictionary)
    with acceptor, fix.Initiator(connect, Urgent()) as initiator:
        (session,) = initiator.sessions
        session.send({"MsgType": "U1", "Urgency": 7}).result(10)
        assert came.wait(10)
        with pytest.raises(fix.FixError, match="no field Unheard"):
            session.send({"MsgType": "U1", "Unheard": 1})
    assert seen == [("Logon", 5), ("Ping", 7)]


def test_fixt_names_are_those_of_the_dictionary_of_the_version(tmp_path: Path) -> None:
    xml = (Path(__file__).parents[2] / "fix" / "dictionaries" / "FIX50SP2.xml").read_text()
    request = "<message name='UserRequest' msgtype='BE' msgcat='app'>"
    assert request in xml
    xml = xml.replace(request, f"{request}<field name='Urgency' required='N'/>")
    xml = xml.replace("</fields>", "<field number='5001' name='Urgency' type='INT'/></fields>")
    (tmp_path / "own.xml").write_text(xml)
    # FIXT 1.1 itself does not know FIX Latest (10).
    xml = (Path(__file__).parents[2] / "fix" / "dictionaries" / "FIXT11.xml").read_text()
    newest = "<value description='FIX50SP2' enum='9'/>"
    assert newest in xml
    latest = "<value enum='10' description='FIX_LATEST' />"
    (tmp_path / "transport.xml").write_text(xml.replace(newest, newest + latest))
    more = (
        f"DefaultApplVerID=9\nAppDataDictionary={tmp_path / 'own.xml'}\n"
        f"TransportDataDictionary={tmp_path / 'transport.xml'}"
    )
    seen: list[tuple[str | None, object]] = []
    came = threading.Semaphore(0)

    class Own(fix.Application):
        def fromApp(self, message: fix.Message, session: fix.Session) -> None:
            try:
                seen.append((message.name, message.Urgency))
            except AttributeError as error:
                seen.append((message.name, error))
            came.release()

    def fixt(settings: str) -> str:
        return settings.replace("BeginString=FIX.4.4", "BeginString=FIXT.1.1")

    acceptor = fix.Acceptor(fixt(acceptor_settings(more=more)), Own())
    connect = fixt(initiator_settings(acceptor.addresses[0][1], more))
    with acceptor, fix.Initiator(connect, fix.Application()) as initiator:
        (session,) = initiator.sessions
        assert session.wait_logged_on(20)
        for urgency, version in enumerate([None, "9", "10"]):
            message: dict[str | int, object] = {"MsgType": "BE"}
            if version is not None:
                message["ApplVerID"] = version
            message |= {"UserRequestID": "u", "UserRequestType": 1, "Username": "u", "Urgency": urgency}
            session.send(message).result(10)
            assert came.acquire(timeout=10)
    assert seen == [("UserRequest", 0), ("UserRequest", 1), ("UserRequest", 2)]
