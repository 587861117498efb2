//! Interprets the fields of a message, independent of the engine that decoded it.

use super::bind::{TemplateRole, TemplateShape};
use super::messages::InstrumentKeyFields;
use super::quick::{EntryClass, UsualLevel, UsualOther, named_depth};
use super::row::{FieldRow, FieldScalar, invalid, is_implied, required};
use super::tags::tag;
use super::{BookModel, MarketDataError};
use crate::book::{
    Amount, BookUpdate, Level, LevelAction, OrderAction, OrderId, PriceAction, Side,
};
use crate::market::instruments::SEPARATOR;
use crate::market::{
    BookKind, Clear, ClearScope, Definition, ExchangeTime, Instrument, InstrumentKey, LevelName,
    LevelUpdate, MarketEvent, MarketSink, Snapshot, SnapshotFragment, SnapshotLevel, Statistic,
    Status, StatusScope, Trade, TradeAction, Update,
};

/// Most levels of one snapshot message.
const SNAPSHOT_LEVELS_MAX: usize = 1 << 18;

type Result<T> = std::result::Result<T, MarketDataError>;

/// A message being read.
pub(super) struct MessageReading<'a, S> {
    model: BookModel,
    key: &'a InstrumentKeyFields,
    seq_num: u64,
    sink: &'a mut S,
    levels: &'a mut Vec<SnapshotLevel>,
    text: &'a mut Vec<u8>,
    /// True if any update of this feed has a level position.
    has_positions: &'a mut bool,
    /// The key of `instrument`, if it is a number.
    number: Option<u64>,
    /// The number by which the last entry named its instrument, if that was a common entry.
    usual: Option<u64>,
    /// The instrument of the root or of the previous entry; `None` if there are too many
    /// instruments.
    instrument: Option<Instrument>,
    /// FIX codes by wire value of MDEntryType and of MDUpdateAction, if these are enums.
    codes: [&'a [u8]; 2],
    /// True if the message has named an instrument so far.
    is_named: bool,
    trade_date: Option<u64>,
    /// True if entries that are not levels are only counted, because no sink uses their events.
    only_counts_events: bool,
    /// Depth of each kind, from the parts of the message read so far.
    depth: [Option<u32>; 2],
    positions: Positions,
}

/// Positions of the entries of a snapshot.
#[derive(Clone, Copy, Debug, Default)]
struct Positions {
    is_named: bool,
    is_left_out: bool,
}

impl<'a, S> MessageReading<'a, S> {
    pub(super) fn new(
        model: BookModel,
        key: &'a InstrumentKeyFields,
        seq_num: u64,
        levels: &'a mut Vec<SnapshotLevel>,
        text: &'a mut Vec<u8>,
        has_positions: &'a mut bool,
        sink: &'a mut S,
    ) -> Self {
        levels.clear();
        let (number, usual, instrument, trade_date, depth, positions) = Default::default();
        let (is_named, only_counts_events, codes) = (false, false, [&[][..]; 2]);
        Self {
            model,
            key,
            seq_num,
            sink,
            levels,
            text,
            has_positions,
            number,
            usual,
            instrument,
            codes,
            is_named,
            trade_date,
            only_counts_events,
            depth,
            positions,
        }
    }

    pub(super) fn key_tags(&self) -> &'a [u32] {
        &self.key.tags
    }
}

/// Part of the key that a record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyPresence {
    /// All of it: the instrument is known.
    Whole,
    /// None of its fields.
    Nothing,
    /// The field at this index, but not all fields.
    Partly(usize),
}

