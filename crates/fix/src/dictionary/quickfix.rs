//! Parses QuickFIX's dictionary format.

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::{Document, Node, NodeId};

use super::assemble::{self, DEFINITIONS_MAX, DEPTH_MAX, MEMBERS_MAX, MemberList};
use super::problem::{DictionaryProblem, DictionaryProblemKind, Problems};
use super::types::FixFieldType;
use super::xml;
use super::{
    ComponentDef, Dictionary, EnumValue, FieldDef, GroupDef, GroupId, MemberBlock, MemberDef,
    MessageDef,
};
use crate::tag::Tag;

/// Parses a file.
pub(super) fn parse(text: &str) -> Result<Dictionary, Problems> {
    let document = xml::parse(text)?;
    let mut loader = QuickFixLoader::new(&document);
    let mut dictionary = loader.load();
    if loader.problems.is_empty() {
        dictionary.warnings = in_order(loader.warnings);
        return Ok(dictionary);
    }
    Err(Problems(in_order(loader.problems)))
}

/// Returns the problems in the order of their lines, without duplicates.
fn in_order(mut problems: Vec<DictionaryProblem>) -> Vec<DictionaryProblem> {
    problems.sort_by_key(|problem| problem.line);
    problems.dedup();
    problems
}

struct QuickFixLoader<'x> {
    document: &'x Document<'x>,
    problems: Vec<DictionaryProblem>,
    /// Problems that QuickFIX ignores.
    warnings: Vec<DictionaryProblem>,
    /// True while an unused component is read.
    is_unused: bool,
    /// Components that are used.
    used: HashSet<NodeId>,
    fields: Vec<FieldDef>,
    /// Field name to index in `fields`.
    names: HashMap<&'x str, usize>,
    components: HashMap<&'x str, Node<'x, 'x>>,
    groups: Vec<GroupDef>,
    /// Groups that were already read, by element: users of a component share its groups.
    known_groups: HashMap<NodeId, GroupId>,
}

impl<'x> QuickFixLoader<'x> {
    fn new(document: &'x Document<'x>) -> Self {
        Self {
            document,
            problems: Vec::new(),
            warnings: Vec::new(),
            is_unused: false,
            used: HashSet::new(),
            fields: Vec::new(),
            names: HashMap::new(),
            components: HashMap::new(),
            groups: Vec::new(),
            known_groups: HashMap::new(),
        }
    }

    fn report(&mut self, node: Node<'_, '_>, what: DictionaryProblemKind) {
        let line = self.document.text_pos_at(node.range().start).row;
        let is_undefined = matches!(
            what,
            DictionaryProblemKind::UnknownField(_)
                | DictionaryProblemKind::UnknownComponent(_)
                | DictionaryProblemKind::EmptyGroup(_)
        );
        match self.is_unused && is_undefined {
            true => self.warnings.push(DictionaryProblem { line, what }),
            false => self.problems.push(DictionaryProblem { line, what }),
        }
    }

    fn warn(&mut self, node: Node<'_, '_>, what: DictionaryProblemKind) {
        let line = self.document.text_pos_at(node.range().start).row;
        self.warnings.push(DictionaryProblem { line, what });
    }

