"""The Python interface of QuickFIX on Tickwire's FIX engine: ``import tickwire.quickfix as fix``.

A program for QuickFIX's package needs no other change if it keeps to the names below. Fields of all
FIX versions (``Symbol``, ``Price``) and their values (``Side_BUY``, ``MsgType_NewOrderSingle``,
``BeginString_FIX44``) come from the dictionaries of the engine.

>>> import tickwire.quickfix as fix
>>> order = fix.Message()
>>> order.getHeader().setField(fix.MsgType(fix.MsgType_NewOrderSingle))
>>> order.setField(fix.Symbol("MSFT"))
>>> order.setField(fix.Side(fix.Side_BUY))
>>> order.getField(fix.Symbol()).getValue(), order.getField(54)
('MSFT', '1')

Differences: callbacks can add fields to an outgoing message, but not change or remove any; group
classes of the modules ``quickfix44`` and so on are replaced by `Group`. What is missing raises an
error that names a replacement. `tickwire.fix` has more: asyncio, typed fields, messages as
dictionaries.
"""

from __future__ import annotations

import datetime
import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, overload

from tickwire import fix as _fix
from tickwire._errors import TickwireError
from tickwire.fix import DoNotSend, RejectLogon
from tickwire.fix._wire import wire

__all__ = [
    "Application",
    "BoolField",
    "CharField",
    "ConfigError",
    "Dictionary",
    "DoNotSend",
    "DoubleField",
    "FieldBase",
    "FieldMap",
    "FieldNotFound",
    "FileLogFactory",
    "FileStoreFactory",
    "Group",
    "IncorrectDataFormat",
    "IncorrectTagValue",
    "IntField",
    "InvalidMessage",
    "MemoryStoreFactory",
    "Message",
    "RejectLogon",
    "ScreenLogFactory",
    "Session",
    "SessionID",
    "SessionNotFound",
    "SessionSettings",
    "SocketAcceptor",
    "SocketInitiator",
    "StringField",
    "UnsupportedMessageType",
    "UtcTimeStampField",
]

_LOG = logging.getLogger("tickwire.fix")

# Fields that only the header has, and the trailer.
_HEADER = frozenset(
    (8, 9, 34, 35, 43, 49, 50, 52, 56, 57, 90, 91, 97, 115, 116, 122, 128, 129, 142, 143, 144, 145, 212, 213)
    + (347, 369, 370, 627, 628, 629, 630, 1128, 1129, 1156)
)
_TRAILER = frozenset((10, 89, 93))
# Fields that the session writes, whatever the message has.
_OF_THE_SESSION = frozenset((8, 9, 10, 34, 43, 49, 52, 56, 97, 122))
_SECRET = frozenset((554, 925, 1402, 1404))


class ConfigError(TickwireError):
    """The settings are unusable.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.SessionSettings("nowhere.cfg")
    ... except fix.ConfigError as error:
    ...     print(error)
    nowhere.cfg: No such file or directory
    """


class SessionNotFound(TickwireError):
    """No initiator or acceptor of this process has the session.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.Session.sendToTarget(fix.Message(), fix.SessionID("FIX.4.4", "A", "B"))
    ... except fix.SessionNotFound as error:
    ...     print(error)
    FIX.4.4:A->B
    """


class InvalidMessage(TickwireError):
    """A text is not a message.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.Message("8=FIX.4.2|9=5|35=0|10=162|")
    ... except fix.InvalidMessage as error:
    ...     print(error)
    CheckSum (10) is 162, expected 161
    """


class _FieldError(TickwireError):
    """An error of a field. Raised in ``fromApp``, it rejects the message."""

    reason: int

    def __init__(self, field: int, text: str = "") -> None:
        super().__init__(f"field {field}{': ' if text else ''}{text}")
        self.field: int = field


class FieldNotFound(_FieldError):
    """A message lacks a field. Leaving ``fromApp``, it rejects the message with a Business Message
    Reject: conditionally required field missing.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.Message().getField(fix.Symbol())
    ... except fix.FieldNotFound as error:
    ...     print(error.field, error)
    55 field 55
    """


class IncorrectTagValue(_FieldError):
    """The value of a field is wrong. Raised in ``fromApp``, it rejects the message.

    >>> import tickwire.quickfix as fix
    >>> fix.IncorrectTagValue(54).field
    54
    """

    reason = 5


class IncorrectDataFormat(_FieldError):
    """The value of a field does not have its type. Leaving ``fromApp``, it rejects the message.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.Price("ten").getValue()
    ... except fix.IncorrectDataFormat as error:
    ...     print(error.field, error)
    44 field 44: 'ten'
    """

    reason = 6


class UnsupportedMessageType(TickwireError):
    """Raised in ``fromApp``: rejects the message with a Business Message Reject.

    >>> import tickwire.quickfix as fix
    >>> class Exchange(fix.Application):
    ...     def fromApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
    ...         raise fix.UnsupportedMessageType
    """


