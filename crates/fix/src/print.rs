//! Prints messages with the names of fields and values.

use std::fmt::{self, Write};

use crate::dictionary::{Dictionary, FieldDef, MemberDef};
use crate::reader::{Field, FixMessage};
use crate::tag::Tag;

/// Spaces per level.
const INDENT: usize = 3;

/// Prints a message with the names of one dictionary or, for FIXT, of two.
///
/// A heading line precedes header, body and trailer; a number precedes each entry of a group.
/// Delimiters in data are printed as `|`, other control characters and invalid UTF-8 as `?`.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'m> {
    message: FixMessage<'m, 'm>,
    session: &'m Dictionary,
    application: &'m Dictionary,
}

impl<'m> Printed<'m> {
    /// Uses one dictionary.
    pub const fn new(message: FixMessage<'m, 'm>, dictionary: &'m Dictionary) -> Self {
        Self { message, session: dictionary, application: dictionary }
    }

    /// Uses a session dictionary and an application dictionary.
    pub const fn fixt(
        message: FixMessage<'m, 'm>,
        session: &'m Dictionary,
        application: &'m Dictionary,
    ) -> Self {
        Self { message, session, application }
    }

    fn definition(&self, tag: Tag) -> Option<&'m FieldDef> {
        self.session.field(tag).or_else(|| self.application.field(tag))
    }

    /// Prints a field, and the entries of the group that it counts. Returns the position after
    /// them.
    fn field(
        &self,
        out: &mut fmt::Formatter<'_>,
        at: usize,
        members: &[MemberDef],
        depth: usize,
    ) -> Result<usize, fmt::Error> {
        let Some(field) = self.message.field_at(at) else { return Ok(at + 1) };
        self.line(out, at, &field, depth)?;
        let group = members.iter().find(|member| member.tag == field.tag).and_then(|m| m.group);
        let Some((group, dictionary)) = group.and_then(|id| self.group(id, field.tag)) else {
            return Ok(at + 1);
        };
        let tags = self.message.tags();
        let (mut at, mut entry) = (at + 1, 0);
        while depth < 16 && tags.get(at) == Some(&group.delimiter().0) {
            entry += 1;
            let name = dictionary.field(group.count()).map_or("group", FieldDef::name);
            writeln!(out, "{:width$}{name} {entry}", "", width = (depth + 1) * INDENT)?;
            let start = at;
            while let Some(place) = tags.get(at).and_then(|tag| group.place(*tag)) {
                if place == 0 && at != start {
                    break;
                }
                at = self.field(out, at, group.members(), depth + 2)?;
            }
        }
        Ok(at)
    }

    /// Returns a group by its id from the dictionary in which it has this count field.
    fn group(
        &self,
        id: crate::dictionary::GroupId,
        count: Tag,
    ) -> Option<(&'m crate::dictionary::GroupDef, &'m Dictionary)> {
        [self.application, self.session].into_iter().find_map(|dictionary| {
            let group = dictionary.group(id).filter(|group| group.count() == count)?;
            Some((group, dictionary))
        })
    }

    fn line(
        &self,
        out: &mut fmt::Formatter<'_>,
        at: usize,
        field: &Field<'_>,
        depth: usize,
    ) -> fmt::Result {
        write!(out, "{:width$}", "", width = depth * INDENT)?;
        let definition = self.definition(field.tag);
        match definition {
            Some(definition) => write!(out, "{} ({}): ", definition.name(), field.tag)?,
            // An invalid tag number is printed as received.
            None if field.tag == Tag(0) => {
                let offset = self.message.field_offset(at).unwrap_or_default();
                out.write_char('(')?;
                text(out, self.message.tag_text(offset))?;
                out.write_str("): ")?;
            }
            None => write!(out, "({}): ", field.tag)?,
        }
        let description = match field.tag {
            Tag::MSG_TYPE => None,
            _ => definition.and_then(|definition| definition.description(field.value)),
        };
        let description = description.filter(|text| !text.is_empty());
        match description.or_else(|| self.message_name(field)) {
            Some(description) => {
                write!(out, "{description} (")?;
                text(out, field.value)?;
                writeln!(out, ")")
            }
            None => {
                text(out, field.value)?;
                writeln!(out)
            }
        }
    }

    /// Returns the name of a MsgType value.
    fn message_name(&self, field: &Field<'_>) -> Option<&'m str> {
        if field.tag != Tag::MSG_TYPE {
            return None;
        }
        let listed = self.definition(Tag::MSG_TYPE).and_then(|d| d.description(field.value));
        let defined = || {
            let session = self.session.message(field.value);
            session.or_else(|| self.application.message(field.value)).map(|found| found.name())
        };
        listed.filter(|text| !text.is_empty()).or_else(defined)
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let msg_type = self.message.msg_type();
        let session = self.session.message(msg_type);
        let definition = session.or_else(|| self.application.message(msg_type));
        let is_header = |tag: u32| {
            matches!(tag, 8 | 9 | 35) || self.session.field(Tag(tag)).is_some_and(|f| f.in_header)
        };
        let is_trailer =
            |tag: u32| tag == 10 || self.session.field(Tag(tag)).is_some_and(|f| f.in_trailer);
        let tags = self.message.tags();
        writeln!(out, "header (\"header\")")?;
        let mut at = 0;
        while tags.get(at).is_some_and(|tag| is_header(*tag)) {
            at = self.field(out, at, self.session.header(), 1)?;
        }
        out.write_str(definition.map_or("unknown message", |found| found.name()))?;
        out.write_str(" (\"")?;
        text(out, msg_type)?;
        writeln!(out, "\")")?;
        let members = definition.map_or(&[][..], |found| found.members());
        while tags.get(at).is_some_and(|tag| !is_trailer(*tag)) {
            at = self.field(out, at, members, 1)?;
        }
        writeln!(out, "trailer (\"trailer\")")?;
        while at < tags.len() {
            at = self.field(out, at, self.session.trailer(), 1)?;
        }
        Ok(())
    }
}

