//! Sequences whose entries are decoded several at a time, in SIMD lanes.

use crate::integer::IntegerShape;
use crate::module::Module;
use crate::shape::{StructMember, StructShape};
use tickwire_fast::rt::LaneKind;
use tickwire_fast::rt::expanded::{FieldKind, Operation, StreamContent};
use tickwire_fast::template::{FieldType, Width};

/// Decoders keep one bit per such sequence, in a `u64`.
const SEQUENCES_MAX: usize = u64::BITS as usize;

/// A sequence whose entries are decoded in lanes.
#[derive(Debug)]
pub(crate) struct Laned {
    /// The shape of its entries.
    pub(crate) shape: usize,
    /// Number of its template.
    template: usize,
    /// Index of the sequence among the template's fields.
    field: usize,
    lanes: Vec<LaneKind>,
    statements: Statements,
}

/// Generated statements that move the lanes of an entry.
#[derive(Debug, Default)]
struct Statements {
    /// Number of lanes so far.
    lane: usize,
    optional: u32,
    carried: u32,
    fill: String,
    keep: String,
}

impl<'p> Module<'p> {
    /// Finds the sequences whose entries are decoded in lanes. Sequences beyond [`SEQUENCES_MAX`]
    /// are decoded field by field.
    pub(crate) fn find_laned(&self) -> Vec<Laned> {
        let laned = self.roots().flat_map(|(shape, root)| {
            let members = shape.members.iter();
            members.filter_map(move |member| self.laned(root.number, shape, member))
        });
        laned.take(SEQUENCES_MAX).collect()
    }

    fn laned(
        &self,
        template: usize,
        shape: &StructShape<'p>,
        member: &StructMember<'p>,
    ) -> Option<Laned> {
        let FieldKind::Sequence { entry: body, .. } = &member.plan.kind else { return None };
        let (lanes, child) = (self.program.lane_kinds(body.segment)?, member.child?);
        let entry = &self.shapes[child];
        if !entry.is_stored || !self.is_alone(shape, entry) {
            return None;
        }
        self.fresh_entries(shape, entry)?;
        let statements = self.statements(entry, &lanes)?;
        Some(Laned { shape: child, template, field: member.index, lanes, statements })
    }

    /// True if the dictionary entries of a sequence's fields are used by no other field of the
    /// message.
    fn is_alone(&self, root: &StructShape<'p>, child: &StructShape<'p>) -> bool {
        let all = root.uses();
        child.uses().keys().all(|entry| all.get(entry) == Some(&1))
    }

    /// Returns the number of the sequence of a shape, if its entries are decoded in lanes.
    pub(crate) fn laned_number(&self, shape: &StructShape<'p>) -> Option<usize> {
        self.laned.iter().position(|laned| std::ptr::eq(&self.shapes[laned.shape], shape))
    }

    /// Returns the `LaneSegment` implementation of a shape, if its entries are decoded in lanes.
    pub(crate) fn lane_segment(&self, shape: &StructShape<'p>) -> Option<String> {
        let number = self.laned_number(shape)?;
        let Laned { lanes, statements, .. } = &self.laned[number];
        let Statements { optional, carried, fill, keep, .. } = statements;
        // A projection may store only presence bits.
        let (values, names) = match fill.is_empty() {
            true => ("_", ""),
            false => ("lanes", "let LaneValues(lanes) = lanes;"),
        };
        let (present, store) = match shape.presence {
            0 => ("_", ""),
            _ => ("present", "out.present = [present];\n"),
        };
        Some(format!(
            "impl LaneSegment for {name} {{
                type State = State;
                type Out = {name};
                const SEQUENCE: usize = {number};
                const COUNT: usize = {};
                const OPTIONAL: u32 = {optional:#x};
                const CARRIED: u32 = {carried:#x};
                #[inline(always)]
                fn fill({values}: &LaneValues, {present}: u64, out: &mut {name}) {{ {names}{fill}{store} }}
                #[inline(always)]
                fn keep(lanes: &LaneValues, assigned: u32, state: &mut State) {{
                    let (LaneValues(lanes), _) = (lanes, assigned);
                    {keep}
                }}
            }}\n",
            lanes.len(),
            name = shape.name,
        ))
    }

    /// Returns a module's table of sequences.
    pub(crate) fn sequence_facts(&self) -> String {
        let facts = |Laned { template, field, lanes, .. }: &Laned| {
            let kinds: String = lanes.iter().map(|kind| format!("LaneKind::{kind:?}, ")).collect();
            format!(
                "rt::SequenceFacts {{ template: {template}, field: {field}, lanes: &[{kinds}] }},\n"
            )
        };
        self.laned.iter().map(facts).collect()
    }

