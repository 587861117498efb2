//! Generates the events of a day as messages.

use super::diff::{self, BookStep};
use super::messages::{self, Clock, UpdateEntry};
use super::security::{
    DayOrderChange, DaySecurity, MarketEntry, OrderTold, SecurityName, TradingStatus,
};
use super::truth::{DayTruth, TrueEvent, UpdatePosition};
use super::{BookForm, DayBookKind, DayOptions, InstrumentKeyKind};
use crate::draft::MessageDraft;
use crate::fix;
use fastrand::Rng;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use tickwire_feed::book::{Amount, Level, Side};

/// SecurityID of the first instrument, and the step to the next.
const FIRST_ID: u32 = 20_000;
const ID_STEP: u32 = 7;
const FIRST_ORDER_ID: u64 = 1_000_000;
/// Sessions of a symbol.
const SESSIONS: [&str; 2] = ["TQBR", "SMAL"];
/// Status changes per 1,000 messages.
const STATUS_PERMILLE: u32 = 15;
/// Percentage of events that are a settlement price or open interest.
const STATISTIC_PERCENT: u8 = 3;
/// Number of consecutive events without a visible change after which a statistic is published.
const SILENT_EVENTS_MAX: u32 = 20;

/// The instruments of a channel.
#[derive(Debug)]
pub(super) struct DayMarket {
    pub(super) securities: Vec<DaySecurity>,
    names: Vec<Arc<SecurityName>>,
    kinds: &'static [DayBookKind],
    random: Rng,
    order_id: u64,
    /// Status changes for the next messages.
    planned: VecDeque<(usize, TradingStatus)>,
}

/// The books of an instrument before an event.
type SecurityBooks = Vec<[Vec<Level>; 2]>;

impl DayMarket {
    pub(super) fn new(options: &DayOptions, mut random: Rng) -> Self {
        let counts = options.has_order_counts || options.books == BookForm::Orders;
        let security = |index| {
            let depth = options.depth_of(index as usize);
            DaySecurity::new(name(index, options.key), depth, counts, &mut random)
        };
        let securities: Vec<DaySecurity> = (0..options.instruments).map(security).collect();
        let names = securities.iter().map(|security| Arc::new(security.name.clone())).collect();
        let kinds: &[DayBookKind] = match options.has_implied {
            true => &[DayBookKind::Outright, DayBookKind::Implied],
            false => &[DayBookKind::Outright],
        };
        let (order_id, planned) = (FIRST_ORDER_ID, VecDeque::new());
        let mut market = Self { securities, names, kinds, random, order_id, planned };
        if options.mid_session {
            market.begin_before(options);
        }
        market
    }

    /// Simulates the session up to the feed's start.
    fn begin_before(&mut self, options: &DayOptions) {
        for security in &mut self.securities {
            for _ in 0..self.random.u32(20..150) {
                security.act(&mut self.random, &mut self.order_id, options.has_implied);
            }
            security.take_orders();
            if options.has_rpt_seq {
                security.rpt_seq = self.random.u64(1_000..3_000_000);
            }
        }
    }

    /// Publishes all books to the truth.
    pub(super) fn publish_all(&self, at: UpdatePosition, truth: &mut DayTruth) {
        for index in 0..self.securities.len() {
            self.publish(at, index, truth);
            truth.set_status(index, None);
        }
    }

    fn publish(&self, at: UpdatePosition, index: usize, truth: &mut DayTruth) {
        for &kind in self.kinds {
            truth.set_book(at, index, kind, self.securities[index].true_book(kind));
        }
    }

    pub(super) fn begin_session(&mut self, restarts_rpt_seq: bool) {
        self.planned.clear();
        for security in &mut self.securities {
            security.begin_session(restarts_rpt_seq);
        }
    }

    /// Creates the next message of updates, and brings the truth up to date.
    pub(super) fn message(
        &mut self,
        options: &DayOptions,
        clock: Clock,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) -> MessageDraft {
        let planned = self.planned.pop_front();
        let planned = planned.or_else(|| self.plan_status(options));
        if let Some((index, status)) = planned {
            if self.securities[index].is_auction() && status == TradingStatus::ReadyToTrade {
                let entries = self.uncross(options, index, at, truth);
                if !entries.is_empty() {
                    self.planned.push_front((index, status));
                    self.publish(at, index, truth);
                    return messages::updates(&entries, options.key, clock);
                }
            }
            return self.change_status(index, status, clock, at, truth);
        }
        if self.random.f64() < options.empty_book {
            let entries = self.empty(options, at, truth);
            return messages::updates(&entries, options.key, clock);
        }
        let entries = self.events(options, at, truth);
        messages::updates(&entries, options.key, clock)
    }

