from collections.abc import Iterator
from os import PathLike
from typing import Any, TypeAlias

from tickwire import _tickwire
from tickwire.fix._errors import FixError

_Path: TypeAlias = str | PathLike[str]

class Dictionary:
    """Names, types and rules of messages: a file of QuickFIX or FIX Orchestra.

    ``session`` defines header, trailer and session messages of FIX 5.0 and later; by default FIXT
    1.1.
    """

    def __init__(self, path: _Path, session: _Path | None = None) -> None: ...
    @staticmethod
    def parse(xml: str, session: str | None = None) -> Dictionary:
        """Parse the text of a file."""
    @staticmethod
    def version(name: str) -> Dictionary:
        """Return a dictionary that is part of the package, such as ``"FIX.4.4"`` or
        ``"FIX.5.0SP2"``."""
    @property
    def begin_string(self) -> str:
        """BeginString of the version; for FIX 5.0 and later the version's name, such as
        "FIX.5.0SP2"."""
    @property
    def warnings(self) -> list[str]:
        """Harmless errors in the file."""
    @property
    def messages(self) -> dict[str, str]:
        """Names of the messages by MsgType."""
    def tag(self, name: str) -> int | None:
        """The tag of a field; None if no field has the name."""
    def name(self, tag: int) -> str | None:
        """The name of a field; None if no field has the tag."""
    def type(self, name: str) -> str | None:
        """The type of a field's values, such as ``"Price"`` or ``"UtcTimestamp"``; None if no field
        has the name."""
    def values(self, name: str) -> dict[str, str]:
        """Return the allowed values of a field, with their names; empty if any value is allowed."""

class _Fields:
    """Fields are attributes, and items by name or tag.

    Values are ``int``, ``bool``, ``decimal.Decimal``, ``datetime``, ``date``, ``time``, ``bytes``
    for data fields, otherwise ``str``; the count of a group is returned as the list of its entries.
    Times have microseconds: `raw` has all digits. A missing field of the dictionary is ``None`` as
    an attribute, and a ``KeyError`` as an item. A value that is invalid for its type raises
    `FixError`.
    """

    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, key: str | int) -> Any: ...
    def __contains__(self, key: str | int) -> bool: ...
    def get(self, key: str | int, default: Any = None) -> Any:
        """The value of a field; `default` if the message lacks it."""
    def raw(self, key: str | int) -> bytes | None:
        """Return the value as on the wire."""
    def keys(self) -> list[str | int]:
        """Return the names of the fields; tags for fields that the dictionary lacks."""

class Entry(_Fields):
    """An entry of a repeating group."""

class Message(_Fields):
    """A message."""

    @property
    def msg_type(self) -> str:
        """MsgType (35)."""
    @property
    def name(self) -> str | None:
        """Name of the message type; None if the dictionary lacks it."""
    @property
    def line(self) -> int | None:
        """Line of the text log, from 1."""
    @property
    def offset(self) -> int | None:
        """Offset in the text log, in bytes."""
    @property
    def packet(self) -> int | None:
        """Record of the capture, from 0, in which the message ends."""
    @property
    def time(self) -> int | None:
        """Capture time of that record in nanoseconds since 1970-01-01 UTC."""
    @property
    def wrong(self) -> list[str]:
        """Errors of its frame."""
    def fields(self) -> list[tuple[int, bytes]]:
        """Return all fields in order: tag, and value as on the wire."""
    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of ``tickwire fix decode --format jsonl``; numbers with a decimal
        point are ``Decimal``."""
    def validate(self, dictionary: Dictionary | None = None) -> list[FixError]:
        """Return its errors without raising them: those of its frame, then the first one for which
        a session would reject it."""
    def __bytes__(self) -> bytes: ...

def parse(
    text: bytes | str,
    separator: bytes | str | None = None,
    dictionary: Dictionary | None = None,
    checks: bool = True,
) -> Message:
    """Parse the only message of a text. `separator` separates fields; detected by default."""

class Messages:
    """The messages of a log, one by one."""

    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...

class Batches:
    """Record batches of the messages of one type, for the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> _tickwire.Collected:
        """Reads all batches with the GIL released; with ``views``, strings are 16-byte views, as in
        polars."""
    def write_parquet(self, path: _Path) -> None:
        """Writes all rows to a Parquet file, which gets its name only when it is complete."""
    @property
    def error(self) -> FixError | None:
        """The error that ended the last failed reading; the consumer raises its own exception."""

class Log:
    """A log: iterate over it for messages, or take columns of a message type."""

    def __iter__(self) -> Messages: ...
    @property
    def errors(self) -> list[FixError]:
        """Errors as exceptions: the first 10,000 of all readings of this log so far."""
    @property
    def error_count(self) -> int:
        """Number of errors."""
    def counts(self) -> dict[str, int]:
        """Reads the log once and counts messages by MsgType."""
    def batches(
        self,
        msg_type: str | None = None,
        fields: list[str] | None = None,
        all: bool = False,
        floats: bool = False,
    ) -> Batches:
        """Record batches of a type's messages, one row per message."""

def open(
    path: _Path,
    dictionary: Dictionary | None = None,
    separator: bytes | str | None = None,
    checks: bool = True,
    on_error: str = "raise",
) -> Log:
    """Opens a log or capture."""

class Engine:
    """An engine for the sessions of a settings file."""

    def __init__(
        self, host: object, settings: str, is_acceptor: bool, dictionary: Dictionary | None = None
    ) -> None: ...
    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Addresses on which it listens."""
    @property
    def warnings(self) -> list[str]:
        """Unknown keys of the settings."""
    def run(self) -> None:
        """Runs the sessions on this thread until `stop`, then logs them out."""
    def answer(self) -> None:
        """Reports the results of sent messages to their senders, until the engine has ended. Run it
        on a separate thread."""
    def stop(self) -> None:
        """Stops `run`."""
    def send(self, session: int, message: dict[Any, Any], sending: object) -> None:
        """Sends a message; the result is reported to `sending`. In the callback for a received
        message, the sent message is stored in one step with the receipt of that message.
        """
    def logout(self, session: int, text: str) -> None:
        """Ends a session's connection with a Logout."""
