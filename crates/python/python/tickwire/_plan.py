"""Splits captures, so that other threads, processes or machines can decode the parts."""

from __future__ import annotations

import dataclasses
import glob
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from tickwire import _tickwire
from tickwire._errors import TickwireError
from tickwire._tickwire import Batches, Lost, TemplateSet

Path = str | os.PathLike[str]

# Size of a split in bytes: some seconds of work for a core.
SPLIT_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Place:
    """Location of a split in its capture. It is sent to the process that reads the split."""

    path: str
    """Path of the capture."""
    start: int
    """Offset of its first byte in the file."""
    end: int
    """Offset after its last byte."""
    first_packet: int
    """Index of its first packet in the capture."""
    packets: int | None
    """Number of its packets; None if the capture is not split."""
    _split: bytes


@dataclasses.dataclass(frozen=True)
class Reading:
    """Decoding options, as in `tickwire.open`."""

    templates: TemplateSet
    framing: str = "none"
    reset: str | None = None
    input_format: str | None = None

    def open(
        self,
        place: Place,
        fields: Sequence[str] | None = None,
        start: int | None = None,
        end: int | None = None,
        on_error: Literal["raise", "keep"] = "raise",
    ) -> _tickwire.Capture:
        """Open a split."""
        return _tickwire.open(
            place.path,
            self.templates,
            self.framing,
            self.reset,
            self.input_format,
            fields=None if fields is None else list(fields),
            start=start,
            end=end,
            on_error=on_error,
            split=place._split,
        )


@dataclasses.dataclass(frozen=True)
class Split:
    """A part of a capture that can be decoded independently: created by `plan`; it can be pickled.

    Packets keep the index, time and offset that they have in the capture.

    >>> import pyarrow
    >>> import tempfile, tickwire, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=300, instruments=3, seed=7)
    >>> import pickle
    >>> splits = tickwire.plan(day.capture, day.templates, day.framing, "packet", split_bytes=4096)
    >>> split = pickle.loads(pickle.dumps(splits[1]))
    >>> split.path == str(day.capture), split.place.packets, split.reading.framing
    (True, 34, 'preamble=5,seq=0:4:be,reset=packet')
    >>> template = tickwire.open(day.capture, day.templates, day.framing, "packet").templates[0]
    >>> rows = pyarrow.table(split.batches(template, fields=["MsgSeqNum"]))
    >>> rows.num_rows > 0, pyarrow.table(split.errors(template)).num_rows
    (True, 0)
    """

    place: Place
    reading: Reading

    @property
    def path(self) -> str:
        """Path of the capture."""
        return self.place.path

    def batches(
        self,
        template: str | int,
        fields: Sequence[str] | None = None,
        *,
        start: int | None = None,
        end: int | None = None,
        on_error: Literal["raise", "keep"] = "raise",
        floats: bool = False,
    ) -> Batches:
        """Record batches of a template's messages, one row per entry, as in `Capture.batches`.

        ``fields``, ``start``, ``end`` (nanoseconds) and ``on_error`` are those of `tickwire.open`.
        """
        capture = self.reading.open(self.place, fields, start, end, on_error)
        return capture.batches(str(template), floats=floats)

    def errors(self, template: str | int) -> Lost:
        """Record batches of decoding errors: one row each, with packet, position, time and reason.

        They include messages of the template that its columns cannot hold. Pass the result to
        ``pyarrow.table``, or its ``collect()``, which Ctrl-C ends.
        """
        return self.reading.open(self.place, on_error="keep").lost(str(template))


def plan(
    paths: Path | Sequence[Path],
    templates: Path | Sequence[Path] | TemplateSet,
    framing: str = "none",
    reset: str | None = None,
    input_format: str | None = None,
    *,
    split_bytes: int = SPLIT_BYTES,
    index_directory: Path | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], object] | None = None,
) -> list[Split]:
    """Split captures into parts that can be decoded independently, in order; together they are the
    captures.

    Splits have at least ``split_bytes``, except the last one. A capture is a single split if it is
    compressed, or if dictionaries are not reset at every packet (by ``framing`` or ``reset``).
    Split boundaries are found by reading the capture once without decoding, and saved beside it in
    ``NAME.tickwire-index``, or in ``index_directory``; a warning is issued if they cannot be saved.

    - ``paths``: files, directories (files in them with the names of captures), patterns such as
      ``"day/*.pcap"``
    - ``threads``: number of captures read at the same time; by default the number of CPUs
    - ``progress``: called with the path of a capture, the bytes read and the size of the file, on any
      thread

    The other arguments are those of `tickwire.open`.

    >>> import tempfile, tickwire.simulate
    >>> day = tickwire.simulate.day(tempfile.mkdtemp(), packets=200, instruments=3)
    >>> splits = plan(day.capture, day.templates, day.framing, "packet", split_bytes=4096)
    >>> len(splits) > 1, splits[0].place.first_packet
    (True, 0)
    """
    if framing == "auto":
        raise ValueError(
            "framing auto: name the framing of all captures, as tickwire.open(...).framing finds it"
        )
    if split_bytes < 1:
        raise ValueError(f"split_bytes {split_bytes}: expected a positive number")
    set_of = templates if isinstance(templates, TemplateSet) else TemplateSet(templates)
    reading = Reading(set_of, framing, reset, input_format)
    captures = captures_of(paths)

    def places(path: str) -> list[Place]:
        def watch(read: int, of: int) -> None:
            if progress is not None:
                progress(path, read, of)

        planned, not_kept = _tickwire.plan_capture(
            path, framing, reset, input_format, split_bytes, index_directory, watch
        )
        if not_kept is not None:
            warnings.warn(f"the index was not kept: {not_kept}", stacklevel=2)
        return [
            Place(path, start, end, first, packets, split) for split, start, end, first, packets in planned
        ]

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        return [Split(place, reading) for found in pool.map(places, captures) for place in found]


def captures_of(paths: Path | Sequence[Path]) -> list[str]:
    """Return the captures in these paths: files, directories and patterns."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    captures: list[str] = []
    for path in [os.fspath(one) for one in given]:
        found = [path]
        if glob.has_magic(path) and not os.path.exists(path):
            found = sorted(glob.glob(path, recursive=True))
            if not found:
                raise TickwireError(f"{path}: no file is named so")
        for one in found:
            inside = [os.fspath(capture) for capture in _tickwire.captures_of(one)]
            if not inside:
                raise TickwireError(f"{one}: no file in it is named as captures are")
            captures.extend(inside)
    return captures
