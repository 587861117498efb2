//! Finds sequence numbers inside messages without decoding them.

use std::fmt;
use std::str::FromStr;

use tickwire_fast::TemplateSet;
use tickwire_fast::template::{
    FieldInstruction, FieldType, Instruction, Operator, OperatorKind, Operators, Presence,
};

/// FIX tag of MsgSeqNum.
const MSG_SEQ_NUM: u32 = 34;
const STOP_BIT: u8 = 0x80;
/// First bit of a presence map: the template id is present.
const FIRST_BIT: u8 = 0x40;
/// Bits of a presence map in one byte.
const MAP_BITS: usize = 7;

/// Field of a message with its sequence number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeqNumField {
    /// The field of this name.
    Name(String),
    /// The field with this id, usually a FIX tag. Default 34, MsgSeqNum.
    Tag(u32),
}

impl Default for SeqNumField {
    fn default() -> Self {
        Self::Tag(MSG_SEQ_NUM)
    }
}

impl SeqNumField {
    /// True if this name and id are those of the field.
    pub fn is(&self, name: &str, id: Option<u32>) -> bool {
        match self {
            Self::Name(wanted) => wanted == name,
            Self::Tag(wanted) => id == Some(*wanted),
        }
    }
}

/// Parses a number as a tag, everything else as a name.
impl FromStr for SeqNumField {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Tag))
    }
}

impl fmt::Display for SeqNumField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Tag(tag) => tag.fmt(f),
        }
    }
}

/// Result of searching a packet for its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peeked {
    /// The sequence number of the first message that has one.
    Number(u64),
    /// No message of the packet has one.
    Unnumbered,
    /// Only decoding can tell, or the bytes are not messages of these templates.
    Unknown,
}

/// How a field is skipped or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldShape {
    /// No bytes.
    Nothing,
    /// Bytes up to the first with a stop bit.
    Stopped,
    /// A length, nullable or not, and that many bytes.
    Vector { nullable: bool },
}

/// A field on the path to the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathStep {
    shape: FieldShape,
    /// True if a presence-map bit tells whether the field is present.
    has_bit: bool,
}

/// End of the path to the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathEnd {
    /// The number is the next field.
    Number { has_bit: bool, nullable: bool, is_vector: bool },
    /// The template has no sequence number and ends here.
    Message,
    /// The following fields cannot be skipped simply.
    Unknown,
}

/// The path from the template id to the sequence number.
#[derive(Clone, Debug)]
struct Way {
    steps: Vec<PathStep>,
    end: PathEnd,
}

/// Finds sequence numbers inside packets by skipping the few fields before them.
///
/// The templates tell which fields those are. A number after a group, a sequence or a decimal with
/// separate operators is not found, and neither is a number whose value is not on the wire.
#[derive(Clone, Debug)]
pub struct SeqNumPeek {
    /// By template id, sorted.
    ways: Vec<(u32, Way)>,
}

impl SeqNumPeek {
    /// Finds the field in every template.
    pub fn new(set: &TemplateSet, field: &SeqNumField) -> Self {
        let mut ways: Vec<(u32, Way)> = set
            .templates()
            .iter()
            .filter_map(|template| {
                let id = template.id?.0;
                let mut way = Way { steps: Vec::new(), end: PathEnd::Message };
                way.add(set, &template.instructions, field);
                Some((id, way))
            })
            .collect();
        ways.sort_unstable_by_key(|(id, _)| *id);
        Self { ways }
    }

    /// True if any template has a number that can be found.
    pub fn can_find(&self) -> bool {
        self.ways.iter().any(|(_, way)| matches!(way.end, PathEnd::Number { .. }))
    }

    /// Finds the sequence number in the FAST bytes of a packet.
    pub fn peek(&self, bytes: &[u8]) -> Peeked {
        let mut rest = bytes;
        let mut way = None;
        while !rest.is_empty() {
            match self.message(rest, &mut way) {
                Some(Ok(number)) => return Peeked::Number(number),
                Some(Err(behind)) => rest = behind,
                None => return Peeked::Unknown,
            }
        }
        Peeked::Unnumbered
    }

