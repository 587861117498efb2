import pathlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from os import PathLike
from typing import Any, TypeAlias

import numpy

from tickwire._errors import DecodeError

_Path: TypeAlias = str | PathLike[str]

class Message:
    """A decoded message. Fields are attributes, and items by name."""

    @property
    def template(self) -> str:
        """Name of the template."""
    @property
    def id(self) -> int | None:
        """Id of the template; None if it has none."""
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
        """Sequence number in the packet's preamble; None if the framing has none."""
    @property
    def line(self) -> str | None:
        """The line on which the packet arrived first, A or B; only for messages of a handler."""
    def to_dict(self) -> dict[str, Any]:
        """All fields in the JSON form of `tickwire decode`."""
    def keys(self) -> list[str]:
        """Names of the fields."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: str) -> bool: ...

class Book:
    """A book after a message, gap or snapshot. It is empty while stale."""

    @property
    def instrument(self) -> str:
        """The instrument, as named by the feed."""
    @property
    def symbol(self) -> str | None:
        """Symbol, if a definition or the feed file has it."""
    @property
    def kind(self) -> str:
        """Kind of book: outright or implied."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
    @property
    def stale(self) -> str | None:
        """Why the book is stale; None if it is fresh."""
    @property
    def is_fresh(self) -> bool:
        """True if the book is fresh."""
    @property
    def bids(self) -> list[tuple[Decimal, Decimal, int | None]]:
        """Bid levels, best first: price, size, number of orders."""
    @property
    def asks(self) -> list[tuple[Decimal, Decimal, int | None]]:
        """Offer levels, best first."""
    def to_numpy(self, levels: int = 10) -> numpy.ndarray:
        """A numpy array of doubles with shape (2, levels, 2): bids and offers, best first, price
        and size. Missing levels are NaN; all are in a stale book.
        """

class Trade:
    """A trade."""

    @property
    def instrument(self) -> str:
        """The instrument, as named by the feed."""
    @property
    def action(self) -> str:
        """Action: new, change or delete."""
    @property
    def price(self) -> Decimal | None:
        """Price as decimal.Decimal."""
    @property
    def size(self) -> Decimal | None:
        """Size as decimal.Decimal."""
    @property
    def aggressor(self) -> str | None:
        """Side of the aggressor: buy or sell."""
    @property
    def id(self) -> str | None:
        """The exchange's id of the trade."""
    @property
    def exchange_date(self) -> int | None:
        """The exchange's date, YYYYMMDD."""
    @property
    def exchange_time(self) -> int | None:
        """The exchange's time as the digits of the feed, such as HHMMSSmmm."""
    @property
    def seq_num(self) -> int | None:
        """Sequence number of the packet."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""

class Gap:
    """A gap: sequence numbers received on no line."""

    @property
    def first(self) -> int:
        """The first missing sequence number."""
    @property
    def last(self) -> int:
        """The last missing sequence number."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
    def __len__(self) -> int: ...

