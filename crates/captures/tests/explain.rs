//! Packets explained as text and as HTML.

use std::convert::Infallible;
use std::sync::Arc;

use tickwire_captures::CaptureChannel;
use tickwire_captures::explain::{Emphasis, Explainer, PacketPart, write_html, write_text};
use tickwire_fast::{DecoderOptions, Program, TemplateSet};
use tickwire_feed::framing::Framing;

const XML: &str = r#"<templates><template name="T" id="1">
    <uInt32 name="Id"><increment/></uInt32><string name="Text"/></template></templates>"#;

/// Explains a packet of a feed with CME's framing; returns the output of `write`, and true if all
/// was decoded.
fn explained(
    packet: &[u8],
    mut messages_left: u64,
    write: impl Fn(&mut Vec<u8>, &PacketPart<'_>),
) -> (String, bool) {
    let set = TemplateSet::parse(XML).expect("templates");
    let program = Arc::new(Program::compile(set).expect("a program"));
    let framing: Framing = "cme".parse().expect("a preset");
    let mut channel = CaptureChannel::new(program.clone(), DecoderOptions::default(), framing);
    let mut out = Vec::new();
    let explained = Explainer::new(&program, framing).packet(
        &mut channel,
        packet,
        &mut messages_left,
        &mut |part| {
            write(&mut out, &part);
            Ok::<_, Infallible>(())
        },
    );
    (String::from_utf8(out).expect("UTF-8"), explained.expect("nothing fails"))
}

fn text(out: &mut Vec<u8>, part: &PacketPart<'_>) {
    let paint = |emphasis, text: &str| match emphasis {
        Emphasis::Changed => format!("*{text}*"),
        _ => text.to_owned(),
    };
    write_text(out, part, &paint).expect("memory");
}

fn html(out: &mut Vec<u8>, part: &PacketPart<'_>) {
    write_html(out, part).expect("memory");
}

/// Sequence number 9, subchannel 1; Id 7 and a text.
const PACKET: &[u8] = &[0, 0, 0, 9, 1, 0xe0, 0x81, 0x87, b'<', b'b', b'>' | 0x80];

#[test]
fn text_has_a_line_a_field_with_its_bytes_and_its_dictionary_entry() {
    let (out, is_right) = explained(PACKET, 9, text);
    assert!(is_right);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "preamble 00 00 00 09 01, sequence number 9");
    assert_eq!(lines[2], "message at offset 5, 6 bytes");
    let words = |line: usize| lines[line].split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(4), ["5", "e0", "presence", "map", "1100000", "1=template", "id,", "1=Id"]);
    let entry = ["*global:", "Id:", "undefined", "->", "7*"];
    assert_eq!(words(6)[..6], ["7", "87", "Id", "uInt32", "increment", "1:1"]);
    assert_eq!(words(6)[6..], [&["7"][..], &entry].concat());
    assert_eq!(words(7), ["8", "3c", "62", "be", "Text", "string", "\"<b>\""]);
    assert_eq!(lines.len(), 8);
}

#[test]
fn html_has_a_row_a_line_and_no_markup_of_the_data() {
    let (out, _) = explained(PACKET, 9, html);
    assert!(!out.contains("<b>"), "{out}");
    assert!(out.contains("<td class=\"value\">&quot;&lt;b&gt;&quot;</td>"), "{out}");
    assert!(out.contains("<td class=\"changed\">global: Id: undefined -&gt; 7</td>"), "{out}");
    assert_eq!(out.matches("<tr>").count(), 5, "titles, map, template id, two fields");
}

#[test]
fn what_cannot_be_decoded_is_told_with_what_is_left() {
    // The text does not end.
    let packet = &PACKET[..PACKET.len() - 1];
    let (out, is_right) = explained(packet, 9, text);
    assert!(!is_right);
    assert!(out.contains("field Text: byte 8: the bytes end"), "{out}");
    assert!(out.ends_with("bytes from there on, 2: 3c 62\n"), "{out}");
    let (out, _) = explained(packet, 9, html);
    assert!(out.contains("<p class=\"error\">") && out.contains("2: 3c 62</p>"), "{out}");
}

#[test]
fn no_more_messages_than_wanted_are_explained() {
    let packet = [PACKET, &PACKET[5..]].concat();
    let messages = |max| explained(&packet, max, text).0.matches("message at").count();
    assert_eq!((messages(1), messages(2), messages(9)), (1, 2, 2));
}

#[test]
fn messages_behind_the_limit_update_the_dictionaries() {
    let set = TemplateSet::parse(XML).expect("templates");
    let program = Arc::new(Program::compile(set).expect("a program"));
    let framing: Framing = "none,reset=never".parse().expect("a framing");
    let mut channel = CaptureChannel::new(program.clone(), DecoderOptions::default(), framing);
    let explainer = Explainer::new(&program, framing);
    let mut left = 2;
    let mut explain = |packet: &[u8]| {
        let mut out = Vec::new();
        let explained = explainer.packet(&mut channel, packet, &mut left, &mut |part| {
            text(&mut out, &part);
            Ok::<_, Infallible>(())
        });
        assert!(explained.expect("nothing fails"));
        left += u64::from(left == 0);
        String::from_utf8(out).expect("UTF-8")
    };
    // Id 7, then 8, 9 and 10 by increments.
    let first = explain(&[0xe0, 0x81, 0x87, b'a' | 0x80, 0x80, b'b' | 0x80, 0x80, b'c' | 0x80]);
    assert_eq!(first.matches("message at").count(), 2, "{first}");
    let next = explain(&[0x80, b'd' | 0x80]);
    assert!(next.contains("Id: 9 -> 10"), "{next}");
}
