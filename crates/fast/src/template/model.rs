//! The checked model of a template set: the contents of a template file, with scopes resolved.
//!
//! Every operator carries the dictionary entry it uses ([`EntryKey`]), already resolved from the
//! `dictionary`, `key` and `ns` attributes around it, so later stages do not need attributes.
//! Definitions of FAST 1.2 (`define`, `field`/`type`) are expanded in place.

use std::fmt;
use std::sync::Arc;

/// A namespace and a local name. The namespace is empty if the file gives none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// Namespace URI, or empty.
    pub ns: Box<str>,
    /// Local name.
    pub local: Box<str>,
}

impl Name {
    /// Builds a name without a namespace.
    pub fn local(local: &str) -> Self {
        Self { ns: "".into(), local: local.into() }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.local)
    }
}

/// A position in a template file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// The number that identifies a template on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TemplateId(pub u32);

impl fmt::Display for TemplateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An attribute that the reader does not know, kept for the user as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name, with its namespace, if any.
    pub name: Name,
    /// Value as written, entities resolved.
    pub value: Box<str>,
}

/// One template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Name and template namespace.
    pub name: Name,
    /// Template identifier; a template without one can only be referenced statically.
    pub id: Option<TemplateId>,
    /// Application type from `typeRef`.
    pub application_type: Option<Name>,
    /// True if the template resets the dictionaries before its own fields.
    pub reset: bool,
    /// Field instructions in wire order.
    pub instructions: Vec<Instruction>,
    /// Attributes that the reader does not know.
    pub attributes: Vec<Attribute>,
    /// Position of the template in its file.
    pub location: Location,
}

/// One instruction of a template, group or sequence.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// A scalar field.
    Field(FieldInstruction),
    /// A group or a sequence.
    Group(GroupInstruction),
    /// A static template reference: the index in
    /// [`TemplateSet::templates`](super::TemplateSet::templates) of the template whose instructions
    /// are inserted here, with their own dictionary scopes.
    StaticRef(usize, Location),
    /// A dynamic template reference: a whole segment with its own presence map and template id.
    DynamicRef(Location),
}

/// Presence of a field: mandatory or optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Always has a value.
    Mandatory,
    /// May be absent.
    Optional,
}

/// A scalar field instruction.
#[derive(Clone, Debug)]
pub struct FieldInstruction {
    /// Field name.
    pub name: Name,
    /// Field id (`id=`), usually a FIX tag.
    pub id: Option<u32>,
    /// Presence of the field.
    pub presence: Presence,
    /// Type on the wire and in the application.
    pub field_type: FieldType,
    /// Operator, or operators for a decimal with parts.
    pub operators: Operators,
    /// Attributes that the reader does not know.
    pub attributes: Vec<Attribute>,
    /// Position of the field in its file.
    pub location: Location,
}

/// Width of an integer type in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 8 bits.
    W8 = 8,
    /// 16 bits.
    W16 = 16,
    /// 32 bits.
    W32 = 32,
    /// 64 bits.
    W64 = 64,
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `uInt8` to `uInt64`.
    UInt(Width),
    /// `int8` to `int64`.
    Int(Width),
    /// FAST 1.2 `boolean`: 0 is false, 1 is true; unsigned on the wire.
    Boolean,
    /// FAST 1.2 `enum`: the value of an element, unsigned on the wire.
    Enum(Arc<Enumeration>),
    /// FAST 1.2 `set`: one bit per element, unsigned 64 bits on the wire.
    Set(Arc<Enumeration>),
    /// FAST 1.2 `timestamp`: `int64` on the wire.
    Timestamp(Timestamp),
    /// `string` with charset ascii.
    Ascii,
    /// `string` with charset unicode.
    Unicode,
    /// `byteVector`.
    ByteVector,
    /// `decimal`.
    Decimal,
}

/// The elements of an `enum` or `set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// Name of its `define`, empty if anonymous.
    pub name: Box<str>,
    /// Elements in file order.
    pub elements: Vec<Element>,
}

/// An element of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Element name.
    pub name: Box<str>,
    /// `id=` as written; empty if absent.
    pub id: Box<str>,
    /// For an `enum` the value on the wire; for a `set` the bit, `1 << index`.
    pub value: u64,
}

/// Unit and epoch of a timestamp field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Unit of the integer.
    pub unit: TimeUnit,
    /// Time of the value zero.
    pub epoch: Epoch,
}

