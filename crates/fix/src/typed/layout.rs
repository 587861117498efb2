//! The layout of a message's members: a table by tag, built at compile time.

/// Number of tags per page of the table.
const PAGE: usize = 64;
/// Bits of a place that hold the kind.
const KIND_BITS: u32 = 4;
/// Number of 64-slot words that contain all required members.
const WORDS: usize = 2;

/// How a member is read, and the kind of its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TypedMemberKind {
    /// Not a member.
    Foreign,
    /// A text slot: the unparsed bytes.
    Text,
    /// A value slot: one character.
    Char,
    /// A value slot.
    Decimal,
    /// A value slot.
    Uint,
    /// A value slot.
    UtcTimestamp,
    /// A value slot.
    Int,
    /// A value slot: `Y` or `N`.
    Boolean,
    /// A value slot: UTCDateOnly or LocalMktDate.
    Date,
    /// A value slot.
    UtcTime,
    /// A value slot.
    MonthYear,
    /// The length of the data that follows, which the reader has verified; it has a number but no
    /// slot.
    Length,
    /// NumInGroup; it has a number but no slot.
    Group,
    /// A field of a group, outside of the group.
    Misplaced,
}

impl TypedMemberKind {
    /// All kinds, by discriminant, padded to sixteen.
    const ALL: [Self; 1 << KIND_BITS] = [
        Self::Foreign,
        Self::Text,
        Self::Char,
        Self::Decimal,
        Self::Uint,
        Self::UtcTimestamp,
        Self::Int,
        Self::Boolean,
        Self::Date,
        Self::UtcTime,
        Self::MonthYear,
        Self::Length,
        Self::Group,
        Self::Misplaced,
        Self::Foreign,
        Self::Foreign,
    ];

    /// Returns the kind for a letter in a table of members.
    const fn of_letter(letter: u8) -> Self {
        match letter {
            b'B' => Self::Boolean,
            b'C' => Self::Char,
            b'D' => Self::Decimal,
            b'G' => Self::Group,
            b'H' => Self::UtcTime,
            b'I' => Self::Int,
            b'L' => Self::Length,
            b'M' => Self::MonthYear,
            b'S' => Self::UtcTimestamp,
            b'T' => Self::Text,
            b'U' => Self::Uint,
            b'Y' => Self::Date,
            _ => panic!("a letter stands for a kind"),
        }
    }

    const fn is_text(self) -> bool {
        matches!(self, Self::Text)
    }

    const fn is_numbered(self) -> bool {
        matches!(self, Self::Length | Self::Group)
    }
}

/// A member: tag, kind, slot, and true if it is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedMember {
    pub(super) tag: u32,
    pub(super) kind: TypedMemberKind,
    pub(super) slot: u16,
    pub(super) required: bool,
}

impl TypedMember {
    /// Creates an optional member.
    pub const fn optional(tag: u32, kind: TypedMemberKind, slot: u16) -> Self {
        Self { tag, kind, slot, required: false }
    }

    /// Creates a required member.
    pub const fn required(tag: u32, kind: TypedMemberKind, slot: u16) -> Self {
        Self { tag, kind, slot, required: true }
    }

    /// Parses the part of a member after its tag: the kind's letter, a slot, and `!` if it is
    /// required.
    const fn read(tag: u32, text: &[u8], mut at: usize) -> (Self, usize) {
        let kind = TypedMemberKind::of_letter(text[at]);
        at += 1;
        let (slot, mut at) = number(text, at);
        let required = at < text.len() && text[at] == b'!';
        if required {
            at += 1;
        }
        assert!(slot < 1 << (16 - KIND_BITS), "a slot has twelve bits");
        (Self { tag, kind, slot: slot as u16, required }, at)
    }
}