    /// Chooses a status change occasionally.
    fn plan_status(&mut self, options: &DayOptions) -> Option<(usize, TradingStatus)> {
        use TradingStatus::{Halt, NotAvailable, PreOpen, ReadyToTrade};
        if !options.has_status || self.random.u32(0..1_000) >= STATUS_PERMILLE {
            return None;
        }
        let index = self.random.usize(0..self.securities.len());
        let next = match self.securities[index].status {
            None => [PreOpen, ReadyToTrade][self.random.usize(0..2)],
            Some(Halt | PreOpen) => ReadyToTrade,
            Some(NotAvailable) => PreOpen,
            Some(ReadyToTrade) => [PreOpen, PreOpen, Halt, NotAvailable][self.random.usize(0..4)],
        };
        Some((index, next))
    }

    fn change_status(
        &mut self,
        index: usize,
        status: TradingStatus,
        clock: Clock,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) -> MessageDraft {
        let security = &mut self.securities[index];
        security.status = Some(status);
        let code = status.code();
        truth.set_status(index, Some(code));
        let instrument = Arc::from(&*security.name.text);
        truth.push_event(at, TrueEvent::Status { instrument, status: code });
        messages::status(&security.name, code, clock)
    }

    /// Ends an auction: executes all crossing orders.
    fn uncross(
        &mut self,
        options: &DayOptions,
        index: usize,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) -> Vec<UpdateEntry> {
        let before = self.books(index);
        let told = self.securities[index].uncross();
        let mut entries = Vec::new();
        if options.has_trades {
            self.tell(index, &told, &mut entries, at, truth);
        }
        self.tell_book(options, index, &before, &mut entries);
        self.count(options, &mut entries);
        entries
    }

    /// Empties the books of an instrument, a session or the channel with one entry.
    fn empty(
        &mut self,
        options: &DayOptions,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) -> Vec<UpdateEntry> {
        let mut entry = UpdateEntry::new(diff::NEW, "J");
        let index = self.random.usize(0..self.securities.len());
        let is_by_session = options.key == InstrumentKeyKind::SymbolAndSession;
        let of_session = self.securities[index].name.session;
        let emptied: Vec<usize> = match self.random.u8(0..100) {
            0..70 => {
                entry.name = Some(self.names[index].clone());
                entry.rpt_seq = self.count_update(options, index);
                vec![index]
            }
            70..85 if is_by_session => {
                entry.session = Some(of_session);
                let all = 0..self.securities.len();
                all.filter(|index| self.securities[*index].name.session == of_session).collect()
            }
            _ => (0..self.securities.len()).collect(),
        };
        for index in emptied {
            self.securities[index].clear();
            self.publish(at, index, truth);
        }
        vec![entry]
    }

    /// Simulates events and returns at least one entry for them.
    fn events(
        &mut self,
        options: &DayOptions,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) -> Vec<UpdateEntry> {
        let mut entries = Vec::new();
        let mut touched = BTreeSet::new();
        let mut left = self.random.usize(1..=options.events_per_message_max.max(1));
        let mut silent = 0;
        while left > 0 && silent < SILENT_EVENTS_MAX {
            let index = self.any_security();
            if !self.securities[index].is_active() {
                silent += 1;
                continue;
            }
            let before = self.books(index);
            let count = entries.len();
            let is_statistic = options.has_trades && self.random.u8(0..100) < STATISTIC_PERCENT;
            let told = match is_statistic {
                true => vec![self.securities[index].statistic(&mut self.random)],
                false => {
                    let (random, order_id) = (&mut self.random, &mut self.order_id);
                    self.securities[index].act(random, order_id, options.has_implied)
                }
            };
            if options.has_trades {
                self.tell(index, &told, &mut entries, at, truth);
            }
            self.tell_book(options, index, &before, &mut entries);
            let is_silent = entries.len() == count;
            silent += u32::from(is_silent);
            left -= usize::from(!is_silent);
            touched.insert(index);
        }
        if entries.is_empty() {
            let told = self.securities[0].statistic(&mut self.random);
            self.tell(0, &[told], &mut entries, at, truth);
            touched.insert(0);
        }
        self.count(options, &mut entries);
        for index in touched {
            self.publish(at, index, truth);
        }
        entries
    }

    /// Returns the index of a random instrument; low indices are more frequent.
    fn any_security(&mut self) -> usize {
        let count = self.securities.len();
        self.random.usize(0..count).min(self.random.usize(0..count))
    }

    fn books(&self, index: usize) -> SecurityBooks {
        let security = &self.securities[index];
        let levels = |kind: &DayBookKind| Side::ALL.map(|side| security.levels(side, *kind));
        self.kinds.iter().map(levels).collect()
    }

