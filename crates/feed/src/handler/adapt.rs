//! What a message says about books, whatever engine decoded it.

use tickwire_fast::Message;
use tickwire_fast::rt::{self, Templates};

use super::GeneratedMessage;
use crate::recovery::{MarketData, MarketDataAdapter, MarketDataError};

/// Makes updates and snapshots of messages.
pub trait Adapt<M: ?Sized> {
    /// What a message says. `packet_seq_num` stands in where a message has no number of its own.
    ///
    /// # Errors
    /// [`MarketDataError`] if it cannot be understood.
    fn adapt(
        &mut self,
        message: &M,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError>;
}

impl Adapt<Message> for MarketDataAdapter {
    fn adapt(
        &mut self,
        message: &Message,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        MarketDataAdapter::adapt(self, message, packet_seq_num)
    }
}

impl<T: Templates> Adapt<GeneratedMessage<T>> for MarketDataAdapter {
    fn adapt(
        &mut self,
        message: &GeneratedMessage<T>,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        match message.message() {
            rt::Message::Dynamic(message) => self.adapt(message, packet_seq_num),
            rt::Message::Known(known) => {
                let program = message.program();
                self.adapt_generated::<T>(program, message.template_index(), known, packet_seq_num)
            }
        }
    }
}

/// For feeds without books: no message says anything about them.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBooks;

impl<M: ?Sized> Adapt<M> for NoBooks {
    fn adapt(&mut self, _: &M, _: u64) -> Result<MarketData<'_>, MarketDataError> {
        Ok(MarketData::Other)
    }
}
