//! Fast path for the most common entry of an incremental message: a level by position, in fields of
//! known types.
//!
//! Reading a field through [`Bound`](super::row::Bound) branches on its binding every time; nine
//! fields of an entry then cost as much as decoding it. Nearly all feeds with price levels have the
//! same types, which [`QuickEntry`] reads from a record of the dynamic engine and [`Usual`] from a
//! generated struct.

use tickwire_fast::{Decimal, GroupedRecord, GroupedSlot, Scaled, SlotGroup, Text, UInt};

use super::row::{Bound, Bounds, FieldScalar, has_implied};
use super::tags::{place_of, tag};
use crate::book::{Amount, Level, LevelChange, Side};
use crate::market::BookKind;

/// An integer, signed or unsigned, read as its bits.
#[derive(Clone, Copy, Debug)]
struct Whole {
    slot: GroupedSlot<UInt>,
    /// True if the field is signed.
    is_signed: bool,
}

/// Slots of an entry that names its instrument by a number and its level by position.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickEntry {
    pub(super) group: SlotGroup,
    instrument: GroupedSlot<UInt>,
    rpt_seq: GroupedSlot<UInt>,
    entry_type: GroupedSlot<Text>,
    action: GroupedSlot<UInt>,
    level: GroupedSlot<UInt>,
    price: GroupedSlot<Scaled>,
    size: GroupedSlot<UInt>,
    /// Bits that must be 0 in a size; a larger size takes the general path.
    size_excess: u64,
    /// The number of orders; any slot if the entry has none.
    orders: GroupedSlot<UInt>,
    condition: Option<GroupedSlot<Text>>,
    presence: PresenceBits,
    /// True if an entry that is not a level can be counted without reading its other fields,
    /// because none of them has a type with invalid values.
    pub(super) has_plain_events: bool,
}

/// Presence bits of fields.
#[derive(Clone, Copy, Debug)]
struct PresenceBits {
    /// Fields that every such entry has.
    needed: u64,
    /// Fields that an update of a level has, by MDUpdateAction.
    of_level: [u64; CHANGES.len()],
    /// The number of orders.
    of_orders: u64,
    /// The depth, which is rare: an entry with it takes the general path.
    of_depth: u64,
}

/// Finds the slots of a group.
struct SlotFinder<'b> {
    entry: &'b Bounds,
    group: SlotGroup,
}

impl SlotFinder<'_> {
    fn bound(&self, tag: u32) -> &Bound {
        self.entry.get(place_of(tag)).unwrap_or(&Bound::Missing)
    }

    fn uint(&self, tag: u32) -> Option<GroupedSlot<UInt>> {
        match self.bound(tag) {
            Bound::UInt(slot) => self.group.member(slot),
            _ => None,
        }
    }

    fn whole(&self, tag: u32) -> Option<Whole> {
        match self.bound(tag) {
            Bound::Int(slot) => {
                Some(Whole { slot: self.group.member(slot)?.bits(), is_signed: true })
            }
            _ => Some(Whole { slot: self.uint(tag)?, is_signed: false }),
        }
    }

    fn text(&self, tag: u32) -> Option<GroupedSlot<Text>> {
        match self.bound(tag) {
            Bound::Text(slot) => self.group.member(slot),
            _ => None,
        }
    }

    /// True if every field that only events have is absent, or a number that is always valid.
    fn has_plain_events(&self) -> bool {
        let times = [tag::ENTRY_TIME, tag::ENTRY_DATE, tag::TRANSACT_TIME];
        let ids = [tag::ENTRY_ID, tag::TRADE_ID];
        let is_plain =
            |bound: &Bound| matches!(bound, Bound::Missing | Bound::UInt(_) | Bound::Number(_));
        times.into_iter().chain(ids).all(|tag| is_plain(self.bound(tag)))
    }

    /// Finds an optional field: `None` if it exists with another type.
    fn optional<T>(&self, tag: u32, find: impl Fn(&Self, u32) -> Option<T>) -> Option<Option<T>> {
        match self.bound(tag) {
            Bound::Missing => Some(None),
            _ => find(self, tag).map(Some),
        }
    }
}

