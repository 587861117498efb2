//! Validates messages against a dictionary.
//!
//! A [`Validator`] passes over a message once, in order, and returns the reason to reject it. If
//! there are several, their precedence is that of common FIX engines: a field out of order, a
//! missing required field, the first invalid field. [`FixError::session_reject_reason`] returns the
//! session reject reason; see also [`Checks::undefined_tag`].

mod group;
mod value;

use crate::dictionary::{Dictionary, FieldDef, MemberBlock, MemberDef};
use crate::error::{FixError, FixErrorKind};
use crate::reader::FixMessage;
use crate::reason::SessionRejectReason;
use crate::tag::Tag;

/// First tag of the user-defined range.
const USER_DEFINED: u32 = 5000;

/// The checks to perform. The default is all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Refuses tags without a value.
    pub fields_have_values: bool,
    /// Requires header, body and trailer in this order.
    pub fields_in_order: bool,
    /// Requires the fields of a group entry in the dictionary's order.
    pub group_fields_in_order: bool,
    /// Requires that all required fields are present.
    pub required_fields: bool,
    /// Refuses tags of the dictionary that this message type does not have.
    pub message_fields: bool,
    /// Requires tags from 5000 on to be in the dictionary.
    pub user_defined_fields: bool,
    /// Requires one of the listed values if a field has them.
    pub listed_values: bool,
    /// The reject reason for a tag that is in no dictionary. The standard defines 3 (undefined
    /// tag); common engines answer 0 (invalid tag number), which is the default.
    pub undefined_tag: SessionRejectReason,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            fields_have_values: true,
            fields_in_order: true,
            group_fields_in_order: true,
            required_fields: true,
            message_fields: true,
            user_defined_fields: true,
            listed_values: true,
            undefined_tag: SessionRejectReason::InvalidTagNumber,
        }
    }
}

impl Checks {
    /// Returns the reason to put in SessionRejectReason (373) for an error of a validator.
    pub fn reason(&self, error: &FixError) -> Option<SessionRejectReason> {
        match error.kind {
            FixErrorKind::UndefinedTag => Some(self.undefined_tag),
            _ => error.session_reject_reason(),
        }
    }
}

/// Validates messages. It keeps scratch memory between messages, so that a warm validator allocates
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Validator {
    checks: Checks,
    /// Tags that need not be in a dictionary.
    allowed: Vec<Tag>,
    /// For each field, the last message that contained it: session dictionary, then application
    /// dictionary.
    seen: [Vec<u32>; 2],
    generation: u32,
}

/// Impossible counts of required members, which force a search for each of them.
const NONE_MET: [usize; 3] = [usize::MAX; 3];

/// Parts of a message, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MessagePart {
    Header,
    Body,
    Trailer,
}

/// The place of a field.
struct FieldPlace<'d> {
    part: MessagePart,
    dictionary: usize,
    index: usize,
    field: &'d FieldDef,
    member: Option<&'d MemberDef>,
}