class FeedEvent:
    """Another event: reset, status, snapshot, silence, line or fault."""

    @property
    def kind(self) -> str:
        """Kind of event: reset, status, snapshot, silence, line or fault."""
    @property
    def text(self) -> str:
        """Description of the event."""
    @property
    def time(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""

class Day:
    """A trading day written by the simulated exchange."""

    @property
    def directory(self) -> pathlib.Path:
        """The directory of its files."""
    @property
    def capture(self) -> pathlib.Path:
        """The capture: lines A and B, snapshots and definitions, by destination."""
    @property
    def templates(self) -> pathlib.Path:
        """The template file."""
    @property
    def feed(self) -> pathlib.Path:
        """The feed file; its channel is `day`."""
    @property
    def framing(self) -> str:
        """Framing of the packets, for `tickwire.open`."""
    def books(
        self,
    ) -> dict[
        str, tuple[list[tuple[Decimal, Decimal, int | None]], list[tuple[Decimal, Decimal, int | None]]]
    ]:
        """The true outright books at the end of the day: bids and offers by instrument, as in
        `Book.bids` and `Book.asks`."""

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
    """A channel of a feed file, from captures or sockets."""

    def __init__(self, feed: _Path, channel: str | None = None, captures: Sequence[_Path] = ...) -> None: ...
    @property
    def channel(self) -> str:
        """Name of the channel."""
    @property
    def is_captured(self) -> bool:
        """True if it reads captures instead of sockets."""
    def events(self, kinds: list[str], depth: int | None = None, idle: float | None = None) -> Events:
        """Starts: reads the captures from their start, or opens the sockets."""

class Events:
    """Events of a handler, one after the other."""

    def __iter__(self) -> Events: ...
    def __next__(self) -> Any: ...
    def poll(self, seconds: float) -> Any:
        """The next event; None if there is none within `seconds`. StopIteration at the end."""
    def counters(self) -> dict[str, int]:
        """Counters so far."""
    def close(self) -> None:
        """Stops: closes the files or the sockets. Iteration ends."""

class Sample:
    """A received sample. Members are attributes, and items by name."""

    @property
    def topic(self) -> str:
        """Name of the topic."""
    @property
    def written_ns(self) -> int:
        """Time of writing, in nanoseconds since 1970-01-01 UTC, by the publisher's clock."""
    @property
    def taken_ns(self) -> int:
        """Time of reception, in nanoseconds since 1970-01-01 UTC, by this machine's clock."""
    @property
    def number(self) -> int:
        """Sequence number of the sample for its writer, from 1."""
    @property
    def is_last_value(self) -> bool:
        """True for a last value, written before this subscriber joined."""
    @property
    def publisher(self) -> str | None:
        """Id of the publisher; None for a publisher in this process over DDS."""
    @property
    def missed(self) -> int:
        """Number of samples of its writer lost directly before it."""
    def to_dict(self) -> dict[str, Any]:
        """All members: decimals as decimal.Decimal, structures as dictionaries, sequences as lists."""
    def keys(self) -> list[str]:
        """Names of the members."""
    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, name: str) -> Any: ...

class Samples:
    """Received samples, one after the other."""

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
        spin: bool | float | None = None,
    ) -> None: ...
    def __iter__(self) -> Samples: ...
    def __next__(self) -> Sample: ...
    def poll(self, seconds: float) -> Sample | None:
        """The next sample; None if there is none within `seconds`. StopIteration at the end."""
    @property
    def transport(self) -> str:
        """The selected transport: shm or dds. With auto, dds may become shm."""
    def publishers(self) -> list[dict[str, Any]]:
        """Statistics of each publisher, with known losses."""
    @property
    def lost(self) -> int | None:
        """Number of lost samples; None while unknown."""
    @property
    def missing(self) -> int:
        """Number of samples missing between the received ones."""
    def close(self) -> None:
        """Stops the subscription. Iteration ends."""

class Publisher:
    """Publishes samples over shared memory, for tests and tools."""

    def __init__(self, topics: Sequence[str], *, domain: int = 0, directory: _Path | None = None) -> None: ...
    def publish(self, topic: str, /, **members: Any) -> None:
        """Publishes a sample; omitted members are 0, empty or false."""
    def wait_subscribers(self, count: int = 1, seconds: float = 10.0) -> bool:
        """Waits for this number of subscribers; False if they have not joined within `seconds`."""
    def finish(self, whole: bool = True) -> None:
        """Tells subscribers the number of samples, and that the feed is complete (`whole`) or was
        stopped early."""

class Record:
    """A group, or an entry of a sequence."""

    def to_dict(self) -> dict[str, Any]:
        """All fields in the JSON form of `tickwire decode`."""
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
    """Record batches in memory, for the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Batches:
    """Record batches of the messages of one template, for the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self, views: bool = False) -> Collected:
        """Reads all batches with the GIL released; with ``views``, strings are 16-byte views, as in
        polars."""
    def write_parquet(self, path: _Path) -> None:
        """Writes all rows to a Parquet file, which gets its name only when it is complete."""
    @property
    def error(self) -> DecodeError | None:
        """The error that ended the last failed reading; the consumer raises its own exception."""
    def select(self, columns: Sequence[str] | None, time_unit: str = "ns") -> Batches:
        """The same batches with only these columns, and with capture times in this unit, `ns` or
        `us`."""
    @property
    def fields(self) -> int:
        """Number of fields of the template that are stored."""
    @property
    def packets(self) -> int:
        """Packets read so far, by all consumers together."""
    @property
    def packets_skipped(self) -> int:
        """Packets that were not decoded, because they are outside the time range."""

