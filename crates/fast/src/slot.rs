//! Typed field handles: found once, then read many times without names, searches or matches.

use crate::dictionary::Word;
use crate::message::{Entries, FieldHandle, Record};
use crate::program::{FieldLayout, LANES_MAX, Program, SegmentRef, Storage};
use crate::template::{Decimal, FieldType};
use std::marker::PhantomData;

/// Location of a field's value in the records of its segment. `K` is the kind of value.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Decoder, Program, Slot, TemplateSet, UInt};
///
/// let xml = r#"<templates><template name="Trade" id="1"><uInt32 name="Size"/></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
/// let size: Slot<UInt> = program.slot(program.handle(0, "Size").unwrap()).unwrap();
///
/// let mut decoder = Decoder::new(program);
/// let decoded = decoder.decode(&[0xc0, 0x81, 0x87]).unwrap();
/// assert_eq!(decoded.message.root().read(&size), Some(7));
/// ```
#[derive(Debug)]
pub struct Slot<K> {
    segment: SegmentRef,
    /// Index of the record's word with the presence bit.
    presence_at: u32,
    presence: u64,
    /// Index of the record's word with the value.
    at: u32,
    /// Segment of the entries, if the field is a sequence.
    entries: SegmentRef,
    kind: PhantomData<fn() -> K>,
}

/// Unsigned integers, booleans, enums and sets: `u64`.
#[derive(Debug)]
pub enum UInt {}
/// Signed integers and timestamps: `i64`.
#[derive(Debug)]
pub enum Int {}
/// Decimals: [`Decimal`].
#[derive(Debug)]
pub enum Scaled {}
/// Strings and byte vectors: `&[u8]`.
#[derive(Debug)]
pub enum Text {}
/// Sequences: [`Entries`].
#[derive(Debug)]
pub enum Repeated {}

/// Kinds of values of a [`Slot`]. Sealed.
pub trait SlotKind: sealed::Kind {}

impl<K: sealed::Kind> SlotKind for K {}

/// Kinds of numbers of a [`Slot`]. Sealed.
pub trait NumberKind: SlotKind + sealed::Number {}

impl<K: SlotKind + sealed::Number> NumberKind for K {}

mod sealed {
    use super::*;

    pub trait Kind {
        type Value<'m>;
        fn holds(field: &FieldLayout) -> bool;
        fn load<'m>(record: &Record<'m>, at: usize, entries: SegmentRef) -> Self::Value<'m>;
    }

    /// A kind whose values are numbers.
    pub trait Number {
        type Number;
        fn holds(field: &FieldLayout) -> bool;
        /// Converts a field's words to its number; only decimals have a second word.
        fn of(word: impl Fn(usize) -> u64) -> Self::Number;
    }
}

impl sealed::Number for UInt {
    type Number = u64;

    fn holds(field: &FieldLayout) -> bool {
        use FieldType::{Boolean, Enum, Set, UInt};
        matches!(field.field_type, Some(UInt(_) | Boolean | Enum(_) | Set(_)))
    }

    #[inline(always)]
    fn of(word: impl Fn(usize) -> u64) -> u64 {
        word(0)
    }
}

impl sealed::Number for Int {
    type Number = i64;

    fn holds(field: &FieldLayout) -> bool {
        matches!(field.field_type, Some(FieldType::Int(_) | FieldType::Timestamp(_)))
    }

    #[inline(always)]
    fn of(word: impl Fn(usize) -> u64) -> i64 {
        word(0) as i64
    }
}

impl sealed::Number for Scaled {
    type Number = Decimal;

    fn holds(field: &FieldLayout) -> bool {
        matches!(field.field_type, Some(FieldType::Decimal))
    }

    #[inline(always)]
    fn of(word: impl Fn(usize) -> u64) -> Decimal {
        Decimal { exponent: word(0) as i32, mantissa: word(1) as i64 }
    }
}

impl<K: sealed::Number> sealed::Kind for K {
    type Value<'m> = K::Number;

    fn holds(field: &FieldLayout) -> bool {
        K::holds(field)
    }

    #[inline(always)]
    fn load(record: &Record<'_>, at: usize, _entries: SegmentRef) -> K::Number {
        K::of(|index| record.word(at + index))
    }
}

impl sealed::Kind for Text {
    type Value<'m> = &'m [u8];

    fn holds(field: &FieldLayout) -> bool {
        use FieldType::{Ascii, ByteVector, Unicode};
        matches!(field.field_type, Some(Ascii | Unicode | ByteVector))
    }