/// One message and the dictionaries that it is checked against.
struct Validation<'r> {
    message: &'r FixMessage<'r, 'r>,
    dictionaries: [&'r Dictionary; 2],
    /// The dictionary that defines the body, and the body.
    body: (usize, &'r MemberBlock),
    checks: Checks,
    allowed: &'r [Tag],
}

impl Validator {
    /// Creates a validator.
    pub fn new(checks: Checks) -> Self {
        Self { checks, ..Self::default() }
    }

    /// Allows fields that the dictionary does not know, or not in this message type, for example by
    /// agreement between the parties. Their values are not checked.
    #[must_use]
    pub fn allow(mut self, tags: impl IntoIterator<Item = Tag>) -> Self {
        self.allowed.extend(tags);
        self
    }

    /// Returns the checks.
    pub const fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Validates a message against one dictionary that has header, trailer and messages.
    ///
    /// # Errors
    /// The reason to reject the message: any kind that has a session reject reason.
    pub fn validate(
        &mut self,
        message: &FixMessage<'_, '_>,
        dictionary: &Dictionary,
    ) -> Result<(), FixError> {
        self.validate_fixt(message, dictionary, dictionary)
    }

    /// Validates a message against a session dictionary, which has header, trailer and the
    /// session's messages, and an application dictionary.
    ///
    /// # Errors
    /// As for [`Validator::validate`].
    pub fn validate_fixt(
        &mut self,
        message: &FixMessage<'_, '_>,
        session: &Dictionary,
        application: &Dictionary,
    ) -> Result<(), FixError> {
        if let Some(fault) = message.fault() {
            return Err(fault);
        }
        let msg_type = message.msg_type();
        let body = match (session.message(msg_type), application.message(msg_type)) {
            (Some(message), _) => (0, &message.body),
            (None, Some(message)) => (1, &message.body),
            (None, None) if msg_type.is_empty() && self.checks.fields_have_values => {
                return Err(error_at(message, FixErrorKind::EmptyValue, 2));
            }
            (None, None) => return Err(error_at(message, FixErrorKind::MsgType, 2)),
        };
        self.generation = self.generation.wrapping_add(1);
        for (seen, dictionary) in self.seen.iter_mut().zip([session, application]) {
            if seen.len() < dictionary.fields.len() || self.generation == 0 {
                seen.clear();
                seen.resize(dictionary.fields.len(), 0);
            }
        }
        self.generation = self.generation.max(1);
        let dictionaries = [session, application];
        let allowed = std::mem::take(&mut self.allowed);
        let run =
            Validation { message, dictionaries, body, checks: self.checks, allowed: &allowed };
        let outcome = self.walk(&run).map_err(|found| self.foremost(&run, found));
        self.allowed = allowed;
        outcome
    }

    /// Returns the error that takes precedence over `found`; `found` if there is none.
    #[cold]
    fn foremost(&mut self, run: &Validation<'_>, found: FixError) -> FixError {
        let mut part = MessagePart::Header;
        for (at, tag) in run.message.tags().iter().enumerate() {
            let Some(place) = run.place(*tag).filter(|place| place.member.is_some()) else {
                continue;
            };
            if run.checks.fields_in_order && place.part < part {
                return error_at(run.message, FixErrorKind::TagOrder, at);
            }
            part = place.part.max(part);
            if let Some(last) = self.seen[place.dictionary].get_mut(place.index) {
                *last = self.generation;
            }
        }
        if !run.checks.required_fields {
            return found;
        }
        self.check_required(run, NONE_MET).err().unwrap_or(found)
    }

    fn walk(&mut self, run: &Validation<'_>) -> Result<(), FixError> {
        let tags = run.message.tags();
        let (mut part, mut at) = (MessagePart::Header, 0);
        // Numbers of required members present in header, body and trailer.
        let mut required = [0; 3];
        while let Some(tag) = tags.get(at) {
            let Some(place) = run.place(*tag) else {
                run.undefined(at, *tag)?;
                at += 1;
                continue;
            };
            run.check_value(at, place.field)?;
            if run.checks.fields_in_order && place.part < part {
                return Err(error_at(run.message, FixErrorKind::TagOrder, at));
            }
            part = place.part.max(part);
            let Some(member) = place.member else {
                let is_allowed = run.body.1.takes_any || run.allowed.contains(&Tag(*tag));
                if run.checks.message_fields && !is_allowed {
                    return Err(error_at(run.message, FixErrorKind::TagNotInMessage, at));
                }
                at += 1;
                continue;
            };
            let last = self.seen[place.dictionary].get_mut(place.index);
            if last.is_some_and(|last| std::mem::replace(last, self.generation) == self.generation)
            {
                return Err(error_at(run.message, FixErrorKind::RepeatedTag, at));
            }
            required[place.part as usize] += usize::from(member.required);
            at = match member.group {
                None => at + 1,
                Some(group) => run.check_group(place.dictionary, group, at, 0)?,
            };
        }
        if run.checks.required_fields { self.check_required(run, required) } else { Ok(()) }
    }

    fn check_required(&self, run: &Validation<'_>, met: [usize; 3]) -> Result<(), FixError> {
        let [session, _] = run.dictionaries;
        let (body_dictionary, body) = run.body;
        let blocks = [(0, &session.header), (body_dictionary, body), (0, &session.trailer)];
        for ((dictionary, block), met) in blocks.into_iter().zip(met) {
            if met == block.required {
                continue;
            }
            let fields = run.dictionaries[dictionary];
            let missing = block.members.iter().find(|member| {
                let index = fields.field_index(member.tag.0);
                let last = index.and_then(|index| self.seen[dictionary].get(index));
                member.required && last != Some(&self.generation)
            });
            if let Some(MemberDef { tag: Tag(tag), .. }) = missing {
                let end = run.message.bytes().len();
                return Err(FixError::new(FixErrorKind::RequiredTag, *tag, end));
            }
        }
        Ok(())
    }
}

impl<'r> Validation<'r> {
    /// Finds the place of a tag; `None` if no dictionary has it.
    #[inline]
    fn place(&self, tag: u32) -> Option<FieldPlace<'r>> {
        let [session, application] = self.dictionaries;
        let index = session.field_index(tag);
        if let Some(index) = index {
            let field = &session.fields[index];
            let (part, block) = if field.in_header {
                (MessagePart::Header, &session.header)
            } else if field.in_trailer {
                (MessagePart::Trailer, &session.trailer)
            } else if self.body.0 == 0 {
                (MessagePart::Body, self.body.1)
            } else {
                return self.in_application(application, tag).or(Some(FieldPlace {
                    part: MessagePart::Body,
                    dictionary: 0,
                    index,
                    field,
                    member: None,
                }));
            };
            return Some(FieldPlace {
                part,
                dictionary: 0,
                index,
                field,
                member: block.member(index),
            });
        }
        self.in_application(application, tag)
    }

    fn in_application(&self, application: &'r Dictionary, tag: u32) -> Option<FieldPlace<'r>> {
        let index = application.field_index(tag)?;
        let field = &application.fields[index];
        let member = if self.body.0 == 1 { self.body.1.member(index) } else { None };
        Some(FieldPlace { part: MessagePart::Body, dictionary: 1, index, field, member })
    }

    #[cold]
    fn undefined(&self, at: usize, tag: u32) -> Result<(), FixError> {
        let is_ignored = tag >= USER_DEFINED && !self.checks.user_defined_fields;
        if is_ignored || self.allowed.contains(&Tag(tag)) {
            return Ok(());
        }
        Err(error_at(self.message, FixErrorKind::UndefinedTag, at))
    }
}

/// Creates an error for the field at `at`.
#[cold]
fn error_at(message: &FixMessage<'_, '_>, kind: FixErrorKind, at: usize) -> FixError {
    let tag = message.tags().get(at).copied().unwrap_or(0);
    let offset = message.field_offset(at).unwrap_or(0);
    FixError::new(kind, tag, offset as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::shipped;
    use crate::reader::Reader;

    fn framed(begin: &str, body: &str) -> Vec<u8> {
        let body = body.replace('|', "\u{1}");
        let mut bytes = format!("8={begin}\u{1}9={}\u{1}{body}", body.len()).into_bytes();
        let sum = bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>() & 0xFF;
        bytes.extend_from_slice(format!("10={sum:03}\u{1}").as_bytes());
        bytes
    }

    const HEAD: &str = "34=2|49=TW|52=20240101-00:00:00|56=ISLD|";

    /// Validates with one validator and one dictionary. Returns kind and tag of each error.
    fn outcomes(checks: Checks, bodies: &[&str]) -> Vec<Option<(FixErrorKind, u32)>> {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
        let mut validator = Validator::new(checks);
        let mut reader = Reader::new();
        let each = bodies.iter().map(|body| {
            let (msg_type, rest) = body.split_once('|').expect("MsgType first");
            let bytes = framed("FIX.4.4", &format!("{msg_type}|{HEAD}{rest}"));
            let message = reader.decode(&bytes).expect(body);
            let error = validator.validate(&message, &dictionary).err()?;
            Some((error.kind, error.tag.map_or(0, |tag| tag.0)))
        });
        each.collect()
    }

    const ORDER: &str = "35=D|11=ID|21=1|40=1|54=1|38=002000.00|55=INTC|60=20240101-00:00:00|";

    #[test]
    fn a_type_without_a_value_is_an_empty_field_where_fields_must_have_values() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
        let bytes = framed("FIX.4.4", &format!("35=|{HEAD}"));
        let mut reader = Reader::new();
        let message = reader.decode(&bytes).expect("whole");
        for (fields_have_values, kind) in
            [(true, FixErrorKind::EmptyValue), (false, FixErrorKind::MsgType)]
        {
            let mut validator = Validator::new(Checks { fields_have_values, ..Checks::default() });
            let alone = validator.validate(&message, &dictionary).expect_err("no type");
            let both = validator.validate_fixt(&message, &dictionary, &dictionary);
            let both = both.expect_err("no type");
            assert_eq!((alone.kind, both.kind), (kind, kind));
            assert_eq!(both.tag, Some(Tag(35)));
        }
    }

    #[test]
    fn a_group_without_entries_has_a_wrong_count_and_no_wrong_order() {
        let with = |rest: &str| outcomes(Checks::default(), &[&format!("{ORDER}{rest}")])[0];
        assert_eq!(with("453=1|"), Some((FixErrorKind::GroupCount, 453)));
        assert_eq!(with("453=1|58=x|"), Some((FixErrorKind::GroupCount, 453)));
        assert_eq!(with("453=1|447=D|448=A|"), Some((FixErrorKind::GroupOrder, 447)));
        assert_eq!(with("453=2|448=A|447=D|452=1|58=x|"), Some((FixErrorKind::GroupCount, 453)));
    }

    #[test]
    fn every_reason_is_found() {
        let with = |rest: &str| format!("{ORDER}{rest}");
        let parties = with("453=2|448=A|447=D|452=1|448=B|447=D|452=3|802=1|523=x|803=4|");
        let cases: Vec<(String, Option<(FixErrorKind, u32)>)> = vec![
            (with(""), None),
            (parties, None),
            (with("386=0|"), None),
            (with("999=HI|"), Some((FixErrorKind::UndefinedTag, 999))),
            (with("5000=HI|"), Some((FixErrorKind::UndefinedTag, 5000))),
            (with("-1=HI|"), Some((FixErrorKind::TagSyntax, 0))),
            (with("8000|"), Some((FixErrorKind::FieldDelimiter, 0))),
            ("35=D|11=id|40=1|60=20240101-00:00:00|".into(), Some((FixErrorKind::RequiredTag, 54))),
            ("35=0|58=Text|".into(), Some((FixErrorKind::TagNotInMessage, 58))),
            ("35=0|112=|".into(), Some((FixErrorKind::EmptyValue, 112))),
            (with("167=BOO|"), Some((FixErrorKind::ValueRange, 167))),
            (with("18=1 G|"), None),
            (with("18=1 zz|"), Some((FixErrorKind::ValueRange, 18))),
            (with("44=+200.00|"), Some((FixErrorKind::ValueFormat, 44))),
            (with("432=20240230|"), Some((FixErrorKind::ValueFormat, 432))),
            ("35=zz|".into(), Some((FixErrorKind::MsgType, 35))),
            (with("40=2|"), Some((FixErrorKind::RepeatedTag, 40))),
            (with("50=x|"), Some((FixErrorKind::TagOrder, 50))),
            (with("93=1|89=x|58=x|"), Some((FixErrorKind::TagOrder, 58))),
            (with("453=1|447=D|448=A|"), Some((FixErrorKind::GroupOrder, 447))),
            (with("453=1|448=A|452=1|447=D|"), Some((FixErrorKind::GroupOrder, 447))),
            (with("453=1|448=A|448=B|"), Some((FixErrorKind::GroupCount, 453))),
            (with("453=2|448=A|58=x|"), Some((FixErrorKind::GroupCount, 453))),
            (with("386=x|"), Some((FixErrorKind::ValueFormat, 386))),
            (with("453=1|448=A|447=D|447=D|"), Some((FixErrorKind::RepeatedTag, 447))),
            (with("453=1|448=A|802=1|803=4|"), Some((FixErrorKind::GroupOrder, 803))),
            (with("453=1|448=A|802=2|523=x|58=x|"), Some((FixErrorKind::GroupCount, 802))),
        ];
        let bodies: Vec<&str> = cases.iter().map(|(body, _)| body.as_str()).collect();
        let found = outcomes(Checks::default(), &bodies);
        for ((body, expected), found) in cases.iter().zip(found) {
            assert_eq!(found, *expected, "{body}");
        }
    }

    #[test]
    fn of_several_things_wrong_order_goes_first_and_then_a_missing_field() {
        let cases = [
            ("35=D|999=x|11=i|40=1|60=20240101-00:00:00|", (FixErrorKind::RequiredTag, 54)),
            ("35=D|11=i|54=Z|40=1|60=x|11=j|", (FixErrorKind::ValueRange, 54)),
            ("35=D|11=i|54=1|40=1|108=3|", (FixErrorKind::RequiredTag, 60)),
            ("35=D|11=i|108=3|50=x|54=1|", (FixErrorKind::TagOrder, 50)),
            ("35=D|11=|54=1|40=1|60=20240101-00:00:00|50=x|", (FixErrorKind::TagOrder, 50)),
        ];
        let found = outcomes(Checks::default(), &cases.map(|(body, _)| body));
        assert_eq!(found, cases.map(|(_, expected)| Some(expected)));
        let lenient =
            Checks { fields_in_order: false, required_fields: false, ..Checks::default() };
        let found = outcomes(lenient, &["35=D|11=|50=x|"]);
        assert_eq!(found, [Some((FixErrorKind::EmptyValue, 11))]);
    }

    #[test]
    fn checks_can_be_switched_off() {
        let checks = Checks {
            fields_have_values: false,
            fields_in_order: false,
            group_fields_in_order: false,
            required_fields: false,
            message_fields: false,
            user_defined_fields: false,
            listed_values: false,
            ..Checks::default()
        };
        let bodies = [
            "35=0|112=|58=x|5001=x|",
            "35=D|50=x|40=zz|453=1|448=A|452=1|447=D|",
            "35=D|40=Z|50=x|453=1|448=A|452=1|447=D|",
        ];
        let expected = [None, Some((FixErrorKind::ValueFormat, 40)), None];
        assert_eq!(outcomes(checks, &bodies), expected);
    }

    #[test]
    fn session_and_application_dictionaries_share_a_message() {
        let session = Dictionary::parse_quickfix(&shipped::FIXT11).expect("loads");
        let application = Dictionary::parse_quickfix(&shipped::FIX50SP2).expect("loads");
        let (mut reader, mut validator) = (Reader::new(), Validator::default());
        let mut check = |body: &str| {
            let bytes = framed("FIXT.1.1", body);
            let message = reader.decode(&bytes).expect(body);
            let outcome = validator.validate_fixt(&message, &session, &application);
            outcome.err().map(|error| (error.kind, error.tag.map_or(0, |tag| tag.0)))
        };
        assert_eq!(check(&format!("35=A|{HEAD}98=0|108=2|1137=9|")), None);
        let order = format!("{HEAD}11=ID|21=1|40=1|54=1|38=1|55=X|60=20240101-00:00:00|");
        assert_eq!(check(&format!("35=D|{order}")), None);
        assert_eq!(
            check(&format!("35=D|{order}386=3|336=PRE-OPEN|336=AFTER-HOURS|")),
            Some((FixErrorKind::GroupCount, 386))
        );
        assert_eq!(
            check(&format!("35=D|{order}108=2|")),
            Some((FixErrorKind::TagNotInMessage, 108))
        );
        assert_eq!(check(&format!("35=0|{HEAD}58=x|")), Some((FixErrorKind::TagNotInMessage, 58)));
        assert_eq!(
            check("35=0|34=2|49=A|52=20240101-00:00:00|"),
            Some((FixErrorKind::RequiredTag, 56))
        );
    }

    #[test]
    fn a_warm_validator_does_not_allocate() {
        let dictionary = Dictionary::parse_quickfix(&shipped::FIX44).expect("loads");
        let bytes = framed("FIX.4.4", &ORDER.replacen('|', &format!("|{HEAD}"), 1));
        let (mut reader, mut validator) = (Reader::new(), Validator::default());
        let message = reader.decode(&bytes).expect("whole");
        validator.validate(&message, &dictionary).expect("valid");
        let info = allocation_counter::measure(|| {
            validator.validate(&message, &dictionary).expect("valid");
        });
        assert_eq!(info.count_total, 0);
    }
}
