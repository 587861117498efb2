//! Recognizes elements and attributes of FAST, and reads simple attributes.

use super::Node;
use super::operator::OPERATORS;
use super::source::{UNDECLARED, quote};
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{Attribute, Presence};

/// Attributes defined by FAST for fields, groups and sequences.
pub(super) const FIELD: &[&str] = &["name", "id", "ns", "presence", "dictionary"];
/// Attributes defined by FAST for templates.
pub(super) const TEMPLATE: &[&str] = &["name", "id", "ns", "templateNs", "dictionary", "reset"];

/// Memory of an attribute in addition to its text, bytes.
const ATTRIBUTE_BYTES: usize = 64;

/// True for FAST's namespace, in any spelling found in practice, and for no namespace.
fn is_fast_namespace(ns: &str) -> bool {
    let ns = ns.to_ascii_lowercase();
    ns.is_empty()
        || ns.contains("fast/td")
        || ns.contains("template-definition")
        || ns.contains("fixprotocal")
        || ns.starts_with(UNDECLARED)
}

impl TemplateReader<'_> {
    /// Returns the child elements that belong to FAST; others are vendor extensions and are
    /// skipped. Incomplete once the visit limit is reached.
    pub(super) fn children<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        node.children()
            .take_while(|_| self.visit(1))
            .filter(|child| child.is_element() && self.is_own(child.tag_name().namespace()))
            .collect()
    }

    /// Returns the first child with one of these names, and reports a second one. `kind`: their
    /// name in the error.
    pub(super) fn sole_child<'n>(
        &mut self,
        parent: Node<'n>,
        names: &[&str],
        kind: &str,
    ) -> Option<Node<'n>> {
        let mut found = self.children(parent);
        found.retain(|child| names.contains(&child.tag_name().name()));
        if let Some(second) = found.get(1) {
            let message = format!("<{}> has more than one {kind}", parent.tag_name().name());
            self.error(Code::S1, *second, message, "leave one of them");
        }
        found.first().copied()
    }

    /// Returns an attribute of FAST: without a namespace, or in FAST's.
    pub(super) fn attribute<'n>(&self, node: Node<'n>, name: &str) -> Option<&'n str> {
        node.attribute(name).or_else(|| {
            let mut attributes = node.attributes();
            attributes.find(|a| a.name() == name && self.is_own(a.namespace())).map(|a| a.value())
        })
    }

    /// True for the namespaces of FAST's elements and attributes.
    fn is_own(&self, ns: Option<&str>) -> bool {
        let ns = ns.unwrap_or_default();
        ns == self.root_ns || is_fast_namespace(ns)
    }

    /// Keeps the attributes that are neither among `known` nor kept before.
    pub(super) fn unknown_attributes(
        &mut self,
        node: Node<'_>,
        known: &[&str],
        kept: &mut Vec<Attribute>,
    ) {
        let outer = kept.len();
        for attribute in node.attributes() {
            let ns = attribute.namespace().unwrap_or_default();
            if known.contains(&attribute.name()) && self.is_own(Some(ns)) {
                continue;
            }
            let name = self.name(ns, attribute.name(), node);
            if kept.iter().take(outer).any(|other| other.name == name) {
                continue;
            }
            if self.take_text(ATTRIBUTE_BYTES + attribute.value().len(), node) {
                kept.push(Attribute { name, value: attribute.value().into() });
            }
        }
    }

    /// Reads an attribute with few values. `parse` returns the value of a text in lower case, and
    /// `help` names the texts that have one.
    pub(super) fn choice<T>(
        &mut self,
        node: Node<'_>,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        help: &str,
    ) -> Option<T> {
        let text = self.attribute(node, name)?;
        let value = parse(&text.trim().to_ascii_lowercase());
        if value.is_none() {
            self.error(Code::S1, node, format!("{name} {} is unknown", quote(text)), help);
        }
        value
    }

    /// Reads `presence`; `None` if it is not given.
    pub(super) fn presence(&mut self, node: Node<'_>) -> Option<Presence> {
        let known = [Presence::Mandatory, Presence::Optional];
        let parse = |text: &str| known.into_iter().find(|presence| presence.name() == text);
        self.choice(node, "presence", parse, "write presence=\"optional\" or \"mandatory\"")
    }

    /// Reports FAST elements below `node` that are not among `allowed`.
    pub(super) fn check_children(&mut self, node: Node<'_>, allowed: &[&str]) {
        for child in self.children(node) {
            if !allowed.contains(&child.tag_name().name()) {
                self.unexpected(child, node);
            }
        }
    }

    /// Reports an element that is not allowed at its place.
    pub(super) fn unexpected(&mut self, child: Node<'_>, parent: Node<'_>) {
        let name = child.tag_name().name();
        let message =
            format!("element <{}> is not known inside <{}>", cut(name), parent.tag_name().name());
        let help = match respelt(name) {
            Some(known) => format!("write <{known}>: names are case-sensitive"),
            None => "check the spelling; a vendor's own elements need a namespace of their own"
                .to_owned(),
        };
        self.error(Code::S1, child, message, help);
    }
}

/// Parses a field id; `None` if it is not a number.
pub(super) fn field_id(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

fn cut(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Returns the element that a misspelt name most likely means.
fn respelt(name: &str) -> Option<&'static str> {
    const KNOWN: &str = "template typeRef templateRef group sequence length field type define \
        uInt8 uInt16 uInt32 uInt64 int8 int16 int32 int64 decimal string byteVector boolean enum \
        set element timestamp exponent mantissa";
    KNOWN
        .split(' ')
        .chain(OPERATORS.iter().copied())
        .find(|known| known.eq_ignore_ascii_case(name) && *known != name)
}

#[cfg(test)]
mod tests {
    use crate::template::TemplateSet;
    use crate::template::reader::testkit::wrap;

    /// Asserts that these instructions of a template have one error: this one.
    fn assert_error(instructions: &str, message: &str) {
        let errors = TemplateSet::parse(&wrap(instructions)).expect_err("one error").errors;
        let told = errors.iter().map(|error| (&*error.message, &*error.help)).collect::<Vec<_>>();
        assert_eq!(told, [(message, "leave one of them")]);
    }

    #[test]
    fn a_second_type_of_a_template_is_an_error() {
        let types = "<typeRef name='A'/><typeRef name='B'/><uInt32 name='a'/>";
        assert_error(types, "<template> has more than one typeRef");
    }

    #[test]
    fn a_second_length_of_a_sequence_is_an_error() {
        let sequence = "<sequence name='s'><length/><length/><uInt32 name='a'/></sequence>";
        assert_error(sequence, "<sequence> has more than one length");
    }

    #[test]
    fn a_second_exponent_of_a_decimal_is_an_error() {
        let exponents = "<exponent><copy/></exponent><exponent><delta/></exponent>";
        let decimal =
            format!("<decimal name='d'>{exponents}<mantissa><delta/></mantissa></decimal>");
        assert_error(&decimal, "<decimal> has more than one exponent");
    }

    #[test]
    fn a_second_operator_of_a_field_is_an_error() {
        assert_error(
            "<uInt32 name='a'><copy/><delta/></uInt32>",
            "<uInt32> has more than one operator",
        );
    }
}