class FieldBase:
    """A field: its tag, and its value as text.

    Named fields, such as ``Symbol``, are subclasses; `StringField` and so on take any tag.

    >>> import tickwire.quickfix as fix
    >>> symbol = fix.Symbol("MSFT")
    >>> symbol.getTag(), symbol.getField(), symbol.getString(), symbol.getValue(), isinstance(symbol, fix.StringField)
    (55, 55, 'MSFT', 'MSFT', True)
    >>> symbol.setString("IBM")
    >>> symbol.setValue("AAPL")
    >>> print(symbol)
    55=AAPL
    """

    def __init__(self, tag: int, value: object = None) -> None:
        self._tag = tag
        self._text = ""
        if value is not None:
            self.setValue(value)

    def getTag(self) -> int:
        """The tag; see the example of `FieldBase`."""
        return self._tag

    def getField(self) -> int:
        """The tag; see the example of `FieldBase`."""
        return self._tag

    def getString(self) -> str:
        """The value as on the wire."""
        return self._text

    def setString(self, text: str) -> None:
        """Set the value as on the wire."""
        self._text = text

    def getValue(self) -> Any:
        """The value in the type of the field."""
        return self._text

    def setValue(self, value: object) -> None:
        """Set the value: text, a number, a bool, or a datetime with a time zone."""
        self._text = wire(value).decode(errors="surrogateescape")

    def __str__(self) -> str:
        return f"{self._tag}={self._text}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def _read(self, read: Callable[[str], Any]) -> Any:
        try:
            return read(self._text)
        except ValueError:
            raise IncorrectDataFormat(self._tag, repr(self._text)) from None


class StringField(FieldBase):
    """A field whose value is a ``str``.

    >>> import tickwire.quickfix as fix
    >>> fix.StringField(58, "late").getValue()
    'late'
    """


class CharField(FieldBase):
    """A field whose value is a ``str`` of one character.

    >>> import tickwire.quickfix as fix
    >>> fix.CharField(54, fix.Side_SELL).getValue()
    '2'
    """


class IntField(FieldBase):
    """A field whose value is an ``int``.

    >>> import tickwire.quickfix as fix
    >>> fix.IntField(108, 30).getValue(), fix.EncryptMethod(fix.EncryptMethod_NONE).getValue()
    (30, 0)
    """

    def getValue(self) -> int:
        """The value as an int."""
        return self._read(int)


class DoubleField(FieldBase):
    """A field whose value is a ``float``; set it to a `decimal.Decimal` for exact digits.

    >>> import tickwire.quickfix as fix
    >>> from decimal import Decimal
    >>> fix.DoubleField(44, 10.5).getString(), fix.Price(Decimal("10.50")).getString(), fix.Price(10).getValue()
    ('10.5', '10.50', 10.0)
    """

    def setValue(self, value: object) -> None:
        """Set the value; a float without a fraction is written without a point, as in QuickFIX."""
        super().setValue(int(value) if isinstance(value, float) and value.is_integer() else value)

    def getValue(self) -> float:
        """The value as a float."""
        return self._read(float)


class BoolField(FieldBase):
    """A field whose value is a ``bool``.

    >>> import tickwire.quickfix as fix
    >>> fix.BoolField(43, True).getString(), fix.PossDupFlag(False).getValue()
    ('Y', False)
    """

    def getValue(self) -> bool:
        """The value as a bool."""
        return self._read({"Y": True, "N": False}.__getitem__)

    def _read(self, read: Callable[[str], Any]) -> Any:
        try:
            return read(self._text)
        except KeyError:
            raise IncorrectDataFormat(self._tag, repr(self._text)) from None


