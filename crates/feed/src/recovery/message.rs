//! Updates and snapshots from decoded FAST messages.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tickwire_fast::rt::Templates;
use tickwire_fast::{Entries, FieldValue, Message, Program, Record, SegmentRef, Storage};

use super::row::{Collected, Row};
use super::{Incremental, InstrumentId, Snapshot, SnapshotLevel};
use crate::book::{Amount, BookUpdate, Level, LevelAction, PriceAction, Side};

/// FIX tags of the fields that matter here.
mod tag {
    pub(super) const MSG_SEQ_NUM: u32 = 34;
    pub(super) const NEW_SEQ_NO: u32 = 36;
    pub(super) const SECURITY_ID: u32 = 48;
    pub(super) const RPT_SEQ: u32 = 83;
    pub(super) const ENTRY_TYPE: u32 = 269;
    pub(super) const ENTRY_PX: u32 = 270;
    pub(super) const ENTRY_SIZE: u32 = 271;
    pub(super) const UPDATE_ACTION: u32 = 279;
    pub(super) const NUMBER_OF_ORDERS: u32 = 346;
    pub(super) const LAST_MSG_SEQ_NUM_PROCESSED: u32 = 369;
    pub(super) const PRICE_LEVEL: u32 = 1023;
}

/// How the feed names the levels of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LevelNaming {
    /// By MDPriceLevel; entries without one change no level.
    #[default]
    ByLevel,
    /// By price; MDPriceLevel is not looked at.
    ByPrice,
}

/// What a message says about books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarketData<'a> {
    /// Updates, in order.
    Incremental(&'a [Incremental]),
    /// A whole book.
    Snapshot(Snapshot<'a>),
    /// SequenceReset: the channel the message came on counts anew.
    SequenceReset {
        /// NewSeqNo.
        next_seq_num: u64,
    },
    /// Nothing about books.
    Other,
}

/// Why a message says nothing that can be believed. Its updates are lost then: tell
/// [`Recovery::handle_gap`](super::Recovery::handle_gap) its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarketDataError {
    /// The message was decoded by another program than the adapter was made for.
    OtherProgram,
    /// A field that is needed is absent.
    FieldAbsent {
        /// Its FIX tag.
        tag: u32,
    },
    /// A field has a value that its tag does not have, or is not of a fitting type.
    FieldValue {
        /// Its FIX tag.
        tag: u32,
    },
}

impl fmt::Display for MarketDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProgram => {
                f.write_str("the message belongs to another program: make an adapter for that one")
            }
            Self::FieldAbsent { tag } => write!(f, "field {tag} is needed and absent"),
            Self::FieldValue { tag } => write!(f, "field {tag} has a value it cannot have"),
        }
    }
}

impl Error for MarketDataError {}

/// Where fields stand in their segment.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    security_id: Option<usize>,
    rpt_seq: Option<usize>,
    entry_type: Option<usize>,
    entry_px: Option<usize>,
    entry_size: Option<usize>,
    update_action: Option<usize>,
    number_of_orders: Option<usize>,
    price_level: Option<usize>,
    msg_seq_num: Option<usize>,
    last_msg_seq_num_processed: Option<usize>,
}

impl Fields {
    fn of(program: &Program, segment: SegmentRef) -> Self {
        let find = |tag| program.fields_of(segment).iter().position(|field| field.id == Some(tag));
        Self {
            security_id: find(tag::SECURITY_ID),
            rpt_seq: find(tag::RPT_SEQ),
            entry_type: find(tag::ENTRY_TYPE),
            entry_px: find(tag::ENTRY_PX),
            entry_size: find(tag::ENTRY_SIZE),
            update_action: find(tag::UPDATE_ACTION),
            number_of_orders: find(tag::NUMBER_OF_ORDERS),
            price_level: find(tag::PRICE_LEVEL),
            msg_seq_num: find(tag::MSG_SEQ_NUM),
            last_msg_seq_num_processed: find(tag::LAST_MSG_SEQ_NUM_PROCESSED),
        }
    }
}

/// What kind of message a template is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Incremental { entries_at: usize },
    Snapshot { entries_at: usize },
    SequenceReset { new_seq_no_at: usize },
    Other,
}

