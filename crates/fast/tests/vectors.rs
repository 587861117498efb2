//! The vectors of `testdata`, decoded by every engine at every conformance level and encoded again.
//!
//! A file is TOML: `[[vector]]` tables with a `name`, the `rule` it tests, `fields` (the body of
//! one template `T` with id 1) or `templates` (whole templates), optional `limits` and `reset`, and
//! `steps`. A step is one message:
//!
//! - `wire`: its bytes in hexadecimal; `message`: its fields, absent ones left out; `template`: its
//!   template, if not the first that has an id. Integers beyond TOML's are strings, decimals strings
//!   such as `"25e-1"`, byte vectors hexadecimal strings, groups tables, sequences arrays of tables,
//!   a dynamic reference a table `"#dyn"` with the template's name as `"#template"`.
//! - `error` instead of `message`: the code, or for limits the kind, of the error; `field`: where.
//! - `canonical = false`: valid, but this crate's encoders write another form.
//! - `reported = "R6"`: conformance levels that tolerate this code count it `findings` times
//!   (default 1).
//! - `refused = "D3"`, without `wire`: encoding the message returns this error.
//! - `reset = true`: dictionaries are reset before the step.

mod support;

use serde_json::{Map, Value as Json, json};
use std::path::Path;
use std::sync::Arc;
use support::own_vectors::{self, Vector, text};
use support::{ENGINES, hex, to_hex, vector_json};
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Conformance, Decimal, Decoder, DecoderOptions, Encoder, EncoderOptions, EngineUnderTest,
    FastError, MessageBuilder, Program, SegmentRef, Step, Storage,
};
use toml::{Table, Value};

const LEVELS: [Conformance; 3] =
    [Conformance::Lenient, Conformance::Strict, Conformance::Canonical];

fn flag(table: &Table, key: &str, default: bool) -> bool {
    table.get(key).map_or(default, |value| value.as_bool().expect(key))
}

/// Returns an error's name in the files: its code, or its kind if it has none.
fn error_name(error: &FastError) -> String {
    error.code().map_or_else(|| format!("{:?}", error.kind()), |code| code.to_string())
}

/// Reads a number, which is a string if it exceeds TOML's range.
fn integer(value: &Value) -> i128 {
    match value {
        Value::Integer(value) => i128::from(*value),
        Value::Boolean(value) => i128::from(*value),
        Value::String(text) => text.parse().expect("an integer"),
        other => panic!("{other:?} is not an integer"),
    }
}

fn decimal(value: &Value) -> Decimal {
    let text = value.as_str().expect("a decimal is a string such as \"25e-1\"");
    let (mantissa, exponent) = text.split_once('e').expect("mantissa, e, exponent");
    Decimal {
        mantissa: mantissa.parse().expect("a mantissa"),
        exponent: exponent.parse().expect("an exponent"),
    }
}

/// Returns the expected fields in the form in which decoded messages are compared.
fn expected(program: &Program, segment: SegmentRef, fields: &Table) -> Json {
    let mut object = Map::new();
    for layout in program.fields_of(segment) {
        let Some(value) = fields.get(&*layout.name.local) else { continue };
        let value = match (&layout.storage, &layout.field_type) {
            (Storage::Group(inner), _) => expected(program, *inner, table_of(value)),
            (Storage::Sequence { segment: inner, .. }, _) => {
                entries_of(value).map(|entry| expected(program, *inner, entry)).collect()
            }
            (Storage::Dynamic(_), _) => {
                let template = dynamic_template(program, table_of(value));
                expected(program, program.templates()[template].segment, table_of(value))
            }
            (_, Some(FieldType::Decimal)) => {
                let Decimal { mantissa, exponent } = decimal(value);
                json!({"m": mantissa, "e": exponent})
            }
            (_, Some(FieldType::Ascii | FieldType::Unicode)) => {
                json!(value.as_str().expect("text"))
            }
            (_, Some(FieldType::ByteVector)) => {
                json!({"hex": to_hex(&hex(value.as_str().expect("hexadecimal")))})
            }
            (_, Some(FieldType::Int(_) | FieldType::Timestamp(_))) => {
                json!(i64::try_from(integer(value)).expect("an int64"))
            }
            _ => json!(u64::try_from(integer(value)).expect("a uInt64")),
        };
        object.insert(layout.name.local.to_string(), value);
    }
    let named: Vec<&String> = fields.keys().filter(|name| *name != "#template").collect();
    assert_eq!(named.len(), object.len(), "unknown or repeated fields among {named:?}");
    Json::Object(object)
}

fn table_of(value: &Value) -> &Table {
    value.as_table().expect("a table")
}

fn entries_of(value: &Value) -> impl Iterator<Item = &Table> {
    value.as_array().expect("an array of tables").iter().map(table_of)
}

fn dynamic_template(program: &Program, fields: &Table) -> usize {
    let name = text(fields, "#template").expect("#template");
    program.set().named(name).expect("a template of the set").0
}

