//! All engines return the same values, lengths, errors and findings as the operations alone, for any
//! bytes and any order of the decoding methods.

mod support;

use serde_json::{Value as Json, json};
use std::fmt::Write;
use std::sync::Arc;
use support::random;
use support::{Absent, CORPORA, ENGINES, packets, record_json};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FastError,
    FieldLayout, FieldValue, MessageBuilder, MessageVisitor, Program, ResetPolicy, Step,
    TemplateLayout,
};
use tickwire_testing::Choices;

/// One of this many sets is tested with all engines, because compiling takes time.
const COMPILED_EACH: u64 = 20;

/// Result of a message: its length and values, or its error.
type Outcome = Result<(usize, Json), FastError>;

/// Records the calls to a visitor as text.
struct Observed(String);

impl Observed {
    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        self.0.write_fmt(what).expect("a string");
    }
}

impl MessageVisitor for Observed {
    fn begin_message(&mut self, template: &TemplateLayout) {
        self.note(format_args!("message {}\n", template.name));
    }
    fn end_message(&mut self) {
        self.note(format_args!("end of message\n"));
    }
    fn field(&mut self, field: &FieldLayout, value: FieldValue<'_>) {
        self.note(format_args!("{} {value:?}\n", field.name));
    }
    fn begin_group(&mut self, field: &FieldLayout) {
        self.note(format_args!("group {}\n", field.name));
    }
    fn end_group(&mut self, _field: &FieldLayout) {
        self.note(format_args!("end of group\n"));
    }
    fn begin_sequence(&mut self, field: &FieldLayout, count: usize) {
        self.note(format_args!("sequence {} {count}\n", field.name));
    }
    fn begin_entry(&mut self, _field: &FieldLayout, index: usize) {
        self.note(format_args!("entry {index}\n"));
    }
    fn end_entry(&mut self, _field: &FieldLayout) {
        self.note(format_args!("end of entry\n"));
    }
    fn end_sequence(&mut self, _field: &FieldLayout) {
        self.note(format_args!("end of sequence\n"));
    }
}

fn decoded(decoder: &mut Decoder, bytes: &[u8]) -> Outcome {
    let decoded = decoder.decode(bytes)?;
    let message = decoded.message;
    let values =
        json!({"t": message.template_name(), "f": record_json(message.root(), Absent::Null)});
    Ok((decoded.len, values))
}

fn streamed(decoder: &mut Decoder, bytes: &[u8]) -> Outcome {
    match decoder.decode_stream(bytes)? {
        Step::NeedMore(_) => Ok((0, Json::Null)),
        Step::Message(decoded) => {
            let message = decoded.message;
            let fields = record_json(message.root(), Absent::Null);
            Ok((decoded.len, json!({"t": message.template_name(), "f": fields})))
        }
    }
}

/// Returns bytes with small corruptions.
fn spoiled(choices: &mut Choices, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..choices.index(3) {
        let at = choices.index(bytes.len().max(1));
        match choices.index(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, choices.of(&[0x00, 0x80, 0x7f, 0xff, 0x40, 0xc0])),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << choices.index(8);
                }
            }
        }
    }
    bytes
}

