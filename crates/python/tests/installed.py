"""Checks an installed module without any other package: `python installed.py [without-net]`.

It tests wheels and source distributions where pytest is not installed.
"""

import importlib.metadata
import pathlib
import sys
import tempfile
from typing import Any

import tickwire
from tickwire import fix, simulate

TEMPLATES = """<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>"""
PACKET = bytes([0xC0, 0x81, 0x87, 0xFE, 0x07, 0xE8])


def decode(folder: pathlib.Path) -> None:
    """A capture decodes to its message."""
    (folder / "t.xml").write_text(TEMPLATES)
    (folder / "x.bin").write_bytes(len(PACKET).to_bytes(4, "big") + PACKET)
    messages = [message.to_dict() for message in tickwire.open(folder / "x.bin", templates=folder / "t.xml")]
    assert messages == [{"Id": 7, "Px": {"m": 1000, "e": -2}}], messages
    order = fix.parse("8=FIX.4.4|9=54|35=D|55=MSFT|54=1|44=10.50|453=1|448=BANK|447=D|452=3|10=113|")
    assert order.Symbol == "MSFT", order


def receive(folder: pathlib.Path) -> None:
    """A simulated day passes through the feed handler."""
    day = simulate.day(folder / "day", packets=200)
    trades = list(tickwire.Handler(day.feed, captures=[day.capture]).trades())
    assert trades, "a day without trades"


def lacks_net(folder: pathlib.Path) -> None:
    """Functions that need sockets report that they are missing."""
    (folder / "i.cfg").write_text("")
    attempts: list[Any] = [
        lambda: tickwire.Handler("feed.toml"),
        lambda: simulate.day(folder / "day"),
        lambda: fix.Initiator(folder / "i.cfg"),
    ]
    for attempt in attempts:
        try:
            attempt()
        except NotImplementedError as error:
            assert "on Linux" in str(error), error
        else:
            raise AssertionError("something that needs sockets is there")


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        decode(pathlib.Path(folder))
        if "without-net" in arguments:
            lacks_net(pathlib.Path(folder))
        else:
            receive(pathlib.Path(folder))
    files = importlib.metadata.files("tickwire") or []
    licences = {file.name for file in files if file.name.startswith("LICENSE")}
    wanted = {"LICENSE-APACHE", "LICENSE-MIT"}
    # Wheels for distribution also have the licences of all libraries that are built in.
    wanted |= {"LICENSE-THIRD-PARTY"} if "licences" in arguments else set()
    assert wanted <= licences, licences
    print(f"tickwire {importlib.metadata.version('tickwire')} works as installed")


if __name__ == "__main__":
    main(sys.argv[1:])
