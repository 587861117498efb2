"""Exceptions."""

from __future__ import annotations


class TickwireError(Exception):
    """A file, an option or a template set that cannot be used."""


class TemplateError(TickwireError):
    """Templates that cannot be used; ``errors`` has everything that is wrong, a line each."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors

    def __reduce__(self) -> tuple[type[TemplateError], tuple[list[str]]]:
        # An exception is pickled with its text, but this one is made of its lines.
        return type(self), (self.errors,)


class EncodeError(TickwireError):
    """A message that cannot be encoded.

    Attributes are ``None`` where they are not known:

    - ``code``: the specification's, such as ``"D2"``
    - ``template`` and ``field``: name of the template, path of the field
    """

    def __init__(
        self,
        text: str,
        code: str | None = None,
        template: str | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.template = template
        self.field = field


class DecodeError(TickwireError):
    """Data that cannot be decoded.

    Attributes are ``None`` where they are not known:

    - ``code``: the specification's, such as ``"D9"``
    - ``template`` and ``field``: name of the template, path of the field
    - ``offset``: byte in the packet or stream
    - ``packet``: its index in the capture; ``file_offset``: of the packet in the file
    """

    def __init__(
        self,
        text: str,
        code: str | None = None,
        template: str | None = None,
        field: str | None = None,
        offset: int | None = None,
        packet: int | None = None,
        file_offset: int | None = None,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.template = template
        self.field = field
        self.offset = offset
        self.packet = packet
        self.file_offset = file_offset
