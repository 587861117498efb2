"""The feed handler with captures and sockets: a feed of two lines with known books."""

from __future__ import annotations

import asyncio
import math
import socket
import struct
import threading
from decimal import Decimal
from pathlib import Path

import feed
import numpy
import pytest
import tickwire

TEMPLATES = """<templates>
  <template name="MDIncrementalRefresh" id="1">
    <string name="MessageType" id="35"><constant value="X"/></string>
    <uInt32 name="MsgSeqNum" id="34"/>
    <sequence name="MDEntries"><length name="NoMDEntries" id="268"/>
      <uInt32 name="MDUpdateAction" id="279"/>
      <string name="MDEntryType" id="269"/>
      <uInt32 name="SecurityID" id="48"/>
      <uInt32 name="RptSeq" id="83"/>
      <decimal name="MDEntryPx" id="270"/>
      <uInt32 name="MDEntrySize" id="271"/>
    </sequence>
  </template>
</templates>"""

FEED = """
templates = "t.xml"
framing = "none"
reset = "packet"
seq_num = "34"
interface = "lo"
[books]
by = "price"
starts_empty = true
[channels.futures.lines]
"""


def packet(seq_num: int, *entries: tuple[int, str, int, int, int, int]) -> bytes:
    """A packet of one message; entries are action, type, instrument, RptSeq, price in hundredths, size."""
    body = b"\xc0" + feed.unsigned(1) + feed.unsigned(seq_num) + feed.unsigned(len(entries))
    for action, kind, instrument, rpt_seq, price, size in entries:
        body += feed.unsigned(action) + feed.text(kind) + feed.unsigned(instrument)
        body += feed.unsigned(rpt_seq) + feed.decimal(price, -2) + feed.unsigned(size)
    return body


PACKETS = [
    packet(1, (0, "0", 7, 1, 9950, 3), (0, "1", 7, 2, 10050, 4)),
    packet(2, (0, "0", 7, 3, 9975, 5), (0, "2", 7, 4, 10050, 1)),
    packet(3, (1, "1", 7, 5, 10050, 3)),
    packet(4, (2, "0", 7, 6, 9975, 5)),
    packet(5, (0, "0", 7, 7, 9980, 9)),
]


def write(path: Path, packets: list[bytes]) -> Path:
    path.write_bytes(b"".join(struct.pack(">I", len(bytes_)) + bytes_ for bytes_ in packets))
    return path


def captured(directory: Path, a: list[bytes], b: list[bytes]) -> tickwire.Handler:
    (directory / "t.xml").write_text(TEMPLATES)
    write(directory / "a.bin", a)
    write(directory / "b.bin", b)
    lines = 'a = { capture = "a.bin" }\nb = { capture = "b.bin" }\n'
    (directory / "feed.toml").write_text(FEED + lines)
    return tickwire.Handler(directory / "feed.toml")


def test_two_lines_are_one_and_books_follow(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS[:2] + PACKETS[3:], PACKETS[:3])
    assert handler.channel == "futures"
    messages = list(handler.messages())
    assert [message.seq_num for message in messages] == [1, 2, 3, 4, 5]
    assert [message.MDEntries[0].SecurityID for message in messages] == [7] * 5
    assert {message.line for message in messages} <= {"A", "B"}

    events = handler.books()
    books = list(events)
    assert [book.instrument for book in books] == ["7"] * 5
    assert all(book.is_fresh for book in books)
    assert books[1].bids == [(Decimal("99.75"), 5, None), (Decimal("99.50"), 3, None)]
    assert books[1].asks == [(Decimal("100.50"), 4, None)]
    assert books[4].bids[0] == (Decimal("99.80"), 9, None)
    assert books[4].asks == [(Decimal("100.50"), 3, None)]
    assert events.counters()["messages"] == 5
    assert events.counters()["lost"] == 0
    (trade,) = handler.trades()
    assert (trade.instrument, trade.price, trade.size) == ("7", Decimal("100.50"), 1)
    assert (trade.seq_num, trade.action) == (2, "new")
    assert not list(handler.gaps())


def test_books_are_arrays(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS, PACKETS)
    book = list(handler.books(depth=1))[1]
    assert len(book.bids) == 1
    array = book.to_numpy(levels=2)
    assert array.shape == (2, 2, 2)
    assert array.dtype == numpy.float64
    assert array[0, 0].tolist() == [99.75, 5.0]
    assert array[1, 0].tolist() == [100.5, 4.0]
    assert all(math.isnan(value) for value in array[:, 1].flatten())


def test_what_no_line_brought_is_a_gap_and_makes_books_stale(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS[:2] + PACKETS[3:], PACKETS[:2] + PACKETS[3:])
    (gap,) = handler.gaps()
    assert (gap.first, gap.last, len(gap)) == (3, 3, 1)
    events = handler.events()
    seen = list(events)
    assert events.counters()["lost"] == 1
    last = [event for event in seen if isinstance(event, tickwire.Book)][-1]
    assert not last.is_fresh
    assert last.stale
    assert (last.bids, last.asks) == ([], [])
    kinds = [type(event) for event in seen]
    assert kinds.index(tickwire.Gap) < len(kinds) - 1