/// Parses the members of a table such as `49T0! 50T4 34U0!`: tag, kind, slot, and `!` for required
/// members.
///
/// # Panics
/// At compile time, if the table is malformed or does not have `N` members.
pub const fn members<const N: usize>(table: &str) -> [TypedMember; N] {
    let text = table.as_bytes();
    let mut members = [TypedMember::optional(0, TypedMemberKind::Foreign, 0); N];
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        let (tag, after) = number(text, at);
        (members[count], at) = TypedMember::read(tag, text, after);
        count += 1;
        if at < text.len() {
            assert!(text[at] == b' ', "one space must separate members");
            at += 1;
        }
    }
    assert!(count == N, "the table must have N members");
    members
}

/// Parses the number at a position of a text. Returns it with the position after it.
const fn number(text: &[u8], mut at: usize) -> (u32, usize) {
    let (start, mut number) = (at, 0);
    while at < text.len() && text[at].is_ascii_digit() {
        number = 10 * number + (text[at] - b'0') as u32;
        at += 1;
    }
    assert!(at > start, "a number has digits");
    (number, at)
}

/// The table. The first `FLAT` tags have direct entries; all others are on `PAGES` pages, which the
/// index selects for the first `64 * INDEX` tags.
#[derive(Debug)]
pub struct TagTable<const FLAT: usize, const INDEX: usize, const PAGES: usize> {
    flat: [u16; FLAT],
    index: [u8; INDEX],
    /// Slot and kind; the last page is empty.
    pages: [[u16; PAGE]; PAGES],
    /// Number of pages in use.
    used: u8,
}

impl<const FLAT: usize, const INDEX: usize, const PAGES: usize> TagTable<FLAT, INDEX, PAGES> {
    /// Builds the table. `PAGES` is the number of pages with members beyond the first `FLAT` tags,
    /// plus one.
    ///
    /// `groups` are the groups of a message at any depth: outside of them their fields are
    /// misplaced, except those that are members of the message too.
    ///
    /// # Panics
    /// At compile time, if the table is too small or a number too large.
    pub const fn new(members: &[TypedMember], groups: &[&Layout]) -> Self {
        assert!(PAGES > 0 && PAGES <= 256, "pages have numbers of one byte");
        let (flat, index) = ([0; FLAT], [(PAGES - 1) as u8; INDEX]);
        let mut places = Self { flat, index, pages: [[0; PAGE]; PAGES], used: 0 };
        let mut at = 0;
        while at < members.len() {
            let TypedMember { tag, kind, slot, .. } = members[at];
            assert!(slot < 1 << (16 - KIND_BITS), "a slot has twelve bits");
            *places.at(tag) = slot << KIND_BITS | kind as u16;
            at += 1;
        }
        let mut group = 0;
        while group < groups.len() {
            places.misplace(groups[group].members);
            group += 1;
        }
        places
    }

    /// Marks the fields of a group as misplaced.
    const fn misplace(&mut self, members: &[TypedMember]) {
        let mut at = 0;
        while at < members.len() {
            let place = self.at(members[at].tag);
            if *place == 0 {
                *place = TypedMemberKind::Misplaced as u16;
            }
            at += 1;
        }
    }

    /// Returns the entry of a tag; allocates a page for it if needed.
    const fn at(&mut self, tag: u32) -> &mut u16 {
        if (tag as usize) < FLAT {
            return &mut self.flat[tag as usize];
        }
        let page = tag as usize / PAGE;
        if self.index[page] as usize == PAGES - 1 {
            assert!((self.used as usize) < PAGES - 1, "the last page stays empty");
            self.index[page] = self.used;
            self.used += 1;
        }
        &mut self.pages[self.index[page] as usize][tag as usize % PAGE]
    }
}

/// The layout of a struct: everything that decoding needs.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    flat: &'static [u16],
    index: &'static [u8],
    pages: &'static [[u16; PAGE]],
    pub(super) members: &'static [TypedMember],
    pub(super) required: Required,
    /// The field that begins each entry; 0 if the struct is not a group entry.
    pub(super) delimiter: u32,
    /// True if the first field that is not a member ends the struct; false if it is ignored.
    pub(super) ends: bool,
}

