//! Repeating groups of a decoded message, by a dictionary.

use crate::dictionary::{Dictionary, GroupDef, GroupId, MemberDef};
use crate::reader::{Field, FixMessage};
use crate::tag::Tag;

/// Maximum nesting depth of groups.
const DEPTH_MAX: usize = 16;

/// The entries of a group, as an iterator.
///
/// An entry begins with the group's first field and continues as long as fields belong to the
/// group. So there may be fewer or more entries than NumInGroup; validation reports that.
#[derive(Clone, Debug)]
pub struct GroupEntries<'b, 'i> {
    message: FixMessage<'b, 'i>,
    dictionary: &'i Dictionary,
    group: &'i GroupDef,
    at: usize,
    depth: usize,
}

/// One entry of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupEntry<'b, 'i> {
    message: FixMessage<'b, 'i>,
    dictionary: &'i Dictionary,
    group: &'i GroupDef,
    start: usize,
    end: usize,
    depth: usize,
}

impl<'b, 'i> GroupEntries<'b, 'i> {
    fn new(
        message: FixMessage<'b, 'i>,
        dictionary: &'i Dictionary,
        group: GroupId,
        count_at: usize,
        depth: usize,
    ) -> Option<Self> {
        let group = dictionary.group(group)?;
        Some(Self { message, dictionary, group, at: count_at + 1, depth })
    }

    /// Returns the position after the last entry.
    pub fn end(mut self) -> usize {
        while self.next().is_some() {}
        self.at
    }
}

impl<'b, 'i> Iterator for GroupEntries<'b, 'i> {
    type Item = GroupEntry<'b, 'i>;

    fn next(&mut self) -> Option<GroupEntry<'b, 'i>> {
        let tags = self.message.tags();
        let start = self.at;
        if self.depth >= DEPTH_MAX || *tags.get(start)? != self.group.delimiter().0 {
            return None;
        }
        let mut at = start;
        while let Some(place) = tags.get(at).and_then(|tag| self.group.place(*tag)) {
            if place == 0 && at != start {
                break;
            }
            let nested = self.group.members[place].group.and_then(|nested| {
                GroupEntries::new(self.message, self.dictionary, nested, at, self.depth + 1)
            });
            at = nested.map_or(at + 1, GroupEntries::end);
        }
        self.at = at;
        let Self { message, dictionary, group, depth, .. } = *self;
        Some(GroupEntry { message, dictionary, group, start, end: at, depth })
    }
}

impl<'b, 'i> GroupEntry<'b, 'i> {
    /// Returns the positions of the entry's fields in the message, including nested groups.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    /// Returns the entry's own field with `tag`, excluding fields of nested groups.
    pub fn field(&self, tag: Tag) -> Option<Field<'b>> {
        self.group.place(tag.0)?;
        let at = self.message.position(tag, self.start).filter(|at| *at < self.end)?;
        self.message.field_at(at)
    }

    /// Returns the entries of the nested group with the NumInGroup field `count`.
    pub fn group(&self, count: Tag) -> Option<GroupEntries<'b, 'i>> {
        let group = self.group.members[self.group.place(count.0)?].group?;
        let at = self.message.position(count, self.start).filter(|at| *at < self.end)?;
        GroupEntries::new(self.message, self.dictionary, group, at, self.depth + 1)
    }
}

