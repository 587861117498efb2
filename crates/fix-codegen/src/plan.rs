//! The plan of a module: structs, their members and enums, with their Rust names.

mod blocks;

use std::collections::HashMap;

pub(crate) use blocks::BlockPlan;
use tickwire_fix::dictionary::{FieldDef, FixFieldType, GroupDef, MemberDef, MessageDef};
use tickwire_fix::{Dictionary, Tag};

use crate::names::{self, Scope};

/// Maximum nesting depth of generated groups; common dictionaries have five.
const DEPTH_MAX: usize = 16;

/// Method names that every struct uses itself.
const OWN_METHODS: [&str; 13] = [
    "blank",
    "clear",
    "clone",
    "decode",
    "decode_entries",
    "decode_from",
    "decode_into",
    "encode",
    "encode_fields",
    "encode_part",
    "new",
    "slots",
    "slots_mut",
];

/// The representation of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldRepresentation {
    Boolean,
    Char,
    /// Bytes; the number is the tag of the preceding length field.
    Data(u32),
    Date,
    Decimal,
    /// Index of the enum.
    Enum(usize),
    /// Index of the struct for its entries.
    Group(usize),
    Int,
    /// The length of the data field that follows; not a member, because it is derived from the
    /// data.
    Length,
    MonthYear,
    /// A list of values; index of their enum.
    Multiple(Option<usize>),
    Text,
    Uint,
    UtcTime,
    UtcTimestamp,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberPlan {
    pub(crate) tag: u32,
    /// Name in the dictionary.
    pub(crate) name: String,
    /// Name in Rust.
    pub(crate) ident: String,
    /// Name of the method that sets it.
    pub(crate) setter: String,
    /// Name of the constant that holds the tag as text.
    pub(crate) constant: String,
    pub(crate) required: bool,
    pub(crate) kind: FieldRepresentation,
}

impl MemberPlan {
    /// True if it has methods that get and set it.
    pub(crate) const fn has_accessors(&self) -> bool {
        !matches!(self.kind, FieldRepresentation::Group(_) | FieldRepresentation::Length)
    }
}

/// The role of a struct.
#[derive(Clone, Debug)]
pub(crate) enum StructRole {
    /// A group entry that begins with this tag.
    Entry(u32),
    Header,
    /// MsgType.
    Message(String),
    Trailer,
}

/// A message, header, trailer, or entry of a group.
#[derive(Clone, Debug)]
pub(crate) struct StructPlan {
    pub(crate) ident: String,
    /// Name in the dictionary.
    pub(crate) name: String,
    pub(crate) role: StructRole,
    /// Rust name of the struct of required members.
    pub(crate) required: String,
    pub(crate) members: Vec<MemberPlan>,
    /// Indices of the shared blocks that it has.
    pub(crate) blocks: Vec<usize>,
    /// True if it is generated rather than only named.
    pub(crate) is_wanted: bool,
}

/// The wire form of an enum's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repr {
    Char,
    Int,
    Text,
}

/// A list of values.
#[derive(Clone, Debug)]
pub(crate) struct EnumPlan {
    pub(crate) ident: String,
    /// Name in the dictionary.
    pub(crate) name: String,
    pub(crate) tag: u32,
    pub(crate) repr: Repr,
    /// Name in Rust, value, and name in the dictionary.
    pub(crate) variants: Vec<(String, String, String)>,
    /// True if it is generated rather than only named.
    pub(crate) is_wanted: bool,
}

/// The contents of a module.
#[derive(Debug, Default)]
pub(crate) struct DictionaryPlan {
    pub(crate) enums: Vec<EnumPlan>,
    pub(crate) structs: Vec<StructPlan>,
    pub(crate) blocks: Vec<BlockPlan>,
}

impl DictionaryPlan {
    /// Selects a struct and everything that it uses for generation.
    fn want(&mut self, index: usize) {
        let Some(found) = self.structs.get_mut(index).filter(|found| !found.is_wanted) else {
            return;
        };
        found.is_wanted = true;
        let kinds: Vec<FieldRepresentation> =
            found.members.iter().map(|member| member.kind.clone()).collect();
        for kind in kinds {
            match kind {
                FieldRepresentation::Enum(index) | FieldRepresentation::Multiple(Some(index)) => {
                    if let Some(found) = self.enums.get_mut(index) {
                        found.is_wanted = true;
                    }
                }
                FieldRepresentation::Group(index) => self.want(index),
                _ => {}
            }
        }
    }

    /// Returns the structs to generate.
    pub(crate) fn wanted_structs(&self) -> impl Iterator<Item = &StructPlan> {
        self.structs.iter().filter(|found| found.is_wanted)
    }

    /// Returns the shared blocks to generate, with their indices.
    pub(crate) fn wanted_blocks(&self) -> impl Iterator<Item = (usize, &BlockPlan)> {
        let is_wanted = |index| self.wanted_structs().any(|found| found.blocks.contains(&index));
        self.blocks.iter().enumerate().filter(move |(index, _)| is_wanted(*index))
    }

