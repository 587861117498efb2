//! Properties of random template sets and random messages: encoding and decoding agree, and so do
//! all decoding methods.

mod support;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use support::random;
use support::{Absent, record_json, value_json};
use tickwire_fast::template::{Instruction, OperatorKind, Operators};
use tickwire_fast::{
    CompileOptions, Conformance, Decoder, DecoderOptions, Encoder, EncoderOptions, FastError,
    FastErrorKind, FieldLayout, FieldValue, Message, MessageBuilder, MessageVisitor, Program,
    ResetPolicy, SegmentRef, Step, Storage, TemplateLayout, TemplateSet,
};
use tickwire_testing::Choices;

const MESSAGES: usize = 12;

/// A stream of encoded messages of a random template set.
struct Stream {
    choices: Choices,
    set: TemplateSet,
    program: Arc<Program>,
    reset: ResetPolicy,
    /// Each message's bytes and values.
    messages: Vec<(Vec<u8>, Json)>,
}

fn json_of(message: &Message) -> Json {
    json!({"t": message.template_name(), "f": record_json(message.root(), Absent::Null)})
}

impl Stream {
    /// Encodes random messages; messages that the operators cannot encode are omitted.
    fn new(mut choices: Choices) -> Self {
        let set = random::template_set(&mut choices);
        let program = Arc::new(Program::compile(set.clone()).expect("compiles"));
        let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Message]);
        let mut stream = Self { choices, set, program, reset, messages: Vec::new() };
        let mut encoder = stream.encoder();
        let mut builder = MessageBuilder::new(stream.program.clone());
        for _ in 0..MESSAGES {
            let template = stream.choices.index(stream.program.templates().len());
            let message = random::message(&mut stream.choices, &mut builder, template);
            let mut bytes = Vec::new();
            match encoder.encode(message, &mut bytes) {
                Ok(len) => {
                    assert_eq!(len, bytes.len());
                    stream.messages.push((bytes, json_of(message)));
                }
                Err(error) => {
                    assert!(bytes.is_empty(), "a refused message left bytes");
                    stream.check_refusal(&error);
                }
            }
        }
        stream
    }

    fn encoder(&self) -> Encoder {
        let options = EncoderOptions::default().reset(self.reset);
        Encoder::with_options(self.program.clone(), options)
    }

    fn decoder(&self, program: &Arc<Program>, conformance: Conformance) -> Decoder {
        let reset = self.reset;
        let options = DecoderOptions::default().conformance(conformance).reset(reset);
        Decoder::with_options(program.clone(), options)
    }

    fn bytes(&self) -> Vec<u8> {
        self.messages.iter().flat_map(|(bytes, _)| bytes).copied().collect()
    }

    /// Checks that a message was rejected only because its field's operators cannot encode the
    /// value.
    fn check_refusal(&self, error: &FastError) {
        let place = error.describe(&self.program).to_string();
        let field = self.program.field(error.field().unwrap_or_else(|| panic!("{place}")));
        let kinds = self.operators(&field.name.local);
        let has = |kind| kinds.contains(&kind);
        let is_right = match error.kind() {
            FastErrorKind::ApplicationType => {
                field.field_type.is_none() && has(OperatorKind::Constant)
            }
            FastErrorKind::DecimalNotEncodable => kinds.len() == 2 && has(OperatorKind::Constant),
            FastErrorKind::EmptyPreviousValue => has(OperatorKind::Delta),
            FastErrorKind::PreviousValueType => has(OperatorKind::Delta) || has(OperatorKind::Tail),
            FastErrorKind::StringSyntax => has(OperatorKind::Tail),
            _ => false,
        };
        assert!(is_right, "{place}, operators {kinds:?}\n{}", self.set.to_xml());
    }

    /// Returns the operators of the field with this name: two for a decimal with parts.
    fn operators(&self, name: &str) -> Vec<OperatorKind> {
        let of =
            |template: &tickwire_fast::template::Template| operators(&template.instructions, name);
        self.set.templates().iter().find_map(of).expect("a field of the set")
    }
}

