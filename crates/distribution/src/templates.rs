//! Samples for any template: generates a type from the template and converts its messages to samples of that
//! type.
//!
//! The type is a structure of the same shape as the template. Numbers, text and bytes stay as they are, decimals become
//! `tickwire::Decimal`, groups become structures, and sequences become sequences. Optional fields become optional
//! members, so that an absent value never looks like a value. Readers learn the type at run time, so a generic tool can
//! show the samples without an IDL file.

use std::fmt;
use std::sync::Arc;

use tickwire_fast::template::{FieldType, Width};
use tickwire_fast::{
    Decimal, FieldLayout, FieldValue, Message, Program, Record, SegmentRef, Storage,
};

use crate::cdr::{CdrEncoding, SampleEncodeError, SampleEncoder};
use crate::delivery::TopicSet;
use crate::field::SampleFields;
use crate::sample;
use crate::types::{Member, MemberType, StructType};

/// IDL module of the types.
const MODULE: &str = "templates";
/// Longest name of a member. Spec: DDS-XTypes 1.3 §7.3.4.2 (MemberName).
const NAME_MAX: usize = 255;

/// Reason why a template cannot be converted to samples.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misshape {
    /// The field is a dynamic template reference; its type is not known in advance.
    Dynamic {
        /// The template.
        template: String,
        /// The field.
        field: String,
    },
    /// No template has the requested key field.
    NoKey {
        /// The field.
        field: String,
    },
    /// The key field is optional, or is not a number or text.
    NotKey {
        /// The template.
        template: String,
        /// The field.
        field: String,
    },
    /// Two fields of a structure, or two templates, have the same name once converted to members or topics.
    SameName {
        /// The template.
        template: String,
        /// The name.
        name: String,
    },
}

impl fmt::Display for Misshape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dynamic { template, field } => write!(
                out,
                "template {template}: {field} is a dynamic template reference: leave it out of the fields"
            ),
            Self::NoKey { field } => write!(out, "no template has a field {field} to be the key"),
            Self::NotKey { template, field } => write!(
                out,
                "template {template}: {field} cannot be the key: it needs a mandatory number or string outside of \
                 sequences; choose other templates, or leave out the key"
            ),
            Self::SameName { template, name } => {
                write!(out, "template {template}: the name {name} occurs twice")
            }
        }
    }
}

/// A value that a member cannot hold: a string that contains NUL, is not UTF-8 or is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitValue {
    /// The topic set.
    pub set: String,
    /// The member.
    pub member: String,
}

impl fmt::Display for UnfitValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}: the value of {} contains NUL or invalid text, or is too long",
            self.set, self.member
        )
    }
}

impl std::error::Error for UnfitValue {}

/// The topic sets of a program's templates, and the conversion of messages to their samples. Once warm it does not
/// allocate.
#[derive(Debug)]
pub struct TemplateSamples {
    sets: Vec<TopicSet>,
    /// Index of the set, and plan, by template index; `None` for a template that is not selected or has no usable
    /// fields.
    plans: Vec<Option<(usize, SamplePlan)>>,
}

/// The members of a structure, each with the index of its field.
#[derive(Debug)]
struct SamplePlan {
    members: Vec<(usize, MemberSource)>,
}

#[derive(Debug)]
struct MemberSource {
    kind: MemberKind,
    is_optional: bool,
}

#[derive(Debug)]
enum MemberKind {
    Bytes,
    Decimal,
    Flag,
    Group(SamplePlan),
    I32,
    I64,
    Sequence(SamplePlan),
    Text,
    U32,
    U64,
}

/// Index of the member whose value cannot be encoded.
type MemberIndex = usize;

impl TemplateSamples {
    /// Creates the types and topics of all templates. If a template has the field `key`, that field is the key of its
    /// samples: each value of it has its own last value.
    ///
    /// # Errors
    /// All mismatches.
    pub fn bind(program: &Program, key: Option<&str>) -> Result<Self, Vec<Misshape>> {
        Self::bind_selected(program, key, |_| true)
    }

