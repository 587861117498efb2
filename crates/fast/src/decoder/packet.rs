//! The messages of a packet, one after the other.

use super::{DecodedMessage, Decoder};
use crate::error::FastError;
use crate::message::Message;

impl Decoder {
    /// Begins a packet of back-to-back messages, and returns a decoder of these messages. Packets
    /// with a preamble or message headers must be split by their framing first.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use tickwire_fast::{Decoder, Program, TemplateSet};
    /// let xml = r#"<template name="Tick" id="1"><uInt32 name="Price"><copy/></uInt32></template>"#;
    /// let mut decoder = Decoder::new(Arc::new(Program::compile(TemplateSet::parse(xml)?)?));
    /// let mut messages = decoder.packet(&[0xe0, 0x81, 0x85, 0x80]);
    /// while let Some(decoded) = messages.next_message() {
    ///     assert_eq!(decoded?.message.to_string(), "Tick(1) {Price: 5}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packet<'d, 'p>(&'d mut self, packet: &'p [u8]) -> PacketMessages<'d, 'p> {
        self.begin_packet();
        PacketMessages { decoder: self, packet, offset: 0, is_over: false }
    }
}

/// Decodes the messages of a packet. [`next_message`](Self::next_message) lends each until the next
/// call; the iterator returns copies.
#[derive(Debug)]
pub struct PacketMessages<'d, 'p> {
    decoder: &'d mut Decoder,
    packet: &'p [u8],
    offset: usize,
    is_over: bool,
}

impl PacketMessages<'_, '_> {
    /// Decodes the next message; `None` at the end of the packet and after an error. The error's
    /// offset counts from the start of the packet.
    pub fn next_message(&mut self) -> Option<Result<DecodedMessage<'_>, FastError>> {
        let rest = self.packet.get(self.offset..).filter(|rest| !rest.is_empty())?;
        if self.is_over {
            return None;
        }
        match self.decoder.decode(rest) {
            Ok(decoded) => {
                self.offset += decoded.len;
                // A message without bytes would never end the packet.
                self.is_over = decoded.len == 0;
                Some(Ok(decoded))
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(error.shifted(self.offset)))
            }
        }
    }

    /// Returns the offset of the next message.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for PacketMessages<'_, '_> {
    type Item = Result<Message, FastError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_message()?.map(|decoded| decoded.message.clone()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Decoder, FastErrorKind, Program, TemplateSet};
    use std::sync::Arc;

    fn decoder() -> Decoder {
        let xml = r#"<template name="T" id="1"><uInt32 name="A"><copy/></uInt32></template>"#;
        Decoder::new(Arc::new(Program::compile(TemplateSet::parse(xml).unwrap()).unwrap()))
    }

    #[test]
    fn copies_of_all_messages_and_an_error_at_its_place_in_the_packet() {
        let mut decoder = decoder();
        let texts = |decoder: &mut Decoder, packet: &[u8]| {
            let messages = decoder.packet(packet);
            messages.map(|message| message.map(|message| message.to_string())).collect::<Vec<_>>()
        };
        let all = texts(&mut decoder, &[0xe0, 0x81, 0x85, 0x80, 0xa0, 0x86]);
        let expected =
            ["T(1) {A: 5}", "T(1) {A: 5}", "T(1) {A: 6}"].map(|text| Ok(text.to_owned()));
        assert_eq!(all, expected);
        let cut = texts(&mut decoder, &[0xe0, 0x81, 0x85, 0xa0]);
        assert_eq!(cut.len(), 2);
        let error = cut[1].as_ref().unwrap_err();
        assert_eq!((error.kind(), error.offset()), (FastErrorKind::Truncated, 4));
        assert!(texts(&mut decoder, &[]).is_empty());
    }
}
