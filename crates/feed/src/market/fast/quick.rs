//! The usual entry of an incremental message: a level by position, in fields of known types.
//!
//! Reading a field through [`Bound`](super::row::Bound) asks what it is bound to, each time; nine fields of
//! an entry then cost as much as decoding it. Nearly all feeds with price levels have the same types, which
//! [`QuickEntry`] reads from a record of the dynamic engine and [`Usual`] from a generated struct.

use tickwire_fast::{
    Decimal, GroupedRecord, GroupedSlot, Int, Record, Scaled, SlotGroup, Text, UInt,
};

use super::row::{Bound, Bounds, Scalar, has_implied};
use super::tags::{place_of, tag};
use crate::book::{Amount, BookUpdate, Level, LevelAction, Side};
use crate::market::BookKind;

/// An integer of either sign.
#[derive(Clone, Copy, Debug)]
enum Whole {
    UInt(GroupedSlot<UInt>),
    Int(GroupedSlot<Int>),
}

/// Slots of an entry that names its instrument by a number and its level by position.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickEntry {
    group: SlotGroup,
    instrument: GroupedSlot<UInt>,
    rpt_seq: GroupedSlot<UInt>,
    entry_type: GroupedSlot<Text>,
    action: GroupedSlot<UInt>,
    level: GroupedSlot<UInt>,
    price: GroupedSlot<Scaled>,
    size: Whole,
    orders: Option<Whole>,
    condition: Option<GroupedSlot<Text>>,
    depth: Option<GroupedSlot<UInt>>,
}

/// What such an entry says of a level.
pub(super) struct QuickUpdate {
    pub(super) instrument: u64,
    pub(super) rpt_seq: u64,
    pub(super) kind: BookKind,
    pub(super) depth: Option<u32>,
    pub(super) change: BookUpdate,
}

/// Finds the slots of a group.
struct Finding<'b> {
    entry: &'b Bounds,
    group: SlotGroup,
}

impl Finding<'_> {
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
            Bound::Int(slot) => self.group.member(slot).map(Whole::Int),
            _ => self.uint(tag).map(Whole::UInt),
        }
    }

    fn text(&self, tag: u32) -> Option<GroupedSlot<Text>> {
        match self.bound(tag) {
            Bound::Text(slot) => self.group.member(slot),
            _ => None,
        }
    }

    /// A field that may be missing: `None` if it is there with another type.
    fn optional<T>(&self, tag: u32, find: impl Fn(&Self, u32) -> Option<T>) -> Option<Option<T>> {
        match self.bound(tag) {
            Bound::Missing => Some(None),
            _ => find(self, tag).map(Some),
        }
    }
}

impl QuickEntry {
    /// The slots of an entry with these fields, if their types are the usual ones.
    pub(super) fn new(entry: &Bounds) -> Option<Self> {
        let group = match entry.get(place_of(tag::ENTRY_TYPE))? {
            Bound::Text(slot) => SlotGroup::of(slot),
            _ => return None,
        };
        let find = Finding { entry, group };
        Some(Self {
            group,
            instrument: find.uint(tag::SECURITY_ID)?,
            rpt_seq: find.uint(tag::RPT_SEQ)?,
            entry_type: find.text(tag::ENTRY_TYPE)?,
            action: find.uint(tag::UPDATE_ACTION)?,
            level: find.uint(tag::PRICE_LEVEL)?,
            price: match find.bound(tag::ENTRY_PX) {
                Bound::Decimal(slot) => group.member(slot)?,
                _ => return None,
            },
            size: find.whole(tag::ENTRY_SIZE)?,
            orders: find.optional(tag::NUMBER_OF_ORDERS, Finding::whole)?,
            condition: find.optional(tag::QUOTE_CONDITION, Finding::text)?,
            depth: find.optional(tag::MARKET_DEPTH, Finding::uint)?,
        })
    }

