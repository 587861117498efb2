//! Assembles the parts of a dictionary, whichever format they were read from.

use std::collections::HashMap;

use super::message_types::MessageTypes;
use super::{Dictionary, EnumValue, FieldDef, FixFieldType, GroupDef, MemberBlock, MemberDef};
use crate::tag::Tag;

/// Maximum nesting depth of components and groups.
pub(super) const DEPTH_MAX: usize = 32;
/// Maximum number of members of a message or group, after resolving components.
pub(super) const MEMBERS_MAX: usize = 20_000;
/// Maximum number of fields, and of messages; both must be below 65,535.
pub(super) const DEFINITIONS_MAX: usize = 60_000;

/// Members collected for a message or group.
#[derive(Default)]
pub(super) struct MemberList {
    pub(super) list: Vec<MemberDef>,
    /// True if other fields are allowed too.
    pub(super) takes_any: bool,
    /// Number of members seen, including repeated ones.
    pub(super) met: usize,
}

impl MemberList {
    /// Adds a member. Common dictionaries list some fields twice, directly and in a component; the
    /// first one counts.
    pub(super) fn add(&mut self, added: MemberDef) {
        match self.list.iter_mut().find(|member| member.tag == added.tag) {
            Some(member) => member.required |= added.required,
            None => self.list.push(added),
        }
    }
}

/// Returns a field. Sorts its values and keeps the first of duplicates.
pub(super) fn field_def(
    tag: Tag,
    name: &str,
    field_type: FixFieldType,
    mut values: Vec<EnumValue>,
    open: bool,
) -> FieldDef {
    values.sort_by(|a, b| a.value.as_bytes().cmp(b.value.as_bytes()));
    values.dedup_by(|a, b| a.value == b.value);
    let single = values.iter().fold(0, |single, known| match known.value.as_bytes() {
        [byte] if byte.is_ascii() => single | 1_u128 << byte,
        _ => single,
    });
    let name = name.to_owned();
    FieldDef { tag, name, field_type, values, single, open, in_header: false, in_trailer: false }
}

/// Returns a block with an index from fields, which are sorted by tag, to its members.
pub(super) fn block(members: Vec<MemberDef>, fields: &[FieldDef]) -> MemberBlock {
    let required = members.iter().filter(|member| member.required).count();
    let mut places = vec![0; fields.len()];
    for (place, member) in members.iter().enumerate() {
        if let Ok(index) = fields.binary_search_by_key(&member.tag, |field| field.tag) {
            places[index] = u16::try_from(place + 1).unwrap_or(0);
        }
    }
    MemberBlock { members, places, required, takes_any: false }
}

/// Returns a group with an index from tags to its members.
pub(super) fn group(count: Tag, members: Vec<MemberDef>) -> GroupDef {
    let mut places: Vec<_> = (0_u32..).zip(&members).map(|(at, m)| (m.tag.0, at)).collect();
    places.sort_unstable();
    GroupDef { count, members, places }
}

/// Sets the fields of a dictionary, which are sorted by tag, and builds the indexes by tag and
/// name.
pub(super) fn complete(dictionary: &mut Dictionary, fields: Vec<FieldDef>) {
    dictionary.fields = fields;
    let largest = dictionary.fields.last().map_or(0, |field| field.tag.0);
    let dense = largest.saturating_add(1).min(Dictionary::DENSE_TAGS);
    dictionary.dense = vec![0; dense as usize];
    for (index, field) in dictionary.fields.iter_mut().enumerate() {
        let place = index as u16 + 1;
        match dictionary.dense.get_mut(field.tag.0 as usize) {
            Some(slot) => *slot = place,
            None => drop(dictionary.sparse.insert(field.tag.0, place)),
        }
        dictionary.names.insert(field.name.clone(), index as u16);
        field.in_header = dictionary.header.member(index).is_some();
        field.in_trailer = dictionary.trailer.member(index).is_some();
    }
}

/// Returns an empty dictionary.
pub(super) fn empty() -> Dictionary {
    Dictionary {
        begin_string: String::new(),
        fields: Vec::new(),
        dense: Vec::new(),
        sparse: HashMap::new(),
        names: HashMap::new(),
        groups: Vec::new(),
        components: Vec::new(),
        messages: Vec::new(),
        types: MessageTypes::new(),
        header: MemberBlock::default(),
        trailer: MemberBlock::default(),
        warnings: Vec::new(),
    }
}