/// Unit of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// 86,400 seconds.
    Day,
    /// A second.
    Second,
    /// A thousandth of a second.
    Millisecond,
    /// A millionth of a second.
    Microsecond,
    /// A billionth of a second.
    Nanosecond,
}

/// Epoch of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Epoch {
    /// 1 January 1970 UTC.
    Unix,
    /// Midnight of the current day.
    Today,
}

/// The operator of a field, or those of a decimal's two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operators {
    /// One operator for the whole field.
    Whole(Operator),
    /// A decimal with individual operators.
    Parts {
        /// Operator of the exponent; carries the field's presence.
        exponent: Operator,
        /// Operator of the mantissa; always mandatory.
        mantissa: Operator,
    },
}

/// An operator with its initial value and dictionary entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Which operator.
    pub kind: OperatorKind,
    /// Initial value, converted to the field's type.
    pub initial: Option<Value>,
    /// The dictionary entry (used by copy, increment, delta and tail only).
    pub entry: EntryKey,
}

/// The field operators of FAST 1.1 §6.3, and none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperatorKind {
    /// No operator: the value is always in the stream.
    None,
    /// The value is the initial value and never in the stream.
    Constant,
    /// The initial value if none is in the stream.
    Default,
    /// The previous value if none is in the stream.
    Copy,
    /// The previous value plus one if none is in the stream.
    Increment,
    /// The stream has the difference from the previous value.
    Delta,
    /// The stream has the end of a string, the rest is from the previous value.
    Tail,
}

impl OperatorKind {
    /// Returns true if the operator reads or writes a dictionary entry.
    pub fn uses_dictionary(self) -> bool {
        self.rule(false, true).uses_dictionary()
    }

    /// Returns true if a field with this operator has a bit in the presence map.
    ///
    /// Spec: FAST 1.1 §10.5.1.
    pub fn has_map_bit(self, is_optional: bool) -> bool {
        self.rule(is_optional, true).has_map_bit()
    }
}

/// Identifies one entry of one dictionary: operators with equal keys share their previous value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryKey {
    /// The dictionary.
    pub dictionary: DictionaryScope,
    /// Namespace and name of the entry.
    pub key: Name,
    /// Distinguishes parts without a name of their own, which use the name of their field.
    pub part: EntryPart,
}

/// A dictionary, resolved from the innermost `dictionary` attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DictionaryScope {
    /// `dictionary="global"`, the default.
    Global,
    /// `dictionary="template"`, with the template's name.
    Template(Name),
    /// `dictionary="type"`, with the operator's enclosing application type (`None` is `any`).
    Type(Option<Name>),
    /// A dictionary with any other name.
    Named(Box<str>),
}

/// The part of a field that an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryPart {
    /// The field, or an explicit key.
    Whole,
    /// The exponent of the decimal of that name.
    Exponent,
    /// The mantissa of the decimal of that name.
    Mantissa,
    /// The implicit length of the sequence of that name.
    Length,
}

/// A value of a field's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An unsigned integer, boolean, enum or set.
    UInt(u64),
    /// A signed integer or timestamp.
    Int(i64),
    /// Mantissa times ten to the power of the exponent.
    Decimal(Decimal),
    /// The bytes of a string or byte vector.
    Bytes(Box<[u8]>),
}

/// A scaled number: `mantissa` x 10^`exponent`, never normalised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Mantissa.
    pub mantissa: i64,
    /// Exponent, -63 to 63 if the stream conforms to the specification.
    pub exponent: i32,
}

/// A group: an optional or mandatory list of fields, with a presence map of its own if it needs
/// one. With a length it is a sequence: that many entries, each a group.
#[derive(Clone, Debug)]
pub struct GroupInstruction {
    /// Name.
    pub name: Name,
    /// Field id.
    pub id: Option<u32>,
    /// Presence of the group or sequence.
    pub presence: Presence,
    /// The length field of a sequence; `None` for a group.
    pub length: Option<Length>,
    /// Application type from `typeRef`.
    pub application_type: Option<Name>,
    /// Instructions of the group, or of one entry, in wire order.
    pub instructions: Vec<Instruction>,
    /// Attributes that the reader does not know.
    pub attributes: Vec<Attribute>,
    /// Position in its file.
    pub location: Location,
}

/// The length of a sequence, `uInt32` on the wire.
#[derive(Clone, Debug)]
pub struct Length {
    /// Name; `None` if the file has no `length` element, or the element has no name.
    pub name: Option<Name>,
    /// Field id.
    pub id: Option<u32>,
    /// Operator.
    pub operator: Operator,
}