    /// Returns the number of the first message, or the bytes after that message.
    fn message<'p, 'b>(
        &'p self,
        bytes: &'b [u8],
        way: &mut Option<&'p Way>,
    ) -> Option<Result<u64, &'b [u8]>> {
        let (map, mut rest) = split_stopped(bytes)?;
        if map.first()? & FIRST_BIT != 0 {
            let (id, behind) = split_stopped(rest)?;
            let id = u32::try_from(integer(id)?).ok()?;
            let index = self.ways.binary_search_by_key(&id, |(id, _)| *id).ok()?;
            *way = self.ways.get(index).map(|(_, way)| way);
            rest = behind;
        }
        let way = (*way)?;
        let mut bit = 1;
        let mut is_there = |has_bit: bool| {
            if !has_bit {
                return true;
            }
            let byte = map.get(bit / MAP_BITS).copied().unwrap_or(0);
            let is_set = byte & (FIRST_BIT >> (bit % MAP_BITS)) != 0;
            bit += 1;
            is_set
        };
        for step in &way.steps {
            if is_there(step.has_bit) {
                rest = step.shape.pass(rest)?;
            }
        }
        match way.end {
            PathEnd::Number { has_bit, nullable, is_vector } => {
                if !is_there(has_bit) {
                    return None;
                }
                let number =
                    if is_vector { vector(rest, nullable)? } else { whole(rest, nullable)? };
                Some(Ok(number))
            }
            PathEnd::Message => Some(Err(rest)),
            PathEnd::Unknown => None,
        }
    }
}

