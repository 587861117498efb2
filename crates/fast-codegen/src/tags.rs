//! Emits methods that visit a struct's fields by their ids.

use crate::module::Module;
use crate::operation::literal;
use crate::shape::{StructMember, StructShape};
use crate::walk::scalar_value;
use std::collections::BTreeSet;
use tickwire_fast::rt::expanded::{FieldKind, Operation};
use tickwire_fast::template::Value;

impl<'p> Module<'p> {
    /// Returns `visit_tags` of every root, and `show_tags` of the entries of their sequences.
    pub(crate) fn visits_by_tag(&self) -> String {
        let roots = || self.roots().map(|(shape, _)| shape);
        let entries: BTreeSet<usize> = roots()
            .flat_map(|shape| &shape.members)
            .filter(|member| {
                member.is_stored && matches!(member.plan.kind, FieldKind::Sequence { .. })
            })
            .filter_map(|member| member.child)
            .collect();
        let entries = entries.iter().map(|index| &self.shapes[*index]);
        roots().chain(entries).map(|shape| self.visit_tags(shape)).collect()
    }

    /// Returns `visit_tags` of a root, including its sequences, or `show_tags` of a sequence's
    /// entry.
    fn visit_tags(&self, shape: &StructShape<'p>) -> String {
        let shows: String =
            shape.members.iter().map(|member| self.show_tag(shape, member)).collect();
        let arena = match (shape.root.is_some(), shape.has_text) {
            (true, true) => "let arena = &self.arena[..];\n",
            (true, false) => "let arena: &'m [u8] = &[];\n",
            (false, _) => "",
        };
        let (of, name, parameter) = match shape.root.is_some() {
            true => ("", "visit_tags", ""),
            false => ("rt::ShowTags for ", "show_tags", "arena: &'m [u8], "),
        };
        format!(
            "impl {of}{} {{
                #[allow(unused_variables, clippy::collapsible_if)]
                #[inline]
                fn {name}<'m, V: rt::VisitTags<'m>>(&'m self, {parameter}visitor: &mut V) {{
                    {arena}{shows}
                }}
            }}\n",
            shape.name
        )
    }

    fn show_tag(&self, shape: &StructShape<'p>, member: &StructMember<'p>) -> String {
        let (index, tag) = (member.index, member.plan.id.unwrap_or(0));
        let value = |value: &str| format!("visitor.value::<{index}, {tag}>({value});");
        let show = match &member.plan.kind {
            FieldKind::Scalar { operation, .. } if operation.rule.is_constant() => {
                match self.constant_show(member, operation) {
                    Some(constant) => value(&constant),
                    None => return String::new(),
                }
            }
            _ if !member.is_stored => return String::new(),
            FieldKind::Scalar { .. } | FieldKind::Parts { .. } => value(&scalar_value(member)),
            FieldKind::Sequence { .. } if shape.root.is_some() && member.child.is_some() => {
                format!(
                    "if visitor.begin_sequence({index}, self.{ident}.len()) {{ \
                 for entry in self.{ident}.iter() {{ visitor.entry(entry, arena); }} }}",
                    ident = member.ident
                )
            }
            FieldKind::Sequence { .. } | FieldKind::Group(_) | FieldKind::Dynamic => {
                return String::new();
            }
        };
        member.if_present(&show)
    }

    /// Returns the value of a constant to visit; `None` for an optional one that is not stored.
    fn constant_show(
        &self,
        member: &StructMember<'p>,
        operation: &Operation<'_>,
    ) -> Option<String> {
        if member.plan.is_optional && member.presence.is_none() {
            return None;
        }
        let variant = match operation.initial? {
            Value::UInt(_) => "UInt",
            Value::Int(_) => "Int",
            Value::Decimal(_) => "Decimal",
            Value::Bytes(_) => "Bytes",
        };
        Some(format!("ModuleValue::{variant}({})", literal(operation.initial?)))
    }
}