    #[inline(always)]
    fn load<'m>(record: &Record<'m>, at: usize, _entries: SegmentRef) -> &'m [u8] {
        record.bytes(at)
    }
}

impl sealed::Kind for Repeated {
    type Value<'m> = Entries<'m>;

    fn holds(field: &FieldLayout) -> bool {
        matches!(field.storage, Storage::Sequence { .. })
    }

    #[inline(always)]
    fn load<'m>(record: &Record<'m>, at: usize, entries: SegmentRef) -> Entries<'m> {
        record.entries(at, entries)
    }
}

// Not derived: a derive would require `K: Clone`, but `K` is only a marker.
impl<K> Clone for Slot<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Slot<K> {}

impl<K> Slot<K> {
    /// Returns the index of the record's word with the value.
    pub(crate) fn at(&self) -> usize {
        self.at as usize
    }

    /// Returns the index of the record's word with the presence bit, and the bit.
    pub(crate) fn presence_place(&self) -> (usize, u64) {
        (self.presence_at as usize, self.presence)
    }

    /// Returns the segment that the field belongs to.
    pub fn segment(&self) -> SegmentRef {
        self.segment
    }
}

impl Slot<Repeated> {
    /// Returns the segment of the entries.
    pub fn entries(&self) -> SegmentRef {
        self.entries
    }
}

impl Program {
    /// Returns the slot of a field; `None` if the field holds something other than `K`, is a
    /// constant, or is excluded by the projection.
    pub fn slot<K: SlotKind>(&self, handle: FieldHandle) -> Option<Slot<K>> {
        let field = self.fields_of(handle.segment).get(handle.index)?;
        let (at, entries) = match field.storage {
            Storage::Slot(at) => (at, handle.segment),
            Storage::Sequence { slot, segment } => (slot, segment),
            _ => return None,
        };
        let (word, bit) = field.presence;
        K::holds(field).then(|| Slot {
            segment: handle.segment,
            presence_at: self.segment(handle.segment).presence_at + word,
            presence: 1 << bit,
            at,
            entries,
            kind: PhantomData,
        })
    }
}

impl<'m> Record<'m> {
    /// Returns the value of a field; `None` if it is absent.
    ///
    /// # Panics
    /// If the slot belongs to another segment.
    #[inline(always)]
    pub fn read<K: SlotKind>(&self, slot: &Slot<K>) -> Option<K::Value<'m>> {
        assert_eq!(self.segment(), slot.segment, "the slot belongs to another segment");
        if self.word(slot.presence_at as usize) & slot.presence == 0 {
            return None;
        }
        Some(K::load(self, slot.at as usize, slot.entries))
    }

    /// Returns the number of a field; `None` if it is absent.
    ///
    /// # Panics
    /// If the slot belongs to another segment.
    #[inline(always)]
    pub fn read_number<K: NumberKind>(&self, slot: &Slot<K>) -> Option<K::Number> {
        assert_eq!(self.segment(), slot.segment, "the slot belongs to another segment");
        let is_present = self.word(slot.presence_at as usize) & slot.presence != 0;
        is_present.then(|| K::of(|index| self.word(slot.at() + index)))
    }
}

/// Common checks of a segment's slots, so that a record performs them once for all slots.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Decoder, GroupedSlot, Program, Slot, SlotGroup, TemplateSet, UInt};
///
/// let xml = r#"<templates><template name="Trade" id="1">
///     <uInt32 name="Size"/><uInt32 name="Orders" presence="optional"/></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap());
/// let slot = |name| -> Slot<UInt> { program.slot(program.handle(0, name).unwrap()).unwrap() };
/// let group = SlotGroup::of(&slot("Size"));
/// let size: GroupedSlot<UInt> = group.member(&slot("Size")).unwrap();
/// let orders = group.member(&slot("Orders")).unwrap();
///
/// let mut decoder = Decoder::new(program);
/// let decoded = decoder.decode(&[0xc0, 0x81, 0x87, 0x80]).unwrap();
/// let record = decoded.message.root().group(&group);
/// assert_eq!((record.read(&size), record.read(&orders)), (Some(7), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotGroup {
    segment: SegmentRef,
    presence_at: u32,
}

/// A slot of a group. Use it only with records of that group: with others it reads some other
/// field.
#[derive(Debug)]
pub struct GroupedSlot<K>(Slot<K>);

impl<K> Clone for GroupedSlot<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for GroupedSlot<K> {}

