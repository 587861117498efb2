//! Builder and encoder: built and encoded messages decode to the same values, alone and in packets.

use crate::choices::Choices;
use crate::events::{self, Event};
use crate::fill::Fill;
use crate::sets::{self, limits};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, FastErrorKind, MessageBuilder,
    PacketEncoder, ResetPolicy,
};

const MESSAGES_MAX: usize = 24;

/// Builds messages of a built-in or drawn template set according to the input, encodes and decodes them.
///
/// # Panics
/// If a message decodes to different values, or is refused for a reason other than its operators.
pub fn encoder(data: &[u8]) {
    let mut choices = Choices::new(data);
    let set = sets::take(&mut choices);
    let program = &set.whole;
    let reset = choices.of(&[
        ResetPolicy::Template,
        ResetPolicy::Never,
        ResetPolicy::Message,
        ResetPolicy::Packet,
    ]);
    let packet_bytes_max = 16 + 8 * choices.below(256);
    let options =
        EncoderOptions::default().reset(reset).limits(limits()).packet_bytes_max(packet_bytes_max);
    let mut builder = MessageBuilder::with_limits(program.clone(), limits());
    let mut encoder = Encoder::with_options(program.clone(), options);
    let decoder_options =
        DecoderOptions::default().reset(reset).limits(limits()).conformance(Conformance::Canonical);
    let mut decoder = Decoder::with_options(program.clone(), decoder_options);
    let mut packets = Packets {
        encoder: PacketEncoder::new(program.clone(), options),
        decoder: Decoder::with_options(program.clone(), decoder_options),
        waiting: Vec::new(),
        packet_bytes_max,
    };
    let mut out = Vec::new();
    for _ in 0..MESSAGES_MAX {
        if choices.is_used_up() {
            break;
        }
        let template = choices.below(program.templates().len());
        if builder.begin(template).is_err() {
            continue;
        }
        let mut fill = Fill { choices: &mut choices, builder: &mut builder, program };
        let filled = fill.record(program.templates()[template].segment, 0);
        let Some(message) = filled.ok().and_then(|()| builder.finish().ok()) else { continue };
        let expected = events::of_message(message);
        out.clear();
        match encoder.encode(message, &mut out) {
            Ok(len) => {
                assert_eq!(len, out.len());
                let decoded = decoder
                    .decode(&out)
                    .unwrap_or_else(|error| panic!("{out:02x?}: {}", error.describe(program)));
                assert_eq!(decoded.len, len, "{out:02x?}");
                assert_eq!(events::of_message(decoded.message), expected, "{out:02x?}");
            }
            Err(error) => {
                assert!(is_not_encodable(error.kind()), "{}", error.describe(program));
                assert!(out.is_empty());
            }
        }
        packets.push(message, expected);
    }
    packets.finish();
}

/// True for errors with which a message of valid types may be refused.
fn is_not_encodable(kind: FastErrorKind) -> bool {
    use FastErrorKind as K;
    matches!(
        kind,
        K::ApplicationType
            | K::DecimalNotEncodable
            | K::EmptyPreviousValue
            | K::PreviousValueType
            | K::StringSyntax
            | K::TemplateWithoutId
            | K::NestingTooDeep
            | K::TooManyEntries
    )
}

/// Messages in packets, and their expected contents.
struct Packets {
    encoder: PacketEncoder,
    decoder: Decoder,
    waiting: Vec<Vec<Event>>,
    packet_bytes_max: usize,
}

impl Packets {
    fn push(&mut self, message: &tickwire_fast::Message, expected: Vec<Event>) {
        match self.encoder.push(message) {
            Ok(Some(packet)) => {
                let packet = packet.to_vec();
                self.check(&packet);
                self.waiting.push(expected);
            }
            Ok(None) => self.waiting.push(expected),
            Err(error) => {
                let kind = error.kind();
                assert!(kind == FastErrorKind::PacketTooSmall || is_not_encodable(kind), "{error}");
            }
        }
    }

    fn finish(&mut self) {
        if let Some(packet) = self.encoder.finish().map(<[u8]>::to_vec) {
            self.check(&packet);
        }
        assert!(self.waiting.is_empty());
    }

    fn check(&mut self, packet: &[u8]) {
        assert!(packet.len() <= self.packet_bytes_max);
        self.decoder.begin_packet();
        let mut rest = packet;
        for expected in self.waiting.drain(..) {
            let decoded = self.decoder.decode(rest).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(events::of_message(decoded.message), expected, "{packet:02x?}");
            rest = &rest[decoded.len..];
        }
        assert!(rest.is_empty());
    }
}
