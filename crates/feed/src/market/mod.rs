//! What feeds say about the market, in words that do not depend on a codec.
//!
//! An adapter turns decoded messages into [`Update`]s, [`Snapshot`]s and [`MarketEvent`]s and pushes
//! them into a [`MarketSink`], entry by entry. [`MarketDataAdapter`] does so for FAST messages of FIX
//! market data, [`OrderAdapter`] for FAST feeds that tell single orders; a user's own codec needs
//! nothing but [`Adapt`]. [`Recovery`](crate::recovery::Recovery) is the sink that keeps books.
//!
//! Instruments are named by the feed with a number or a text, or several fields together;
//! [`Instruments`] gives each a dense index, [`Instrument`].

mod choice;
mod event;
mod fast;
mod instruments;
mod sink;

pub use choice::{BookAdapter, BookChoice};
pub use event::{ExchangeTime, MarketEvent, Statistic, Status, StatusScope, Trade, TradeAction};
pub use fast::{
    AdapterOptions, BookModel, KEY_FIELDS_MAX, MarketDataAdapter, MarketDataError, OrderAdapter,
    OrderFields,
};
pub use instruments::{Definition, Instrument, InstrumentKey, Instruments};
pub use sink::{
    Adapt, Clear, ClearScope, Fragment, LevelName, LevelUpdate, MarketSink, NoBooks, Snapshot,
    SnapshotLevel, Update,
};

/// Which orders the levels of a book are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BookKind {
    /// Orders for the instrument itself.
    #[default]
    Outright,
    /// Orders that the exchange derives from those for other instruments: QuoteCondition (276) K.
    Implied,
}

impl BookKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Outright, Self::Implied];

    /// `outright` or `implied`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outright => "outright",
            Self::Implied => "implied",
        }
    }
}
