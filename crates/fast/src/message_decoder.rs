//! One interface to all kinds of decoders.

use crate::decoder::{DecodedMessage, Decoder};
use crate::error::FastError;
use crate::program::Program;
use std::sync::Arc;

/// A decoder that returns [`Message`](crate::Message)s: the dynamic [`Decoder`], or the
/// [`generated::ModuleDecoder`](crate::generated::ModuleDecoder) of any generated module. With it an
/// application can choose at run time between several generated modules and template files.
///
/// Messages of generated code are copied into a `Message`. Code that needs the full speed of
/// generated code is generic over [`generated::Templates`](crate::generated::Templates) instead: it
/// uses the structs of the modules it knows, and reads others with a
/// [`generated::Visit`](crate::generated::Visit).
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tickwire_fast::{Decoder, MessageDecoder, Program, TemplateSet};
///
/// fn total(decoder: &mut dyn MessageDecoder, mut packet: &[u8]) -> Result<u64, tickwire_fast::FastError> {
///     let mut total = 0;
///     decoder.begin_packet();
///     while !packet.is_empty() {
///         let decoded = decoder.decode_message(packet)?;
///         for (_, value) in decoded.message.root().fields() {
///             total += value.as_u64().unwrap_or(0);
///         }
///         packet = &packet[decoded.len..];
///     }
///     Ok(total)
/// }
///
/// let xml = r#"<templates><template name="Tick" id="1"><uInt32 name="size"/></template></templates>"#;
/// let program = Arc::new(Program::compile(TemplateSet::parse(xml)?)?);
/// assert_eq!(total(&mut Decoder::new(program), &[0xc0, 0x81, 0x85, 0x80, 0x86])?, 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait MessageDecoder: Send {
    /// Returns the program of the template set, which has the names of templates and fields.
    fn program(&self) -> &Arc<Program>;

    /// Resets every dictionary and the template id, as after a lost packet.
    fn reset(&mut self);

    /// Begins a packet; resets under [`ResetPolicy::Packet`](crate::ResetPolicy).
    fn begin_packet(&mut self);

    /// Decodes the message at the start of `input`.
    ///
    /// # Errors
    /// Errors of [`Decoder::decode`], and of [`MessageBuilder`](crate::MessageBuilder) if the copy
    /// exceeds the limits.
    fn decode_message(&mut self, input: &[u8]) -> Result<DecodedMessage<'_>, FastError>;
}

impl MessageDecoder for Decoder {
    fn program(&self) -> &Arc<Program> {
        self.program()
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn begin_packet(&mut self) {
        self.begin_packet();
    }

    fn decode_message(&mut self, input: &[u8]) -> Result<DecodedMessage<'_>, FastError> {
        self.decode(input)
    }
}