def test_a_message_that_cannot_be_decoded_is_told(tmp_path: Path) -> None:
    broken = PACKETS[2][:-3]
    handler = captured(tmp_path, [*PACKETS[:2], broken, *PACKETS[3:]], PACKETS[:1])
    events = [event for event in handler if isinstance(event, tickwire.FeedEvent)]
    assert any(event.kind == "fault" and "packet 3" in event.text for event in events), events


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(TEMPLATES)
    two = '[channels.x.lines]\na = { group = "233.252.0.9", port = 9001 }\n'
    (tmp_path / "feed.toml").write_text(FEED + 'a = { group = "233.252.0.8", port = 9001 }\n' + two)
    with pytest.raises(ValueError, match="name a channel of futures, x"):
        tickwire.Handler(tmp_path / "feed.toml")
    capture = write(tmp_path / "x.bin", PACKETS)
    handler = tickwire.Handler(tmp_path / "feed.toml", "futures", captures=capture)
    with pytest.raises(tickwire.TickwireError, match="no packet of the captures belongs to a line"):
        list(handler)
    with pytest.raises(tickwire.TickwireError, match="nothing.pcap"):
        list(tickwire.Handler(tmp_path / "feed.toml", "futures", captures=["nothing.pcap"]))
    (tmp_path / "bad.toml").write_text(FEED.replace("seq_num", "seqnum"))
    with pytest.raises(tickwire.TickwireError, match="seqnum"):
        tickwire.Handler(tmp_path / "bad.toml")


class Sender:
    """Sends packets to both lines on loopback, and resends from the first missing one."""

    def __init__(self, port: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        loopback = socket.inet_aton("127.0.0.1")
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, loopback)
        self._port = port

    def send(self, packets: list[bytes]) -> None:
        for bytes_ in packets:
            for group in ("233.252.0.71", "233.252.0.72"):
                self._socket.sendto(bytes_, (group, self._port))

    def close(self) -> None:
        self._socket.close()


def live(directory: Path, port: int) -> tickwire.Handler:
    (directory / "t.xml").write_text(TEMPLATES)
    lines = (
        f'a = {{ group = "233.252.0.71", port = {port} }}\nb = {{ group = "233.252.0.72", port = {port} }}\n'
    )
    (directory / "feed.toml").write_text(FEED + lines)
    return tickwire.Handler(directory / "feed.toml")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unbound:
        unbound.bind(("127.0.0.1", 0))
        return unbound.getsockname()[1]


def test_sockets(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)
    with live(tmp_path, port).events() as events:
        assert events.poll(0.05) is None
        sender.send(PACKETS)
        books = []
        while len(books) < 5:
            event = events.poll(10)
            assert event is not None
            if isinstance(event, tickwire.Book):
                books.append(event)
        assert books[4].bids[0] == (Decimal("99.80"), 9, None)
        assert abs(books[4].time / 1e9 - __import__("time").time()) < 60
    with pytest.raises(StopIteration):
        next(events)
    sender.close()


def test_a_live_feed_ends_when_idle(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)
    events = live(tmp_path, port).messages(idle=0.5)
    threading.Timer(0.1, sender.send, [PACKETS]).start()
    assert [message.seq_num for message in events] == [1, 2, 3, 4, 5]
    assert events.counters()["messages"] == 5
    sender.close()


def test_asyncio_loses_nothing_when_a_task_is_cancelled(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)

    async def run() -> list[int | None]:
        seen = []
        with live(tmp_path, port).messages(idle=1.0) as messages:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(messages), 0.05)
            sender.send(PACKETS)
            async for message in messages:
                seen.append(message.seq_num)
        return seen

    assert asyncio.run(run()) == [1, 2, 3, 4, 5]
    sender.close()


def test_asyncio_over_sockets_has_books_trades_gaps_and_ends_by_close(tmp_path: Path) -> None:
    """One task takes all events while another sends; a third closes the handler while the first
    waits."""
    port = free_port()
    sender = Sender(port)

    async def take(events: tickwire.Events[tickwire.Event], seen: list[tickwire.Event]) -> None:
        async for event in events:
            seen.append(event)

    async def run() -> list[tickwire.Event]:
        seen: list[tickwire.Event] = []
        with live(tmp_path, port).events() as events:
            taking = asyncio.create_task(take(events, seen))
            await asyncio.sleep(0.1)
            # Number 4 arrives on no line. It is a gap when the later packets have waited long enough.
            for bytes_ in [*PACKETS[:3], PACKETS[4]]:
                sender.send([bytes_])
                await asyncio.sleep(0)
            while not any(isinstance(event, tickwire.Gap) for event in seen):
                await asyncio.sleep(0.02)
            assert not taking.done()
            events.close()
            await asyncio.wait_for(taking, 10)
        return seen

    seen = asyncio.run(asyncio.wait_for(run(), 30))
    sender.close()
    messages = [event.seq_num for event in seen if isinstance(event, tickwire.Message)]
    assert messages == [1, 2, 3, 5]
    (gap,) = [event for event in seen if isinstance(event, tickwire.Gap)]
    assert (gap.first, gap.last) == (4, 4)
    (trade,) = [event for event in seen if isinstance(event, tickwire.Trade)]
    assert (trade.price, trade.size) == (Decimal("100.50"), 1)
    books = [event for event in seen if isinstance(event, tickwire.Book)]
    assert books[2].asks == [(Decimal("100.50"), 3, None)]
    assert not books[-1].is_fresh


def test_many_channels_share_one_event_loop(tmp_path: Path) -> None:
    """More handlers than asyncio's thread pool has threads on small machines: none starves."""
    count = 16
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())

    async def take(messages: tickwire.Events[tickwire.Message]) -> list[int | None]:
        return [message.seq_num async for message in messages]

    async def run() -> list[list[int | None]]:
        senders, takers = [], []
        for port in ports:
            directory = tmp_path / str(port)
            directory.mkdir()
            senders.append(Sender(port))
            takers.append(live(directory, port).messages(idle=3.0))
        tasks = [asyncio.create_task(take(messages)) for messages in takers]
        for sender in senders:
            sender.send(PACKETS)
            await asyncio.sleep(0)
        seen = await asyncio.gather(*tasks)
        for sender in senders:
            sender.close()
        return seen

    assert asyncio.run(run()) == [[1, 2, 3, 4, 5]] * count