/// Sets the fields of the innermost open record.
fn fill(
    builder: &mut MessageBuilder,
    segment: SegmentRef,
    fields: &Table,
) -> Result<(), FastError> {
    let program = builder.program().clone();
    for (index, layout) in program.fields_of(segment).iter().enumerate() {
        let Some(value) = fields.get(&*layout.name.local) else { continue };
        match (&layout.storage, &layout.field_type) {
            (Storage::Group(inner), _) => {
                builder.begin_group(index)?;
                fill(builder, *inner, table_of(value))?;
                builder.end()?;
            }
            (Storage::Sequence { segment: inner, .. }, _) => {
                builder.begin_sequence(index, entries_of(value).count())?;
                for entry in entries_of(value) {
                    builder.begin_entry()?;
                    fill(builder, *inner, entry)?;
                    builder.end()?;
                }
                builder.end()?;
            }
            (Storage::Dynamic(_), _) => {
                let template = dynamic_template(&program, table_of(value));
                builder.begin_dynamic(index, template)?;
                fill(builder, program.templates()[template].segment, table_of(value))?;
                builder.end()?;
            }
            (_, Some(FieldType::Decimal)) => builder.set_decimal(index, decimal(value))?,
            (_, Some(FieldType::Ascii | FieldType::Unicode)) => {
                builder.set_str(index, value.as_str().expect("text"))?;
            }
            (_, Some(FieldType::ByteVector)) => {
                builder.set_bytes(index, &hex(value.as_str().expect("hexadecimal")))?;
            }
            _ => match i64::try_from(integer(value)) {
                Ok(value) => builder.set_i64(index, value)?,
                Err(_) => {
                    builder.set_u64(index, u64::try_from(integer(value)).expect("64 bits"))?
                }
            },
        }
    }
    Ok(())
}

/// True if this level raises a reportable code.
fn raises(level: Conformance, code: &str) -> bool {
    let from = match code {
        "R6" | "R7" | "R8" => Conformance::Canonical,
        _ => Conformance::Strict,
    };
    level >= from
}

/// Run of one vector at one conformance level with one engine.
struct Run<'v> {
    place: String,
    level: Conformance,
    steps: &'v [Value],
    program: Arc<Program>,
    decoder: Decoder,
    stream: Decoder,
    builder: MessageBuilder,
    encoder: Encoder,
    /// Decoder that reads the encoder's output.
    echo: Decoder,
}

impl<'v> Run<'v> {
    fn new(vector: &'v Vector, level: Conformance, engine: EngineUnderTest) -> Self {
        let place = format!("{}, {} at {level:?} by {engine:?}", vector.file, vector.name);
        let rule = text(&vector.table, "rule");
        assert!(rule.is_some_and(|rule| !rule.is_empty()), "{place}: no rule");
        let program = Arc::new(Program::compile(vector.template_set()).expect("compiles"));
        let (limits, reset) = (vector.limits(), vector.reset_policy());
        let options = DecoderOptions::default()
            .conformance(level)
            .reset(reset)
            .limits(limits)
            .engine_under_test(engine);
        let canonical = options.conformance(Conformance::Canonical);
        let encoder = EncoderOptions::default().reset(reset).limits(limits);
        Self {
            level,
            steps: vector.table["steps"].as_array().expect("steps"),
            decoder: Decoder::with_options(program.clone(), options),
            stream: Decoder::with_options(program.clone(), options),
            builder: MessageBuilder::with_limits(program.clone(), limits),
            encoder: Encoder::with_options(program.clone(), encoder),
            echo: Decoder::with_options(program.clone(), canonical),
            program,
            place,
        }
    }

    /// Runs the steps, up to the first code that this level raises.
    fn steps(mut self) {
        for (index, step) in self.steps.iter().enumerate() {
            let step = table_of(step);
            self.place.push_str(&format!(", step {}", index + 1));
            if flag(step, "reset", false) {
                self.reset();
            }
            match (text(step, "wire"), text(step, "error"), text(step, "reported")) {
                (None, ..) => self.refused(step),
                (Some(wire), Some(error), None) => self.fails(step, &hex(wire), error),
                (Some(wire), None, Some(code)) if raises(self.level, code) => {
                    return self.fails(step, &hex(wire), code);
                }
                (Some(wire), None, reported) => {
                    let findings = step.get("findings").map_or(1, integer) as u64;
                    let findings = if reported.is_some() { findings } else { 0 };
                    self.decodes(step, &hex(wire), findings);
                    self.encodes(step, &hex(wire), reported);
                }
                (Some(_), Some(_), Some(_)) => panic!("{}: error or reported?", self.place),
            }
            self.place.truncate(self.place.rfind(", step").expect("just added"));
        }
    }

    fn reset(&mut self) {
        self.decoder.reset();
        self.stream.reset();
        self.encoder.reset();
        self.echo.reset();
    }

