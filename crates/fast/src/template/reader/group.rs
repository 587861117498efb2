//! Lists of instructions: fields, groups, sequences and template references.

use super::Node;
use super::layers::{ElementHeader, Layers};
use super::operator::{OPERATORS, OperatorPlace, no_operator};
use super::scope::{Definitions, ElementScope};
use super::source::quote;
use super::state::TemplateReader;
use crate::code::Code;
use crate::template::model::{
    EntryPart, FieldType, GroupInstruction, Instruction, Length, Name, Width,
};

impl TemplateReader<'_> {
    /// Reads the instructions below a template, group or sequence.
    pub(super) fn instructions(
        &mut self,
        parent: Node<'_>,
        scope: &ElementScope<'_>,
    ) -> Vec<Instruction> {
        let own = Definitions::collect(self, parent, Some(scope.definitions));
        let scope = ElementScope { definitions: &own, depth: scope.depth + 1, ..*scope };
        let is_sequence = parent.tag_name().name() == "sequence";
        let mut instructions = Vec::new();
        for child in self.children(parent) {
            match child.tag_name().name() {
                "define" | "typeRef" => {}
                "length" if is_sequence => {}
                _ => instructions.extend(self.instruction(child, &scope, parent)),
            }
            if self.exhausted() {
                break;
            }
        }
        instructions
    }

    fn instruction(
        &mut self,
        node: Node<'_>,
        scope: &ElementScope<'_>,
        parent: Node<'_>,
    ) -> Option<Instruction> {
        if !self.take_instruction(node) || !self.check_depth(node, scope) {
            return None;
        }
        if node.tag_name().name() == "templateRef" {
            return self.template_reference(node, scope);
        }
        let layers = Layers::resolve(self, node, scope)?;
        match layers.kind {
            "bitGroup" => {
                self.error(
                    Code::S1,
                    layers.inner(),
                    "bitGroup is not supported: it was proposed as an extension, but no \
                     specification says how its fields are laid out on the wire",
                    "ask the exchange for a template without bitGroup",
                );
                return None;
            }
            kind if !is_known(kind) => {
                let parent = layers.inner().parent_element().unwrap_or(parent);
                self.unexpected(layers.inner(), parent);
                return None;
            }
            _ => {}
        }
        let header = layers.header(self, scope);
        self.enter_field(&header.name.local);
        let instruction = match layers.kind {
            "group" | "sequence" => Some(Instruction::Group(self.group(&layers, header, scope))),
            _ => self.field(&layers, header, scope).map(Instruction::Field),
        };
        self.leave_field();
        instruction
    }

    fn check_depth(&mut self, node: Node<'_>, scope: &ElementScope<'_>) -> bool {
        let deep = scope.depth > self.limits.depth();
        if deep {
            let message = format!("groups and sequences nest deeper than {}", self.limits.depth());
            self.exhaust(node, message, "nest less, or raise ParseLimits::depth_max");
        }
        !deep
    }

    fn template_reference(
        &mut self,
        node: Node<'_>,
        scope: &ElementScope<'_>,
    ) -> Option<Instruction> {
        self.check_children(node, &[]);
        let location = self.location(node);
        let Some(name) = self.attribute(node, "name").map(str::trim) else {
            return Some(Instruction::DynamicRef(location));
        };
        let ns = self.attribute(node, "templateNs").unwrap_or(scope.template_ns);
        let named = self.templates.get(name).map_or(&[][..], Vec::as_slice);
        self.visit(named.len().max(1));
        let mut exact = named.iter().filter(|(own, _)| **own == *ns).map(|&(_, index)| index);
        match (exact.next(), exact.next(), named) {
            // Some files are careless with namespaces, so a local name that is unique is enough.
            (Some(index), None, _) | (None, None, &[(_, index)]) => {
                return Some(Instruction::StaticRef(index, location));
            }
            (_, _, []) => {
                let message = format!("no template has the name {}", quote(name));
                let help = "check the name, or add the template to the file";
                self.error(Code::D8, node, message, help);
            }
            _ => {
                let message = format!("several templates have the name {}", quote(name));
                let help = "give the template referred to a name of its own";
                self.error(Code::S1, node, message, help);
            }
        }
        None
    }

    fn group<'s>(
        &mut self,
        layers: &Layers<'s>,
        header: ElementHeader,
        scope: &ElementScope<'s>,
    ) -> GroupInstruction {
        layers.check_uses(self, &[]);
        let scope = self.inside(layers, scope);
        let application_type = self.type_reference(layers.inner(), &scope);
        // The length precedes the entries, so it is outside of their application type. Its
        // dictionary is that of the nearest element, the sequence (FAST 1.1, 6.3.1).
        let length =
            (layers.kind == "sequence").then(|| self.length(layers.inner(), &header, &scope));
        let expanding = [scope.expanding, &layers.defines].concat();
        let body = ElementScope {
            application_type: application_type.as_ref().or(scope.application_type),
            expanding: &expanding,
            ..scope
        };
        let instructions = self.instructions(layers.inner(), &body);
        GroupInstruction {
            name: header.name,
            id: header.id,
            presence: header.presence,
            length,
            application_type,
            instructions,
            attributes: header.attributes,
            location: self.location(layers.outer()),
        }
    }

    /// Returns the scope inside a group or sequence.
    fn inside<'s>(&self, layers: &Layers<'s>, scope: &ElementScope<'s>) -> ElementScope<'s> {
        let last = layers.nodes.len() - 1;
        ElementScope {
            ns: layers.ns(self, scope),
            dictionary: layers.dictionary(self, last).or(scope.dictionary),
            definitions: layers.definitions,
            ..*scope
        }
    }

    /// Reads the `typeRef` child of a template, group or sequence.
    pub(super) fn type_reference(
        &mut self,
        parent: Node<'_>,
        scope: &ElementScope<'_>,
    ) -> Option<Name> {
        let node = self.sole_child(parent, &["typeRef"], "typeRef")?;
        let Some(name) = self.attribute(node, "name").map(str::trim) else {
            self.error(Code::S1, node, "typeRef has no name", "add a name attribute");
            return None;
        };
        let ns = self.attribute(node, "ns").unwrap_or(scope.ns);
        Some(self.name(ns, name, node))
    }

    fn length(
        &mut self,
        parent: Node<'_>,
        header: &ElementHeader,
        scope: &ElementScope<'_>,
    ) -> Length {
        let Some(node) = self.sole_child(parent, &["length"], "length") else {
            return Length { name: None, id: None, operator: no_operator() };
        };
        self.check_children(node, OPERATORS);
        let scope = ElementScope {
            ns: self.attribute(node, "ns").unwrap_or(scope.ns),
            dictionary: self.attribute(node, "dictionary").or(scope.dictionary),
            ..*scope
        };
        let local = self.attribute(node, "name").map(str::trim).filter(|name| !name.is_empty());
        let name = local.map(|local| self.name(scope.ns, local, node));
        let id = self.attribute(node, "id").and_then(super::attributes::field_id);
        let operator = self.operator_child(node);
        let (key, part) = match &name {
            Some(name) => (name, EntryPart::Whole),
            None => (&header.name, EntryPart::Length),
        };
        let field_type = FieldType::UInt(Width::W32);
        let presence = header.presence;
        let place = OperatorPlace { scope, field_type: &field_type, presence, name: key, part };
        let operator = self.operator(operator, &place);
        Length { name, id, operator }
    }
}

