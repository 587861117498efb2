//! Dictionaries: the fields, their types and values, and the messages that contain them.
//!
//! A [`Dictionary`] is complete by construction: every tag in a message, group or component is
//! defined, components are resolved, and groups know the field that begins an entry.

mod assemble;
mod message_types;
mod orchestra;
mod problem;
mod quickfix;
mod types;
mod xml;

use std::collections::HashMap;

pub use problem::{DictionaryProblem, DictionaryProblemKind, Problems};
pub use types::FixFieldType;

use self::message_types::MessageTypes;
use crate::reader::DataFields;
use crate::tag::Tag;

/// The dictionaries that ship with the library, in QuickFIX's format.
///
/// Needs the feature `shipped`, which is on by default. The files are those of QuickFIX, under the licence in the same folder. A program contains them compressed, 0.2 MB instead of
/// 2.1, and decompresses one at its first use (up to 3 ms).
#[cfg(feature = "shipped")]
pub mod shipped {
    use std::sync::LazyLock;

    /// Decompresses what the build script has compressed.
    fn text(compressed: &[u8]) -> String {
        let bytes = miniz_oxide::inflate::decompress_to_vec(compressed).expect("whole");
        String::from_utf8(bytes).expect("text")
    }

    macro_rules! shipped {
        ($count:literal: $($(#[$doc:meta])* $name:ident)+) => {
            $(
                $(#[$doc])*
                pub static $name: LazyLock<String> = LazyLock::new(|| {
                    text(include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name))))
                });
            )+

            /// All of them, under the names of QuickFIX's files.
            pub static ALL: [(&str, &LazyLock<String>); $count] = [$((stringify!($name), &$name)),+];
        };
    }

    shipped! {
        9:
        /// FIX 4.0.
        FIX40
        /// FIX 4.1.
        FIX41
        /// FIX 4.2.
        FIX42
        /// FIX 4.3.
        FIX43
        /// FIX 4.4.
        FIX44
        /// FIX 5.0, application messages only.
        FIX50
        /// FIX 5.0 SP1, application messages only.
        FIX50SP1
        /// FIX 5.0 SP2, application messages only.
        FIX50SP2
        /// FIXT 1.1, session messages, header and trailer.
        FIXT11
    }
}

/// One allowed value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The value on the wire.
    pub value: String,
    /// Its name, such as `BUY`.
    pub description: String,
}

/// A field.
#[derive(Clone, Debug)]
pub struct FieldDef {
    pub(crate) tag: Tag,
    pub(crate) name: String,
    pub(crate) field_type: FixFieldType,
    /// Sorted by value.
    pub(crate) values: Vec<EnumValue>,
    /// Bitmap of the values that are single ASCII characters.
    pub(crate) single: u128,
    /// True if unlisted values are allowed.
    pub(crate) open: bool,
    pub(crate) in_header: bool,
    pub(crate) in_trailer: bool,
}

impl FieldDef {
    /// Returns the tag.
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the type.
    pub const fn field_type(&self) -> FixFieldType {
        self.field_type
    }

    /// Returns the listed values, sorted; empty if any value is allowed.
    pub fn values(&self) -> &[EnumValue] {
        &self.values
    }

    /// True if unlisted values are allowed.
    pub const fn is_open(&self) -> bool {
        self.open || self.values.is_empty()
    }

    /// Returns the name of a value.
    pub fn description(&self, value: &[u8]) -> Option<&str> {
        let at = self.values.binary_search_by(|known| known.value.as_bytes().cmp(value)).ok()?;
        Some(&self.values[at].description)
    }
}

/// A field of a message, header, trailer or group, or the count of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberDef {
    /// The field.
    pub tag: Tag,
    /// True if it is required.
    pub required: bool,
    /// The group that it counts, for [`Dictionary::group`].
    pub group: Option<GroupId>,
}

/// The id of a group in its dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupId(pub(crate) u32);

/// A repeating group. Its members are in the standard's order; the first begins each entry.
#[derive(Clone, Debug)]
pub struct GroupDef {
    pub(crate) count: Tag,
    pub(crate) members: Vec<MemberDef>,
    /// Tags with their indexes among the members, sorted by tag.
    pub(crate) places: Vec<(u32, u32)>,
}

impl GroupDef {
    /// Returns the field that holds the number of entries.
    pub const fn count(&self) -> Tag {
        self.count
    }

    /// Returns the field that begins each entry.
    pub fn delimiter(&self) -> Tag {
        self.members.first().map_or(self.count, |member| member.tag)
    }

    /// Returns the members in order.
    pub fn members(&self) -> &[MemberDef] {
        &self.members
    }

