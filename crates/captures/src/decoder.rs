//! Decodes the packets of a capture to messages.

use crate::channels::Channels;
use crate::session_check::SessionCheck;
use crate::sink::CaptureSink;
use crate::streams::CaptureStreams;
use crate::work::{PacketDecoding, Setup};
use std::io::Read;
use std::sync::Arc;
use tickwire_fast::{DecoderOptions, Findings, Program};
use tickwire_feed::capture::{CaptureError, CaptureKind, CaptureReader, Packet};
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::{RestartWatch, ValueCheck};

/// Longest raw file that is decoded as one packet, in bytes.
const PACKET_BYTES_MAX: usize = 16 << 20;

/// Decodes the packets of one capture, in their order.
pub struct CaptureDecoder {
    setup: Setup,
    channels: Channels,
    streams: CaptureStreams,
    /// True if a raw file was read as one packet.
    is_read: bool,
}

impl CaptureDecoder {
    /// Creates a decoder before the first packet.
    ///
    /// If dictionaries persist and the sequence numbers in messages go back, messages whose values
    /// may be wrong because another session began there reach [`CaptureSink::message_unproven`].
    pub fn new(program: Arc<Program>, options: DecoderOptions, framing: Framing) -> Self {
        let watch = RestartWatch::new(&program, options);
        let check =
            watch.map_or(SessionCheck::None, |watch| SessionCheck::SeqNums(Box::new(watch)));
        let mut channels = Channels::new(program.clone(), options, framing);
        channels.check_with(check.clone());
        Self {
            channels,
            streams: CaptureStreams::default(),
            setup: Setup { program, options, framing, check },
            is_read: false,
        }
    }

    /// As [`Channels::reset_at`].
    #[must_use]
    pub fn reset_at(mut self, packets: Vec<u64>) -> Self {
        self.channels = self.channels.reset_at(packets);
        self
    }

    /// Checks for each message that its bytes confirm its values. Use this check if the framing was
    /// detected. Messages with unconfirmed values reach [`CaptureSink::message_unproven`]. A remark
    /// names the first message of a channel or stream that cannot be checked.
    #[must_use]
    pub fn check_values(mut self) -> Self {
        let Setup { program, options, framing, .. } = &self.setup;
        if let Some(check) = ValueCheck::new(framing, program.set(), *options) {
            self.setup.check = SessionCheck::Values(Box::new(check));
            self.channels.check_with(self.setup.check.clone());
        }
        self
    }

    /// Returns the program that decodes.
    pub const fn program(&self) -> &Arc<Program> {
        &self.setup.program
    }

    /// Returns the next packet of a capture; `None` at its end. If preambles have no length, a raw
    /// file is one packet.
    ///
    /// # Errors
    /// As [`CaptureReader::next_packet`].
    pub fn next_packet<'p>(
        &mut self,
        reader: &'p mut CaptureReader<impl Read>,
    ) -> Result<Option<Packet<'p>>, CaptureError> {
        let framing = &self.setup.framing;
        let is_whole = reader.kind() == CaptureKind::Stream
            && framing.preamble_bytes() > 0
            && framing.length_field().is_none();
        if !is_whole {
            return reader.next_packet();
        }
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(None);
        }
        let packet = reader.read_whole(PACKET_BYTES_MAX)?;
        Ok(Some(Packet { stream: None, ..packet }))
    }

    /// Decodes a packet.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn decode<S: CaptureSink>(
        &mut self,
        packet: &Packet<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.channels.begin_packet(packet.index);
        let mut work = PacketDecoding::new(&self.setup, sink);
        match packet.stream {
            Some(position) => self.streams.piece(&mut work, packet, position),
            None => work.datagram(&mut self.channels, packet),
        }
    }

    /// Decodes the data that streams still hold at the end of a capture, and reports incomplete
    /// messages.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn finish<S: CaptureSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.streams.finish(&mut PacketDecoding::new(&self.setup, sink))
    }

    /// Returns the findings of the decoders so far.
    pub fn findings(&self) -> Findings {
        self.channels.findings() + self.streams.findings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossExtent, MessagePlace, PacketPlace};
    use std::convert::Infallible;
    use std::fmt::Display;
    use tickwire_fast::{Conformance, DecodedMessage, FastError, ResetPolicy, TemplateSet};
    use tickwire_feed::capture::CaptureOptions;
    use tickwire_text::Header;

    #[derive(Default)]
    struct Remarks {
        messages: usize,
        remarks: Vec<String>,
    }

    impl CaptureSink for Remarks {
        type Error = Infallible;

        fn message(&mut self, _: &Header<'_>, _: &DecodedMessage<'_>) -> Result<(), Infallible> {
            self.messages += 1;
            Ok(())
        }

        fn message_failed(
            &mut self,
            _: MessagePlace,
            error: &FastError,
            _: &Program,
            _: LossExtent,
        ) {
            panic!("{error}");
        }

        fn packet_failed(&mut self, _: PacketPlace, why: &dyn Display) {
            panic!("{why}");
        }

        fn remark(&mut self, text: &str) {
            self.remarks.push(text.to_owned());
        }
    }

    #[test]
    fn a_check_that_cannot_decode_a_message_says_so_once() {
        let xml = r#"<templates><template name="T" id="1"><uInt32 name="n"><delta/></uInt32><string name="s"/></template></templates>"#;
        let set = TemplateSet::parse(xml).expect("templates");
        let program = Arc::new(Program::compile(set).expect("a program"));
        let framing: Framing = "none,reset=never".parse().expect("a framing");
        let options = DecoderOptions::default().reset(ResetPolicy::Never);
        let lenient = options.conformance(Conformance::Lenient);
        let mut decoder = CaptureDecoder::new(program.clone(), lenient, framing);
        let check = ValueCheck::new(&framing, program.set(), options).expect("a check");
        decoder.channels.check_with(SessionCheck::Values(Box::new(check)));
        // Three packets with length prefixes; the string of the second is overlong (R9).
        let capture = [
            &[0, 0, 0, 4, 0xc0, 0x81, 0x81, 0xc1][..],
            &[0, 0, 0, 4, 0x80, 0x81, 0x00, 0xc1],
            &[0, 0, 0, 3, 0x80, 0x81, 0xc1],
        ];
        let capture = capture.concat();
        let mut reader =
            CaptureReader::open(&capture[..], CaptureOptions::default()).expect("a capture");
        let mut sink = Remarks::default();
        while let Some(packet) = decoder.next_packet(&mut reader).expect("a packet") {
            decoder.decode(&packet, &mut sink).expect("nothing fails");
        }
        assert_eq!((sink.messages, sink.remarks.len()), (3, 1), "{:?}", sink.remarks);
        assert!(sink.remarks[0].starts_with("warning: packet 1"), "{}", sink.remarks[0]);
        assert!(sink.remarks[0].contains("are not checked"), "{}", sink.remarks[0]);
    }
}