/// Decodes a random stream of a random template set with every engine; returns the number of whole
/// messages.
fn engines_agree(seed: u64) -> usize {
    let mut choices = Choices::seeded(seed);
    let set = random::template_set(&mut choices);
    let program = Arc::new(Program::compile(set).expect("compiles"));
    let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Packet]);
    let conformance =
        choices.of(&[Conformance::Lenient, Conformance::Strict, Conformance::Canonical]);
    let options = |engine| {
        DecoderOptions::default().conformance(conformance).reset(reset).engine_under_test(engine)
    };
    let engines = if seed.is_multiple_of(COMPILED_EACH) { &ENGINES[..] } else { &ENGINES[..2] };
    let decoder =
        |&engine: &EngineUnderTest| Decoder::with_options(program.clone(), options(engine));
    let engines = [&[EngineUnderTest::Operations], engines].concat();
    let mut decoders: Vec<_> = engines.iter().map(decoder).collect();
    let mut plain = decoder(&EngineUnderTest::Operations);
    let encoder_options = EncoderOptions::default().reset(reset);
    let mut encoder = Encoder::with_options(program.clone(), encoder_options);
    let mut builder = MessageBuilder::new(program.clone());
    let mut whole = 0;
    for _ in 0..24 {
        let template = choices.index(program.templates().len());
        let message = random::message(&mut choices, &mut builder, template);
        let mut bytes = Vec::new();
        if encoder.encode(message, &mut bytes).is_err() {
            continue;
        }
        if choices.once_in(4) {
            bytes = spoiled(&mut choices, &bytes);
        }
        if choices.once_in(8) {
            decoders.iter_mut().chain([&mut plain]).for_each(Decoder::reset);
            encoder.reset();
        }
        let way = choices.index(6);
        let lengths: Vec<_> = match way {
            0 => {
                let mut told = [const { Observed(String::new()) }; ENGINES.len() + 1];
                let visits = decoders.iter_mut().zip(&mut told);
                let lengths = visits.map(|(decoder, told)| decoder.visit(&bytes, told)).collect();
                for other in &told[1..decoders.len()] {
                    assert_eq!(told[0].0, other.0, "seed {seed}, {bytes:02x?}");
                }
                lengths
            }
            _ => {
                let decode = if way == 1 { streamed } else { decoded };
                let outcomes: Vec<_> =
                    decoders.iter_mut().map(|decoder| decode(decoder, &bytes)).collect();
                for (engine, outcome) in engines.iter().zip(&outcomes) {
                    let what = format!("{engine:?}, seed {seed}, way {way}, {bytes:02x?}");
                    assert_eq!(outcomes[0], *outcome, "{what}");
                }
                whole += usize::from(outcomes[0].is_ok());
                outcomes.into_iter().map(|outcome| outcome.map(|(len, _)| len)).collect()
            }
        };
        // A stream that needs more bytes has changed nothing.
        if !matches!(lengths[0], Ok(0)) {
            let expected = plain.trace(&bytes, |_| {});
            match way {
                // Streams reject some messages early.
                1 => assert_eq!(lengths[0].ok(), expected.ok(), "seed {seed}, {bytes:02x?}"),
                _ => {
                    assert_eq!(lengths, vec![expected; lengths.len()], "seed {seed}, {bytes:02x?}")
                }
            }
        }
        for decoder in &decoders {
            assert_eq!(decoders[0].findings(), decoder.findings(), "seed {seed}");
        }
        for decoder in &mut decoders {
            // A message rejected early has fewer findings.
            let is_early = way == 1 && lengths[0].is_err();
            assert!(is_early || decoder.findings() == plain.findings(), "seed {seed}");
            assert_eq!(decoder.needs_reset(), plain.needs_reset());
        }
        if way == 1 && lengths[0].is_err() {
            break;
        }
        if plain.needs_reset() {
            decoders.iter_mut().chain([&mut plain]).for_each(Decoder::reset);
            encoder.reset();
        }
    }
    whole
}

#[test]
fn engines_agree_on_random_sets_and_spoiled_bytes() {
    let whole: usize = (0..3000).map(engines_agree).sum();
    assert!(whole > 20_000, "{whole} messages decoded");
}

#[test]
fn engines_agree_on_every_capture() {
    for corpus in &CORPORA {
        let Some((program, file)) = corpus.load() else { continue };
        let mut decoders = ENGINES.map(|engine| corpus.decoder(&program, engine));
        let mut operations = corpus.decoder(&program, EngineUnderTest::Operations);
        for packet in packets(&file).into_iter().take(3000) {
            let mut rest = &packet[corpus.preamble..];
            decoders.iter_mut().chain([&mut operations]).for_each(Decoder::begin_packet);
            while !rest.is_empty() {
                let outcomes = decoders.each_mut().map(|decoder| decoded(decoder, rest));
                let expected = decoded(&mut operations, rest);
                for outcome in outcomes {
                    assert_eq!(outcome, expected, "{}", corpus.name);
                }
                rest = &rest[expected.expect("decodes").0..];
            }
        }
    }
}
