//! The parts of a dictionary put together, whatever format they were read from.

use std::collections::HashMap;

use super::message_types::MessageTypes;
use super::{Block, Dictionary, EnumValue, FieldDef, FieldType, GroupDef, Member};
use crate::tag::Tag;

/// Deepest nesting of components and groups followed.
pub(super) const DEPTH_MAX: usize = 32;
/// Most members of one message or group, components resolved.
pub(super) const MEMBERS_MAX: usize = 20_000;
/// Most fields, and most messages; both must be below 65,535.
pub(super) const DEFINITIONS_MAX: usize = 60_000;

/// Members being collected for one message or group.
#[derive(Default)]
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    /// True if others may stand there too.
    pub(super) takes_any: bool,
    /// Members met, those met before included.
    pub(super) met: usize,
}

impl Members {
    /// Adds a member. Dictionaries in use name fields twice, directly and in a component: the first counts.
    pub(super) fn add(&mut self, added: Member) {
        match self.list.iter_mut().find(|member| member.tag == added.tag) {
            Some(member) => member.required |= added.required,
            None => self.list.push(added),
        }
    }
}

/// Returns a field; values are sorted, and of those written alike the first is kept.
pub(super) fn field_def(
    tag: Tag,
    name: &str,
    field_type: FieldType,
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

/// Returns a block with the ways from fields, which are sorted by tag, to its members.
pub(super) fn block(members: Vec<Member>, fields: &[FieldDef]) -> Block {
    let required = members.iter().filter(|member| member.required).count();
    let mut places = vec![0; fields.len()];
    for (place, member) in members.iter().enumerate() {
        if let Ok(index) = fields.binary_search_by_key(&member.tag, |field| field.tag) {
            places[index] = u16::try_from(place + 1).unwrap_or(0);
        }
    }
    Block { members, places, required, takes_any: false }
}

/// Returns a group with the ways from tags to its members.
pub(super) fn group(count: Tag, members: Vec<Member>) -> GroupDef {
    let mut places: Vec<_> = (0_u32..).zip(&members).map(|(at, m)| (m.tag.0, at)).collect();
    places.sort_unstable();
    GroupDef { count, members, places }
}

/// Sets the fields of a dictionary, sorted by tag, and the indexes from tag and name to them.
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

/// A dictionary without anything.
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
        header: Block::default(),
        trailer: Block::default(),
        warnings: Vec::new(),
    }
}