    /// As [`bind`](Self::bind), for the templates whose index in the program `is_selected` returns true. Messages of
    /// the others have no sample.
    ///
    /// # Errors
    /// All mismatches of the selected templates.
    pub fn bind_selected(
        program: &Program,
        key: Option<&str>,
        is_selected: impl Fn(usize) -> bool,
    ) -> Result<Self, Vec<Misshape>> {
        let mut binder =
            TemplateBinder { program, template: "", key, has_key: false, misshapes: Vec::new() };
        let (mut sets, mut plans) = (Vec::<TopicSet>::new(), Vec::new());
        for (index, template) in program.templates().iter().enumerate() {
            if !is_selected(index) {
                plans.push(None);
                continue;
            }
            binder.template = &template.name.local;
            let name = identifier(binder.template);
            let (of, plan) = binder.structure(template.segment, &format!("{MODULE}::{name}"), true);
            if of.members.is_empty() {
                plans.push(None);
                continue;
            }
            if sets.iter().any(|set| set.name == name) {
                let name = name.clone();
                binder.tell(|template| Misshape::SameName { template, name });
            }
            plans.push(Some((sets.len(), plan)));
            sets.push(TopicSet { name, of, securities: None });
        }
        if let Some(field) = key.filter(|_| !binder.has_key) {
            binder.misshapes.push(Misshape::NoKey { field: field.to_owned() });
        }
        if binder.misshapes.is_empty() { Ok(Self { sets, plans }) } else { Err(binder.misshapes) }
    }

    /// Returns the topic sets in the order of the program: one for each template that has fields.
    #[must_use]
    pub fn sets(&self) -> &[TopicSet] {
        &self.sets
    }

    /// Encodes a message as a sample. Returns the index of its set, or `None` if its template has no fields.
    ///
    /// # Errors
    /// A value that the sample cannot hold; then publish nothing of the message.
    ///
    /// # Panics
    /// If the message belongs to another program.
    pub fn encode(
        &self,
        message: &Message,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, UnfitValue> {
        let Some((index, plan)) = &self.plans[message.template_index()] else { return Ok(None) };
        let mut encoder = SampleEncoder::new(out, CdrEncoding::Xcdr2);
        let encoded = plan.encode(&message.root(), &mut encoder);
        encoded.map(|()| Some(*index)).map_err(|member| {
            let set = &self.sets[*index];
            let member = set.of.members.get(member);
            UnfitValue {
                set: set.name.clone(),
                member: member.map(|member| member.name.clone()).unwrap_or_default(),
            }
        })
    }
}

struct TemplateBinder<'p> {
    program: &'p Program,
    template: &'p str,
    key: Option<&'p str>,
    has_key: bool,
    misshapes: Vec<Misshape>,
}

