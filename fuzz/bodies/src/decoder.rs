//! The decoder on arbitrary bytes: all ways to decode agree, and decoded messages can be encoded.

use crate::choices::Choices;
use crate::events::{self, Event, Recorder};
use crate::sets::{self, CompiledSet, limits};
use std::sync::Arc;
use tickwire_fast::{
    Conformance, DecodedMessage, Decoder, DecoderOptions, Encoder, EncoderOptions, FastError,
    FastErrorKind, Message, ResetPolicy, Step,
};

const MESSAGES_MAX: usize = 64;

/// Decodes a stream of messages of a built-in or drawn template set. The first byte selects the
/// set, the second conformance and reset.
///
/// # Panics
/// If decoding whole, in pieces, by visitor, traced and projected differ, or if an encoder cannot
/// reproduce a decoded message.
pub fn decoder(data: &[u8]) {
    let mut choices = Choices::new(data);
    let set = sets::take(&mut choices);
    let judgement = choices.byte();
    let options = DecoderOptions::default()
        .conformance(
            [Conformance::Strict, Conformance::Lenient, Conformance::Canonical]
                [usize::from(judgement & 0xf) % 3],
        )
        .reset(
            [ResetPolicy::Template, ResetPolicy::Never, ResetPolicy::Message, ResetPolicy::Packet]
                [usize::from(judgement >> 4) % 4],
        )
        .limits(limits());
    let mut run = Run::new(set, options);
    let mut rest = choices.rest();
    for _ in 0..MESSAGES_MAX {
        match run.message(rest) {
            Some(len) => rest = &rest[len..],
            None => break,
        }
    }
}

/// Decoders that decode the same stream in different ways.
struct Run {
    set: Arc<CompiledSet>,
    whole: Decoder,
    pieces: Decoder,
    visited: Decoder,
    traced: Decoder,
    projected: Decoder,
    again: Option<Again>,
}

/// Encodes decoded messages and decodes them again, until a message cannot be encoded.
struct Again {
    encoder: Encoder,
    decoder: Decoder,
    lenient: bool,
    bytes: Vec<u8>,
}

impl Run {
    fn new(set: Arc<CompiledSet>, options: DecoderOptions) -> Self {
        let decoder = |program| Decoder::with_options(program, options);
        let canonical = options.conformance(Conformance::Canonical);
        let encoder_options = EncoderOptions::default().reset(options.reset).limits(limits());
        Self {
            whole: decoder(set.whole.clone()),
            pieces: decoder(set.whole.clone()),
            visited: decoder(set.visited.clone()),
            traced: decoder(set.visited.clone()),
            projected: decoder(set.projected.clone()),
            again: Some(Again {
                encoder: Encoder::with_options(set.whole.clone(), encoder_options),
                decoder: Decoder::with_options(set.whole.clone(), canonical),
                lenient: options.conformance == Conformance::Lenient,
                bytes: Vec::new(),
            }),
            set,
        }
    }

    /// Decodes the message at the start of `input` in every way. Returns `None` at the end of the
    /// stream.
    fn message(&mut self, input: &[u8]) -> Option<usize> {
        let findings = self.whole.findings().total();
        match self.whole.decode(input) {
            Ok(DecodedMessage { message, len }) => {
                assert!(0 < len && len <= input.len(), "{len} of {} bytes", input.len());
                let events = events::of_message(message);
                decode_in_pieces(&mut self.pieces, input, len, &events);
                let mut recorder = Recorder::default();
                assert_eq!(self.visited.visit(input, &mut recorder), Ok(len));
                assert_eq!(recorder.0, events);
                assert_eq!(self.traced.trace(input, |_| ()), Ok(len));
                project(&mut self.projected, input, len, message, &self.set.wanted);
                if self.again.as_mut().is_some_and(|again| !again.round(message, len, &events)) {
                    self.again = None;
                }
                assert_eq!(self.pieces.findings(), self.whole.findings());
                Some(len)
            }
            Err(error) => {
                assert!(error.offset() <= input.len(), "{error}");
                assert!(!error.describe(self.whole.program()).to_string().is_empty());
                assert!(self.whole.findings().total() >= findings);
                self.fail_alike(input, error);
                None
            }
        }
    }

    /// Asserts that all ways to decode fail alike.
    fn fail_alike(&mut self, input: &[u8], error: FastError) {
        match self.pieces.decode_stream(input) {
            Ok(Step::NeedMore(_)) => assert_eq!(error.kind(), FastErrorKind::Truncated),
            Ok(Step::Message(_)) => panic!("only whole: {error}"),
            Err(in_pieces) => {
                assert!(in_pieces == error || is_limit(in_pieces.kind()), "{in_pieces}, {error}");
            }
        }
        // Ways that store less may get further, or to the end.
        let stores_less = error.kind() == FastErrorKind::MessageTooLarge;
        let visited = self.visited.visit(input, &mut Recorder::default());
        let traced = self.traced.trace(input, |_| ());
        let projected = self.projected.decode(input).map(|decoded| decoded.len);
        for other in [visited, traced, projected] {
            assert!(stores_less || other == Err(error), "{other:?}, {error}");
        }
        if self.whole.needs_reset() {
            let next = self.whole.decode(&[0x80]).map(|decoded| decoded.len);
            assert_eq!(next.map_err(|error| error.kind()), Err(FastErrorKind::NeedsReset));
        }
    }
}

fn decode_in_pieces(decoder: &mut Decoder, input: &[u8], len: usize, events: &[Event]) {
    for cut in (0..len).step_by(1 + len / 8) {
        match decoder.decode_stream(&input[..cut]) {
            Ok(Step::NeedMore(_)) => {}
            other => panic!("{cut} of {len} bytes: {other:?}"),
        }
    }
    match decoder.decode_stream(input) {
        Ok(Step::Message(decoded)) => {
            assert_eq!(decoded.len, len);
            assert_eq!(events::of_message(decoded.message), events);
        }
        other => panic!("in pieces: {other:?}"),
    }
}

fn project(decoder: &mut Decoder, input: &[u8], len: usize, whole: &Message, wanted: &[String]) {
    let projected = decoder.decode(input).unwrap_or_else(|error| panic!("projected: {error}"));
    assert_eq!(projected.len, len);
    assert_eq!(events::of_fields(projected.message, wanted), events::of_fields(whole, wanted));
}

impl Again {
    /// Encodes a message and decodes it again. Returns false if it could not be encoded, which is
    /// possible only for messages that a lenient decoder accepted.
    fn round(&mut self, message: &Message, len: usize, events: &[Event]) -> bool {
        self.bytes.clear();
        if let Err(error) = self.encoder.encode(message, &mut self.bytes) {
            assert!(self.lenient, "decoded but not encoded: {error}");
            return false;
        }
        assert!(self.bytes.len() <= len, "{:02x?} is longer than {len} bytes", self.bytes);
        let again = self.decoder.decode(&self.bytes).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.len, self.bytes.len());
        assert_eq!(events::of_message(again.message), events);
        true
    }
}

/// True for limits that stop a stream before all its bytes have arrived.
fn is_limit(kind: FastErrorKind) -> bool {
    matches!(
        kind,
        FastErrorKind::TooManyEntries
            | FastErrorKind::StringTooLong
            | FastErrorKind::MessageTooLarge
    )
}
