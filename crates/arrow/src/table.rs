//! Columns of a template's messages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit as ArrowTimeUnit};
use tickwire_fast::template::{
    Enumeration, Epoch, FieldType, Instruction, OperatorKind, Operators, TimeUnit, Value, Width,
};
use tickwire_fast::{
    FieldHandle, FieldLayout, Int, Program, Repeated, Scaled, SegmentRef, Slot, SlotKind, Storage,
    Text, UInt,
};
use tickwire_text::outline::Outline;

use crate::header::{self, PacketNumbers};

/// Digits of the largest 64-bit mantissa.
const MANTISSA_DIGITS: u8 = 19;
/// Largest scale of a decimal column: Arrow's decimals have 38 digits.
const SCALE_MAX: i32 = 38 - MANTISSA_DIGITS as i32;

/// How decimals become columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decimals {
    /// Decimal128 if the template fixes the exponent, otherwise two columns, mantissa and exponent.
    #[default]
    Exact,
    /// The nearest 64-bit floating-point number.
    Float64,
}

/// Unit of a row: an entry or a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowUnit {
    /// One row per innermost entry of a sequence, with the enclosing fields repeated; one row for a message
    /// without entries.
    #[default]
    Entries,
    /// One row per message; of a sequence only the number of entries is kept.
    Messages,
}

/// Options of a table.
#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    /// How decimals become columns.
    pub decimals: Decimals,
    /// Unit of a row.
    pub rows: RowUnit,
    /// Additional metadata of the schema, such as the packets' framing.
    pub metadata: Vec<(String, String)>,
}

/// The columns of the messages of one template, in its order.
///
/// | field | column |
/// |---|---|
/// | integers | of the same width and sign |
/// | `boolean` | Boolean |
/// | `enum` | dictionary of the element names; UInt64 if two elements share a name |
/// | `set` | UInt64, one bit per element |
/// | `timestamp` | Timestamp in UTC, Date32 for days; since midnight: Duration |
/// | strings | Utf8 |
/// | byte vectors | Binary |
/// | decimals whose exponent is constant and not above 0 | Decimal128 |
/// | other decimals | two: `NAME.mantissa` and `NAME.exponent` |
/// | group | the columns of its fields; if it is optional, `NAME.present` before them |
/// | sequence | `NAME.length`, the number of entries, null if the sequence is absent; `NAME.entry`, the index of the row's entry, null if the message has none; the columns of its fields |
/// | dynamic reference | its message as JSON |
///
/// Columns are named by the field's path, as in `MDEntries/MDEntryPx`; a repeated path gets the suffix `#2`.
/// The first columns say where the message came from: `pkt`, `off`, `time`, `seq_num`, `source`
/// and `destination`.
#[derive(Clone, Debug)]
pub struct TemplateTable {
    pub(crate) program: Arc<Program>,
    pub(crate) template: usize,
    pub(crate) schema: SchemaRef,
    pub(crate) kinds: Vec<ColumnKind>,
    pub(crate) root: Arc<SegmentNode>,
}

/// Type of a column, and the slot of its values in a record.
#[derive(Clone, Debug)]
pub(crate) enum ColumnKind {
    UInt(Slot<UInt>, Width),
    Int(Slot<Int>, Width),
    Boolean(Slot<UInt>),
    /// With the wire values of the elements, in order.
    Enum(Slot<UInt>, Arc<Enumeration>),
    Timestamp(Slot<Int>, ArrowTimeUnit),
    Date(Slot<Int>),
    SinceMidnight(Slot<Int>, ArrowTimeUnit),
    Ascii(Slot<Text>),
    /// UTF-8, unless the decoder is lenient.
    Unicode(Slot<Text>),
    Binary(Slot<Text>),
    /// With the column's scale.
    Decimal(Slot<Scaled>, i8),
    Mantissa(Slot<Scaled>),
    Exponent(Slot<Scaled>),
    Float(Slot<Scaled>),
    /// A constant. If it is optional: the index of the field in the record, which says whether it is present.
    Constant(Constant, Option<usize>),
    /// Presence of the group at this index.
    Present(usize),
    /// Number of entries of a sequence.
    Length(Slot<Repeated>),
    /// The index of an entry in its sequence.
    Entry,
    /// The message of a dynamic reference at this index, as JSON.
    Json(usize),
}

/// A constant value from the template.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    UInt(u64, Width),
    Int(i64, Width),
    Boolean(bool),
    Text(Arc<str>),
    Binary(Arc<[u8]>),
    Decimal(i64, i8),
    Mantissa(i64),
    Exponent(i32),
    Float(f64),
}