/// Prints a value.
fn text(out: &mut fmt::Formatter<'_>, value: &[u8]) -> fmt::Result {
    for chunk in value.utf8_chunks() {
        for found in chunk.valid().chars() {
            out.write_char(match found {
                '\u{1}' => '|',
                found if found.is_control() => '?',
                found => found,
            })?;
        }
        if !chunk.invalid().is_empty() {
            out.write_char('?')?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::shipped;
    use crate::reader::Reader;
    use crate::writer::Writer;

    #[test]
    fn names_and_values_are_printed() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX42).expect("loads");
        let mut buffer = [0; 500];
        let mut writer = Writer::new(&mut buffer, "FIX.4.2", "D");
        writer.str(Tag(49), "A");
        writer.uint(Tag(34), 7);
        writer.str(Tag(11), "ord1");
        writer.char(Tag(54), b'1');
        writer.uint(Tag(386), 1);
        writer.str(Tag(336), "day");
        writer.str(Tag(9999), "mine");
        let bytes = writer.finish().expect("room");
        let mut reader = Reader::new();
        let message = reader.decode(bytes).expect("whole");
        let printed = Printed::new(message, &dictionary).to_string();
        let checksum = String::from_utf8_lossy(message.bytes())[bytes.len() - 4..].to_owned();
        let expected = format!(
            "header (\"header\")\n\
             \x20  BeginString (8): FIX.4.2\n\
             \x20  BodyLength (9): {}\n\
             \x20  MsgType (35): ORDER_SINGLE (D)\n\
             \x20  SenderCompID (49): A\n\
             \x20  MsgSeqNum (34): 7\n\
             NewOrderSingle (\"D\")\n\
             \x20  ClOrdID (11): ord1\n\
             \x20  Side (54): BUY (1)\n\
             \x20  NoTradingSessions (386): 1\n\
             \x20     NoTradingSessions 1\n\
             \x20        TradingSessionID (336): day\n\
             \x20  (9999): mine\n\
             trailer (\"trailer\")\n\
             \x20  CheckSum (10): {}\n",
            bytes.len() - 22,
            checksum.trim_end_matches('\u{1}'),
        );
        assert_eq!(printed, expected);
    }

    #[test]
    fn what_is_no_tag_number_is_printed_as_it_stands() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX42).expect("loads");
        let body = "35=0\u{1}34=7\u{1}abc=1\u{1}";
        let mut bytes = format!("8=FIX.4.2\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("whole");
        let printed = Printed::new(message, &dictionary).to_string();
        assert!(printed.contains("\n   (abc): 1\n"), "{printed}");
    }
}
