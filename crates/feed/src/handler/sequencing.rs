//! Positions of a feed's sequence numbers, derived from its framing and templates.

use std::error::Error;
use std::fmt;

use tickwire_fast::TemplateSet;

use super::{SeqNumField, SeqNumPeek, SequenceSource};
use crate::arbiter::ArbiterOptions;
use crate::framing::Framing;

/// Names of sequence number fields in feeds without MsgSeqNum (34), the most common first.
const SEQ_NUM_NAMES: [&str; 3] = ["SequenceNumber", "MsgSeqNum", "PacketSeqNum"];

/// Position of a feed's sequence numbers, for its arbiter and for its engines.
///
/// # Examples
///
/// ```
/// use tickwire_fast::TemplateSet;
/// use tickwire_feed::framing::{Framing, Preset};
/// use tickwire_feed::handler::{SequenceSource, Sequencing};
///
/// let xml = r#"<templates><template name="T" id="1"><uInt32 name="n" id="34"/></template></templates>"#;
/// let set = TemplateSet::parse(xml).unwrap();
/// let in_preamble = Sequencing::derive(&Preset::Cme.framing(), &set, None)?;
/// assert!(matches!(in_preamble.source, SequenceSource::Preamble));
/// let in_messages = Sequencing::derive(&Framing::new(), &set, None)?;
/// assert!(matches!(in_messages.source, SequenceSource::Message(_)));
/// # Ok::<(), tickwire_feed::handler::SequencingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sequencing {
    /// Position of a packet's number, for the arbiter.
    pub source: SequenceSource,
    /// The message field with a sequence number. The engine reports its value even if packets are
    /// not numbered by it.
    pub field: SeqNumField,
}

/// No template has the named field in a place that can be found without decoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequencingError {
    /// The named field.
    pub field: SeqNumField,
}

impl fmt::Display for SequencingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        write!(f, "no template has {field} at a position that can be found without decoding")
    }
}

impl Error for SequencingError {}

impl Sequencing {
    /// Derives the position. The first of these applies: the field `named` by the user; the
    /// preamble, if the framing has a number in it; MsgSeqNum (34) or a field with a common name;
    /// nowhere.
    ///
    /// # Errors
    /// [`SequencingError`] if `named` cannot be found.
    pub fn derive(
        framing: &Framing,
        set: &TemplateSet,
        named: Option<&SeqNumField>,
    ) -> Result<Self, SequencingError> {
        if let Some(field) = named {
            let found = Self::in_messages(set, field);
            return found.ok_or_else(|| SequencingError { field: field.clone() });
        }
        let usual = SEQ_NUM_NAMES.map(|name| SeqNumField::Name(name.to_owned()));
        let fields = [SeqNumField::default()].into_iter().chain(usual);
        let in_messages = fields.into_iter().find_map(|field| Self::in_messages(set, &field));
        if framing.seq_num_field().is_some() {
            let field = in_messages.map(|found| found.field).unwrap_or_default();
            return Ok(Self { source: SequenceSource::Preamble, field });
        }
        Ok(in_messages.unwrap_or_else(Self::none))
    }

    /// Returns a feed without sequence numbers: packets are used in order of arrival.
    pub fn none() -> Self {
        Self { source: SequenceSource::None, field: SeqNumField::default() }
    }

    fn in_messages(set: &TemplateSet, field: &SeqNumField) -> Option<Self> {
        let peek = SeqNumPeek::new(set, field);
        let can_find = peek.can_find();
        can_find.then(|| Self { source: SequenceSource::Message(peek), field: field.clone() })
    }

    /// True if there are sequence numbers, so two lines can be arbitrated.
    pub const fn is_numbered(&self) -> bool {
        !matches!(self.source, SequenceSource::None)
    }

    /// Returns arbiter options for numbered packets or for numbered messages.
    pub fn arbiter_options(&self) -> ArbiterOptions {
        match self.source {
            SequenceSource::Message(_) => ArbiterOptions::for_messages(),
            SequenceSource::None | SequenceSource::Preamble => ArbiterOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Preset;

    fn set(field: &str) -> TemplateSet {
        let xml = format!(
            "<templates><template name=\"T\" id=\"1\"><uInt32 {field}/><string name=\"s\"/>\
             </template></templates>"
        );
        TemplateSet::parse(&xml).unwrap()
    }

    fn derived(framing: Framing, field: &str) -> Sequencing {
        Sequencing::derive(&framing, &set(field), None).unwrap()
    }

    #[test]
    fn numbers_in_the_preamble_come_first_and_the_field_is_known_too() {
        let found = derived(Preset::Cme.framing(), "name=\"PacketSeqNum\"");
        assert!(matches!(found.source, SequenceSource::Preamble));
        assert_eq!(found.field, SeqNumField::Name("PacketSeqNum".to_owned()));
        let found = derived(Preset::Cme.framing(), "name=\"other\"");
        assert_eq!(found.field, SeqNumField::default());
    }

    #[test]
    fn tag_34_and_every_usual_name_are_found() {
        for field in ["name=\"n\" id=\"34\"", "name=\"SequenceNumber\"", "name=\"MsgSeqNum\""] {
            let found = derived(Framing::new(), field);
            assert!(matches!(found.source, SequenceSource::Message(_)), "{field}");
            assert_eq!(found.arbiter_options(), ArbiterOptions::for_messages());
        }
    }

    #[test]
    fn a_feed_without_numbers_has_none() {
        let found = derived(Framing::new(), "name=\"other\"");
        assert!(!found.is_numbered());
    }

    #[test]
    fn the_field_named_wins_over_the_preamble_and_must_exist() {
        let (framing, set) = (Preset::Cme.framing(), set("name=\"other\" id=\"7\""));
        let named = |text: &str| {
            let field = text.parse().unwrap();
            Sequencing::derive(&framing, &set, Some(&field))
        };
        assert!(matches!(named("7").unwrap().source, SequenceSource::Message(_)));
        assert!(matches!(named("other").unwrap().source, SequenceSource::Message(_)));
        let error = named("s").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no template has s at a position that can be found without decoding"
        );
    }
}