    /// Returns the enums to generate.
    pub(crate) fn wanted_enums(&self) -> impl Iterator<Item = &EnumPlan> {
        self.enums.iter().filter(|found| found.is_wanted)
    }
}

/// Builds a plan.
pub(crate) struct Planner<'d> {
    dictionary: &'d Dictionary,
    plan: DictionaryPlan,
    types: Scope,
    constants: Scope,
    /// Enums by tag.
    enums: HashMap<u32, usize>,
    tag_constants: HashMap<u32, String>,
    /// Groups by their contents: groups with equal members share a struct.
    groups: Vec<(u32, Vec<MemberShape>, usize)>,
}

/// A member of a group: tag, required, and the struct of a nested group.
type MemberShape = (u32, bool, Option<usize>);

impl<'d> Planner<'d> {
    /// Creates a planner and reserves the names that the module uses itself.
    pub(crate) fn new(dictionary: &'d Dictionary) -> Self {
        let mut types = Scope::default();
        let own = "AnyMessage Box Clone Copy Debug Default Eq Err Field FixDecimal FixError FixMessage FixText From \
            Header Into LocalMktDate MonthYear Multiple MultipleElement None Ok Option PartialEq Precision \
            Result Self Some String Tag TagText TimeWithPrecision Trailer UtcTime UtcTimestamp Vec Writer";
        for name in own.split_whitespace() {
            types.take(name.to_owned(), "");
        }
        let constants = Scope::default();
        let (plan, enums, tag_constants, groups) = Default::default();
        Self { dictionary, plan, types, constants, enums, tag_constants, groups }
    }

    /// Reserves the names of messages before any others.
    pub(crate) fn message_names(&mut self, messages: &[MessageDef]) -> Vec<String> {
        let name = |message: &MessageDef| self.types.take(names::camel(message.name()), "Message");
        messages.iter().map(name).collect()
    }

    /// Adds a header or trailer without the tags in `skip`, which the library handles itself.
    pub(crate) fn add_frame(
        &mut self,
        dictionary: &'d Dictionary,
        role: StructRole,
        members: &[MemberDef],
        skip: &[u32],
    ) {
        let own = std::mem::replace(&mut self.dictionary, dictionary);
        let members: Vec<MemberDef> =
            members.iter().filter(|member| !skip.contains(&member.tag.0)).copied().collect();
        let (ident, name) = match role {
            StructRole::Trailer => ("Trailer", "trailer"),
            _ => ("Header", "header"),
        };
        let plans = self.members(ident, &members, 0);
        let index = self.push(ident.to_owned(), name.to_owned(), role, plans);
        self.plan.want(index);
        self.dictionary = own;
    }

    /// Adds a message under a reserved name.
    pub(crate) fn add_message(&mut self, ident: String, message: &MessageDef, is_wanted: bool) {
        let members = self.members(&ident, message.members(), 0);
        let role = StructRole::Message(message.msg_type().to_owned());
        let index = self.push(ident, message.name().to_owned(), role, members);
        if is_wanted {
            self.plan.want(index);
        }
    }

    pub(crate) fn finish(mut self, accessors_max: usize) -> DictionaryPlan {
        let components = self.dictionary.components();
        blocks::share(&mut self.plan, components, &mut self.types, accessors_max);
        self.plan
    }

    fn push(
        &mut self,
        ident: String,
        name: String,
        role: StructRole,
        members: Vec<MemberPlan>,
    ) -> usize {
        let required = self.types.take(format!("{ident}Required"), "");
        self.plan.structs.push(StructPlan {
            ident,
            name,
            role,
            required,
            members,
            blocks: Vec::new(),
            is_wanted: false,
        });
        self.plan.structs.len() - 1
    }

