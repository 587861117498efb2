"""Exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tickwire._tickwire import Message


class TickwireError(Exception):
    """A file, option or template set is unusable.

    >>> import tickwire
    >>> try:
    ...     tickwire.open("day.pcap", templates="nowhere.xml")
    ... except tickwire.TickwireError as error:
    ...     print(error)
    cannot open nowhere.xml: No such file or directory (os error 2)
    """


class TemplateError(TickwireError):
    """Templates are unusable; ``errors`` lists all errors, one line each.

    >>> import tickwire
    >>> try:
    ...     tickwire.TemplateSet.parse('<templates><template id="1"/></templates>')
    ... except tickwire.TemplateError as error:
    ...     print(error.errors)
    ['templates: line 1, column 12: S1: the template has no name; help: add a name attribute']
    """

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = errors

    def __reduce__(self) -> tuple[type[TemplateError], tuple[list[str]]]:
        # The default pickles the message text, but the constructor takes the lines.
        return type(self), (self.errors,)


class EncodeError(TickwireError):
    """A message cannot be encoded.

    Attributes are ``None`` if unknown:

    - ``code``: the specification's, such as ``"D2"``
    - ``template`` and ``field``: name of the template, path of the field

    >>> import tickwire
    >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>'
    >>> try:
    ...     tickwire.Encoder(tickwire.TemplateSet.parse(xml)).encode({"n": "Quote", "msg": {"Id": -1}})
    ... except tickwire.EncodeError as error:
    ...     print(error.code, error.template, error.field, error, sep="; ")
    D2; Quote; Id; field Id: D2: integer outside the range of the field's type
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
    """Data cannot be decoded.

    Attributes are ``None`` if unknown:

    - ``code``: the specification's, such as ``"D9"``
    - ``template`` and ``field``: name of the template, path of the field
    - ``offset``: byte offset in the packet or stream
    - ``packet``: index of the packet in the capture; ``file_offset``: its byte offset in the file

    ``messages`` has the messages of the packet before the error if `Decoder.decode` raised it; captures return them
    before they raise. A pickled error has none.

    >>> import tickwire
    >>> xml = '<templates><template name="Quote" id="1"><uInt32 name="Id"/><decimal name="Px"/></template></templates>'
    >>> try:
    ...     tickwire.Decoder(tickwire.TemplateSet.parse(xml)).decode(bytes.fromhex("c08186fe07e8c08187"))
    ... except tickwire.DecodeError as error:
    ...     print(error)
    ...     print(error.code, error.template, error.field, error.offset, error.packet, error.file_offset)
    ...     print([message.Id for message in error.messages])
    template "Quote" (id 1), field Px: byte 9: the bytes end before the field does
    None Quote Px 9 None None
    [6]
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
        self.messages: list[Message] = []

    def __reduce__(self) -> tuple[type[DecodeError], tuple[Any, ...]]:
        parts = (self.code, self.template, self.field, self.offset, self.packet, self.file_offset)
        return type(self), (str(self), *parts)
