"""Captures in splits, each of which another thread, process or machine can decode."""

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

# Bytes of a split: some seconds of work for a core.
SPLIT_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a split is: what is sent to who reads it, if the rest is there."""

    path: str
    """The capture."""
    start: int
    """Its first byte in the file."""
    end: int
    """The byte behind it."""
    first_packet: int
    """Index of its first packet in the capture."""
    packets: int | None
    """How many packets it has; None where the capture is not cut."""
    _split: bytes


@dataclasses.dataclass(frozen=True)
class Reading:
    """How captures are decoded, as in `tickwire.open`."""

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
    """A piece of a capture that can be decoded by itself: made by `plan`, it can be pickled.

    Packets have the index, time and offset in it that they have in the capture.

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
        """The capture."""
        return self.place.path

    def batches(
        self,
        template: str | int,
        fields: Sequence[str] | None = None,
        *,
        start: int | None = None,
        end: int | None = None,
        on_error: Literal["raise", "keep"] = "raise",
    ) -> Batches:
        """Record batches of a template's messages, a row an entry, as `Capture.batches` gives them.

        ``fields``, ``start``, ``end`` (nanoseconds) and ``on_error`` are those of `tickwire.open`.
        """
        return self.reading.open(self.place, fields, start, end, on_error).batches(str(template))

    def errors(self, template: str | int) -> Lost:
        """Record batches of what is not decoded: a row each, with packet, place, time and reason.

        A message of the template that has no place in its columns is one too.
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
    """Cut captures into splits that can be decoded apart, in their order; together they are the captures.

    A capture is one split unless dictionaries are emptied at each packet (by ``framing`` or ``reset``) and it is not
    compressed: then splits have ``split_bytes`` and more, but for the last one. Where they begin is found by reading the
    capture once without decoding, and kept beside it in ``NAME.tickwire-index``, or in ``index_directory``; a warning
    says where that cannot be written.

    - ``paths``: files, directories (the files in them that are named as captures are), patterns such as ``"day/*.pcap"``
    - ``threads``: how many captures are read at the same time; as many as there are CPUs unless given
    - ``progress``: called with the path of a capture, the bytes that were read and those of the file, by any thread

    The others are those of `tickwire.open`.

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
    """The captures that paths stand for: files, directories and patterns."""
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
