//! FAST 1.2 indirection: resolves `field`, `type` and `define` to the element that defines the
//! type.

use super::Node;
use super::operator::is_operator;
use super::scalar::is_scalar;
use super::scope::{Definitions, ElementScope};
use super::source::quote;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{Attribute, Name, Presence};
use roxmltree::NodeId;

/// The elements that together form one instruction, from the outermost to the one that defines the
/// type. A FAST 1.1 field has one.
pub(super) struct Layers<'s> {
    pub(super) nodes: Vec<Node<'s>>,
    /// Name of the type: of the innermost element, or the name given in a `type`.
    pub(super) kind: &'s str,
    /// Definitions in scope inside the innermost element.
    pub(super) definitions: &'s Definitions<'s>,
    /// Definitions that were followed.
    pub(super) defines: Vec<NodeId>,
    /// Name of the definition that contains the innermost element, or empty.
    pub(super) define_name: &'s str,
}

impl<'s> Layers<'s> {
    /// Follows `field` and `type` from `node`; `None` after an error.
    pub(super) fn resolve(
        reader: &mut TemplateReader<'_>,
        node: Node<'s>,
        scope: &ElementScope<'s>,
    ) -> Option<Self> {
        let mut layers = Self {
            nodes: Vec::new(),
            kind: "",
            definitions: scope.definitions,
            defines: Vec::new(),
            define_name: "",
        };
        let mut node = node;
        loop {
            layers.nodes.push(node);
            if layers.nodes.len() > reader.limits.depth() {
                let help = "make each type refer to a define that contains a type";
                let message = "definitions refer to each other through too many steps";
                reader.error(Code::S1, node, message, help);
                return None;
            }
            match node.tag_name().name() {
                "field" => {
                    layers.define_name = "";
                    node = sole_type(reader, node)?;
                }
                "type" => match layers.follow(reader, node, scope)? {
                    Some(next) => node = next,
                    None => return Some(layers),
                },
                kind => {
                    layers.kind = kind;
                    return Some(layers);
                }
            }
        }
    }

    /// Follows a `type` to the content of its definition; `Some(None)` if it names a built-in type.
    fn follow(
        &mut self,
        reader: &mut TemplateReader<'_>,
        node: Node<'s>,
        scope: &ElementScope<'s>,
    ) -> Option<Option<Node<'s>>> {
        let Some(name) = reader.attribute(node, "name").map(str::trim) else {
            reader.error(Code::S1, node, "type has no name", "name a define of this file");
            return None;
        };
        let Some((define, definitions)) = self.definitions.find(name) else {
            if is_scalar(name) {
                self.kind = name;
                return Some(None);
            }
            let message = format!("type {} is not defined", quote(name));
            let help = "add a define of that name to templates or to the template";
            reader.error(Code::S1, node, message, help);
            return None;
        };
        if scope.expanding.contains(&define.id()) || self.defines.contains(&define.id()) {
            let message = format!("the definition of {} refers to itself", quote(name));
            reader.error(Code::S1, node, message, "remove one reference of the cycle");
            return None;
        }
        self.defines.push(define.id());
        self.definitions = definitions;
        self.define_name = name;
        sole_type(reader, define).map(Some)
    }

    /// Returns the element in the template.
    pub(super) fn outer(&self) -> Node<'s> {
        self.nodes[0]
    }

    /// Returns the element that defines the type.
    pub(super) fn inner(&self) -> Node<'s> {
        self.nodes[self.nodes.len() - 1]
    }

    /// Reports FAST elements in the layers around the innermost one that are not among `allowed`.
    pub(super) fn check_uses(&self, reader: &mut TemplateReader<'_>, allowed: &[&str]) {
        for pair in self.nodes.windows(2) {
            for child in reader.children(pair[0]) {
                if child != pair[1] && !allowed.contains(&child.tag_name().name()) {
                    reader.unexpected(child, pair[0]);
                }
            }
        }
    }

    /// Returns an attribute of the instruction itself, searched from the outermost layer on. `name`
    /// and `ns` of a `type` belong to a definition.
    fn own_attribute(&self, reader: &TemplateReader<'_>, name: &str) -> Option<&'s str> {
        let own = |node: &&Node<'s>| node.tag_name().name() != "type";
        self.nodes.iter().filter(own).find_map(|&node| reader.attribute(node, name))
    }

    /// Returns the innermost `dictionary` attribute, from the outermost layer to `last`.
    pub(super) fn dictionary(&self, reader: &TemplateReader<'_>, last: usize) -> Option<&'s str> {
        let nodes = self.nodes.iter().take(last + 1).rev();
        nodes.copied().find_map(|node| reader.attribute(node, "dictionary"))
    }

    /// Returns the namespace that is inherited inside the instruction.
    pub(super) fn ns(&self, reader: &TemplateReader<'_>, scope: &ElementScope<'s>) -> &'s str {
        self.own_attribute(reader, "ns").unwrap_or(scope.ns)
    }

    /// Reads the attributes common to all instructions.
    pub(super) fn header(
        &self,
        reader: &mut TemplateReader<'_>,
        scope: &ElementScope<'s>,
    ) -> ElementHeader {
        let node = self.outer();
        let ns = self.ns(reader, scope);
        let local = self.own_attribute(reader, "name").map(str::trim).unwrap_or_default();
        if local.is_empty() {
            let message = format!("<{}> has no name", node.tag_name().name());
            reader.error(Code::S1, node, message, "add a name attribute");
        }
        let id = self.own_attribute(reader, "id").and_then(super::attributes::field_id);
        let presence = self.presence(reader);
        let attributes = self.unknown_attributes(reader, id.is_some());
        ElementHeader { name: reader.name(ns, local, node), id, presence, attributes }
    }

    fn presence(&self, reader: &mut TemplateReader<'_>) -> Presence {
        let mut given: Option<Presence> = None;
        for (index, &node) in self.nodes.iter().enumerate() {
            let Some(presence) = reader.presence(node) else { continue };
            let on_field_and_type = index == 1 && node.tag_name().name() == "type";
            if on_field_and_type && given.is_some_and(|given| given != presence) {
                let message = "field and type disagree on presence";
                reader.error(Code::S1, node, message, "give presence once, on the field");
            }
            given = given.or(Some(presence));
        }
        given.unwrap_or(Presence::Mandatory)
    }

    fn unknown_attributes(
        &self,
        reader: &mut TemplateReader<'_>,
        id_is_known: bool,
    ) -> Vec<Attribute> {
        let mut known = super::attributes::FIELD.to_vec();
        if !id_is_known {
            known.retain(|name| *name != "id");
        }
        known.extend_from_slice(match self.kind {
            "string" => &["charset"],
            "timestamp" => &["unit", "epoch"],
            _ => &[],
        });
        let mut kept = Vec::new();
        for &node in &self.nodes {
            reader.unknown_attributes(node, &known, &mut kept);
        }
        kept
    }
}