    fn members(&mut self, parent: &str, members: &[MemberDef], depth: usize) -> Vec<MemberPlan> {
        let mut scope = Scope::default();
        for own in OWN_METHODS {
            scope.take(own.to_owned(), "");
        }
        let mut plans: Vec<MemberPlan> = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let Some(field) = self.dictionary.field(member.tag) else { continue };
            let next = members.get(at + 1).and_then(|next| self.dictionary.field(next.tag));
            let before = plans.last().filter(|before| before.kind == FieldRepresentation::Length);
            let kind = match (member.group, before) {
                (Some(group), _) => match self.dictionary.group(group) {
                    Some(group) if depth < DEPTH_MAX => {
                        FieldRepresentation::Group(self.group(parent, field, &group.clone(), depth))
                    }
                    _ => FieldRepresentation::Uint,
                },
                (None, Some(before)) if field.field_type().is_data() => {
                    FieldRepresentation::Data(before.tag)
                }
                (None, _) => self.kind(field, next),
            };
            let ident = match kind {
                FieldRepresentation::Group(_) => {
                    names::field(field.name().strip_prefix("No").unwrap_or(field.name()))
                }
                _ => names::field(field.name()),
            };
            let suffix = format!("_{}", member.tag);
            let ident = scope.take(ident, &suffix);
            let plain = ident.strip_prefix("r#").unwrap_or(&ident);
            let setter = scope.take(format!("set_{plain}"), &suffix);
            let constant = self.tag_constant(field);
            let (name, required) = (field.name().to_owned(), member.required);
            let tag = member.tag.0;
            plans.push(MemberPlan { tag, name, ident, setter, constant, required, kind });
        }
        plans
    }

    /// Returns the name of a tag's constant.
    fn tag_constant(&mut self, field: &FieldDef) -> String {
        let tag = field.tag().0;
        if let Some(known) = self.tag_constants.get(&tag) {
            return known.clone();
        }
        let name = self.constants.take(names::constant(field.name()), &format!("_{tag}"));
        self.tag_constants.insert(tag, name.clone());
        name
    }

    fn kind(&mut self, field: &FieldDef, next: Option<&FieldDef>) -> FieldRepresentation {
        use FixFieldType as T;
        match field.field_type() {
            T::Length if next.is_some_and(|next| next.field_type().is_data()) => {
                FieldRepresentation::Length
            }
            T::Length | T::NumInGroup | T::SeqNum | T::TagNum => FieldRepresentation::Uint,
            T::Int | T::DayOfMonth => self
                .listed(field, Repr::Int)
                .map_or(FieldRepresentation::Int, FieldRepresentation::Enum),
            T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => {
                FieldRepresentation::Decimal
            }
            T::Boolean => FieldRepresentation::Boolean,
            // Common dictionaries list longer values for character fields.
            T::Char => {
                let listed = self.listed(field, Repr::Char);
                listed
                    .or_else(|| self.listed(field, Repr::Text))
                    .map_or(FieldRepresentation::Char, FieldRepresentation::Enum)
            }
            T::UtcTimestamp => FieldRepresentation::UtcTimestamp,
            T::UtcTimeOnly => FieldRepresentation::UtcTime,
            T::UtcDateOnly | T::LocalMktDate => FieldRepresentation::Date,
            T::MonthYear => FieldRepresentation::MonthYear,
            T::MultipleCharValue | T::MultipleStringValue => {
                FieldRepresentation::Multiple(self.listed(field, Repr::Text))
            }
            _ => self
                .listed(field, Repr::Text)
                .map_or(FieldRepresentation::Text, FieldRepresentation::Enum),
        }
    }

    /// Returns the enum of a field with listed values if all of them fit the representation.
    fn listed(&mut self, field: &FieldDef, repr: Repr) -> Option<usize> {
        let fits = |value: &str| match repr {
            Repr::Char => value.len() == 1,
            // Only canonical numbers: another form of the same number would not survive a round
            // trip.
            Repr::Int => value.parse::<i64>().is_ok_and(|number| number.to_string() == value),
            Repr::Text => !value.is_empty(),
        };
        let values = field.values();
        if values.is_empty() || !values.iter().all(|known| fits(&known.value)) {
            return None;
        }
        if let Some(known) = self.enums.get(&field.tag().0) {
            return Some(*known);
        }
        let mut scope = Scope::default();
        scope.take("Unlisted".to_owned(), "");
        let variants = values.iter().map(|known| {
            let ident = match known.description.as_str() {
                "" => names::camel(&format!("value {}", known.value)),
                description => names::camel(description),
            };
            let ident = scope.take(ident, &names::camel(&format!("v{}", known.value)));
            (ident, known.value.clone(), known.description.clone())
        });
        let variants = variants.collect();
        let (tag, name) = (field.tag().0, field.name().to_owned());
        let ident = self.types.take(names::camel(field.name()), "Value");
        self.plan.enums.push(EnumPlan { ident, name, tag, repr, variants, is_wanted: false });
        self.enums.insert(tag, self.plan.enums.len() - 1);
        Some(self.plan.enums.len() - 1)
    }

    /// Returns the struct for the entries of a group.
    fn group(&mut self, parent: &str, count: &FieldDef, group: &GroupDef, depth: usize) -> usize {
        let name = count.name().strip_prefix("No").unwrap_or(count.name());
        let base = format!("{}Entry", names::camel(name));
        let members = self.members(&base, group.members(), depth + 1);
        let shape: Vec<MemberShape> = members
            .iter()
            .map(|member| match member.kind {
                FieldRepresentation::Group(index) => (member.tag, member.required, Some(index)),
                _ => (member.tag, member.required, None),
            })
            .collect();
        let Tag(tag) = group.count();
        let known = self.groups.iter().find(|(count, known, _)| *count == tag && *known == shape);
        if let Some((.., index)) = known {
            return *index;
        }
        let is_first = self.groups.iter().all(|(count, ..)| *count != tag);
        let ident = if is_first { base } else { format!("{parent}{base}") };
        let ident = self.types.take(ident, "");
        let index = self.push(
            ident,
            count.name().to_owned(),
            StructRole::Entry(group.delimiter().0),
            members,
        );
        self.groups.push((tag, shape, index));
        index
    }
}