fn operators(instructions: &[Instruction], name: &str) -> Option<Vec<OperatorKind>> {
    instructions.iter().find_map(|instruction| match instruction {
        Instruction::Field(field) if &*field.name.local == name => Some(match &field.operators {
            Operators::Whole(operator) => vec![operator.kind],
            Operators::Parts { exponent, mantissa } => vec![exponent.kind, mantissa.kind],
        }),
        Instruction::Group(group) => match &group.length {
            Some(length) if &*group.name.local == name => Some(vec![length.operator.kind]),
            _ => operators(&group.instructions, name),
        },
        _ => None,
    })
}

/// True if every value of `part` is the same in `whole`.
fn is_part(part: &Json, whole: &Json) -> bool {
    match (part, whole) {
        (Json::Object(part), Json::Object(whole)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|w| is_part(value, w)))
        }
        (Json::Array(part), Json::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| is_part(p, w))
        }
        (part, whole) => part == whole,
    }
}

/// Builds from a visitor's calls the same JSON as [`json_of`] builds from a message.
#[derive(Default)]
struct Collector {
    /// Open objects and arrays, each with its name.
    open: Vec<(String, Json)>,
    whole: Json,
}

impl Collector {
    fn add(&mut self, name: &str, value: Json) {
        match self.open.last_mut() {
            Some((_, Json::Object(object))) => {
                object.insert(name.to_owned(), value);
            }
            Some((_, Json::Array(array))) => array.push(value),
            _ => self.whole = value,
        }
    }

    fn begin(&mut self, name: &str) {
        self.open.push((name.to_owned(), Json::Object(Map::new())));
    }

    fn end(&mut self) {
        let (name, value) = self.open.pop().expect("something begun");
        self.add(&name, value);
    }
}

impl MessageVisitor for Collector {
    fn begin_message(&mut self, template: &TemplateLayout) {
        let name = if self.open.is_empty() { &*template.name.local } else { "#dyn" };
        self.begin(name);
    }

    fn end_message(&mut self) {
        if let [(name, fields)] = &self.open[..] {
            self.whole = json!({"t": name, "f": fields});
            self.open.clear();
        } else {
            self.end();
        }
    }

    fn field(&mut self, field: &FieldLayout, value: FieldValue<'_>) {
        self.add(&field.name.local, value_json(value, Absent::Null));
    }

    fn begin_group(&mut self, field: &FieldLayout) {
        self.begin(&field.name.local);
    }

    fn end_group(&mut self, _field: &FieldLayout) {
        self.end();
    }

    fn begin_sequence(&mut self, field: &FieldLayout, _count: usize) {
        self.open.push((field.name.local.to_string(), Json::Array(Vec::new())));
    }

    fn begin_entry(&mut self, _field: &FieldLayout, _index: usize) {
        self.begin("");
    }

    fn end_entry(&mut self, _field: &FieldLayout) {
        self.end();
    }

    fn end_sequence(&mut self, _field: &FieldLayout) {
        self.end();
    }
}

fn decoding_gives_what_was_encoded(choices: Choices) -> usize {
    let stream = Stream::new(choices);
    let mut decoder = stream.decoder(&stream.program, Conformance::Canonical);
    let mut encoder = stream.encoder();
    let mut again = Vec::new();
    for (bytes, expected) in &stream.messages {
        let decoded = decoder.decode(bytes).unwrap_or_else(|error| {
            panic!("{}: {bytes:02x?}\n{}", error.describe(&stream.program), stream.set.to_xml())
        });
        assert_eq!(decoded.len, bytes.len());
        assert_eq!(json_of(decoded.message), *expected, "{bytes:02x?}");
        again.clear();
        encoder.encode(decoded.message, &mut again).expect("decoded, so it can be encoded");
        assert_eq!(again, *bytes, "encoded again");
    }
    stream.messages.len()
}

