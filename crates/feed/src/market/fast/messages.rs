//! Interprets decoded messages.

use std::sync::Arc;

use tickwire_fast::generated::{self, Templates};
use tickwire_fast::{Entries, Message, Program};

use super::bind::{TemplateRole, TemplateShape};
use super::entries::{MessageReading, sending_time};
use super::row::{Bound, SlotRow};
use super::tags::{PLACES, TAGS, place_of, tag};
use super::visit::{self, SequencePart};
use super::{AdapterOptions, BookModel, MarketDataError};
use crate::handler::GeneratedMessage;
use crate::market::{Adapt, MarketSink, SnapshotLevel};

/// Pushes the content of FIX market data messages: sequences with MDEntryType (269), definitions,
/// status.
///
/// A template with MDUpdateAction (279) in its entries is incremental. One without it, and with
/// LastMsgSeqNumProcessed (369) or 35=W, is a snapshot. An entry that does not name its instrument
/// belongs to the instrument of the previous entry. Entries that are neither bid nor offer are
/// updates that change no level, so that their RptSeq counts, and events: trades and statistics.
#[derive(Debug)]
pub struct MarketDataAdapter {
    program: Arc<Program>,
    shapes: Vec<TemplateShape>,
    model: BookModel,
    key: InstrumentKeyFields,
    /// Buffer for the levels of a snapshot.
    levels: Vec<SnapshotLevel>,
    /// Buffer for a key of several fields.
    text: Vec<u8>,
    /// True if any update has a level position.
    has_positions: bool,
}

/// The fields that identify an instrument.
#[derive(Clone, Debug)]
pub(super) struct InstrumentKeyFields {
    pub(super) tags: Vec<u32>,
    /// Index of each in arrays of fields.
    pub(super) places: Vec<usize>,
}

impl InstrumentKeyFields {
    /// Tags that are not in [`TAGS`] get the places after them, in order.
    fn new(tags: Vec<u32>) -> Self {
        let of = |(index, tag): (usize, &u32)| match place_of(*tag) {
            PLACES => TAGS.len() + index,
            place => place,
        };
        let places = tags.iter().enumerate().map(of).collect();
        Self { tags, places }
    }
}

impl MarketDataAdapter {
    /// Finds the fields of every template.
    ///
    /// # Panics
    /// Panics if the key has more than [`KEY_FIELDS_MAX`](super::KEY_FIELDS_MAX) fields.
    pub fn new(program: Arc<Program>, options: &AdapterOptions) -> Self {
        let (model, key) = (options.model(&program), options.key(&program));
        let templates = program.templates().iter();
        let shapes = templates
            .map(|template| TemplateShape::of(&program, template.segment, &key, model))
            .collect();
        let (levels, text, has_positions) = Default::default();
        Self {
            program,
            shapes,
            model,
            key: InstrumentKeyFields::new(key),
            levels,
            text,
            has_positions,
        }
    }

    /// Returns how the feed names levels.
    pub const fn model(&self) -> BookModel {
        self.model
    }

    /// True if any template numbers the updates of an instrument (RptSeq, 83).
    pub fn has_rpt_seq(&self) -> bool {
        let place = const { place_of(tag::RPT_SEQ) };
        let is_bound = |shape: &TemplateShape| {
            shape.role == TemplateRole::Incremental && !matches!(shape.entry[place], Bound::Missing)
        };
        self.shapes.iter().any(is_bound)
    }

    /// True if any template of updates has SendingTime (52).
    fn has_times(&self) -> bool {
        let place = const { place_of(tag::SENDING_TIME) };
        let is_bound = |shape: &TemplateShape| {
            shape.role == TemplateRole::Incremental && !matches!(shape.root[place], Bound::Missing)
        };
        self.shapes.iter().any(is_bound)
    }

    /// Returns the FIX tags of the fields that identify an instrument.
    pub fn key(&self) -> &[u32] {
        &self.key.tags
    }

    /// Returns the reading of a message, and the shape of its template.
    fn reading<'a, S>(
        &'a mut self,
        program: &Arc<Program>,
        template: usize,
        seq_num: u64,
        sink: &'a mut S,
    ) -> Result<(MessageReading<'a, S>, &'a TemplateShape), MarketDataError> {
        if !Arc::ptr_eq(&self.program, program) {
            return Err(MarketDataError::OtherProgram);
        }
        let shape = self.shapes.get(template).ok_or(MarketDataError::OtherProgram)?;
        let Self { model, key, levels, text, has_positions, .. } = self;
        Ok((MessageReading::new(*model, key, seq_num, levels, text, has_positions, sink), shape))
    }
}

