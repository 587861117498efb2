//! Generated code as an engine.

use std::sync::Arc;

use tickwire_fast::BufferedPacket;
use tickwire_fast::generated::{self, ModuleValue, Templates, VisitTags};
use tickwire_fast::{FastError, FastErrorKind, Message, MessageBuilder, Program};

use super::engine::seq_num_indexes;
use super::{EngineMessage, FeedEngine, SeqNumField};

/// The decoder of a generated module. The dynamic decoder decodes templates that the module does
/// not know, or that have changed since it was generated, with the same dictionaries.
#[derive(Debug)]
pub struct Generated<T: Templates> {
    latest: GeneratedMessage<T>,
    /// By template, the index of the sequence number in the record.
    seq_num_at: Vec<Option<usize>>,
}

impl<T: Templates> Generated<T> {
    /// Creates an engine around `decoder`, whose messages have their sequence number in `seq_num`.
    /// [`generated::ModuleDecoder::adopting`] creates a decoder that accepts any templates.
    pub fn new(decoder: generated::ModuleDecoder<T>, seq_num: &SeqNumField) -> Self {
        let seq_num_at = seq_num_indexes(decoder.program(), seq_num);
        Self { latest: GeneratedMessage { decoder, is_dynamic: false }, seq_num_at }
    }

    /// Returns the decoder. It reports which templates run generated code, and how many messages
    /// did not.
    pub const fn decoder(&self) -> &generated::ModuleDecoder<T> {
        &self.latest.decoder
    }
}

/// The message that [`Generated`] decoded last.
#[derive(Debug)]
pub struct GeneratedMessage<T: Templates> {
    decoder: generated::ModuleDecoder<T>,
    is_dynamic: bool,
}

impl<T: Templates> GeneratedMessage<T> {
    /// Returns the message: as a type of the module, or of the dynamic decoder if the module does
    /// not know it.
    pub fn message(&self) -> generated::ModuleMessage<'_, T> {
        match self.is_dynamic {
            true => generated::ModuleMessage::Dynamic(self.decoder.dynamic_message()),
            false => generated::ModuleMessage::Known(T::message(self.decoder.messages())),
        }
    }

    /// Returns the message as one of the dynamic engine; a message that generated code decoded is
    /// copied into `builder`.
    ///
    /// # Errors
    /// Those of [`MessageBuilder`] for a message beyond its limits.
    pub fn to_dynamic<'m>(
        &'m self,
        builder: &'m mut MessageBuilder,
    ) -> Result<&'m Message, FastError> {
        match self.message() {
            generated::ModuleMessage::Dynamic(message) => Ok(message),
            generated::ModuleMessage::Known(known) => self.decoder.to_dynamic(known, builder),
        }
    }

    /// Returns the program of the template set.
    pub fn program(&self) -> &Arc<Program> {
        self.decoder.program()
    }

    /// Returns the index of the message's template in the set.
    pub fn template_index(&self) -> usize {
        match self.message() {
            generated::ModuleMessage::Dynamic(message) => message.template_index(),
            // Before the first message there is no template; the first one of the set is used.
            generated::ModuleMessage::Known(known) => {
                self.decoder.template_index(T::number(known)).unwrap_or_default()
            }
        }
    }

    /// Returns the name of the message's template.
    pub fn template_name(&self) -> &str {
        let template = self.program().templates().get(self.template_index());
        template.map_or("", |template| &template.name.local)
    }
}

impl<T: Templates> FeedEngine for Generated<T> {
    type Message = GeneratedMessage<T>;
    type Error = FastError;

    fn begin_packet(&mut self) {
        self.latest.decoder.begin_packet();
    }

    fn reset_dictionaries(&mut self) {
        self.latest.decoder.reset();
    }

    fn lose_dictionaries(&mut self) {
        // No message is empty, so this decoding fails; after a failure the decoder waits for a
        // reset.
        let _ = self.latest.decoder.decode(&[]);
    }

    #[inline]
    fn decode(
        &mut self,
        packet: BufferedPacket<'_>,
    ) -> Result<EngineMessage<'_, GeneratedMessage<T>>, FastError> {
        let decoded = self.latest.decoder.decode_packet(packet)?;
        let len = decoded.len;
        self.latest.is_dynamic = matches!(decoded.message, generated::ModuleMessage::Dynamic(_));
        let index = self.seq_num_at.get(self.latest.template_index()).copied().flatten();
        let seq_num = index.and_then(|index| number_of(&self.latest, index));
        Ok(EngineMessage { message: &self.latest, len, seq_num })
    }

    fn is_unknown_template(error: &FastError) -> bool {
        error.kind() == FastErrorKind::UnknownTemplate
    }
}

/// Returns the unsigned integer in the field at `index` of a message.
fn number_of<T: Templates>(message: &GeneratedMessage<T>, index: usize) -> Option<u64> {
    match message.message() {
        generated::ModuleMessage::Dynamic(message) => match message.root().value(index) {
            tickwire_fast::FieldValue::UInt(number) => Some(number),
            _ => None,
        },
        generated::ModuleMessage::Known(known) => {
            let mut search = Search { index, found: None };
            T::visit_tags(known, &mut search);
            search.found
        }
    }
}

/// Looks for an integer in the outermost record.
struct Search {
    index: usize,
    found: Option<u64>,
}

impl<'m> VisitTags<'m> for Search {
    #[inline(always)]
    fn value<const INDEX: usize, const TAG: u32>(&mut self, value: ModuleValue<'m>) {
        if let (true, ModuleValue::UInt(number)) = (INDEX == self.index, value) {
            self.found = Some(number);
        }
    }
}
