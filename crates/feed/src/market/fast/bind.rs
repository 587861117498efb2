//! Kinds of templates, and the positions of their fields.

use tickwire_fast::template::{Element, FieldType};
use tickwire_fast::{
    FieldHandle, FieldLayout, FieldValue, Program, Repeated, SegmentRef, Slot, SlotKind, Storage,
};

use super::BookModel;
use super::quick::QuickEntry;
use super::row::{Bound, Bounds};
use super::tags::{PLACES, TAGS, tag};

/// Kind of a template's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateRole {
    /// Entries with MDUpdateAction (279): 35=X.
    Incremental,
    /// Entries without MDUpdateAction, and LastMsgSeqNumProcessed (369) or 35=W.
    Snapshot,
    /// NewSeqNo (36): 35=4.
    SequenceReset,
    /// 35=d.
    Definition,
    /// 35=f.
    SecurityStatus,
    /// 35=h.
    SessionStatus,
    /// No market data.
    Other,
}

/// A template: its role, and its fields.
#[derive(Debug)]
pub(super) struct TemplateShape {
    pub(super) role: TemplateRole,
    pub(super) root: Box<Bounds>,
    pub(super) entry: Box<Bounds>,
    /// The sequence of entries: its index in the root, and its slot.
    pub(super) entries_at: usize,
    pub(super) entries: Option<Slot<Repeated>>,
    /// Slots of a common entry of an incremental message, if levels are named by position.
    pub(super) quick: Option<QuickEntry>,
    /// FIX codes by wire value of MDEntryType and of MDUpdateAction, if these are enums (FAST 1.2);
    /// otherwise empty.
    pub(super) codes: [Box<[u8]>; 2],
    /// True if fields of the key are in the entries.
    pub(super) has_own_key: bool,
    /// Sequence of a definition with MDFeedType (1022) and MarketDepth (264), and its fields.
    pub(super) feeds_at: usize,
    pub(super) feeds: Option<(Slot<Repeated>, Box<Bounds>)>,
}

impl TemplateShape {
    pub(super) fn of(
        program: &Program,
        segment: SegmentRef,
        key: &[u32],
        model: BookModel,
    ) -> Self {
        let fields = program.fields_of(segment);
        let root = bounds(program, segment, key);
        let sequence = |wanted: &[u32]| {
            fields.iter().enumerate().find_map(|(index, field)| {
                let Storage::Sequence { segment: of_entry, .. } = field.storage else {
                    return None;
                };
                let entry = program.fields_of(of_entry);
                let has = |tag: &u32| entry.iter().any(|field| field.id == Some(*tag));
                let slot = program.slot(FieldHandle { segment, index })?;
                wanted.iter().all(has).then_some((index, slot, of_entry))
            })
        };
        let entries = sequence(&[tag::ENTRY_TYPE]);
        let feeds = sequence(&[tag::MD_FEED_TYPE, tag::MARKET_DEPTH]);
        let entry = match entries {
            Some((_, _, of_entry)) => bounds(program, of_entry, key),
            None => missing(),
        };
        let is_in_entry = |tag: &u32| {
            let of_entry = entries.map(|(_, _, of_entry)| program.fields_of(of_entry));
            of_entry.is_some_and(|fields| fields.iter().any(|field| field.id == Some(*tag)))
        };
        let has_update_action = is_in_entry(&tag::UPDATE_ACTION);
        let codes_of = |tag: u32, words: &[(&str, u8)]| {
            let fields = entries.map_or(&[][..], |(_, _, of_entry)| program.fields_of(of_entry));
            let field = fields.iter().find(|field| field.id == Some(tag));
            field.map_or_else(Box::default, |field| codes(field, words))
        };
        let role = role(fields, entries.map(|_| has_update_action));
        let is_usual = role == TemplateRole::Incremental
            && key == [tag::SECURITY_ID]
            && model == BookModel::ByLevel;
        Self {
            role,
            quick: if is_usual { QuickEntry::new(&entry) } else { None },
            root,
            entry,
            entries_at: entries.map_or(usize::MAX, |(index, _, _)| index),
            entries: entries.map(|(_, slot, _)| slot),
            codes: [
                codes_of(tag::ENTRY_TYPE, &ENTRY_TYPES),
                codes_of(tag::UPDATE_ACTION, &UPDATE_ACTIONS),
            ],
            has_own_key: key.iter().any(is_in_entry),
            feeds_at: feeds.map_or(usize::MAX, |(index, _, _)| index),
            feeds: feeds.map(|(_, slot, of_feed)| (slot, bounds(program, of_feed, key))),
        }
    }
}

