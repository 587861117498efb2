"""FIX sessions: acceptors and initiators, with callbacks or asyncio."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar

from tickwire._errors import TickwireError
from tickwire.fix import _native
from tickwire.fix._errors import FixError
from tickwire.fix._native import Dictionary, Message

_LOG = logging.getLogger("tickwire.fix")
Path = str | os.PathLike[str]
Fields = Mapping[str | int, Any]
_Self = TypeVar("_Self", bound="Connector")

# Most messages that wait for a session's reader; further ones are rejected.
_WAITING_MAX = 65_536
_NOT_AVAILABLE = 4


class DoNotSend(Exception):
    """Raised in ``toApp``: the message is not sent. If it is a resend, a gap fill is sent instead.

    >>> from tickwire import fix
    >>> class Careful(fix.Application):
    ...     def toApp(self, message: fix.Message, session: fix.Session) -> None:
    ...         if message.OrderQty and message.OrderQty > 1000:
    ...             raise fix.DoNotSend
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> settings = connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n"
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 5000,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> with acceptor, fix.Initiator(settings, Careful()) as initiator:
    ...     sending = initiator.sessions[0].send(order)
    ...     print(sending.exception(10))
    a hook withholds the message
    """


class RejectLogon(Exception):
    """Raised in ``fromAdmin``: ends the session with a Logout with this text; for a Logon, rejects
    the peer.

    >>> from tickwire import fix
    >>> class Closed(fix.Application):
    ...     def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
    ...         if message.msg_type == "A":
    ...             raise fix.RejectLogon("closed today")
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n", Closed())
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> with acceptor, initiator:
    ...     print(initiator.sessions[0].wait_logged_on(1))
    False
    """


class BusinessReject(Exception):
    """Raised in ``fromApp``: answers the message with a Business Message Reject.

    ``reason`` is BusinessRejectReason (380); ``ref_id`` is the application's id of the message,
    such as its ClOrdID.

    >>> from tickwire import fix
    >>> class Exchange(fix.Application):
    ...     def fromApp(self, message: fix.Message, session: fix.Session) -> None:
    ...         raise fix.BusinessReject("not today", reason=4, ref_id=message.ClOrdID)
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n", Exchange())
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 100,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> import asyncio
    >>> async def answer() -> fix.Message:
    ...     session = initiator.sessions[0]
    ...     await session.send(order)
    ...     return await anext(aiter(session))
    >>> with acceptor, initiator:
    ...     rejected = asyncio.run(answer())
    >>> rejected.name, rejected.Text, rejected.BusinessRejectReason, rejected.BusinessRejectRefID
    ('BusinessMessageReject', 'not today', 4, '1')
    """

    def __init__(self, text: str = "", reason: int = 0, ref_id: str | None = None) -> None:
        if not isinstance(reason, int) or not 0 <= reason < 1 << 32:
            raise ValueError(f"reason {reason!r}: expected BusinessRejectReason (380), an int from 0")
        if not isinstance(ref_id, (str, type(None))):
            raise TypeError(f"ref_id {ref_id!r}: expected a str")
        super().__init__(text)
        self.reason = reason
        self.ref_id = ref_id


class Reject(Exception):
    """Raised in ``fromApp``: answers the message with a Reject because of a field.

    ``reason`` is SessionRejectReason (373), such as 5 for a wrong value; ``tag`` is RefTagID (371).

    >>> from tickwire import fix
    >>> class Exchange(fix.Application):
    ...     def fromApp(self, message: fix.Message, session: fix.Session) -> None:
    ...         if message.OrdType != "2":
    ...             raise fix.Reject(5, tag=40)
    >>> class Client(fix.Application):
    ...     def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
    ...         if message.msg_type == "3":
    ...             print(message.Text, message.SessionRejectReason, message.RefTagID, message.RefSeqNum)
    ...             came.set()
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n", Exchange())
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> settings = connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n"
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 100,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> import threading
    >>> came = threading.Event()
    >>> with acceptor, fix.Initiator(settings, Client()) as initiator:
    ...     _ = initiator.sessions[0].send(order), came.wait(10)
    Value is incorrect (out of range) for this tag 5 40 2
    """

    def __init__(self, reason: int, tag: int | None = None) -> None:
        for name, number in (("reason", reason), ("tag", tag)):
            if number is not None and (not isinstance(number, int) or not 0 <= number < 1 << 32):
                raise ValueError(f"{name} {number!r}: expected an int from 0")
        super().__init__(reason, tag)
        self.reason = reason
        self.tag = tag


class Application:
    """Callbacks of an application, with QuickFIX's names.

    Methods are called on the engine's thread: a method that blocks delays all sessions. Exceptions
    are logged (``logging.getLogger("tickwire.fix")``) and have no other effect, except those named
    below.

    >>> import threading
    >>> from tickwire import fix
    >>> came = threading.Event()
    >>> class Printer(fix.Application):
    ...     def onCreate(self, session: fix.Session) -> None:
    ...         print("created", session)
    ...     def onLogon(self, session: fix.Session) -> None:
    ...         print("logged on")
    ...     def onLogout(self, session: fix.Session) -> None:
    ...         print("logged out")
    ...     def onReset(self, session: fix.Session, origin: str, last_sent: int, last_received: int) -> None:
    ...         if origin == "peer while logged on":
    ...             print("orders up to", last_sent, "may be lost")
    ...     def toAdmin(self, message: fix.Message, session: fix.Session) -> fix.Fields | None:
    ...         return {"Username": "me", "Password": "secret"} if message.msg_type == "A" else None
    ...     def fromAdmin(self, message: fix.Message, session: fix.Session) -> None:
    ...         print("from the peer:", message.name)
    ...     def toApp(self, message: fix.Message, session: fix.Session) -> fix.Fields | None:
    ...         return {"Text": "by Printer"}
    ...     def fromApp(self, message: fix.Message, session: fix.Session) -> None:
    ...         print("from the peer:", message.name)
    ...         came.set()
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> settings = connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n"
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 100,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> with acceptor, fix.Initiator(settings, Printer()) as initiator:
    ...     session = initiator.sessions[0]
    ...     _ = session.wait_logged_on(10), session.send(order).result(10)
    ...     news = {"MsgType": "B", "Headline": "News", "NoLinesOfText": [{"Text": "closed"}]}
    ...     _ = acceptor.sessions[0].send(news), came.wait(10)
    created FIX.4.4:CLIENT->EXCHANGE
    from the peer: Logon
    logged on
    from the peer: News
    from the peer: Logout
    logged out
    """

    def onCreate(self, session: Session) -> None:
        """Called when a session is created."""

    def onLogon(self, session: Session) -> None:
        """Called when both sides are logged on."""

    def onReset(self, session: Session, origin: str, last_sent: int, last_received: int) -> None:
        """Both sequence numbers were reset to 1; neither side resends a message with an earlier number.

        ``origin`` is "this side", "peer at logon" or "peer while logged on". ``last_sent`` and ``last_received`` are
        the last MsgSeqNums before. After a reset by the peer while logged on (Logon with ResetSeqNumFlag, 141=Y),
        messages that were in flight may be lost: ask for the status of open orders.
        """

    def onLogout(self, session: Session) -> None:
        """Called when the session is no longer logged on."""

    def toAdmin(self, message: Message, session: Session) -> Fields | None:
        """Called before an administrative message is sent; returns fields to add, such as Username
        and Password in a Logon.

        If a field cannot be encoded, an error is logged and no field is added.
        """

    def fromAdmin(self, message: Message, session: Session) -> None:
        """Called for a received administrative message. `RejectLogon` ends the session."""

    def toApp(self, message: Message, session: Session) -> Fields | None:
        """Called before an application message is sent, for the first time or again; returns fields
        to add.

        `DoNotSend` withholds the message. So do fields that cannot be encoded; an error is logged
        for them.
        """

    def fromApp(self, message: Message, session: Session) -> None:
        """Called for a received application message.

        Messages sent here by the same session are stored in one step with the receipt of this
        message. Raise `BusinessReject` or `Reject` to reject the received message.
        """


class Sending(concurrent.futures.Future[int]):
    """A message passed to a session: ``await`` it, or wait for ``result()``; both return its
    MsgSeqNum.

    The result is available once the message is in the session's store. An error that nobody
    retrieves is logged. A message cannot be withdrawn: `cancel` returns False, and cancelling a
    task only ends its waiting.

    >>> from tickwire import fix
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 100,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> with acceptor, initiator:
    ...     sending = initiator.sessions[0].send(order)
    ...     print(sending.result(10), sending.exception())
    2 None
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_asked = False
        self.set_running_or_notify_cancel()

    def _settle(self, seq_num: int | None, error: str | None) -> None:
        if error is not None:
            self.set_exception(FixError(error))
        elif seq_num is not None:
            self.set_result(seq_num)

    def result(self, timeout: float | None = None) -> int:
        """Wait for its MsgSeqNum, or raise the reason why it was not sent."""
        self._is_asked = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return the reason why it was not sent; None if it was."""
        self._is_asked = True
        return super().exception(timeout)

    def __await__(self) -> Generator[Any, None, int]:
        self._is_asked = True
        return asyncio.wrap_future(self).__await__()

    def __del__(self) -> None:
        if not self._is_asked and self.done():
            error = super().exception()
            if error is not None:
                _LOG.error("a message was not sent: %s", error)


class Session:
    """A session. Its methods may be called from any thread.

    ``async for message in session`` yields application messages, including those received before.
    If 65,536 messages are waiting, further ones are answered by a Business Message Reject:
    application not available.

    >>> import asyncio
    >>> from tickwire import fix
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> order = {"MsgType": "D", "ClOrdID": "1", "Symbol": "MSFT", "Side": "1", "OrdType": "1", "OrderQty": 100,
    ...          "TransactTime": "20260105-12:30:00.000"}
    >>> async def trade() -> str:
    ...     seller, buyer = acceptor.sessions[0], initiator.sessions[0]
    ...     await buyer.logged_on()
    ...     await buyer.send(order)
    ...     async for message in seller:
    ...         return message.Symbol
    >>> with acceptor, initiator:
    ...     print(asyncio.run(trade()))
    ...     session = initiator.sessions[0]
    ...     print(session.wait_logged_on(10), session.is_logged_on)
    ...     session.logout("good night")
    MSFT
    True True
    >>> session.begin_string, session.sender_comp_id, session.target_comp_id, session.qualifier
    ('FIX.4.4', 'CLIENT', 'EXCHANGE', '')
    """

    def __init__(self, connector: Connector, index: int, parts: tuple[str, str, str, str]) -> None:
        self._connector = connector
        self._index = index
        self.begin_string: str = parts[0]
        self.sender_comp_id: str = parts[1]
        self.target_comp_id: str = parts[2]
        self.qualifier: str = parts[3]
        self.is_logged_on: bool = False
        self._changed = threading.Condition()
        self._waiting: deque[Message] = deque()
        self._wakers: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<Session {self}>"

    def __str__(self) -> str:
        qualifier = f":{self.qualifier}" if self.qualifier else ""
        return f"{self.begin_string}:{self.sender_comp_id}->{self.target_comp_id}{qualifier}"

    def send(self, message: Fields) -> Sending:
        """Send a message: field names or tags with their values, including ``MsgType``; groups are
        lists of such mappings.

        The session writes BeginString, BodyLength, CheckSum, MsgSeqNum, SendingTime and CompIDs.
        While it is not logged on, the message is stored and sent after the next Logon. A message
        that cannot be encoded raises `FixError` at once; `Sending` has any later result. Do not
        wait for it in a callback.
        """
        sending = Sending()
        self._connector._native.send(self._index, dict(message), sending)
        return sending

    def logout(self, text: str = "") -> None:
        """End the connection with a Logout."""
        self._connector._native.logout(self._index, text)

    def wait_logged_on(self, timeout: float | None = None) -> bool:
        """Wait until both sides are logged on, or the engine has ended; return True if they are."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_logged_on or self._connector.has_ended, timeout)
            return self.is_logged_on

    async def logged_on(self) -> None:
        """Wait until both sides are logged on."""
        await self._until(lambda: self.is_logged_on)
        if not self.is_logged_on and self._connector.has_ended:
            raise FixError(f"{self}: the engine has ended")

    def __aiter__(self) -> AsyncIterator[Message]:
        return self._messages()

    async def _messages(self) -> AsyncIterator[Message]:
        while True:
            with contextlib.suppress(IndexError):
                yield self._waiting.popleft()
                continue
            if self._connector.has_ended:
                return
            await self._until(lambda: bool(self._waiting))

    async def _until(self, has_come: Callable[[], bool]) -> None:
        """Wait until ``has_come`` returns True, or the engine has ended."""
        loop = asyncio.get_running_loop()
        while True:
            event = asyncio.Event()

            def wake(event: asyncio.Event = event) -> None:
                # The waiter's event loop may have been closed meanwhile.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(event.set)

            with self._changed:
                if has_come() or self._connector.has_ended:
                    return
                self._wakers.append(wake)
            try:
                await event.wait()
            finally:
                with self._changed:
                    if wake in self._wakers:
                        self._wakers.remove(wake)

    def _notify(self, is_logged_on: bool | None = None) -> None:
        with self._changed:
            if is_logged_on is not None:
                self.is_logged_on = is_logged_on
            self._changed.notify_all()
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()


