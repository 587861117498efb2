//! Generated messages, read by tag.

use tickwire_fast::generated::{ModuleValue, ShowTags, VisitTags};

use super::MarketDataError;
use super::bind::TemplateRole;
use super::entries::MessageReading;
use super::quick::Usual;
use super::row::{CollectedRow, FieldRow, FieldScalar};
use super::tags::{PLACES, TAGS, place_of, tag};
use crate::market::MarketSink;

const _: () = assert!(PLACES <= 64, "presence is a word");

/// The fields of a root or of an entry, by place.
pub(super) struct FieldsByPlace<'k, 'm> {
    values: [FieldScalar<'m>; PLACES],
    present: u64,
    /// Tags of the key.
    key: &'k [u32],
}

impl<'k, 'm> FieldsByPlace<'k, 'm> {
    pub(super) const fn new(key: &'k [u32]) -> Self {
        Self { values: [FieldScalar::Absent; PLACES], present: 0, key }
    }

    pub(super) fn row(&self) -> CollectedRow<'_, 'm> {
        CollectedRow { values: &self.values, present: self.present }
    }

    #[inline(always)]
    fn set(&mut self, place: usize, value: ModuleValue<'m>) {
        if let Some(kept) = self.values.get_mut(place) {
            *kept = value.into();
            self.present |= 1 << place;
        }
    }
}

impl<'m> VisitTags<'m> for FieldsByPlace<'_, 'm> {
    /// The place of a tag in [`TAGS`] is a constant; other fields of the key are searched for.
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>) {
        let place = const { place_of(TAG) };
        if place < PLACES {
            self.set(place, value);
        } else if let Some(index) = self.key.iter().position(|tag| TAG != 0 && *tag == TAG) {
            self.set(TAGS.len() + index, value);
        }
    }
}

/// Fields of the root of an incremental message whose other fields are all in entries.
#[derive(Clone, Copy, Default)]
pub(super) struct IncrementalHead<'m> {
    trade_date: FieldScalar<'m>,
    last_fragment: FieldScalar<'m>,
}

impl<'m> VisitTags<'m> for IncrementalHead<'m> {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>) {
        match TAG {
            tag::TRADE_DATE => self.trade_date = value.into(),
            tag::LAST_FRAGMENT => self.last_fragment = value.into(),
            _ => {}
        }
    }
}

impl<'m> FieldRow<'m> for &IncrementalHead<'m> {
    #[inline(always)]
    fn at(self, place: usize) -> FieldScalar<'m> {
        if place == const { place_of(tag::TRADE_DATE) } {
            self.trade_date
        } else if place == const { place_of(tag::LAST_FRAGMENT) } {
            self.last_fragment
        } else {
            FieldScalar::Absent
        }
    }
}

impl<'m> VisitTags<'m> for Usual {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>) {
        match TAG {
            tag::SECURITY_ID => self.set_instrument(value.into()),
            tag::RPT_SEQ => self.set_rpt_seq(value.into()),
            tag::ENTRY_TYPE => self.set_entry_type(value.into()),
            tag::UPDATE_ACTION => self.set_action(value.into()),
            tag::PRICE_LEVEL => self.set_level(value.into()),
            tag::ENTRY_PX => self.set_price(value.into()),
            tag::ENTRY_SIZE => self.set_size(value.into()),
            tag::NUMBER_OF_ORDERS => self.set_orders(value.into()),
            tag::QUOTE_CONDITION => self.set_condition(value.into()),
            tag::MARKET_DEPTH => self.set_depth(),
            _ => {}
        }
    }
}

/// Parts of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequencePart {
    /// Entries of a message of this role.
    Entries(TemplateRole),
    /// Entries of the common types, of an incremental message.
    UsualEntries,
    /// Feeds of an instrument.
    Feeds,
}

/// Reads the entries of the sequence at `wanted`.
pub(super) struct EntriesReader<'r, 'a, S> {
    pub(super) reading: &'r mut MessageReading<'a, S>,
    pub(super) part: SequencePart,
    pub(super) wanted: usize,
    pub(super) result: Result<(), MarketDataError>,
}

impl<S: MarketSink> EntriesReader<'_, '_, S> {
    #[inline(never)]
    fn read<E: ShowTags>(&mut self, entry: &E, arena: &[u8]) -> Result<(), MarketDataError> {
        let mut fields = FieldsByPlace::new(self.reading.key_tags());
        entry.show_tags(arena, &mut fields);
        match self.part {
            SequencePart::Entries(role) => self.reading.entry(role, fields.row()),
            SequencePart::UsualEntries => {
                self.reading.entry(TemplateRole::Incremental, fields.row())
            }
            SequencePart::Feeds => self.reading.feed(fields.row()),
        }
    }
}

impl<'m, S: MarketSink> VisitTags<'m> for EntriesReader<'_, '_, S> {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, _value: ModuleValue<'m>) {}

    #[inline(always)]
    fn begin_sequence(&mut self, index: usize, _len: usize) -> bool {
        index == self.wanted
    }

    #[inline(always)]
    fn entry<E: ShowTags>(&mut self, entry: &'m E, arena: &'m [u8]) {
        // As in the other engines, entries after an invalid one are ignored.
        if self.result.is_err() {
            return;
        }
        if self.part == SequencePart::UsualEntries {
            let mut usual = Usual::default();
            entry.show_tags(arena, &mut usual);
            if self.reading.usual(usual.entry()) {
                return;
            }
        }
        self.result = self.read(entry, arena);
    }
}
