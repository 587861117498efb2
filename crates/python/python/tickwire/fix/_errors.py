"""Exceptions."""

from __future__ import annotations

from tickwire._errors import TickwireError


class FixError(TickwireError):
    """A FIX message, or a field of it, that is wrong.

    Attributes are ``None`` where they are not known:

    - ``tag``: of the field
    - ``offset``: of the field in the message, in bytes
    - ``reason``: SessionRejectReason (373); ``None`` where the message is garbled, which sessions ignore
    - ``line``: of the message in its log, from 1

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
