"""Exceptions."""

from __future__ import annotations

from tickwire._errors import TickwireError


class FixError(TickwireError):
    """A FIX message, or one of its fields, is invalid.

    Attributes are ``None`` if unknown:

    - ``tag``: tag of the field
    - ``offset``: offset of the field in the message, in bytes
    - ``reason``: SessionRejectReason (373); ``None`` for garbled messages, which sessions ignore
    - ``line``: line of the message in its log, from 1

    >>> from tickwire import fix
    >>> try:
    ...     fix.parse("8=FIX.4.4|9=5|35=0|10=000|")
    ... except fix.FixError as error:
    ...     print(error.tag, error.offset, error.reason, error.line, error)
    10 19 None None CheckSum (10) is 000, expected 163
    """

    def __init__(
        self,
        text: str,
        tag: int | None = None,
        offset: int | None = None,
        reason: int | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(text)
        self.tag = tag
        self.offset = offset
        self.reason = reason
        self.line = line
