//! Tracks the best prices of the series on an OPRA line, and why they are stale.

use tickwire_feed::arbiter::Gap;
use tickwire_feed::book::{BookUpdate, Level, LevelAction, Side};
use tickwire_feed::market::{
    Adapt, Clear, Instrument, InstrumentKey, Instruments, MarketEvent, MarketSink, Update,
};
use tickwire_feed::opra::{OpraAdapter, OpraEvent};
use tickwire_opra::OpraMessage;

/// Maximum number of series per line.
const SERIES_MAX: usize = 1 << 20;

/// Receives the market events of a line.
pub trait LineNews {
    /// Called when the best prices of a series have changed or become stale.
    fn best_changed(&mut self, instrument: Instrument, name: &str, series: &SeriesBestPrices);

    /// Called when the best prices of a series have become fresh or stale.
    fn freshness_changed(&mut self, _name: &str, _series: &SeriesBestPrices) {}

    /// Called for a trade, a status or a statistic.
    fn told(&mut self, event: &MarketEvent<'_>, instruments: &Instruments);

    /// Called when messages were lost.
    fn gap(&mut self, _gap: Gap) {}

    /// Called when the sequence numbers restart.
    fn reset(&mut self, _seq_num: u64) {}
}

/// Why best prices are stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// The line has not sent both sides yet.
    NotTold,
    /// The line has lost messages since the prices were sent.
    Gap,
    /// The sequence numbers or the day were reset.
    Reset,
}

impl Stale {
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotTold => "no_snapshot",
            Self::Gap => "gap",
            Self::Reset => "reset",
        }
    }
}

/// The best prices of a series.
#[derive(Clone, Debug)]
pub struct SeriesBestPrices {
    /// Best bid and best offer.
    pub best: [Option<Level>; 2],
    /// Why they are stale; `None` once the line has sent both sides.
    pub stale: Option<Stale>,
    /// Sides (bid, offer) that the line has sent since the last gap or reset.
    told: [bool; 2],
    is_changed: bool,
}

/// Tracks the best prices of a line.
pub struct BestPrices<N> {
    adapter: OpraAdapter,
    taking: BestPriceTracker<N>,
}

struct BestPriceTracker<N> {
    news: N,
    instruments: Instruments,
    series: Vec<SeriesBestPrices>,
    changed: Vec<Instrument>,
}

impl<N: LineNews> BestPrices<N> {
    /// Creates the state of a line before its first message.
    pub fn new(news: N) -> Self {
        let instruments = Instruments::new(SERIES_MAX);
        let taking =
            BestPriceTracker { news, instruments, series: Vec::new(), changed: Vec::new() };
        Self { adapter: OpraAdapter::new(), taking }
    }

    /// Returns the receiver of the events.
    pub fn news(&mut self) -> &mut N {
        &mut self.taking.news
    }

    /// Returns the receiver of the events, and the instruments that the events refer to.
    pub fn news_and_instruments(&mut self) -> (&mut N, &Instruments) {
        (&mut self.taking.news, &self.taking.instruments)
    }

    /// Handles a message.
    pub fn message(&mut self, message: &OpraMessage<'_>) {
        let seq_num = message.seq_num().unwrap_or_default();
        let Self { adapter, taking } = self;
        // The OPRA adapter never fails.
        let _ = adapter.adapt(message, seq_num, taking);
        taking.tell_changes();
    }

    /// Handles a gap or a reset: best prices are stale until the line has sent both sides again.
    pub fn event(&mut self, event: &OpraEvent) {
        match event {
            OpraEvent::Gap(gap) => {
                self.taking.news.gap(*gap);
                self.taking.lose(Stale::Gap);
            }
            OpraEvent::Reset { seq_num } => {
                self.taking.news.reset(*seq_num);
                self.taking.lose(Stale::Reset);
            }
            OpraEvent::Packet { .. } => {}
        }
    }
}

impl<N: LineNews> BestPriceTracker<N> {
    /// Marks all best prices as stale.
    fn lose(&mut self, reason: Stale) {
        let Self { news, instruments, series, .. } = self;
        for (instrument, series) in instruments.iter().zip(series) {
            series.told = [false; 2];
            if reason == Stale::Reset {
                series.best = [None; 2];
            }
            if series.stale != Some(reason) && series.stale != Some(Stale::NotTold) {
                series.stale = Some(reason);
                let name = instruments.name(instrument);
                news.freshness_changed(name, series);
                news.best_changed(instrument, name, series);
            }
        }
    }

    fn tell_changes(&mut self) {
        let Self { news, instruments, series, changed } = self;
        for instrument in changed.drain(..) {
            let name = instruments.name(instrument);
            let Some(series) = series.get_mut(instrument.index()) else { continue };
            series.is_changed = false;
            let is_fresh_now = series.stale.is_some() && series.told == [true; 2];
            if is_fresh_now {
                series.stale = None;
                news.freshness_changed(name, series);
            }
            news.best_changed(instrument, name, series);
        }
    }
}

impl<N: LineNews> MarketSink for BestPriceTracker<N> {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        let instrument = self.instruments.intern(key)?;
        if instrument.index() >= self.series.len() {
            let (best, told, stale) = ([None; 2], [false; 2], Some(Stale::NotTold));
            self.series.push(SeriesBestPrices { best, told, stale, is_changed: false });
        }
        Some(instrument)
    }

    fn update(&mut self, update: &Update) {
        let BookUpdate::ByLevel { side, action, .. } = update.change else { return };
        let Some(series) = self.series.get_mut(update.instrument.index()) else { return };
        let index = usize::from(side == Side::Offer);
        series.best[index] = match action {
            LevelAction::New(level) | LevelAction::Change(level) => Some(level),
            LevelAction::Delete | LevelAction::DeleteThru | LevelAction::DeleteFrom => None,
        };
        series.told[index] = true;
        if !std::mem::replace(&mut series.is_changed, true) {
            self.changed.push(update.instrument);
        }
    }

    fn clear(&mut self, _: &Clear<'_>) {
        self.lose(Stale::Reset);
    }

    fn event(&mut self, told: &MarketEvent<'_>) {
        self.news.told(told, &self.instruments);
    }
}
