import pathlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from os import PathLike
from typing import Any, TypeAlias

import numpy

from tickwire._errors import DecodeError

_Path: TypeAlias = str | PathLike[str]

class Message:
    """A decoded message. Its fields are attributes, and items by name."""

    @property
    def template(self) -> str:
        """Name of the template."""
    @property
    def id(self) -> int | None:
        """Id of the template; None where it has none."""
    @property
    def packet(self) -> int | None:
        """Index of the packet in its capture, from 0."""
    @property
    def time(self) -> int | None:
        """Capture time in nanoseconds since 1970-01-01 UTC."""
    @property
    def offset(self) -> int | None:
        """Offset of the message in its packet or stream, in bytes."""
    @property
    def length(self) -> int | None:
        """Length of the message in bytes."""
    @property
    def seq_num(self) -> int | None:
        """Sequence number in the packet's preamble; None where the framing has none."""
    @property
    def line(self) -> str | None:
        """The line that brought the packet first, A or B; of messages that a handler delivers."""
    def to_dict(self) -> dict[str, Any]:
        """All fields as `tickwire decode` writes them in JSON."""
    def keys(self) -> list[str]:
        """Names of the fields."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: str) -> bool: ...

class Book:
    """A book after a message, a gap or a snapshot. It is empty while it is stale."""

    @property
    def instrument(self) -> str:
        """The instrument, as the feed names it."""
    @property
    def symbol(self) -> str | None:
        """Symbol, where a definition or the feed file says it."""
    @property
    def kind(self) -> str:
        """outright or implied."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
    @property
    def stale(self) -> str | None:
        """Why it may not be trusted; None where it is fresh."""
    @property
    def is_fresh(self) -> bool:
        """Whether it may be trusted."""
    @property
    def bids(self) -> list[tuple[Decimal, Decimal, int | None]]:
        """Levels of the bid side, the best first: price, size, number of orders."""
    @property
    def asks(self) -> list[tuple[Decimal, Decimal, int | None]]:
        """Levels of the offer side, the best first."""
    def to_numpy(self, levels: int = 10) -> numpy.ndarray:
        """A numpy array of doubles, of the shape (2, levels, 2): bids and offers, the best first, price and size. Levels
        that are not there are NaN, and so is all of a stale book.
        """

class Trade:
    """A trade."""

    @property
    def instrument(self) -> str:
        """The instrument, as the feed names it."""
    @property
    def action(self) -> str:
        """new, change or delete."""
    @property
    def price(self) -> Decimal | None:
        """Price as decimal.Decimal."""
    @property
    def size(self) -> Decimal | None:
        """Size as decimal.Decimal."""
    @property
    def aggressor(self) -> str | None:
        """buy or sell: who took."""
    @property
    def id(self) -> str | None:
        """The exchange's name for it."""
    @property
    def exchange_date(self) -> int | None:
        """The exchange's date, YYYYMMDD."""
    @property
    def exchange_time(self) -> int | None:
        """The exchange's time in the digits of the feed, such as HHMMSSmmm."""
    @property
    def seq_num(self) -> int | None:
        """Sequence number of the packet."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""

class Gap:
    """Sequence numbers that no line brought."""

    @property
    def first(self) -> int:
        """The first missing number."""
    @property
    def last(self) -> int:
        """The last missing number."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
    def __len__(self) -> int: ...