class Connector:
    """Sessions of a settings file in QuickFIX's format, run on a separate thread.

    ``settings`` is a path, or the text of a file (with a line break in it). Without an
    ``application``, read messages with ``async for message in session``. ``with`` starts and stops
    the connector. Names of fields are those of ``dictionary``, else of the session's dictionaries in
    the settings (``DataDictionary``, ``AppDataDictionary``), else of its version. With FIXT, messages
    without ApplVerID have the names of this side's ``DefaultApplVerID``, even if the counterparty
    logged on with another one.
    """

    _is_acceptor = False

    def __init__(
        self,
        settings: Path,
        application: Application | None = None,
        *,
        dictionary: Dictionary | None = None,
    ) -> None:
        text = os.fspath(settings)
        if "\n" not in text:
            with open(text, encoding="utf-8") as file:
                text = file.read()
        self._application = application
        self.sessions: list[Session] = []
        self.has_ended: bool = False
        self._threads: list[threading.Thread] = []
        self._beginning = threading.Lock()
        self._failure: BaseException | None = None
        self._native = _native.Engine(_Host(self), text, self._is_acceptor, dictionary)
        for warning in self._native.warnings:
            _LOG.warning("settings: %s", warning)

    def start(self) -> None:
        """Start to listen or connect."""
        with self._beginning:
            if self._threads:
                raise TickwireError("it was started or stopped already: make another one")
            self._begin()
        # Threads must not call Python while it exits.
        atexit.register(self.stop)

    def _begin(self) -> None:
        for run, is_daemon in [(self._run, True), (self._native.answer, True)]:
            thread = threading.Thread(target=run, name="tickwire.fix", daemon=is_daemon)
            self._threads.append(thread)
            thread.start()

    def _run(self) -> None:
        try:
            self._native.run()
        except BaseException as error:  # noqa: BLE001
            _LOG.critical("the sessions ended: %s", error, exc_info=error)
            self._failure = error
        finally:
            self.has_ended = True
            for session in self.sessions:
                session._notify()

    def stop(self) -> None:
        """Log out all sessions and wait until that is done. Raise the error that ended the
        sessions, if any."""
        atexit.unregister(self.stop)
        self._native.stop()
        with self._beginning:
            if not self._threads:
                # Never started: end at once, and release all waiters.
                self._begin()
        for thread in self._threads:
            if thread is threading.current_thread():
                raise TickwireError("a callback cannot wait for the end of its engine")
            thread.join()
        if self._failure is not None:
            raise self._failure

    def __enter__(self: _Self) -> _Self:  # noqa: PYI019
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class Acceptor(Connector):
    """Sessions that accept connections from their peers.

    >>> from tickwire import fix
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> acceptor.start()
    >>> with initiator:
    ...     print(initiator.sessions[0].wait_logged_on(10), acceptor.sessions[0])
    True FIX.4.4:EXCHANGE->CLIENT
    >>> acceptor.stop()
    >>> acceptor.has_ended
    True
    """

    _is_acceptor = True

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Addresses on which it listens: hosts and ports."""
        return self._native.addresses


class Initiator(Connector):
    """Sessions that connect to their peers.

    >>> from tickwire import fix
    >>> common = "[DEFAULT]\\nBeginString=FIX.4.4\\nStartTime=00:00:00\\nEndTime=00:00:00\\n"
    >>> listen = common + "ConnectionType=acceptor\\nSocketAcceptAddress=127.0.0.1\\nSocketAcceptPort=0\\n"
    >>> acceptor = fix.Acceptor(listen + "[SESSION]\\nSenderCompID=EXCHANGE\\nTargetCompID=CLIENT\\n")
    >>> connect = common + "ConnectionType=initiator\\nSocketConnectHost=127.0.0.1\\nHeartBtInt=30\\n"
    >>> connect += f"SocketConnectPort={acceptor.addresses[0][1]}\\n"
    >>> initiator = fix.Initiator(connect + "[SESSION]\\nSenderCompID=CLIENT\\nTargetCompID=EXCHANGE\\n")
    >>> acceptor.start()
    >>> initiator.start()
    >>> initiator.sessions[0].wait_logged_on(10)
    True
    >>> initiator.stop()
    >>> acceptor.stop()
    >>> initiator.has_ended
    True
    """


def _fields(returned: object) -> dict[str | int, Any] | None:
    """Return a callback's result, if it is fields to add."""
    if returned is None:
        return None
    if isinstance(returned, Mapping):
        return dict(returned)
    raise TypeError(f"it returned {returned!r}: expected fields to add, a dict, or None")


