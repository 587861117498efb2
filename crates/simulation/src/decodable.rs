//! Messages of both engines, in a form that can be compared with the messages sent.

use tickwire_fast::generated::Templates;
use tickwire_fast::{FastError, Message, MessageBuilder};
use tickwire_feed::handler::GeneratedMessage;

/// A message of an engine.
pub(crate) trait Decodable {
    /// Returns the message as one of the dynamic engine; other messages are copied into `builder`.
    fn to_dynamic<'m>(&'m self, builder: &'m mut MessageBuilder) -> Result<&'m Message, FastError>;
}

impl Decodable for Message {
    fn to_dynamic<'m>(&'m self, _: &'m mut MessageBuilder) -> Result<&'m Message, FastError> {
        Ok(self)
    }
}

impl<T: Templates> Decodable for GeneratedMessage<T> {
    fn to_dynamic<'m>(&'m self, builder: &'m mut MessageBuilder) -> Result<&'m Message, FastError> {
        GeneratedMessage::to_dynamic(self, builder)
    }
}