impl TemplateBinder<'_> {
    fn tell(&mut self, misshape: impl FnOnce(String) -> Misshape) {
        self.misshapes.push(misshape(self.template.to_owned()));
    }

    fn structure(
        &mut self,
        segment: SegmentRef,
        name: &str,
        is_top: bool,
    ) -> (Arc<StructType>, SamplePlan) {
        let program = self.program;
        let mut members: Vec<Member> = Vec::new();
        let mut plan = SamplePlan { members: Vec::new() };
        for (index, field) in program.fields_of(segment).iter().enumerate() {
            let Some((of, kind)) = self.member(field, name) else { continue };
            let field_name = identifier(&field.name.local);
            if members.iter().any(|member| member.name == field_name) {
                let name = field_name.clone();
                self.tell(|template| Misshape::SameName { template, name });
            }
            let is_key = is_top && self.key == Some(&*field.name.local);
            let is_optional = field.optional;
            let member = Member { name: field_name, of, is_key, is_optional };
            let source = (index, MemberSource { kind, is_optional });
            if is_key {
                self.check_key(field, &member);
                members.insert(0, member);
                plan.members.insert(0, source);
            } else {
                members.push(member);
                plan.members.push(source);
            }
        }
        let of = StructType { name: name.to_owned(), members, encoding: CdrEncoding::Xcdr2 };
        (Arc::new(of), plan)
    }

    fn check_key(&mut self, field: &FieldLayout, member: &Member) {
        self.has_key = true;
        let is_plain = member.of.is_plain() || member.of == MemberType::Str;
        if !is_plain || member.is_optional {
            let field = field.name.local.to_string();
            self.tell(|template| Misshape::NotKey { template, field });
        }
    }

    /// Returns the type of a field's member; `None` if the field has no member.
    fn member(&mut self, field: &FieldLayout, outer: &str) -> Option<(MemberType, MemberKind)> {
        let name = || format!("{outer}_{}", identifier(&field.name.local));
        match &field.storage {
            Storage::Discarded => return None,
            Storage::Dynamic(_) => {
                let field = field.name.local.to_string();
                self.tell(|template| Misshape::Dynamic { template, field });
                return None;
            }
            Storage::Group(segment) => {
                let (of, plan) = self.structure(*segment, &name(), false);
                // A structure without members is not a valid type.
                return (!of.members.is_empty())
                    .then_some((MemberType::Struct(of), MemberKind::Group(plan)));
            }
            Storage::Sequence { segment, .. } => {
                let (of, plan) = self.structure(*segment, &name(), false);
                let of = Box::new(MemberType::Struct(of.clone()));
                return (!plan.members.is_empty())
                    .then_some((MemberType::Sequence(of), MemberKind::Sequence(plan)));
            }
            Storage::Constant(_) | Storage::OptionalConstant(_) | Storage::Slot(_) => {}
        }
        Some(match field.field_type.as_ref()? {
            FieldType::UInt(Width::W64) | FieldType::Enum(_) | FieldType::Set(_) => {
                (MemberType::U64, MemberKind::U64)
            }
            FieldType::UInt(_) => (MemberType::U32, MemberKind::U32),
            FieldType::Int(Width::W64) | FieldType::Timestamp(_) => {
                (MemberType::I64, MemberKind::I64)
            }
            FieldType::Int(_) => (MemberType::I32, MemberKind::I32),
            FieldType::Boolean => (MemberType::Bool, MemberKind::Flag),
            FieldType::Ascii | FieldType::Unicode => (MemberType::Str, MemberKind::Text),
            FieldType::ByteVector => (MemberType::Bytes, MemberKind::Bytes),
            FieldType::Decimal => {
                let of = MemberType::Struct(decimal_type());
                (of, MemberKind::Decimal)
            }
        })
    }
}

/// Returns the type of decimals, which readers also learn at run time.
fn decimal_type() -> Arc<StructType> {
    let of = sample::SampleDecimal::struct_type();
    Arc::new(StructType { encoding: CdrEncoding::Xcdr2, ..StructType::clone(of) })
}

/// Converts a name to a non-empty identifier of letters, digits and underscores that does not begin with a digit.
fn identifier(name: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut identifier: String = name.chars().map(sound).take(NAME_MAX).collect();
    if identifier.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        identifier.insert(0, '_');
    }
    identifier
}

impl SamplePlan {
    fn encode(
        &self,
        record: &Record<'_>,
        encoder: &mut SampleEncoder<'_>,
    ) -> Result<(), MemberIndex> {
        for (member, (field, source)) in self.members.iter().enumerate() {
            let value = record.value(*field);
            if source.is_optional {
                let is_there = !matches!(value, FieldValue::Absent);
                encoder.put_bool(is_there);
                if !is_there {
                    continue;
                }
            }
            source.kind.encode(value, encoder).map_err(|MemberValueError| member)?;
        }
        Ok(())
    }
}

/// A value that its member cannot hold.
struct MemberValueError;

impl From<SampleEncodeError> for MemberValueError {
    fn from(_: SampleEncodeError) -> Self {
        Self
    }
}

