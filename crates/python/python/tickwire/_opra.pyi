import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tickwire import DecodeError, _tickwire

_Path: TypeAlias = str | os.PathLike[str]

def open(path: _Path, input_format: str | None = None, on_error: str = "raise") -> Capture:
    """Opens a capture."""

def simulate(path: _Path, messages: int, seed: int, version: str) -> None:
    """Writes a synthetic trace as length-prefixed packets."""

class Capture:
    """An OPRA capture: iterate over it for messages, or take columns of a category."""

    def __iter__(self) -> Iterator[Message]: ...
    @property
    def errors(self) -> list[DecodeError]:
        """Decoding errors, as exceptions: the first 10,000 of all readings of this capture so far."""
    @property
    def error_count(self) -> int:
        """Number of decoding errors."""
    @property
    def warnings(self) -> list[str]:
        """Remarks that are not errors: headers that disagree with their messages, capture times that
        go back. The first 10,000 of all readings of this capture so far."""
    def counts(self) -> dict[str, int]:
        """Reads the capture once and counts messages by category."""
    def batches(
        self, category: str | None = None, fields: Sequence[str] | None = None, floats: bool = False
    ) -> Batches:
        """Record batches of a category's messages; one row per message, or per entry of its group."""

class Batches:
    """Record batches of a category's messages, for the Arrow C stream interface. Each consumer
    reads the capture from its start."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> _tickwire.Collected:
        """Reads all batches with the GIL released; with ``views``, strings are 16-byte views, as in
        polars."""
    def write_parquet(self, path: _Path) -> None:
        """Writes all rows to a Parquet file, which gets its name only when it is complete."""
    @property
    def error(self) -> DecodeError | None:
        """The error that ended the last failed reading; the consumer raises its own exception."""

class Message:
    """An OPRA message. Fields are attributes, and items by name.

    Codes are characters, prices `decimal.Decimal` scaled by their denominator codes, entries of a
    group (``groups``) dictionaries. ``time_code`` has the digits of the message's own time.
    """

    @property
    def category(self) -> str:
        """The category as the name of its table, such as ``quote``."""
    @property
    def packet(self) -> int:
        """Index of the packet in its capture, from 0."""
    @property
    def time(self) -> int | None:
        """Capture time in nanoseconds since 1970-01-01 UTC."""
    @property
    def offset(self) -> int:
        """Offset of the message in its packet, in bytes."""
    @property
    def source(self) -> str | None:
        """Source of the packet, as IP:PORT."""
    @property
    def destination(self) -> str | None:
        """Destination of the packet, as IP:PORT."""
    def to_dict(self) -> dict[str, object]:
        """All fields in the JSON form of ``tickwire opra decode``."""
    def keys(self) -> list[str]:
        """Names of the fields."""
    def __getattr__(self, name: str) -> object: ...
    def __getitem__(self, name: str) -> object: ...
    def __contains__(self, name: str) -> bool: ...
