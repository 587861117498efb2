//! Emits methods that traverse a struct: `fill` copies from the dynamic engine, `visit` reads it
//! out.

use crate::integer::IntegerShape;
use crate::module::Module;
use crate::shape::{StructMember, StructShape};
use tickwire_fast::rt::expanded::FieldKind;
use tickwire_fast::template::FieldType;

/// Returns the expression of a scalar member's value; [`ModuleValue::Constant`](tickwire_fast::rt::ModuleValue)
/// for an optional constant that is present.
pub(crate) fn scalar_value(member: &StructMember<'_>) -> String {
    let ident = &member.ident;
    let value = format!("self.{ident}");
    match &member.plan.kind {
        FieldKind::Scalar { operation, .. } if operation.rule.is_constant() => {
            "ModuleValue::Constant".to_owned()
        }
        FieldKind::Scalar { field_type, .. } if **field_type != FieldType::Decimal => {
            match IntegerShape::of(field_type) {
                None => format!("ModuleValue::Bytes(self.{ident}.bytes(arena))"),
                Some(kind) if kind.is_signed => format!("ModuleValue::Int({})", kind.wide(&value)),
                Some(kind) => format!("ModuleValue::UInt({})", kind.wide(&value)),
            }
        }
        _ => format!("ModuleValue::Decimal(self.{ident})"),
    }
}

impl<'p> Module<'p> {
    /// Returns `fill` and `visit` of a shape.
    pub(crate) fn walks(&self, shape: &StructShape<'p>) -> String {
        let stored = || shape.members.iter().filter(|member| member.is_stored);
        let fills: String = stored().map(|member| self.fill(member)).collect();
        let visits: String = stored().map(|member| self.visit(member)).collect();
        let present = match shape.presence {
            0 => String::new(),
            _ => format!("self.present = [0; {}];\n", shape.presence_words()),
        };
        let root = shape.root.is_some();
        let (arena, arena_visit) = match root {
            true => ("", ""),
            false => ("arena: &mut Vec<u8>, ", "arena: &[u8], "),
        };
        let (begin, end, begin_visit) = match shape.has_text {
            true if root => (
                "let mut arena = std::mem::take(&mut self.arena);\narena.clear();\nlet arena = &mut arena;\n",
                "self.arena = std::mem::take(arena);\n",
                "let arena = &self.arena[..];\n",
            ),
            // The methods of nested structs take an arena in any case.
            false if root && stored().any(|member| member.child.is_some()) => {
                ("let arena = &mut Vec::new();\n", "", "let arena: &[u8] = &[];\n")
            }
            _ => ("", "", ""),
        };
        format!(
            "impl {name} {{
                #[allow(unused_variables, clippy::ptr_arg)]
                fn fill(&mut self, record: Record<'_>, {arena}numbers: &dyn Fn(usize) -> Option<usize>, growth: &mut rt::Growth) -> Option<()> {{
                    {begin}{present}{fills}{end}Some(())
                }}
                #[allow(unused_variables)]
                fn visit(&self, {arena_visit}visitor: &mut dyn Visit) -> Result<(), FastError> {{
                    {begin_visit}{visits}Ok(())
                }}
            }}\n",
            name = shape.name,
        )
    }

    fn fill(&self, member: &StructMember<'p>) -> String {
        let (ident, index) = (&member.ident, member.index);
        let mark = member.presence.map_or(String::new(), |bit| {
            format!("self.present[{}] |= 1 << {};", bit / 64, bit % 64)
        });
        let scalar = |function: &str, value: &str| {
            format!(
                "if let Some(value) = rt::fill::{function}(record.value({index})) {{ \
                 self.{ident} = {value}; {mark} }}\n"
            )
        };
        match &member.plan.kind {
            FieldKind::Scalar { operation, .. } if operation.rule.is_constant() => {
                format!("if rt::fill::is_present(record.value({index})) {{ {mark} }}\n")
            }
            FieldKind::Scalar { field_type: FieldType::Decimal, .. } | FieldKind::Parts { .. } => {
                scalar("decimal", "value")
            }
            FieldKind::Scalar { field_type, .. } => match IntegerShape::of(field_type) {
                None => scalar("bytes", "TextValue::push_within(arena, value, growth)?"),
                Some(kind) if kind.is_signed => {
                    let cast = if kind.bits() == 64 { "value".into() } else { kind.cast("value") };
                    scalar("signed", &cast)
                }
                Some(kind) => scalar("unsigned", &kind.cast("value")),
            },
            FieldKind::Group(_) => format!(
                "if let FieldValue::Group(group) = record.value({index}) {{ \
                 self.{ident}.fill(group, arena, numbers, growth)?; {mark} }}\n"
            ),
            FieldKind::Sequence { .. } => format!(
                "if let FieldValue::Sequence(entries) = record.value({index}) {{ \
                 for (entry, record) in self.{ident}.prepare(entries.len(), growth)?.iter_mut().zip(entries.iter()) {{ \
                 entry.fill(record, arena, numbers, growth)?; }} {mark} }} else {{ self.{ident}.clear(); }}\n"
            ),
            FieldKind::Dynamic => format!(
                "if let FieldValue::Dynamic(index, record) = record.value({index}) {{ \
                 fill_message(self.{ident}.prepare(growth)?, numbers(index)?, record, numbers, growth)?; }}\n"
            ),
        }
    }

    fn visit(&self, member: &StructMember<'p>) -> String {
        let (ident, index) = (&member.ident, member.index);
        let show = match &member.plan.kind {
            FieldKind::Scalar { .. } | FieldKind::Parts { .. } => {
                format!("visitor.value({index}, {})?;", scalar_value(member))
            }
            FieldKind::Group(_) => format!(
                "visitor.begin_group({index})?; self.{ident}.visit(arena, visitor)?; visitor.end()?;"
            ),
            FieldKind::Sequence { .. } => format!(
                "visitor.begin_sequence({index}, self.{ident}.len())?; \
                 for entry in self.{ident}.iter() {{ visitor.begin_entry()?; \
                 entry.visit(arena, visitor)?; visitor.end()?; }} visitor.end()?;"
            ),
            FieldKind::Dynamic => format!(
                "if let Some(messages) = self.{ident}.messages() {{ let message = messages.message(); \
                 visitor.begin_dynamic({index}, message.number())?; message.visit(visitor)?; visitor.end()?; }}"
            ),
        };
        member.if_present(&show)
    }
}