/// The identity of a layout: the address of its table.
///
/// A layout itself is a constant, and may have a different address at each use.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayoutId(&'static [[u16; PAGE]]);

impl PartialEq for LayoutId {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }
}

/// Bitmaps of the required members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Required {
    pub(super) texts: [u64; WORDS],
    pub(super) values: [u64; WORDS],
    pub(super) numbered: [u64; Layout::NUMBERED_WORDS],
    pub(super) has_numbered: bool,
}

impl Required {
    const fn new(members: &[TypedMember]) -> Self {
        let mut found = Self {
            texts: [0; WORDS],
            values: [0; WORDS],
            numbered: [0; Layout::NUMBERED_WORDS],
            has_numbered: false,
        };
        let mut at = 0;
        while at < members.len() {
            let TypedMember { kind, slot, required, .. } = members[at];
            let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
            if kind.is_numbered() {
                assert!(word < Layout::NUMBERED_WORDS, "too many lengths and groups");
            }
            assert!(word < WORDS || !required, "too many fields are required");
            if required && kind.is_text() {
                found.texts[word] |= bit;
            } else if required && kind.is_numbered() {
                found.numbered[word] |= bit;
                found.has_numbered = true;
            } else if required {
                found.values[word] |= bit;
            }
            at += 1;
        }
        found
    }
}

impl Layout {
    /// Number of words for the maximum number of lengths and groups of a struct.
    pub(super) const NUMBERED_WORDS: usize = 4;
    /// Maximum number of lengths and groups of a struct.
    pub const NUMBERED_MAX: usize = 64 * Self::NUMBERED_WORDS;
    /// Maximum number of required texts, values and groups of a struct, each.
    pub const REQUIRED_MAX: usize = 64 * WORDS;
    /// Maximum number of texts, and of values, of a struct.
    pub const SLOTS_MAX: usize = 1 << (16 - KIND_BITS);
    /// Largest tag of a member.
    pub const TAG_MAX: u32 = 999_999;
    /// Maximum number of pages of 64 tags with members.
    pub const PAGES_MAX: usize = 255;

    /// Creates the layout of a header, which ends at the first field that is not a member.
    pub const fn header<const FLAT: usize, const INDEX: usize, const PAGES: usize>(
        members: &'static [TypedMember],
        places: &'static TagTable<FLAT, INDEX, PAGES>,
    ) -> Self {
        Self { ends: true, ..Self::message(members, places) }
    }

    /// Creates the layout of a message or trailer, which ignores fields that are not members.
    pub const fn message<const FLAT: usize, const INDEX: usize, const PAGES: usize>(
        members: &'static [TypedMember],
        places: &'static TagTable<FLAT, INDEX, PAGES>,
    ) -> Self {
        let TagTable { flat, index, pages, .. } = places;
        let required = Required::new(members);
        Self { flat, index, pages, members, required, delimiter: 0, ends: false }
    }

    /// Creates the layout of a group entry, which begins with the field `delimiter`.
    pub const fn entry<const FLAT: usize, const INDEX: usize, const PAGES: usize>(
        delimiter: u32,
        members: &'static [TypedMember],
        places: &'static TagTable<FLAT, INDEX, PAGES>,
    ) -> Self {
        Self { delimiter, ends: true, ..Self::message(members, places) }
    }

    /// Returns the identity of the layout.
    #[inline(always)]
    pub(super) const fn id(&self) -> LayoutId {
        LayoutId(self.pages)
    }

    /// Returns kind and slot of a tag as one number; 0 if it is not a member.
    #[inline(always)]
    pub(super) fn place(&self, tag: u32) -> u16 {
        if let Some(place) = self.flat.get(tag as usize) {
            return *place;
        }
        let page = self.index.get(tag as usize / PAGE);
        page.and_then(|page| self.pages.get(usize::from(*page)))
            .map_or(0, |page| page[tag as usize % PAGE])
    }