class Notice:
    """Something else that happened: reset, status, snapshot, silence, line or fault."""

    @property
    def kind(self) -> str:
        """reset, status, snapshot, silence, line or fault."""
    @property
    def text(self) -> str:
        """For people."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""

class Day:
    """A trading day that was written."""

    @property
    def directory(self) -> pathlib.Path:
        """The folder of its files."""
    @property
    def capture(self) -> pathlib.Path:
        """The capture: lines A and B, snapshots and definitions, by destination."""
    @property
    def templates(self) -> pathlib.Path:
        """The template file."""
    @property
    def feed(self) -> pathlib.Path:
        """The feed file, whose channel is `day`."""
    @property
    def framing(self) -> str:
        """What is around the messages of a packet, for `tickwire.open`."""
    def books(
        self,
    ) -> dict[
        str, tuple[list[tuple[Decimal, Decimal, int | None]], list[tuple[Decimal, Decimal, int | None]]]
    ]:
        """The true outright books at the end: bids and offers by instrument, as `Book.bids` and `Book.asks`."""

def day(
    directory: _Path,
    shape: str = "futures",
    *,
    seed: int = 1,
    packets: int = 10_000,
    instruments: int = 20,
    loss: float = 0.0,
    duplicate: float = 0.0,
    reorder: float = 0.0,
    skew: float = 0.0,
    mid_session: bool = False,
) -> Day:
    """Writes a day: `day.pcap`, `templates.xml` and `feed.toml` in a directory."""

class Handler:
    """A channel of a feed file, over captures or sockets."""

    def __init__(self, feed: _Path, channel: str | None = None, captures: Sequence[_Path] = ...) -> None: ...
    @property
    def channel(self) -> str:
        """Name of the channel."""
    @property
    def is_captured(self) -> bool:
        """Whether captures are read in place of sockets."""
    def events(self, kinds: list[str], depth: int | None = None, idle: float | None = None) -> Events:
        """Begins: reads the captures from their start, or opens the sockets."""

class Events:
    """What a handler makes of packets, one after the other."""

    def __iter__(self) -> Events: ...
    def __next__(self) -> Any: ...
    def poll(self, seconds: float) -> Any:
        """The next event; None if none comes within so many seconds. StopIteration at the end."""
    def counters(self) -> dict[str, int]:
        """What was counted so far."""
    def close(self) -> None:
        """Ends it: closes the files or the sockets. Iteration stops."""

class Sample:
    """A sample that came. Its members are attributes, and items by name."""

    @property
    def topic(self) -> str:
        """Name of the topic."""
    @property
    def written_ns(self) -> int:
        """When it was written, in nanoseconds since 1970-01-01 UTC, by the publisher's clock."""
    @property
    def taken_ns(self) -> int:
        """When it was taken, in nanoseconds since 1970-01-01 UTC, by this machine's clock."""
    @property
    def number(self) -> int:
        """Its number among those of its writer, from 1."""
    @property
    def is_last_value(self) -> bool:
        """Whether it is a last value, written before this subscriber came."""
    @property
    def publisher(self) -> str | None:
        """Id of the publisher; None if it is in this process, over DDS."""
    @property
    def missed(self) -> int:
        """Samples of its writer that were lost right before it."""
    def to_dict(self) -> dict[str, Any]:
        """All members: decimals as decimal.Decimal, structures as dictionaries, sequences as lists."""
    def keys(self) -> list[str]:
        """Names of the members."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...

class Samples:
    """Samples that came, one after the other."""

    def __init__(
        self,
        topics: list[str],
        transport: str,
        *,
        domain: int = 0,
        directory: _Path | None = None,
        user: int | None = None,
        last_values: bool = True,
        partitions: list[str] = ...,
        max_rate: float | None = None,
        stay: bool = False,
        spin: bool = False,
    ) -> None: ...
    def __iter__(self) -> Samples: ...
    def __next__(self) -> Sample: ...
    def poll(self, seconds: float) -> Sample | None:
        """The next sample; None if none comes within so many seconds. StopIteration at the end."""
    @property
    def transport(self) -> str:
        """The transport that was chosen: shm or dds."""
    def publishers(self) -> list[dict[str, Any]]:
        """What came from each publisher, and what is known to be lost."""
    @property
    def lost(self) -> int | None:
        """Samples that were lost; None while that is not known."""
    @property
    def missing(self) -> int:
        """Samples that are known to be missing between those that came."""
    def close(self) -> None:
        """Ends it. Iteration stops."""

class Publisher:
    """Publishes samples over shared memory, for tests and tools."""

    def __init__(self, topics: Sequence[str], *, domain: int = 0, directory: _Path | None = None) -> None: ...
    def publish(self, topic: str, /, **members: Any) -> None:
        """Publishes a sample; members that are left out are 0, empty or false."""
    def wait_subscribers(self, count: int = 1, seconds: float = 10.0) -> bool:
        """Waits for so many subscribers; False if they have not come within so many seconds."""
    def finish(self, whole: bool = True) -> None:
        """Tells subscribers that this was all, or that it was stopped before, and how many samples there were."""

class Record:
    """A group, or an entry of a sequence."""

    def to_dict(self) -> dict[str, Any]:
        """All fields as `tickwire decode` writes them in JSON."""
    def keys(self) -> list[str]:
        """Names of the fields."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: str) -> bool: ...

class Messages:
    """The messages of a capture, in order."""

    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...

class Collected:
    """Record batches that were read already, by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Batches:
    """Record batches of the messages of one template, by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> Collected:
        """All batches, read with the GIL released; with ``views``, strings are views of 16 bytes, as polars has them."""
    def write_parquet(self, path: _Path) -> None:
        """Write all rows to a Parquet file, which appears under its name when it is whole."""
    @property
    def error(self) -> DecodeError | None:
        """The error that ended the last reading which was ended by one: the taker raises an exception of its own."""
    def select(self, columns: Sequence[str] | None, time_unit: str = "ns") -> Batches:
        """The same with these columns alone, and with capture times in this unit, `ns` or `us`."""
    @property
    def fields(self) -> int:
        """Fields of the template that are stored."""
    @property
    def packets(self) -> int:
        """Packets read so far, by all takers together."""
    @property
    def packets_skipped(self) -> int:
        """Those of them that were not decoded, as they are out of the time range."""