impl QuickEntry {
    /// Returns the slots of an entry with these fields, if their types are the common ones.
    pub(super) fn new(entry: &Bounds) -> Option<Self> {
        let group = match entry.get(place_of(tag::ENTRY_TYPE))? {
            Bound::Text(slot) => SlotGroup::of(slot),
            _ => return None,
        };
        let find = SlotFinder { entry, group };
        let instrument = find.uint(tag::SECURITY_ID)?;
        let rpt_seq = find.uint(tag::RPT_SEQ)?;
        let entry_type = find.text(tag::ENTRY_TYPE)?;
        let action = find.uint(tag::UPDATE_ACTION)?;
        let level = find.uint(tag::PRICE_LEVEL)?;
        let price: GroupedSlot<Scaled> = match find.bound(tag::ENTRY_PX) {
            Bound::Decimal(slot) => group.member(slot)?,
            _ => return None,
        };
        let size = find.whole(tag::ENTRY_SIZE)?;
        let orders = find.optional(tag::NUMBER_OF_ORDERS, SlotFinder::whole)?;
        let condition = find.optional(tag::QUOTE_CONDITION, SlotFinder::text)?;
        let depth = find.optional(tag::MARKET_DEPTH, SlotFinder::uint)?;
        let needed = instrument.presence() | rpt_seq.presence() | entry_type.presence();
        let of_content = price.presence() | size.slot.presence();
        let presence = PresenceBits {
            needed,
            of_level: CHANGES.map(|change| {
                let of_content = if change.has_content() { of_content } else { 0 };
                needed | action.presence() | level.presence() | of_content
            }),
            of_orders: orders.map_or(0, |orders| orders.slot.presence()),
            of_depth: depth.map_or(0, |slot| slot.presence()),
        };
        Some(Self {
            group,
            instrument,
            rpt_seq,
            entry_type,
            action,
            level,
            price,
            size: size.slot,
            size_excess: if size.is_signed { 0 } else { 1 << 63 },
            orders: orders.map_or(level, |orders| orders.slot),
            condition,
            presence,
            has_plain_events: find.has_plain_events(),
        })
    }

    /// Classifies an entry.
    #[inline(always)]
    pub(super) fn read(&self, record: &GroupedRecord<'_>) -> EntryClass {
        let presence = record.presence();
        let has = |bits: u64| presence & bits == bits;
        let Some(entry_type) = record.character(&self.entry_type) else { return EntryClass::Odd };
        let instrument = record.number(&self.instrument);
        let rpt_seq = record.number(&self.rpt_seq);
        let Some(side) = side(entry_type) else {
            let is_usual = has(self.presence.needed) && presence & self.presence.of_depth == 0;
            let other = UsualOther { instrument, rpt_seq, entry_type };
            return if is_usual { EntryClass::Other(other) } else { EntryClass::Odd };
        };
        let (level, action) = (record.number(&self.level), record.number(&self.action));
        let (size, orders) = (record.number(&self.size), record.number(&self.orders));
        // The slot of an absent number of orders may hold any value; a large one only sends the
        // entry to the general path needlessly.
        let excess = size & self.size_excess | orders >> u32::BITS | level >> u32::BITS;
        let (0, Some(change)) = (excess, change(action)) else { return EntryClass::Odd };
        let has_all = has(self.presence.of_level[action as usize % CHANGES.len()]);
        if !has_all || presence & self.presence.of_depth != 0 {
            return EntryClass::Odd;
        }
        let mut kind = BookKind::Outright;
        if let Some(condition) = &self.condition
            && presence & condition.presence() != 0
        {
            // A condition of several codes takes the general path.
            let Some(code) = record.character(condition) else { return EntryClass::Odd };
            kind = self::kind(Some(&[code]));
        }
        let price = record.number(&self.price).into();
        let size = Amount::integer(size.cast_signed());
        let has_orders = presence & self.presence.of_orders != 0;
        let orders = if has_orders { Some(orders as u32) } else { None };
        let (level, content) = (level as u32, Level { price, size, orders });
        EntryClass::Level(UsualLevel { instrument, rpt_seq, kind, side, level, change, content })
    }
}

#[inline(always)]
fn side(entry_type: u8) -> Option<Side> {
    // One comparison, which usually holds: a branch on the side cannot be predicted.
    match entry_type.wrapping_sub(b'0') {
        code @ 0..=1 => Some(if code == 0 { Side::Bid } else { Side::Offer }),
        _ => None,
    }
}

/// Changes of a level by the value of MDUpdateAction (279).
const CHANGES: [LevelChange; 6] = {
    use LevelChange::{Change, Delete, DeleteFrom, DeleteThru, New};
    [New, Change, Delete, DeleteThru, DeleteFrom, Change]
};

#[inline(always)]
fn change(action: u64) -> Option<LevelChange> {
    // A table, because a branch on the action cannot be predicted.
    CHANGES.get(usize::try_from(action).ok()?).copied()
}

#[inline(always)]
fn kind(condition: Option<&[u8]>) -> BookKind {
    match condition {
        Some(text) if has_implied(text) => BookKind::Implied,
        _ => BookKind::Outright,
    }
}

/// Returns MarketDepth (264) if it is a number of levels: 0 is the whole book.
#[inline(always)]
pub(super) fn named_depth(depth: u64) -> Option<u32> {
    u32::try_from(depth).ok().filter(|depth| *depth > 0)
}

