//! Decodes a capture and prints its first messages as JSON lines. Without arguments it generates a
//! capture in CME's framing.
//!
//! `decode_capture [CAPTURE TEMPLATES FRAMING]`, for example
//! `decode_capture day.pcap templates.xml moex-spectra`

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use tickwire_captures::{CaptureDecoder, CaptureSink, LossExtent, MessagePlace, PacketPlace};
use tickwire_exchange::{CmeShape, Generator, Options, templates};
use tickwire_fast::{DecodedMessage, DecoderOptions, Program, TemplateSet};
use tickwire_feed::capture::{CaptureFormat, CaptureOptions, CaptureReader};
use tickwire_feed::framing::Preset;
use tickwire_text::{Header, JsonLines, MessageWriter};

/// Number of printed messages; all are counted.
const SHOWN: u64 = 2;

#[derive(Default)]
struct Print {
    messages: u64,
    errors: u64,
}

impl CaptureSink for Print {
    type Error = io::Error;

    fn message(&mut self, header: &Header<'_>, decoded: &DecodedMessage<'_>) -> io::Result<()> {
        self.messages += 1;
        if self.messages <= SHOWN {
            JsonLines::new(io::stdout().lock()).write_message(header, decoded.message)?;
        }
        Ok(())
    }

    fn message_failed(
        &mut self,
        place: MessagePlace,
        error: &tickwire_fast::FastError,
        program: &Program,
        _: LossExtent,
    ) {
        self.errors += 1;
        eprintln!("{place:?}: {}", error.describe(program));
    }

    fn packet_failed(&mut self, place: PacketPlace, reason: &dyn Display) {
        self.errors += 1;
        eprintln!("{place:?}: {reason}");
    }
}

/// Returns a capture in memory: packets with length prefixes.
fn made_capture() -> Result<Vec<u8>, Box<dyn Error>> {
    let framing = Some(Preset::Cme.framing());
    let options = Options { messages: 1_000, framing, ..Options::cme(CmeShape::Average) };
    let mut generator = Generator::new(&options)?;
    let mut file = Vec::new();
    while let Some(packet) = generator.next_packet()? {
        file.extend(u32::try_from(packet.bytes.len())?.to_be_bytes());
        file.extend(&packet.bytes);
    }
    Ok(file)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (input, xml, preset, options): (Box<dyn Read>, _, Preset, _) = match &arguments[..] {
        [] => {
            let file = io::Cursor::new(made_capture()?);
            let options = CaptureOptions::new().format(CaptureFormat::U32Be);
            (Box::new(file), templates::CME.to_owned(), Preset::Cme, options)
        }
        [capture, templates, framing] => {
            let xml = std::fs::read_to_string(templates)?;
            (Box::new(File::open(capture)?), xml, framing.parse()?, CaptureOptions::new())
        }
        _ => return Err("expected no arguments, or CAPTURE TEMPLATES FRAMING".into()),
    };
    let program = Arc::new(Program::compile(TemplateSet::parse(&xml)?)?);
    let framing = preset.framing();
    let decoding = DecoderOptions::default().reset(framing.reset_policy().into());
    let mut reader = CaptureReader::open(input, options)?;
    let mut decoder = CaptureDecoder::new(program, decoding, framing);
    let mut print = Print::default();
    while let Some(packet) = decoder.next_packet(&mut reader)? {
        decoder.decode(&packet, &mut print)?;
    }
    decoder.finish(&mut print)?;
    println!("{} messages, {} errors", print.messages, print.errors);
    Ok(())
}