impl Dictionary {
    /// Returns the entries of the group of `message` with the NumInGroup field `count`; `None` if
    /// the message type has no such group or the message does not contain it.
    pub fn entries<'b, 'i>(
        &'i self,
        message: &FixMessage<'b, 'i>,
        count: Tag,
    ) -> Option<GroupEntries<'b, 'i>> {
        let body = self.message(message.msg_type()).map_or(&[][..], |found| found.members());
        let groups = [body, self.header(), self.trailer()].into_iter().flatten();
        let member = groups.into_iter().find(|member| member.tag == count)?;
        let MemberDef { group: Some(group), .. } = member else { return None };
        GroupEntries::new(*message, self, *group, message.position(count, 0)?, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::shipped;
    use crate::reader::Reader;
    use crate::writer::Writer;

    /// Returns a dictionary of nested groups: the group with count field 5000 + n begins with field
    /// 6000 + n and contains the next group.
    fn nested(depth: u32) -> Dictionary {
        let group = |inner: String, at: u32| {
            format!(
                "<group name='N{at}' required='N'><field name='D{at}' required='N'/>{inner}</group>"
            )
        };
        let groups = (0..depth).rev().fold(String::new(), group);
        let fields: String = (0..depth)
            .map(|at| {
                format!(
                    "<field number='{}' name='N{at}' type='NUMINGROUP'/>\
                     <field number='{}' name='D{at}' type='STRING'/>",
                    5000 + at,
                    6000 + at
                )
            })
            .collect();
        Dictionary::parse_quickfix(&format!(
            "<fix major='4' minor='4'><header/><trailer/><messages><message name='M' msgtype='M' \
             msgcat='app'>{groups}</message></messages><components/><fields>{fields}</fields></fix>"
        ))
        .expect("loads")
    }

    #[test]
    fn groups_are_followed_to_a_certain_depth() {
        let dictionary = nested(DEPTH_MAX as u32 + 2);
        let mut buffer = [0; 2000];
        let mut writer = Writer::new(&mut buffer, "FIX.4.4", "M");
        for at in 0..DEPTH_MAX as u32 + 2 {
            writer.uint(Tag(5000 + at), 1);
            writer.str(Tag(6000 + at), "x");
        }
        let mut reader = Reader::new();
        let message = reader.decode(writer.finish().expect("room")).expect("whole");
        let mut entry = dictionary.entries(&message, Tag(5000)).and_then(|mut all| all.next());
        let mut depth = 0;
        while let Some(found) = entry {
            assert!(found.field(Tag(6000 + depth)).is_some());
            depth += 1;
            entry = found.group(Tag(5000 + depth)).and_then(|mut all| all.next());
        }
        assert_eq!(depth as usize, DEPTH_MAX);
    }

    #[test]
    fn a_count_behind_an_entry_is_not_its_own() {
        let dictionary = nested(2);
        let mut buffer = [0; 500];
        let mut writer = Writer::new(&mut buffer, "FIX.4.4", "M");
        writer.uint(Tag(5000), 2);
        writer.str(Tag(6000), "one");
        writer.str(Tag(6000), "two");
        writer.uint(Tag(5001), 1);
        writer.str(Tag(6001), "of two");
        let mut reader = Reader::new();
        let message = reader.decode(writer.finish().expect("room")).expect("whole");
        let entries: Vec<_> = dictionary.entries(&message, Tag(5000)).expect("there").collect();
        let [one, two] = entries.as_slice() else { panic!("{} entries", entries.len()) };
        assert!(one.group(Tag(5001)).is_none());
        assert_eq!(two.group(Tag(5001)).expect("its own").count(), 1);
    }

    #[test]
    fn nested_groups_are_found_by_entry() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
        let mut buffer = [0; 500];
        let mut writer = Writer::new(&mut buffer, "FIX.4.4", "D");
        let fields = [
            (453, "2"),
            (448, "A"),
            (452, "1"),
            (802, "2"),
            (523, "x"),
            (803, "4"),
            (523, "y"),
            (448, "B"),
            (447, "D"),
            (54, "1"),
        ];
        fields.iter().for_each(|(tag, value)| writer.str(Tag(*tag), value));
        let bytes = writer.finish().expect("room");
        let mut reader = Reader::new();
        let message = reader.decode(bytes).expect("whole");
        let parties: Vec<_> = dictionary.entries(&message, Tag(453)).expect("there").collect();
        assert_eq!(parties.len(), 2);
        let text = |entry: &GroupEntry<'_, '_>, tag| {
            entry.field(Tag(tag)).map(|field| field.value.to_vec())
        };
        assert_eq!(text(&parties[0], 448), Some(b"A".to_vec()));
        assert_eq!(text(&parties[0], 447), None);
        assert_eq!(text(&parties[1], 447), Some(b"D".to_vec()));
        assert_eq!(text(&parties[1], 54), None);
        let nested: Vec<_> = parties[0].group(Tag(802)).expect("there").collect();
        assert_eq!(
            nested.iter().map(|entry| text(entry, 523)).collect::<Vec<_>>(),
            [Some(b"x".to_vec()), Some(b"y".to_vec())]
        );
        assert!(parties[1].group(Tag(802)).is_none());
        assert!(dictionary.entries(&message, Tag(555)).is_none());
    }
}