class UtcTimeStampField(FieldBase):
    """A field whose value is a ``datetime`` in UTC; by default the current time, in milliseconds.

    >>> import tickwire.quickfix as fix
    >>> import datetime
    >>> time = datetime.datetime(2026, 1, 5, 12, 30, tzinfo=datetime.timezone.utc)
    >>> fix.UtcTimeStampField(60, time).getString(), fix.TransactTime(time).getValue() == time
    ('20260105-12:30:00.000', True)
    """

    def __init__(self, tag: int, value: object = None) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        super().__init__(
            tag, now.replace(microsecond=now.microsecond // 1000 * 1000) if value is None else value
        )

    def getValue(self) -> datetime.datetime:
        """The value as a datetime in UTC; digits after the microseconds are lost."""
        return self._read(_timestamp)


def _timestamp(text: str) -> datetime.datetime:
    form = "%Y%m%d-%H:%M:%S.%f" if "." in text else "%Y%m%d-%H:%M:%S"
    return datetime.datetime.strptime(text[:24], form).replace(tzinfo=datetime.timezone.utc)


class FieldMap:
    """Fields of a message, of its header or trailer, or of an entry of a group.

    >>> import tickwire.quickfix as fix
    >>> fields = fix.FieldMap()
    >>> fields.setField(fix.Symbol("MSFT"))
    >>> fields.setField(44, "10.50")
    >>> fields.getField(55), fields.getField(fix.Price()).getValue(), fields.isSetField(58)
    ('MSFT', 10.5, False)
    >>> text = fix.Text()
    >>> fields.getFieldIfSet(text), fields.removeField(44), fields.isSetField(fix.Price())
    (False, None, False)
    >>> party = fix.Group(453, 448)
    >>> party.setField(fix.PartyID("BANK"))
    >>> fields.addGroup(party)
    >>> fields.groupCount(453), fields.hasGroup(453), fields.hasGroup(1, party), fields.hasGroup(2, party)
    (1, True, True, False)
    >>> fields.getGroup(1, fix.Group(453, 448)).getField(448)
    'BANK'
    """

    def __init__(self) -> None:
        self._values: dict[int, str | list[Group]] = {}
        # Fields that a callback has added to an outgoing message; None for other messages.
        self._added: dict[int, str] | None = None

    @overload
    def setField(self, field: FieldBase) -> None: ...
    @overload
    def setField(self, field: int, value: str) -> None: ...
    def setField(self, field: FieldBase | int, value: str | None = None) -> None:
        """Set a field: a field object, or a tag and the value as text.

        If the group of a NumInGroup field has entries, the value must be their number; otherwise a
        ``ValueError`` is raised.
        """
        if isinstance(field, int):
            field = StringField(field, value)
        tag, text = field.getTag(), field.getString()
        if self._added is not None:
            known = self._values.get(tag)
            if known == text:
                return
            if tag in _HEADER or tag in _TRAILER or (known is not None and tag not in self._added):
                self._refuse(f"set field {tag} of a message that is being sent", _ADD_ONLY)
            self._added[tag] = text
        known = self._values.get(tag)
        if isinstance(known, list):
            # A NumInGroup that is set after its entries must be their number; the entries are kept.
            if text != str(len(known)):
                raise ValueError(f"field {tag} says {text}, and the group has {len(known)} entries")
            return
        self._values[tag] = text

    def getField(self, field: FieldBase | int) -> Any:
        """The value of a tag as text, or the given field object with its value."""
        tag = field if isinstance(field, int) else field.getTag()
        value = self._values.get(tag)
        if value is None:
            raise FieldNotFound(tag)
        text = value if isinstance(value, str) else str(len(value))
        if isinstance(field, int):
            return text
        field.setString(text)
        return field

    def getFieldIfSet(self, field: FieldBase) -> bool:
        """Set the field object to the message's value; return whether the message has the field."""
        if self.isSetField(field):
            self.getField(field)
            return True
        return False

    def isSetField(self, field: FieldBase | int) -> bool:
        """Whether the message has a field."""
        return (field if isinstance(field, int) else field.getTag()) in self._values

    def removeField(self, field: FieldBase | int) -> None:
        """Remove a field, if the message has it."""
        if self._added is not None:
            self._refuse("remove a field of a message that is being sent", _ADD_ONLY)
        self._values.pop(field if isinstance(field, int) else field.getTag(), None)

    def addGroup(self, group: Group) -> None:
        """Append an entry to a repeating group. Later changes of ``group`` do not change it."""
        if self._added is not None:
            self._refuse("add a group to a message that is being sent", _ADD_ONLY)
        entries = self._values.get(group.field())
        if not isinstance(entries, list):
            entries = self._values[group.field()] = []
        entries.append(group._copy())

    def groupCount(self, tag: int) -> int:
        """Number of entries of a group, by the tag of its count."""
        return len(self._entries(tag))

    def hasGroup(self, number: int, group: Group | None = None) -> bool:
        """Whether a group has an entry with this number, from 1; or any, by the tag of its count."""
        if group is None:
            return bool(self._entries(number))
        return 1 <= number <= len(self._entries(group.field()))

    def getGroup(self, number: int, group: Group) -> Group:
        """Copy an entry of a group, counted from 1, into ``group``."""
        if not self.hasGroup(number, group):
            raise FieldNotFound(group.field())
        group._values = self._entries(group.field())[number - 1]._copy()._values
        return group

    def _entries(self, tag: int) -> list[Group]:
        entries = self._values.get(tag)
        return entries if isinstance(entries, list) else []

    def _refuse(self, what: str, instead: str) -> None:
        raise NotImplementedError(f"cannot {what}: {instead}")

    def _take(self, source: Any, fields: Iterator[tuple[int, bytes]]) -> None:
        """Take the next fields, which are those of a received message or entry."""
        keys: list[str | int] = source.keys()
        for key in keys:
            tag, value = next(fields)
            entries = _entries_of(source, key)
            if entries is None:
                self._values.setdefault(tag, value.decode(errors="surrogateescape"))
                continue
            groups = self._values.setdefault(tag, [])
            for entry in entries:
                # An entry begins with its delimiter.
                group = Group(tag, 0)
                group._take(entry, fields)
                group._delimiter = next(iter(group._values), 0)
                if isinstance(groups, list):
                    groups.append(group)

    def _fields(self) -> dict[str | int, Any]:
        """The fields as `tickwire.fix` sends them."""
        sent: dict[str | int, Any] = {}
        for tag, value in self._values.items():
            if isinstance(value, list):
                sent[tag] = [entry._fields() for entry in value]
            elif tag not in _OF_THE_SESSION:
                sent[tag] = value if tag == 35 else value.encode(errors="surrogateescape")
        return sent

    def _pairs(self) -> Iterator[tuple[int, str]]:
        """Tags and values in order, with those of the entries of groups."""
        for tag, value in self._values.items():
            if isinstance(value, str):
                yield tag, value
                continue
            yield tag, str(len(value))
            for entry in value:
                yield from entry._pairs()


_ADD_ONLY = (
    "a callback can add fields of the body. Set all others before Session.sendToTarget, and those of the header "
    "in the settings (SenderSubID, TargetSubID, DefaultApplVerID, ...)"
)


def _entries_of(source: Any, key: str | int) -> list[Any] | None:
    """The entries of a field, if it is the count of a group."""
    try:
        value = source.get(key)
    except _fix.FixError:
        # A value that does not have its type: it is read as text.
        return None
    return value if isinstance(value, list) else None


class Group(FieldMap):
    """An entry of a repeating group: the tag of its count, and of the first field of an entry.

    >>> import tickwire.quickfix as fix
    >>> party = fix.Group(453, 448)
    >>> party.setField(fix.PartyID("BANK"))
    >>> party.field(), party.delim()
    (453, 448)
    """

    def __init__(self, field: int, delim: int) -> None:
        super().__init__()
        self._field = field
        self._delimiter = delim

    def field(self) -> int:
        """The tag of the group's count."""
        return self._field

    def delim(self) -> int:
        """The tag with which an entry begins."""
        return self._delimiter

    def _copy(self) -> Group:
        group = Group(self._field, self._delimiter)
        # The delimiter comes first.
        values = sorted(self._values.items(), key=lambda pair: pair[0] != self._delimiter)
        for tag, value in values:
            group._values[tag] = [entry._copy() for entry in value] if isinstance(value, list) else value
        return group


class Message(FieldMap):
    """A message: empty, or parsed from a text.

    >>> import tickwire.quickfix as fix
    >>> message = fix.Message("8=FIX.4.4|9=42|35=D|34=2|49=A|56=B|55=MSFT|44=10.50|54=1|10=234|")
    >>> message.getHeader().getField(fix.MsgSeqNum()).getValue(), message.getField(44), message.isApp(), message.isAdmin()
    (2, '10.50', True, False)
    >>> message.getHeader().setField(fix.PossResend(True))
    >>> message.toString().replace(chr(1), "|")
    '8=FIX.4.4|9=47|35=D|34=2|49=A|56=B|97=Y|55=MSFT|44=10.50|54=1|10=246|'
    >>> message.getTrailer().getField(10)
    '234'
    >>> message.clear()
    >>> message.isSetField(55)
    False
    """

    def __init__(self, text: str | bytes | None = None) -> None:
        super().__init__()
        self._header = FieldMap()
        self._trailer = FieldMap()
        if text is not None:
            try:
                self._set(_fix.parse(text))
            except _fix.FixError as error:
                raise InvalidMessage(str(error)) from None

    def getHeader(self) -> FieldMap:
        """Fields of the header. The session writes BeginString, CompIDs, MsgSeqNum and SendingTime."""
        return self._header

    def getTrailer(self) -> FieldMap:
        """Fields of the trailer. The session writes CheckSum."""
        return self._trailer

    def isAdmin(self) -> bool:
        """Whether it is a message of the session, such as a Logon."""
        return self._header.isSetField(35) and self._header.getField(35) in list("0A12345")

    def isApp(self) -> bool:
        """Whether it is a message of the application."""
        return not self.isAdmin()

    def clear(self) -> None:
        """Remove all fields."""
        if self._added is not None:
            self._refuse("remove the fields of a message that is being sent", _ADD_ONLY)
        self._values, self._header, self._trailer = {}, FieldMap(), FieldMap()

    def toString(self) -> str:
        """The message as on the wire, with BodyLength and CheckSum."""
        head = dict(self._header._pairs())
        begin, msg_type = head.pop(8, ""), head.pop(35, "")
        head.pop(9, None)
        trailer = [(tag, value) for tag, value in self._trailer._pairs() if tag != 10]
        pairs = [(35, msg_type), *head.items(), *self._pairs(), *trailer]
        body = "".join(f"{tag}={value}\x01" for tag, value in pairs)
        text = f"8={begin}\x019={len(body.encode(errors='surrogateescape'))}\x01{body}"
        return f"{text}10={sum(text.encode(errors='surrogateescape')) % 256:03}\x01"

    def __str__(self) -> str:
        return self.toString()

    def _set(self, message: _fix.Message) -> None:
        self._take(message, iter(message.fields()))
        for tag in [*self._values]:
            part = self._header if tag in _HEADER else self._trailer if tag in _TRAILER else self
            if part is not self:
                part._values[tag] = self._values.pop(tag)

    def _leaves(self) -> dict[int, str]:
        """From now on fields can only be added. Return the dictionary that will have them."""
        added: dict[int, str] = {}
        self._added = self._header._added = self._trailer._added = added
        return added


class SessionID:
    """The identity of a session.

    >>> import tickwire.quickfix as fix
    >>> session = fix.SessionID("FIX.4.4", "CLIENT", "EXCHANGE")
    >>> print(session)
    FIX.4.4:CLIENT->EXCHANGE
    >>> session.getBeginString().getValue(), session.getSenderCompID().getValue(), session.getTargetCompID().getValue()
    ('FIX.4.4', 'CLIENT', 'EXCHANGE')
    >>> session.getSessionQualifier(), session.toString()
    ('', 'FIX.4.4:CLIENT->EXCHANGE')
    >>> session == fix.SessionID("FIX.4.4", "CLIENT", "EXCHANGE")
    True
    """

    def __init__(
        self,
        beginString: str | FieldBase,
        senderCompID: str | FieldBase,
        targetCompID: str | FieldBase,
        sessionQualifier: str = "",
    ) -> None:
        parts = (beginString, senderCompID, targetCompID, sessionQualifier)
        self._parts = tuple(part if isinstance(part, str) else part.getString() for part in parts)

    def getBeginString(self) -> FieldBase:
        """BeginString (8)."""
        return StringField(8, self._parts[0])

    def getSenderCompID(self) -> FieldBase:
        """SenderCompID (49) of this side."""
        return StringField(49, self._parts[1])

    def getTargetCompID(self) -> FieldBase:
        """SenderCompID of the peer, TargetCompID (56) of this side."""
        return StringField(56, self._parts[2])

    def getSessionQualifier(self) -> str:
        """SessionQualifier of the settings."""
        return self._parts[3]

    def toString(self) -> str:
        """The parts as text."""
        begin, sender, target, qualifier = self._parts
        return f"{begin}:{sender}->{target}{':' if qualifier else ''}{qualifier}"

    def __str__(self) -> str:
        return self.toString()

    def __repr__(self) -> str:
        return f"<SessionID {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionID) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


class Dictionary:
    """Settings of a session. Keys are case-insensitive.

    >>> import tickwire.quickfix as fix
    >>> settings = fix.Dictionary({"HeartBtInt": "30", "CheckLatency": "N", "Factor": "1.5"})
    >>> settings.has("heartbtint"), settings.getString("HeartBtInt"), settings.getInt("HeartBtInt")
    (True, '30', 30)
    >>> settings.getBool("CheckLatency"), settings.getDouble("Factor")
    (False, 1.5)
    """

    def __init__(self, values: dict[str, str]) -> None:
        self._values = {key.lower(): value for key, value in values.items()}

    def has(self, key: str) -> bool:
        """Whether there is such a key."""
        return key.lower() in self._values

    def getString(self, key: str) -> str:
        """The value of a key."""
        if not self.has(key):
            raise ConfigError(f"the settings have no {key}")
        return self._values[key.lower()]

    def getInt(self, key: str) -> int:
        """The value of a key as an int."""
        return int(self.getString(key))

    def getDouble(self, key: str) -> float:
        """The value of a key as a float."""
        return float(self.getString(key))

    def getBool(self, key: str) -> bool:
        """Whether the value of a key is ``Y``."""
        return self.getString(key) == "Y"


class SessionSettings:
    """A settings file: its path, or its text (with a line break in it).

    The engine checks keys and values when it is created. See ``docs/fix-from-quickfix.md`` for all
    keys.

    >>> import tickwire.quickfix as fix
    >>> settings = fix.SessionSettings('''[DEFAULT]
    ... BeginString=FIX.4.4
    ... [SESSION]
    ... SenderCompID=CLIENT
    ... TargetCompID=EXCHANGE
    ... Password=secret
    ... ''')
    >>> [session] = settings.getSessions()
    >>> print(session, settings.get(session).getString("Password"), settings.get().has("Password"))
    FIX.4.4:CLIENT->EXCHANGE secret False
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        text = os.fspath(file)
        if "\n" not in text:
            try:
                with open(text, encoding="utf-8") as opened:
                    text = opened.read()
            except OSError as error:
                raise ConfigError(f"{text}: {error.strerror}") from None
        self._text = text
        self._default: dict[str, str] = {}
        sections: list[dict[str, str]] = []
        section = self._default
        for line in text.splitlines():
            line = line.strip()
            if line.startswith("[") and line.endswith("]"):
                section = self._default
                if line[1:-1].strip().lower() == "session":
                    section = {}
                    sections.append(section)
            elif "=" in line and not line.startswith("#"):
                key, _, value = line.partition("=")
                section[key.strip().lower()] = value.strip()
        self._sessions = {_id_of(self._default | section): self._default | section for section in sections}

    def get(self, sessionID: SessionID | None = None) -> Dictionary:
        """The settings of a session, or the default ones."""
        if sessionID is None:
            return Dictionary(self._default)
        if sessionID not in self._sessions:
            raise ConfigError(f"the settings have no session {sessionID}")
        return Dictionary(self._sessions[sessionID])

    def getSessions(self) -> set[SessionID]:
        """The sessions of the file."""
        return {*self._sessions}

    def _has(self, key: str) -> bool:
        return any(key.lower() in section for section in self._sessions.values())

    def _without(self, key: str) -> str:
        """The text without a key; lines keep their numbers."""
        lines = self._text.splitlines()
        return "\n".join(
            "" if line.partition("=")[0].strip().lower() == key.lower() else line for line in lines
        )


def _id_of(section: dict[str, str]) -> SessionID:
    keys = ("beginstring", "sendercompid", "targetcompid", "sessionqualifier")
    return SessionID(*(section.get(key, "") for key in keys))


class FileStoreFactory:
    """Sessions keep their messages and numbers in files, in ``FileStorePath`` of the settings.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.FileStoreFactory(fix.SessionSettings("[SESSION]\\nBeginString=FIX.4.4\\n"))
    ... except fix.ConfigError as error:
    ...     print(error)
    the settings have no FileStorePath
    """

    def __init__(self, settings: SessionSettings) -> None:
        _demand(settings, "FileStorePath")


class MemoryStoreFactory:
    """Sessions keep their messages and numbers in memory; ``FileStorePath`` is ignored.

    >>> import tickwire.quickfix as fix
    >>> isinstance(fix.MemoryStoreFactory(), fix.MemoryStoreFactory)
    True
    """


class FileLogFactory:
    """Sessions log their messages to files, in ``FileLogPath`` of the settings. ``tickwire fix log``
    prints them.

    >>> import tickwire.quickfix as fix
    >>> try:
    ...     fix.FileLogFactory(fix.SessionSettings("[SESSION]\\nBeginString=FIX.4.4\\n"))
    ... except fix.ConfigError as error:
    ...     print(error)
    the settings have no FileLogPath
    """

    def __init__(self, settings: SessionSettings) -> None:
        _demand(settings, "FileLogPath")


class ScreenLogFactory:
    """Prints the messages that the callbacks get, and logons and logouts. Passwords are not printed.

    Of the default settings, ``ScreenLogShowIncoming``, ``ScreenLogShowOutgoing`` and
    ``ScreenLogShowEvents`` suppress lines if they are ``N``.

    >>> import tickwire.quickfix as fix
    >>> isinstance(fix.ScreenLogFactory(fix.SessionSettings("[SESSION]\\n")), fix.ScreenLogFactory)
    True
    """

    def __init__(self, settings: SessionSettings) -> None:
        default = settings.get()
        self._hidden = {
            kind
            for kind in ("incoming", "outgoing", "events")
            if default.has(f"ScreenLogShow{kind}") and not default.getBool(f"ScreenLogShow{kind}")
        }

    def _show(self, kind: str, session: SessionID, text: str) -> None:
        if kind not in self._hidden:
            now = datetime.datetime.now(datetime.timezone.utc)
            print(f"<{wire(now).decode()}, {session}, {kind.removesuffix('s')}>\n  ({text})", flush=True)

    def _message(self, kind: str, session: SessionID, message: Message) -> None:
        fields = [field.partition("=") for field in message.toString().split("\x01")]
        shown = [
            f"{tag}={'***' if tag.isdigit() and int(tag) in _SECRET else value}"
            for tag, _, value in fields
            if tag
        ]
        self._show(kind, session, "|".join(shown))


def _demand(settings: SessionSettings, key: str) -> None:
    if not settings._has(key):
        raise ConfigError(f"the settings have no {key}")


class Application:
    """Callbacks of an application. They are called on the engine's thread.

    An exception is logged (``logging.getLogger("tickwire.fix")``) and has no other effect, except
    `DoNotSend` in ``toApp``, `RejectLogon` in ``fromAdmin``, and `FieldNotFound`, `IncorrectTagValue`,
    `IncorrectDataFormat` and `UnsupportedMessageType` in ``fromApp``.

    >>> import tickwire.quickfix as fix
    >>> class Client(fix.Application):
    ...     def onCreate(self, sessionID: fix.SessionID) -> None: ...
    ...     def onLogon(self, sessionID: fix.SessionID) -> None: ...
    ...     def onLogout(self, sessionID: fix.SessionID) -> None: ...
    ...     def toAdmin(self, message: fix.Message, sessionID: fix.SessionID) -> None:
    ...         if message.getHeader().getField(35) == fix.MsgType_Logon:
    ...             message.setField(fix.Username("me"))
    ...     def fromAdmin(self, message: fix.Message, sessionID: fix.SessionID) -> None: ...
    ...     def toApp(self, message: fix.Message, sessionID: fix.SessionID) -> None: ...
    ...     def fromApp(self, message: fix.Message, sessionID: fix.SessionID) -> None:
    ...         print(message.getField(fix.Symbol()).getValue())
    """

    def onCreate(self, sessionID: SessionID) -> None:
        """Called when a session is created."""

    def onLogon(self, sessionID: SessionID) -> None:
        """Called when both sides are logged on."""

    def onLogout(self, sessionID: SessionID) -> None:
        """Called when the session is no longer logged on."""

    def toAdmin(self, message: Message, sessionID: SessionID) -> None:
        """Called before an administrative message is sent. Fields can be added to it."""

    def fromAdmin(self, message: Message, sessionID: SessionID) -> None:
        """Called for a received administrative message. `RejectLogon` ends the session."""

    def toApp(self, message: Message, sessionID: SessionID) -> None:
        """Called before an application message is sent. Fields can be added to it. `DoNotSend`
        withholds it."""

    def fromApp(self, message: Message, sessionID: SessionID) -> None:
        """Called for a received application message."""


class _Adapter(_fix.Application):
    """Passes the engine's callbacks on in QuickFIX's form."""

    def __init__(self, application: Application, log: ScreenLogFactory | None) -> None:
        self._application = application
        self._log = log

    def _received(self, message: _fix.Message, session: _fix.Session) -> tuple[Message, SessionID]:
        received, session_id = Message(), _id(session)
        received._set(message)
        if self._log is not None:
            self._log._message("incoming", session_id, received)
        return received, session_id

    def _leaving(
        self, message: _fix.Message, session: _fix.Session, call: Callable[[Message, SessionID], object]
    ) -> dict[str | int, Any]:
        leaving, session_id = Message(), _id(session)
        leaving._set(message)
        added = leaving._leaves()
        call(leaving, session_id)
        if self._log is not None:
            self._log._message("outgoing", session_id, leaving)
        return {tag: value.encode(errors="surrogateescape") for tag, value in added.items()}

    def _event(self, session: _fix.Session, text: str) -> None:
        if self._log is not None:
            self._log._show("events", _id(session), text)

    def onCreate(self, session: _fix.Session) -> None:
        _SESSIONS[_id(session)] = session
        self._event(session, "Created session")
        self._application.onCreate(_id(session))

    def onLogon(self, session: _fix.Session) -> None:
        self._event(session, "Logged on")
        self._application.onLogon(_id(session))

    def onLogout(self, session: _fix.Session) -> None:
        self._event(session, "Logged out")
        self._application.onLogout(_id(session))

    def toAdmin(self, message: _fix.Message, session: _fix.Session) -> _fix.Fields | None:
        return self._leaving(message, session, self._application.toAdmin)

    def fromAdmin(self, message: _fix.Message, session: _fix.Session) -> None:
        self._application.fromAdmin(*self._received(message, session))

    def toApp(self, message: _fix.Message, session: _fix.Session) -> _fix.Fields | None:
        try:
            return self._leaving(message, session, self._application.toApp)
        except NotImplementedError as error:
            # Not sent, because it lacks the changes that the application wanted to make.
            _LOG.error("toApp raised %r", error, exc_info=error)
            raise DoNotSend from error

    def fromApp(self, message: _fix.Message, session: _fix.Session) -> None:
        try:
            self._application.fromApp(*self._received(message, session))
        except FieldNotFound as error:
            raise _fix.BusinessReject(f"Conditionally Required Field Missing ({error.field})", 5) from error
        except UnsupportedMessageType as error:
            raise _fix.BusinessReject("", 3) from error
        except _FieldError as error:
            raise _fix.Reject(error.reason, error.field) from error


# Sessions of this process. They live as long as their initiators and acceptors.
_SESSIONS: weakref.WeakValueDictionary[SessionID, _fix.Session] = weakref.WeakValueDictionary()


def _id(session: _fix.Session) -> SessionID:
    return SessionID(session.begin_string, session.sender_comp_id, session.target_comp_id, session.qualifier)


class Session:
    """A session: sends messages from any thread.

    `SocketInitiator` has an example with a peer.

    >>> import tickwire.quickfix as fix
    >>> settings = fix.SessionSettings('''[DEFAULT]
    ... ConnectionType=initiator
    ... SocketConnectHost=127.0.0.1
    ... SocketConnectPort=1
    ... [SESSION]
    ... BeginString=FIX.4.4
    ... SenderCompID=CLIENT
    ... TargetCompID=EXCHANGE
    ... ''')
    >>> initiator = fix.SocketInitiator(fix.Application(), fix.MemoryStoreFactory(), settings)
    >>> [session_id] = initiator.getSessions()
    >>> initiator.start()
    >>> order = fix.Message()
    >>> order.getHeader().setField(fix.MsgType("D"))
    >>> fix.Session.sendToTarget(order, session_id)  # stored, and sent after the Logon
    False
    >>> session = fix.Session.lookupSession(session_id)
    >>> session.getSessionID() == session_id, session.isLoggedOn(), session.send(order), session.logout()
    (True, False, False, None)
    >>> initiator.stop()
    """

    def __init__(self, session: _fix.Session) -> None:
        self._session = session

    @staticmethod
    def lookupSession(sessionID: SessionID) -> Session | None:
        """The session of this process with this identity, or None."""
        session = _SESSIONS.get(sessionID)
        return None if session is None else Session(session)

    @staticmethod
    def sendToTarget(
        message: Message,
        session: SessionID | str | None = None,
        targetCompID: str | None = None,
        qualifier: str = "",
    ) -> bool:
        """Send a message to a session, given by its identity, by two CompIDs, or by the header.

        The message is stored, and sent while both sides are logged on, else after the next Logon.
        Return whether they are logged on. A message that cannot be encoded raises
        `tickwire.fix.FixError`.
        """
        if not isinstance(session, SessionID):
            header = message.getHeader()
            sender = header.getField(49) if session is None else session
            target = header.getField(56) if targetCompID is None else targetCompID
            session = SessionID(header.getField(8), sender, target, qualifier)
        found = Session.lookupSession(session)
        if found is None:
            raise SessionNotFound(str(session))
        return found.send(message)

    def send(self, message: Message) -> bool:
        """Send a message: see `sendToTarget`."""
        parts = (message.getHeader(), message, message.getTrailer())
        self._session.send({tag: value for part in parts for tag, value in part._fields().items()})
        return self._session.is_logged_on

    def getSessionID(self) -> SessionID:
        """Its identity."""
        return _id(self._session)

    def isLoggedOn(self) -> bool:
        """Whether both sides are logged on."""
        return self._session.is_logged_on

    def logout(self, reason: str = "") -> None:
        """End the connection with a Logout. An initiator connects again."""
        self._session.logout(reason)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"Session.{name} is missing: use settings such as ResetOnLogon, or tickwire.fix for sessions, and "
            "tickwire fix server --admin for their numbers"
        )


class _Connector:
    """An initiator or an acceptor."""

    _kind: type[_fix.Initiator | _fix.Acceptor]

    def __init__(
        self,
        application: Application,
        storeFactory: FileStoreFactory | MemoryStoreFactory,
        settings: SessionSettings,
        logFactory: FileLogFactory | ScreenLogFactory | None = None,
    ) -> None:
        for given, kinds in (
            (storeFactory, (FileStoreFactory, MemoryStoreFactory)),
            (logFactory, (FileLogFactory, ScreenLogFactory, type(None))),
        ):
            if not isinstance(given, kinds):
                names = " or ".join(kind.__name__ for kind in kinds[:2])
                raise TypeError(f"{given!r}: expected a {names}")
        text = settings._text
        if isinstance(storeFactory, MemoryStoreFactory):
            text = settings._without("FileStorePath")
        if not isinstance(logFactory, FileLogFactory):
            text = SessionSettings(text + "\n")._without("FileLogPath")
        log = logFactory if isinstance(logFactory, ScreenLogFactory) else None
        try:
            self._engine = self._kind(text + "\n", _Adapter(application, log))
        except TickwireError as error:
            raise ConfigError(str(error)) from error
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start to connect or listen."""
        self._engine.start()

    def block(self) -> None:
        """Start, and wait until another thread calls `stop`."""
        self.start()
        self._stopped.wait()

    def stop(self, force: bool = False) -> None:
        """Log out all sessions and wait until that is done; ``force`` makes no difference."""
        try:
            self._engine.stop()
        finally:
            self._stopped.set()

    def isStopped(self) -> bool:
        """Whether it has ended."""
        return self._engine.has_ended

    def isLoggedOn(self) -> bool:
        """Whether any session is logged on."""
        return any(session.is_logged_on for session in self._engine.sessions)

    def getSessions(self) -> set[SessionID]:
        """The sessions."""
        return {_id(session) for session in self._engine.sessions}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__}.{name} is missing: use start() or block(), and stop()")