    fn template(&self, step: &Table) -> usize {
        match text(step, "template") {
            Some(name) => self.program.set().named(name).expect("a template of the set").0,
            None => {
                let templates = self.program.templates();
                templates.iter().position(|template| template.id.is_some()).expect("an id")
            }
        }
    }

    fn expected(&self, step: &Table) -> Json {
        let template = &self.program.templates()[self.template(step)];
        let fields = step.get("message").map(table_of).expect("a message");
        json!({"t": &*template.name.local, "f": expected(&self.program, template.segment, fields)})
    }

    fn fails(&mut self, step: &Table, wire: &[u8], name: &str) {
        let place = &self.place;
        let error = match self.decoder.decode(wire) {
            Ok(decoded) => panic!("{place}: {} instead of {name}", vector_json(decoded.message)),
            Err(error) => error,
        };
        assert_eq!(error_name(&error), name, "{place}: {}", error.describe(&self.program));
        assert!(error.offset() <= wire.len(), "{place}: {error}");
        if let Some(path) = text(step, "field") {
            let field = error.field().map(|field| self.program.path(field));
            assert_eq!(field.as_deref(), Some(path), "{place}: {error}");
        }
        match self.stream.decode_stream(wire) {
            Ok(Step::NeedMore(_)) => assert_eq!(name, "Truncated", "{place}: asks for more"),
            Ok(Step::Message(_)) => panic!("{place}: a message from the stream"),
            Err(in_stream) => assert_eq!(in_stream, error, "{place}"),
        }
    }

    fn decodes(&mut self, step: &Table, wire: &[u8], findings: u64) {
        let expected = self.expected(step);
        let place = &self.place;
        let before = self.decoder.findings().total();
        let decoded = self
            .decoder
            .decode(wire)
            .unwrap_or_else(|error| panic!("{place}: {}", error.describe(&self.program)));
        assert_eq!(vector_json(decoded.message), expected, "{place}");
        assert_eq!(decoded.len, wire.len(), "{place}: length");
        assert_eq!(self.decoder.findings().total() - before, findings, "{place}: findings");
        for cut in 0..wire.len() {
            let piece = self.stream.decode_stream(&wire[..cut]);
            assert!(matches!(piece, Ok(Step::NeedMore(_))), "{place}, {cut} bytes: {piece:?}");
        }
        match self.stream.decode_stream(wire) {
            Ok(Step::Message(decoded)) => {
                assert_eq!(vector_json(decoded.message), expected, "{place}, as a stream");
            }
            other => panic!("{place}, as a stream: {other:?}"),
        }
    }

    /// Builds the message of a step and appends its encoding to `out`.
    fn encode(&mut self, step: &Table, out: &mut Vec<u8>) -> Result<usize, FastError> {
        let template = self.template(step);
        self.builder.begin(template)?;
        let fields = step.get("message").map(table_of).expect("a message");
        fill(&mut self.builder, self.program.templates()[template].segment, fields)?;
        self.encoder.encode(self.builder.finish()?, out)
    }

    fn encodes(&mut self, step: &Table, wire: &[u8], reported: Option<&str>) {
        let mut out = Vec::new();
        let outcome = self.encode(step, &mut out);
        let place = &self.place;
        match outcome {
            Ok(_) => {}
            Err(error) if Some(&*error_name(&error)) == reported => return,
            Err(error) => panic!("{place}, encoding: {}", error.describe(&self.program)),
        }
        if flag(step, "canonical", reported.is_none()) {
            assert_eq!(to_hex(&out), to_hex(wire), "{place}, encoded");
        } else {
            assert_ne!(to_hex(&out), to_hex(wire), "{place}: canonical after all");
        }
        let expected = self.expected(step);
        let echo = self.echo.decode(&out).unwrap_or_else(|error| panic!("{}: {error}", self.place));
        assert_eq!(vector_json(echo.message), expected, "{}, encoded and decoded", self.place);
    }

    fn refused(&mut self, step: &Table) {
        let mut out = Vec::new();
        let outcome = self.encode(step, &mut out).map_err(|error| error_name(&error));
        let name = text(step, "refused").expect("a step has wire or refused");
        assert_eq!(outcome, Err(name.to_owned()), "{}: {}", self.place, to_hex(&out));
    }
}

#[test]
fn every_vector_holds_in_both_directions() {
    let vectors = own_vectors::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"));
    let (mut steps, mut failures) = (0, Vec::new());
    for vector in &vectors {
        steps += vector.steps().count();
        for (level, engine) in LEVELS.iter().flat_map(|&level| ENGINES.map(|e| (level, e))) {
            let run = || Run::new(vector, level, engine).steps();
            if std::panic::catch_unwind(run).is_err() {
                failures
                    .push(format!("{}: {} at {level:?} by {engine:?}", vector.file, vector.name));
            }
        }
    }
    println!("{} vectors, {steps} steps", vectors.len());
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}
