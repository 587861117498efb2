//! Parses FIX Orchestra's repository format.
//!
//! References are by number: fields by tag, components and groups by their ids. Header and trailer
//! are components at the start and end of messages.

use std::collections::HashMap;

use roxmltree::{Document, Node, NodeId};

use super::assemble::{self, DEFINITIONS_MAX, DEPTH_MAX, MEMBERS_MAX, MemberList};
use super::problem::{DictionaryProblem, DictionaryProblemKind, Problems};
use super::quickfix::elements;
use super::types::FixFieldType;
use super::xml;
use super::{
    ComponentDef, Dictionary, EnumValue, FieldDef, GroupDef, GroupId, MemberDef, MessageDef,
};
use crate::tag::Tag;

/// BeginString of every version after FIX 4.4.
const FIXT: &str = "FIXT.1.1";
const HEADER: &str = "StandardHeader";
const TRAILER: &str = "StandardTrailer";

/// True if the top element is that of an Orchestra repository. Does not parse the rest of the file.
pub(super) fn is_repository(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let skipped = [("?", "?>"), ("!--", "-->"), ("!", ">")]
            .into_iter()
            .find_map(|(start, end)| rest.strip_prefix(start).map(|inside| (inside, end)));
        let Some((inside, end)) = skipped else {
            let name = rest.split(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).next();
            let name = name.unwrap_or_default();
            return name.rsplit(':').next() == Some("repository");
        };
        let Some(at) = inside.find(end) else { return false };
        rest = &inside[at + end.len()..];
    }
    false
}

/// Parses a file.
pub(super) fn parse(text: &str) -> Result<Dictionary, Problems> {
    let document = xml::parse(text)?;
    let mut loader = OrchestraLoader::new(&document);
    let dictionary = loader.load();
    if loader.problems.is_empty() {
        return Ok(dictionary);
    }
    loader.problems.sort_by_key(|problem| problem.line);
    loader.problems.dedup();
    Err(Problems(loader.problems))
}

struct OrchestraLoader<'x> {
    document: &'x Document<'x>,
    problems: Vec<DictionaryProblem>,
    /// Each datatype with its base type, if it has one.
    datatypes: HashMap<&'x str, Option<&'x str>>,
    code_sets: HashMap<&'x str, Node<'x, 'x>>,
    fields: Vec<FieldDef>,
    components: HashMap<&'x str, Node<'x, 'x>>,
    group_nodes: HashMap<&'x str, Node<'x, 'x>>,
    groups: Vec<GroupDef>,
    /// Groups that were already read.
    known_groups: HashMap<NodeId, GroupId>,
}

impl<'x> OrchestraLoader<'x> {
    fn new(document: &'x Document<'x>) -> Self {
        Self {
            document,
            problems: Vec::new(),
            datatypes: HashMap::new(),
            code_sets: HashMap::new(),
            fields: Vec::new(),
            components: HashMap::new(),
            group_nodes: HashMap::new(),
            groups: Vec::new(),
            known_groups: HashMap::new(),
        }
    }

    fn report(&mut self, node: Node<'_, '_>, what: DictionaryProblemKind) {
        let line = self.document.text_pos_at(node.range().start).row;
        self.problems.push(DictionaryProblem { line, what });
    }