/// Columns of a segment (a message, group or sequence entry).
#[derive(Debug, Default)]
pub(crate) struct SegmentNode {
    /// Columns of the segment's own fields.
    pub(crate) columns: Vec<usize>,
    /// Groups and sequences in the order of the template, which is the order of rows.
    pub(crate) inner: Vec<NestedNode>,
}

/// A group or sequence inside a segment.
#[derive(Debug)]
pub(crate) enum NestedNode {
    Group(GroupNode),
    Sequence(SequenceNode),
}

#[derive(Debug)]
pub(crate) struct GroupNode {
    /// Index of the group in the enclosing record.
    pub(crate) index: usize,
    /// Column that says whether the group is present, if it is optional.
    pub(crate) present: Option<usize>,
    pub(crate) node: SegmentNode,
    /// All columns of the group's fields.
    pub(crate) all: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct SequenceNode {
    pub(crate) slot: Slot<Repeated>,
    /// Column of entry indexes.
    pub(crate) entry: usize,
    pub(crate) node: SegmentNode,
    /// All columns of the entries, the index column included.
    pub(crate) all: Range<usize>,
}

impl TemplateTable {
    /// Returns the columns of the template at this index of the program. Fields outside the program's
    /// projection have none.
    pub fn of(program: &Arc<Program>, template: usize, options: &TableOptions) -> Self {
        let outline = Outline::of(program);
        let fields = header::fields(PacketNumbers::Column);
        let names = fields.iter().map(|field| field.name().clone()).collect();
        let TableOptions { decimals, rows, .. } = *options;
        let kinds = Vec::new();
        let mut planning = Planning { program, outline, decimals, rows, fields, names, kinds };
        let layout = &program.templates()[template];
        let root = Arc::new(planning.node(layout.segment));
        let Planning { fields, kinds, .. } = planning;

        let mut metadata: HashMap<String, String> = options.metadata.iter().cloned().collect();
        metadata.insert("tickwire.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        metadata.insert("tickwire.template".to_owned(), layout.name.to_string());
        if let Some(id) = layout.id {
            metadata.insert("tickwire.template_id".to_owned(), id.0.to_string());
        }
        if let Some(signature) = program.set().signatures().get(template) {
            metadata.insert("tickwire.signature".to_owned(), signature.to_string());
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Self { program: Arc::clone(program), template, schema, kinds, root }
    }

    /// Returns names, types and metadata of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the index of the template.
    pub fn template(&self) -> usize {
        self.template
    }
}

/// A table under construction.
struct Planning<'p> {
    program: &'p Program,
    outline: Outline<'p>,
    decimals: Decimals,
    rows: RowUnit,
    fields: Vec<Field>,
    names: HashSet<String>,
    kinds: Vec<ColumnKind>,
}

impl Planning<'_> {
    fn node(&mut self, segment: SegmentRef) -> SegmentNode {
        let mut node = SegmentNode::default();
        for (index, field) in self.program.fields_of(segment).iter().enumerate() {
            let handle = FieldHandle { segment, index };
            let path = self.program.path(self.program.field_ref(handle));
            match &field.storage {
                Storage::Discarded => {}
                Storage::Group(inner) => {
                    let group = self.group(*inner, index, field, &path);
                    node.inner.push(NestedNode::Group(group));
                }
                Storage::Sequence { segment: inner, .. } => {
                    let Some(slot) = self.program.slot(handle) else { continue };
                    let length =
                        self.add(format!("{path}.length"), field.id, ColumnKind::Length(slot));
                    node.columns.push(length);
                    if self.rows == RowUnit::Messages {
                        continue;
                    }
                    let sequence = self.sequence(*inner, slot, &path);
                    node.inner.push(NestedNode::Sequence(sequence));
                }
                Storage::Dynamic(_) => {
                    node.columns.push(self.add(path, field.id, ColumnKind::Json(index)));
                }
                _ => {
                    for (suffix, kind) in self.scalar(handle, field) {
                        node.columns.push(self.add(format!("{path}{suffix}"), field.id, kind));
                    }
                }
            }
        }
        node
    }

    fn group(
        &mut self,
        inner: SegmentRef,
        index: usize,
        field: &FieldLayout,
        path: &str,
    ) -> GroupNode {
        let present = field
            .optional
            .then(|| self.add(format!("{path}.present"), field.id, ColumnKind::Present(index)));
        let start = self.kinds.len();
        let node = self.node(inner);
        let all = start..self.kinds.len();
        GroupNode { index, present, node, all }
    }

    fn sequence(&mut self, inner: SegmentRef, slot: Slot<Repeated>, path: &str) -> SequenceNode {
        let entry = self.add(format!("{path}.entry"), None, ColumnKind::Entry);
        let node = self.node(inner);
        SequenceNode { slot, entry, node, all: entry..self.kinds.len() }
    }

