//! The description of a feed's framing.

use std::error::Error;
use std::fmt;

use super::message_header::{HEADER_BYTES_MAX, MessageHeader};
use crate::endian::Endian;

/// Longest preamble, in bytes.
pub const PREAMBLE_BYTES_MAX: usize = 1024;

/// Widest number in a preamble, in bytes.
const NUMBER_BYTES_MAX: usize = 8;

/// When all dictionaries are reset, besides the resets that messages themselves carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FramingResetPolicy {
    /// Before every message, and wherever [`Template`](Self::Template) resets.
    Message,
    /// Never; the reset attributes of templates are ignored too.
    Never,
    /// Before every packet, and wherever [`Template`](Self::Template) resets.
    Packet,
    /// Before messages whose template has the reset attribute, and at the [reset
    /// template](Framing::reset_template).
    Template,
}

/// An unsigned number in a preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberField {
    offset: usize,
    width: usize,
    endian: Endian,
}

impl NumberField {
    /// Describes a number of `width` bytes, 1 to 8, at `offset` from the start of the preamble.
    ///
    /// # Errors
    /// - [`FramingConfigError::FieldWidth`] for another width.
    /// - [`FramingConfigError::FieldOutsidePreamble`] if the number ends after the longest possible
    ///   preamble.
    pub const fn new(
        offset: usize,
        width: usize,
        endian: Endian,
    ) -> Result<Self, FramingConfigError> {
        if width == 0 || width > NUMBER_BYTES_MAX {
            return Err(FramingConfigError::FieldWidth { width });
        }
        if offset > PREAMBLE_BYTES_MAX - width {
            let end = offset.saturating_add(width);
            let preamble_bytes = PREAMBLE_BYTES_MAX;
            return Err(FramingConfigError::FieldOutsidePreamble { end, preamble_bytes });
        }
        Ok(Self { offset, width, endian })
    }

    /// Returns where the number starts in the preamble.
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// Returns how many bytes the number has.
    pub const fn width(self) -> usize {
        self.width
    }

    /// Returns the byte order of the number.
    pub const fn endian(self) -> Endian {
        self.endian
    }

    const fn end(self) -> usize {
        self.offset + self.width
    }

    /// Returns the number in `preamble`, or `None` if the preamble is shorter.
    pub fn number_in(self, preamble: &[u8]) -> Option<u64> {
        self.endian.number(preamble.get(self.offset..self.end())?)
    }
}

/// The numbers by which a message split over several packets is reassembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChunkFields {
    /// Number of chunks of the message.
    pub count: NumberField,
    /// The number of this chunk, from 1.
    pub number: NumberField,
}

/// Envelope of the FAST bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Envelope {
    /// The preamble, if any, and FAST bytes.
    #[default]
    Bare,
    /// FIXT messages with blocks of FAST bytes in RawData (96), whose length is RawDataLength (95).
    /// A packet that does not start with `8=FIX` is one block without a FIXT message.
    Step,
    /// Packets after their length in bytes, a FAST integer that includes the preamble: CME's format
    /// for replaying packets over TCP.
    Counted,
}

/// Reason why a framing is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingConfigError {
    /// A preamble field for chunks or a length is set, but FIXT messages have no preamble.
    EnvelopeWithPreamble,
    /// A number ends after the end of the preamble.
    FieldOutsidePreamble {
        /// Offset of the end of the number.
        end: usize,
        /// Length of the preamble in bytes.
        preamble_bytes: usize,
    },
    /// A number has no bytes, or more than 8.
    FieldWidth {
        /// The configured width in bytes.
        width: usize,
    },
    /// A message header is longer than [`HEADER_BYTES_MAX`].
    HeaderTooLong {
        /// The configured length, in bytes or fields.
        len: usize,
    },
    /// A preamble is longer than [`PREAMBLE_BYTES_MAX`].
    PreambleTooLong {
        /// The configured length in bytes.
        len: usize,
    },
}

impl fmt::Display for FramingConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnvelopeWithPreamble => {
                f.write_str("FIXT messages have no preamble, so nothing can be read from one")
            }
            Self::FieldOutsidePreamble { end, preamble_bytes } => write!(
                f,
                "a number that ends at byte {end} is outside a preamble of {preamble_bytes} bytes: \
                 set the preamble first, long enough"
            ),
            Self::FieldWidth { width } => {
                write!(f, "a number of {width} bytes: 1 to {NUMBER_BYTES_MAX} are possible")
            }
            Self::HeaderTooLong { len } => write!(
                f,
                "a message header of {len} bytes or fields: {HEADER_BYTES_MAX} are possible"
            ),
            Self::PreambleTooLong { len } => {
                write!(f, "a preamble of {len} bytes: {PREAMBLE_BYTES_MAX} are possible")
            }
        }
    }
}