impl SlotGroup {
    /// Returns the group of a slot.
    pub fn of<K: SlotKind>(slot: &Slot<K>) -> Self {
        Self { segment: slot.segment, presence_at: slot.presence_at }
    }

    /// Returns a slot as a member of this group; `None` if it has another segment, its presence bit
    /// is in another presence word, or it is not among the first words of its record.
    pub fn member<K: SlotKind>(&self, slot: &Slot<K>) -> Option<GroupedSlot<K>> {
        let last = self.presence_at.max(slot.at + 1) as usize;
        let is_member = Self::of(slot) == *self && last < LANES_MAX;
        is_member.then_some(GroupedSlot(*slot))
    }
}

impl<K> GroupedSlot<K> {
    /// Returns the bit of [`GroupedRecord::presence`] that is set if the field is present.
    pub const fn presence(&self) -> u64 {
        self.0.presence
    }
}

impl GroupedSlot<Int> {
    /// Returns the same slot, read as the integer's two's complement bits.
    pub const fn bits(&self) -> GroupedSlot<UInt> {
        let Slot { segment, presence_at, presence, at, entries, .. } = self.0;
        GroupedSlot(Slot { segment, presence_at, presence, at, entries, kind: PhantomData })
    }
}

/// The entries of a sequence, to be read with slots of one group.
#[derive(Clone, Copy, Debug)]
pub struct GroupedEntries<'m> {
    entries: Entries<'m>,
    group: SlotGroup,
}

impl<'m> Entries<'m> {
    /// Returns these entries for slots of a group; checks the group once for all of them.
    ///
    /// # Panics
    /// If the group has another segment.
    pub fn group(&self, group: &SlotGroup) -> GroupedEntries<'m> {
        assert_eq!(self.segment(), group.segment, "the slots belong to another segment");
        GroupedEntries { entries: *self, group: *group }
    }
}

impl<'m> GroupedEntries<'m> {
    /// Returns the entry at `index`, from 0.
    #[inline(always)]
    pub fn entry(&self, index: usize) -> Option<GroupedRecord<'m>> {
        let record = self.entries.entry(index)?;
        GroupedRecord::new(record, self.group)
    }
}

/// A record, to be read with slots of one group.
#[derive(Clone, Copy, Debug)]
pub struct GroupedRecord<'m> {
    record: Record<'m>,
    /// Words that are readable in every record, so slots need no bounds check.
    words: &'m [Word; LANES_MAX],
    presence: u64,
    group: SlotGroup,
}

impl<'m> Record<'m> {
    /// Returns this record for slots of a group.
    ///
    /// # Panics
    /// If the group has another segment.
    #[inline(always)]
    pub fn group(&self, group: &SlotGroup) -> GroupedRecord<'m> {
        assert_eq!(self.segment(), group.segment, "the slots belong to another segment");
        GroupedRecord::new(*self, *group).expect("messages have room behind the last record")
    }
}

impl<'m> GroupedRecord<'m> {
    /// Returns the grouped record; `None` in a message that was never filled.
    #[inline(always)]
    fn new(record: Record<'m>, group: SlotGroup) -> Option<Self> {
        let words = record.first_words()?;
        // A group whose presence word is beyond this array has no members.
        let presence = u64::from_le_bytes(words[group.presence_at as usize % LANES_MAX]);
        Some(Self { record, words, presence, group })
    }

