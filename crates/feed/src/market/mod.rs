//! Market data messages, independent of a codec.
//!
//! An adapter converts decoded messages to [`Update`]s, [`Snapshot`]s and [`MarketEvent`]s and
//! pushes them into a [`MarketSink`], entry by entry. [`MarketDataAdapter`] does so for FAST
//! messages of FIX market data, [`OrderAdapter`] for FAST feeds of single orders. For your own
//! codec, implement [`Adapt`]. [`Recovery`](crate::recovery::Recovery) is the sink that keeps
//! books.
//!
//! A feed identifies an instrument by a number, a text, or several fields together; [`Instruments`]
//! gives each a dense index, [`Instrument`].

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
    Adapt, Clear, ClearScope, LevelName, LevelUpdate, MarketSink, NoBooks, Snapshot,
    SnapshotFragment, SnapshotLevel, Update,
};

/// Orders that the levels of a book include.
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
