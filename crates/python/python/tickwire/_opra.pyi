import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tickwire import DecodeError, _tickwire

_Path: TypeAlias = str | os.PathLike[str]

def open(path: _Path, input_format: str | None = None, on_error: str = "raise") -> Capture:
    """Opens a capture."""

def simulate(path: _Path, messages: int, seed: int, version: str) -> None:
    """Writes a trace of the generator, its packets behind their lengths."""

class Capture:
    """A capture of OPRA: iterate over it for messages, or take columns of a category."""

    def __iter__(self) -> Iterator[Message]: ...
    @property
    def errors(self) -> list[DecodeError]:
        """What could not be decoded, as exceptions: the first 10,000 of all that read this capture so far."""
    @property
    def error_count(self) -> int:
        """How much could not be decoded."""
    @property
    def warnings(self) -> list[str]:
        """What is odd about packets that were decoded: the first 10,000 of all that read this capture so far."""
    def counts(self) -> dict[str, int]:
        """Reads the capture once and counts messages by category."""
    def batches(
        self, category: str | None = None, fields: Sequence[str] | None = None, floats: bool = False
    ) -> Batches:
        """Record batches of a category's messages, a row a message or an entry of its group."""

class Batches:
    """Record batches of a category's messages, by the Arrow C stream interface. Each taker reads the capture anew."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> _tickwire.Collected:
        """All batches, read with the GIL released; with ``views``, strings are views of 16 bytes, as polars has them."""
    def write_parquet(self, path: _Path) -> None:
        """Write all rows to a Parquet file, which appears under its name when it is whole."""
    @property
    def error(self) -> DecodeError | None:
        """What ended the last reading that was ended by an error: the taker raises an exception of its own."""

class Message:
    """A message of OPRA. Its fields are attributes, and items by name.

    Codes are characters, prices `decimal.Decimal` by their denominator codes, the entries of a group (``groups``) dictionaries.
    The digits of the message's own time are ``time_code``.
    """

    @property
    def category(self) -> str:
        """The category by the name of its table, such as ``quote``."""
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
        """Sender of the packet, as IP:PORT."""
    @property
    def destination(self) -> str | None:
        """Receiver of the packet, as IP:PORT."""
    def to_dict(self) -> dict[str, object]:
        """All fields as ``tickwire opra decode`` writes them in JSON."""
    def keys(self) -> list[str]:
        """Names of the fields."""
    def __getattr__(self, name: str) -> object: ...
    def __getitem__(self, name: str) -> object: ...
    def __contains__(self, name: str) -> bool: ...