    /// Returns the value of a field; `None` if it is absent.
    #[inline(always)]
    pub fn read<K: SlotKind>(&self, slot: &GroupedSlot<K>) -> Option<K::Value<'m>> {
        debug_assert_eq!(self.group, SlotGroup::of(&slot.0), "the slot belongs to another group");
        if self.presence & slot.0.presence == 0 {
            return None;
        }
        Some(K::load(&self.record, slot.0.at as usize, slot.0.entries))
    }

    /// Returns the presence bits of the group's fields, so that several fields can be tested at
    /// once.
    #[inline(always)]
    pub fn presence(&self) -> u64 {
        self.presence
    }

    /// Returns the value of a present field; undefined if the field is absent.
    #[inline(always)]
    pub fn number<K: NumberKind>(&self, slot: &GroupedSlot<K>) -> K::Number {
        debug_assert_eq!(self.group, SlotGroup::of(&slot.0), "the slot belongs to another group");
        K::of(|index| self.word(slot.0.at() + index))
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.words[at % LANES_MAX])
    }

    /// Returns the text's character if it has exactly one; undefined if the field is absent.
    #[inline(always)]
    pub fn character(&self, slot: &GroupedSlot<Text>) -> Option<u8> {
        debug_assert_eq!(self.group, SlotGroup::of(&slot.0), "the slot belongs to another group");
        let [character, .., len] = self.word(slot.0.at()).to_le_bytes();
        (len == 1).then_some(character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, TemplateSet};
    use std::sync::Arc;

    const XML: &str = r#"<templates><template name="T" id="1">
        <uInt32 name="Count" presence="optional"/>
        <int32 name="Change"/>
        <decimal name="Price"/>
        <string name="Text"/>
        <uInt32 name="Kind"><constant value="9"/></uInt32>
        <sequence name="Rows"><uInt32 name="Row"/></sequence>
        </template></templates>"#;

    fn program() -> Arc<Program> {
        Arc::new(Program::compile(TemplateSet::parse(XML).unwrap()).unwrap())
    }

    fn slot<K: SlotKind>(program: &Program, path: &str) -> Option<Slot<K>> {
        program.slot(program.handle(0, path).unwrap())
    }

    #[test]
    fn slots_read_what_names_read() {
        let program = program();
        let count = slot::<UInt>(&program, "Count").unwrap();
        let change = slot::<Int>(&program, "Change").unwrap();
        let price = slot::<Scaled>(&program, "Price").unwrap();
        let text = slot::<Text>(&program, "Text").unwrap();
        let rows = slot::<Repeated>(&program, "Rows").unwrap();
        let row = slot::<UInt>(&program, "Rows/Row").unwrap();
        let mut decoder = Decoder::new(program);
        // Count is absent; Change -1; Price 5 x 10^-2; Text "A"; rows 3 and 4.
        let bytes = [0xc0, 0x81, 0x80, 0xff, 0xfe, 0x85, 0xc1, 0x82, 0x83, 0x84];
        let decoded = decoder.decode(&bytes).unwrap();
        let root = decoded.message.root();
        assert_eq!(root.read(&count), None);
        assert_eq!(root.read(&change), Some(-1));
        assert_eq!(root.read(&price), Some(Decimal { mantissa: 5, exponent: -2 }));
        assert_eq!(root.read(&text), Some(&b"A"[..]));
        let rows = root.read(&rows).unwrap();
        let values: Vec<_> = rows.iter().map(|entry| entry.read(&row)).collect();
        assert_eq!(values, [Some(3), Some(4)]);
    }

    #[test]
    fn a_group_reads_its_numbers_and_characters_by_their_presence() {
        let program = program();
        let count = slot::<UInt>(&program, "Count").unwrap();
        let group = SlotGroup::of(&count);
        let count = group.member(&count).unwrap();
        let change = group.member(&slot::<Int>(&program, "Change").unwrap()).unwrap();
        let price = group.member(&slot::<Scaled>(&program, "Price").unwrap()).unwrap();
        let text = group.member(&slot::<Text>(&program, "Text").unwrap()).unwrap();
        let row = slot::<UInt>(&program, "Rows/Row").unwrap();
        assert!(group.member(&row).is_none(), "a slot of another segment");
        let mut decoder = Decoder::new(program);
        // Count is absent or 4; Change -1; Price 5 x 10^-2; Text "A" or "AB"; no rows.
        for (bytes, is_present, character) in [
            (&[0xc0, 0x81, 0x80, 0xff, 0xfe, 0x85, 0xc1, 0x80][..], false, Some(b'A')),
            (&[0xc0, 0x81, 0x85, 0xff, 0xfe, 0x85, 0x41, 0xc2, 0x80][..], true, None),
        ] {
            let decoded = decoder.decode(bytes).unwrap();
            let record = decoded.message.root().group(&group);
            assert_eq!(record.presence() & count.presence() != 0, is_present);
            assert_eq!(record.read(&count), is_present.then_some(4));
            assert_ne!(record.presence() & change.presence(), 0);
            assert_eq!((record.number(&change), record.number(&change.bits())), (-1, u64::MAX));
            assert_eq!(record.number(&price), Decimal { mantissa: 5, exponent: -2 });
            assert_eq!(record.character(&text), character);
        }
    }

    #[test]
    fn a_slot_of_another_kind_or_a_constant_is_not_found() {
        let program = program();
        assert!(slot::<Int>(&program, "Count").is_none());
        assert!(slot::<UInt>(&program, "Rows").is_none());
        assert!(slot::<UInt>(&program, "Kind").is_none());
    }
}