    /// What an entry says; `None` for anything but a level of a book that has all it needs, which is
    /// read the long way.
    #[inline(always)]
    pub(super) fn read(&self, record: Record<'_>) -> Option<QuickUpdate> {
        let record = record.group(&self.group);
        let &[entry_type] = record.read(&self.entry_type)? else { return None };
        let side = side(entry_type)?;
        let level = u32::try_from(record.read(&self.level)?).ok()?;
        let action = match record.read(&self.action)? {
            0 => LevelAction::New(self.content(record)?),
            1 | 5 => LevelAction::Change(self.content(record)?),
            2 => LevelAction::Delete,
            3 => LevelAction::DeleteThru,
            4 => LevelAction::DeleteFrom,
            _ => return None,
        };
        let condition = self.condition.and_then(|slot| record.read(&slot));
        let depth = self.depth.and_then(|slot| record.read(&slot));
        Some(QuickUpdate {
            instrument: record.read(&self.instrument)?,
            rpt_seq: record.read(&self.rpt_seq)?,
            kind: kind(condition),
            depth: depth.and_then(named_depth),
            change: BookUpdate::ByLevel { side, level, action },
        })
    }

    #[inline(always)]
    fn content(&self, record: GroupedRecord<'_>) -> Option<Level> {
        let price = record.read(&self.price)?.into();
        let size = match self.size {
            Whole::UInt(slot) => i64::try_from(record.read(&slot)?).ok()?,
            Whole::Int(slot) => record.read(&slot)?,
        };
        let orders = match self.orders {
            Some(Whole::UInt(slot)) => record.read(&slot),
            Some(Whole::Int(slot)) => match record.read(&slot) {
                Some(orders) => Some(u64::try_from(orders).ok()?),
                None => None,
            },
            None => None,
        };
        let orders = match orders {
            Some(orders) => Some(u32::try_from(orders).ok()?),
            None => None,
        };
        Some(Level { price, size: Amount::integer(size), orders })
    }
}

#[inline(always)]
fn side(entry_type: u8) -> Option<Side> {
    match entry_type {
        b'0' => Some(Side::Bid),
        b'1' => Some(Side::Offer),
        _ => None,
    }
}

#[inline(always)]
fn kind(condition: Option<&[u8]>) -> BookKind {
    match condition {
        Some(text) if has_implied(text) => BookKind::Implied,
        _ => BookKind::Outright,
    }
}

/// MarketDepth (264), where it says a number of levels: 0 is the whole book.
#[inline(always)]
pub(super) fn named_depth(depth: u64) -> Option<u32> {
    u32::try_from(depth).ok().filter(|depth| *depth > 0)
}

/// The fields of such an entry of a generated message.
#[derive(Clone, Copy)]
pub(super) struct Usual {
    /// What was sent, and [`ODD`].
    present: u16,
    instrument: u64,
    rpt_seq: u64,
    entry_type: u8,
    action: u64,
    level: u64,
    price: Decimal,
    size: i64,
    orders: u64,
    kind: BookKind,
    depth: u64,
}

const INSTRUMENT: u16 = 1;
const RPT_SEQ: u16 = 1 << 1;
const ENTRY_TYPE: u16 = 1 << 2;
const ACTION: u16 = 1 << 3;
const LEVEL: u16 = 1 << 4;
const PRICE: u16 = 1 << 5;
const SIZE: u16 = 1 << 6;
const ORDERS: u16 = 1 << 7;
/// A field has another type or is out of range: the entry is read the long way.
const ODD: u16 = 1 << 8;
/// What every such entry has.
const NEEDED: u16 = INSTRUMENT | RPT_SEQ | ENTRY_TYPE | ACTION | LEVEL;

impl Default for Usual {
    #[inline(always)]
    fn default() -> Self {
        Self {
            present: 0,
            instrument: 0,
            rpt_seq: 0,
            entry_type: 0,
            action: 0,
            level: 0,
            price: Decimal { mantissa: 0, exponent: 0 },
            size: 0,
            orders: 0,
            kind: BookKind::Outright,
            depth: 0,
        }
    }
}