    /// Returns the index of a tag among the members.
    #[inline]
    pub(crate) fn place(&self, tag: u32) -> Option<usize> {
        let at = self.places.binary_search_by_key(&tag, |place| place.0).ok()?;
        Some(self.places[at].1 as usize)
    }
}

/// A message type.
#[derive(Clone, Debug)]
pub struct MessageDef {
    pub(crate) name: String,
    pub(crate) msg_type: String,
    pub(crate) is_admin: bool,
    pub(crate) body: MemberBlock,
}

impl MessageDef {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value of MsgType.
    pub fn msg_type(&self) -> &str {
        &self.msg_type
    }

    /// True for a session message.
    pub const fn is_admin(&self) -> bool {
        self.is_admin
    }

    /// Returns the fields of the body in order, components resolved.
    pub fn members(&self) -> &[MemberDef] {
        &self.body.members
    }
}

/// A component: a set of fields shared by messages and groups.
#[derive(Clone, Debug)]
pub struct ComponentDef {
    pub(crate) name: String,
    pub(crate) members: Vec<MemberDef>,
}

impl ComponentDef {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the fields in order, with nested components resolved.
    pub fn members(&self) -> &[MemberDef] {
        &self.members
    }
}

/// Members with a direct index from fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberBlock {
    pub(crate) members: Vec<MemberDef>,
    /// By field index in the dictionary: member index plus one, or 0.
    pub(crate) places: Vec<u16>,
    pub(crate) required: usize,
    /// True if fields that are not members are allowed too (`anyFields`).
    pub(crate) takes_any: bool,
}

impl MemberBlock {
    /// Returns the member for the field with this index.
    #[inline]
    pub(crate) fn member(&self, field: usize) -> Option<&MemberDef> {
        let place = usize::from(*self.places.get(field)?);
        self.members.get(place.checked_sub(1)?)
    }
}

/// A dictionary of one version, including a counterparty's additions.
#[derive(Clone, Debug)]
pub struct Dictionary {
    pub(crate) begin_string: String,
    pub(crate) fields: Vec<FieldDef>,
    /// By tag below [`Dictionary::DENSE_TAGS`]: field index plus one, or 0.
    pub(crate) dense: Vec<u16>,
    pub(crate) sparse: HashMap<u32, u16>,
    pub(crate) names: HashMap<String, u16>,
    pub(crate) groups: Vec<GroupDef>,
    /// Sorted by name.
    pub(crate) components: Vec<ComponentDef>,
    pub(crate) messages: Vec<MessageDef>,
    pub(crate) types: MessageTypes,
    pub(crate) header: MemberBlock,
    pub(crate) trailer: MemberBlock,
    pub(crate) warnings: Vec<DictionaryProblem>,
}

impl Dictionary {
    /// Tags below this are looked up in an array.
    pub(crate) const DENSE_TAGS: u32 = 1 << 14;

    /// Parses a dictionary in QuickFIX's format. Mistakes that QuickFIX tolerates are warnings
    /// ([`Dictionary::warnings`]): two names of a tag, two tags of a name (the last one counts),
    /// and undefined references in unused components.
    ///
    /// # Errors
    /// All problems of the file, in the order of their lines.
    pub fn parse_quickfix(text: &str) -> Result<Self, Problems> {
        quickfix::parse(text)
    }

    /// Parses a FIX Orchestra repository, version 1.0: fields, code sets, components, groups,
    /// messages and datatypes. Ignores workflow and actors, and all scenarios except the base.
    ///
    /// # Errors
    /// All problems of the file, in the order of their lines.
    pub fn parse_orchestra(text: &str) -> Result<Self, Problems> {
        orchestra::parse(text)
    }

    /// Parses either format, detected by the name of the top element.
    ///
    /// # Errors
    /// All problems of the file, in the order of their lines.
    pub fn parse(text: &str) -> Result<Self, Problems> {
        if orchestra::is_repository(text) { orchestra::parse(text) } else { quickfix::parse(text) }
    }

    /// Parses the bytes of a file in either format, in UTF-8 or, if its XML declaration says so,
    /// ISO-8859-1.
    ///
    /// # Errors
    /// All problems of the file, in the order of their lines.
    pub fn parse_bytes(bytes: &[u8]) -> Result<Self, Problems> {
        Self::parse(&xml::text_of(bytes)?)
    }

    /// Returns the harmless problems of the file from which the dictionary was parsed.
    pub fn warnings(&self) -> &[DictionaryProblem] {
        &self.warnings
    }

