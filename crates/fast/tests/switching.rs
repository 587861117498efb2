//! A decoder that goes over to machine code in the middle of a stream gives what the portable engine
//! gives: dictionaries are carried over as they are, after whole messages, errors and cut ones.
//!
//! Code is shared by all decoders of a program: an automatic one has it as soon as another asks for it.
#![cfg(machine_code)]

mod support;

use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use support::random::{self, Choices};
use support::{Absent, hex, record_json};
use tickwire_fast::{
    Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest, Error, Limits,
    MessageBuilder, Program, ResetPolicy, Step, TemplateSet,
};
use toml::{Table, Value};

const LEVELS: [Conformance; 3] =
    [Conformance::Lenient, Conformance::Strict, Conformance::Canonical];

/// Length and values, nothing where a stream wants more, or the error.
type Outcome = Result<(usize, Json), Error>;

/// A portable decoder and one that goes over to machine code.
struct Pair {
    program: Arc<Program>,
    decoders: [Decoder; 2],
    /// Messages until there is code.
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

    /// Decodes by both; whether the message was whole.
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

fn text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    table.get(key).and_then(Value::as_str)
}

fn limits(vector: &Table) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in vector.get("limits").and_then(Value::as_table).into_iter().flatten() {
        let value = value.as_integer().expect("a limit");
        match name.as_str() {
            "entries_max" => limits.entries_max = value as u32,
            "entries_total_max" => limits.entries_total_max = value as u32,
            "string_max" => limits.string_max = value as u32,
            "message_bytes_max" => limits.message_bytes_max = value as usize,
            _ => {}
        }
    }
    limits
}

#[test]
fn own_vectors_decode_alike_wherever_code_comes_in() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut vectors = 0;
    for entry in std::fs::read_dir(folder).expect("testdata") {
        let path = entry.expect("readable").path();
        let table: Table = std::fs::read_to_string(&path).expect("UTF-8").parse().expect("TOML");
        for vector in table["vector"].as_array().expect("vectors") {
            let vector = vector.as_table().expect("a table");
            let name = text(vector, "name").expect("a name");
            let body = match text(vector, "fields") {
                Some(fields) => format!("<template name='T' id='1'>{fields}</template>"),
                None => text(vector, "templates").expect("templates").to_owned(),
            };
            let set = TemplateSet::parse(&format!("<templates>{body}</templates>")).expect("valid");
            let reset = match text(vector, "reset") {
                Some("never") => ResetPolicy::Never,
                Some("message") => ResetPolicy::Message,
                _ => ResetPolicy::Template,
            };
            vectors += 1;
            for left in 1..=3 {
                let conformance = LEVELS[(vectors + left) % LEVELS.len()];
                let limits = limits(vector);
                let options =
                    DecoderOptions::default().conformance(conformance).reset(reset).limits(limits);
                let mut pair = Pair::new(set.clone(), options, left);
                for step in vector["steps"].as_array().expect("steps") {
                    if step.get("reset").is_some_and(|reset| reset.as_bool() == Some(true)) {
                        pair.reset();
                    }
                    if let Some(wire) = step.get("wire").and_then(Value::as_str) {
                        pair.decode(&hex(wire), false, name);
                    }
                }
            }
        }
    }
    assert!(vectors > 100, "{vectors} vectors");
}

#[test]
fn random_streams_decode_alike_wherever_code_comes_in() {
    let mut whole = 0;
    for seed in 0..24 {
        let mut choices = Choices(seed);
        let set = random::template_set(&mut choices);
        let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template]);
        let options = DecoderOptions::default().conformance(choices.of(&LEVELS)).reset(reset);
        let mut pair = Pair::new(set, options, 1 + seed as usize % 3);
        let encoder_options = EncoderOptions::default().reset(reset);
        let mut encoder = Encoder::with_options(pair.program.clone(), encoder_options);
        let mut builder = MessageBuilder::new(pair.program.clone());
        for _ in 0..60 {
            let template = choices.below(pair.program.templates().len());
            let message = random::message(&mut choices, &mut builder, template);
            let mut bytes = Vec::new();
            if encoder.encode(message, &mut bytes).is_err() {
                continue;
            }
            if choices.once_in(5) {
                let at = choices.below(bytes.len());
                match choices.below(3) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, choices.of(&[0x00, 0x80, 0x7f, 0xff])),
                    _ => bytes[at] ^= 1 << choices.below(8),
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
