//! The structs of a module: one per template, group and sequence entry.

use crate::names::{NameScope, snake};
use crate::operation::FieldPart;
use std::collections::HashMap;
use tickwire_fast::TemplateId;
use tickwire_fast::rt::ValueKind;
use tickwire_fast::rt::expanded::{Body, ExpandedField, FieldKind, Operation};

/// Most bits of a presence map in one word.
const WORD_BITS: u32 = 63;
/// Most bits of a map that is tested as 32 bits, with shorter instructions.
const NARROW_BITS: u32 = 32;

/// How presence-map bits of a segment are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapMode {
    /// Fixed positions in a 64-bit word, tested with constants.
    Fixed,
    /// Fixed positions in a 32-bit word.
    Narrow,
    /// Consumed one by one, because a mantissa's bit is present only if its exponent is.
    Taken,
    /// As `Taken`, with a map of this many words.
    Wide(u32),
}

impl MapMode {
    /// True if bits have fixed positions.
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed | Self::Narrow)
    }

    /// Returns the position of bit number `bit` in its word, if bits have fixed positions.
    pub(crate) fn place(self, bit: u32) -> Option<u32> {
        match self {
            Self::Fixed => Some(63 - bit),
            Self::Narrow => Some(31 - bit),
            Self::Taken | Self::Wide(_) => None,
        }
    }
}

/// The root of a message.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// Index of the template in the set.
    pub(crate) template: usize,
    /// Number of the template in the module.
    pub(crate) number: usize,
    pub(crate) id: TemplateId,
    /// Name of its field in `Messages`.
    pub(crate) ident: String,
    pub(crate) is_dynamic: bool,
    pub(crate) reset: bool,
    pub(crate) depth: u32,
}

/// A struct and the segment it stores.
#[derive(Debug)]
pub(crate) struct StructShape<'p> {
    /// Name of the struct.
    pub(crate) name: String,
    /// Text of its doc comment.
    pub(crate) doc: String,
    pub(crate) body: &'p Body<'p>,
    pub(crate) members: Vec<StructMember<'p>>,
    pub(crate) root: Option<Root>,
    /// Number of presence-map bits, including that of the template id.
    pub(crate) map_bits: u32,
    pub(crate) mode: MapMode,
    /// Number of presence bits in the struct.
    pub(crate) presence: usize,
    /// True if any field is stored.
    pub(crate) is_stored: bool,
    /// True if some field is in the stream regardless of the presence map.
    pub(crate) takes_bytes: bool,
    /// True if it has strings that may need the arena.
    pub(crate) has_text: bool,
    /// Number of enclosing groups, sequences and references.
    pub(crate) depth: u32,
}

/// A field of a segment and its place in the struct.
#[derive(Debug)]
pub(crate) struct StructMember<'p> {
    pub(crate) plan: &'p ExpandedField<'p>,
    /// Index of the field in its segment.
    pub(crate) index: usize,
    pub(crate) ident: String,
    /// Index of the presence bit; only fields that are stored and may be absent have one.
    pub(crate) presence: Option<usize>,
    /// True if the struct stores it.
    pub(crate) is_stored: bool,
    /// Number of its first presence-map bit.
    pub(crate) bit: u32,
    /// Shape of the group or of the sequence's entries.
    pub(crate) child: Option<usize>,
}

impl StructMember<'_> {
    /// Returns the only operator of the field.
    pub(crate) fn part<'o>(&self, operation: &'o Operation<'o>) -> FieldPart<'o> {
        FieldPart { operation, is_optional: self.plan.is_optional, bit: self.bit }
    }

    /// Returns the operators of a decimal's parts.
    pub(crate) fn parts<'o>(
        &self,
        exponent: &'o Operation<'o>,
        mantissa: &'o Operation<'o>,
    ) -> [FieldPart<'o>; 2] {
        let bit = self.bit + map_bits(exponent);
        [self.part(exponent), FieldPart { operation: mantissa, is_optional: false, bit }]
    }

    /// Returns statements of a method that are executed if the field is present.
    pub(crate) fn if_present(&self, statements: &str) -> String {
        match self.presence {
            Some(bit) => {
                let (word, bit) = (bit / 64, bit % 64);
                format!("if self.present[{word}] & (1 << {bit}) != 0 {{ {statements} }}\n")
            }
            None => format!("{statements}\n"),
        }
    }
}

impl StructShape<'_> {
    /// Returns the name of a function: a verb, and the words of the struct's name.
    pub(crate) fn function(&self, verb: &str) -> String {
        format!("{verb}_{}", snake(&self.name).trim_end_matches('_'))
    }

    /// Returns how often each dictionary entry is used, in nested segments too.
    pub(crate) fn uses(&self) -> HashMap<u32, usize> {
        let mut uses = HashMap::new();
        self.body.for_each(&mut |operation| {
            if let Some(entry) = operation.entry {
                *uses.entry(entry).or_default() += 1;
            }
        });
        uses
    }

    /// True if the segment has a presence map of its own.
    pub(crate) fn has_map(&self) -> bool {
        self.root.is_some() || self.map_bits > 0
    }

    /// Returns the mask of the presence bits in a word.
    pub(crate) fn presence_mask(&self, word: usize) -> u64 {
        match self.presence.saturating_sub(64 * word) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }
    }

    /// Returns the number of words of presence bits.
    pub(crate) fn presence_words(&self) -> usize {
        self.presence.div_ceil(64)
    }
}

/// Returns the number of presence-map bits of an operator.
pub(crate) fn map_bits(operation: &Operation<'_>) -> u32 {
    u32::from(operation.rule.has_map_bit())
}

/// Returns the number of presence-map bits of a field.
pub(crate) fn field_bits(field: &ExpandedField<'_>) -> u32 {
    match field.kind {
        FieldKind::Group(_) => u32::from(field.is_optional),
        _ => field.operations().map(map_bits).sum(),
    }
}

/// True if a field's value determines which bits follow.
fn is_conditional(field: &ExpandedField<'_>) -> bool {
    matches!(&field.kind, FieldKind::Parts { mantissa, .. }
        if field.is_optional && mantissa.rule.has_map_bit())
}

pub(crate) fn takes_bytes(field: &ExpandedField<'_>) -> bool {
    matches!(field.kind, FieldKind::Dynamic)
        || field.operations().any(|operation| operation.rule.takes_bytes())
}

/// Returns how the bits of a segment's presence map are addressed.
pub(crate) fn map_mode(body: &Body<'_>, map_bits: u32) -> MapMode {
    match body.fields.iter().any(is_conditional) {
        _ if map_bits > WORD_BITS => MapMode::Wide(map_bits.div_ceil(WORD_BITS)),
        true => MapMode::Taken,
        false if map_bits <= NARROW_BITS => MapMode::Narrow,
        false => MapMode::Fixed,
    }
}

/// True if a field is a string or byte vector.
pub(crate) fn is_text(field: &ExpandedField<'_>) -> bool {
    field.operations().any(|operation| operation.values() == ValueKind::Text)
}

/// True if a field is a constant.
pub(crate) fn is_constant(field: &ExpandedField<'_>) -> bool {
    matches!(&field.kind, FieldKind::Scalar { operation, .. }
        if operation.rule.is_constant())
}

/// Names that methods and fields of the structs already use.
pub(crate) fn member_scope() -> NameScope {
    NameScope::with(
        "arena present fill visit text new_text clone clone_from default fmt clear borrow \
        borrow_mut into from to_owned type_id",
    )
}
