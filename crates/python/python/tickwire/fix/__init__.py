"""FIX messages: parsing, access and validation; logs as columns; sessions.

>>> order = parse("8=FIX.4.4|9=54|35=D|55=MSFT|54=1|44=10.50|453=1|448=BANK|447=D|452=3|10=113|")
>>> order.msg_type, order.name, order.Symbol, order.Price, order[54]
('D', 'NewOrderSingle', 'MSFT', Decimal('10.50'), '1')
>>> [party.PartyID for party in order.NoPartyIDs]
['BANK']
>>> for error in validate(order):
...     print(error.tag, error.reason, error)
49 1 SenderCompID (49) at offset 76: a required tag is missing [SessionRejectReason 1: Required tag missing]
"""

from __future__ import annotations

from tickwire.fix import _native
from tickwire.fix._errors import FixError
from tickwire.fix._log import Log, open
from tickwire.fix._native import Batches, Dictionary, Entry, Message
from tickwire.fix._session import (
    Acceptor,
    Application,
    BusinessReject,
    DoNotSend,
    Fields,
    Initiator,
    Reject,
    RejectLogon,
    Sending,
    Session,
)

__all__ = [
    "Acceptor",
    "Application",
    "Batches",
    "BusinessReject",
    "Dictionary",
    "DoNotSend",
    "Entry",
    "Fields",
    "FixError",
    "Initiator",
    "Log",
    "Message",
    "Reject",
    "RejectLogon",
    "Sending",
    "Session",
    "open",
    "parse",
    "validate",
]


def parse(
    text: bytes | str,
    separator: bytes | str | None = None,
    *,
    dictionary: Dictionary | None = None,
    checks: bool = True,
) -> Message:
    """Parse one message, as on the wire or as printed in a log.

    - ``separator``: separator of fields; detected by default
    - ``dictionary``: names and types of fields; by default those of the message's version
    - ``checks``: whether a wrong BodyLength or CheckSum, or a message without its first or last fields, is a
      `FixError`. If not, ``Message.wrong`` lists the errors.

    >>> heartbeat = parse(b"8=FIX.4.2\\x019=5\\x0135=0\\x0110=161\\x01")
    >>> heartbeat.to_dict()["name"]
    'Heartbeat'
    >>> parse("8=FIX.4.2|9=5|35=0|10=162|")
    Traceback (most recent call last):
    tickwire.fix._errors.FixError: CheckSum (10) is 162, expected 161
    >>> parse("8=FIX.4.2|9=5|35=0|10=162|", checks=False).wrong
    ['CheckSum (10) is 162, expected 161']
    """
    return _native.parse(text, separator, dictionary, checks)


def validate(message: Message | bytes | str, dictionary: Dictionary | None = None) -> list[FixError]:
    """Check a message against a dictionary, by default that of the message.

    Return the errors without raising them: those that make the message garbled, then the first one
    for which a session would reject it. The list is empty for a valid message.

    >>> [error.tag for error in validate("8=FIX.4.2|9=15|35=0|34=1|52=x|10=000|")]
    [10, 49]
    """
    if not isinstance(message, Message):
        message = parse(message, dictionary=dictionary, checks=False)
    return message.validate(dictionary)