impl Usual {
    /// An unsigned integer, noted as sent.
    #[inline(always)]
    fn uint(&mut self, bit: u16, value: Scalar<'_>) -> u64 {
        let (value, noted) = match value {
            Scalar::UInt(value) => (value, bit),
            Scalar::Int(value) => match u64::try_from(value) {
                Ok(value) => (value, bit),
                Err(_) => (0, ODD),
            },
            _ => (0, ODD),
        };
        self.present |= noted;
        value
    }

    #[inline(always)]
    pub(super) fn set_instrument(&mut self, value: Scalar<'_>) {
        self.instrument = self.uint(INSTRUMENT, value);
    }

    #[inline(always)]
    pub(super) fn set_rpt_seq(&mut self, value: Scalar<'_>) {
        self.rpt_seq = self.uint(RPT_SEQ, value);
    }

    #[inline(always)]
    pub(super) fn set_entry_type(&mut self, value: Scalar<'_>) {
        match value {
            Scalar::Text(&[code]) => {
                self.entry_type = code;
                self.present |= ENTRY_TYPE;
            }
            _ => self.present |= ODD,
        }
    }

    #[inline(always)]
    pub(super) fn set_action(&mut self, value: Scalar<'_>) {
        self.action = self.uint(ACTION, value);
    }

    #[inline(always)]
    pub(super) fn set_level(&mut self, value: Scalar<'_>) {
        self.level = self.uint(LEVEL, value);
    }

    #[inline(always)]
    pub(super) fn set_price(&mut self, value: Scalar<'_>) {
        match value {
            Scalar::Decimal(price) => {
                self.price = price;
                self.present |= PRICE;
            }
            _ => self.present |= ODD,
        }
    }

    #[inline(always)]
    pub(super) fn set_size(&mut self, value: Scalar<'_>) {
        let (size, noted) = match value {
            Scalar::Int(size) => (size, SIZE),
            Scalar::UInt(size) => match i64::try_from(size) {
                Ok(size) => (size, SIZE),
                Err(_) => (0, ODD),
            },
            _ => (0, ODD),
        };
        self.size = size;
        self.present |= noted;
    }

    #[inline(always)]
    pub(super) fn set_orders(&mut self, value: Scalar<'_>) {
        self.orders = self.uint(ORDERS, value);
    }

    #[inline(always)]
    pub(super) fn set_condition(&mut self, value: Scalar<'_>) {
        self.kind = kind(Some(value.text()));
    }

    #[inline(always)]
    pub(super) fn set_depth(&mut self, value: Scalar<'_>) {
        self.depth = self.uint(0, value);
    }

    /// What the entry says; `None` where it is to be read the long way.
    #[inline(always)]
    pub(super) fn update(&self) -> Option<QuickUpdate> {
        if self.present & (NEEDED | ODD) != NEEDED {
            return None;
        }
        let side = side(self.entry_type)?;
        let level = u32::try_from(self.level).ok()?;
        let action = match self.action {
            0 => LevelAction::New(self.content()?),
            1 | 5 => LevelAction::Change(self.content()?),
            2 => LevelAction::Delete,
            3 => LevelAction::DeleteThru,
            4 => LevelAction::DeleteFrom,
            _ => return None,
        };
        Some(QuickUpdate {
            instrument: self.instrument,
            rpt_seq: self.rpt_seq,
            kind: self.kind,
            depth: named_depth(self.depth),
            change: BookUpdate::ByLevel { side, level, action },
        })
    }

    #[inline(always)]
    fn content(&self) -> Option<Level> {
        let orders = match self.present & ORDERS {
            0 => None,
            _ => Some(u32::try_from(self.orders).ok()?),
        };
        let has_all = self.present & (PRICE | SIZE) == PRICE | SIZE;
        has_all.then(|| Level {
            price: self.price.into(),
            size: Amount::integer(self.size),
            orders,
        })
    }
}