    /// Returns the BeginString of the version, such as `FIX.4.2` or `FIXT.1.1`. For FIX 5.0 and its
    /// service packs it is the name of the version, such as `FIX.5.0SP2`. An Orchestra of a later
    /// version includes the session's messages and has their BeginString.
    pub fn begin_string(&self) -> &str {
        &self.begin_string
    }

    /// Returns all fields, by tag.
    pub fn fields(&self) -> &[FieldDef] {
        &self.fields
    }

    /// Returns all components, by name.
    pub fn components(&self) -> &[ComponentDef] {
        &self.components
    }

    /// Returns all messages, in the file's order.
    pub fn messages(&self) -> &[MessageDef] {
        &self.messages
    }

    /// Returns the fields of the header in order; empty for FIX 5.0 and later.
    pub fn header(&self) -> &[MemberDef] {
        &self.header.members
    }

    /// Returns the fields of the trailer in order; empty for FIX 5.0 and later.
    pub fn trailer(&self) -> &[MemberDef] {
        &self.trailer.members
    }

    #[inline]
    pub(crate) fn field_index(&self, tag: u32) -> Option<usize> {
        let index = match self.dense.get(tag as usize) {
            Some(index) => *index,
            None => *self.sparse.get(&tag)?,
        };
        usize::from(index).checked_sub(1)
    }

    /// Returns the field with `tag`.
    #[inline]
    pub fn field(&self, tag: Tag) -> Option<&FieldDef> {
        self.fields.get(self.field_index(tag.0)?)
    }

    /// Returns the field called `name`.
    pub fn field_named(&self, name: &str) -> Option<&FieldDef> {
        self.fields.get(usize::from(*self.names.get(name)?))
    }

    /// Returns the message with this MsgType.
    #[inline]
    pub fn message(&self, msg_type: &[u8]) -> Option<&MessageDef> {
        self.messages.get(self.types.place(msg_type)?)
    }

    /// Returns the group with this id. An id of another dictionary gives `None` or a wrong group.
    #[inline]
    pub fn group(&self, id: GroupId) -> Option<&GroupDef> {
        self.groups.get(id.0 as usize)
    }

    /// Returns the standard's data fields and those of this dictionary: fields of type DATA that
    /// follow a field of type LENGTH.
    pub fn data_fields(&self) -> DataFields {
        let mut data_fields = DataFields::standard();
        let blocks = self.messages.iter().map(|message| &message.body.members);
        let groups = self.groups.iter().map(|group| &group.members);
        for members in blocks.chain(groups).chain([&self.header.members, &self.trailer.members]) {
            for pair in members.windows(2) {
                let kind = |member: &MemberDef| self.field(member.tag).map(FieldDef::field_type);
                let is_data = kind(&pair[1]).is_some_and(FixFieldType::is_data);
                if is_data && kind(&pair[0]) == Some(FixFieldType::Length) {
                    data_fields.add(pair[0].tag.0, pair[1].tag.0);
                }
            }
        }
        data_fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_of_a_shipped_dictionary_ends_with_a_space() {
        for (name, text) in shipped::ALL {
            let dictionary = Dictionary::parse_quickfix(text).unwrap();
            for field in dictionary.fields() {
                let is_bare = |value: &EnumValue| !value.value.ends_with(' ');
                assert!(field.values().iter().all(is_bare), "{name}: {}", field.name());
            }
        }
    }

    #[test]
    fn every_shipped_dictionary_loads() {
        for (name, text) in shipped::ALL {
            let dictionary =
                Dictionary::parse_quickfix(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(dictionary.fields().len() > 60, "{name}");
            assert!(!dictionary.messages().is_empty(), "{name}");
        }
    }

    #[test]
    fn members_and_groups_of_an_order() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
        assert_eq!(dictionary.begin_string(), "FIX.4.4");
        let order = dictionary.message(b"D").expect("NewOrderSingle");
        assert_eq!((order.name(), order.is_admin()), ("NewOrderSingle", false));
        let count = dictionary.field_named("NoPartyIDs").expect("Parties").tag();
        let member =
            order.members().iter().find(|member| member.tag == count).expect("has parties");
        let group =
            dictionary.group(member.group.expect("is a group")).expect("of this dictionary");
        assert_eq!((group.count(), group.delimiter()), (Tag(453), Tag(448)));
        assert!(group.members().iter().any(|member| member.group.is_some()));
        let side = dictionary.field(Tag(54)).expect("Side");
        assert_eq!((side.name(), side.description(b"1")), ("Side", Some("BUY")));
        assert_eq!(dictionary.data_fields().data_of(212), Some(213));
    }
}