class Lost:
    """Record batches of decoding errors, for the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def collect(self) -> Collected:
        """Reads all batches with the GIL released. Ctrl-C ends it; most consumers of a stream do not
        look for it."""

class TemplateSet:
    """Templates of a feed: FAST 1.1 or 1.2 XML."""

    def __init__(self, paths: _Path | Sequence[_Path]) -> None: ...
    @staticmethod
    def parse(xml: str) -> TemplateSet:
        """Parses templates from text."""
    @staticmethod
    def check(paths: _Path | Sequence[_Path]) -> list[str]:
        """All errors in template files, one line each; empty if they are usable."""
    @property
    def names(self) -> list[str]:
        """Names of the templates, in the order of the file."""
    @property
    def signature(self) -> str:
        """Digest of the templates' decoding behaviour, independent of their formatting."""

class Decoder:
    """Decodes FAST messages, one packet after the other."""

    def __init__(
        self,
        templates: TemplateSet | _Path | Sequence[_Path],
        reset: str = "template",
        fields: Sequence[str] | None = None,
    ) -> None: ...
    def decode(self, packet: bytes) -> list[Message]:
        """Decodes the messages of a packet, in order. If one cannot be decoded, `messages` of the
        exception has those before it."""
    def reset(self) -> None:
        """Resets all dictionaries."""

class Encoder:
    """Encodes messages, one packet after the other."""

    def __init__(self, templates: TemplateSet | _Path | Sequence[_Path], reset: str = "template") -> None: ...
    def encode(self, message: dict[str, Any]) -> bytes:
        """Encodes a message. It has the members `"n"` (name of the template) or `"t"` (its id), and
        `"msg"`, its fields in the JSON form of `tickwire decode`; decimals may be
        `decimal.Decimal`, vectors `bytes`.
        """
    def begin_packet(self) -> None:
        """Begins a packet: resets dictionaries if they are reset before every packet."""

class Explanation:
    """A packet explained byte by byte: text when printed, a table in a notebook."""

    @property
    def ok(self) -> bool:
        """True if the whole packet was decoded."""
    def _repr_html_(self) -> str: ...

def explain(
    packet: bytes,
    templates: TemplateSet | _Path | Sequence[_Path],
    framing: str = "none",
    reset: str | None = None,
) -> Explanation:
    """Explains the bytes of a packet, starting with empty dictionaries."""

class Capture:
    """A capture: iterate over it for messages, or take columns of a template."""

    def __iter__(self) -> Messages: ...
    @property
    def framing(self) -> str:
        """Framing of the packets, as given or as detected."""
    @property
    def templates(self) -> list[str]:
        """Names of the templates whose messages are read."""
    @property
    def errors(self) -> list[DecodeError]:
        """Decoding errors, as exceptions: the first 10,000 of all readings of this capture so far."""
    @property
    def error_count(self) -> int:
        """Number of decoding errors."""
    @property
    def warnings(self) -> list[str]:
        """Remarks that are not errors: capture times that go back, streams whose start is missing,
        values that were not checked. The first 10,000 of all readings of this capture so far."""
    def explain(self, packet: int) -> Explanation:
        """Explains a packet byte by byte."""
    def counts(self) -> list[tuple[str, int]]:
        """Decodes the capture once and counts messages by template name."""
    def batches(self, template: str | None = None, entries: bool = True, floats: bool = False) -> Batches:
        """Record batches of a template's messages, one row per entry; without `entries` one row per
        message. With `floats`, decimals are 64-bit floating-point numbers."""
    def lost(self, template: str | None = None) -> Lost:
        """Record batches of decoding errors, including this template's messages that its table
        cannot hold."""

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
    reset_at: Sequence[int] = ...,
) -> Capture:
    """Opens a capture."""

def captures_of(path: _Path) -> list[pathlib.Path]:
    """Returns the captures of a directory, or the file itself."""

def plan_capture(
    path: _Path,
    framing: str,
    reset: str | None,
    input_format: str | None,
    split_bytes: int,
    index_directory: _Path | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[list[tuple[bytes, int, int, int, int | None]], str | None]:
    """Returns the splits of a capture, and why its index could not be saved. `progress` is called
    with the bytes read and the size of the file.
    """

def template_set(files: list[tuple[_Path, bytes]]) -> TemplateSet:
    """Creates a set from these files; used to unpickle a set."""

def end_streams() -> None:
    """Waits for the batches under construction and ends all streams; called when Python exits."""
