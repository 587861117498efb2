"""Packets explained byte by byte."""

from pathlib import Path

import feed
import pytest
import tickwire

XML = """<templates><template name="T" id="1"><uInt32 name="Id"><increment/></uInt32><string name="Text"/></template>
</templates>"""


def packet(number: int, text: str) -> bytes:
    return bytes([0xE0, 0x81]) + feed.unsigned(number) + feed.text(text)


def test_a_packet_of_a_capture_is_explained_with_the_dictionaries_of_those_before_it(tmp_path: Path) -> None:
    templates = feed.write(tmp_path, "t.xml", XML)
    # In the second packet, Id comes from the increment operator.
    packets = [packet(7, "a"), bytes([0xC0, 0x81]) + feed.text("<b>")]
    path = feed.write(tmp_path, "c.bin", feed.prefixed(packets))
    capture = tickwire.open(path, templates, input_format="u32be")
    explained = capture.explain(1)
    assert explained.ok
    lines = [line.split() for line in str(explained).splitlines()]
    assert ["Id", "uInt32", "increment", "1:0", "8", "global:", "Id:", "7", "->", "8"] in lines
    html = explained._repr_html_()
    assert html.startswith('<div class="tickwire-explain">') and html.rstrip().endswith("</div>")
    assert "&lt;b&gt;" in html and "<b>" not in html
    with pytest.raises(tickwire.TickwireError, match=r"c\.bin has no packet 2"):
        capture.explain(2)


def test_bytes_that_cannot_be_decoded_are_explained_up_to_there() -> None:
    templates = tickwire.TemplateSet.parse(XML)
    explained = tickwire.explain(packet(7, "a") + b"\xe0\x81\x00", templates)
    assert not explained.ok
    assert "message at offset 0, 4 bytes" in str(explained)
    assert str(explained).splitlines()[-1] == "bytes from there on, 1: 00"
    assert 'class="error"' in explained._repr_html_()
    with pytest.raises(ValueError, match="framing nothing"):
        tickwire.explain(b"", templates, framing="nothing")


def test_what_cannot_be_encoded_names_template_and_field() -> None:
    encoder = tickwire.Encoder(tickwire.TemplateSet.parse(XML))
    with pytest.raises(tickwire.EncodeError) as unfit:
        encoder.encode({"n": "T", "msg": {"Id": "x", "Text": ""}})
    assert (unfit.value.template, unfit.value.field, unfit.value.code) == ("T", "Id", None)
    with pytest.raises(tickwire.EncodeError) as unfit:
        encoder.encode({"n": "T", "msg": {"Id": -1, "Text": ""}})
    assert (unfit.value.template, unfit.value.field, unfit.value.code) == ("T", "Id", "D2")
    with pytest.raises(tickwire.EncodeError) as unfit:
        encoder.encode({"n": "T", "msg": {"Id": 1}})
    assert (unfit.value.template, unfit.value.field) == ("T", "Text")