    /// Adds a column and returns its index, not counting header columns.
    fn add(&mut self, path: String, tag: Option<u32>, kind: ColumnKind) -> usize {
        let mut name = path.clone();
        let mut copies = 1;
        while !self.names.insert(name.clone()) {
            copies += 1;
            name = format!("{path}#{copies}");
        }
        let metadata = tag.map(|tag| ("tickwire.id".to_owned(), tag.to_string()));
        let field = Field::new(name, kind.data_type(), true)
            .with_metadata(metadata.into_iter().collect::<HashMap<_, _>>());
        self.fields.push(field);
        self.kinds.push(kind);
        self.kinds.len() - 1
    }

    /// Returns the columns of a scalar field, each with the suffix of its name.
    fn scalar(&self, handle: FieldHandle, field: &FieldLayout) -> Vec<(&'static str, ColumnKind)> {
        let constant = match &field.storage {
            Storage::Constant(value) => Some((value, None)),
            Storage::OptionalConstant(value) => Some((value, Some(handle.index))),
            _ => None,
        };
        let Some(field_type) = &field.field_type else { return Vec::new() };
        match (constant, field_type) {
            (Some((Value::Decimal(value), at)), _) => {
                let columns = match (self.decimals, scale(value.exponent)) {
                    (Decimals::Float64, _) => vec![("", Constant::Float(value.to_f64()))],
                    (_, Some(scale)) => vec![("", Constant::Decimal(value.mantissa, scale))],
                    _ => vec![
                        (".mantissa", Constant::Mantissa(value.mantissa)),
                        (".exponent", Constant::Exponent(value.exponent)),
                    ],
                };
                columns
                    .into_iter()
                    .map(|(name, value)| (name, ColumnKind::Constant(value, at)))
                    .collect()
            }
            (Some((value, at)), _) => {
                vec![("", ColumnKind::Constant(constant_of(value, field_type), at))]
            }
            (None, FieldType::Decimal) => self.decimal(handle),
            (None, _) => self.kind(handle, field_type).into_iter().map(|kind| ("", kind)).collect(),
        }
    }

    fn slot<K: SlotKind>(&self, handle: FieldHandle) -> Option<Slot<K>> {
        self.program.slot(handle)
    }

    fn kind(&self, handle: FieldHandle, field_type: &FieldType) -> Option<ColumnKind> {
        Some(match field_type {
            FieldType::UInt(width) => ColumnKind::UInt(self.slot(handle)?, *width),
            FieldType::Set(_) => ColumnKind::UInt(self.slot(handle)?, Width::W64),
            FieldType::Int(width) => ColumnKind::Int(self.slot(handle)?, *width),
            FieldType::Boolean => ColumnKind::Boolean(self.slot(handle)?),
            FieldType::Enum(enumeration) if has_distinct_names(enumeration) => {
                ColumnKind::Enum(self.slot(handle)?, enumeration.clone())
            }
            FieldType::Enum(_) => ColumnKind::UInt(self.slot(handle)?, Width::W64),
            FieldType::Timestamp(timestamp) => {
                let slot = self.slot(handle)?;
                match (time_unit(timestamp.unit), timestamp.epoch) {
                    (Some(unit), Epoch::Unix) => ColumnKind::Timestamp(slot, unit),
                    (None, Epoch::Unix) => ColumnKind::Date(slot),
                    (Some(unit), Epoch::Today) => ColumnKind::SinceMidnight(slot, unit),
                    (None, Epoch::Today) => ColumnKind::Int(slot, Width::W64),
                }
            }
            FieldType::Ascii => ColumnKind::Ascii(self.slot(handle)?),
            FieldType::Unicode => ColumnKind::Unicode(self.slot(handle)?),
            FieldType::ByteVector => ColumnKind::Binary(self.slot(handle)?),
            FieldType::Decimal => return None,
        })
    }

    fn decimal(&self, handle: FieldHandle) -> Vec<(&'static str, ColumnKind)> {
        let Some(slot) = self.slot(handle) else { return Vec::new() };
        match (self.decimals, self.fixed_exponent(handle).and_then(scale)) {
            (Decimals::Float64, _) => vec![("", ColumnKind::Float(slot))],
            (_, Some(scale)) => vec![("", ColumnKind::Decimal(slot, scale))],
            _ => vec![
                (".mantissa", ColumnKind::Mantissa(slot)),
                (".exponent", ColumnKind::Exponent(slot)),
            ],
        }
    }