class SocketInitiator(_Connector):
    """Sessions that connect to their peers.

    >>> import tickwire.quickfix as fix
    >>> acceptor = fix.SocketAcceptor(fix.Application(), fix.MemoryStoreFactory(), fix.SessionSettings('''[DEFAULT]
    ... ConnectionType=acceptor
    ... SocketAcceptAddress=127.0.0.1
    ... SocketAcceptPort=0
    ... [SESSION]
    ... BeginString=FIX.4.4
    ... SenderCompID=EXCHANGE
    ... TargetCompID=CLIENT
    ... '''))
    >>> import threading
    >>> came = threading.Event()
    >>> class Client(fix.Application):
    ...     def onLogon(self, sessionID: fix.SessionID) -> None:
    ...         print("logged on:", sessionID)
    ...         came.set()
    >>> settings = fix.SessionSettings(f'''[DEFAULT]
    ... ConnectionType=initiator
    ... SocketConnectHost=127.0.0.1
    ... SocketConnectPort={acceptor.addresses[0][1]}
    ... [SESSION]
    ... BeginString=FIX.4.4
    ... SenderCompID=CLIENT
    ... TargetCompID=EXCHANGE
    ... ''')
    >>> initiator = fix.SocketInitiator(Client(), fix.MemoryStoreFactory(), settings)
    >>> acceptor.start()
    >>> thread = threading.Thread(target=initiator.block)
    >>> thread.start()
    >>> came.wait(10), initiator.isLoggedOn(), len(initiator.getSessions())
    logged on: FIX.4.4:CLIENT->EXCHANGE
    (True, True, 1)
    >>> initiator.stop()
    >>> acceptor.stop()
    >>> initiator.isStopped(), thread.join()
    (True, None)
    """

    _kind = _fix.Initiator


