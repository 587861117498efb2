//! A decoder that switches to machine code in the middle of a stream equals the portable engine:
//! dictionaries are carried over after whole messages, errors and truncated messages.
//!
//! All decoders of a program share code: an automatic decoder uses it as soon as another one
//! compiles it.
#![cfg(machine_code)]

mod support;

use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;
use support::own_vectors::{self, text};
use support::random;
use support::{Absent, hex, record_json};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, FastError,
    MessageBuilder, Program, ResetPolicy, Step, TemplateSet,
};
use tickwire_testing::Choices;

const LEVELS: [Conformance; 3] =
    [Conformance::Lenient, Conformance::Strict, Conformance::Canonical];

/// Length and values, `None` if a stream needs more bytes, or the error.
type Outcome = Result<(usize, Json), FastError>;

/// A portable decoder and one that switches to machine code.
struct Pair {
    program: Arc<Program>,
    decoders: [Decoder; 2],
    /// Messages until code is compiled.
    left: usize,
}

impl Pair {
    fn new(set: TemplateSet, options: DecoderOptions, left: usize) -> Self {
        let program = Arc::new(Program::compile(set).expect("compiles"));
        let decoders = [EngineUnderTest::Portable, EngineUnderTest::Automatic].map(|engine| {
            Decoder::with_options(program.clone(), options.engine_under_test(engine))
        });
        Self { program, decoders, left }
    }

    fn reset(&mut self) {
        self.decoders.iter_mut().for_each(Decoder::reset);
    }

    /// Decodes with both; returns true if the message was whole.
    fn decode(&mut self, bytes: &[u8], is_stream: bool, what: &str) -> bool {
        if self.left == 0 {
            let options = DecoderOptions::default().engine_under_test(EngineUnderTest::MachineCode);
            _ = Decoder::with_options(self.program.clone(), options);
        }
        self.left = self.left.wrapping_sub(1);
        let decode = if is_stream { streamed } else { decoded };
        let [portable, other] = self.decoders.each_mut().map(|decoder| decode(decoder, bytes));
        assert_eq!(other, portable, "{what}: {bytes:02x?}");
        let [of_portable, of_other] = &self.decoders;
        assert_eq!(of_other.findings(), of_portable.findings(), "{what}: {bytes:02x?}");
        assert_eq!(of_other.needs_reset(), of_portable.needs_reset(), "{what}: {bytes:02x?}");
        portable.is_ok_and(|(len, _)| len > 0)
    }
}

fn decoded(decoder: &mut Decoder, bytes: &[u8]) -> Outcome {
    let decoded = decoder.decode(bytes)?;
    let message = decoded.message;
    let fields = record_json(message.root(), Absent::Null);
    Ok((decoded.len, json!({"t": message.template_name(), "f": fields})))
}

fn streamed(decoder: &mut Decoder, bytes: &[u8]) -> Outcome {
    match decoder.decode_stream(bytes)? {
        Step::NeedMore(_) => Ok((0, Json::Null)),
        Step::Message(decoded) => {
            let fields = record_json(decoded.message.root(), Absent::Null);
            Ok((decoded.len, json!({"t": decoded.message.template_name(), "f": fields})))
        }
    }
}

#[test]
fn own_vectors_decode_alike_wherever_code_comes_in() {
    let vectors = own_vectors::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"));
    for (index, vector) in vectors.iter().enumerate() {
        let (limits, reset) = (vector.limits(), vector.reset_policy());
        for left in 1..=3 {
            let conformance = LEVELS[(index + left) % LEVELS.len()];
            let options =
                DecoderOptions::default().conformance(conformance).reset(reset).limits(limits);
            let mut pair = Pair::new(vector.template_set(), options, left);
            for step in vector.steps() {
                if own_vectors::has_reset(step) {
                    pair.reset();
                }
                if let Some(wire) = text(step, "wire") {
                    pair.decode(&hex(wire), false, &vector.name);
                }
            }
        }
    }
    assert!(vectors.len() > 100, "{} vectors", vectors.len());
}

#[test]
fn random_streams_decode_alike_wherever_code_comes_in() {
    let mut whole = 0;
    for seed in 0..24 {
        let mut choices = Choices::seeded(seed);
        let set = random::template_set(&mut choices);
        let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template]);
        let options = DecoderOptions::default().conformance(choices.of(&LEVELS)).reset(reset);
        let mut pair = Pair::new(set, options, 1 + seed as usize % 3);
        let encoder_options = EncoderOptions::default().reset(reset);
        let mut encoder = Encoder::with_options(pair.program.clone(), encoder_options);
        let mut builder = MessageBuilder::new(pair.program.clone());
        for _ in 0..60 {
            let template = choices.index(pair.program.templates().len());
            let message = random::message(&mut choices, &mut builder, template);
            let mut bytes = Vec::new();
            if encoder.encode(message, &mut bytes).is_err() {
                continue;
            }
            if choices.once_in(5) {
                let at = choices.index(bytes.len());
                match choices.index(3) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, choices.of(&[0x00, 0x80, 0x7f, 0xff])),
                    _ => bytes[at] ^= 1 << choices.index(8),
                }
            }
            let is_stream = choices.once_in(5);
            let is_whole = pair.decode(&bytes, is_stream, &format!("seed {seed}"));
            whole += usize::from(is_whole);
            if !is_whole {
                encoder.reset();
                pair.reset();
            }
        }
    }
    assert!(whole > 500, "{whole} messages decoded");
}

#[test]
fn threads_decode_on_while_another_compiles_and_when_it_is_gone() {
    const ROUNDS: usize = 400;
    const XML: &str = "<templates><template name='T' id='1'><uInt32 name='A'><copy/></uInt32>\
        <uInt32 name='B'><increment/></uInt32><sequence name='S'><int64 name='C'><delta/></int64></sequence>\
        </template><template name='U' id='2'><uInt32 name='D'><increment value='1'/></uInt32></template></templates>";
    let program = Program::compile(TemplateSet::parse(XML).expect("valid")).expect("compiles");
    let program = Arc::new(program);
    let begun = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (begun, program) = (&begun, &program);
            scope.spawn(move || {
                let [mut portable, mut automatic] =
                    [EngineUnderTest::Portable, EngineUnderTest::Automatic].map(|engine| {
                        let options = DecoderOptions::default().engine_under_test(engine);
                        Decoder::with_options(program.clone(), options)
                    });
                for round in 0..ROUNDS {
                    let message: &[u8] = match round {
                        0 => &[0xf0, 0x81, 0x85, 0x81, 0x82, 0x81, 0x82],
                        _ if round % 7 == 0 => &[0xc0, 0x82],
                        _ => &[0xc0, 0x81, 0x81, 0x83],
                    };
                    let expected = decoded(&mut portable, message).expect("decodes");
                    assert_eq!(decoded(&mut automatic, message), Ok(expected), "message {round}");
                    if round == 3 {
                        begun.wait();
                    }
                }
            });
        }
        begun.wait();
        let options = DecoderOptions::default().engine_under_test(EngineUnderTest::MachineCode);
        drop(Decoder::with_options(program.clone(), options));
    });
}
