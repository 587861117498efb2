//! Names of fields, and the fields of group entries.

use std::collections::BTreeSet;
use tickwire_fix::dictionary::{FieldDef, GroupDef, MemberDef, MessageDef};
use tickwire_fix::{Dictionary, FixMessage, Tag};

/// Maximum nesting depth of groups.
const DEPTH_MAX: usize = 16;

/// Fields that are redundant in a row: BodyLength and CheckSum, which were checked, and MsgType,
/// which the table has.
pub const FRAME_TAGS: [u32; 3] = [9, 10, 35];

/// The dictionaries that provide names.
#[derive(Clone, Copy, Debug)]
pub struct Names<'d> {
    /// Dictionary of header, trailer and administrative messages.
    pub session: &'d Dictionary,
    /// Dictionary of application messages.
    pub application: &'d Dictionary,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNode {
    /// Its position in the message, from 0.
    pub at: usize,
    /// If the field is a NumInGroup: the entries of its group, each with its fields in order.
    /// Otherwise `None`.
    pub entries: Option<Vec<Vec<FieldNode>>>,
}

impl<'d> Names<'d> {
    /// Returns the field with `tag`.
    pub fn field(&self, tag: Tag) -> Option<&'d FieldDef> {
        self.session.field(tag).or_else(|| self.application.field(tag))
    }

    /// Returns the field called `name`.
    pub fn field_named(&self, name: &str) -> Option<&'d FieldDef> {
        self.session.field_named(name).or_else(|| self.application.field_named(name))
    }

    /// Returns the message with this MsgType.
    pub fn message(&self, msg_type: &[u8]) -> Option<&'d MessageDef> {
        self.session.message(msg_type).or_else(|| self.application.message(msg_type))
    }

    /// Returns the fields of a message in order; fields of group entries are nested in the count of
    /// their group.
    pub fn tree(&self, message: &FixMessage<'_, '_>) -> Vec<FieldNode> {
        let body = self.message(message.msg_type()).map_or(&[][..], MessageDef::members);
        let lists = [body, self.session.header(), self.session.trailer()];
        let (tags, mut nodes, mut at) = (message.tags(), Vec::new(), 0);
        while let Some(tag) = tags.get(at) {
            let group = lists.into_iter().find_map(|members| self.group_of(members, *tag));
            at = self.push_field(&mut nodes, tags, at, group, 0);
        }
        nodes
    }

    /// Returns the tags of named fields. If a field is the count of a group of the message type,
    /// the tags of the entries are included.
    ///
    /// # Errors
    /// A field is in no dictionary; the text names it.
    pub fn tags_named(&self, msg_type: &[u8], fields: &[String]) -> Result<BTreeSet<u32>, String> {
        let mut tags = BTreeSet::new();
        for name in fields {
            let field = self.field_named(name);
            let field = field.ok_or_else(|| format!("the dictionary has no field {name}"))?;
            tags.insert(field.tag().0);
        }
        let body = self.message(msg_type).map_or(&[][..], |message| message.members());
        for (dictionary, members) in [
            (self.session, self.session.header()),
            (self.session, self.session.trailer()),
            (self.session, body),
            (self.application, body),
        ] {
            add_entries(dictionary, members, false, &mut tags);
        }
        Ok(tags)
    }

    /// Returns the group that a field counts.
    fn group_of(&self, members: &[MemberDef], tag: u32) -> Option<&'d GroupDef> {
        let id = members.iter().find(|member| member.tag.0 == tag)?.group?;
        [self.application, self.session]
            .into_iter()
            .find_map(|dictionary| dictionary.group(id).filter(|group| group.count().0 == tag))
    }

    /// Appends the field at `at` with the entries of the group that it counts. Returns the position
    /// after them.
    fn push_field(
        &self,
        nodes: &mut Vec<FieldNode>,
        tags: &[u32],
        at: usize,
        group: Option<&GroupDef>,
        depth: usize,
    ) -> usize {
        let mut next = at + 1;
        let group = group.filter(|_| depth < DEPTH_MAX);
        let entries = group.map(|group| self.entries(tags, &mut next, group, depth));
        nodes.push(FieldNode { at, entries });
        next
    }

    /// Returns the entries of a group that begin at `at`, and moves `at` after them.
    fn entries(
        &self,
        tags: &[u32],
        at: &mut usize,
        group: &GroupDef,
        depth: usize,
    ) -> Vec<Vec<FieldNode>> {
        let delimiter = group.delimiter().0;
        let is_member = |tag: &&u32| group.members().iter().any(|member| member.tag.0 == **tag);
        let mut entries = Vec::new();
        while tags.get(*at) == Some(&delimiter) {
            let (start, mut nodes) = (*at, Vec::new());
            while let Some(&tag) = tags.get(*at).filter(is_member) {
                if tag == delimiter && *at != start {
                    break;
                }
                let inner = self.group_of(group.members(), tag);
                *at = self.push_field(&mut nodes, tags, *at, inner, depth + 1);
            }
            entries.push(nodes);
        }
        entries
    }
}

/// Adds the tags of the entries of groups whose count is among the tags.
fn add_entries(
    dictionary: &Dictionary,
    members: &[MemberDef],
    is_inside: bool,
    tags: &mut BTreeSet<u32>,
) {
    for member in members {
        let is_inside = is_inside || tags.contains(&member.tag.0);
        if is_inside {
            tags.insert(member.tag.0);
        }
        let group = member.group.and_then(|id| dictionary.group(id));
        if let Some(group) = group.filter(|group| group.count() == member.tag) {
            add_entries(dictionary, group.members(), is_inside, tags);
        }
    }
}
