//! Books, or none.

use std::sync::Arc;
use tickwire_fast::Program;
use tickwire_feed::handler::Adapt;
use tickwire_feed::recovery::{LevelNaming, MarketData, MarketDataAdapter, MarketDataError};

/// Updates and snapshots of messages, if books are wanted.
pub struct MaybeBooks(Option<MarketDataAdapter>);

impl MaybeBooks {
    /// Books with levels named like this; `None` for no books.
    pub fn new(program: &Arc<Program>, naming: Option<LevelNaming>) -> Self {
        Self(naming.map(|naming| MarketDataAdapter::new(program.clone(), naming)))
    }
}

impl<M: ?Sized> Adapt<M> for MaybeBooks
where
    MarketDataAdapter: Adapt<M>,
{
    fn adapt(
        &mut self,
        message: &M,
        packet_seq_num: u64,
    ) -> Result<MarketData<'_>, MarketDataError> {
        match &mut self.0 {
            Some(adapter) => Adapt::adapt(adapter, message, packet_seq_num),
            None => Ok(MarketData::Other),
        }
    }
}