fn pieces_give_the_same_messages(choices: Choices) {
    let mut stream = Stream::new(choices);
    let whole = stream.bytes();
    let mut decoder = stream.decoder(&stream.program, Conformance::Canonical);
    let longest = stream.choices.of(&[1, 2, 5, 40]);
    let (mut arrived, mut start) = (0, 0);
    for (bytes, expected) in &stream.messages {
        loop {
            match decoder.decode_stream(&whole[start..arrived]).expect("as encoded") {
                Step::Message(decoded) => {
                    assert_eq!(decoded.len, bytes.len());
                    assert_eq!(json_of(decoded.message), *expected);
                    start += decoded.len;
                    break;
                }
                Step::NeedMore(_) => {
                    assert!(arrived < start + bytes.len(), "asks for more than there is");
                    arrived = whole.len().min(arrived + 1 + stream.choices.index(longest));
                }
            }
        }
    }
    assert_eq!(start, whole.len());
}

/// Adds the names of the fields of a segment and of its nested segments.
fn add_names(program: &Program, segment: SegmentRef, names: &mut Vec<String>) {
    for field in program.fields_of(segment) {
        names.push(field.name.local.to_string());
        match field.storage {
            Storage::Group(inner) | Storage::Sequence { segment: inner, .. } => {
                add_names(program, inner, names);
            }
            _ => {}
        }
    }
}

fn projections_give_the_same_values(choices: Choices) {
    let mut stream = Stream::new(choices);
    let program = stream.program.clone();
    let mut wanted = Vec::new();
    for template in program.templates() {
        add_names(&program, template.segment, &mut wanted);
    }
    // Names in referenced templates occur more than once.
    wanted.sort();
    wanted.dedup();
    wanted.retain(|name| name != "#dyn" && stream.choices.once_in(4));
    let options = CompileOptions::default().fields(Some(wanted.clone())).constants(true);
    let projection = Arc::new(Program::compile_with(stream.set.clone(), &options).unwrap());
    let mut decoder = stream.decoder(&projection, Conformance::Canonical);
    let mut visited = decoder.clone();
    for (bytes, expected) in &stream.messages {
        let decoded = decoder.decode(bytes).expect("as encoded");
        assert_eq!(decoded.len, bytes.len());
        let part = json_of(decoded.message);
        assert!(is_part(&part, expected), "{part} of {expected}, wanted {wanted:?}");
        let mut collector = Collector::default();
        assert_eq!(visited.visit(bytes, &mut collector), Ok(bytes.len()));
        assert_eq!(collector.whole, part, "wanted {wanted:?}");
        for name in wanted.iter().filter(|name| expected["f"].get(name.as_str()).is_some()) {
            assert_eq!(part["f"].get(name), expected["f"].get(name), "{name}");
        }
    }
}

fn visitors_see_the_same_values(choices: Choices) {
    let stream = Stream::new(choices);
    let options = CompileOptions::default().constants(true);
    let program = Arc::new(Program::compile_with(stream.set.clone(), &options).unwrap());
    let mut decoder = stream.decoder(&program, Conformance::Canonical);
    let mut tracer = stream.decoder(&program, Conformance::Canonical);
    for (bytes, expected) in &stream.messages {
        let mut collector = Collector::default();
        assert_eq!(decoder.visit(bytes, &mut collector), Ok(bytes.len()));
        assert_eq!(collector.whole, *expected);
        assert_eq!(tracer.trace(bytes, |_| ()), Ok(bytes.len()));
    }
}

