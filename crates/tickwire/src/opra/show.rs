//! Market events of OPRA lines as they occur: best prices, trades, statistics, status.

use crate::receive::show::event;
use crate::receive::show::row::{self, Cell, Row};
use clap::ValueEnum;
use tickwire_feed::arbiter::Gap;
use tickwire_feed::book::{BookUpdate, Level, LevelAction, Side};
use tickwire_feed::market::{
    Adapt, Clear, Instrument, InstrumentKey, Instruments, MarketEvent, MarketSink, Update,
};
use tickwire_feed::opra::{Event, OpraAdapter};
use tickwire_opra::Message;

/// Maximum number of series per line.
const SERIES_MAX: usize = 1 << 20;

/// The kinds of market events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    /// Best bid and offer of a series, at each change.
    Bbo,
    /// Last sales.
    Trades,
    /// Fresh and stale best prices, gaps, resets, statistics, status.
    Events,
}

/// Reason why best prices are stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stale {
    /// The line has not sent both sides yet.
    NotTold,
    /// The line has lost messages since both sides were sent.
    Gap,
    /// The sequence numbers or the day were reset.
    Reset,
}

impl Stale {
    const fn label(self) -> &'static str {
        match self {
            Self::NotTold => "no_snapshot",
            Self::Gap => "gap",
            Self::Reset => "reset",
        }
    }
}

/// The best prices of a series.
#[derive(Clone, Debug)]
struct Series {
    best: [Option<Level>; 2],
    /// Sides received since the last loss.
    told: [bool; 2],
    /// Reason for being stale until both sides have been received.
    stale: Option<Stale>,
    is_changed: bool,
}

/// Converts the messages of a line to rows.
pub struct Market {
    adapter: OpraAdapter,
    taking: Taking,
}

struct Taking {
    shown: Vec<Shown>,
    instruments: Instruments,
    series: Vec<Series>,
    changed: Vec<Instrument>,
    /// Rows of the current packet, whose time is not known yet.
    rows: Vec<Row>,
}

impl Market {
    /// The state of a line before its first message.
    pub fn new(shown: &[Shown]) -> Self {
        let taking = Taking {
            shown: shown.to_vec(),
            instruments: Instruments::new(SERIES_MAX),
            series: Vec::new(),
            changed: Vec::new(),
            rows: Vec::new(),
        };
        Self { adapter: OpraAdapter::new(), taking }
    }

    /// Handles a message.
    pub fn message(&mut self, message: &Message<'_>) {
        let seq_num = message.seq_num().unwrap_or_default();
        let Self { adapter, taking } = self;
        // Every OPRA message can be adapted; absent information is not an error.
        let _ = adapter.adapt(message, seq_num, taking);
        taking.tell_changes();
    }

    /// Handles a gap or a reset, or writes the rows of a packet. Times of the handler plus `epoch_ns` are
    /// nanoseconds since 1970.
    pub fn event(&mut self, event: &Event, epoch_ns: u64, out: &mut Vec<u8>) {
        match event {
            Event::Gap(gap) => self.gap(*gap),
            Event::Packet { received_ns, .. } => {
                self.write(received_ns.saturating_add(epoch_ns), out);
            }
            Event::Reset { seq_num } => self.reset(*seq_num),
        }
    }

    /// Marks best prices stale until both sides arrive again, because messages were lost.
    fn gap(&mut self, gap: Gap) {
        if self.taking.shows(Shown::Events) {
            self.taking.rows.push(event::gap(0, gap));
        }
        self.taking.lose(Stale::Gap);
    }

    /// The numbers restart.
    fn reset(&mut self, seq_num: u64) {
        if self.taking.shows(Shown::Events) {
            self.taking.rows.push(event::reset(0, seq_num));
        }
        self.taking.lose(Stale::Reset);
    }

    /// Writes the rows of the packet that arrived at `time_ns` since 1970.
    fn write(&mut self, time_ns: u64, out: &mut Vec<u8>) {
        for mut row in self.taking.rows.drain(..) {
            for (name, cell) in &mut row {
                if *name == "time" {
                    *cell = Cell::Number(time_ns);
                }
            }
            row::push_json(out, &row);
        }
    }
}

impl Taking {
    fn shows(&self, shown: Shown) -> bool {
        self.shown.contains(&shown)
    }

    /// Marks all best prices as stale.
    fn lose(&mut self, reason: Stale) {
        for (instrument, series) in self.instruments.iter().zip(&mut self.series) {
            series.told = [false; 2];
            if reason == Stale::Reset {
                series.best = [None; 2];
            }
            if series.stale != Some(reason) && series.stale != Some(Stale::NotTold) {
                series.stale = Some(reason);
                let name = self.instruments.name(instrument);
                if self.shown.contains(&Shown::Events) {
                    self.rows.push(state_row(name, series));
                }
                if self.shown.contains(&Shown::Bbo) {
                    self.rows.push(bbo_row(name, series));
                }
            }
        }
    }

    fn tell_changes(&mut self) {
        for instrument in std::mem::take(&mut self.changed) {
            let name = self.instruments.name(instrument);
            let Some(series) = self.series.get_mut(instrument.index()) else { continue };
            series.is_changed = false;
            let is_fresh_now = series.stale.is_some() && series.told == [true; 2];
            if is_fresh_now {
                series.stale = None;
                if self.shown.contains(&Shown::Events) {
                    self.rows.push(state_row(name, series));
                }
            }
            if self.shown.contains(&Shown::Bbo) {
                self.rows.push(bbo_row(name, series));
            }
        }
    }
}

impl MarketSink for Taking {
    fn instrument(&mut self, key: InstrumentKey<'_>) -> Option<Instrument> {
        let instrument = self.instruments.intern(key)?;
        if instrument.index() >= self.series.len() {
            let (best, told, stale) = ([None; 2], [false; 2], Some(Stale::NotTold));
            self.series.push(Series { best, told, stale, is_changed: false });
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
        match told {
            MarketEvent::Trade(trade) if self.shows(Shown::Trades) => {
                let name = self.instruments.name(trade.instrument);
                self.rows.push(event::trade(0, name, trade));
            }
            told if self.shows(Shown::Events) => {
                self.rows.extend(event::event(0, told, &self.instruments));
            }
            _ => {}
        }
    }
}

fn state_row(name: &str, series: &Series) -> Row {
    let event = if series.stale.is_some() { "stale" } else { "fresh" };
    vec![
        ("event", Cell::Text(event.to_owned())),
        ("time", Cell::Null),
        ("instrument", Cell::Text(name.to_owned())),
        ("kind", Cell::Text("outright".to_owned())),
        ("reason", Cell::text(series.stale.map(Stale::label))),
    ]
}

fn bbo_row(name: &str, series: &Series) -> Row {
    let state = if series.stale.is_some() { "stale" } else { "fresh" };
    let cell = |level: &Option<Level>| {
        level.map_or(Cell::Null, |level| {
            Cell::Level(level.price.to_string(), level.size.to_string(), level.orders)
        })
    };
    let [bid, offer] = &series.best;
    vec![
        ("time", Cell::Null),
        ("instrument", Cell::Text(name.to_owned())),
        ("state", Cell::Text(state.to_owned())),
        ("reason", Cell::text(series.stale.map(Stale::label))),
        ("kind", Cell::Text("outright".to_owned())),
        ("bid", cell(bid)),
        ("offer", cell(offer)),
    ]
}
