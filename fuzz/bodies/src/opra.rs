//! OPRA packets through every decoder, and their messages through the encoder.

use crate::choices::Choices;
use std::cell::RefCell;
use tickwire_opra::{
    Decode, Field, OpraEncodeErrorKind, OpraEncoder, OpraError, OpraMessage, OpraSummary,
    OpraVersion, bottom_up, grammar, json, reference,
};

/// Every engine of the bottom-up decoder, and both back ends of the grammar decoder.
struct Decoders {
    reference: reference::ReferenceDecoder,
    bottom_up: Vec<bottom_up::BottomUpDecoder>,
    grammars: [grammar::GrammarDecoder; 2],
}

thread_local! {
    /// Created once: decoders reset before each packet, and creating one of them compiles the
    /// grammar.
    static DECODERS: RefCell<Decoders> = RefCell::new(Decoders::new());
}

impl Decoders {
    fn new() -> Self {
        let engines = bottom_up::BottomUpEngine::available().into_iter();
        Self {
            reference: reference::ReferenceDecoder::new(),
            bottom_up: engines.filter_map(bottom_up::BottomUpDecoder::with_engine).collect(),
            grammars: [
                grammar::GrammarDecoder::generated(),
                grammar::GrammarDecoder::from_grammar(grammar::GRAMMAR).expect("our own grammar"),
            ],
        }
    }
}

/// The complete result of decoding a packet.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// Messages with their changed fields and offsets.
    messages: Vec<(String, u64, u32)>,
    result: Result<OpraSummary, OpraError>,
}

/// Decodes a packet with every decoder, then encodes the messages and decodes them again. The first
/// byte selects whether the rest is a packet, or messages with length prefixes for one.
///
/// # Panics
/// If decoders differ in a message, a changed field or the error, or a decoded message does not
/// survive encoding.
pub fn opra(data: &[u8]) {
    let mut choices = Choices::new(data);
    let packet = match choices.below(3) {
        0 => choices.rest().to_vec(),
        1 => packet_of(b"\x01\x020000000001001".to_vec(), choices),
        _ => packet_of(vec![1], choices),
    };
    DECODERS.with_borrow_mut(|decoders| {
        let expected = outcome(&mut decoders.reference, &packet);
        for decoder in &mut decoders.bottom_up {
            let engine = decoder.engine();
            assert_eq!(outcome(decoder, &packet), expected, "{engine:?} on {packet:02x?}");
        }
        for decoder in &mut decoders.grammars {
            assert_eq!(outcome(decoder, &packet), expected, "grammar on {packet:02x?}");
        }
        if expected.result.is_ok() {
            check_encoder(&mut decoders.reference, &packet, &expected);
        }
    });
}

/// Assembles messages with length prefixes into a packet.
fn packet_of(mut packet: Vec<u8>, mut choices: Choices<'_>) -> Vec<u8> {
    while !choices.is_used_up() {
        let len = choices.below(64);
        let message = choices.bytes(len);
        packet.push(message.len() as u8);
        packet.extend_from_slice(message);
    }
    packet.push(3);
    packet
}

fn outcome(decoder: &mut impl Decode, packet: &[u8]) -> Outcome {
    let mut messages = Vec::new();
    let result = decoder.decode_packet(packet, |message| {
        messages.push((json::to_string(&message), message.changed(), message.offset()));
    });
    Outcome { messages, result }
}

/// Encodes the messages of a packet and decodes them again.
fn check_encoder(decoder: &mut reference::ReferenceDecoder, packet: &[u8], expected: &Outcome) {
    let is_v2 = packet.get(1) == Some(&2);
    let mut encoder = OpraEncoder::new(if is_v2 { OpraVersion::V2 } else { OpraVersion::V1 });
    encoder.begin(1);
    let mut pushed = 0;
    let mut refused = None;
    let push = |message: OpraMessage<'_>| {
        if refused.is_none() {
            match encoder.push(&message) {
                Ok(()) => pushed += 1,
                Err(error) => refused = Some(error),
            }
        }
    };
    assert!(decoder.decode_packet(packet, push).is_ok(), "decoded before");
    if let Some(error) = refused {
        // The only messages that a packet can contain and the encoder cannot send.
        let is_counted_too_far = error.field == Some(Field::SeqNum);
        let is_refused = matches!(
            error.kind,
            OpraEncodeErrorKind::PacketFull | OpraEncodeErrorKind::LooksLikeV2
        );
        assert!(is_counted_too_far || is_refused, "{error} on {packet:02x?}");
    }
    let encoded = encoder.finish().expect("the number 1 fits").to_vec();
    assert!(encoded.len() <= packet.len().max(16), "{encoded:02x?} of {packet:02x?}");
    let mut messages = Vec::new();
    let again = decoder.decode_packet(&encoded, |message| messages.push(json::to_string(&message)));
    assert!(again.is_ok(), "{encoded:02x?} of {packet:02x?}");
    let expected = expected.messages.iter().map(|(message, ..)| message).take(pushed);
    assert!(messages.iter().eq(expected), "{encoded:02x?} of {packet:02x?}");
}
