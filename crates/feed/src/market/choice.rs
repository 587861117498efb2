//! Chooses the adapter that fits a template set.

use std::sync::Arc;

use tickwire_fast::Program;

use super::fast::has_entries;
use super::{
    Adapt, AdapterOptions, BookModel, MarketDataAdapter, MarketDataError, MarketSink, OrderAdapter,
    OrderFields,
};
use crate::recovery::Continuity;

/// How books are built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookChoice {
    /// As the templates suggest.
    #[default]
    Auto,
    /// By MDPriceLevel (1023).
    Level,
    /// By price.
    Price,
    /// By order.
    Order,
    /// No books; trades, status and definitions are not reported either.
    None,
}

impl BookChoice {
    const fn model(self) -> Option<BookModel> {
        match self {
            Self::Auto | Self::None => None,
            Self::Level => Some(BookModel::ByLevel),
            Self::Price => Some(BookModel::ByPrice),
            Self::Order => Some(BookModel::ByOrder),
        }
    }
}

/// The adapter of a feed whose templates are known when the program runs.
#[derive(Debug)]
pub enum BookAdapter {
    /// Messages with entries (269).
    MarketData(Box<MarketDataAdapter>),
    /// Messages with one order each.
    Orders(OrderAdapter),
    /// Messages without book data.
    None,
}

impl BookAdapter {
    /// Chooses by the content of the templates: entries with MDEntryType (269), else the templates
    /// of a feed of orders. `key` are the FIX tags that identify an instrument; empty detects them.
    pub fn new(program: &Arc<Program>, choice: BookChoice, key: &[u32]) -> Self {
        if choice == BookChoice::None {
            return Self::None;
        }
        if has_entries(program) {
            let options = AdapterOptions { model: choice.model(), key: key.to_vec() };
            return Self::MarketData(Box::new(MarketDataAdapter::new(program.clone(), &options)));
        }
        let orders = OrderAdapter::new(program.clone(), &OrderFields::default());
        orders.map_or(Self::None, Self::Orders)
    }

    /// True if each message carries a single order. Such feeds have no snapshots, and their books
    /// are empty before the first message.
    pub const fn is_of_orders(&self) -> bool {
        matches!(self, Self::Orders(_))
    }

    /// Returns how updates are numbered: by RptSeq (83) if entries have it.
    pub fn continuity(&self) -> Continuity {
        match self {
            Self::MarketData(adapter) if adapter.has_rpt_seq() => Continuity::RptSeq,
            Self::None => Continuity::RptSeq,
            Self::MarketData(_) | Self::Orders(_) => Continuity::SeqNum,
        }
    }
}

impl<M: ?Sized> Adapt<M> for BookAdapter
where
    MarketDataAdapter: Adapt<M>,
    OrderAdapter: Adapt<M>,
{
    #[inline]
    fn adapt<S: MarketSink>(
        &mut self,
        message: &M,
        seq_num: u64,
        sink: &mut S,
    ) -> Result<(), MarketDataError> {
        match self {
            Self::MarketData(adapter) => adapter.adapt(message, seq_num, sink),
            Self::Orders(adapter) => adapter.adapt(message, seq_num, sink),
            Self::None => Ok(()),
        }
    }

    fn has_sending_times(&self) -> bool {
        match self {
            Self::MarketData(adapter) => Adapt::<M>::has_sending_times(&**adapter),
            Self::Orders(_) | Self::None => false,
        }
    }

    fn sending_time(&self, message: &M) -> Option<u64> {
        match self {
            Self::MarketData(adapter) => adapter.sending_time(message),
            Self::Orders(_) | Self::None => None,
        }
    }
}