impl<'a, S: MarketSink> MessageReading<'a, S> {
    /// Reads the root, before the entries.
    pub(super) fn begin<'m>(
        &mut self,
        shape: &'a TemplateShape,
        root: impl FieldRow<'m>,
    ) -> Result<()> {
        self.codes = [&shape.codes[0], &shape.codes[1]];
        let has_plain_events = shape.quick.as_ref().is_some_and(|quick| quick.has_plain_events);
        self.only_counts_events = has_plain_events && !self.sink.wants_events();
        match shape.role {
            // The key may be split between the entries and the root.
            TemplateRole::Incremental if shape.has_own_key => {}
            TemplateRole::SequenceReset | TemplateRole::SessionStatus | TemplateRole::Other => {}
            _ => {
                self.name(root)?;
            }
        }
        self.trade_date = match shape.role {
            TemplateRole::Incremental => {
                root.get::<{ tag::TRADE_DATE }>().unsigned(tag::TRADE_DATE)?
            }
            _ => None,
        };
        Ok(())
    }

    /// Finds the instrument of a record.
    #[inline(always)]
    fn name<'m>(&mut self, row: impl FieldRow<'m>) -> Result<KeyPresence> {
        if let [place] = self.key.places[..] {
            match row.at(place) {
                FieldScalar::UInt(number) => {
                    self.name_by_number(number);
                    return Ok(KeyPresence::Whole);
                }
                FieldScalar::Absent => return Ok(KeyPresence::Nothing),
                _ => {}
            }
        }
        self.name_by_text(row)
    }

    fn name_by_text<'m>(&mut self, row: impl FieldRow<'m>) -> Result<KeyPresence> {
        self.text.clear();
        let mut present = 0;
        let mut partly = 0;
        for (index, (place, tag)) in self.key.places.iter().zip(&self.key.tags).enumerate() {
            if index > 0 {
                self.text.push(SEPARATOR);
            }
            match row.at(*place) {
                FieldScalar::Absent => continue,
                FieldScalar::Text(text) => self.text.extend_from_slice(text.trim_ascii_end()),
                FieldScalar::UInt(number) => {
                    self.text.extend_from_slice(number.to_string().as_bytes())
                }
                FieldScalar::Int(number) => {
                    self.text.extend_from_slice(number.to_string().as_bytes())
                }
                FieldScalar::Decimal(_) => return Err(invalid(*tag)),
            }
            present += 1;
            partly = index;
        }
        if present == 0 {
            return Ok(KeyPresence::Nothing);
        }
        if present < self.key.places.len() {
            return Ok(KeyPresence::Partly(partly));
        }
        self.number = None;
        self.instrument = self.sink.instrument(InstrumentKey::Text(self.text));
        self.is_named = true;
        Ok(KeyPresence::Whole)
    }

    /// Returns MDEntryType of an entry.
    #[inline(always)]
    fn entry_type<'m>(&self, row: impl FieldRow<'m>) -> Result<u8> {
        let value = row.get::<{ tag::ENTRY_TYPE }>();
        required(coded(value, self.codes[0], tag::ENTRY_TYPE)?, tag::ENTRY_TYPE)
    }

    /// Returns MDUpdateAction of an entry.
    #[inline(always)]
    fn update_action<'m>(&self, row: impl FieldRow<'m>) -> Result<Option<u8>> {
        coded(row.get::<{ tag::UPDATE_ACTION }>(), self.codes[1], tag::UPDATE_ACTION)
    }

    fn key_tag(&self) -> u32 {
        self.key.tags.first().copied().unwrap_or(tag::SECURITY_ID)
    }

    /// Reads an entry.
    #[inline(never)]
    pub(super) fn entry<'m>(&mut self, role: TemplateRole, row: impl FieldRow<'m>) -> Result<()> {
        if let Some(number) = self.usual.take() {
            self.name_by_number(number);
        }
        match role {
            TemplateRole::Incremental => self.update(row),
            TemplateRole::Snapshot => self.level(row),
            _ => Ok(()),
        }
    }

    /// Handles a common entry. Returns false if the entry needs the general path.
    #[inline(always)]
    pub(super) fn usual(&mut self, entry: EntryClass) -> bool {
        match entry {
            EntryClass::Level(level) => {
                self.usual = Some(level.instrument);
                *self.has_positions = true;
                // The previous instrument is not compared first: a branch that cannot be predicted
                // takes longer than the look-up.
                let UsualLevel { instrument, rpt_seq, kind, side, level, change, content } = level;
                let (number, seq_num) = (instrument, self.seq_num);
                self.sink.level_update(LevelUpdate {
                    number,
                    kind,
                    seq_num,
                    rpt_seq,
                    side,
                    level,
                    change,
                    content,
                });
                true
            }
            EntryClass::Other(other) => self.usual_other(other),
            EntryClass::Odd => false,
        }
    }

    /// Counts an entry that is no level and whose content nobody uses.
    #[inline(never)]
    fn usual_other(&mut self, other: UsualOther) -> bool {
        if other.entry_type == b'J' || !self.only_counts_events {
            return false;
        }
        self.usual = Some(other.instrument);
        if let Some(instrument) = self.sink.instrument(InstrumentKey::Number(other.instrument)) {
            let (kind, change) = (BookKind::Outright, BookUpdate::Other);
            let (seq_num, rpt_seq, depth) = (self.seq_num, Some(other.rpt_seq), None);
            self.sink.update(&Update { instrument, kind, seq_num, rpt_seq, depth, change });
        }
        true
    }

    /// Finds the instrument of a number. Usually it is that of the previous entry.
    #[inline(always)]
    fn name_by_number(&mut self, number: u64) {
        if self.number != Some(number) {
            self.instrument = self.sink.instrument(InstrumentKey::Number(number));
            self.number = Some(number);
            self.is_named = true;
        }
    }

    fn update<'m>(&mut self, row: impl FieldRow<'m>) -> Result<()> {
        let named = self.name(row)?;
        let entry_type = self.entry_type(row)?;
        if !self.is_named || matches!(named, KeyPresence::Partly(_)) {
            return self.unnamed_update(named, entry_type);
        }
        let kind = match entry_type {
            b'0' | b'1' if is_implied(row) => BookKind::Implied,
            _ => BookKind::Outright,
        };
        let change = self.change(row, entry_type)?;
        let rpt_seq = row.get::<{ tag::RPT_SEQ }>().unsigned(tag::RPT_SEQ)?;
        let depth = depth(row)?;
        let Some(instrument) = self.instrument else { return Ok(()) };
        let seq_num = self.seq_num;
        self.sink.update(&Update { instrument, kind, seq_num, rpt_seq, depth, change });
        if matches!(change, BookUpdate::Other) {
            self.entry_event(row, entry_type, instrument)?;
        }
        Ok(())
    }

    /// Handles an entry that names no instrument. Only an empty book (J) may do so.
    #[cold]
    fn unnamed_update(&mut self, named: KeyPresence, entry_type: u8) -> Result<()> {
        if entry_type != b'J' {
            return Err(MarketDataError::FieldAbsent { tag: self.key_tag() });
        }
        let scope = match named {
            KeyPresence::Partly(index) => {
                let text = self.text.split(|byte| *byte == SEPARATOR).nth(index);
                ClearScope::Field { index, text: text.unwrap_or_default() }
            }
            _ => ClearScope::Channel,
        };
        self.sink.clear(&Clear { scope, seq_num: self.seq_num });
        Ok(())
    }

    #[inline(always)]
    fn change<'m>(&mut self, row: impl FieldRow<'m>, entry_type: u8) -> Result<BookUpdate> {
        let side = match entry_type {
            b'0' => Side::Bid,
            b'1' => Side::Offer,
            b'J' => return Ok(BookUpdate::Clear),
            _ => return Ok(BookUpdate::Other),
        };
        let action = required(self.update_action(row)?, tag::UPDATE_ACTION)?;
        match self.model {
            BookModel::ByLevel => {
                let level = row.get::<{ tag::PRICE_LEVEL }>().unsigned(tag::PRICE_LEVEL)?;
                let Some(level) = level else {
                    // A feed that never sends a position has another book model: books by position
                    // would stay empty.
                    let absent = MarketDataError::FieldAbsent { tag: tag::PRICE_LEVEL };
                    return if *self.has_positions { Ok(BookUpdate::Other) } else { Err(absent) };
                };
                let level = u32::try_from(level).map_err(|_| invalid(tag::PRICE_LEVEL))?;
                *self.has_positions = true;
                let action = level_action(row, action)?;
                Ok(BookUpdate::ByLevel { side, level, action })
            }
            BookModel::ByPrice => price_update(row, side, action),
            BookModel::ByOrder => order_update(row, side, action),
        }
    }

    /// Reports trades and statistics.
    #[cold]
    fn entry_event<'m>(
        &mut self,
        row: impl FieldRow<'m>,
        entry_type: u8,
        instrument: Instrument,
    ) -> Result<()> {
        let price = row.get::<{ tag::ENTRY_PX }>().amount(tag::ENTRY_PX)?;
        let size = row.get::<{ tag::ENTRY_SIZE }>().amount(tag::ENTRY_SIZE)?;
        let time = ExchangeTime {
            date: row.get::<{ tag::ENTRY_DATE }>().unsigned(tag::ENTRY_DATE)?.or(self.trade_date),
            time: match row.get::<{ tag::ENTRY_TIME }>().unsigned(tag::ENTRY_TIME)? {
                Some(time) => Some(time),
                None => row.get::<{ tag::TRANSACT_TIME }>().unsigned(tag::TRANSACT_TIME)?,
            },
        };
        let event = match entry_type {
            b'0' | b'1' => return Ok(()),
            // MOEX ASTS uses z for the trades of all participants.
            b'2' | b'z' => MarketEvent::Trade(Trade {
                instrument,
                action: match self.update_action(row)? {
                    Some(b'1') => TradeAction::Change,
                    Some(b'2') => TradeAction::Delete,
                    _ => TradeAction::New,
                },
                price,
                size,
                time,
                id: match row.get::<{ tag::ENTRY_ID }>().order_id(tag::ENTRY_ID)? {
                    Some(id) => Some(id),
                    None => row.get::<{ tag::TRADE_ID }>().order_id(tag::TRADE_ID)?,
                },
                aggressor: match row.get::<{ tag::AGGRESSOR_SIDE }>() {
                    FieldScalar::UInt(1) | FieldScalar::Int(1) | FieldScalar::Text(b"1") => {
                        Some(Side::Bid)
                    }
                    FieldScalar::UInt(2) | FieldScalar::Int(2) | FieldScalar::Text(b"2") => {
                        Some(Side::Offer)
                    }
                    _ => None,
                },
                conditions: row.get::<{ tag::TRADE_CONDITION }>().text(),
            }),
            _ => MarketEvent::Statistic(Statistic { instrument, entry_type, price, size, time }),
        };
        self.sink.event(&event);
        Ok(())
    }

    fn level<'m>(&mut self, row: impl FieldRow<'m>) -> Result<()> {
        let side = match self.entry_type(row)? {
            b'0' => Side::Bid,
            b'1' => Side::Offer,
            _ => return Ok(()),
        };
        let kind = if is_implied(row) { BookKind::Implied } else { BookKind::Outright };
        let name = match self.model {
            BookModel::ByPrice => LevelName::Price,
            BookModel::ByOrder => LevelName::Order(required(order_id(row)?, tag::ENTRY_ID)?),
            BookModel::ByLevel => {
                match row.get::<{ tag::PRICE_LEVEL }>().unsigned(tag::PRICE_LEVEL)? {
                    Some(level) => {
                        self.positions.is_named = true;
                        LevelName::Level(u32::try_from(level).unwrap_or(u32::MAX))
                    }
                    None => {
                        self.positions.is_left_out = true;
                        LevelName::Level(self.next_position(side, kind))
                    }
                }
            }
        };
        if self.levels.len() >= SNAPSHOT_LEVELS_MAX {
            return Err(invalid(tag::ENTRY_TYPE));
        }
        if self.depth[0].is_none() {
            self.depth[0] = depth(row)?;
        }
        self.levels.push(SnapshotLevel { kind, side, name, content: level_content(row)? });
        Ok(())
    }

    /// Returns the position after the last one of a side: the best levels come first.
    fn next_position(&self, side: Side, kind: BookKind) -> u32 {
        let of_side = self.levels.iter().filter(|known| known.side == side && known.kind == kind);
        of_side.count() as u32 + 1
    }

    /// Sorts the levels of a snapshot. A snapshot in which only some entries have positions is an
    /// error.
    fn order_levels(&mut self) -> Result<()> {
        let position = |level: &SnapshotLevel| match level.name {
            LevelName::Level(position) => position,
            LevelName::Price | LevelName::Order(_) => 0,
        };
        if self.positions.is_named && self.positions.is_left_out {
            return Err(MarketDataError::FieldAbsent { tag: tag::PRICE_LEVEL });
        }
        self.levels.sort_by_key(position);
        Ok(())
    }

    /// Reads the depth of one of the instrument's feeds from a definition.
    pub(super) fn feed<'m>(&mut self, row: impl FieldRow<'m>) -> Result<()> {
        let depth = depth(row)?;
        let feed = row.get::<{ tag::MD_FEED_TYPE }>().text();
        // CME: GBX is the outright book, GBI the implied one. If another exchange lists several
        // feeds, it is unknown which of them this channel is.
        let at = match feed {
            b"GBI" => 1,
            b"GBX" => 0,
            _ => return Ok(()),
        };
        if let Some(known) = self.depth.get_mut(at) {
            *known = depth.or(*known);
        }
        Ok(())
    }

    /// Reports the content of the whole message.
    pub(super) fn end<'m>(&mut self, role: TemplateRole, root: impl FieldRow<'m>) -> Result<()> {
        let last = root.get::<{ tag::LAST_FRAGMENT }>();
        let fragment = match last {
            FieldScalar::UInt(0) | FieldScalar::Int(0) | FieldScalar::Text(b"0" | b"N") => {
                SnapshotFragment::Middle
            }
            FieldScalar::Absent => SnapshotFragment::Whole,
            _ => SnapshotFragment::Last,
        };
        match role {
            TemplateRole::Snapshot => self.snapshot(root, fragment)?,
            TemplateRole::SequenceReset => {
                let next = root.get::<{ tag::NEW_SEQ_NO }>().unsigned(tag::NEW_SEQ_NO)?;
                let sending_time = sending_time(root);
                self.sink.sequence_reset(required(next, tag::NEW_SEQ_NO)?, sending_time);
            }
            TemplateRole::Definition => self.define(root)?,
            TemplateRole::SecurityStatus => {
                let status = root.get::<{ tag::SECURITY_TRADING_STATUS }>();
                if let (Some(code), Some(instrument)) =
                    (status.unsigned(tag::SECURITY_TRADING_STATUS)?, self.instrument)
                {
                    let scope = StatusScope::Instrument(instrument);
                    self.sink.event(&MarketEvent::Status(Status { scope, code }));
                }
            }
            TemplateRole::SessionStatus => {
                let status = root.get::<{ tag::TRAD_SES_STATUS }>();
                if let Some(code) = status.unsigned(tag::TRAD_SES_STATUS)? {
                    let scope = StatusScope::Channel;
                    self.sink.event(&MarketEvent::Status(Status { scope, code }));
                }
            }
            TemplateRole::Incremental | TemplateRole::Other => {}
        }
        match role {
            TemplateRole::Incremental => {
                self.sink.end_message(fragment == SnapshotFragment::Middle)
            }
            TemplateRole::Snapshot | TemplateRole::SequenceReset => self.sink.end_message(false),
            _ => self.sink.end_other_message(),
        }
        Ok(())
    }

    fn snapshot<'m>(&mut self, root: impl FieldRow<'m>, fragment: SnapshotFragment) -> Result<()> {
        if !self.is_named {
            return Err(MarketDataError::FieldAbsent { tag: self.key_tag() });
        }
        let last_tag = tag::LAST_MSG_SEQ_NUM_PROCESSED;
        let last = root.get::<{ tag::LAST_MSG_SEQ_NUM_PROCESSED }>().unsigned(last_tag)?;
        let Some(instrument) = self.instrument else { return Ok(()) };
        self.order_levels()?;
        let depth = depth(root)?.or(self.depth[0]);
        self.sink.snapshot(&Snapshot {
            instrument,
            last_seq_num: required(last, last_tag)?,
            rpt_seq: root.get::<{ tag::RPT_SEQ }>().unsigned(tag::RPT_SEQ)?,
            sending_time: sending_time(root),
            seq_num: root.get::<{ tag::MSG_SEQ_NUM }>().unsigned(tag::MSG_SEQ_NUM)?,
            fragment,
            depth,
            levels: self.levels,
        });
        Ok(())
    }

    fn define<'m>(&mut self, root: impl FieldRow<'m>) -> Result<()> {
        let Some(instrument) = self.instrument else { return Ok(()) };
        let text = |value: FieldScalar<'_>| match value {
            FieldScalar::Text(text) if !text.is_empty() => {
                Some(String::from_utf8_lossy(text.trim_ascii_end()).into())
            }
            FieldScalar::UInt(number) => Some(number.to_string().into()),
            FieldScalar::Int(number) => Some(number.to_string().into()),
            _ => None,
        };
        let tick = root.get::<{ tag::MIN_PRICE_INCREMENT }>();
        let expiry = text(root.get::<{ tag::MATURITY_DATE }>());
        let own_depth = depth(root)?;
        let definition = Definition {
            // At CME Symbol is "[N/A]", and SecurityDesc has the common name.
            symbol: match root.get::<{ tag::SYMBOL }>() {
                FieldScalar::Absent | FieldScalar::Text(b"[N/A]") => {
                    text(root.get::<{ tag::SECURITY_DESC }>())
                }
                symbol => text(symbol),
            },
            tick: tick.amount(tag::MIN_PRICE_INCREMENT)?,
            expiry: expiry.or_else(|| text(root.get::<{ tag::MATURITY_MONTH_YEAR }>())),
            depth: [self.depth[0].or(own_depth), self.depth[1]],
        };
        self.sink.define(instrument, &definition);
        Ok(())
    }
}

