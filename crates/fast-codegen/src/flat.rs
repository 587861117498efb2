//! Templates whose fields are all read at once.

use crate::integer::IntegerType;
use crate::module::Module;
use crate::shape::{Member, Shape, is_fixed_constant};
use tickwire_fast::rt::plan::{FieldKind, OperatorKind};
use tickwire_fast::rt::{FLAT_FIELDS_MIN, FLAT_LANES};
use tickwire_fast::template::Width;

/// A field that has a lane.
pub(crate) struct FlatField<'s, 'p> {
    member: &'s Member<'p>,
    integer: IntegerType,
    slot: usize,
    counts: bool,
}

impl<'p> Module<'p> {
    /// How the fields of a template are read at once, if they can be.
    pub(crate) fn flat_segment(&self, shape: &Shape<'p>) -> Option<String> {
        let fields = self.flat_fields(shape)?;
        let first = &self.slots[fields.first()?.slot];
        let (entry, count) = self.warm_entries(shape)?;
        let (name, start) = (&shape.name, &first.name);
        let (mut flat, mut fill) = (String::new(), String::new());
        for FlatField { member, integer, slot, counts } in &fields {
            let operator = if *counts { "incremented" } else { "copied" };
            let slot = &self.slots[*slot];
            flat.push_str(&format!(".{operator}({}, max::U{})", slot.name, integer.bits()));
            if member.is_stored {
                let value = format!("lanes[{}]", slot.word - first.word);
                let cast = if integer.width == Width::W32 { value } else { integer.cast(&value) };
                fill.push_str(&format!("out.{} = {cast};\n", member.ident));
            }
        }
        Some(format!(
            "impl FlatSegment for {name} {{
                const FIELDS: &'static rt::Flat = &rt::Flat::starting({start}){flat};
                #[inline(always)]
                fn is_warm(state: &State) -> bool {{ state.is_warm::<{entry}, {count}>() }}
                #[inline(always)]
                fn words(state: &mut State) -> Option<&mut rt::LaneWords> {{ state.words_from({start}) }}
                #[inline(always)]
                fn fill(lanes: &[u32; {FLAT_LANES}], out: &mut {name}) {{ {fill} }}
            }}\n"
        ))
    }

    /// Words that all lanes of flat templates have room in.
    pub(crate) fn flat_words(&self) -> usize {
        let first = |shape| Some(self.slots[self.flat_fields(shape)?.first()?.slot].word);
        let ends = self.shapes.iter().filter_map(first).map(|first| first + FLAT_LANES);
        ends.max().unwrap_or(0)
    }

    /// The fields of a template if they are nothing but mandatory unsigned integers of at most 32 bits
    /// that repeat or count on, and their previous values lie near each other in the same order.
    pub(crate) fn flat_fields<'s>(&self, shape: &'s Shape<'p>) -> Option<Vec<FlatField<'s, 'p>>> {
        if self.has_wide() || !shape.mode.is_fixed() || self.warm_entries(shape).is_none() {
            return None;
        }
        let members = shape.members.iter().filter(|member| !is_fixed_constant(member.plan));
        let fields = members.map(|member| self.flat_field(member)).collect::<Option<Vec<_>>>()?;
        let words: Vec<usize> = fields.iter().map(|field| self.slots[field.slot].word).collect();
        let (first, last) = (words.first()?, words.last()?);
        let is_in_order = words.windows(2).all(|pair| pair[0] < pair[1]);
        (is_in_order && last - first < FLAT_LANES && fields.len() >= FLAT_FIELDS_MIN)
            .then_some(fields)
    }

    fn flat_field<'s>(&self, member: &'s Member<'p>) -> Option<FlatField<'s, 'p>> {
        let FieldKind::Scalar { field_type, operation } = &member.plan.kind else { return None };
        let integer = IntegerType::of(field_type)?;
        let counts = operation.kind == OperatorKind::Increment;
        let is_flat = !member.plan.is_optional
            && !integer.is_signed
            && integer.width != Width::W64
            && (counts || operation.kind == OperatorKind::Copy);
        let slot = self.slot_index(operation).filter(|_| is_flat)?;
        (self.slots[slot].kinds.len() == 1).then_some(FlatField { member, integer, slot, counts })
    }
}
