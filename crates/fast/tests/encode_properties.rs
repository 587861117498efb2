//! Random messages of random templates: what is encoded decodes to the same values, and what is
//! refused leaves encoder and decoder in step.

mod support;

use proptest::prelude::*;
use std::sync::Arc;
use support::{Absent, record_json};
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Conformance, Decimal, Decoder, DecoderOptions, Encoder, EncoderOptions, ErrorKind, FieldLayout,
    MessageBuilder, Program, ResetPolicy, SegmentRef, Storage, TemplateSet,
};

/// Numbers from a seed (splitmix64).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// True once in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

const INTEGERS: [&str; 8] =
    ["uInt8", "uInt16", "uInt32", "uInt64", "int8", "int16", "int32", "int64"];

/// Writes random template files.
struct Author<'c> {
    choices: &'c mut Choices,
    names: usize,
    xml: String,
}

impl Author<'_> {
    fn set(mut self) -> String {
        let templates = 1 + self.choices.below(3);
        self.xml.push_str("<templates>");
        for id in 1..=templates {
            let reset = if self.choices.once_in(6) { " reset=\"Y\"" } else { "" };
            let dictionary =
                self.choices.of(&["", " dictionary=\"template\"", " dictionary=\"d\""]);
            self.xml.push_str(&format!("<template name=\"T{id}\" id=\"{id}\"{reset}{dictionary}>"));
            self.fields(0);
            if id < templates && self.choices.once_in(3) {
                self.xml.push_str("<templateRef/>");
            }
            if id < templates && self.choices.once_in(3) {
                self.xml.push_str(&format!("<templateRef name=\"T{templates}\"/>"));
            }
            self.xml.push_str("</template>");
        }
        self.xml.push_str("</templates>");
        self.xml
    }

    fn fields(&mut self, depth: usize) {
        let most = if self.choices.once_in(20) { 90 } else { 7 };
        for _ in 0..1 + self.choices.below(most) {
            match self.choices.below(if depth < 2 { 12 } else { 10 }) {
                10 => self.group(depth),
                11 => self.sequence(depth),
                0 | 1 => self.decimal(),
                2..=4 => self.text(),
                _ => {
                    let kind = self.choices.of(&INTEGERS);
                    self.scalar(kind, "", &["default", "copy", "increment", "delta"], "3");
                }
            }
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("f{}", self.names)
    }

    fn presence(&mut self) -> &'static str {
        self.choices.of(&["", " presence=\"optional\""])
    }

    fn text(&mut self) {
        let (kind, attributes, initial) = self.choices.of(&[
            ("string", "", "AB"),
            ("string", " charset=\"unicode\"", "AB"),
            ("byteVector", "", "4142"),
        ]);
        self.scalar(kind, attributes, &["default", "copy", "delta", "tail"], initial);
    }

    fn decimal(&mut self) {
        if self.choices.once_in(2) {
            return self.scalar("decimal", "", &["default", "copy", "delta"], "1.5");
        }
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<decimal name=\"{name}\"{presence}><exponent>"));
        let operators = ["default", "copy", "increment", "delta"];
        self.operator(&operators, "-1", presence.is_empty());
        self.xml.push_str("</exponent><mantissa>");
        self.operator(&operators, "3", true);
        self.xml.push_str("</mantissa></decimal>");
    }

    fn scalar(&mut self, kind: &str, attributes: &str, operators: &[&str], initial: &str) {
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<{kind} name=\"{name}\"{presence}{attributes}>"));
        self.operator(operators, initial, presence.is_empty());
        self.xml.push_str(&format!("</{kind}>"));
    }

    fn operator(&mut self, operators: &[&str], initial: &str, mandatory: bool) {
        let operator = match self.choices.below(operators.len() + 2) {
            0 => return,
            1 => "constant",
            index => operators[index - 2],
        };
        let needed = operator == "constant" || operator == "default" && mandatory;
        self.xml.push_str(&format!("<{operator}"));
        if needed || self.choices.once_in(2) {
            self.xml.push_str(&format!(" value=\"{initial}\""));
        }
        if !matches!(operator, "constant" | "default") && self.choices.once_in(3) {
            let key = self.choices.below(4);
            self.xml.push_str(&format!(" key=\"k{key}\""));
        }
        self.xml.push_str("/>");
    }

    fn group(&mut self, depth: usize) {
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<group name=\"{name}\"{presence}>"));
        self.fields(depth + 1);
        self.xml.push_str("</group>");
    }

    fn sequence(&mut self, depth: usize) {
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<sequence name=\"{name}\"{presence}><length>"));
        self.operator(&["default", "copy", "increment", "delta"], "1", presence.is_empty());
        self.xml.push_str("</length>");
        self.fields(depth + 1);
        self.xml.push_str("</sequence>");
    }
}

const TEXTS: [&[u8]; 9] =
    [b"", b"A", b"AB", b"ABC", b"XBC", b"\0", b"ABCDEFGHIJ", b"ABCDEFGHIK", b"ABCXEFGHIJ"];

/// Fills messages with values that often are what an operator expects.
struct Filler<'c> {
    choices: &'c mut Choices,
    builder: &'c mut MessageBuilder,
    program: Arc<Program>,
}