class Lost:
    """Record batches of what was not decoded, by the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class TemplateSet:
    """Templates of a feed: FAST 1.1 or 1.2 XML."""

    def __init__(self, paths: _Path | Sequence[_Path]) -> None: ...
    @staticmethod
    def parse(xml: str) -> TemplateSet:
        """Parses templates from text."""
    @staticmethod
    def check(paths: _Path | Sequence[_Path]) -> list[str]:
        """Everything that is wrong in template files, a line each; empty where they can be used."""
    @property
    def names(self) -> list[str]:
        """Names of the templates, in the order of the file."""
    @property
    def signature(self) -> str:
        """The digest of what the templates mean, whatever their text looks like."""

class Decoder:
    """Decodes FAST messages, one packet after the other."""

    def __init__(
        self,
        templates: TemplateSet | _Path | Sequence[_Path],
        reset: str = "template",
        fields: Sequence[str] | None = None,
    ) -> None: ...
    def decode(self, packet: bytes) -> list[Message]:
        """The messages of a packet, in order."""
    def reset(self) -> None:
        """Empties all dictionaries."""

class Encoder:
    """Encodes messages, one packet after the other."""

    def __init__(self, templates: TemplateSet | _Path | Sequence[_Path], reset: str = "template") -> None: ...
    def encode(self, message: dict[str, Any]) -> bytes:
        """The bytes of a message. It has the members `"n"`, name of the template, or `"t"`, its id, and `"msg"`, its fields,
        as `tickwire decode` writes them; decimals may be `decimal.Decimal`, vectors `bytes`.
        """
    def begin_packet(self) -> None:
        """Begins a packet: dictionaries are emptied if they are before every packet."""

class Explanation:
    """A packet explained byte by byte: printed it is text, in a notebook a table."""

    @property
    def ok(self) -> bool:
        """Whether all of the packet could be decoded."""
    def _repr_html_(self) -> str: ...

def explain(
    packet: bytes,
    templates: TemplateSet | _Path | Sequence[_Path],
    framing: str = "none",
    reset: str | None = None,
) -> Explanation:
    """Explains the bytes of a packet, with empty dictionaries before it."""

class Capture:
    """A capture: iterate over it for messages, or take columns of a template."""

    def __iter__(self) -> Messages: ...
    @property
    def framing(self) -> str:
        """How packets are framed: as given, or as it was found."""
    @property
    def templates(self) -> list[str]:
        """Names of the templates whose messages are wanted."""
    @property
    def errors(self) -> list[DecodeError]:
        """What could not be decoded, as exceptions: the first 10,000 of all that read this capture so far."""
    @property
    def error_count(self) -> int:
        """How much could not be decoded."""
    def explain(self, packet: int) -> Explanation:
        """A packet explained byte by byte."""
    def counts(self) -> list[tuple[str, int]]:
        """Decodes the capture once and counts messages by name of the template."""
    def batches(self, template: str | None = None, entries: bool = True) -> Batches:
        """Record batches of a template's messages, a row an entry; without `entries` a row a message."""
    def lost(self, template: str | None = None) -> Lost:
        """Record batches of what is not decoded, and of this template's messages that have no place in its table."""

def open(
    path: _Path,
    templates: TemplateSet | _Path | Sequence[_Path],
    framing: str = "none",
    reset: str | None = None,
    input_format: str | None = None,
    *,
    messages: Sequence[str] | None = None,
    fields: Sequence[str] | None = None,
    start: int | None = None,
    end: int | None = None,
    on_error: str = "raise",
    split: bytes | None = None,
) -> Capture:
    """Opens a capture."""

def captures_of(path: _Path) -> list[pathlib.Path]:
    """The captures of a directory, or the file itself."""

def plan_capture(
    path: _Path,
    framing: str,
    reset: str | None,
    input_format: str | None,
    split_bytes: int,
    index_directory: _Path | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[tuple[bytes, int, int, int, int | None]], str | None]:
    """The splits of a capture, and why its index was not kept. `progress` gets the bytes that were read and those of the
    file.
    """

def template_set(files: list[tuple[_Path, bytes]]) -> TemplateSet:
    """The set of these files: what a pickled set is made again by."""

def end_streams() -> None:
    """Waits for the batches that are being made, and ends all streams: called when Python ends."""
