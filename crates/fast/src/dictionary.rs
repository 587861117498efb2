//! Dictionaries: the previous values of all dictionaries of a template set, in one array.

mod lanes;
#[cfg(machine_code)]
mod undo;
mod word;

use crate::program::{LANES_MAX, Program};
#[cfg(machine_code)]
pub(crate) use lanes::DICTIONARY_PARTS;
use lanes::WaitingMessage;
pub(crate) use lanes::{LaneState, LaneWords};
#[cfg(machine_code)]
pub(crate) use undo::EntryBackup;
pub(crate) use word::{
    INLINE_MAX, LEN_MAX, LONG_WORD, Word, inline_word, is_long, long_word, place_of, place_word,
    short_bytes, word_of_bytes,
};
#[cfg(machine_code)]
pub(crate) use word::{LENGTH_SHIFT, LONG_LENGTH_SHIFT, OUTSIDE};

/// Epoch at which a journal renumbers epochs: the resets left are far more than one message can
/// have.
const EPOCH_RENEWED: u32 = u32::MAX / 2;

/// State of an entry.
///
/// Spec: FAST 1.1 §6.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// Never written since the last reset.
    Undefined,
    /// Written without a value.
    Empty,
    /// Has a value.
    Assigned,
}

/// Difference of an entry's stamp from the epoch. In any other case the stamp is below the epoch, and the
/// entry undefined.
pub(crate) const ASSIGNED: u32 = 0;
pub(crate) const EMPTY: u32 = 1;
/// Assigned, but runs cannot continue from the value: a string that is not in its word, or an exponent that
/// only a lenient decoder accepts.
pub(crate) const UNFIT: u32 = 2;
/// The last template if there is none: after a reset, or because entries were set from outside, not by a
/// message.
const NO_TEMPLATE: u32 = u32::MAX >> 1;
/// Added to the last template while every entry is undefined: since the last reset there was no message of a
/// template with entries.
const UNUSED: u32 = 1 << 31;
/// What a reset adds to the epoch.
pub(crate) const EPOCH_STEP: u32 = 4;

/// All dictionaries of one decoder or encoder.
#[derive(Clone, Debug)]
pub(crate) struct DictionaryEntries {
    /// Value of each entry; the exponent of a decimal is in the word after its mantissa. Those of a run are in
    /// the order of its lanes. This and `stamps` have [`LANES_MAX`]
    /// more elements than there are entries, so that a run's are arrays of fixed length.
    words: Vec<Word>,
    /// State of each entry: its distance from the epoch is [`ASSIGNED`], [`EMPTY`] or [`UNFIT`].
    stamps: Vec<u32>,
    /// Values too long for a word, by text buffer.
    texts: Vec<Vec<u8>>,
    text_of_entry: Vec<u32>,
    /// Type tag of the value of entries shared between types.
    tags: Vec<u8>,
    /// A multiple of [`EPOCH_STEP`], which a reset adds, so that it costs the same for any number of entries.
    epoch: u32,
    /// Index of the last template or [`NO_TEMPLATE`], and [`UNUSED`]: the template id is a copy field of the
    /// global dictionary.
    last_template: u32,
    journal: Option<DictionaryJournal>,
    /// Buffer for lanes that are not those of the entries.
    lanes: Box<LaneWords>,
    /// The last message, if its lanes have not been copied to their entries yet.
    waiting: WaitingMessage,
    #[cfg(machine_code)]
    undo: undo::Undo,
}

/// Value and state of an entry before a message changed it.
#[derive(Clone, Copy, Debug, Default)]
struct EntryBefore {
    entry: u32,
    word: Word,
    stamp: u32,
    tag: u8,
}

/// A point between messages; see [`DictionaryEntries::mark`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryMark {
    epoch: u32,
    last_template: u32,
}

/// State to restore if a message turns out to be truncated.
#[derive(Clone, Debug, Default)]
struct DictionaryJournal {
    /// The entries that the message has changed, `changed` of them. There is room for all, so that noting one
    /// needs no call.
    entries: Vec<EntryBefore>,
    changed: usize,
    texts: TextUndo,
    epoch: u32,
    last_template: u32,
    /// Number of the message being journalled. Each entry is journalled once per message and marked
    /// with its number, so a journal is never larger than the dictionaries, however often a message
    /// overwrites an entry.
    message: u32,
    entry_marks: Vec<u32>,
}

/// Long values that a message has overwritten. Each buffer has a second one, with which it changes places
/// before it is overwritten for the first time in a message, so nothing is copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextUndo {
    /// Buffers that the message has overwritten.
    noted: Vec<u32>,
    /// Second buffers: the content before the message, for those that are noted.
    before: Vec<Vec<u8>>,
    /// Number of the message, and by buffer that of the last one that overwrote it.
    message: u32,
    marks: Vec<u32>,
}