impl Adapt<Message> for MarketDataAdapter {
    fn adapt<S: MarketSink>(
        &mut self,
        message: &Message,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        let program = message.program();
        let (mut reading, shape) =
            self.reading(program, message.template_index(), seq_num, sink)?;
        if shape.role == TemplateRole::Other {
            return Ok(());
        }
        let record = message.root();
        let root = SlotRow { record, bounds: &shape.root };
        let entries = shape.entries.as_ref().and_then(|slot| record.read(slot));
        reading.begin(shape, root)?;
        if let Some(entries) = entries {
            read_entries(&mut reading, shape, &entries)?;
        }
        if let Some((slot, bounds)) = &shape.feeds {
            for record in record.read(slot).iter().flat_map(|feeds| feeds.iter()) {
                reading.feed(SlotRow { record, bounds })?;
            }
        }
        reading.end(shape.role, root)
    }

    fn has_sending_times(&self) -> bool {
        self.has_times()
    }

    fn sending_time(&self, message: &Message) -> Option<u64> {
        let shape = self.shapes.get(message.template_index())?;
        sending_time(SlotRow { record: message.root(), bounds: &shape.root })
    }
}

#[inline]
fn read_entries<'a, S: MarketSink>(
    reading: &mut MessageReading<'a, S>,
    shape: &'a TemplateShape,
    entries: &Entries<'_>,
) -> Result<(), MarketDataError> {
    let bounds = &shape.entry;
    let Some(quick) = &shape.quick else {
        return entries
            .iter()
            .try_for_each(|record| reading.entry(shape.role, SlotRow { record, bounds }));
    };
    let grouped = entries.group(&quick.group);
    for index in 0..entries.len() {
        let record = grouped.entry(index);
        let is_usual = record.is_some_and(|record| reading.usual(quick.read(&record)));
        if !is_usual && let Some(record) = entries.entry(index) {
            reading.entry(shape.role, SlotRow { record, bounds })?;
        }
    }
    Ok(())
}

impl<T: Templates> Adapt<GeneratedMessage<T>> for MarketDataAdapter {
    fn adapt<S: MarketSink>(
        &mut self,
        message: &GeneratedMessage<T>,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        let known = match message.message() {
            generated::ModuleMessage::Dynamic(message) => {
                return self.adapt(message, seq_num, sink);
            }
            generated::ModuleMessage::Known(known) => known,
        };
        let (mut reading, shape) =
            self.reading(message.program(), message.template_index(), seq_num, sink)?;
        if shape.role == TemplateRole::Other {
            return Ok(());
        }
        if shape.quick.is_some() {
            let mut head = visit::IncrementalHead::default();
            T::visit_tags(known, &mut head);
            reading.begin(shape, &head)?;
            visit_entries::<T, S>(
                known,
                &mut reading,
                SequencePart::UsualEntries,
                shape.entries_at,
            )?;
            return reading.end(shape.role, &head);
        }
        let mut fields = visit::FieldsByPlace::new(reading.key_tags());
        T::visit_tags(known, &mut fields);
        let root = fields.row();
        reading.begin(shape, root)?;
        if shape.entries.is_some() {
            let part = SequencePart::Entries(shape.role);
            visit_entries::<T, S>(known, &mut reading, part, shape.entries_at)?;
        }
        if shape.feeds.is_some() {
            visit_entries::<T, S>(known, &mut reading, SequencePart::Feeds, shape.feeds_at)?;
        }
        reading.end(shape.role, root)
    }

    fn has_sending_times(&self) -> bool {
        self.has_times()
    }

    fn sending_time(&self, message: &GeneratedMessage<T>) -> Option<u64> {
        let known = match message.message() {
            generated::ModuleMessage::Dynamic(message) => return self.sending_time(message),
            generated::ModuleMessage::Known(known) => known,
        };
        let mut fields = visit::FieldsByPlace::new(&self.key.tags);
        T::visit_tags(known, &mut fields);
        sending_time(fields.row())
    }
}

/// Reads the entries of the sequence at `wanted`.
#[inline]
fn visit_entries<T: Templates, S: MarketSink>(
    message: T::Message<'_>,
    reading: &mut MessageReading<'_, S>,
    part: SequencePart,
    wanted: usize,
) -> Result<(), MarketDataError> {
    let mut entries = visit::EntriesReader { reading, part, wanted, result: Ok(()) };
    T::visit_tags(message, &mut entries);
    entries.result
}