impl Kind {
    /// Where the entries are that matter.
    const fn entries_at(&self) -> Option<usize> {
        match *self {
            Self::Incremental { entries_at } | Self::Snapshot { entries_at } => Some(entries_at),
            Self::SequenceReset { .. } | Self::Other => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: Kind,
    root: Fields,
    entry: Fields,
}

impl Shape {
    fn of(program: &Program, segment: SegmentRef) -> Self {
        let fields = program.fields_of(segment);
        let root = Fields::of(program, segment);
        for (entries_at, field) in fields.iter().enumerate() {
            let Storage::Sequence { segment, .. } = field.storage else { continue };
            let entry = Fields::of(program, segment);
            if entry.entry_type.is_none() {
                continue;
            }
            if entry.update_action.is_some() {
                return Self { kind: Kind::Incremental { entries_at }, root, entry };
            }
            if root.last_msg_seq_num_processed.is_some() {
                return Self { kind: Kind::Snapshot { entries_at }, root, entry };
            }
        }
        let reset = fields.iter().position(|field| field.id == Some(tag::NEW_SEQ_NO));
        let kind = reset.map_or(Kind::Other, |new_seq_no_at| Kind::SequenceReset { new_seq_no_at });
        Self { kind, root, entry: Fields::default() }
    }
}

/// Makes inputs for a [`Recovery`](super::Recovery) from messages of FIX market data: sequences with
/// MDEntryType (269), found by FIX tag once per template.
///
/// With MDUpdateAction (279) in its entries a template is incremental, with LastMsgSeqNumProcessed
/// (369) beside them it is a snapshot. Instruments are SecurityID (48); an entry without it belongs
/// to the instrument of the entry before. Entries that are neither bid nor offer become
/// [`BookUpdate::Other`], so that their RptSeq counts.
#[derive(Debug)]
pub struct MarketDataAdapter {
    program: Arc<Program>,
    shapes: Vec<Shape>,
    /// What a message of generated code holds.
    collected: Collected,
    adapted: Adapted,
}

impl MarketDataAdapter {
    /// Looks up the fields of every template.
    pub fn new(program: Arc<Program>, naming: LevelNaming) -> Self {
        let templates = program.templates().iter();
        let shapes = templates.map(|template| Shape::of(&program, template.segment)).collect();
        let adapted = Adapted { naming, updates: Vec::new(), levels: Vec::new() };
        Self { program, shapes, collected: Collected::default(), adapted }
    }

    /// What a message says. `packet_seq_num` stands in where a message has no MsgSeqNum (34).
    ///
    /// # Errors
    /// [`MarketDataError`] if a field that is needed is absent or cannot be understood.
    pub fn adapt(
        &mut self,
        message: &Message,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        let shape = self.shape(message.program(), message.template_index())?;
        let root = message.root();
        let entries = shape.kind.entries_at().and_then(|at| entries(root, at));
        let entries = entries.iter().flat_map(Entries::iter);
        self.adapted.adapt(&shape, root, entries, packet_seq_num)
    }

    /// As [`adapt`](Self::adapt), for a message of generated code that is of the template at this
    /// index in `program`.
    ///
    /// # Errors
    /// As [`adapt`](Self::adapt).
    pub fn adapt_generated<T: Templates>(
        &mut self,
        program: &Arc<Program>,
        template: usize,
        message: T::Message<'_>,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        let shape = self.shape(program, template)?;
        let segment = program.templates()[template].segment;
        self.collected.collect::<T>(program, segment, shape.kind.entries_at(), message);
        let (root, entries) = self.collected.rows(program);
        self.adapted.adapt(&shape, root, entries, packet_seq_num)
    }

    fn shape(&self, program: &Arc<Program>, template: usize) -> Result<Shape, MarketDataError> {
        let shape = self.shapes.get(template).copied();
        let shape = shape.filter(|_| Arc::ptr_eq(&self.program, program));
        shape.ok_or(MarketDataError::OtherProgram)
    }
}

/// Updates and levels of a message, and room for them.
#[derive(Debug)]
struct Adapted {
    naming: LevelNaming,
    updates: Vec<Incremental>,
    levels: Vec<SnapshotLevel>,
}

impl Adapted {
    fn adapt<R: Row>(
        &mut self,
        shape: &Shape,
        root: R,
        entries: impl Iterator<Item = R>,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        let seq_num = unsigned(root, shape.root.msg_seq_num, tag::MSG_SEQ_NUM)?;
        let seq_num = seq_num.unwrap_or(packet_seq_num);
        match shape.kind {
            Kind::Incremental { .. } => {
                self.adapt_updates(&shape.entry, entries, seq_num)?;
                Ok(MarketData::Incremental(&self.updates))
            }
            Kind::Snapshot { .. } => {
                self.adapt_levels(&shape.entry, entries)?;
                Ok(MarketData::Snapshot(self.snapshot(&shape.root, root)?))
            }
            Kind::SequenceReset { new_seq_no_at } => {
                let next = unsigned(root, Some(new_seq_no_at), tag::NEW_SEQ_NO)?;
                let next_seq_num = required(next, tag::NEW_SEQ_NO)?;
                Ok(MarketData::SequenceReset { next_seq_num })
            }
            Kind::Other => Ok(MarketData::Other),
        }
    }

    fn adapt_updates<R: Row>(
        &mut self,
        fields: &Fields,
        entries: impl Iterator<Item = R>,
        seq_num: u64,
    ) -> Result<(), MarketDataError> {
        self.updates.clear();
        let mut instrument = None;
        for entry in entries {
            instrument = unsigned(entry, fields.security_id, tag::SECURITY_ID)?.or(instrument);
            let id = required(instrument, tag::SECURITY_ID)?;
            self.updates.push(Incremental {
                instrument: InstrumentId(id),
                seq_num,
                rpt_seq: unsigned(entry, fields.rpt_seq, tag::RPT_SEQ)?,
                update: self.update(fields, entry)?,
            });
        }
        Ok(())
    }

    fn update(&self, fields: &Fields, entry: impl Row) -> Result<BookUpdate, MarketDataError> {
        let side = match character(entry, fields.entry_type, tag::ENTRY_TYPE)? {
            b'0' => Side::Bid,
            b'1' => Side::Offer,
            b'J' => return Ok(BookUpdate::Clear),
            _ => return Ok(BookUpdate::Other),
        };
        let action = character(entry, fields.update_action, tag::UPDATE_ACTION)?;
        if self.naming == LevelNaming::ByPrice {
            return price_update(fields, entry, side, action);
        }
        match unsigned(entry, fields.price_level, tag::PRICE_LEVEL)? {
            Some(level) => {
                let level = u32::try_from(level).map_err(|_| invalid(tag::PRICE_LEVEL))?;
                let action = level_action(fields, entry, action)?;
                Ok(BookUpdate::ByLevel { side, level, action })
            }
            None => Ok(BookUpdate::Other),
        }
    }

    fn adapt_levels<R: Row>(
        &mut self,
        fields: &Fields,
        entries: impl Iterator<Item = R>,
    ) -> Result<(), MarketDataError> {
        self.levels.clear();
        for entry in entries {
            let side = match character(entry, fields.entry_type, tag::ENTRY_TYPE)? {
                b'0' => Side::Bid,
                b'1' => Side::Offer,
                _ => continue,
            };
            let level = match self.naming {
                LevelNaming::ByPrice => None,
                LevelNaming::ByLevel => {
                    match unsigned(entry, fields.price_level, tag::PRICE_LEVEL)? {
                        Some(level) => Some(u32::try_from(level).unwrap_or(u32::MAX)),
                        None => continue,
                    }
                }
            };
            let content = level_content(fields, entry)?;
            self.levels.push(SnapshotLevel { side, level, content });
        }
        Ok(())
    }

    fn snapshot(&self, fields: &Fields, root: impl Row) -> Result<Snapshot<'_>, MarketDataError> {
        let instrument = unsigned(root, fields.security_id, tag::SECURITY_ID)?;
        let last_tag = tag::LAST_MSG_SEQ_NUM_PROCESSED;
        let last = unsigned(root, fields.last_msg_seq_num_processed, last_tag)?;
        Ok(Snapshot {
            instrument: InstrumentId(required(instrument, tag::SECURITY_ID)?),
            last_seq_num: required(last, last_tag)?,
            rpt_seq: unsigned(root, fields.rpt_seq, tag::RPT_SEQ)?,
            levels: &self.levels,
        })
    }
}

fn level_action(
    fields: &Fields,
    entry: impl Row,
    action: u8,
) -> Result<LevelAction, MarketDataError> {
    Ok(match action {
        b'0' => LevelAction::New(level_content(fields, entry)?),
        b'1' | b'5' => LevelAction::Change(level_content(fields, entry)?),
        b'2' => LevelAction::Delete,
        b'3' => LevelAction::DeleteThru,
        b'4' => LevelAction::DeleteFrom,
        _ => return Err(invalid(tag::UPDATE_ACTION)),
    })
}

fn price_update(
    fields: &Fields,
    entry: impl Row,
    side: Side,
    action: u8,
) -> Result<BookUpdate, MarketDataError> {
    let action = match action {
        b'0' => PriceAction::New,
        b'1' => PriceAction::Change,
        b'2' => PriceAction::Delete,
        _ => return Err(invalid(tag::UPDATE_ACTION)),
    };
    let level = if action == PriceAction::Delete {
        let price = required(amount(entry, fields.entry_px, tag::ENTRY_PX)?, tag::ENTRY_PX)?;
        Level { price, size: Amount::integer(0), orders: None }
    } else {
        level_content(fields, entry)?
    };
    Ok(BookUpdate::ByPrice { side, action, level })
}

fn level_content(fields: &Fields, entry: impl Row) -> Result<Level, MarketDataError> {
    let price = amount(entry, fields.entry_px, tag::ENTRY_PX)?;
    let size = amount(entry, fields.entry_size, tag::ENTRY_SIZE)?;
    let orders = unsigned(entry, fields.number_of_orders, tag::NUMBER_OF_ORDERS)?;
    Ok(Level {
        price: required(price, tag::ENTRY_PX)?,
        size: required(size, tag::ENTRY_SIZE)?,
        orders: match orders {
            Some(orders) => {
                Some(u32::try_from(orders).map_err(|_| invalid(tag::NUMBER_OF_ORDERS))?)
            }
            None => None,
        },
    })
}

fn invalid(tag: u32) -> MarketDataError {
    MarketDataError::FieldValue { tag }
}

fn field<R: Row>(record: &R, index: Option<usize>) -> FieldValue<'_> {
    index.map_or(FieldValue::Absent, |index| record.value(index))
}