    /// Adds entries for trades and statistics.
    fn tell(
        &self,
        index: usize,
        told: &[MarketEntry],
        entries: &mut Vec<UpdateEntry>,
        at: UpdatePosition,
        truth: &mut DayTruth,
    ) {
        let security = &self.securities[index];
        let instrument: Arc<str> = Arc::from(&*security.name.text);
        for told in told {
            let price = told.price.map(|mantissa| Amount { mantissa, exponent: security.exponent });
            let size = told.size.map(|size| Amount::integer(size as i64));
            let (instrument, entry_type) = (instrument.clone(), told.entry_type);
            let event = match (entry_type, price, size) {
                ("2", Some(price), Some(size)) => TrueEvent::Trade { instrument, price, size },
                _ => TrueEvent::Statistic { instrument, entry_type, price, size },
            };
            truth.push_event(at, event);
            entries.push(UpdateEntry {
                name: Some(self.names[index].clone()),
                price,
                size,
                condition: told.condition,
                ..UpdateEntry::new(diff::NEW, entry_type)
            });
        }
    }

    /// Adds entries for the changes in the books of an instrument.
    fn tell_book(
        &mut self,
        options: &DayOptions,
        index: usize,
        before: &SecurityBooks,
        entries: &mut Vec<UpdateEntry>,
    ) {
        let orders = self.securities[index].take_orders();
        if options.books == BookForm::Orders {
            entries.extend(orders.iter().map(|order| self.order_entry(index, order)));
            return;
        }
        let after = self.books(index);
        let overlays = self.random.u8(0..10) == 0;
        for ((&kind, before), after) in self.kinds.iter().zip(before).zip(&after) {
            let depth = self.securities[index].depth_of(kind);
            for (side, (before, after)) in Side::ALL.into_iter().zip(before.iter().zip(after)) {
                let told = &before[..before.len().min(depth)];
                let (steps, by_level) = match options.books {
                    BookForm::Levels { .. } => {
                        (diff::by_level(side, told, after, depth, overlays), true)
                    }
                    _ => (diff::by_price(side, told, &after[..after.len().min(depth)]), false),
                };
                let steps = steps.iter();
                entries.extend(steps.map(|step| self.level_entry(index, kind, step, by_level)));
            }
        }
    }

    fn order_entry(&self, index: usize, order: &OrderTold) -> UpdateEntry {
        let exponent = self.securities[index].exponent;
        let action = match order.change {
            DayOrderChange::New => diff::NEW,
            DayOrderChange::Change => diff::CHANGE,
            DayOrderChange::Delete => diff::DELETE,
        };
        let stays = order.change != DayOrderChange::Delete;
        UpdateEntry {
            name: Some(self.names[index].clone()),
            order_id: Some(order.id),
            price: stays.then_some(Amount { mantissa: order.price, exponent }),
            size: stays.then_some(Amount::integer(order.size as i64)),
            ..UpdateEntry::new(action, fix::entry_type(order.side))
        }
    }

    fn level_entry(
        &self,
        index: usize,
        kind: DayBookKind,
        step: &BookStep,
        by_level: bool,
    ) -> UpdateEntry {
        let stays = matches!(step.action, diff::NEW | diff::CHANGE | diff::OVERLAY);
        UpdateEntry {
            name: Some(self.names[index].clone()),
            kind,
            level: by_level.then_some(step.level),
            price: Some(step.content.price),
            size: stays.then_some(step.content.size),
            orders: step.content.orders.filter(|_| stays),
            ..UpdateEntry::new(step.action, fix::entry_type(step.side))
        }
    }

    /// Sets the RptSeq of the entries.
    fn count(&mut self, options: &DayOptions, entries: &mut [UpdateEntry]) {
        for entry in entries {
            let Some(name) = &entry.name else { continue };
            let index = self.names.iter().position(|other| Arc::ptr_eq(other, name));
            entry.rpt_seq = index.and_then(|index| self.count_update(options, index));
        }
    }

    fn count_update(&mut self, options: &DayOptions, index: usize) -> Option<u64> {
        if !options.has_rpt_seq {
            return None;
        }
        let security = &mut self.securities[index];
        security.rpt_seq += 1;
        Some(security.rpt_seq)
    }
}

fn name(index: u32, key: InstrumentKeyKind) -> SecurityName {
    let number = FIRST_ID + index * ID_STEP;
    match key {
        InstrumentKeyKind::SecurityId => SecurityName {
            text: number.to_string(),
            number,
            symbol: format!("FUT{index:04}").into(),
            session: SESSIONS[0],
        },
        InstrumentKeyKind::SymbolAndSession => {
            let symbol = format!("SHR{:03}", index / 2);
            let session = SESSIONS[index as usize % 2];
            let text = format!("{symbol}:{session}");
            SecurityName { text, number, symbol: symbol.into(), session }
        }
    }
}