impl Way {
    /// Adds instructions up to the number or the first field that is not simple; returns true if
    /// the path continues after them.
    fn add(
        &mut self,
        set: &TemplateSet,
        instructions: &[Instruction],
        wanted: &SeqNumField,
    ) -> bool {
        for instruction in instructions {
            let goes_on = match instruction {
                Instruction::Field(field) => self.add_field(field, wanted),
                Instruction::StaticRef(index, _) => match set.templates().get(*index) {
                    Some(template) => self.add(set, &template.instructions, wanted),
                    None => self.end_with(PathEnd::Unknown),
                },
                Instruction::Group(_) | Instruction::DynamicRef(_) => {
                    self.end_with(PathEnd::Unknown)
                }
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn end_with(&mut self, end: PathEnd) -> bool {
        self.end = end;
        false
    }

    fn add_field(&mut self, field: &FieldInstruction, wanted: &SeqNumField) -> bool {
        if !wanted.is(&field.name.local, field.id) {
            return match steps_of(field) {
                Some(steps) => {
                    self.steps.extend(steps);
                    true
                }
                None => self.end_with(PathEnd::Unknown),
            };
        }
        self.end_with(number_of(field).unwrap_or(PathEnd::Unknown))
    }
}

/// Returns the operator of a field that has a single one.
fn operator_of(field: &FieldInstruction) -> Option<&Operator> {
    match &field.operators {
        Operators::Whole(operator) => Some(operator),
        Operators::Parts { .. } => None,
    }
}

/// Returns how the number itself is read.
fn number_of(field: &FieldInstruction) -> Option<PathEnd> {
    let is_vector = match field.field_type {
        FieldType::UInt(_) => false,
        FieldType::ByteVector => true,
        _ => return None,
    };
    let nullable = field.presence == Presence::Optional;
    let kind = operator_of(field)?.kind;
    let is_read = match kind {
        OperatorKind::None
        | OperatorKind::Copy
        | OperatorKind::Default
        | OperatorKind::Increment => true,
        OperatorKind::Constant | OperatorKind::Delta | OperatorKind::Tail => false,
    };
    is_read.then(|| PathEnd::Number { has_bit: kind.has_map_bit(nullable), nullable, is_vector })
}

/// Returns how a field before the number is skipped; `None` if that is not simple.
fn steps_of(field: &FieldInstruction) -> Option<Vec<PathStep>> {
    let optional = field.presence == Presence::Optional;
    let kind = operator_of(field)?.kind;
    let has_bit = kind.has_map_bit(optional);
    let is_delta = match kind {
        OperatorKind::Constant => {
            return Some(vec![PathStep { shape: FieldShape::Nothing, has_bit }]);
        }
        OperatorKind::Delta => true,
        OperatorKind::None
        | OperatorKind::Default
        | OperatorKind::Copy
        | OperatorKind::Increment
        | OperatorKind::Tail => false,
    };
    let shapes = match field.field_type {
        FieldType::UInt(_)
        | FieldType::Int(_)
        | FieldType::Boolean
        | FieldType::Enum(_)
        | FieldType::Set(_)
        | FieldType::Timestamp(_) => vec![FieldShape::Stopped],
        FieldType::Ascii if !is_delta => vec![FieldShape::Stopped],
        FieldType::Unicode | FieldType::ByteVector if !is_delta => {
            vec![FieldShape::Vector { nullable: optional }]
        }
        FieldType::Ascii if !optional => vec![FieldShape::Stopped; 2],
        FieldType::Unicode | FieldType::ByteVector if !optional => {
            vec![FieldShape::Stopped, FieldShape::Vector { nullable: false }]
        }
        FieldType::Decimal if !optional && !has_bit => vec![FieldShape::Stopped; 2],
        _ => return None,
    };
    Some(shapes.into_iter().map(|shape| PathStep { shape, has_bit }).collect())
}

impl FieldShape {
    /// Returns the bytes after the first field.
    fn pass(self, bytes: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Nothing => Some(bytes),
            Self::Stopped => split_stopped(bytes).map(|(_, rest)| rest),
            Self::Vector { nullable } => {
                let (len, rest) = split_stopped(bytes)?;
                let len = integer(len)?;
                if nullable && len == 0 {
                    return Some(rest);
                }
                rest.get(usize::try_from(len - u64::from(nullable)).ok()?..)
            }
        }
    }
}

/// Splits after the first byte with a stop bit.
fn split_stopped(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| byte & STOP_BIT != 0)?;
    bytes.split_at_checked(end + 1)
}

fn integer(bytes: &[u8]) -> Option<u64> {
    bytes.iter().try_fold(0_u64, |number, byte| {
        (number <= u64::MAX >> 7).then_some(number << 7 | u64::from(byte & !STOP_BIT))
    })
}

/// Returns the first integer; `None` for a null.
fn whole(bytes: &[u8], nullable: bool) -> Option<u64> {
    let (number, _) = split_stopped(bytes)?;
    integer(number)?.checked_sub(u64::from(nullable))
}

/// Returns the big-endian number in the first byte vector, of at most 8 bytes.
fn vector(bytes: &[u8], nullable: bool) -> Option<u64> {
    let (len, rest) = split_stopped(bytes)?;
    let len = integer(len)?.checked_sub(u64::from(nullable))?;
    let number = rest.get(..usize::try_from(len).ok().filter(|len| *len <= size_of::<u64>())?)?;
    Some(number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn peek(fields: &str, bytes: &[u8]) -> Peeked {
        let xml = format!(
            r#"<templates>
              <template name="T" id="1">{fields}</template>
              <template name="Reset" id="120" reset="yes"/>
              <template name="Done" id="2"><string name="x"><constant value="d"/></string></template>
            </templates>"#
        );
        let set = TemplateSet::parse(&xml).unwrap();
        SeqNumPeek::new(&set, &SeqNumField::default()).peek(bytes)
    }

    const NUMBER: &str = r#"<uInt32 name="MsgSeqNum" id="34"/>"#;

    #[test]
    fn the_number_behind_constants_and_other_messages() {
        let fields = format!(r#"<string name="a"><constant value="X"/></string>{NUMBER}"#);
        assert_eq!(peek(&fields, &[0xC0, 0x81, 0x02, 0x83]), Peeked::Number(259));
        assert_eq!(peek(&fields, &[0xC0, 0xF8, 0xC0, 0x81, 0x87]), Peeked::Number(7));
        assert_eq!(peek(&fields, &[0xC0, 0xF8, 0xC0, 0x82]), Peeked::Unnumbered);
        assert_eq!(peek(&fields, &[]), Peeked::Unnumbered);
    }

    #[test]
    fn fields_with_bits_are_passed_over_where_they_are_there() {
        let fields = format!(
            r#"<uInt32 name="a"><copy/></uInt32><string name="b"><constant value="X"/></string>
            <string name="c" presence="optional"><default/></string>
            <byteVector name="d" presence="optional"/><decimal name="e"/>
            <string name="f"><delta/></string>{NUMBER}"#
        );
        // The presence bits of a and c, and neither.
        let all = [0xF0, 0x81, 0x85, 0x41, 0x80 | 0x42, 0x83, 9, 9, 0x81, 0x87, 0x80, 0xC1, 0x88];
        assert_eq!(peek(&fields, &all), Peeked::Number(8));
        assert_eq!(
            peek(&fields, &[0xC0, 0x81, 0x80, 0x81, 0x87, 0x80, 0xC1, 0x88]),
            Peeked::Number(8)
        );
    }

    #[test]
    fn numbers_with_operators_are_found_where_they_are_on_the_wire() {
        let increment = r#"<uInt32 name="MsgSeqNum" id="34"><increment/></uInt32>"#;
        assert_eq!(peek(increment, &[0xE0, 0x81, 0x89]), Peeked::Number(9));
        assert_eq!(peek(increment, &[0xC0, 0x81]), Peeked::Unknown);
        let optional = r#"<uInt32 name="MsgSeqNum" id="34" presence="optional"/>"#;
        assert_eq!(peek(optional, &[0xC0, 0x81, 0x89]), Peeked::Number(8));
        assert_eq!(peek(optional, &[0xC0, 0x81, 0x80]), Peeked::Unknown);
        let vector = r#"<byteVector name="MsgSeqNum" id="34"/>"#;
        assert_eq!(peek(vector, &[0xC0, 0x81, 0x84, 0, 0, 1, 2]), Peeked::Number(258));
        assert_eq!(peek(vector, &[0xC0, 0x81, 0x84, 0, 0, 1]), Peeked::Unknown);
    }

    #[test]
    fn what_is_not_simple_is_not_guessed() {
        let behind = |field: &str| format!("{field}{NUMBER}");
        let group = behind(r#"<group name="g"><uInt32 name="a"/></group>"#);
        assert_eq!(peek(&group, &[0xC0, 0x81, 0x81, 0x82]), Peeked::Unknown);
        let delta = r#"<uInt32 name="MsgSeqNum" id="34"><delta/></uInt32>"#;
        assert_eq!(peek(delta, &[0xC0, 0x81, 0x81]), Peeked::Unknown);
        assert_eq!(peek(NUMBER, &[0xC0, 0x85, 0x81]), Peeked::Unknown, "unknown template");
        assert_eq!(peek(NUMBER, &[0x80, 0x81]), Peeked::Unknown, "no template id yet");
        assert_eq!(peek(NUMBER, &[0xC0, 0x81, 1]), Peeked::Unknown, "cut");
    }

    #[test]
    fn tags_and_names_are_told_apart() {
        assert_eq!("34".parse(), Ok(SeqNumField::default()));
        let name: SeqNumField = "SequenceNumber".parse().unwrap();
        assert!(name.is("SequenceNumber", Some(200)) && !name.is("Other", Some(34)));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let fields = format!(
                r#"<byteVector name="d" presence="optional"/><unicode/>{NUMBER}"#
            ).replace("<unicode/>", r#"<string charset="unicode" name="u"><tail/></string>"#);
            peek(&fields, &bytes);
        }
    }
}