fn printed_sets_are_the_same(choices: Choices) {
    let stream = Stream::new(choices);
    let xml = stream.set.to_xml();
    let printed = TemplateSet::parse(&xml).unwrap_or_else(|errors| panic!("{errors}\n{xml}"));
    assert_eq!(printed.signature(), stream.set.signature(), "{xml}");
    assert_eq!(printed.signatures(), stream.set.signatures(), "{xml}");
    assert!(tickwire_fast::template::diff(&stream.set, &printed).is_empty(), "{xml}");
    let program = Arc::new(Program::compile(printed).expect("compiles"));
    let mut decoder = stream.decoder(&program, Conformance::Canonical);
    for (bytes, expected) in &stream.messages {
        let decoded = decoder.decode(bytes).expect("as encoded");
        assert_eq!(json_of(decoded.message), *expected, "{xml}");
    }
}

/// True for errors that only a field can have.
fn is_of_a_field(kind: FastErrorKind) -> bool {
    use FastErrorKind as K;
    matches!(
        kind,
        K::EmptyPreviousValue
            | K::PreviousValueType
            | K::SubtractionLength
            | K::IntegerConversion
            | K::DecimalRange
            | K::InvalidUtf8
            | K::OverlongString
            | K::TooManyEntries
            | K::StringTooLong
    )
}

fn changed_bytes_never_panic(choices: Choices) {
    let mut stream = Stream::new(choices);
    let mut bytes = stream.bytes();
    let program = stream.program.clone();
    for _ in 0..8 {
        for _ in 0..=stream.choices.index(3) {
            let at = stream.choices.index(bytes.len() + 1);
            let byte = stream.choices.number() as u8;
            match bytes.get_mut(at) {
                Some(changed) if !stream.choices.once_in(4) => *changed = byte,
                _ => bytes.insert(at, byte),
            }
        }
        for conformance in [Conformance::Lenient, Conformance::Strict, Conformance::Canonical] {
            let mut decoder = stream.decoder(&program, conformance);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                match decoder.decode(rest) {
                    Ok(decoded) => {
                        assert!(!json_of(decoded.message).is_null());
                        rest = &rest[decoded.len..];
                    }
                    Err(error) => {
                        assert!(error.offset() <= rest.len());
                        let text = error.describe(&program).to_string();
                        assert!(!is_of_a_field(error.kind()) || error.field().is_some(), "{text}");
                        break;
                    }
                }
            }
        }
    }
}

/// Random choices that shrink to fewer and simpler ones: small sets, short messages.
fn choices() -> impl Strategy<Value = Choices> {
    proptest::collection::vec(any::<u16>(), 0..1500).prop_map(Choices::tape)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_decodes_to_the_same(choices in choices()) {
        decoding_gives_what_was_encoded(choices);
    }

    #[test]
    fn any_split_of_a_stream_gives_the_same_messages(choices in choices()) {
        pieces_give_the_same_messages(choices);
    }

    #[test]
    fn a_projection_gives_the_same_values_for_its_fields(choices in choices()) {
        projections_give_the_same_values(choices);
    }

    #[test]
    fn a_visitor_sees_what_a_view_shows(choices in choices()) {
        visitors_see_the_same_values(choices);
    }

    #[test]
    fn a_printed_set_is_the_same_set(choices in choices()) {
        printed_sets_are_the_same(choices);
    }

    #[test]
    fn changed_bytes_are_decoded_or_refused(choices in choices()) {
        changed_bytes_never_panic(choices);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        mut choices in choices(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let program = Arc::new(
            Program::compile(random::template_set(&mut choices)).expect("compiles"),
        );
        let options = DecoderOptions::default().conformance(Conformance::Lenient);
        let mut decoder = Decoder::with_options(program, options);
        let mut rest = &bytes[..];
        while let Ok(decoded) = decoder.decode(rest) {
            rest = &rest[decoded.len..];
        }
    }
}

#[test]
fn most_random_messages_can_be_encoded() {
    let encoded: usize = (0..100).map(Choices::seeded).map(decoding_gives_what_was_encoded).sum();
    println!("{encoded} of {} messages encoded", 100 * MESSAGES);
    assert!(encoded > 100 * MESSAGES / 4, "{encoded} of {}", 100 * MESSAGES);
}