fn required<T>(value: Option<T>, tag: u32) -> Result<T, MarketDataError> {
    value.ok_or(MarketDataError::FieldAbsent { tag })
}

fn entries(root: Record<'_>, index: usize) -> Option<Entries<'_>> {
    match root.value(index) {
        FieldValue::Sequence(entries) => Some(entries),
        _ => None,
    }
}

fn unsigned(
    record: impl Row,
    index: Option<usize>,
    tag: u32,
) -> Result<Option<u64>, MarketDataError> {
    match field(&record, index) {
        FieldValue::Absent | FieldValue::Discarded => Ok(None),
        FieldValue::UInt(value) => Ok(Some(value)),
        FieldValue::Int(value) => u64::try_from(value).map(Some).map_err(|_| invalid(tag)),
        _ => Err(invalid(tag)),
    }
}

fn amount(
    record: impl Row,
    index: Option<usize>,
    tag: u32,
) -> Result<Option<Amount>, MarketDataError> {
    match field(&record, index) {
        FieldValue::Absent | FieldValue::Discarded => Ok(None),
        FieldValue::Decimal(value) => Ok(Some(value.into())),
        FieldValue::Int(value) => Ok(Some(Amount::integer(value))),
        FieldValue::UInt(value) => {
            i64::try_from(value).map(Amount::integer).map(Some).map_err(|_| invalid(tag))
        }
        _ => Err(invalid(tag)),
    }
}

/// A field of one character, sent as a string or as a number below ten.
fn character(record: impl Row, index: Option<usize>, tag: u32) -> Result<u8, MarketDataError> {
    match field(&record, index) {
        FieldValue::Absent | FieldValue::Discarded => Err(MarketDataError::FieldAbsent { tag }),
        FieldValue::Ascii(&[byte]) | FieldValue::Unicode(&[byte]) => Ok(byte),
        FieldValue::UInt(digit @ 0..=9) => Ok(b'0' + digit as u8),
        FieldValue::Int(digit @ 0..=9) => Ok(b'0' + digit as u8),
        _ => Err(invalid(tag)),
    }
}