impl TextUndo {
    /// Starts a message, in a dictionary with this many buffers.
    #[inline]
    pub(crate) fn begin(&mut self, buffers: usize) {
        self.noted.clear();
        self.message = self.message.wrapping_add(1);
        if self.message == 0 || self.marks.len() != buffers {
            self.begin_again(buffers);
        }
    }

    #[cold]
    fn begin_again(&mut self, buffers: usize) {
        // Marks of four billion messages ago would become valid again.
        self.marks = vec![0; buffers];
        self.before.resize(buffers, Vec::new());
        self.message = 1;
    }

    /// Saves the content of a buffer by swapping it with its spare; the caller overwrites all of it.
    #[inline]
    pub(crate) fn note(&mut self, buffer: u32, buffers: &mut [Vec<u8>]) {
        let index = buffer as usize;
        if std::mem::replace(&mut self.marks[index], self.message) != self.message {
            self.noted.push(buffer);
            std::mem::swap(&mut buffers[index], &mut self.before[index]);
        }
    }

    fn put_back(&mut self, buffers: &mut [Vec<u8>]) {
        for &buffer in &self.noted {
            std::mem::swap(&mut buffers[buffer as usize], &mut self.before[buffer as usize]);
        }
        self.begin(buffers.len());
    }
}

/// Returns the state of an entry with this stamp.
#[inline(always)]
pub(crate) fn state_of(stamp: u32, epoch: u32) -> EntryState {
    match stamp.wrapping_sub(epoch) {
        ASSIGNED | UNFIT => EntryState::Assigned,
        EMPTY => EntryState::Empty,
        _ => EntryState::Undefined,
    }
}

impl DictionaryEntries {
    pub(crate) fn new(program: &Program) -> Self {
        let texts = program.text_of_entry.iter().filter(|&&text| text != u32::MAX).count();
        Self {
            words: vec![Word::default(); program.entry_count() + LANES_MAX],
            stamps: vec![0; program.entry_count() + LANES_MAX],
            texts: vec![Vec::new(); texts],
            text_of_entry: program.text_of_entry.clone(),
            tags: vec![0; program.entry_count()],
            epoch: EPOCH_STEP,
            last_template: NO_TEMPLATE | UNUSED,
            journal: None,
            lanes: Box::new([Word::default(); LANES_MAX]),
            waiting: WaitingMessage::default(),
            #[cfg(machine_code)]
            undo: undo::Undo::default(),
        }
    }