    fn attribute(&mut self, node: Node<'x, 'x>, attribute: &'static str) -> Option<&'x str> {
        let value = node.attribute(attribute);
        if value.is_none() {
            let element = node.tag_name().name().to_owned();
            self.report(node, DictionaryProblemKind::MissingAttribute { element, attribute });
        }
        value
    }

    fn number(&mut self, node: Node<'x, 'x>, attribute: &'static str) -> Option<u32> {
        let value = self.attribute(node, attribute)?;
        let number = value.trim().parse().ok();
        if number.is_none() {
            let expected = "a number";
            self.report(
                node,
                DictionaryProblemKind::AttributeValue {
                    attribute,
                    value: value.to_owned(),
                    expected,
                },
            );
        }
        number
    }

    fn is_required(&mut self, node: Node<'x, 'x>) -> bool {
        match node.attribute("required") {
            Some("Y" | "y") => true,
            Some("N" | "n") | None => false,
            Some(value) => {
                let (attribute, expected) = ("required", "Y or N");
                let what = DictionaryProblemKind::AttributeValue {
                    attribute,
                    value: value.to_owned(),
                    expected,
                };
                // QuickFIX treats every value except Y as N.
                match value {
                    "true" | "false" => self.warn(node, what),
                    _ => self.report(node, what),
                }
                false
            }
        }
    }

    fn load(&mut self) -> Dictionary {
        let root = self.document.root_element();
        if root.tag_name().name() != "fix" {
            self.report(root, DictionaryProblemKind::Root(root.tag_name().name().to_owned()));
            return assemble::empty();
        }
        let (begin_string, before_42) = self.version(root);
        for section in elements(root) {
            match section.tag_name().name() {
                "header" | "trailer" | "messages" => {}
                "components" => self.read_components(section),
                "fields" => self.read_fields(section, before_42),
                other => {
                    self.report(section, DictionaryProblemKind::UnexpectedElement(other.to_owned()))
                }
            }
        }
        let mut dictionary = assemble::empty();
        dictionary.begin_string = begin_string;
        self.sort_fields();
        for section in elements(root) {
            match section.tag_name().name() {
                "header" => dictionary.header = self.block(section),
                "trailer" => dictionary.trailer = self.block(section),
                "messages" => self.read_messages(section, &mut dictionary),
                _ => {}
            }
        }
        dictionary.components = self.read_all_components();
        dictionary.groups = std::mem::take(&mut self.groups);
        assemble::complete(&mut dictionary, std::mem::take(&mut self.fields));
        dictionary
    }

    /// Returns the BeginString, and true if the version is before 4.2.
    fn version(&mut self, root: Node<'x, 'x>) -> (String, bool) {
        let major = self.number(root, "major").unwrap_or(0);
        let minor = self.number(root, "minor").unwrap_or(0);
        let kind = root.attribute("type").unwrap_or("FIX");
        let pack = root.attribute("servicepack").and_then(|pack| pack.trim().parse().ok());
        let pack = match pack.unwrap_or(0_u32) {
            0 => String::new(),
            pack => format!("SP{pack}"),
        };
        let before_42 = kind == "FIX" && (major, minor) < (4, 2);
        (format!("{kind}.{major}.{minor}{pack}"), before_42)
    }

    fn read_components(&mut self, section: Node<'x, 'x>) {
        for node in elements(section) {
            if node.tag_name().name() != "component" {
                let name = node.tag_name().name().to_owned();
                self.report(node, DictionaryProblemKind::UnexpectedElement(name));
                continue;
            }
            let Some(name) = self.attribute(node, "name") else { continue };
            if self.components.insert(name, node).is_some() {
                let name = name.to_owned();
                self.report(node, DictionaryProblemKind::Duplicate { kind: "component", name });
            }
        }
    }

    fn read_fields(&mut self, section: Node<'x, 'x>, before_42: bool) {
        for node in elements(section) {
            if node.tag_name().name() != "field" {
                let name = node.tag_name().name().to_owned();
                self.report(node, DictionaryProblemKind::UnexpectedElement(name));
                continue;
            }
            let number = self.number(node, "number");
            let name = self.attribute(node, "name");
            let type_name = self.attribute(node, "type").unwrap_or("STRING");
            let (Some(number), Some(name)) = (number, name) else { continue };
            if number == 0 || number > 999_999_999 {
                let (attribute, expected) = ("number", "1 to 999999999");
                let value = number.to_string();
                self.report(
                    node,
                    DictionaryProblemKind::AttributeValue { attribute, value, expected },
                );
                continue;
            }
            if self.fields.len() >= DEFINITIONS_MAX {
                self.report(node, DictionaryProblemKind::TooLarge);
                return;
            }
            if self.names.insert(name, self.fields.len()).is_some() {
                let name = name.to_owned();
                self.warn(node, DictionaryProblemKind::Duplicate { kind: "field", name });
            }
            let field_type = FixFieldType::from_quickfix(type_name.trim(), before_42);
            let values = self.read_values(node);
            let is_yes = |value| matches!(value, Some("Y" | "y" | "true"));
            let open =
                is_yes(node.attribute("allowOther")) || is_yes(node.attribute("allow-other"));
            self.fields.push(assemble::field_def(Tag(number), name, field_type, values, open));
        }
        let mut lines: HashMap<u32, ()> = HashMap::new();
        for node in elements(section) {
            let number = node.attribute("number").and_then(|number| number.trim().parse().ok());
            let Some(number) = number else { continue };
            if lines.insert(number, ()).is_some() {
                let name = number.to_string();
                self.warn(node, DictionaryProblemKind::Duplicate { kind: "field", name });
            }
        }
    }

    fn read_values(&mut self, field: Node<'x, 'x>) -> Vec<EnumValue> {
        let mut values = Vec::new();
        let nodes = elements(field).flat_map(|node| match node.tag_name().name() {
            "values" => elements(node).collect::<Vec<_>>(),
            _ => vec![node],
        });
        for node in nodes {
            if node.tag_name().name() != "value" {
                let name = node.tag_name().name().to_owned();
                self.report(node, DictionaryProblemKind::UnexpectedElement(name));
                continue;
            }
            let Some(value) = self.attribute(node, "enum") else { continue };
            // QuickFIX's files of 5.0 and later list `f ` for QuoteCondition (276). No message can
            // have that value, because spaces separate the values of such a field.
            let value = value.trim_end();
            let description = node.attribute("description").unwrap_or_default();
            values.push(EnumValue { value: value.into(), description: description.into() });
        }
        values
    }

    /// Sorts fields by tag. Of fields with the same tag the last one counts, under the names of all
    /// of them.
    fn sort_fields(&mut self) {
        let tags: Vec<Tag> = self.fields.iter().map(|field| field.tag).collect();
        let mut of_tag = BTreeMap::new();
        for field in std::mem::take(&mut self.fields) {
            of_tag.insert(field.tag, field);
        }
        self.fields = of_tag.into_values().collect();
        for at in self.names.values_mut() {
            let place = self.fields.binary_search_by_key(&tags[*at], |field| field.tag);
            *at = place.unwrap_or_else(|_| unreachable!("every tag has a field"));
        }
    }

    fn read_messages(&mut self, section: Node<'x, 'x>, dictionary: &mut Dictionary) {
        for node in elements(section) {
            if node.tag_name().name() != "message" {
                let name = node.tag_name().name().to_owned();
                self.report(node, DictionaryProblemKind::UnexpectedElement(name));
                continue;
            }
            let (name, msg_type) = (self.attribute(node, "name"), self.attribute(node, "msgtype"));
            let (Some(name), Some(msg_type)) = (name, msg_type) else { continue };
            if dictionary.messages.len() >= DEFINITIONS_MAX {
                self.report(node, DictionaryProblemKind::TooLarge);
                return;
            }
            let index = dictionary.messages.len() as u16;
            if dictionary.types.insert(msg_type.as_bytes(), index) {
                let name = msg_type.to_owned();
                self.report(node, DictionaryProblemKind::Duplicate { kind: "message", name });
            }
            let is_admin = node.attribute("msgcat") == Some("admin");
            let body = self.block(node);
            let (name, msg_type) = (name.to_owned(), msg_type.to_owned());
            dictionary.messages.push(MessageDef { name, msg_type, is_admin, body });
        }
    }

    fn block(&mut self, node: Node<'x, 'x>) -> MemberBlock {
        let mut members = MemberList::default();
        self.collect(node, true, &mut Vec::new(), &mut members);
        let takes_any = members.takes_any;
        MemberBlock { takes_any, ..assemble::block(members.list, &self.fields) }
    }

    /// Collects the members of an element. `path` holds the enclosing components and groups.
    fn collect(
        &mut self,
        node: Node<'x, 'x>,
        required: bool,
        path: &mut Vec<NodeId>,
        members: &mut MemberList,
    ) {
        for child in elements(node) {
            members.met += 1;
            if members.met > MEMBERS_MAX || path.len() > DEPTH_MAX {
                self.report(child, DictionaryProblemKind::TooLarge);
                return;
            }
            if child.tag_name().name() == "anyFields" {
                members.takes_any = true;
                continue;
            }
            let is_required = self.is_required(child) && required;
            let Some(name) = self.attribute(child, "name") else { continue };
            match child.tag_name().name() {
                "field" => self.add(child, name, is_required, None, members),
                "group" => {
                    let group = self.read_group(child, name, path);
                    self.add(child, name, is_required, group, members);
                }
                "component" => match self.components.get(name).copied() {
                    None => {
                        self.report(child, DictionaryProblemKind::UnknownComponent(name.to_owned()))
                    }
                    Some(component) if path.contains(&component.id()) => {
                        self.report(child, DictionaryProblemKind::ComponentCycle(name.to_owned()));
                    }
                    Some(component) => {
                        if !self.is_unused {
                            self.used.insert(component.id());
                        }
                        path.push(component.id());
                        self.collect(component, is_required, path, members);
                        path.pop();
                    }
                },
                other => {
                    self.report(child, DictionaryProblemKind::UnexpectedElement(other.to_owned()))
                }
            }
        }
    }

    fn add(
        &mut self,
        node: Node<'x, 'x>,
        name: &str,
        required: bool,
        group: Option<GroupId>,
        members: &mut MemberList,
    ) {
        let Some(field) = self.names.get(name).and_then(|index| self.fields.get(*index)) else {
            self.report(node, DictionaryProblemKind::UnknownField(name.to_owned()));
            return;
        };
        let tag = field.tag;
        members.add(MemberDef { tag, required, group });
    }

    fn read_group(
        &mut self,
        node: Node<'x, 'x>,
        name: &str,
        path: &mut Vec<NodeId>,
    ) -> Option<GroupId> {
        if let Some(known) = self.known_groups.get(&node.id()) {
            return Some(*known);
        }
        path.push(node.id());
        let mut members = MemberList::default();
        self.collect(node, true, path, &mut members);
        path.pop();
        if members.list.is_empty() {
            self.report(node, DictionaryProblemKind::EmptyGroup(name.to_owned()));
            return None;
        }
        let count = self.names.get(name).and_then(|index| self.fields.get(*index))?.tag;
        let id = GroupId(u32::try_from(self.groups.len()).ok()?);
        self.groups.push(assemble::group(count, members.list));
        self.known_groups.insert(node.id(), id);
        Some(id)
    }

    /// Returns the components by name. Also reads those that no message uses, to report their
    /// problems.
    fn read_all_components(&mut self) -> Vec<ComponentDef> {
        let mut components: Vec<_> = self.components.iter().map(|(n, c)| (*n, *c)).collect();
        components.sort_unstable_by_key(|(name, _)| *name);
        let mut read = Vec::new();
        for (name, component) in components {
            self.is_unused = !self.used.contains(&component.id());
            let mut members = MemberList::default();
            self.collect(component, true, &mut vec![component.id()], &mut members);
            read.push(ComponentDef { name: name.to_owned(), members: members.list });
        }
        read
    }
}

pub(super) fn elements<'x>(node: Node<'x, 'x>) -> impl Iterator<Item = Node<'x, 'x>> {
    node.children().filter(Node::is_element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_come_at_once_with_their_lines() {
        let text = "<fix type='FIX' major='4' minor='x'>\n\
            <header><field name='Nowhere' required='Q'/></header>\n\
            <messages><message name='Order' msgtype='D'>\n\
            <component name='A' required='Y'/>\n\
            <component name='None' required='N'/>\n\
            <group name='Count' required='N'/>\n\
            </message>\n\
            <message name='Order2' msgtype='D'/></messages>\n\
            <components><component name='A'>\n\
            <component name='A' required='N'/></component></components>\n\
            <fields><field number='5' name='Count' type='NUMINGROUP'/>\n\
            <field number='5' name='Other' type='STRING'/>\n\
            <field number='six' name='Six'/></fields></fix>";
        let problems = Dictionary::parse_quickfix(text).expect_err("many problems").0;
        let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 2, 2, 5, 6, 8, 10, 13, 13], "{problems:#?}");
        let error = Dictionary::parse_quickfix("<fix>").expect_err("not closed");
        assert!(matches!(
            error.0[..],
            [DictionaryProblem { line: 1, what: DictionaryProblemKind::Xml(_) }]
        ));
    }

    #[test]
    fn tags_are_of_one_to_nine_digits() {
        let with = |number: &str| {
            Dictionary::parse_quickfix(&format!(
                "<fix type='FIX' major='4' minor='4'><header/><trailer/><messages>\n\
                <message name='M' msgtype='M' msgcat='app'><field name='A' required='Y'/></message></messages>\n\
                <components/><fields><field number='{number}' name='A' type='INT'/></fields></fix>"
            ))
        };
        for number in ["1", "999999999"] {
            assert!(with(number).is_ok(), "{number}");
        }
        for number in ["0", "1000000000"] {
            let problems = with(number).expect_err(number);
            let is_number = |problem: &DictionaryProblem| {
                matches!(
                    problem.what,
                    DictionaryProblemKind::AttributeValue { attribute: "number", .. }
                )
            };
            assert!(problems.0.iter().any(is_number), "{problems}");
            // Each problem is on a separate line.
            assert_eq!(problems.to_string().lines().count(), problems.0.len());
            assert!(problems.to_string().contains("1 to 999999999"), "{problems}");
        }
    }

    #[test]
    fn what_other_engines_load_all_the_same_is_a_warning() {
        let text = "<fix type='FIX' major='4' minor='4'>\n\
            <header/><trailer/>\n\
            <messages><message name='M' msgtype='M' msgcat='app'>\n\
            <field name='A' required='Y'/><component name='Used' required='N'/>\n\
            <anyFields/></message>\n\
            <message name='N' msgtype='N' msgcat='app'><field name='A' required='Y'/></message>\n\
            </messages><components>\n\
            <component name='Used'><field name='B' required='N'/></component>\n\
            <component name='Unused'><field name='Nowhere' required='N'/>\n\
            <component name='None' required='N'/>\
            <group name='A' required='N'><field name='Nowhere' required='N'/></group></component></components>\n\
            <fields><field number='5001' name='A' type='INT'/>\n\
            <field number='5002' name='B' type='STRING'/>\n\
            <field number='5002' name='B2' type='INT'/>\n\
            <field number='5003' name='C' type='STRING'/>\n\
            <field number='5004' name='C' type='STRING'/></fields></fix>";
        let dictionary = Dictionary::parse_quickfix(text).expect("loads");
        let lines: Vec<_> = dictionary.warnings().iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [9, 10, 10, 10, 13, 15], "{:#?}", dictionary.warnings());
        let field = dictionary.field(Tag(5002)).expect("defined");
        assert_eq!(
            (field.name(), field.field_type()),
            ("B2", FixFieldType::Int),
            "the last counts"
        );
        assert_eq!(dictionary.field_named("C").map(FieldDef::tag), Some(Tag(5004)));
        let members = dictionary.message(b"M").expect("defined").members();
        let tags: Vec<_> = members.iter().map(|member| member.tag).collect();
        assert_eq!(
            tags,
            [Tag(5001), Tag(5002)],
            "a replaced name still finds the field of its tag"
        );
        let session = Dictionary::parse_quickfix(&super::super::shipped::FIXT11).expect("loads");
        let checks = crate::Checks { required_fields: false, ..crate::Checks::default() };
        let mut validator = crate::Validator::new(checks);
        let mut check = |body: &str| {
            let body = body.replace('|', "\u{1}");
            let mut bytes = format!("8=FIX.4.4\u{1}9={}\u{1}{body}", body.len()).into_bytes();
            let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
            let mut reader = crate::Reader::new();
            let message = reader.decode(&bytes).expect("well formed");
            let valid = validator.validate_fixt(&message, &session, &dictionary);
            valid.err().map(|error| (error.kind, error.tag))
        };
        assert_eq!(check("35=M|49=A|5001=1|5003=x|"), None, "any field may stand there");
        let refused = Some((crate::FixErrorKind::TagNotInMessage, Some(Tag(5003))));
        assert_eq!(check("35=N|49=A|5001=1|5003=x|"), refused);
    }

    #[test]
    fn required_inside_an_optional_component_is_not_required() {
        let text = "<fix type='FIX' major='4' minor='4' servicepack='0'><header/><trailer/>\
            <messages><message name='M' msgtype='M' msgcat='app'>\
            <component name='C' required='N'/></message></messages>\
            <components><component name='C'><field name='F' required='Y'/></component></components>\
            <fields><field number='20000' name='F' type='INT'/></fields></fix>";
        let dictionary = Dictionary::parse_quickfix(text).expect("loads");
        let member = dictionary.message(b"M").expect("defined").members()[0];
        assert_eq!(member, MemberDef { tag: Tag(20_000), required: false, group: None });
        assert_eq!(dictionary.field(Tag(20_000)).map(FieldDef::name), Some("F"));
    }

    #[test]
    fn components_that_multiply_are_cut_off() {
        let mut text =
            String::from("<fix major='4' minor='4'><messages><message name='M' msgtype='M'>");
        text.push_str("<component name='c0'/></message></messages><components>");
        for at in 0..30 {
            let next = format!("<component name='c{}'/>", at + 1).repeat(2);
            text.push_str(&format!("<component name='c{at}'>{next}</component>"));
        }
        text.push_str("<component name='c30'/></components><fields/></fix>");
        let problems = Dictionary::parse_quickfix(&text).expect_err("two to the thirtieth");
        assert!(problems.0.iter().all(|problem| problem.what == DictionaryProblemKind::TooLarge));
    }
}