/// Reads a field of one character, or of an enum whose wire values have these codes.
#[inline(always)]
fn coded(value: FieldScalar<'_>, codes: &[u8], tag: u32) -> Result<Option<u8>> {
    match value {
        FieldScalar::UInt(wire) if !codes.is_empty() => {
            let code = usize::try_from(wire).ok().and_then(|wire| codes.get(wire));
            code.map(|code| Some(*code)).ok_or(invalid(tag))
        }
        _ => value.character(tag),
    }
}

/// Returns the time at which a message was first sent, as a number: OrigSendingTime (122) if it is
/// sent again, else SendingTime (52). `None` if it is absent or not in digits.
pub(super) fn sending_time<'m>(root: impl FieldRow<'m>) -> Option<u64> {
    let original = root.get::<{ tag::ORIG_SENDING_TIME }>();
    let original = original.unsigned(tag::ORIG_SENDING_TIME).ok().flatten();
    let sent = || root.get::<{ tag::SENDING_TIME }>().unsigned(tag::SENDING_TIME).ok().flatten();
    original.or_else(sent)
}

/// Returns MarketDepth (264) if it is a number of levels.
#[inline(always)]
fn depth<'m>(row: impl FieldRow<'m>) -> Result<Option<u32>> {
    match row.get::<{ tag::MARKET_DEPTH }>() {
        FieldScalar::Absent => Ok(None),
        depth => Ok(depth.unsigned(tag::MARKET_DEPTH)?.and_then(named_depth)),
    }
}