/// Attributes common to all instructions.
pub(super) struct ElementHeader {
    pub(super) name: Name,
    pub(super) id: Option<u32>,
    pub(super) presence: Presence,
    pub(super) attributes: Vec<Attribute>,
}

/// Returns the only element inside a `field` or `define`, which defines its type.
fn sole_type<'s>(reader: &mut TemplateReader<'_>, parent: Node<'s>) -> Option<Node<'s>> {
    let name = parent.tag_name().name();
    let mut types = reader.children(parent);
    if name == "field" {
        types.retain(|node| {
            let is_part = ["exponent", "mantissa", "length"].contains(&node.tag_name().name());
            !is_operator(node) && !is_part
        });
    }
    match types.as_slice() {
        [one] => Some(*one),
        [] => {
            let message = format!("<{name}> says no type");
            reader.error(Code::S1, parent, message, "put a type element inside, such as <uInt32/>");
            None
        }
        [_, second, ..] => {
            let message = format!("<{name}> says more than one type");
            reader.error(Code::S1, *second, message, "leave one type element inside");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{body_codes, codes, set};
    use crate::template::model::{
        FieldInstruction, FieldType, Instruction, Name, OperatorKind, Operators, Presence,
        Template, Width,
    };

    fn defined(defines: &str, instructions: &str) -> Template {
        let xml = format!(
            "<templates xmlns='http://www.fixprotocol.org/ns/fast/td/1.2'>{defines}
             <template name='T' id='1'>{instructions}</template></templates>"
        );
        set(&xml).templates()[0].clone()
    }

    fn field(defines: &str, instructions: &str) -> FieldInstruction {
        match defined(defines, instructions).instructions.into_iter().next() {
            Some(Instruction::Field(field)) => field,
            other => panic!("{other:?}"),
        }
    }

    fn kind(field: &FieldInstruction) -> OperatorKind {
        match &field.operators {
            Operators::Whole(operator) => operator.kind,
            Operators::Parts { .. } => panic!("parts"),
        }
    }

    const NUMBER: &str = "<define name='E'><uInt32><copy/></uInt32></define>";

    #[test]
    fn a_type_brings_the_operator_of_its_definition() {
        let field = field(NUMBER, "<field id='7' name='v'><type name='E'/></field>");
        assert_eq!((&field.name, field.id), (&Name::local("v"), Some(7)));
        assert_eq!(field.field_type, FieldType::UInt(Width::W32));
        assert_eq!(kind(&field), OperatorKind::Copy);
    }

    #[test]
    fn operators_at_the_use_override_the_definition() {
        for inside in ["<type name='E'><delta/></type>", "<type name='E'/><delta/>"] {
            let field = field(NUMBER, &format!("<field name='v'>{inside}</field>"));
            assert_eq!(kind(&field), OperatorKind::Delta);
        }
        let both = format!(
            "<templates>{NUMBER}<template name='T'><field name='v'><type name='E'><copy/></type>
             <delta/></field></template></templates>"
        );
        assert_eq!(codes(&both), ["S1"]);
    }

    #[test]
    fn presence_stands_on_field_or_type() {
        for xml in [
            "<field name='v' presence='optional'><type name='E'/></field>",
            "<field name='v'><type name='E' presence='optional'/></field>",
            "<field name='v' presence='optional'><uInt32/></field>",
        ] {
            assert_eq!(field(NUMBER, xml).presence, Presence::Optional);
        }
        let xml = format!(
            "<templates>{NUMBER}<template name='T'><field name='v' presence='optional'>
             <type name='E' presence='mandatory'/></field></template></templates>"
        );
        assert_eq!(codes(&xml), ["S1"]);
    }

    #[test]
    fn fields_hold_types_inline_and_by_their_standard_name() {
        let inline =
            field("", "<field name='v'><string charset='unicode'><copy/></string></field>");
        assert_eq!(inline.field_type, FieldType::Unicode);
        let named = field("", "<field name='v'><type name='int8'><copy/></type></field>");
        assert_eq!(named.field_type, FieldType::Int(Width::W8));
        assert_eq!(kind(&named), OperatorKind::Copy);
    }

    #[test]
    fn definitions_hold_groups_sequences_and_other_definitions() {
        let template = defined(
            "<define name='A'><type name='G'/></define>
             <define name='G'><group><uInt32 name='a'/></group></define>
             <define name='S'><sequence><length name='n'/><field name='g'><type name='A'/></field>
             </sequence></define>",
            "<field name='s'><type name='S'/></field>",
        );
        let Instruction::Group(sequence) = &template.instructions[0] else { panic!("none") };
        assert_eq!(sequence.name, Name::local("s"));
        let length = sequence.length.as_ref().expect("a sequence");
        assert_eq!(length.name, Some(Name::local("n")));
        let Instruction::Group(group) = &sequence.instructions[0] else { panic!("no group") };
        assert_eq!((&group.name, group.kind()), (&Name::local("g"), "group"));
        assert_eq!(group.instructions.len(), 1);
    }

    #[test]
    fn definitions_inside_a_template_come_before_those_outside() {
        let field = field(
            NUMBER,
            "<define name='E'><int8/></define><field name='v'><type name='E'/></field>",
        );
        assert_eq!(field.field_type, FieldType::Int(Width::W8));
    }

    #[test]
    fn an_enumeration_is_named_after_its_definition() {
        let define = "<define name='E'><enum><element name='x'/><copy/></enum></define>";
        let field = field(define, "<field name='v'><type name='E'/></field>");
        let FieldType::Enum(enumeration) = &field.field_type else { panic!("no enum") };
        assert_eq!(&*enumeration.name, "E");
        assert_eq!(kind(&field), OperatorKind::Copy);
    }

    #[test]
    fn broken_definitions_are_errors() {
        for (xml, expected) in [
            ("<field name='v'/>", &["S1"][..]),
            ("<field name='v'><int8/><int16/></field>", &["S1"]),
            ("<field name='v'><type/></field>", &["S1"]),
            ("<field name='v'><type name='Q'/></field>", &["S1"]),
            ("<define name='E'/><field name='v'><type name='E'/></field>", &["S1"]),
            ("<define name='E'><type name='E'/></define><field name='v'><type name='E'/></field>", &["S1"]),
            (
                "<define name='E'><group><field name='a'><type name='E'/></field></group></define>
                 <field name='v'><type name='E'/></field>",
                &["S1"],
            ),
            ("<define name='E'><int8/></define><define name='E'><int8/></define>", &["S1"]),
            ("<define><int8/></define>", &["S1"]),
            ("<field name='v'><group><int8 name='a'/></group><copy/></field>", &["S1"]),
            (
                "<define name='E'><int8><tail/></int8></define><field name='v'><type name='E'/></field>
                 <field name='w'><type name='E'/></field>",
                &["S2"],
            ),
        ] {
            assert_eq!(body_codes(xml), expected, "{xml}");
        }
    }
}