    /// Resets every entry and the template id.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.reset_values();
        self.last_template = NO_TEMPLATE | UNUSED;
    }

    /// Resets every entry but keeps the template id: the effect of a template's reset attribute.
    #[inline]
    pub(crate) fn reset_values(&mut self) {
        match self.epoch.checked_add(2 * EPOCH_STEP) {
            Some(_) => self.epoch += EPOCH_STEP,
            None => self.start_epochs_again(),
        }
    }

    #[cold]
    fn start_epochs_again(&mut self) {
        // Old stamps would become valid again. The journal's data is lost, but a message with so
        // many resets resets again when it is decoded anew.
        self.epoch = EPOCH_STEP;
        self.stamps.fill(0);
        self.waiting = WaitingMessage::default();
    }

    /// True if every entry is undefined because no message has used them since the last reset.
    #[inline]
    pub(crate) fn is_unused(&self) -> bool {
        self.last_template & UNUSED != 0
    }

    #[inline]
    pub(crate) fn last_template(&self) -> Option<u32> {
        let index = self.last_template & !UNUSED;
        (index != NO_TEMPLATE).then_some(index)
    }

    #[inline]
    pub(crate) fn set_last_template(&mut self, index: u32) {
        self.last_template = index;
    }

    /// Begins a plain message: resets the entries if `is_reset`, and sets the last template. Returns true if every
    /// entry is undefined; after a template without entries they still are.
    #[inline]
    pub(crate) fn begin_plain(&mut self, index: u32, is_reset: bool, has_entries: bool) -> bool {
        if is_reset {
            self.reset_values();
        }
        let is_fresh = is_reset || self.is_unused();
        self.set_last_of_plain(index, is_fresh && !has_entries);
        is_fresh
    }

    /// As [`set_last_template`](Self::set_last_template), for a message that leaves every entry undefined if
    /// `is_unused`.
    #[inline]
    pub(crate) fn set_last_of_plain(&mut self, index: u32, is_unused: bool) {
        self.last_template = index | if is_unused { UNUSED } else { 0 };
    }

    /// As [`set_last_template`](Self::set_last_template), or clears it: the caller sets entries
    /// next.
    pub(crate) fn set_last(&mut self, index: Option<u32>) {
        self.last_template = index.unwrap_or(NO_TEMPLATE);
    }

    /// Makes one entry undefined.
    pub(crate) fn set_undefined(&mut self, entry: u32) {
        self.stamps[entry as usize] = 0;
    }

    #[inline]
    pub(crate) fn state(&self, entry: u32) -> EntryState {
        state_of(self.stamps[entry as usize], self.epoch)
    }

    #[inline]
    pub(crate) fn integer(&self, entry: u32) -> u64 {
        u64::from_le_bytes(self.words[entry as usize])
    }

    #[inline]
    pub(crate) fn decimal(&self, entry: u32) -> (i64, i32) {
        let entry = entry as usize;
        let exponent = i64::from_le_bytes(self.words[entry + 1]);
        (i64::from_le_bytes(self.words[entry]), exponent as i32)
    }

    #[inline]
    pub(crate) fn bytes(&self, entry: u32) -> &[u8] {
        short_bytes(&self.words[entry as usize])
            .unwrap_or_else(|| &self.texts[self.text_of_entry[entry as usize] as usize])
    }

    #[inline]
    pub(crate) fn set_integer<const JOURNAL: bool>(&mut self, entry: u32, value: u64) {
        self.set::<JOURNAL>(entry, value.to_le_bytes(), ASSIGNED);
    }

    #[inline]
    pub(crate) fn set_decimal<const JOURNAL: bool>(
        &mut self,
        entry: u32,
        mantissa: i64,
        exponent: i32,
    ) {
        self.set::<JOURNAL>(entry, mantissa.to_le_bytes(), ASSIGNED);
        let (second, exponent) = (entry as usize + 1, i64::from(exponent).to_le_bytes());
        // Most exponents repeat. Their word has no state of its own.
        if self.words[second] != exponent {
            if JOURNAL {
                self.record(entry + 1);
            }
            self.words[second] = exponent;
        }
    }

    #[inline]
    fn set<const JOURNAL: bool>(&mut self, entry: u32, word: Word, state: u32) {
        if JOURNAL {
            self.record(entry);
        }
        self.words[entry as usize] = word;
        self.stamps[entry as usize] = self.epoch + state;
    }

    #[inline]
    pub(crate) fn set_empty<const JOURNAL: bool>(&mut self, entry: u32) {
        if JOURNAL {
            self.record(entry);
        }
        self.stamps[entry as usize] = self.epoch + EMPTY;
    }

    /// Returns the word of a string; a short string is in the word itself.
    #[inline]
    pub(crate) fn word(&self, entry: u32) -> Word {
        self.words[entry as usize]
    }

    #[inline]
    pub(crate) fn set_short_text<const JOURNAL: bool>(&mut self, entry: u32, word: Word) {
        self.set::<JOURNAL>(entry, word, ASSIGNED);
    }

    #[inline]
    pub(crate) fn set_bytes<const JOURNAL: bool>(&mut self, entry: u32, bytes: &[u8]) {
        match inline_word(bytes) {
            Some(word) => self.set::<JOURNAL>(entry, word, ASSIGNED),
            None => self.set_long::<JOURNAL>(entry, bytes),
        }
    }

    fn set_long<const JOURNAL: bool>(&mut self, entry: u32, bytes: &[u8]) {
        let text = self.text_of_entry[entry as usize];
        if JOURNAL {
            self.record_text(text);
        }
        let buffer = &mut self.texts[text as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.set::<JOURNAL>(entry, LONG_WORD, UNFIT);
    }

    /// Marks an assigned exponent that runs must not continue from.
    pub(crate) fn set_unfit<const JOURNAL: bool>(&mut self, entry: u32) {
        if JOURNAL {
            self.record(entry);
        }
        self.stamps[entry as usize] = self.epoch + UNFIT;
    }

    pub(crate) fn tag(&self, entry: u32) -> u8 {
        self.tags[entry as usize]
    }

    pub(crate) fn set_tag<const JOURNAL: bool>(&mut self, entry: u32, tag: u8) {
        if JOURNAL {
            self.record(entry);
        }
        self.tags[entry as usize] = tag;
    }

    /// Starts a journal of overwritten values.
    pub(crate) fn begin_journal(&mut self) {
        if self.epoch > EPOCH_RENEWED {
            self.renew_epoch();
        }
        let (epoch, last_template) = (self.epoch, self.last_template);
        let (entries, texts) = (self.tags.len(), self.texts.len());
        let journal = self.journal.get_or_insert_with(|| DictionaryJournal {
            entries: vec![EntryBefore::default(); entries],
            entry_marks: vec![0; entries],
            ..DictionaryJournal::default()
        });
        journal.next_message();
        journal.changed = 0;
        journal.texts.begin(texts);
        journal.epoch = epoch;
        journal.last_template = last_template;
    }

    /// Returns a mark for [`return_to`](Self::return_to), which undoes resets if nothing else
    /// happened since. `None` if a journal must renumber the epochs first.
    #[inline]
    pub(crate) fn mark(&self) -> Option<DictionaryMark> {
        let mark = DictionaryMark { epoch: self.epoch, last_template: self.last_template };
        (self.epoch <= EPOCH_RENEWED).then_some(mark)
    }

    /// Undoes resets since `mark`.
    #[inline]
    pub(crate) fn return_to(&mut self, mark: DictionaryMark) {
        (self.epoch, self.last_template) = (mark.epoch, mark.last_template);
    }

    /// Renumbers epochs and keeps every state, so that they do not run out within a message and the
    /// journal can always be rolled back.
    #[cold]
    fn renew_epoch(&mut self) {
        let epoch = std::mem::replace(&mut self.epoch, EPOCH_STEP);
        self.waiting = WaitingMessage::default();
        for stamp in &mut self.stamps {
            *stamp = stamp.checked_sub(epoch).map_or(0, |state| EPOCH_STEP + state);
        }
    }

    /// Restores the state at [`begin_journal`](Self::begin_journal).
    pub(crate) fn roll_back(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        journal.texts.put_back(&mut self.texts);
        for &EntryBefore { entry, word, stamp, tag } in
            journal.entries[..journal.changed].iter().rev()
        {
            let entry = entry as usize;
            (self.words[entry], self.stamps[entry], self.tags[entry]) = (word, stamp, tag);
        }
        journal.changed = 0;
        self.epoch = journal.epoch;
        self.last_template = journal.last_template;
    }

    fn record(&mut self, entry: u32) {
        let Some(journal) = &mut self.journal else { return };
        let index = entry as usize;
        if std::mem::replace(&mut journal.entry_marks[index], journal.message) != journal.message {
            let (word, stamp, tag) = (self.words[index], self.stamps[index], self.tags[index]);
            journal.entries[journal.changed] = EntryBefore { entry, word, stamp, tag };
            journal.changed += 1;
        }
    }

    fn record_text(&mut self, text: u32) {
        if let Some(journal) = &mut self.journal {
            journal.texts.note(text, &mut self.texts);
        }
    }
}

