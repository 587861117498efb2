//! Generated decoders that read several entries at once (SIMD) decode the same values as the
//! dynamic engine and leave the same dictionaries.

#[allow(dead_code)]
#[path = "../../../fast/tests/support/random.rs"]
mod random;
#[allow(dead_code)]
mod support;

use std::sync::Arc;
use support::Pair;
use tickwire_testing::Choices;

use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Conformance, Decimal, DecoderOptions, Encoder, EncoderOptions, Limits, MessageBuilder, Program,
    ResetPolicy, SegmentRef, Storage, TemplateSet,
};

const PACKETS: usize = 4000;
const NAME: &str = "testdata lanes lanes";

fn template_set() -> TemplateSet {
    let table: toml::Table =
        include_str!("../../../fast/testdata/lanes.toml").parse().expect("TOML");
    let body = table["vector"][0]["templates"].as_str().expect("templates");
    TemplateSet::parse(&format!("<templates>{body}</templates>")).expect("valid")
}

/// Fills messages with values that fit a SIMD lane, except rarely.
struct Filler<'c> {
    choices: &'c mut Choices,
    builder: &'c mut MessageBuilder,
    program: Arc<Program>,
}

impl Filler<'_> {
    fn record(&mut self, segment: SegmentRef) {
        let program = self.program.clone();
        // A copied field that was absent in the last entry excludes SIMD; other fields are often
        // absent in all entries.
        let absence = self.choices.of(&[2, 9, 9, 9]);
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            if field.optional && self.choices.index(absence) == 0 {
                continue;
            }
            match (&field.storage, &field.field_type) {
                (Storage::OptionalConstant(_), _) => self.builder.set_constant(index).unwrap(),
                (Storage::Sequence { segment, .. }, _) => {
                    let count = self.choices.of(&[0, 1, 2, 2, 3, 5, 9]);
                    self.builder.begin_sequence(index, count).unwrap();
                    for _ in 0..count {
                        self.builder.begin_entry().unwrap();
                        self.record(*segment);
                        self.builder.end().unwrap();
                    }
                    self.builder.end().unwrap();
                }
                (Storage::Slot(_), Some(field_type)) => self.scalar(index, field_type),
                _ => {}
            }
        }
    }

    /// Returns a number of at most `bits` bits, mostly small.
    fn number(&mut self, bits: u32) -> u64 {
        let most = if self.choices.index(300) == 0 { bits } else { bits.min(20) };
        let bits = 1 + self.choices.index(most as usize);
        self.choices.number() >> (64 - bits)
    }

    fn scalar(&mut self, index: usize, field_type: &FieldType) {
        match field_type {
            FieldType::UInt(width) => {
                let value = self.number(*width as u32);
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Int(width) => {
                let value = self.number(*width as u32 - 1) as i64;
                let value = if self.choices.index(2) == 0 { value } else { -1 - value };
                self.builder.set_i64(index, value).unwrap();
            }
            FieldType::Decimal => {
                let mantissa = self.number(63) as i64 - 500;
                let exponent = self.choices.of(&[-2, -2, -2, -1, 0, 3]);
                self.builder.set_decimal(index, Decimal { mantissa, exponent }).unwrap();
            }
            FieldType::Ascii => {
                let is_odd = self.choices.index(300) == 0;
                let odd = self.choices.of(&["", "GHIJ"]);
                let plain = self.choices.of(&["T", "T", "A", "BC", "DEF"]);
                let text = if is_odd { odd } else { plain };
                self.builder.set_bytes(index, text.as_bytes()).unwrap();
            }
            other => panic!("no values of {other:?} are made"),
        }
    }
}

/// Produces messages with an encoder.
struct Source {
    program: Arc<Program>,
    encoder: Encoder,
    builder: MessageBuilder,
}

impl Source {
    fn new(reset: ResetPolicy) -> Self {
        let program = Arc::new(Program::compile(template_set()).expect("compiles"));
        let options = EncoderOptions::default().reset(reset);
        let encoder = Encoder::with_options(program.clone(), options);
        Self { encoder, builder: MessageBuilder::new(program.clone()), program }
    }

    /// Writes a message of a random template; returns false if it could not be encoded after the
    /// previous one.
    fn write(&mut self, choices: &mut Choices, out: &mut Vec<u8>) -> bool {
        let Self { program, encoder, builder } = self;
        let template = choices.index(program.templates().len());
        builder.begin(template).unwrap();
        let segment = program.templates()[template].segment;
        Filler { choices, builder, program: program.clone() }.record(segment);
        encoder.encode(builder.finish().expect("all fields are set"), out).is_ok()
    }
}

/// Decodes packets of messages: intact, mutated and truncated. Returns the number of decoded
/// messages.
fn run(options: DecoderOptions, seed: u64) -> usize {
    let mut source = Source::new(options.reset);
    let mut choices = Choices::seeded(seed);
    let mut pair = Pair::new(NAME, template_set(), options);
    let mut decoded = 0;
    for _ in 0..PACKETS {
        source.encoder.reset();
        pair.reset();
        let mut packet = Vec::new();
        for _ in 0..8 {
            // A message that cannot be encoded after the previous one is left out.
            source.write(&mut choices, &mut packet);
        }
        if choices.index(3) == 0 {
            support::mutate(&mut choices, &mut packet);
        }
        decoded += pair.decode_packet(&packet);
    }
    decoded
}

#[test]
fn entries_of_all_kinds_decode_alike() {
    let policies = [ResetPolicy::Template, ResetPolicy::Never, ResetPolicy::Message];
    let levels = [Conformance::Strict, Conformance::Lenient, Conformance::Canonical];
    for (seed, (reset, conformance)) in policies.into_iter().zip(levels).enumerate() {
        let options = DecoderOptions::default().conformance(conformance).reset(reset);
        let decoded = run(options, seed as u64 + 1);
        println!("{decoded} messages");
        assert!(decoded > 3 * PACKETS);
    }
}

#[test]
fn strings_beyond_a_short_limit_are_refused_alike() {
    for string_max in 0..4 {
        let limits = Limits::default().string_max(string_max);
        let options = DecoderOptions::default().limits(limits);
        println!("{} messages", run(options, u64::from(string_max) + 10));
    }
}

#[test]
fn messages_of_a_stream_decode_alike_however_they_are_cut() {
    let mut source = Source::new(ResetPolicy::default());
    let mut choices = Choices::seeded(7);
    let mut pair = Pair::new(NAME, template_set(), DecoderOptions::default());
    for _ in 0..1500 {
        let mut bytes = Vec::new();
        if source.write(&mut choices, &mut bytes) {
            pair.stream_cut(&bytes);
        } else {
            source.encoder.reset();
            pair.reset();
        }
    }
}