impl Error for FramingConfigError {}

/// How a feed frames its FAST messages. Every part is checked when it is set.
///
/// The default, and [`Framing::new`], is bare FAST bytes, with dictionaries reset as templates say.
///
/// # Examples
///
/// ```
/// use tickwire_feed::Endian;
/// use tickwire_feed::framing::{Framing, FramingResetPolicy, NumberField};
///
/// let seq_num = NumberField::new(0, 4, Endian::Big)?;
/// let framing = Framing::new().preamble(5)?.seq_num(seq_num)?.reset(FramingResetPolicy::Packet);
/// assert_eq!(framing.to_string(), "preamble=5,seq=0:4:be,reset=packet");
/// assert!(Framing::new().preamble(3)?.seq_num(seq_num).is_err());
/// # Ok::<(), tickwire_feed::framing::FramingConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Framing {
    pub(super) preamble_bytes: usize,
    pub(super) seq_num: Option<NumberField>,
    pub(super) length: Option<NumberField>,
    pub(super) chunks: Option<ChunkFields>,
    pub(super) envelope: Envelope,
    pub(super) message_header: MessageHeader,
    pub(super) reset: FramingResetPolicy,
    pub(super) reset_template: Option<u32>,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            preamble_bytes: 0,
            seq_num: None,
            length: None,
            chunks: None,
            envelope: Envelope::Bare,
            message_header: MessageHeader::None,
            reset: FramingResetPolicy::Template,
            reset_template: None,
        }
    }
}

impl Framing {
    /// Creates the framing of bare FAST bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the length of the preamble before the FAST bytes of each packet, in bytes.
    ///
    /// # Errors
    /// - [`FramingConfigError::PreambleTooLong`] above [`PREAMBLE_BYTES_MAX`].
    /// - [`FramingConfigError::FieldOutsidePreamble`] if a number already set does not fit.
    pub fn preamble(mut self, len: usize) -> Result<Self, FramingConfigError> {
        if len > PREAMBLE_BYTES_MAX {
            return Err(FramingConfigError::PreambleTooLong { len });
        }
        self.preamble_bytes = len;
        self.checked()
    }

    /// Sets the position of the packet's sequence number in the preamble; `None` if it is not
    /// there.
    ///
    /// # Errors
    /// [`FramingConfigError::FieldOutsidePreamble`] if it does not fit the preamble.
    pub fn seq_num(
        mut self,
        field: impl Into<Option<NumberField>>,
    ) -> Result<Self, FramingConfigError> {
        self.seq_num = field.into();
        self.checked()
    }

    /// Sets the preamble field with the length of the FAST bytes that follow; `None` for no field.
    /// The bytes after these in the packet are the next preamble.
    ///
    /// # Errors
    /// - [`FramingConfigError::FieldOutsidePreamble`] if it does not fit the preamble.
    /// - [`FramingConfigError::EnvelopeWithPreamble`] with [`Envelope::Step`].
    pub fn length(
        mut self,
        field: impl Into<Option<NumberField>>,
    ) -> Result<Self, FramingConfigError> {
        self.length = field.into();
        self.checked()
    }

    /// Sets the preamble numbers by which messages are reassembled from chunks; `None` if no
    /// message is split.
    ///
    /// # Errors
    /// - [`FramingConfigError::FieldOutsidePreamble`] if they do not fit the preamble.
    /// - [`FramingConfigError::EnvelopeWithPreamble`] with [`Envelope::Step`].
    pub fn chunks(
        mut self,
        fields: impl Into<Option<ChunkFields>>,
    ) -> Result<Self, FramingConfigError> {
        self.chunks = fields.into();
        self.checked()
    }

    /// Sets the envelope of the FAST bytes.
    ///
    /// # Errors
    /// [`FramingConfigError::EnvelopeWithPreamble`] for [`Envelope::Step`] with a preamble.
    pub fn envelope(mut self, envelope: Envelope) -> Result<Self, FramingConfigError> {
        self.envelope = envelope;
        self.checked()
    }

    /// Sets the header before each message, inside the FAST bytes.
    ///
    /// # Errors
    /// - [`FramingConfigError::HeaderTooLong`] above [`HEADER_BYTES_MAX`].
    /// - [`FramingConfigError::FieldWidth`] for a block length wider than 8 bytes.
    pub fn message_header(mut self, header: MessageHeader) -> Result<Self, FramingConfigError> {
        self.message_header = header;
        self.checked()
    }