/// The fields of a common entry of a generated message.
#[derive(Clone, Copy, Default)]
pub(super) struct Usual {
    /// True if a field has another type or is out of range: the entry takes the general path.
    is_odd: bool,
    instrument: Option<u64>,
    rpt_seq: Option<u64>,
    entry_type: Option<u8>,
    action: Option<u64>,
    level: Option<u64>,
    price: Option<Decimal>,
    size: Option<i64>,
    orders: Option<u64>,
    kind: BookKind,
}

/// Class of an entry.
pub(super) enum EntryClass {
    /// An update of a level by position.
    Level(UsualLevel),
    /// An entry of this MDEntryType, neither bid nor offer.
    Other(UsualOther),
    /// An entry for the general path.
    Odd,
}

/// An update of a level by position, without the parts that are in the message around it.
#[derive(Clone, Copy)]
pub(super) struct UsualLevel {
    pub(super) instrument: u64,
    pub(super) rpt_seq: u64,
    pub(super) kind: BookKind,
    pub(super) side: Side,
    pub(super) level: u32,
    pub(super) change: LevelChange,
    pub(super) content: Level,
}

/// An entry that changes no level.
#[derive(Clone, Copy)]
pub(super) struct UsualOther {
    pub(super) instrument: u64,
    pub(super) rpt_seq: u64,
    pub(super) entry_type: u8,
}

impl Usual {
    /// Reads an unsigned integer.
    #[inline(always)]
    fn uint(&mut self, value: FieldScalar<'_>) -> Option<u64> {
        let value = match value {
            FieldScalar::UInt(value) => Some(value),
            FieldScalar::Int(value) => u64::try_from(value).ok(),
            _ => None,
        };
        self.is_odd |= value.is_none();
        value
    }

    #[inline(always)]
    pub(super) fn set_instrument(&mut self, value: FieldScalar<'_>) {
        self.instrument = self.uint(value);
    }

    #[inline(always)]
    pub(super) fn set_rpt_seq(&mut self, value: FieldScalar<'_>) {
        self.rpt_seq = self.uint(value);
    }

    #[inline(always)]
    pub(super) fn set_entry_type(&mut self, value: FieldScalar<'_>) {
        match value {
            FieldScalar::Text(&[code]) => self.entry_type = Some(code),
            _ => self.is_odd = true,
        }
    }

    #[inline(always)]
    pub(super) fn set_action(&mut self, value: FieldScalar<'_>) {
        self.action = self.uint(value);
    }

    #[inline(always)]
    pub(super) fn set_level(&mut self, value: FieldScalar<'_>) {
        self.level = self.uint(value);
    }

    #[inline(always)]
    pub(super) fn set_price(&mut self, value: FieldScalar<'_>) {
        match value {
            FieldScalar::Decimal(price) => self.price = Some(price),
            _ => self.is_odd = true,
        }
    }

    #[inline(always)]
    pub(super) fn set_size(&mut self, value: FieldScalar<'_>) {
        self.size = match value {
            FieldScalar::Int(size) => Some(size),
            FieldScalar::UInt(size) => i64::try_from(size).ok(),
            _ => None,
        };
        self.is_odd |= self.size.is_none();
    }

    #[inline(always)]
    pub(super) fn set_orders(&mut self, value: FieldScalar<'_>) {
        self.orders = self.uint(value);
    }

    #[inline(always)]
    pub(super) fn set_condition(&mut self, value: FieldScalar<'_>) {
        self.kind = kind(Some(value.text()));
    }

    #[inline(always)]
    pub(super) fn set_depth(&mut self) {
        self.is_odd = true;
    }

    /// Classifies the entry.
    #[inline(always)]
    pub(super) fn entry(&self) -> EntryClass {
        let (Some(instrument), Some(rpt_seq), Some(entry_type), false) =
            (self.instrument, self.rpt_seq, self.entry_type, self.is_odd)
        else {
            return EntryClass::Odd;
        };
        let Some(side) = side(entry_type) else {
            return EntryClass::Other(UsualOther { instrument, rpt_seq, entry_type });
        };
        match self.change() {
            Some((level, change, content)) => {
                let kind = self.kind;
                let level = UsualLevel { instrument, rpt_seq, kind, side, level, change, content };
                EntryClass::Level(level)
            }
            None => EntryClass::Odd,
        }
    }

    /// Returns the level and its change.
    #[inline(always)]
    fn change(&self) -> Option<(u32, LevelChange, Level)> {
        let level = u32::try_from(self.level?).ok()?;
        let change = change(self.action?)?;
        if !change.has_content() {
            return Some((level, change, Level::NONE));
        }
        let orders = match self.orders {
            Some(orders) => Some(u32::try_from(orders).ok()?),
            None => None,
        };
        let (price, size) = (self.price?.into(), Amount::integer(self.size?));
        Some((level, change, Level { price, size, orders }))
    }
}