#[inline(always)]
fn level_action<'m>(row: impl FieldRow<'m>, action: u8) -> Result<LevelAction> {
    Ok(match action {
        b'0' => LevelAction::New(level_content(row)?),
        b'1' | b'5' => LevelAction::Change(level_content(row)?),
        b'2' => LevelAction::Delete,
        b'3' => LevelAction::DeleteThru,
        b'4' => LevelAction::DeleteFrom,
        _ => return Err(invalid(tag::UPDATE_ACTION)),
    })
}

fn price<'m>(row: impl FieldRow<'m>) -> Result<Option<Amount>> {
    row.get::<{ tag::ENTRY_PX }>().amount(tag::ENTRY_PX)
}

fn size<'m>(row: impl FieldRow<'m>) -> Result<Option<Amount>> {
    row.get::<{ tag::ENTRY_SIZE }>().amount(tag::ENTRY_SIZE)
}

fn order_id<'m>(row: impl FieldRow<'m>) -> Result<Option<OrderId>> {
    match row.get::<{ tag::ENTRY_ID }>().order_id(tag::ENTRY_ID)? {
        Some(id) => Ok(Some(id)),
        None => row.get::<{ tag::ORDER_ID }>().order_id(tag::ORDER_ID),
    }
}

fn price_update<'m>(row: impl FieldRow<'m>, side: Side, action: u8) -> Result<BookUpdate> {
    let action = match action {
        b'0' => PriceAction::New,
        b'1' => PriceAction::Change,
        b'2' => PriceAction::Delete,
        _ => return Err(invalid(tag::UPDATE_ACTION)),
    };
    let level = if action == PriceAction::Delete {
        let price = required(price(row)?, tag::ENTRY_PX)?;
        Level { price, ..Level::NONE }
    } else {
        level_content(row)?
    };
    Ok(BookUpdate::ByPrice { side, action, level })
}

