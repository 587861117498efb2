//! The usual entry of an incremental message, read by slots whose types are known.
//!
//! Reading a field through [`Bound`](super::row::Bound) asks what it is bound to, each time; nine fields of
//! an entry then cost as much as decoding it. Nearly all feeds with price levels have the same types.

use tickwire_fast::{Int, Record, Scaled, Slot, Text, UInt};

use super::row::{Bound, Bounds, Scalar, has_implied};
use super::tags::{place_of, tag};
use crate::book::{BookUpdate, Level, LevelAction, Side};
use crate::market::BookKind;

/// An integer of either sign.
#[derive(Clone, Copy, Debug)]
enum Whole {
    UInt(Slot<UInt>),
    Int(Slot<Int>),
}

/// Slots of an entry that names its instrument by a number and its level by position.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuickEntry {
    instrument: Slot<UInt>,
    rpt_seq: Slot<UInt>,
    entry_type: Slot<Text>,
    action: Slot<UInt>,
    level: Slot<UInt>,
    price: Slot<Scaled>,
    size: Whole,
    orders: Option<Whole>,
    condition: Option<Slot<Text>>,
    depth: Option<Slot<UInt>>,
}

/// What such an entry says of a level.
pub(super) struct QuickUpdate {
    pub(super) instrument: u64,
    pub(super) rpt_seq: u64,
    pub(super) kind: BookKind,
    pub(super) depth: Option<u32>,
    pub(super) change: BookUpdate,
}

fn uint(bound: &Bound) -> Option<Slot<UInt>> {
    match bound {
        Bound::UInt(slot) => Some(*slot),
        _ => None,
    }
}

fn whole(bound: &Bound) -> Option<Whole> {
    match bound {
        Bound::UInt(slot) => Some(Whole::UInt(*slot)),
        Bound::Int(slot) => Some(Whole::Int(*slot)),
        _ => None,
    }
}

/// A field that may be missing: `None` if it is there with another type.
fn optional<T>(bound: &Bound, found: Option<T>) -> Option<Option<T>> {
    match bound {
        Bound::Missing => Some(None),
        _ => found.map(Some),
    }
}

impl QuickEntry {
    /// The slots of an entry with these fields, if their types are the usual ones.
    pub(super) fn new(entry: &Bounds) -> Option<Self> {
        let of = |tag: u32| entry.get(place_of(tag));
        let text = |tag: u32| match of(tag)? {
            Bound::Text(slot) => Some(*slot),
            _ => None,
        };
        let orders = of(tag::NUMBER_OF_ORDERS)?;
        let condition = of(tag::QUOTE_CONDITION)?;
        let depth = of(tag::MARKET_DEPTH)?;
        Some(Self {
            instrument: uint(of(tag::SECURITY_ID)?)?,
            rpt_seq: uint(of(tag::RPT_SEQ)?)?,
            entry_type: text(tag::ENTRY_TYPE)?,
            action: uint(of(tag::UPDATE_ACTION)?)?,
            level: uint(of(tag::PRICE_LEVEL)?)?,
            price: match of(tag::ENTRY_PX)? {
                Bound::Decimal(slot) => *slot,
                _ => return None,
            },
            size: whole(of(tag::ENTRY_SIZE)?)?,
            orders: optional(orders, whole(orders))?,
            condition: optional(condition, text(tag::QUOTE_CONDITION))?,
            depth: optional(depth, uint(depth))?,
        })
    }

    /// What an entry says; `None` for anything but a level of a book that has all it needs, which is
    /// read the long way.
    #[inline(always)]
    pub(super) fn read(&self, record: Record<'_>) -> Option<QuickUpdate> {
        let side = match record.read(&self.entry_type)? {
            b"0" => Side::Bid,
            b"1" => Side::Offer,
            _ => return None,
        };
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
        let kind = match condition {
            Some(text) if has_implied(text) => BookKind::Implied,
            _ => BookKind::Outright,
        };
        let depth = self.depth.and_then(|slot| record.read(&slot));
        Some(QuickUpdate {
            instrument: record.read(&self.instrument)?,
            rpt_seq: record.read(&self.rpt_seq)?,
            kind,
            depth: depth.and_then(|depth| u32::try_from(depth).ok()).filter(|depth| *depth > 0),
            change: BookUpdate::ByLevel { side, level, action },
        })
    }

    #[inline(always)]
    fn content(&self, record: Record<'_>) -> Option<Level> {
        let price = record.read(&self.price)?.into();
        let size = scalar(record, self.size).amount(tag::ENTRY_SIZE).ok()??;
        let orders = match self.orders {
            Some(slot) => match scalar(record, slot).unsigned(tag::NUMBER_OF_ORDERS).ok()? {
                Some(orders) => Some(u32::try_from(orders).ok()?),
                None => None,
            },
            None => None,
        };
        Some(Level { price, size, orders })
    }
}

#[inline(always)]
fn scalar(record: Record<'_>, slot: Whole) -> Scalar<'_> {
    match slot {
        Whole::UInt(slot) => record.read(&slot).map_or(Scalar::Absent, Scalar::UInt),
        Whole::Int(slot) => record.read(&slot).map_or(Scalar::Absent, Scalar::Int),
    }
}
