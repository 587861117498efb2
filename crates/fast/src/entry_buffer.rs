//! Entries of many messages, copied one behind another.

use crate::dictionary::INLINE_MAX;
use crate::message::{Entries, FieldHandle, Store};
use crate::program::{LANES_MAX, Program, SegmentRef, Storage};
use crate::slot::{Repeated, Slot, Text};
use std::sync::Arc;

/// Copies of entries of one sequence, of many messages, to be read by [`Entries::column`] all at once.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Decoder, EntryBuffer, Program, Repeated, Slot, TemplateSet, UInt};
///
/// let xml = r#"<templates><template name="Trades" id="1">
///     <sequence name="Trade"><uInt32 name="Size"/></sequence></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
/// let trades: Slot<Repeated> = program.slot(program.handle(0, "Trade").unwrap()).unwrap();
/// let size: Slot<UInt> = program.slot(program.handle(0, "Trade/Size").unwrap()).unwrap();
/// let mut buffer = EntryBuffer::of(&program, &trades).unwrap();
///
/// let mut decoder = Decoder::new(program);
/// for bytes in [[0xc0, 0x81, 0x82, 0x87, 0x89], [0xc0, 0x81, 0x82, 0x81, 0x83]] {
///     let decoded = decoder.decode(&bytes).unwrap();
///     buffer.push(&decoded.message.root().read(&trades).unwrap());
/// }
/// let sizes: Vec<_> = buffer.entries().column(&size).collect();
/// assert_eq!(sizes, [Some(7), Some(9), Some(1), Some(3)]);
/// ```
#[derive(Debug)]
pub struct EntryBuffer {
    program: Arc<Program>,
    segment: SegmentRef,
    /// Words of an entry.
    stride: usize,
    strings: Vec<Slot<Text>>,
    store: Store,
    count: usize,
}

impl EntryBuffer {
    /// An empty buffer for the entries of a sequence. `None` where entries have groups, sequences or messages
    /// inside, or no field at all that varies.
    pub fn of(program: &Arc<Program>, sequence: &Slot<Repeated>) -> Option<Self> {
        let segment = sequence.entries();
        let fields = program.fields_of(segment);
        let has_inner = fields.iter().any(|field| {
            matches!(
                field.storage,
                Storage::Group(_) | Storage::Sequence { .. } | Storage::Dynamic(_)
            )
        });
        if has_inner {
            return None;
        }
        let handles = (0..fields.len()).map(|index| FieldHandle { segment, index });
        let strings = handles.filter_map(|handle| program.slot(handle)).collect();
        let stride = program.segment(segment).record_words as usize;
        let program = Arc::clone(program);
        let buffer = Self { program, segment, stride, strings, store: Store::default(), count: 0 };
        (stride > 0).then_some(buffer)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends copies of entries.
    ///
    /// # Panics
    /// If they are of another sequence, or the strings of 7 bytes and more come to 4 GiB.
    pub fn push(&mut self, entries: &Entries<'_>) {
        assert_eq!(entries.segment(), self.segment, "the entries are of another sequence");
        self.make_room(entries.len());
        let start = self.count * self.stride;
        let source = entries.words();
        self.store.words[start..start + source.len()].copy_from_slice(source);
        if entries.has_long_strings() {
            self.copy_strings(start, entries);
        }
        self.count += entries.len();
    }

    /// All entries.
    pub fn entries(&self) -> Entries<'_> {
        Entries::of_store(&self.program, &self.store, self.segment, self.count)
    }

    /// Forgets the entries and keeps the memory.
    pub fn clear(&mut self) {
        self.store.clear();
        self.count = 0;
    }

    fn make_room(&mut self, count: usize) {
        let end = (self.count + count) * self.stride + LANES_MAX;
        if self.store.words.len() < end {
            self.store.words.resize(end.next_power_of_two(), [0; 8]);
        }
    }

    /// Copies the strings that are too long for their words, which are copied already.
    fn copy_strings(&mut self, start: usize, entries: &Entries<'_>) {
        for (index, entry) in entries.iter().enumerate() {
            for slot in &self.strings {
                let string = entry.read(slot).unwrap_or_default();
                if string.len() > INLINE_MAX {
                    let place = start + index * self.stride + slot.at();
                    let room = u32::MAX as usize;
                    self.store.set_bytes(place, string, room).expect("below 4 GiB");
                }
            }
        }
    }
}
