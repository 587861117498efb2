//! Compares typed FIX messages with a slow reader that follows the dictionary field by field.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Debug;
use tickwire_fix::dictionary::{FixFieldType, GroupDef, MemberDef};
use tickwire_fix::typed::{BODY_START, Room, Shapes, TypedFields};
use tickwire_fix::{Dictionary, Field, FixError, FixErrorKind, FixMessage, Reader, Tag};
use tickwire_fix_messages::fix44::{ExecutionReport, Header, NewOrderSingle};

/// Checks that typed values equal the fields, and that a refused message has this error at this
/// position.
pub fn fix_typed(message: &FixMessage<'_, '_>, dictionary: &Dictionary) {
    let slow = Slow { fields: message.fields().collect(), message, dictionary };
    let own = |member: &&MemberDef| ![8, 9, 35].contains(&member.tag.0);
    let members: Vec<MemberDef> = dictionary.header().iter().filter(own).copied().collect();
    let expected = slow.struct_end(&members, Scope::Header, BODY_START);
    let found = Header::decode(message);
    assert_eq!(found.as_ref().map(|(_, start)| *start).map_err(|error| *error), expected);
    let mut room = Room::<Header<'_>>::default();
    let in_room = room.decode(message, BODY_START).map(|(header, start)| (&*header, start));
    assert_eq!(in_room, found.as_ref().map(|(header, start)| (header, *start)).map_err(|e| *e));
    alike::<Header<'_>>(message, BODY_START);
    let Ok((header, start)) = found else { return };
    let mut out = vec![0; 1 << 16];
    slow.compare::<NewOrderSingle<'_>>(start, "D", |order| {
        order.encode(&header, &mut out).map(<[u8]>::to_vec)
    });
    slow.compare::<ExecutionReport<'_>>(start, "8", |report| {
        report.encode(&header, &mut out).map(<[u8]>::to_vec)
    });
}

thread_local! {
    /// Shared by all structs and all messages.
    static SHAPES: RefCell<Shapes> = RefCell::default();
}

/// Checks that remembered shapes of other messages, or of this one, do not change the result.
fn alike<'m, M: TypedFields<'m> + PartialEq + Debug>(message: &FixMessage<'m, '_>, start: usize) {
    let mut room = Room::<M>::default();
    let expected = room.decode(message, start).map(|(found, end)| (&*found, end));
    SHAPES.with_borrow_mut(|shapes| {
        for _ in 0..2 {
            let mut room = Room::<M>::default();
            let found = room.decode_alike(shapes, message, start);
            assert_eq!(found.map(|(found, end)| (&*found, end)), expected);
        }
    });
}

/// The owner of members.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Header,
    Body,
    /// An entry that begins with this tag.
    Entry(Tag),
}

struct Slow<'a, 'm> {
    fields: Vec<Field<'m>>,
    message: &'a FixMessage<'m, 'm>,
    dictionary: &'a Dictionary,
}

