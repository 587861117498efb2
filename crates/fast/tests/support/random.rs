//! Random template sets as XML, and random messages of them, all from one seed.

use std::sync::Arc;
use tickwire_fast::template::FieldType;
use tickwire_fast::{
    Decimal, FieldLayout, Message, MessageBuilder, Program, SegmentRef, Storage, TemplateSet,
};

/// Numbers from a seed (splitmix64).
pub struct Choices(pub u64);

impl Choices {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// A template set of one to four templates. Fields have names of their own, so that a name tells
/// the field; the last template refers to no other.
pub fn template_set(choices: &mut Choices) -> TemplateSet {
    let xml = Author { choices, names: 0, xml: String::new() }.set();
    TemplateSet::parse(&xml).unwrap_or_else(|errors| panic!("{errors}\n{xml}"))
}

const INTEGERS: [&str; 8] =
    ["uInt8", "uInt16", "uInt32", "uInt64", "int8", "int16", "int32", "int64"];

/// Writes template files.
struct Author<'c> {
    choices: &'c mut Choices,
    names: usize,
    xml: String,
}

impl Author<'_> {
    fn set(mut self) -> String {
        let templates = 1 + self.choices.below(4);
        self.xml.push_str("<templates>");
        for id in 1..=templates {
            let reset = if self.choices.once_in(6) { " reset=\"Y\"" } else { "" };
            let dictionary = self.dictionary();
            let wire_id = self.choices.of(&[id, id + 200, id + 1_000_000]);
            self.xml.push_str(&format!(
                "<template name=\"T{id}\" id=\"{wire_id}\"{reset}{dictionary}>"
            ));
            if self.choices.once_in(3) {
                self.xml.push_str("<typeRef name=\"Type\"/>");
            }
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

    fn dictionary(&mut self) -> &'static str {
        self.choices.of(&[
            "",
            "",
            " dictionary=\"template\"",
            " dictionary=\"type\"",
            " dictionary=\"d\"",
        ])
    }

    fn fields(&mut self, depth: usize) {
        let most = if self.choices.once_in(16) { 150 } else { 7 };
        for _ in 0..1 + self.choices.below(most) {
            match self.choices.below(if depth < 2 { 14 } else { 12 }) {
                12 => self.group(depth),
                13 => self.sequence(depth),
                0 | 1 => self.decimal(),
                2..=4 => self.text(),
                5 => self.extended(),
                _ => {
                    let kind = self.choices.of(&INTEGERS);
                    self.scalar(kind, "", "", &["default", "copy", "increment", "delta"], "3");
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
            ("string", "", "ABCDEFGHIJ"),
            ("string", " charset=\"unicode\"", "AB"),
            ("byteVector", "", "4142"),
            ("byteVector", "", ""),
        ]);
        self.scalar(kind, attributes, "", &["default", "copy", "delta", "tail"], initial);
    }

    fn extended(&mut self) {
        let elements = "<element name=\"x\"/><element name=\"y\"/><element name=\"z\"/>";
        let all = &["default", "copy", "increment", "delta"];
        let without_increment = &["default", "copy", "delta"];
        match self.choices.below(4) {
            0 => self.scalar("boolean", "", "", without_increment, "true"),
            1 => self.scalar("enum", "", elements, without_increment, "y"),
            2 => self.scalar("set", "", elements, without_increment, "x z"),
            _ => self.scalar("timestamp", " unit=\"nanosecond\"", "", all, "3"),
        }
    }

    fn decimal(&mut self) {
        if self.choices.once_in(2) {
            return self.scalar("decimal", "", "", &["default", "copy", "delta"], "1.5");
        }
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<decimal name=\"{name}\"{presence}><exponent>"));
        let operators = ["default", "copy", "increment", "delta"];
        self.operator(&operators, "-1", presence.is_empty());
        self.xml.push_str("</exponent><mantissa>");
        self.operator(&operators, "3", true);
        self.xml.push_str("</mantissa></decimal>");
    }

    fn scalar(
        &mut self,
        kind: &str,
        attributes: &str,
        children: &str,
        operators: &[&str],
        initial: &str,
    ) {
        let (name, presence) = (self.name(), self.presence());
        self.xml.push_str(&format!("<{kind} name=\"{name}\"{presence}{attributes}>{children}"));
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
            let (key, dictionary) = (self.choices.below(4), self.dictionary());
            self.xml.push_str(&format!(" key=\"k{key}\"{dictionary}"));
        }
        self.xml.push_str("/>");
    }

    fn group(&mut self, depth: usize) {
        let (name, presence, dictionary) = (self.name(), self.presence(), self.dictionary());
        self.xml.push_str(&format!("<group name=\"{name}\"{presence}{dictionary}>"));
        self.fields(depth + 1);
        self.xml.push_str("</group>");
    }

    fn sequence(&mut self, depth: usize) {
        let (name, presence, dictionary) = (self.name(), self.presence(), self.dictionary());
        self.xml.push_str(&format!("<sequence name=\"{name}\"{presence}{dictionary}>"));
        if !self.choices.once_in(4) {
            self.xml.push_str("<length>");
            self.operator(&["default", "copy", "increment", "delta"], "1", presence.is_empty());
            self.xml.push_str("</length>");
        }
        self.fields(depth + 1);
        self.xml.push_str("</sequence>");
    }
}

/// Builds a message of a template with values that often are what an operator expects.
pub fn message<'b>(
    choices: &mut Choices,
    builder: &'b mut MessageBuilder,
    template: usize,
) -> &'b Message {
    let program = builder.program().clone();
    let segment = program.templates()[template].segment;
    builder.begin(template).expect("a template of the set");
    Filler { choices, builder: &mut *builder, program }.record(segment, 0);
    builder.finish().expect("every mandatory field is set")
}

const TEXTS: [&[u8]; 9] =
    [b"", b"A", b"AB", b"ABC", b"XBC", b"\0", b"ABCDEFGHIJ", b"ABCDEFGHIK", b"ABCXEFGHIJ"];

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
                    let count = self.choices.of(&[0, 1, 1, 2, 3]);
                    self.builder.begin_sequence(index, count).unwrap();
                    for _ in 0..count {
                        self.builder.begin_entry().unwrap();
                        self.record(inner, nesting);
                        self.builder.end().unwrap();
                    }
                    self.builder.end().unwrap();
                }
                Storage::Dynamic(_) => {
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
            FieldType::Boolean => {
                let value = self.choices.of(&[0, 1]);
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Enum(elements) => {
                let element = self.choices.below(elements.elements.len());
                self.builder.set_u64(index, elements.elements[element].value).unwrap();
            }
            FieldType::Set(elements) => {
                let value = self.choices.below(1 << elements.elements.len()) as u64;
                self.builder.set_u64(index, value).unwrap();
            }
            FieldType::Timestamp(_) => {
                let value = self.choices.of(&[0, 3, 4, 5, i64::MAX, i64::MIN]);
                self.builder.set_i64(index, value).unwrap();
            }
            FieldType::Decimal => {
                let mantissa = self.choices.of(&[0, 3, 4, 15, i64::MAX, i64::MIN]);
                let exponent = self.choices.of(&[-1, -1, 0, 1, -63, 63]);
                self.builder.set_decimal(index, Decimal { mantissa, exponent }).unwrap();
            }
            FieldType::Ascii | FieldType::Unicode | FieldType::ByteVector => {
                let value = self.choices.of(&TEXTS);
                self.builder.set_bytes(index, value).unwrap();
            }
        }
    }
}
