//! The header options of QuickFAST's command lines.

use super::description::{Framing, FramingConfigError};
use super::message_header::MessageHeader;
use crate::endian::Endian;

/// QuickFAST's header options, under their command-line names.
///
/// A message header is of fixed size if `hfix` is given: `hprefix` bytes, a block length of `hfix`
/// bytes, `hsuffix` bytes. Otherwise it is FAST-encoded if `hfast`, `hprefix` or `hsuffix` is
/// given: `hprefix` fields, the block length, `hsuffix` fields. A packet header consists of
/// `pprefix`, `pfix` and `psuffix` bytes, which are skipped.
///
/// # Examples
///
/// ```
/// use tickwire_feed::framing::{Framing, QuickFast};
///
/// // -pfix 4 -hfix 2 -hbig
/// let options = QuickFast { pfix: 4, hfix: Some(2), hbig: true, ..QuickFast::default() };
/// let framing = options.apply_to(Framing::new())?;
/// assert_eq!(framing.to_string(), "preamble=4,header=fixed:0:2:be:0,reset=template");
/// # Ok::<(), tickwire_feed::framing::FramingConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuickFast {
    /// `-hfix N`: the message header is of fixed size, its block length has N bytes (0 for none).
    pub hfix: Option<usize>,
    /// `-hfast`: the message header consists of FAST-encoded fields.
    pub hfast: bool,
    /// `-hprefix N`: bytes, or FAST-encoded fields, before the block length.
    pub hprefix: usize,
    /// `-hsuffix N`: bytes, or FAST-encoded fields, after the block length.
    pub hsuffix: usize,
    /// `-hbig`: a block length of fixed size is big-endian; otherwise it is little-endian.
    pub hbig: bool,
    /// `-pfix N`: N bytes in the header of each packet.
    pub pfix: usize,
    /// `-pprefix N`: N more bytes before them.
    pub pprefix: usize,
    /// `-psuffix N`: N more bytes after them.
    pub psuffix: usize,
}

impl QuickFast {
    /// Applies these options to `framing`; parts that they do not mention stay.
    ///
    /// # Errors
    /// Any [`FramingConfigError`], for headers that are impossible.
    pub fn apply_to(&self, framing: Framing) -> Result<Framing, FramingConfigError> {
        let preamble = self.pprefix.saturating_add(self.pfix).saturating_add(self.psuffix);
        let framing = if preamble > 0 { framing.preamble(preamble)? } else { framing };
        match self.message_header() {
            MessageHeader::None => Ok(framing),
            header => framing.message_header(header),
        }
    }

    fn message_header(&self) -> MessageHeader {
        match self.hfix {
            Some(length_bytes) => MessageHeader::Fixed {
                prefix_bytes: self.hprefix,
                length_bytes,
                endian: if self.hbig { Endian::Big } else { Endian::Little },
                suffix_bytes: self.hsuffix,
            },
            None if self.hfast || self.hprefix > 0 || self.hsuffix > 0 => {
                MessageHeader::Encoded { prefix_fields: self.hprefix, suffix_fields: self.hsuffix }
            }
            None => MessageHeader::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_given_changes_nothing() {
        let framing = Framing::new().preamble(4).unwrap();
        assert_eq!(QuickFast::default().apply_to(framing), Ok(framing));
    }

    #[test]
    fn prefix_and_suffix_are_bytes_or_fields() {
        let fields = QuickFast { hprefix: 1, hsuffix: 2, ..QuickFast::default() };
        let header = fields.apply_to(Framing::new()).unwrap().header_before_message();
        assert_eq!(header, MessageHeader::Encoded { prefix_fields: 1, suffix_fields: 2 });
        let bytes = QuickFast { hfix: Some(4), ..fields };
        let header = bytes.apply_to(Framing::new()).unwrap().header_before_message();
        let endian = Endian::Little;
        let (prefix_bytes, length_bytes, suffix_bytes) = (1, 4, 2);
        let fixed = MessageHeader::Fixed { prefix_bytes, length_bytes, endian, suffix_bytes };
        assert_eq!(header, fixed);
    }

    #[test]
    fn impossible_widths_are_refused() {
        let wide = QuickFast { hfix: Some(9), ..QuickFast::default() };
        assert!(wide.apply_to(Framing::new()).is_err());
        let long = QuickFast { pfix: usize::MAX, pprefix: 1, ..QuickFast::default() };
        assert!(long.apply_to(Framing::new()).is_err());
    }
}