fn is_known(kind: &str) -> bool {
    super::scalar::is_scalar(kind) || matches!(kind, "enum" | "set" | "group" | "sequence")
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{body, body_codes, codes, set};
    use super::*;
    use crate::template::model::{DictionaryScope, OperatorKind, Presence};

    /// Returns the length of the sequence that is the first instruction.
    fn length(instructions: &[Instruction]) -> &Length {
        match instructions.first() {
            Some(Instruction::Group(GroupInstruction { length: Some(length), .. })) => length,
            other => panic!("no sequence: {other:?}"),
        }
    }

    fn length_of(xml: &str) -> Length {
        length(&body(xml).instructions).clone()
    }

    #[test]
    fn lengths_are_implicit_or_explicit_with_or_without_operator() {
        let implicit = length_of("<sequence name='s'><int8 name='a'/></sequence>");
        assert_eq!((implicit.name, implicit.operator.kind), (None, OperatorKind::None));

        let named =
            length_of("<sequence name='s'><length name='n' id='9'><copy/></length></sequence>");
        assert_eq!(named.name, Some(Name::local("n")));
        assert_eq!(named.id, Some(9));
        assert_eq!(named.operator.entry.key, Name::local("n"));
        assert_eq!(named.operator.entry.part, EntryPart::Whole);

        let unnamed = length_of("<sequence name='s'><length><copy/></length></sequence>");
        assert_eq!(unnamed.operator.entry.key, Name::local("s"));
        assert_eq!(unnamed.operator.entry.part, EntryPart::Length);

        assert_eq!(body_codes("<sequence name='s'><length/><length/></sequence>"), ["S1"]);
    }

    #[test]
    fn a_length_uses_the_dictionary_of_the_nearest_element() {
        let xml = "<sequence name='s' dictionary='d'><length name='n'><copy/></length>
                   <int8 name='a'><copy/></int8></sequence>";
        let inherited = length_of(xml);
        assert_eq!(inherited.operator.entry.dictionary, DictionaryScope::Named("d".into()));
        let xml = "<group name='g' dictionary='x'><sequence name='s'><length><copy/></length>\
                   <int8 name='a'/></sequence></group>";
        let template = body(xml);
        let Instruction::Group(group) = &template.instructions[0] else { panic!("no group") };
        let around = length(&group.instructions);
        assert_eq!(around.operator.entry.dictionary, DictionaryScope::Named("x".into()));
        let global = length_of(
            "<sequence name='s' dictionary='d'><length dictionary='global'><copy/></length></sequence>",
        );
        assert_eq!(global.operator.entry.dictionary, DictionaryScope::Global);
        let own = "<sequence name='s'><length name='n' dictionary='d'><copy/></length></sequence>";
        let own = length_of(own).operator.entry.dictionary;
        assert_eq!(own, DictionaryScope::Named("d".into()));
    }

    #[test]
    fn names_in_a_definition_are_those_where_it_stands() {
        let xml = "<templates><define name='A'><int8/></define>\
            <define name='G'><group><field name='a'><type name='A'/></field></group></define>\
            <template name='T' id='1'><define name='A'><int64/></define>\
            <field name='inside'><type name='G'/></field><field name='b'><type name='A'/></field>\
            </template></templates>";
        let set = crate::TemplateSet::parse(xml).unwrap();
        let [Instruction::Group(group), Instruction::Field(own)] =
            set.templates()[0].instructions.as_slice()
        else {
            panic!("a group and a field")
        };
        let Instruction::Field(inner) = &group.instructions[0] else { panic!("no field") };
        use crate::template::model::{FieldType, Width};
        assert_eq!(inner.field_type, FieldType::Int(Width::W8));
        assert_eq!(own.field_type, FieldType::Int(Width::W64));
    }

    #[test]
    fn groups_have_presence_type_and_their_own_namespace() {
        let template = body(
            "<group name='g' id='3' ns='u' presence='optional' style='x'><typeRef name='Q'/>
             <int8 name='a'/></group>",
        );
        let Instruction::Group(group) = &template.instructions[0] else { panic!("no group") };
        let name = |local: &str| Name { ns: "u".into(), local: local.into() };
        assert_eq!((&group.name, group.id), (&name("g"), Some(3)));
        assert_eq!(group.presence, Presence::Optional);
        assert_eq!(group.application_type, Some(name("Q")));
        assert_eq!(group.attributes.len(), 1);
        let Instruction::Field(field) = &group.instructions[0] else { panic!("no field") };
        assert_eq!(field.name, name("a"));
        assert_eq!(body_codes("<group name='g'><length name='n'/></group>"), ["S1"]);
        assert_eq!(body_codes("<group name='g'><typeRef/></group>"), ["S1"]);
    }

    #[test]
    fn references_are_static_with_a_name_and_dynamic_without() {
        let set = set("<templates templateNs='u'>
            <template name='A' id='1'><templateRef name='B'/><templateRef/></template>
            <template name='B'/></templates>");
        let instructions = &set.templates()[0].instructions;
        assert!(matches!(instructions[0], Instruction::StaticRef(1, _)));
        assert!(matches!(instructions[1], Instruction::DynamicRef(_)));
        assert_eq!(set.bottom_up(), [1, 0]);
    }

    #[test]
    fn references_use_namespaces_where_names_need_them() {
        let set = set("<templates>
            <template name='A'><templateRef name='B' templateNs='v'/></template>
            <template name='B' templateNs='u'/><template name='B' templateNs='v'/>
            <template name='C' templateNs='w'/><template name='D'><templateRef name='C'/></template>
            </templates>");
        assert!(matches!(set.templates()[0].instructions[0], Instruction::StaticRef(2, _)));
        assert!(matches!(set.templates()[4].instructions[0], Instruction::StaticRef(3, _)));
    }

    #[test]
    fn unknown_ambiguous_and_circular_references_are_errors() {
        assert_eq!(body_codes("<templateRef name='X'/>"), ["D8"]);
        assert_eq!(body_codes("<templateRef name='T'/>"), ["S1"]);
        let circle = "<templates><template name='A'><group name='g'><templateRef name='B'/></group>
            </template><template name='B'><templateRef name='A'/></template></templates>";
        assert_eq!(codes(circle), ["S1"]);
        let twice = "<templates><template name='A' id='1'/><template name='A' id='2'/>
            <template name='B'><templateRef name='A'/></template></templates>";
        assert_eq!(codes(twice), ["S1"]);
    }

    #[test]
    fn bit_groups_are_refused_with_the_reason() {
        let xml = super::super::testkit::wrap("<bitGroup name='b'><int8 name='a'/></bitGroup>");
        let errors = crate::template::TemplateSet::parse(&xml).unwrap_err();
        assert_eq!(errors.errors.len(), 1);
        assert!(errors.errors[0].message.contains("bitGroup is not supported"));
    }
}
