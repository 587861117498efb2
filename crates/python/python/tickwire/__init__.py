"""Decodes FAST captures to messages and Arrow columns.

>>> import pathlib, tempfile
>>> directory = pathlib.Path(tempfile.mkdtemp())
>>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>'
>>> _ = (directory / "t.xml").write_text(xml)
>>> packet = bytes([0xC0, 0x81, 0x87, 0xFE, 0x07, 0xE8])
>>> _ = (directory / "x.bin").write_bytes(len(packet).to_bytes(4, "big") + packet)
>>> capture = open(directory / "x.bin", templates=directory / "t.xml")
>>> for message in capture:
...     print(message.template, message.Id, message.Px, message.to_dict())
Quote 7 10.00 {'Id': 7, 'Px': {'m': 1000, 'e': -2}}
"""

from __future__ import annotations

import atexit
import datetime
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from tickwire import _columns, _tickwire
from tickwire._distribution import Subscription, subscribe
from tickwire._errors import DecodeError, EncodeError, TemplateError, TickwireError
from tickwire._handler import Event, Events, Handler
from tickwire._plan import Split, plan
from tickwire._tickwire import (
    Batches,
    Book,
    Decoder,
    Encoder,
    Explanation,
    FeedEvent,
    Gap,
    Message,
    Publisher,
    Record,
    Sample,
    TemplateSet,
    Trade,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from tickwire.dataset import Dataset

__all__ = [
    "Batches",
    "Book",
    "Capture",
    "DecodeError",
    "Decoder",
    "EncodeError",
    "Encoder",
    "Event",
    "Events",
    "Explanation",
    "FeedEvent",
    "Gap",
    "Handler",
    "Message",
    "Publisher",
    "Record",
    "Sample",
    "Split",
    "Subscription",
    "TemplateError",
    "TemplateSet",
    "TickwireError",
    "Trade",
    "explain",
    "open",
    "plan",
    "subscribe",
]

atexit.register(_tickwire.end_streams)

Path = str | os.PathLike[str]
# Opens a capture again, limited to these fields and this range of capture times.
_Reopen = Callable[[Sequence[str] | None, int | None, int | None], "Capture"]


class Capture:
    """An open capture: iterate over it for messages, or take the columns of a template.

    Each iteration and each table reads the file from its start. Undecodable data raise `DecodeError` after
    the messages or rows before them; an iteration over messages can continue after it. Consumers of
    `batches` raise their own exceptions; its ``error`` has the cause. With ``on_error="keep"`` errors are
    collected in ``errors`` and not raised.

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> capture = tickwire.open(day.capture, day.templates, day.framing)
    >>> capture.framing, capture.templates[0], capture.counts()
    ('preamble=5,seq=0:4:be,reset=packet', 'MDIncrementalRefresh', {'MDIncrementalRefresh': 600, 'MDSnapshotFullRefresh': 66, 'SecurityDefinition': 9})
    >>> message = next(iter(capture))
    >>> message.template, message.packet
    ('SecurityDefinition', 0)
    >>> name = capture.templates[0]
    >>> rows = capture.table(name).num_rows
    >>> rows == len(capture.to_polars(name)) == len(capture.to_pandas(name))
    True
    >>> capture.table(name, entries=False).num_rows == capture.counts()[name]
    True
    >>> capture.to_parquet(day.directory / "rows.parquet", name)
    >>> import pyarrow.parquet
    >>> pyarrow.parquet.read_table(day.directory / "rows.parquet") == capture.table(name)
    True
    >>> sum(batch.num_rows for batch in pyarrow.RecordBatchReader.from_stream(capture.batches(name))) == rows
    True
    >>> capture.explain(message.packet).ok, capture.errors, capture.error_count, capture.warnings
    (True, [], 0, [])
    """

    def __init__(self, inner: _tickwire.Capture, reopen: _Reopen) -> None:
        self._inner = inner
        self._reopen = reopen

    def __iter__(self) -> Iterator[Message]:
        return iter(self._inner)

    @property
    def framing(self) -> str:
        """Framing of the packets, as given or as detected."""
        return self._inner.framing

    @property
    def templates(self) -> list[str]:
        """Names of the templates whose messages are read."""
        return self._inner.templates

    @property
    def errors(self) -> list[DecodeError]:
        """Decoding errors so far, the first 10,000. Each reading of the capture adds its own."""
        return self._inner.errors

    @property
    def error_count(self) -> int:
        """Number of decoding errors so far, in all readings together."""
        return self._inner.error_count

    @property
    def warnings(self) -> list[str]:
        """Remarks that are not errors: capture times that go back, streams whose start is missing, values
        that were not checked. The first 10,000; each reading of the capture adds its own."""
        return self._inner.warnings

    def explain(self, packet: int) -> Explanation:
        """Explain a packet byte by byte: presence maps, operators, dictionary entries before and after.

        The earlier packets to the same address and port are decoded first. ``packet`` is the index
        in the file, as in `Message.packet` and `DecodeError.packet`. Print the result, or show it
        in a notebook.
        """
        return self._inner.explain(packet)

    def counts(self) -> dict[str, int]:
        """Decode the capture once and count messages by template name.

        Templates with the same name are counted together.
        """
        counts: dict[str, int] = {}
        for name, count in self._inner.counts():
            counts[name] = counts.get(name, 0) + count
        return counts

    def batches(
        self, template: str | int | None = None, entries: bool = True, *, floats: bool = False
    ) -> Batches:
        """Record batches of a template's messages, for the Arrow C stream interface.

        Pass the result to ``pyarrow.table``, ``polars.DataFrame``, DuckDB and others, without
        copies. A row is an innermost entry of a sequence, with the enclosing fields repeated. If
        ``entries`` is false, a row is a message, with only the number of entries of its sequences.
        The template is given by name or id; it may be omitted if the capture has messages of only
        one template. Decimals are exact: a decimal column if the template fixes the exponent, else
        two columns, ``NAME.mantissa`` and ``NAME.exponent``. With ``floats`` each is one column of
        64-bit floating-point numbers, the nearest to the decimals.
        """
        return self._inner.batches(None if template is None else str(template), entries, floats)

    def dataset(
        self,
        template: str | int | None = None,
        entries: bool = True,
        *,
        floats: bool = False,
        time_unit: Literal["ns", "us"] = "ns",
    ) -> Dataset:
        """The rows of a template's messages for query engines: DuckDB, DataFusion, Polars and
        pyarrow.

        Fields that a query does not use are not stored. Packets outside its range of ``time`` are
        not decoded, if dictionaries are reset at every packet. DuckDB passes a range of ``time``
        only in microseconds: for it use ``time_unit="us"``, which truncates nanoseconds.
        ``floats`` as in `batches`.

        >>> import pathlib, tempfile, tickwire, tickwire.simulate
        >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=200, instruments=3)
        >>> capture = tickwire.open(day.capture, templates=day.templates, framing="cme", on_error="keep")
        >>> dataset = capture.dataset(capture.templates[0])
        >>> dataset.count_rows() == len(capture.table(capture.templates[0]))
        True
        """
        from tickwire.dataset import Dataset

        def read(fields: Sequence[str] | None, start: int | None, end: int | None) -> Batches:
            return self._reopen(fields, start, end).batches(template, entries, floats=floats)

        return Dataset(read, time_unit)

    def table(
        self, template: str | int | None = None, entries: bool = True, *, floats: bool = False
    ) -> pyarrow.Table:
        """All messages of a template as a pyarrow table; arguments as in `batches`."""
        return _columns.table(self.batches(template, entries, floats=floats))

    def to_polars(
        self, template: str | int | None = None, entries: bool = True, *, floats: bool = False
    ) -> polars.DataFrame:
        """All messages of a template as a polars data frame; arguments as in `batches`."""
        return _columns.to_polars(self.batches(template, entries, floats=floats))

    def to_pandas(
        self, template: str | int | None = None, entries: bool = True, *, floats: bool = False
    ) -> pandas.DataFrame:
        """All messages of a template as a pandas data frame; arguments as in `batches`."""
        return self.table(template, entries, floats=floats).to_pandas()

    def to_parquet(
        self,
        path: Path,
        template: str | int | None = None,
        entries: bool = True,
        *,
        floats: bool = False,
    ) -> None:
        """Write all messages of a template to a Parquet file, batch by batch.

        Files are written as by ``tickwire export``: compressed with zstd; the first rows select the
        encoding of each column. For other settings pass `batches` to your own writer. The file gets
        its name only when it is complete. Other arguments as in `batches`.
        """
        _columns.to_parquet(self.batches(template, entries, floats=floats), path)


def open(
    path: Path,
    templates: Path | Sequence[Path] | TemplateSet,
    framing: str = "none",
    reset: str | None = None,
    input_format: str | None = None,
    *,
    messages: Sequence[str | int] | None = None,
    fields: Sequence[str] | None = None,
    start: datetime.datetime | int | None = None,
    end: datetime.datetime | int | None = None,
    on_error: Literal["raise", "keep"] = "raise",
    reset_at: Sequence[int] = (),
) -> Capture:
    """Open a capture: pcap, pcapng, length-prefixed packets, or a raw stream; uncompressed, gzip or
    zstd.

    - ``templates``: template files of the feed (FAST 1.1 or 1.2 XML), or a `TemplateSet`
    - ``framing``: headers around the messages of a packet: a preset such as ``"cme"``, a description, or
      ``"auto"``
    - ``reset``: when dictionaries are reset: ``"never"``, ``"packet"``, ``"message"``, ``"template"``; by
      default as the framing says
    - ``input_format``: ``"pcap"``, ``"u32be"``, ``"u32le"`` or ``"raw"``; detected by default
    - ``messages``: names or ids of the templates whose messages to read; default all
    - ``fields``: names or paths of the fields to store; default all
    - ``start`` and ``end``: range of capture times, ``end`` exclusive; nanoseconds since 1970-01-01 UTC, or
      datetimes with a time zone
    - ``on_error``: ``"raise"``, or ``"keep"`` to collect errors in ``Capture.errors``
    - ``reset_at``: packets, by index, before which another session begins in the capture: dictionaries are
      reset there in addition to ``reset``. Does not affect TCP streams and raw files

    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> capture = open(day.capture, day.templates, framing="cme", start=0, on_error="keep")
    >>> sum(1 for message in capture) == sum(capture.counts().values())
    True
    """
    names = None if messages is None else [str(name) for name in messages]
    wanted = None if fields is None else list(fields)
    sessions = list(reset_at)
    first, last = _nanoseconds(start), _nanoseconds(end)

    def reopen(fields: Sequence[str] | None, start: int | None, end: int | None) -> Capture:
        inner = _tickwire.open(
            os.fspath(path),
            templates,
            framing,
            reset,
            input_format,
            messages=names,
            fields=wanted if fields is None else list(fields),
            start=max((time for time in (first, start) if time is not None), default=None),
            end=min((time for time in (last, end) if time is not None), default=None),
            on_error=on_error,
            reset_at=sessions,
        )
        return Capture(inner, reopen)

    return reopen(None, None, None)


def explain(
    packet: bytes,
    templates: Path | Sequence[Path] | TemplateSet,
    framing: str = "none",
    reset: str | None = None,
) -> Explanation:
    """Explain the bytes of a packet one by one, starting with empty dictionaries.

    >>> templates = TemplateSet.parse('<templates><template name="T" id="1"><uInt32 name="Id"/></template></templates>')
    >>> print(explain(bytes([0xC0, 0x81, 0x87]), templates))
    <BLANKLINE>
    message at offset 0, 3 bytes
    offset  bytes  field         type    operator  bit  value  dictionary
         0  c0     presence map                         1000000  1=template id
         1  81     template id   uInt32  copy      0:1  1 T
         2  87     Id            uInt32                 7
    <BLANKLINE>
    """
    return _tickwire.explain(packet, templates, framing, reset)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _nanoseconds(time: datetime.datetime | int | None) -> int | None:
    if time is None or isinstance(time, int):
        return time
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone: give it one, such as datetime.timezone.utc")
    # A pandas.Timestamp also has nanoseconds.
    beyond: int = getattr(time, "nanosecond", 0)
    return (time - _EPOCH) // datetime.timedelta(microseconds=1) * 1000 + beyond
