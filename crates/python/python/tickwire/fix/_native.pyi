from collections.abc import Iterator
from os import PathLike
from typing import Any, TypeAlias

from tickwire import _tickwire
from tickwire.fix._errors import FixError

_Path: TypeAlias = str | PathLike[str]

class Dictionary:
    """Names, types and rules of messages: a file of QuickFIX or FIX Orchestra.

    ``session`` has header, trailer and session messages of FIX 5.0 and later; those of FIXT 1.1 unless given.
    """

    def __init__(self, path: _Path, session: _Path | None = None) -> None: ...
    @staticmethod
    def parse(xml: str, session: str | None = None) -> Dictionary:
        """Parse the text of a file."""
    @staticmethod
    def version(name: str) -> Dictionary:
        """Return one that comes with the product, such as ``"FIX.4.4"`` or ``"FIX.5.0SP2"``."""
    @property
    def begin_string(self) -> str:
        """BeginString of the version; for FIX 5.0 and later the name of the version, such as "FIX.5.0SP2"."""
    @property
    def warnings(self) -> list[str]:
        """What is wrong with the file but does no harm."""
    @property
    def messages(self) -> dict[str, str]:
        """Names of the messages by MsgType."""
    def tag(self, name: str) -> int | None:
        """The tag of a field; None if there is none of that name."""
    def name(self, tag: int) -> str | None:
        """The name of a field; None if there is none with that tag."""
    def values(self, name: str) -> dict[str, str]:
        """Return the values that a field may have, with their names; empty if it may have any."""

class _Fields:
    """Fields are attributes, and items by name or tag.

    Values are ``int``, ``bool``, ``decimal.Decimal``, ``datetime``, ``date``, ``time``, ``bytes`` of data fields, else
    ``str``; the count of a group is the list of its entries. Times have microseconds: `raw` has all digits. A field of
    the dictionary that is not there is ``None`` as an attribute, and a ``KeyError`` as an item. A value that its type
    does not allow is a `FixError`.
    """

    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, key: str | int) -> Any: ...
    def __contains__(self, key: str | int) -> bool: ...
    def get(self, key: str | int, default: Any = None) -> Any:
        """The value of a field; `default` if the message does not have it."""
    def raw(self, key: str | int) -> bytes | None:
        """Return the value as on the wire."""
    def keys(self) -> list[str | int]:
        """Return the names of the fields; tags where the dictionary has none."""

class Entry(_Fields):
    """An entry of a repeating group."""

class Message(_Fields):
    """A message."""

    @property
    def msg_type(self) -> str:
        """MsgType (35)."""
    @property
    def name(self) -> str | None:
        """Name of the message type; None if the dictionary does not have it."""
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
        """What is wrong with its frame."""
    def fields(self) -> list[tuple[int, bytes]]:
        """Return all fields in order: tag, and value as on the wire."""
    def to_dict(self) -> dict[str, Any]:
        """Return what ``tickwire fix decode --format jsonl`` writes; numbers with a point are ``Decimal``."""
    def validate(self, dictionary: Dictionary | None = None) -> list[FixError]:
        """What is wrong with it, as errors that are not raised: of its frame, then what a session would reject it for first."""
    def __bytes__(self) -> bytes: ...

def parse(
    text: bytes | str,
    separator: bytes | str | None = None,
    dictionary: Dictionary | None = None,
    checks: bool = True,
) -> Message:
    """The only message of a text. `separator` stands between fields; found unless given."""

class Messages:
    """The messages of a log, one by one."""

    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...

class Batches:
    """Record batches of the messages of one type, by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> _tickwire.Collected:
        """All batches, read with the GIL released; with ``views``, strings are views of 16 bytes, as polars has them."""
    def write_parquet(self, path: _Path) -> None:
        """Write all rows to a Parquet file, which appears under its name when it is whole."""
    @property
    def error(self) -> FixError | None:
        """The error that ended the last reading which was ended by one: the taker raises an exception of its own."""

class Log:
    """A log: iterate over it for messages, or take columns of a message type."""

    def __iter__(self) -> Messages: ...
    @property
    def errors(self) -> list[FixError]:
        """What was wrong, as exceptions: the first 10,000 of all that read this log so far."""
    @property
    def error_count(self) -> int:
        """How much was wrong."""
    def counts(self) -> dict[str, int]:
        """Reads the log once and counts messages by MsgType."""
    def batches(
        self,
        msg_type: str | None = None,
        fields: list[str] | None = None,
        all: bool = False,
        floats: bool = False,
    ) -> Batches:
        """Record batches of a type's messages, a row a message."""

def open(
    path: _Path,
    dictionary: Dictionary | None = None,
    separator: bytes | str | None = None,
    checks: bool = True,
    on_error: str = "raise",
) -> Log:
    """Opens a log or capture."""

class Engine:
    """An engine of the sessions of a settings file."""

    def __init__(
        self, host: object, settings: str, is_acceptor: bool, dictionary: Dictionary | None = None
    ) -> None: ...
    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where it listens."""
    @property
    def warnings(self) -> list[str]:
        """Keys of the settings that are not known."""
    def run(self) -> None:
        """Runs the sessions on this thread until `stop`, then logs them out."""
    def answer(self) -> None:
        """Tells senders what became of their messages, until the engine has ended. Runs on a thread of its own."""
    def stop(self) -> None:
        """Ends `run`."""
    def send(self, session: int, message: dict[Any, Any], sending: object) -> None:
        """Sends a message; `sending` is told what became of it. In a callback for a message that was received, the message
        is stored together with the fact that the other was received.
        """
    def logout(self, session: int, text: str) -> None:
        """Begins the end of a session's connection with a Logout."""