impl<'m> Slow<'_, 'm> {
    /// Compares a typed body with the fields from `start` on.
    fn compare<M: TypedFields<'m> + PartialEq + Debug>(
        &self,
        start: usize,
        msg_type: &str,
        encode: impl FnOnce(&M) -> Result<Vec<u8>, FixError>,
    ) {
        alike::<M>(self.message, start);
        let mut room = Room::<M>::default();
        let found = room.decode(self.message, start).map(|(body, _)| &*body);
        if let Some(fault) = self.message.fault() {
            assert_eq!(found, Err(fault));
            return;
        }
        if self.message.msg_type() != msg_type.as_bytes() {
            assert_eq!(found.map_err(|error| error.kind), Err(FixErrorKind::MsgType));
            return;
        }
        let body = self.dictionary.message(msg_type.as_bytes()).expect("in the dictionary");
        let expected = self.struct_end(body.members(), Scope::Body, start);
        assert_eq!(found.map(|_| ()), expected.map(|_| ()));
        let Ok(found) = found else { return };
        let Ok(bytes) = encode(found) else { return };
        self.compare_values(start, &bytes, body.members());
    }

    /// Compares the values of the encoded message with the original ones.
    fn compare_values(&self, start: usize, bytes: &[u8], body: &[MemberDef]) {
        let mut reader = Reader::new();
        let again = reader.decode(bytes).expect("what is written can be read");
        let (_, start_again) = Header::decode(&again).expect("as it was written");
        let fields: Vec<Field<'_>> = again.fields().collect();
        assert_eq!(self.values(&fields, start_again, body), self.values(&self.fields, start, body));
    }

    /// Returns members and their values in the order of their tags, those of the header first.
    /// Omits lengths: data without a length receive one when encoded.
    fn values(
        &self,
        fields: &[Field<'_>],
        start: usize,
        body: &[MemberDef],
    ) -> [Vec<(Tag, String)>; 2] {
        let (header, rest) = fields.split_at(start);
        let header = (header.get(BODY_START..).unwrap_or(&[]), self.dictionary.header());
        [header, (rest, body)].map(|(fields, members)| {
            let mut tags = self.tags(members);
            tags.retain(|tag| {
                let field = self.dictionary.field(*tag);
                field.is_none_or(|field| field.field_type() != FixFieldType::Length)
            });
            let own = fields.iter().filter(|field| tags.contains(&field.tag));
            let mut values: Vec<_> = own.map(|field| (field.tag, self.plain(field))).collect();
            values.sort_by_key(|(tag, _)| tag.0);
            values
        })
    }

    /// Returns a value as text that is the same for equal values.
    fn plain(&self, field: &Field<'_>) -> String {
        match self.dictionary.field(field.tag).map(|found| Reads::from(found.field_type())) {
            Some(Reads::Int) => format!("{:?}", field.int()),
            Some(Reads::Uint) => format!("{:?}", field.uint()),
            Some(Reads::Decimal) => format!("{:?}", field.decimal()),
            Some(Reads::Timestamp) => format!("{:?}", field.utc_timestamp()),
            Some(Reads::Time) => format!("{:?}", field.utc_time()),
            Some(Reads::MonthYear) => format!("{:?}", field.month_year()),
            _ => field.value.escape_ascii().to_string(),
        }
    }

    /// Returns the tags of members and of their groups.
    fn tags(&self, members: &[MemberDef]) -> BTreeSet<Tag> {
        let mut tags: BTreeSet<Tag> = members.iter().map(|member| member.tag).collect();
        for group in members.iter().filter_map(|member| self.group(member)) {
            tags.append(&mut self.tags(group.members()));
        }
        tags
    }

    fn group(&self, member: &MemberDef) -> Option<&GroupDef> {
        self.dictionary.group(member.group?)
    }

    /// Returns the position after a header, body or entry that begins at `start`, or its first
    /// error.
    fn struct_end(
        &self,
        members: &[MemberDef],
        scope: Scope,
        start: usize,
    ) -> Result<usize, FixError> {
        let of_groups = self.tags(members);
        let mut met = BTreeSet::new();
        let mut at = start;
        while let Some(field) = self.fields.get(at) {
            if scope == Scope::Entry(field.tag) && at > start {
                break;
            }
            let Some(number) = members.iter().position(|member| member.tag == field.tag) else {
                if scope != Scope::Body {
                    break;
                }
                if of_groups.contains(&field.tag) {
                    return Err(field.refused(FixErrorKind::GroupOrder));
                }
                at += 1;
                continue;
            };
            if !met.insert(number) {
                return Err(field.refused(FixErrorKind::RepeatedTag));
            }
            if field.value.is_empty() {
                return Err(field.refused(FixErrorKind::EmptyValue));
            }
            at = match self.group(&members[number]) {
                Some(group) => self.group_end(group, field, at + 1)?,
                None => {
                    self.check(members, number, field)?;
                    at + 1
                }
            };
        }
        let mut missing = members.iter().enumerate().filter(|(number, _)| !met.contains(number));
        let Some((_, missing)) = missing.find(|(_, member)| member.required) else {
            return Ok(at);
        };
        let offset = match scope {
            Scope::Entry(_) => self.fields[start].offset,
            _ => self.message.bytes().len() as u32,
        };
        Err(FixError { kind: FixErrorKind::RequiredTag, tag: Some(missing.tag), offset })
    }

    fn group_end(
        &self,
        group: &GroupDef,
        count: &Field<'_>,
        mut at: usize,
    ) -> Result<usize, FixError> {
        let said = count.uint()?;
        let mut entries = 0;
        while self.fields.get(at).is_some_and(|field| field.tag == group.delimiter()) {
            at = self.struct_end(group.members(), Scope::Entry(group.delimiter()), at)?;
            entries += 1;
        }
        if entries == said { Ok(at) } else { Err(count.refused(FixErrorKind::GroupCount)) }
    }

    /// Parses a value by its type.
    fn check(
        &self,
        members: &[MemberDef],
        number: usize,
        field: &Field<'_>,
    ) -> Result<(), FixError> {
        let Some(known) = self.dictionary.field(field.tag) else { return Ok(()) };
        let next = members.get(number + 1).and_then(|next| self.dictionary.field(next.tag));
        let is_of_data = next.is_some_and(|next| next.field_type().is_data());
        match Reads::from(known.field_type()) {
            Reads::Uint if known.field_type() == FixFieldType::Length && is_of_data => Ok(()),
            Reads::Boolean => field.boolean().map(drop),
            // Common dictionaries list longer values for character fields.
            Reads::Char if known.values().iter().any(|listed| listed.value.len() != 1) => Ok(()),
            Reads::Char => field.char().map(drop),
            Reads::Date => field.date().map(drop),
            Reads::Decimal => field.decimal().map(drop),
            Reads::Int => field.int().map(drop),
            Reads::MonthYear => field.month_year().map(drop),
            Reads::Time => field.utc_time().map(drop),
            Reads::Timestamp => field.utc_timestamp().map(drop),
            Reads::Uint => field.uint().map(drop),
            Reads::Bytes => Ok(()),
        }
    }
}

/// The way in which a value is parsed.
enum Reads {
    Boolean,
    Bytes,
    Char,
    Date,
    Decimal,
    Int,
    MonthYear,
    Time,
    Timestamp,
    Uint,
}

impl From<FixFieldType> for Reads {
    fn from(field_type: FixFieldType) -> Self {
        use FixFieldType as T;
        match field_type {
            T::Boolean => Self::Boolean,
            T::Char => Self::Char,
            T::UtcDateOnly | T::LocalMktDate => Self::Date,
            T::Amt | T::Float | T::Percentage | T::Price | T::PriceOffset | T::Qty => Self::Decimal,
            T::Int | T::DayOfMonth => Self::Int,
            T::MonthYear => Self::MonthYear,
            T::UtcTimeOnly => Self::Time,
            T::UtcTimestamp => Self::Timestamp,
            T::Length | T::NumInGroup | T::SeqNum | T::TagNum => Self::Uint,
            _ => Self::Bytes,
        }
    }
}
