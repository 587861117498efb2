"""Misuse of a handler: several consumers, cancelled tasks, forks, signals, wrong arguments."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import tickwire
from test_handler import PACKETS, Sender, captured, free_port, live, packet


def test_two_tasks_share_the_events(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)
    seen: list[int | None] = []

    async def take(messages: tickwire.Events[tickwire.Message]) -> None:
        async for message in messages:
            seen.append(message.seq_num)

    async def run() -> None:
        with live(tmp_path, port).messages(idle=1.0) as messages:
            tasks = [asyncio.create_task(take(messages)) for _ in range(2)]
            await asyncio.sleep(0.1)
            sender.send(PACKETS)
            await asyncio.gather(*tasks)

    asyncio.run(run())
    assert seen == [1, 2, 3, 4, 5]
    sender.close()


def test_what_a_cancelled_task_asked_for_comes_first_without_asyncio(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)
    messages = live(tmp_path, port).messages(idle=1.0)

    async def run() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(messages), 0.05)
        sender.send(PACKETS)
        await asyncio.sleep(0.5)

    asyncio.run(run())
    assert [message.seq_num for message in messages] == [1, 2, 3, 4, 5]
    sender.close()


def test_one_event_loop_goes_on_after_another(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(port)
    messages = live(tmp_path, port).messages(idle=1.0)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(messages), 0.05)

    async def take() -> list[int | None]:
        return [message.seq_num async for message in messages]

    asyncio.run(give_up())
    sender.send(PACKETS)
    assert asyncio.run(take()) == [1, 2, 3, 4, 5]
    sender.close()


def test_an_error_is_told_once_to_asyncio_too(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS, PACKETS)
    with (tmp_path / "a.bin").open("ab") as file:
        file.write(b"\0\0\0\x09abc")

    async def run() -> tuple[list[int | None], list[str]]:
        seen, errors, messages = [], [], handler.messages()
        while True:
            try:
                seen.append((await anext(messages)).seq_num)
            except StopAsyncIteration:
                return seen, errors
            except tickwire.TickwireError as error:
                errors.append(str(error))
                assert len(errors) < 5, errors

    seen, errors = asyncio.run(run())
    assert seen == [1, 2, 3, 4, 5]
    assert [("a.bin: the file ends inside the packet" in error) for error in errors] == [True]


def test_others_need_not_wait_while_a_thread_waits(tmp_path: Path) -> None:
    events = live(tmp_path, free_port()).events()
    waiting = threading.Thread(target=list, args=(events,), daemon=True)
    waiting.start()
    time.sleep(0.2)
    for _ in range(20):
        begin = time.monotonic()
        assert events.counters()["packets"] == 0
        assert time.monotonic() - begin < 0.08
    events.close()
    waiting.join(5)
    assert not waiting.is_alive()


def test_a_forked_process_can_let_go_of_a_live_feed(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from test_handler import free_port, live\n"
        "events = live(Path(sys.argv[1]), free_port()).events()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    events.close()\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), events.poll(0.1))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert (ran.stdout, ran.stderr) == ("7 None\n", "")


def test_ctrl_c_ends_the_reading_of_a_capture_without_events(tmp_path: Path) -> None:
    handler = captured(tmp_path, [packet(number) for number in range(1, 400_000)], PACKETS[:1])
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(handler.gaps())
    assert time.monotonic() - begin < 2


def test_arrays_of_books_can_be_written_to(tmp_path: Path) -> None:
    book = list(captured(tmp_path, PACKETS, PACKETS).books())[1]
    array = book.to_numpy(1)
    array[0, 0, 0] = 1.0
    assert array[0, 0].tolist() == [1.0, 5.0]
    assert book.to_numpy(0).shape == (2, 0, 2)
    with pytest.raises((MemoryError, ValueError)):
        book.to_numpy(1 << 55)


def test_wrong_spans_are_named(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS, PACKETS)
    for seconds in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="seconds .*expected seconds from 0"):
            handler.events().poll(seconds)
        with pytest.raises(ValueError, match="idle .*expected seconds from 0"):
            handler.events(idle=seconds)


def test_handlers_and_events_say_what_they_are(tmp_path: Path) -> None:
    handler = captured(tmp_path, PACKETS, PACKETS)
    assert repr(handler) == "<Handler of the channel futures, over captures>"
    with handler.events() as events:
        assert repr(events).startswith("<Events packets=0 messages=0 ")
    assert repr(live(tmp_path, free_port())) == "<Handler of the channel futures, over sockets>"


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(tickwire.TickwireError, match="a.bin: the file is empty"):
        list(captured(tmp_path, [], []))