    /// Sets when dictionaries are reset.
    pub const fn reset(mut self, policy: FramingResetPolicy) -> Self {
        self.reset = policy;
        self
    }

    /// Sets the template whose messages reset all dictionaries, even if the template file does not
    /// contain it or gives it no reset attribute. `None` for no such template.
    pub fn reset_template(mut self, template_id: impl Into<Option<u32>>) -> Self {
        self.reset_template = template_id.into();
        self
    }

    /// Returns true if a packet has headers around its messages, so that messages can only be found
    /// from its start.
    pub fn has_packet_headers(&self) -> bool {
        self.preamble_bytes > 0 || self.packet_envelope() != Envelope::Bare
    }

    /// Returns the length of the preamble in bytes.
    pub const fn preamble_bytes(&self) -> usize {
        self.preamble_bytes
    }

    /// Returns the position of the sequence number.
    pub const fn seq_num_field(&self) -> Option<NumberField> {
        self.seq_num
    }

    /// Returns the position of the length of the FAST bytes.
    pub const fn length_field(&self) -> Option<NumberField> {
        self.length
    }

    /// Returns the numbers by which chunks are reassembled.
    pub const fn chunk_fields(&self) -> Option<ChunkFields> {
        self.chunks
    }

    /// Returns the envelope of the FAST bytes.
    pub const fn packet_envelope(&self) -> Envelope {
        self.envelope
    }

    /// Returns the header before each message.
    pub const fn header_before_message(&self) -> MessageHeader {
        self.message_header
    }

    /// Returns when dictionaries are reset.
    pub const fn reset_policy(&self) -> FramingResetPolicy {
        self.reset
    }

    /// Returns the template whose messages reset all dictionaries; none with
    /// [`FramingResetPolicy::Never`].
    pub const fn reset_template_id(&self) -> Option<u32> {
        match self.reset {
            FramingResetPolicy::Never => None,
            FramingResetPolicy::Message
            | FramingResetPolicy::Packet
            | FramingResetPolicy::Template => self.reset_template,
        }
    }

    fn checked(self) -> Result<Self, FramingConfigError> {
        let chunks = self.chunks.map(|chunks| [chunks.count, chunks.number]);
        let fields =
            self.seq_num.into_iter().chain(self.length).chain(chunks.into_iter().flatten());
        let end = fields.map(NumberField::end).max().unwrap_or(0);
        let preamble_bytes = self.preamble_bytes;
        if end > preamble_bytes {
            return Err(FramingConfigError::FieldOutsidePreamble { end, preamble_bytes });
        }
        if self.envelope == Envelope::Step && preamble_bytes > 0 {
            return Err(FramingConfigError::EnvelopeWithPreamble);
        }
        self.message_header.check()?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(offset: usize, width: usize) -> NumberField {
        NumberField::new(offset, width, Endian::Big).unwrap()
    }

    #[test]
    fn numbers_must_lie_in_the_preamble_whichever_is_set_first() {
        let framing = Framing::new().preamble(4).unwrap();
        let outside = FramingConfigError::FieldOutsidePreamble { end: 5, preamble_bytes: 4 };
        assert_eq!(framing.seq_num(field(1, 4)), Err(outside));
        assert_eq!(framing.length(field(3, 2)), Err(outside));
        let chunks = ChunkFields { count: field(0, 2), number: field(4, 1) };
        assert_eq!(framing.chunks(chunks), Err(outside));
        let framing = framing.seq_num(field(0, 4)).unwrap();
        assert!(framing.preamble(3).is_err());
        assert!(framing.seq_num(None).unwrap().preamble(3).is_ok());
    }

    #[test]
    fn impossible_parts_are_refused() {
        assert!(NumberField::new(0, 0, Endian::Big).is_err());
        assert!(NumberField::new(0, 9, Endian::Big).is_err());
        assert!(NumberField::new(usize::MAX, 8, Endian::Big).is_err());
        assert!(Framing::new().preamble(PREAMBLE_BYTES_MAX + 1).is_err());
        assert!(Framing::new().preamble(1).unwrap().envelope(Envelope::Step).is_err());
    }

    #[test]
    fn never_means_that_no_template_resets() {
        let framing = Framing::new().reset_template(120);
        assert_eq!(framing.reset_template_id(), Some(120));
        assert_eq!(framing.reset(FramingResetPolicy::Never).reset_template_id(), None);
    }
}