    /// Returns the exponent of all values of a decimal field, if the template fixes it.
    fn fixed_exponent(&self, handle: FieldHandle) -> Option<i32> {
        let field = self.program.field_ref(handle);
        let Instruction::Field(field) = self.outline.instruction(field)? else { return None };
        match &field.operators {
            Operators::Parts { exponent, .. } if exponent.kind == OperatorKind::Constant => {
                match exponent.initial {
                    Some(Value::Int(exponent)) => i32::try_from(exponent).ok(),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// True if names are distinct and indexes fit 16 bits signed, as pandas requires.
fn has_distinct_names(enumeration: &Enumeration) -> bool {
    let mut names = HashSet::new();
    enumeration.elements.len() <= i16::MAX as usize
        && enumeration.elements.iter().all(|element| names.insert(&element.name))
}

/// Returns the scale for decimals with this exponent, if Arrow and Parquet support it.
fn scale(exponent: i32) -> Option<i8> {
    (-SCALE_MAX..=0).contains(&exponent).then_some(-exponent as i8)
}

fn time_unit(unit: TimeUnit) -> Option<ArrowTimeUnit> {
    match unit {
        TimeUnit::Day => None,
        TimeUnit::Second => Some(ArrowTimeUnit::Second),
        TimeUnit::Millisecond => Some(ArrowTimeUnit::Millisecond),
        TimeUnit::Microsecond => Some(ArrowTimeUnit::Microsecond),
        TimeUnit::Nanosecond => Some(ArrowTimeUnit::Nanosecond),
    }
}

fn constant_of(value: &Value, field_type: &FieldType) -> Constant {
    match (value, field_type) {
        (Value::UInt(value), FieldType::Boolean) => Constant::Boolean(*value != 0),
        (Value::UInt(value), FieldType::Enum(enumeration)) if has_distinct_names(enumeration) => {
            let element = enumeration.elements.iter().find(|element| element.value == *value);
            match element {
                Some(element) => Constant::Text(element.name.as_ref().into()),
                None => Constant::UInt(*value, Width::W64),
            }
        }
        (Value::UInt(value), FieldType::UInt(width)) => Constant::UInt(*value, *width),
        (Value::UInt(value), _) => Constant::UInt(*value, Width::W64),
        (Value::Int(value), FieldType::Int(width)) => Constant::Int(*value, *width),
        (Value::Int(value), _) => Constant::Int(*value, Width::W64),
        (Value::Bytes(bytes), FieldType::Ascii | FieldType::Unicode) => {
            match std::str::from_utf8(bytes) {
                Ok(text) => Constant::Text(text.into()),
                Err(_) => Constant::Binary(bytes.as_ref().into()),
            }
        }
        (Value::Bytes(bytes), _) => Constant::Binary(bytes.as_ref().into()),
        (Value::Decimal(value), _) => Constant::Mantissa(value.mantissa),
    }
}

fn uint(width: Width) -> DataType {
    match width {
        Width::W8 => DataType::UInt8,
        Width::W16 => DataType::UInt16,
        Width::W32 => DataType::UInt32,
        Width::W64 => DataType::UInt64,
    }
}

fn int(width: Width) -> DataType {
    match width {
        Width::W8 => DataType::Int8,
        Width::W16 => DataType::Int16,
        Width::W32 => DataType::Int32,
        Width::W64 => DataType::Int64,
    }
}

fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int16), Box::new(DataType::Utf8))
}

impl ColumnKind {
    /// Returns the Arrow type of the column.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::UInt(_, width) | Self::Constant(Constant::UInt(_, width), _) => uint(*width),
            Self::Int(_, width) | Self::Constant(Constant::Int(_, width), _) => int(*width),
            Self::Boolean(_) | Self::Present(_) | Self::Constant(Constant::Boolean(_), _) => {
                DataType::Boolean
            }
            Self::Enum(..) | Self::Constant(Constant::Text(_), _) => words(),
            Self::Timestamp(_, unit) => DataType::Timestamp(*unit, Some("UTC".into())),
            Self::Date(_) => DataType::Date32,
            Self::SinceMidnight(_, unit) => DataType::Duration(*unit),
            Self::Ascii(_) | Self::Unicode(_) | Self::Json(_) => DataType::Utf8,
            Self::Binary(_) | Self::Constant(Constant::Binary(_), _) => DataType::Binary,
            Self::Decimal(_, scale) | Self::Constant(Constant::Decimal(_, scale), _) => {
                DataType::Decimal128(MANTISSA_DIGITS, *scale)
            }
            Self::Mantissa(_) | Self::Constant(Constant::Mantissa(_), _) => DataType::Int64,
            Self::Exponent(_) | Self::Constant(Constant::Exponent(_), _) => DataType::Int32,
            Self::Float(_) | Self::Constant(Constant::Float(_), _) => DataType::Float64,
            Self::Length(_) | Self::Entry => DataType::UInt32,
        }
    }
}