    fn attribute(&mut self, node: Node<'x, 'x>, attribute: &'static str) -> Option<&'x str> {
        let value = node.attribute(attribute);
        if value.is_none() {
            let element = node.tag_name().name().to_owned();
            self.report(node, DictionaryProblemKind::MissingAttribute { element, attribute });
        }
        value
    }

    fn load(&mut self) -> Dictionary {
        let mut dictionary = assemble::empty();
        let root = self.document.root_element();
        if root.tag_name().name() != "repository" {
            self.report(root, DictionaryProblemKind::Root(root.tag_name().name().to_owned()));
            return dictionary;
        }
        self.define(root);
        self.read_fields(root);
        let named = |name| elements(root).find(|section| section.tag_name().name() == name);
        let frame = |name: &str| {
            named("components")
                .into_iter()
                .flat_map(elements)
                .find(|node| node.attribute("name") == Some(name))
        };
        for (name, is_header) in [(HEADER, true), (TRAILER, false)] {
            let Some(component) = frame(name) else { continue };
            let block = assemble::block(self.members(component), &self.fields);
            *if is_header { &mut dictionary.header } else { &mut dictionary.trailer } = block;
        }
        for message in named("messages").into_iter().flat_map(elements) {
            self.read_message(message, &mut dictionary);
        }
        dictionary.components = self.read_all_components();
        dictionary.begin_string = begin_string(root, !dictionary.header.members.is_empty());
        dictionary.groups = std::mem::take(&mut self.groups);
        assemble::complete(&mut dictionary, std::mem::take(&mut self.fields));
        dictionary
    }

    /// Records the definitions of datatypes, code sets, components and groups.
    fn define(&mut self, root: Node<'x, 'x>) {
        for section in elements(root) {
            let (kind, key) = match section.tag_name().name() {
                "datatypes" => ("datatype", "name"),
                "codeSets" => ("codeSet", "name"),
                "components" => ("component", "id"),
                "groups" => ("group", "id"),
                _ => continue,
            };
            for node in elements(section).filter(|node| is_base(*node)) {
                if node.tag_name().name() != kind {
                    if node.tag_name().name() != "annotation" {
                        let name = node.tag_name().name().to_owned();
                        self.report(node, DictionaryProblemKind::UnexpectedElement(name));
                    }
                    continue;
                }
                let Some(name) = self.attribute(node, key) else { continue };
                let is_known = match kind {
                    "datatype" => self.datatypes.insert(name, node.attribute("baseType")).is_some(),
                    "codeSet" => self.code_sets.insert(name, node).is_some(),
                    "component" => self.components.insert(name, node).is_some(),
                    _ => self.group_nodes.insert(name, node).is_some(),
                };
                if is_known {
                    self.report(
                        node,
                        DictionaryProblemKind::Duplicate { kind, name: name.to_owned() },
                    );
                }
            }
        }
    }

    fn read_fields(&mut self, root: Node<'x, 'x>) {
        let sections = elements(root).filter(|section| section.tag_name().name() == "fields");
        let mut met = HashMap::new();
        for node in sections.flat_map(elements).filter(|node| is_base(*node)) {
            if node.tag_name().name() == "annotation" {
                continue;
            }
            let (id, name) = (self.attribute(node, "id"), self.attribute(node, "name"));
            let type_name = self.attribute(node, "type");
            let (Some(id), Some(name), Some(type_name)) = (id, name, type_name) else { continue };
            let Some(tag) = id.trim().parse().ok().filter(|tag| matches!(tag, 1..=999_999_999))
            else {
                let (attribute, expected) = ("id", "1 to 999999999");
                let value = id.to_owned();
                self.report(
                    node,
                    DictionaryProblemKind::AttributeValue { attribute, value, expected },
                );
                continue;
            };
            if self.fields.len() >= DEFINITIONS_MAX {
                self.report(node, DictionaryProblemKind::TooLarge);
                return;
            }
            let repeated = [("tag", id), ("name", name)]
                .into_iter()
                .find(|found| met.insert(*found, ()).is_some());
            if let Some((_, name)) = repeated {
                self.report(
                    node,
                    DictionaryProblemKind::Duplicate { kind: "field", name: name.to_owned() },
                );
                continue;
            }
            let (field_type, values) = self.field_type(node, type_name);
            // A union also allows unlisted values.
            let open = node.attribute("unionDataType").is_some();
            self.fields.push(assemble::field_def(Tag(tag), name, field_type, values, open));
        }
        self.fields.sort_by_key(|field| field.tag);
    }

    /// Returns the type for a field's type name, and its listed values.
    fn field_type(&mut self, node: Node<'x, 'x>, name: &'x str) -> (FixFieldType, Vec<EnumValue>) {
        let Some(code_set) = self.code_sets.get(name).copied() else {
            return (self.datatype(node, name), Vec::new());
        };
        let codes = elements(code_set).filter(|node| node.tag_name().name() == "code");
        let mut values = Vec::new();
        for code in codes {
            let Some(value) = self.attribute(code, "value") else { continue };
            let description = code.attribute("name").unwrap_or_default();
            values.push(EnumValue { value: value.into(), description: description.into() });
        }
        let field_type = match self.attribute(code_set, "type") {
            Some(name) => self.datatype(code_set, name),
            None => FixFieldType::Unknown,
        };
        (field_type, values)
    }

    /// Returns the type of a datatype: its own, or that of the first base type that is known.
    fn datatype(&mut self, node: Node<'x, 'x>, name: &'x str) -> FixFieldType {
        let mut name = name;
        for _ in 0..DEPTH_MAX {
            let known = FixFieldType::from_quickfix(&name.to_ascii_uppercase(), false);
            if known != FixFieldType::Unknown {
                return known;
            }
            match self.datatypes.get(name) {
                Some(Some(base)) if *base != name => name = base,
                Some(_) => return FixFieldType::Unknown,
                None => {
                    self.report(node, DictionaryProblemKind::UnknownType(name.to_owned()));
                    return FixFieldType::Unknown;
                }
            }
        }
        FixFieldType::Unknown
    }

    fn read_message(&mut self, node: Node<'x, 'x>, dictionary: &mut Dictionary) {
        if node.tag_name().name() == "annotation" || !is_base(node) {
            return;
        }
        let (name, msg_type) = (self.attribute(node, "name"), self.attribute(node, "msgType"));
        let (Some(name), Some(msg_type)) = (name, msg_type) else { return };
        if dictionary.messages.len() >= DEFINITIONS_MAX {
            self.report(node, DictionaryProblemKind::TooLarge);
            return;
        }
        let index = dictionary.messages.len() as u16;
        if dictionary.types.insert(msg_type.as_bytes(), index) {
            self.report(
                node,
                DictionaryProblemKind::Duplicate { kind: "message", name: msg_type.to_owned() },
            );
        }
        let structure = elements(node).find(|child| child.tag_name().name() == "structure");
        let members = structure.map_or_else(Vec::new, |structure| self.members(structure));
        let is_admin = node.attribute("category") == Some("Session");
        let body = assemble::block(members, &self.fields);
        let (name, msg_type) = (name.to_owned(), msg_type.to_owned());
        dictionary.messages.push(MessageDef { name, msg_type, is_admin, body });
    }

    /// Returns the members of a message's structure or of a component, all resolved.
    fn members(&mut self, node: Node<'x, 'x>) -> Vec<MemberDef> {
        let mut members = MemberList::default();
        self.collect(node, true, &mut vec![node.id()], &mut members);
        members.list
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
            let kind = child.tag_name().name();
            if matches!(kind, "annotation" | "numInGroup" | "rule" | "assign" | "blockAssignment") {
                continue;
            }
            members.met += 1;
            if members.met > MEMBERS_MAX || path.len() > DEPTH_MAX {
                self.report(child, DictionaryProblemKind::TooLarge);
                return;
            }
            let Some(presence) = self.presence(child) else { continue };
            let is_required = presence && required;
            let Some(id) = self.attribute(child, "id") else { continue };
            match kind {
                "fieldRef" => self.add(child, id, is_required, None, members),
                "groupRef" => self.add_group(child, id, is_required, path, members),
                "componentRef" => match self.components.get(id).copied() {
                    None => {
                        self.report(child, DictionaryProblemKind::UnknownComponent(id.to_owned()))
                    }
                    // Header and trailer belong to the message but not to its body.
                    Some(component)
                        if matches!(component.attribute("name"), Some(HEADER | TRAILER)) => {}
                    Some(component) if path.contains(&component.id()) => {
                        self.report(child, DictionaryProblemKind::ComponentCycle(id.to_owned()));
                    }
                    Some(component) => {
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

    /// Returns true if a member is required, false if optional, `None` if forbidden.
    fn presence(&mut self, node: Node<'x, 'x>) -> Option<bool> {
        match node.attribute("presence") {
            None | Some("optional") => Some(false),
            Some("required" | "constant") => Some(true),
            Some("forbidden" | "ignored") => None,
            Some(value) => {
                let attribute = "presence";
                let expected = "optional, required, constant, forbidden or ignored";
                let value = value.to_owned();
                self.report(
                    node,
                    DictionaryProblemKind::AttributeValue { attribute, value, expected },
                );
                None
            }
        }
    }

    fn add(
        &mut self,
        node: Node<'x, 'x>,
        id: &str,
        required: bool,
        group: Option<GroupId>,
        members: &mut MemberList,
    ) {
        let tag = id.trim().parse().map(Tag).ok();
        let known = tag.filter(|tag| self.fields.binary_search_by_key(tag, |f| f.tag).is_ok());
        match known {
            Some(tag) => members.add(MemberDef { tag, required, group }),
            None => self.report(node, DictionaryProblemKind::UnknownField(id.to_owned())),
        }
    }

    fn add_group(
        &mut self,
        node: Node<'x, 'x>,
        id: &str,
        required: bool,
        path: &mut Vec<NodeId>,
        members: &mut MemberList,
    ) {
        let Some(definition) = self.group_nodes.get(id).copied() else {
            self.report(node, DictionaryProblemKind::UnknownGroup(id.to_owned()));
            return;
        };
        if path.contains(&definition.id()) {
            self.report(node, DictionaryProblemKind::ComponentCycle(id.to_owned()));
            return;
        }
        let count = elements(definition).find(|child| child.tag_name().name() == "numInGroup");
        let Some(count) = count else {
            let element = "group".to_owned();
            self.report(
                definition,
                DictionaryProblemKind::MissingAttribute { element, attribute: "numInGroup" },
            );
            return;
        };
        let Some(count_id) = self.attribute(count, "id") else { return };
        let group = self.read_group(definition, count_id, path);
        self.add(count, count_id, required, group, members);
    }

    fn read_group(
        &mut self,
        definition: Node<'x, 'x>,
        count: &str,
        path: &mut Vec<NodeId>,
    ) -> Option<GroupId> {
        if let Some(known) = self.known_groups.get(&definition.id()) {
            return Some(*known);
        }
        path.push(definition.id());
        let mut members = MemberList::default();
        self.collect(definition, true, path, &mut members);
        path.pop();
        if members.list.is_empty() {
            let name = definition.attribute("name").unwrap_or("?").to_owned();
            self.report(definition, DictionaryProblemKind::EmptyGroup(name));
            return None;
        }
        let count = Tag(count.trim().parse().ok()?);
        let id = GroupId(u32::try_from(self.groups.len()).ok()?);
        self.groups.push(assemble::group(count, members.list));
        self.known_groups.insert(definition.id(), id);
        Some(id)
    }

    /// Returns the components by name, except header and trailer. Also reads groups that no message
    /// uses, to report their problems.
    fn read_all_components(&mut self) -> Vec<ComponentDef> {
        let groups: Vec<_> = self.group_nodes.values().copied().collect();
        for node in groups {
            self.members(node);
        }
        let components: Vec<_> = self.components.values().copied().collect();
        let mut read: Vec<ComponentDef> = Vec::new();
        for node in components {
            let members = self.members(node);
            let name = node.attribute("name").unwrap_or_default().to_owned();
            if !matches!(name.as_str(), "" | HEADER | TRAILER) {
                read.push(ComponentDef { name, members });
            }
        }
        read.sort_by(|a, b| a.name.cmp(&b.name));
        read
    }
}

/// True if an element belongs to the base scenario.
fn is_base(node: Node<'_, '_>) -> bool {
    matches!(node.attribute("scenario"), None | Some("base"))
}

/// Returns the BeginString of a repository.
fn begin_string(root: Node<'_, '_>, has_header: bool) -> String {
    let name = root.attribute("version").or(root.attribute("name")).unwrap_or_default();
    let version = name.split('_').next().unwrap_or_default();
    if has_header && !version.starts_with("FIX.4.") { FIXT.into() } else { version.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = include_str!("../../tests/own_orchestra.xml");

    #[test]
    fn a_repository_becomes_a_dictionary() {
        let dictionary = Dictionary::parse(OWN).expect("loads");
        assert_eq!(dictionary.begin_string(), "FIXT.1.1");
        let header: Vec<u32> = dictionary.header().iter().map(|member| member.tag.0).collect();
        assert_eq!(header, [8, 9, 35, 49, 56, 34, 52]);
        let order = dictionary.message(b"D").expect("defined");
        assert_eq!((order.name(), order.is_admin()), ("Order", false));
        let members: Vec<(u32, bool)> =
            order.members().iter().map(|member| (member.tag.0, member.required)).collect();
        assert_eq!(
            members,
            [(11, true), (54, true), (453, false), (95, false), (96, false), (38, false)]
        );
        let parties = order.members()[2].group.expect("a group");
        let parties = dictionary.group(parties).expect("of this dictionary");
        assert_eq!((parties.count(), parties.delimiter()), (Tag(453), Tag(448)));
        let inner = parties.members()[2].group.and_then(|inner| dictionary.group(inner));
        assert_eq!(inner.map(GroupDef::count), Some(Tag(802)));
        let side = dictionary.field(Tag(54)).expect("Side");
        assert_eq!((side.field_type(), side.description(b"1")), (FixFieldType::Char, Some("Buy")));
        assert!(!side.is_open());
        let role = dictionary.field(Tag(452)).expect("PartyRole");
        assert_eq!((role.field_type(), role.is_open()), (FixFieldType::Int, true));
        let code = dictionary.field(Tag(5001)).expect("a custom field");
        assert_eq!(code.field_type(), FixFieldType::String);
        assert_eq!(dictionary.data_fields().data_of(95), Some(96));
        assert!(dictionary.message(b"0").expect("defined").is_admin());
    }

    #[test]
    fn all_problems_come_at_once_with_their_lines() {
        let text = "<r:repository xmlns:r='x' version='FIX.Latest'>\n\
            <r:codeSets><r:codeSet name='C' type='nothing'><r:code name='A'/></r:codeSet></r:codeSets>\n\
            <r:datatypes><r:datatype name='int'/></r:datatypes>\n\
            <r:fields><r:field id='1' name='A' type='C'/>\n\
            <r:field id='1' name='B' type='int'/>\n\
            <r:field id='0' name='Z' type='int'/>\n\
            <r:field id='2' name='N' type='Nowhere'/></r:fields>\n\
            <r:components><r:component id='10' name='Loop'>\n\
            <r:componentRef id='10'/></r:component></r:components>\n\
            <r:groups><r:group id='20' name='G'>\n\
            <r:numInGroup id='2'/></r:group></r:groups>\n\
            <r:messages><r:message name='M' msgType='M'><r:structure>\n\
            <r:fieldRef id='77'/>\n\
            <r:groupRef id='20'/>\n\
            <r:groupRef id='21'/>\n\
            <r:componentRef id='11'/>\n\
            <r:fieldRef id='1' presence='maybe'/>\n\
            </r:structure></r:message></r:messages></r:repository>";
        let problems = Dictionary::parse(text).expect_err("many problems").0;
        let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [2, 2, 5, 6, 7, 9, 10, 13, 15, 16, 17], "{problems:#?}");
        let error = Dictionary::parse_orchestra("<fix/>").expect_err("another format");
        assert!(matches!(
            error.0[..],
            [DictionaryProblem { line: 1, what: DictionaryProblemKind::Root(_) }]
        ));
    }

    #[test]
    fn a_message_has_so_many_members_and_no_more() {
        let with = |count: usize| {
            let members = "<r:fieldRef id='1' presence='optional'/>".repeat(count);
            let text = format!(
                "<r:repository xmlns:r='x' version='FIX.4.4'><r:fields><r:field id='1' name='A' type='int'/>\
                </r:fields><r:datatypes><r:datatype name='int'/></r:datatypes>\
                <r:messages><r:message name='M' msgType='M'><r:structure>{members}\
                </r:structure></r:message></r:messages></r:repository>"
            );
            let problems = Dictionary::parse(&text).err().map_or(Vec::new(), |problems| problems.0);
            problems.iter().any(|problem| matches!(problem.what, DictionaryProblemKind::TooLarge))
        };
        assert!(!with(MEMBERS_MAX));
        assert!(with(MEMBERS_MAX + 1));
    }

    #[test]
    fn the_format_is_told_by_the_top_element() {
        for (text, expected) in [
            ("<?xml version='1.0'?>\n<!-- <repository> -->\n<fixr:repository x='y'>", true),
            ("<repository/>", true),
            ("<!DOCTYPE fix><fix major='4'><repository/>", false),
            ("<fix>", false),
            ("", false),
            ("<!-- open", false),
        ] {
            assert_eq!(is_repository(text), expected, "{text}");
        }
    }
}
