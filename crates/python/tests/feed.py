"""A small feed for tests: templates, messages, capture files."""

from __future__ import annotations

import struct
from pathlib import Path

TEMPLATES = """<templates>
  <template name="Quote" id="1">
    <string name="Symbol"/>
    <uInt32 name="Count" presence="optional"/>
    <decimal name="Last" presence="optional"/>
    <sequence name="Levels"><length name="NoLevels"/><decimal name="Price"/><uInt32 name="Size"/></sequence>
  </template>
  <template name="Status" id="2"><uInt32 name="State"/><byteVector name="Raw"/></template>
</templates>"""


def unsigned(value: int) -> bytes:
    """A stop-bit encoded integer."""
    parts = [value & 0x7F | 0x80]
    while value := value >> 7:
        parts.insert(0, value & 0x7F)
    return bytes(parts)


def text(value: str) -> bytes:
    """An ASCII string whose last byte has the stop bit."""
    raw = value.encode()
    return raw[:-1] + bytes([raw[-1] | 0x80])


def decimal(mantissa: int, exponent: int) -> bytes:
    """A decimal with a small exponent and a mantissa from 0 up."""
    assert -64 <= exponent < 0 <= mantissa
    encoded = unsigned(mantissa)
    # If bit 6 of the first byte were set, the number would be negative.
    return bytes([exponent & 0x7F | 0x80]) + (b"\0" + encoded if encoded[0] & 0x40 else encoded)


def quote(symbol: str, count: int | None, levels: list[tuple[int, int]]) -> bytes:
    """A quote without a last price; levels are (hundredths, size)."""
    entries = b"".join(decimal(price, -2) + unsigned(size) for price, size in levels)
    present = b"\x80" if count is None else unsigned(count + 1)
    return b"\xc0\x81" + text(symbol) + present + b"\x80" + unsigned(len(levels)) + entries


def status(state: int, raw: bytes) -> bytes:
    return b"\xc0\x82" + unsigned(state) + unsigned(len(raw)) + raw


def prefixed(packets: list[bytes]) -> bytes:
    """Packets with four-byte big-endian length prefixes."""
    return b"".join(len(packet).to_bytes(4, "big") + packet for packet in packets)


def pcap(packets: list[tuple[int, bytes]]) -> bytes:
    """A capture of UDP datagrams with times in nanoseconds."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    for time, payload in packets:
        udp = struct.pack(">HHHH", 9, 1000, 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 1, 17, 0, b"\n\0\0\1", b"\xef\0\0\1")
        packet = ip + udp
        out += struct.pack("<IIII", time // 10**9, time % 10**9, len(packet), len(packet)) + packet
    return out


def write(directory: Path, name: str, content: bytes | str) -> Path:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