class _Host:
    """Called by the engine. Application exceptions do not leave this class, except those meant for
    the engine."""

    def __init__(self, connector: Connector) -> None:
        # Weak: the engine owns this object, so a strong reference would be a cycle. While the engine runs,
        # its thread keeps the connector alive.
        self._reference = weakref.ref(connector)

    @property
    def _connector(self) -> Connector:
        connector = self._reference()
        if connector is None:
            raise TickwireError("the connector is gone")
        return connector

    def _call(self, name: str, *arguments: object, passes: tuple[type[Exception], ...] = ()) -> Any:
        application = self._connector._application
        method = getattr(application, name, None)
        if method is None:
            return None
        try:
            return method(*arguments)
        except passes:
            raise
        except BaseException as error:  # noqa: BLE001
            _LOG.error("%s raised %r", name, error, exc_info=error)
            return None

    def _session(self, index: int) -> Session:
        return self._connector.sessions[index]

    def created(self, index: int, *parts: str) -> None:
        begin_string, sender, target, qualifier = parts
        session = Session(self._connector, index, (begin_string, sender, target, qualifier))
        self._connector.sessions.append(session)
        self._call("onCreate", session)

    def logged_on(self, index: int) -> None:
        session = self._session(index)
        session._notify(is_logged_on=True)
        self._call("onLogon", session)

    def reset(self, index: int, origin: str, last_sent: int, last_received: int) -> None:
        self._call("onReset", self._session(index), origin, last_sent, last_received)

    def disconnected(self, index: int) -> None:
        session = self._session(index)
        if session.is_logged_on:
            session._notify(is_logged_on=False)
            self._call("onLogout", session)

    def to_admin(self, index: int, message: Message, is_resend: bool) -> dict[str | int, Any] | None:
        fields = self._call("toAdmin", message, self._session(index))
        try:
            return _fields(fields)
        except TypeError as error:
            self.failed(index, f"toAdmin: {error}")
            return None

    def from_admin(self, index: int, message: Message) -> str | None:
        try:
            self._call("fromAdmin", message, self._session(index), passes=(RejectLogon,))
        except RejectLogon as error:
            return str(error)
        return None

    def to_app(
        self, index: int, message: Message, is_resend: bool
    ) -> dict[str | int, Any] | Literal[False] | None:
        try:
            fields = self._call("toApp", message, self._session(index), passes=(DoNotSend,))
        except DoNotSend:
            return False
        if is_resend:
            return None
        try:
            return _fields(fields)
        except TypeError as error:
            self.failed(index, f"toApp: {error}")
            return False

    def from_app(
        self, index: int, message: Message
    ) -> tuple[int, bytes | None, str | None] | tuple[int, int | None] | None:
        session = self._session(index)
        if self._connector._application is None:
            if len(session._waiting) >= _WAITING_MAX:
                return (_NOT_AVAILABLE, None, None)
            with session._changed:
                session._waiting.append(message)
            session._notify()
            return None
        try:
            self._call("fromApp", message, session, passes=(BusinessReject, Reject))
        except BusinessReject as error:
            ref_id = None if error.ref_id is None else error.ref_id.encode()
            return (error.reason, ref_id, str(error) or None)
        except Reject as error:
            return (error.reason, error.tag)
        return None

    def refused(self, text: str) -> None:
        _LOG.warning(text)

    def ended(self, index: int, text: str) -> None:
        _LOG.info("%s: the connection ends: %s", self._session(index), text)

    def failed(self, index: int, text: str) -> None:
        _LOG.error("%s: %s", self._session(index), text)