    /// Returns the statements; `None` if a field cannot be decoded in a lane.
    fn statements(&self, shape: &StructShape<'p>, lanes: &[LaneKind]) -> Option<Statements> {
        let mut to = Statements::default();
        for member in shape.members.iter().filter(|member| !member.plan.is_fixed_constant()) {
            let bit = 1_u32.checked_shl(to.lane as u32)?;
            match &member.plan.kind {
                FieldKind::Scalar { field_type: FieldType::Decimal, operation } => {
                    // The previous value of a decimal with one operator has no lanes.
                    if operation.entry.is_some() {
                        return None;
                    }
                    to.decimal(member);
                }
                FieldKind::Scalar { field_type, operation } => {
                    self.scalar_lane(&mut to, member, field_type, operation, lanes)?;
                }
                FieldKind::Parts { exponent, mantissa } => {
                    // A constant would be read as a signed 32-bit integer.
                    if mantissa.rule.is_constant() {
                        return None;
                    }
                    for (lane, operation) in (to.lane..).zip([exponent, mantissa]) {
                        self.kept(&mut to, operation, lane, &signed_word(lane))?;
                    }
                    to.decimal(member);
                }
                _ => return None,
            }
            to.optional |= if member.presence.is_some() { bit } else { 0 };
        }
        (to.lane == lanes.len()).then_some(to)
    }

    fn scalar_lane(
        &self,
        to: &mut Statements,
        member: &StructMember<'p>,
        field_type: &FieldType,
        operation: &Operation<'p>,
        lanes: &[LaneKind],
    ) -> Option<()> {
        let lane = to.lane;
        let (kind, value, word) = match IntegerShape::of(field_type) {
            _ if operation.rule.is_constant() => (LaneKind::Constant, None, String::new()),
            Some(integer) if integer.is_signed => {
                (LaneKind::Signed, Some(integer_value(integer, lane)), signed_word(lane))
            }
            Some(integer) => {
                let word = format!("u64::from(lanes[{lane}])");
                (LaneKind::Unsigned, Some(integer_value(integer, lane)), word)
            }
            None if *field_type == FieldType::Ascii => {
                let word = format!("rt::text_word(lanes[{lane}])");
                (LaneKind::Text, Some(format!("TextValue::of_lane(lanes[{lane}])")), word)
            }
            None => return None,
        };
        if lanes.get(lane) != Some(&kind) {
            return None;
        }
        self.kept(to, operation, lane, &word)?;
        to.lane += 1;
        if let Some(value) = value.filter(|_| member.is_stored) {
            to.fill.push_str(&format!("out.{} = {value};\n", member.ident));
        }
        Some(())
    }

    /// Returns the statement that turns a lane into a previous value; `None` if lanes cannot do
    /// that.
    fn kept(
        &self,
        to: &mut Statements,
        operation: &Operation<'p>,
        lane: usize,
        word: &str,
    ) -> Option<()> {
        let Some(slot) = self.slot_index(operation) else { return Some(()) };
        if self.expanded.checked_tag(operation).is_some() {
            return None;
        }
        let bit = 1_u32.checked_shl(lane as u32)?;
        let keep = format!("state.assign::<Unknown>({}, {word});\n", self.slots[slot].name);
        if operation.rule.stream == StreamContent::Delta {
            to.keep.push_str(&format!("if assigned & {bit:#x} != 0 {{ {keep} }}\n"));
        } else {
            to.carried |= bit;
            to.keep.push_str(&keep);
        }
        Some(())
    }
}

impl Statements {
    fn decimal(&mut self, member: &StructMember<'_>) {
        let exponent = self.lane;
        self.lane += 2;
        if member.is_stored {
            self.fill.push_str(&format!(
                "out.{} = Decimal {{ mantissa: i64::from(lanes[{}] as i32), exponent: lanes[{exponent}] as i32 }};\n",
                member.ident,
                exponent + 1
            ));
        }
    }
}

fn signed_word(lane: usize) -> String {
    format!("i64::from(lanes[{lane}] as i32) as u64")
}

/// Returns the expression of a lane's value, in the type of the field.
fn integer_value(integer: IntegerShape, lane: usize) -> String {
    match (integer.is_signed, integer.width) {
        (true, Width::W64) => format!("i64::from(lanes[{lane}] as i32)"),
        (false, Width::W64) => format!("u64::from(lanes[{lane}])"),
        (false, Width::W32) => format!("lanes[{lane}]"),
        _ => format!("lanes[{lane}] as {}", integer.rust()),
    }
}