impl MemberKind {
    #[inline]
    fn encode(
        &self,
        value: FieldValue<'_>,
        encoder: &mut SampleEncoder<'_>,
    ) -> Result<(), MemberValueError> {
        match (self, value) {
            (Self::U32, FieldValue::UInt(value)) => {
                encoder.put_u32(u32::try_from(value).map_err(|_| MemberValueError)?);
            }
            (Self::U64, FieldValue::UInt(value)) => encoder.put_u64(value),
            (Self::I32, FieldValue::Int(value)) => {
                encoder.put_i32(i32::try_from(value).map_err(|_| MemberValueError)?);
            }
            (Self::I64, FieldValue::Int(value)) => encoder.put_i64(value),
            (Self::Flag, FieldValue::UInt(value @ 0..=1)) => encoder.put_bool(value == 1),
            (Self::Decimal, FieldValue::Decimal(Decimal { mantissa, exponent })) => {
                encoder.put_i64(mantissa);
                encoder.put_i32(exponent);
            }
            (Self::Text, FieldValue::Ascii(text) | FieldValue::Unicode(text)) => {
                encoder.put_str(std::str::from_utf8(text).map_err(|_| MemberValueError)?)?;
            }
            (Self::Bytes, FieldValue::Bytes(bytes)) => encoder.put_bytes(bytes)?,
            (Self::Group(plan), FieldValue::Group(record)) => {
                plan.encode(&record, encoder).map_err(|_| MemberValueError)?;
            }
            (Self::Sequence(plan), FieldValue::Sequence(entries)) => {
                encoder.put_sequence(entries.len(), |encoder| {
                    entries.iter().try_for_each(|entry| {
                        plan.encode(&entry, encoder).map_err(|_| MemberValueError)
                    })
                })?;
            }
            _ => return Err(MemberValueError),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickwire_fast::{Decoder, TemplateSet};

    const XML: &str = r#"<templates><template name="Tick" id="1">
        <uInt32 name="Number"/>
        <string name="Sym-bol"/>
        <decimal name="Price" presence="optional"/>
        <int64 name="Size" presence="optional"/>
        <sequence name="Legs"><length name="NoLegs"/><uInt32 name="Leg"/></sequence>
    </template></templates>"#;

    #[test]
    fn templates_that_are_not_selected_have_no_topic_and_need_no_key() {
        let xml = r#"<templates>
            <template name="A" id="1"><string name="Key"/><uInt32 name="n"/></template>
            <template name="B" id="2"><string name="Key" presence="optional"/></template>
        </templates>"#;
        let program = Program::compile(TemplateSet::parse(xml).unwrap()).unwrap();
        let refused = TemplateSamples::bind(&program, Some("Key")).unwrap_err();
        assert!(matches!(&refused[..], [Misshape::NotKey { template, .. }] if template == "B"));
        let samples =
            TemplateSamples::bind_selected(&program, Some("Key"), |index| index == 0).unwrap();
        let names: Vec<_> = samples.sets().iter().map(|set| set.name.as_str()).collect();
        assert_eq!(names, ["A"]);
    }

    fn bound(key: Option<&str>) -> (Arc<Program>, Result<TemplateSamples, Vec<Misshape>>) {
        let program = Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap());
        let samples = TemplateSamples::bind(&program, key);
        (program, samples)
    }

    #[test]
    fn a_message_becomes_a_sample_whose_key_stands_first_and_whose_absent_fields_are_absent() {
        let (program, samples) = bound(Some("Sym-bol"));
        let samples = samples.unwrap();
        // Presence map, template 1; then 7, "AB", no price, size 5, two legs.
        let bytes = [0xc0, 0x81, 0x87, b'A', 0xc2, 0x80, 0x86, 0x82, 0x83, 0x84];
        let mut decoder = Decoder::new(program);
        let decoded = decoder.decode(&bytes).unwrap();
        let mut out = Vec::new();
        samples.encode(decoded.message, &mut out).unwrap();
        let names: Vec<&str> =
            samples.sets()[0].of.members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["Sym_bol", "Number", "Price", "Size", "Legs"]);
        let expected = [
            &[3, 0, 0, 0, b'A', b'B', 0, 0][..],
            &[7, 0, 0, 0],
            &[0, 1, 0, 0],
            &[5, 0, 0, 0, 0, 0, 0, 0],
            &[12, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0],
        ];
        assert_eq!(out, expected.concat());
        let of = &samples.sets()[0].of;
        assert_eq!(of.check(&out, CdrEncoding::Xcdr2), Ok(()));
        assert_eq!(of.key(&out, CdrEncoding::Xcdr2), Ok(&out[..7]));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let misshapes = bound(Some("Size")).1.unwrap_err();
        assert!(matches!(&misshapes[..], [Misshape::NotKey { field, .. }] if field == "Size"));
        let misshapes = bound(Some("Nothing")).1.unwrap_err();
        assert!(matches!(&misshapes[..], [Misshape::NoKey { .. }]));
    }
}