/// Names of enum elements that exchanges use for MDEntryType instead of its codes.
const ENTRY_TYPES: [(&str, u8); 8] = [
    ("bid", b'0'),
    ("buy", b'0'),
    ("offer", b'1'),
    ("ask", b'1'),
    ("sell", b'1'),
    ("trade", b'2'),
    ("emptybook", b'J'),
    ("empty book", b'J'),
];
/// Names of enum elements that exchanges use for MDUpdateAction instead of its codes.
const UPDATE_ACTIONS: [(&str, u8); 7] = [
    ("new", b'0'),
    ("change", b'1'),
    ("modify", b'1'),
    ("delete", b'2'),
    ("deletethru", b'3'),
    ("deletefrom", b'4'),
    ("overlay", b'5'),
];
/// A code that is neither a side nor an action.
const UNKNOWN_CODE: u8 = b'?';

/// Returns FIX codes by wire value of an enum: an element's id or name if it is one character, else
/// the code that its name stands for. Empty if the field is no enum.
fn codes(field: &FieldLayout, words: &[(&str, u8)]) -> Box<[u8]> {
    let Some(FieldType::Enum(enumeration)) = &field.field_type else { return Box::default() };
    let code = |element: &Element| match (element.id.as_bytes(), element.name.as_bytes()) {
        (&[code], _) | (_, &[code]) => code,
        _ => {
            let name = element.name.to_ascii_lowercase().replace('_', "");
            let known = words.iter().find(|(word, _)| *word == name);
            known.map_or(UNKNOWN_CODE, |(_, code)| *code)
        }
    };
    enumeration.elements.iter().map(code).collect()
}

/// Returns the role of a template with these fields. `entries` is `None` without entries, else true
/// if they have MDUpdateAction.
fn role(fields: &[FieldLayout], entries: Option<bool>) -> TemplateRole {
    let has = |tag| fields.iter().any(|field| field.id == Some(tag));
    let msg_type = fields.iter().find(|field| field.id == Some(tag::MSG_TYPE));
    let msg_type = match msg_type.and_then(FieldLayout::constant) {
        Some(FieldValue::Ascii(text) | FieldValue::Unicode(text) | FieldValue::Bytes(text)) => text,
        _ => &[],
    };
    match (entries, msg_type) {
        (Some(_), b"W") => TemplateRole::Snapshot,
        (Some(true), _) => TemplateRole::Incremental,
        (Some(false), _) if has(tag::LAST_MSG_SEQ_NUM_PROCESSED) => TemplateRole::Snapshot,
        (Some(false), _) => TemplateRole::Other,
        (None, b"d") => TemplateRole::Definition,
        (None, b"f") => TemplateRole::SecurityStatus,
        (None, b"h") => TemplateRole::SessionStatus,
        (None, _) if has(tag::NEW_SEQ_NO) => TemplateRole::SequenceReset,
        (None, b"") if has(tag::SECURITY_TRADING_STATUS) => TemplateRole::SecurityStatus,
        (None, b"") if has(tag::TRAD_SES_STATUS) => TemplateRole::SessionStatus,
        (None, _) => TemplateRole::Other,
    }
}

pub(super) fn missing() -> Box<Bounds> {
    Box::new([const { Bound::Missing }; PLACES])
}

/// Returns the tag at a place.
pub(super) fn tag_at(place: usize, key: &[u32]) -> Option<u32> {
    match place.checked_sub(TAGS.len()) {
        None => TAGS.get(place).copied(),
        Some(extra) => key.get(extra).copied(),
    }
}

fn bounds(program: &Program, segment: SegmentRef, key: &[u32]) -> Box<Bounds> {
    let mut bounds = missing();
    for (place, bound) in bounds.iter_mut().enumerate() {
        let Some(tag) = tag_at(place, key) else { continue };
        let fields = program.fields_of(segment);
        if let Some(index) = fields.iter().position(|field| field.id == Some(tag)) {
            *bound = bind(program, FieldHandle { segment, index }, &fields[index]);
        }
    }
    bounds
}

fn bind(program: &Program, handle: FieldHandle, field: &FieldLayout) -> Bound {
    if let (Storage::Constant(_), Some(value)) = (&field.storage, field.constant()) {
        return match value {
            FieldValue::UInt(value) => Bound::Number(value),
            FieldValue::Int(value) => u64::try_from(value).map_or(Bound::Missing, Bound::Number),
            FieldValue::Ascii(text) | FieldValue::Unicode(text) | FieldValue::Bytes(text) => {
                Bound::ConstantText(text.into())
            }
            _ => Bound::Missing,
        };
    }
    if let Storage::OptionalConstant(_) = field.storage {
        return Bound::Field(handle.index);
    }
    fn of<K: SlotKind>(program: &Program, handle: FieldHandle) -> Option<Slot<K>> {
        program.slot(handle)
    }
    of(program, handle)
        .map(Bound::UInt)
        .or_else(|| of(program, handle).map(Bound::Int))
        .or_else(|| of(program, handle).map(Bound::Decimal))
        .or_else(|| of(program, handle).map(Bound::Text))
        .unwrap_or_default()
}
