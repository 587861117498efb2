"""Encodes Python values as FIX."""

from __future__ import annotations

import datetime
from decimal import Decimal


def wire(value: object) -> bytes:
    """Return a value as on the wire.

    >>> wire(True), wire(Decimal("1.50")), wire(0.1), wire(datetime.date(2026, 1, 5))
    (b'Y', b'1.50', b'0.1', b'20260105')
    >>> wire(datetime.datetime(2026, 1, 5, 12, 30, tzinfo=datetime.timezone.utc))
    b'20260105-12:30:00.000'
    """
    if isinstance(value, bytes):
        return value
    return _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "Y" if value else "N"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no number that FIX can write")
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone: give it one, such as datetime.timezone.utc")
        value = value.astimezone(datetime.timezone.utc)
        return f"{value:%Y%m%d}-{_time(value.time())}"
    if isinstance(value, datetime.date):
        return f"{value:%Y%m%d}"
    if isinstance(value, datetime.time):
        return _time(value)
    raise TypeError(f"{value!r} is no value of a field")


def _time(value: datetime.time) -> str:
    if value.microsecond % 1000:
        return f"{value:%H:%M:%S.%f}"
    return f"{value:%H:%M:%S}.{value.microsecond // 1000:03}"