fn order_update<'m>(row: impl FieldRow<'m>, side: Side, action: u8) -> Result<BookUpdate> {
    let id = required(order_id(row)?, tag::ENTRY_ID)?;
    let action = match action {
        b'0' => OrderAction::New {
            side,
            price: required(price(row)?, tag::ENTRY_PX)?,
            size: required(size(row)?, tag::ENTRY_SIZE)?,
        },
        b'1' => OrderAction::Change { price: price(row)?, size: size(row)? },
        b'2' => OrderAction::Remove,
        _ => return Err(invalid(tag::UPDATE_ACTION)),
    };
    Ok(BookUpdate::ByOrder { id, action })
}

#[inline(always)]
fn level_content<'m>(row: impl FieldRow<'m>) -> Result<Level> {
    let orders = row.get::<{ tag::NUMBER_OF_ORDERS }>().unsigned(tag::NUMBER_OF_ORDERS)?;
    Ok(Level {
        price: required(price(row)?, tag::ENTRY_PX)?,
        size: required(size(row)?, tag::ENTRY_SIZE)?,
        orders: match orders {
            Some(orders) => {
                Some(u32::try_from(orders).map_err(|_| invalid(tag::NUMBER_OF_ORDERS))?)
            }
            None => None,
        },
    })
}