impl Filler<'_> {
    fn record(&mut self, segment: SegmentRef, nesting: usize) {
        let program = self.program.clone();
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            if field.optional && self.choices.once_in(3) {
                continue;
            }
            match field.storage {
                Storage::Slot(_) => self.scalar(index, field),
                Storage::OptionalConstant(_) => self.builder.set_constant(index).unwrap(),
                Storage::Group(inner) => {
                    self.builder.begin_group(index).unwrap();
                    self.record(inner, nesting);
                    self.builder.end().unwrap();
                }
                Storage::Sequence { segment: inner, .. } => {
                    let count = self.choices.below(4);
                    self.builder.begin_sequence(index, count).unwrap();
                    for _ in 0..count {
                        self.builder.begin_entry().unwrap();
                        self.record(inner, nesting);
                        self.builder.end().unwrap();
                    }
                    self.builder.end().unwrap();
                }
                Storage::Dynamic(_) => {
                    // The last template refers to no other.
                    let last = program.templates().len() - 1;
                    let template = if nesting > 2 { last } else { self.choices.below(last + 1) };
                    self.builder.begin_dynamic(index, template).unwrap();
                    self.record(program.templates()[template].segment, nesting + 1);
                    self.builder.end().unwrap();
                }
                Storage::Constant(_) | Storage::Discarded => {}
            }
        }
    }

    fn scalar(&mut self, index: usize, field: &FieldLayout) {
        match field.field_type.as_ref().expect("a scalar") {
            FieldType::UInt(width) => {
                let max = u64::MAX >> (64 - *width as u32);
                let value = self.choices.of(&[0, 1, 2, 3, 4, 5, max - 1, max]);
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Int(width) => {
                let max = i64::MAX >> (64 - *width as u32);
                let value = self.choices.of(&[0, -1, 2, 3, 4, 5, max, -1 - max]);
                self.builder.set_i64(index, value).unwrap();
            }
            FieldType::Decimal => {
                let mantissa = self.choices.of(&[0, 3, 4, 15, i64::MAX, i64::MIN]);
                let exponent = self.choices.of(&[-1, -1, 0, 1, -63, 63]);
                self.builder.set_decimal(index, Decimal { mantissa, exponent }).unwrap();
            }
            _ => {
                let value = self.choices.of(&TEXTS);
                self.builder.set_bytes(index, value).unwrap();
            }
        }
    }
}

/// Errors that follow from the operators, whatever the encoder does.
fn is_not_encodable(kind: ErrorKind) -> bool {
    use ErrorKind::{
        ApplicationType, DecimalNotEncodable, EmptyPreviousValue, PreviousValueType, StringSyntax,
    };
    matches!(
        kind,
        ApplicationType
            | DecimalNotEncodable
            | EmptyPreviousValue
            | PreviousValueType
            | StringSyntax
    )
}

/// Encodes and decodes random messages of a random template set; returns how many were encoded.
fn run(seed: u64) -> usize {
    let mut choices = Choices(seed);
    let xml = Author { choices: &mut choices, names: 0, xml: String::new() }.set();
    let set = TemplateSet::parse(&xml).unwrap_or_else(|errors| panic!("{xml}: {errors}"));
    let program = Arc::new(Program::compile(set).unwrap());
    let reset = choices.of(&[ResetPolicy::Never, ResetPolicy::Template, ResetPolicy::Message]);
    let options =
        DecoderOptions { conformance: Conformance::Canonical, reset, ..DecoderOptions::default() };
    let mut decoder = Decoder::with_options(program.clone(), options);
    let options = EncoderOptions { reset, ..EncoderOptions::default() };
    let mut encoder = Encoder::with_options(program.clone(), options);
    let mut builder = MessageBuilder::new(program.clone());
    let mut encoded = 0;
    let mut out = Vec::new();
    for _ in 0..40 {
        let template = choices.below(program.templates().len());
        builder.begin(template).unwrap();
        let mut filler =
            Filler { choices: &mut choices, builder: &mut builder, program: program.clone() };
        filler.record(program.templates()[template].segment, 0);
        let message = builder.finish().unwrap();
        out.clear();
        match encoder.encode(message, &mut out) {
            Ok(len) => assert_eq!(len, out.len()),
            Err(error) => {
                assert!(is_not_encodable(error.kind()), "{xml}: {}", error.describe(&program));
                assert!(out.is_empty());
                continue;
            }
        }
        let decoded = decoder
            .decode(&out)
            .unwrap_or_else(|error| panic!("{xml}: {out:02x?}: {}", error.describe(&program)));
        assert_eq!(decoded.len, out.len(), "{xml}: {out:02x?}");
        assert_eq!(
            record_json(decoded.message.root(), Absent::Null),
            record_json(message.root(), Absent::Null),
            "{xml}: {out:02x?}"
        );
        encoded += 1;
    }
    encoded
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_messages_of_random_templates_survive(seed: u64) {
        run(seed);
    }
}

#[test]
fn most_random_messages_can_be_encoded() {
    let encoded: usize = (0..100).map(run).sum();
    println!("{encoded} of 4000 messages encoded");
    assert!(encoded > 400, "{encoded} of 4000 messages encoded");
}