impl DictionaryJournal {
    fn next_message(&mut self) {
        self.message = self.message.wrapping_add(1);
        if self.message == 0 {
            // Marks of four billion messages ago would become valid again.
            self.entry_marks.fill(0);
            self.message = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::TemplateSet;

    #[test]
    fn a_journal_starts_epochs_again_and_keeps_every_state() {
        let xml = r#"<templates><template name="T" id="1">
            <uInt32 name="a"><copy/></uInt32><uInt32 name="b"><copy/></uInt32>
            <uInt32 name="c"><copy/></uInt32></template></templates>"#;
        let program = Program::compile(TemplateSet::parse(xml).unwrap()).unwrap();
        let mut dictionary = DictionaryEntries::new(&program);
        dictionary.set_integer::<false>(2, 9);
        dictionary.epoch = (EPOCH_RENEWED + EPOCH_STEP) & !(EPOCH_STEP - 1);
        dictionary.set_integer::<false>(0, 7);
        dictionary.set_empty::<false>(1);
        for _ in 0..2 {
            dictionary.begin_journal();
            assert_eq!(dictionary.epoch, EPOCH_STEP);
            assert_eq!(dictionary.state(0), EntryState::Assigned);
            assert_eq!(dictionary.integer(0), 7);
            assert_eq!(dictionary.state(1), EntryState::Empty);
            assert_eq!(dictionary.state(2), EntryState::Undefined);
            dictionary.reset();
            dictionary.set_integer::<true>(2, 1);
            dictionary.roll_back();
        }
    }

    /// A very old value must not become defined again when its stamp recurs.
    #[test]
    fn nothing_comes_true_again_when_epochs_start_again() {
        use crate::{Decoder, DecoderOptions, EngineUnderTest, FastErrorKind, ResetPolicy};
        let xml = r#"<templates>
            <template name="Flat" id="1"><uInt32 name="a"><copy/></uInt32></template>
            <template name="Run" id="2"><string name="t"><copy/></string>
                <sequence name="s"><uInt32 name="c"><copy/></uInt32></sequence></template>
            <template name="Other" id="3"><byteVector name="v"><copy/></byteVector></template></templates>"#;
        let program =
            std::sync::Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
        // With each field, and without it: then there is no previous value.
        let messages: [(&[u8], &[u8]); 4] = [
            (&[0xe0, 0x81, 0x85], &[0xc0, 0x81]),
            (&[0xe0, 0x82, 0xc1, 0x81, 0xc0, 0x85], &[0xc0, 0x82, 0x80]),
            (&[0xe0, 0x82, 0xc1, 0x81, 0xc0, 0x85], &[0xe0, 0x82, 0xc1, 0x81, 0x80]),
            (&[0xe0, 0x83, 0x81, 0x07], &[0xc0, 0x83]),
        ];
        for engine in EngineUnderTest::ALL {
            for (with, without) in messages {
                // Nothing is decoded in between, so stamps stay until their epoch recurs.
                for resets in 1..16 {
                    let options = DecoderOptions::default()
                        .engine_under_test(engine)
                        .reset(ResetPolicy::Packet);
                    let mut decoder = Decoder::with_options(program.clone(), options);
                    for _ in 0..4 {
                        decoder.begin_packet();
                        decoder.decode(with).unwrap();
                    }
                    decoder.dictionary.epoch = (u32::MAX - EPOCH_STEP) & !(EPOCH_STEP - 1);
                    (0..resets).for_each(|_| decoder.begin_packet());
                    assert!(decoder.dictionary.epoch < 100, "they have started again");
                    let kind = decoder.decode(without).unwrap_err().kind();
                    assert_eq!(
                        kind,
                        FastErrorKind::NoInitialValue,
                        "{engine:?} {without:02x?} {resets}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_message_without_entries_keeps_a_dictionary_unused() {
        use crate::{Decoder, DecoderOptions, Encoder, EngineUnderTest};
        let xml = r#"<templates>
            <template name="Reset" id="1" reset="Y"><uInt32 name="a"/></template>
            <template name="T" id="2"><uInt32 name="b"><copy value="5"/></uInt32></template></templates>"#;
        let program =
            std::sync::Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
        // With the value in the stream or without it, and whether the dictionary is unused afterwards.
        let messages: [(&[u8], bool); 5] = [
            (&[0xe0, 0x82, 0x89], false),
            (&[0xc0, 0x81, 0x83], true),
            (&[0x80, 0x84], true),
            (&[0xc0, 0x82], false),
            (&[0xc0, 0x81, 0x83], true),
        ];
        for engine in
            [EngineUnderTest::Automatic, EngineUnderTest::Portable, EngineUnderTest::MachineCode]
        {
            let options = DecoderOptions::default().engine_under_test(engine);
            let mut decoder = Decoder::with_options(program.clone(), options);
            let mut encoder = Encoder::new(program.clone());
            assert!(decoder.dictionary.is_unused() && encoder.dictionary.is_unused());
            for (bytes, is_unused) in messages {
                let message = decoder.decode(bytes).unwrap().message.clone();
                let mut again = Vec::new();
                encoder.encode(&message, &mut again).unwrap();
                assert_eq!(again, bytes, "{engine:?}");
                assert_eq!(decoder.dictionary.is_unused(), is_unused, "{engine:?} {bytes:02x?}");
                assert_eq!(encoder.dictionary.is_unused(), is_unused, "{bytes:02x?}");
            }
        }
    }

    #[test]
    fn a_journal_notes_an_entry_once_a_message() {
        let xml = r#"<templates><template name="T" id="1">
            <uInt32 name="a"><copy/></uInt32><string name="b"><copy/></string></template></templates>"#;
        let program = Program::compile(TemplateSet::parse(xml).unwrap()).unwrap();
        let mut dictionary = DictionaryEntries::new(&program);
        let first = b"the value before the message";
        dictionary.set_bytes::<false>(1, first);
        dictionary.set_integer::<false>(0, 7);
        for _ in 0..2 {
            dictionary.begin_journal();
            for round in 0..1000 {
                dictionary.set_integer::<true>(0, round);
                dictionary.set_bytes::<true>(1, format!("a long value, number {round}").as_bytes());
            }
            let journal = dictionary.journal.as_ref().unwrap();
            assert_eq!((journal.changed, journal.texts.noted.len()), (2, 1));
            assert_eq!(journal.texts.before[0], first);
            dictionary.roll_back();
            assert_eq!(dictionary.integer(0), 7);
            assert_eq!(dictionary.bytes(1), first);
        }
    }
}
