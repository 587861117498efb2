//! Engines on arbitrary bytes: vector and machine code agree with the portable engine.

use crate::choices::Choices;
use crate::events::{self, Event};
use crate::sets::{self, limits};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, EngineUnderTest, FastError, ResetPolicy, Step,
};

const MESSAGES_MAX: usize = 64;

/// Decodes a stream of messages of a built-in or drawn template set with every engine. The first byte
/// selects the set, the second conformance and reset, as in [`decoder`](crate::decoder).
///
/// # Panics
/// If values, lengths, errors or findings differ.
pub fn engines(data: &[u8]) {
    let mut choices = Choices::new(data);
    let set = sets::take(&mut choices);
    let judgement = choices.byte();
    let decoder = |engine| {
        let options = DecoderOptions::default()
            .conformance(
                [Conformance::Strict, Conformance::Lenient, Conformance::Canonical]
                    [usize::from(judgement & 0xf) % 3],
            )
            .reset(
                [ResetPolicy::Template, ResetPolicy::Never, ResetPolicy::Message]
                    [usize::from(judgement >> 4) % 3],
            )
            .limits(limits())
            .engine_under_test(engine);
        Decoder::with_options(set.whole.clone(), options)
    };
    let mut decoders = [
        EngineUnderTest::Portable,
        EngineUnderTest::Vectors,
        EngineUnderTest::MachineCode,
        EngineUnderTest::Automatic,
    ]
    .map(decoder);
    let mut rest = choices.rest();
    for index in 0..MESSAGES_MAX {
        let decode = if index % 5 == 4 { streamed } else { whole };
        let [scalar, others @ ..] = decoders.each_mut().map(|decoder| decode(decoder, rest));
        for (other, decoder) in others.iter().zip(&decoders[1..]) {
            assert_eq!(scalar, *other, "message {index}: {rest:02x?}");
            assert_eq!(decoders[0].findings(), decoder.findings());
        }
        match scalar {
            Ok((len, _)) if len > 0 => rest = &rest[len..],
            Ok(_) => break,
            // After a reset of the dictionaries the remaining bytes are as good as any input.
            Err(_) if rest.is_empty() => break,
            Err(_) => {
                decoders.iter_mut().for_each(Decoder::reset);
                rest = &rest[1..];
            }
        }
    }
}

fn whole(decoder: &mut Decoder, input: &[u8]) -> Result<(usize, Vec<Event>), FastError> {
    let decoded = decoder.decode(input)?;
    Ok((decoded.len, events::of_message(decoded.message)))
}

fn streamed(decoder: &mut Decoder, input: &[u8]) -> Result<(usize, Vec<Event>), FastError> {
    Ok(match decoder.decode_stream(input)? {
        Step::Message(decoded) => (decoded.len, events::of_message(decoded.message)),
        Step::NeedMore(_) => (0, Vec::new()),
    })
}
