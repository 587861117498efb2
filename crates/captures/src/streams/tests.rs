//! A stream decodes to the same messages however it is divided.

use super::*;
use crate::CaptureDecoder;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use tickwire_fast::{DecodedMessage, DecoderOptions, FastError, Program, TemplateSet};
use tickwire_feed::framing::Framing;
use tickwire_text::Header;
use tickwire_text::json::{JsonForm, push_record};

const XML: &str = r#"<templates>
  <template name="T" id="1"><uInt32 name="a"><copy/></uInt32><string name="b"/></template>
  <template name="U" id="2"><uInt32 name="c"/>
    <sequence name="s"><length name="n"/><uInt32 name="d"><increment value="7"/></uInt32></sequence>
  </template></templates>"#;

/// Messages: T with a = 5, T with a copied, U with three entries, T with a long string.
const MESSAGES: [&[u8]; 4] = [
    &[0xe0, 0x81, 0x85, 0x58, 0xd9],
    &[0x80, 0xd8],
    &[0xc0, 0x82, 0x01, 0x88, 0x83, 0x80, 0xc0, 0x89, 0x80],
    &[0xc0, 0x81, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0xc8],
];

/// Values and lengths of the messages, and true if something was lost.
#[derive(Default)]
struct Observed {
    messages: Vec<String>,
    is_flawed: bool,
}

impl CaptureSink for Observed {
    type Error = Infallible;

    fn message(
        &mut self,
        header: &Header<'_>,
        decoded: &DecodedMessage<'_>,
    ) -> Result<(), Infallible> {
        let mut text = Vec::new();
        push_record(&mut text, decoded.message.root(), JsonForm::Wire);
        let text = String::from_utf8_lossy(&text);
        self.messages.push(format!("{:?} {:?} {text}", header.offset, header.len));
        Ok(())
    }

    fn message_failed(&mut self, _: MessagePlace, _: &FastError, _: &Program, _: LossExtent) {
        self.is_flawed = true;
    }

    fn packet_failed(&mut self, _: PacketPlace, _: &dyn Display) {
        self.is_flawed = true;
    }
}

/// Decodes pieces of a stream; `is_tcp` selects a TCP stream.
fn decoded(framing: &Framing, pieces: &[&[u8]], is_tcp: bool) -> (Vec<String>, bool) {
    let set = TemplateSet::parse(XML).expect("templates");
    let program = Arc::new(Program::compile(set).expect("a program"));
    let reset = framing.reset_policy().into();
    let options = DecoderOptions::default().reset(reset);
    let mut decoder = CaptureDecoder::new(program, options, *framing);
    let mut seen = Observed::default();
    let mut offset = 0;
    let address = "10.0.0.1:9".parse().ok().filter(|_| is_tcp);
    for (index, piece) in pieces.iter().enumerate() {
        let position = StreamPosition { flow: 0, offset, lost_bytes: 0, joined_midway: false };
        let packet = Packet {
            index: index as u64,
            record: index as u64,
            bytes: piece,
            file_offset: offset,
            timestamp_ns: None,
            source: address,
            destination: address,
            stream: Some(position),
            missing_bytes: 0,
        };
        let Ok(()) = decoder.decode(&packet, &mut seen);
        offset += piece.len() as u64;
    }
    let Ok(()) = decoder.finish(&mut seen);
    (seen.messages, seen.is_flawed)
}

/// A framing, and a function that writes its message header.
type Framed = (&'static str, fn(&[u8]) -> Vec<u8>);

const FRAMINGS: [Framed; 12] = [
    ("none", |_| Vec::new()),
    ("header=fixed:3:0:be:0", |_| vec![0xc0, 0x81, 0x80]),
    ("header=fixed:1:0:be:1", |_| vec![0x01, 0x02]),
    ("header=fixed:0:1:be:0", |message| vec![message.len() as u8]),
    ("header=fixed:2:2:be:1", |message| vec![9, 9, 0, message.len() as u8, 9]),
    ("header=fixed:0:4:le:0", |message| vec![message.len() as u8, 0, 0, 0]),
    ("header=encoded:0:0", |message| vec![0x80 | message.len() as u8]),
    ("header=encoded:1:2", |message| vec![1, 0x82, 0x80 | message.len() as u8, 0x81, 2, 0x83]),
    ("header=encoded:0:0,reset=never", |message| vec![0, 0x80 | message.len() as u8]),
    ("preamble=4,length=2:2:be", |message| vec![0xc0, 0x81, 0, message.len() as u8]),
    ("b3-umdf,reset=template", |message| vec![0, 0, 0, 1, 0, 1, 0, 1, 0, message.len() as u8]),
    ("preamble=1,length=0:1:be,header=fixed:1:1:be:0", |message| {
        vec![message.len() as u8 + 2, 7, message.len() as u8]
    }),
];

#[test]
fn any_cut_of_a_stream_gives_the_same_messages() {
    for (text, header) in FRAMINGS {
        let framing: Framing = text.parse().expect("a framing");
        let messages = MESSAGES.repeat(2);
        let stream: Vec<u8> =
            messages.iter().flat_map(|message| [&header(message)[..], message].concat()).collect();
        let (whole, is_flawed) = decoded(&framing, &[&stream], false);
        assert_eq!((whole.len(), is_flawed), (messages.len(), false), "{text}");
        for is_tcp in [false, true] {
            for cut in 0..=stream.len() {
                let (first, second) = stream.split_at(cut);
                let found = decoded(&framing, &[first, second], is_tcp);
                assert_eq!(found, (whole.clone(), false), "{text}, cut at {cut}");
            }
            for len in 1..9 {
                let pieces: Vec<&[u8]> = stream.chunks(len).collect();
                let found = decoded(&framing, &pieces, is_tcp);
                assert_eq!(found, (whole.clone(), false), "{text}, pieces of {len}");
            }
        }
    }
}

#[test]
fn a_stream_that_ends_behind_a_header_is_not_whole() {
    let framing: Framing = "header=fixed:3:0:be:0".parse().expect("a framing");
    let (found, is_flawed) = decoded(&framing, &[&[1, 2, 3]], false);
    assert_eq!((found.len(), is_flawed), (0, true));
}