class SocketAcceptor(_Connector):
    """Sessions that accept connections from their peers.

    >>> import tickwire.quickfix as fix
    >>> settings = fix.SessionSettings('''[DEFAULT]
    ... ConnectionType=acceptor
    ... SocketAcceptAddress=127.0.0.1
    ... SocketAcceptPort=0
    ... [SESSION]
    ... BeginString=FIX.4.4
    ... SenderCompID=EXCHANGE
    ... TargetCompID=CLIENT
    ... ''')
    >>> acceptor = fix.SocketAcceptor(fix.Application(), fix.MemoryStoreFactory(), settings, fix.ScreenLogFactory(settings))  # doctest: +ELLIPSIS
    <...-...:...:..., FIX.4.4:EXCHANGE->CLIENT, event>
      (Created session)
    >>> import threading
    >>> thread = threading.Thread(target=acceptor.block)
    >>> thread.start()
    >>> acceptor.addresses[0][0], acceptor.isLoggedOn(), acceptor.getSessions()
    ('127.0.0.1', False, {<SessionID FIX.4.4:EXCHANGE->CLIENT>})
    >>> acceptor.stop()
    >>> acceptor.isStopped(), thread.join()
    (True, None)
    """

    _kind = _fix.Acceptor

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Addresses on which it listens; QuickFIX does not have them."""
        return self._engine.addresses  # type: ignore[union-attr]


_VERSIONS = ("FIX44", "FIXT11", "FIX50SP2", "FIX50SP1", "FIX50", "FIX43", "FIX42", "FIX41", "FIX40")
_BASES = {
    "Amt": DoubleField,
    "Boolean": BoolField,
    "Char": CharField,
    "DayOfMonth": IntField,
    "Float": DoubleField,
    "Int": IntField,
    "Length": IntField,
    "NumInGroup": IntField,
    "Percentage": DoubleField,
    "Price": DoubleField,
    "PriceOffset": DoubleField,
    "Qty": DoubleField,
    "SeqNum": IntField,
    "TagNum": IntField,
    "UtcTimestamp": UtcTimeStampField,
}
# Replacements for names of QuickFIX that this module lacks.
_INSTEAD = {
    "CompositeLogFactory": "FileLogFactory or ScreenLogFactory",
    "DataDictionary": "tickwire.fix.Dictionary, or the key DataDictionary in the settings",
    "MessageCracker": "message.getHeader().getField(35) in fromApp",
    "MySQLLogFactory": "FileLogFactory",
    "MySQLStoreFactory": "FileStoreFactory",
    "NullStoreFactory": "MemoryStoreFactory, and PersistMessages=N in the settings",
    "OdbcLogFactory": "FileLogFactory",
    "OdbcStoreFactory": "FileStoreFactory",
    "PostgreSQLLogFactory": "FileLogFactory",
    "PostgreSQLStoreFactory": "FileStoreFactory",
    "SSLSocketAcceptor": "SocketAcceptor, and SocketUseSSL=Y in the settings",
    "SSLSocketInitiator": "SocketInitiator, and SocketUseSSL=Y in the settings",
    "ThreadedSocketAcceptor": "SocketAcceptor",
    "ThreadedSocketInitiator": "SocketInitiator",
    "ThreadedSSLSocketAcceptor": "SocketAcceptor, and SocketUseSSL=Y in the settings",
    "ThreadedSSLSocketInitiator": "SocketInitiator, and SocketUseSSL=Y in the settings",
    "UtcTimeStamp": "datetime.datetime with a time zone",
}


@functools.cache
def _dictionary(version: str) -> _fix.Dictionary:
    return _fix.Dictionary.version(version)


def _class_of(name: str) -> type[FieldBase] | None:
    """The class of a field that any version of FIX has."""
    for version in _VERSIONS:
        dictionary = _dictionary(version)
        tag = dictionary.tag(name)
        if tag is not None:
            base = _BASES.get(dictionary.type(name) or "", StringField)

            def create(self: FieldBase, value: object = None, base: Any = base, tag: int = tag) -> None:
                base.__init__(self, tag, value)

            return type(name, (base,), {"__init__": create, "__module__": __name__})
    return None


def _value_of(field: str, value: str) -> str | int | bool | None:
    """A named value of a field, as ``getValue`` of the field returns it."""
    if field == "BeginString" and value in _VERSIONS:
        return _dictionary(value).begin_string if value == "FIXT11" else f"FIX.{value[3]}.{value[4:]}"
    for version in _VERSIONS:
        dictionary = _dictionary(version)
        if dictionary.tag(field) is None:
            continue
        values = dictionary.values(field)
        if field == "MsgType":
            values = values | dictionary.messages
        for wanted, name in values.items():
            if name == value:
                base = _BASES.get(dictionary.type(field) or "")
                if base is BoolField:
                    return wanted == "Y"
                return int(wanted) if base is IntField else wanted
    return None


def __getattr__(name: str) -> Any:
    """Fields, such as ``Symbol``, and their values, such as ``Side_BUY``."""
    field, underscore, value = name.partition("_")
    found = None
    if field:
        found = _value_of(field, value) if underscore else _class_of(name)
    if found is None:
        instead = _INSTEAD.get(name, "the names in help(tickwire.quickfix), or tickwire.fix")
        raise AttributeError(f"tickwire.quickfix has no {name}: use {instead}")
    globals()[name] = found
    return found