    /// Returns the kind of a table entry.
    pub(super) const fn kind(place: u16) -> TypedMemberKind {
        TypedMemberKind::ALL[place as usize % TypedMemberKind::ALL.len()]
    }

    /// Returns the slot of a table entry.
    #[inline(always)]
    pub(super) const fn slot(place: u16) -> usize {
        (place >> KIND_BITS) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_its_place_and_nothing_else_has_one() {
        const MEMBERS: [TypedMember; 4] = [
            TypedMember::required(11, TypedMemberKind::Text, 0),
            TypedMember::optional(63, TypedMemberKind::Char, 5),
            TypedMember::optional(64, TypedMemberKind::Group, 7),
            TypedMember::optional(5001, TypedMemberKind::Decimal, 300),
        ];
        static PLACES: TagTable<64, 79, 3> = TagTable::new(&MEMBERS, &[]);
        const LAYOUT: Layout = Layout::message(&MEMBERS, &PLACES);
        for tag in (0..70_000).chain([u32::MAX]) {
            let found = LAYOUT.place(tag);
            let expected = MEMBERS.iter().find(|member| member.tag == tag);
            assert_eq!(
                found & 15,
                expected.map_or(TypedMemberKind::Foreign, |member| member.kind) as u16
            );
            assert_eq!(Layout::kind(found) as u16, found & 15);
            assert_eq!(Layout::slot(found), expected.map_or(0, |member| member.slot.into()));
        }
        assert_eq!(LAYOUT.required.texts[0], 1);
    }

    #[test]
    fn a_table_of_members_is_read_as_it_is_written() {
        const MEMBERS: [TypedMember; 4] = members("11T0! 63C5 453G0! 5001D300");
        let expected = [
            TypedMember::required(11, TypedMemberKind::Text, 0),
            TypedMember::optional(63, TypedMemberKind::Char, 5),
            TypedMember::required(453, TypedMemberKind::Group, 0),
            TypedMember::optional(5001, TypedMemberKind::Decimal, 300),
        ];
        assert_eq!(MEMBERS, expected);
        assert_eq!(members::<0>(""), []);
        for wrong in ["11T0!", "11T0!  63C5", "11T 63C5", "T0 63C5", "11T0 63?5", "11T4096 63C5"] {
            let read = std::panic::catch_unwind(|| members::<2>(wrong));
            assert!(read.is_err(), "{wrong}");
        }
    }

    #[test]
    fn fields_of_groups_are_misplaced_outside_of_them() {
        const MEMBERS: [TypedMember; 2] = members("448T0 7000G0");
        const ENTRY: [TypedMember; 3] = members("448T0! 6000D0 447C1");
        static ENTRY_PLACES: TagTable<449, 94, 2> = TagTable::new(&ENTRY, &[]);
        static PLACES: TagTable<449, 110, 3> =
            TagTable::new(&MEMBERS, &[&Layout::entry(448, &ENTRY, &ENTRY_PLACES)]);
        const LAYOUT: Layout = Layout::message(&MEMBERS, &PLACES);
        let kinds = [447, 448, 6000, 7000, 449].map(|tag| Layout::kind(LAYOUT.place(tag)));
        use TypedMemberKind::{Foreign, Group, Misplaced, Text};
        assert_eq!(kinds, [Misplaced, Text, Misplaced, Group, Foreign]);
    }

    #[test]
    fn a_layout_is_itself_wherever_it_is() {
        const MEMBERS: [TypedMember; 1] = [TypedMember::required(11, TypedMemberKind::Text, 0)];
        static PLACES: TagTable<64, 0, 1> = TagTable::new(&MEMBERS, &[]);
        static SAME_PLACES: TagTable<64, 0, 1> = TagTable::new(&MEMBERS, &[]);
        let layout = Layout::message(&MEMBERS, &PLACES);
        let copy = Box::new(layout);
        assert!(copy.id() == layout.id());
        assert!(Layout::message(&MEMBERS, &SAME_PLACES).id() != layout.id());
    }
}
