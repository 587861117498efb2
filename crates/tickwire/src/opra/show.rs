//! Market events of OPRA lines as they occur: best prices, trades, statistics, status.

use super::best::{BestPrices, LineNews, Series, Stale};
use crate::receive::show::event;
use crate::receive::show::row::{self, Cell, Row};
use clap::ValueEnum;
use tickwire_feed::arbiter::Gap;
use tickwire_feed::book::Level;
use tickwire_feed::market::{Instrument, Instruments, MarketEvent};
use tickwire_feed::opra::Event;
use tickwire_opra::Message;

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

/// Converts the messages of a line to rows.
pub struct Market(BestPrices<ShownRows>);

struct ShownRows {
    shown: Vec<Shown>,
    /// Rows of the current packet, whose time is not known yet.
    rows: Vec<Row>,
}

impl Market {
    /// The state of a line before its first message.
    pub fn new(shown: &[Shown]) -> Self {
        Self(BestPrices::new(ShownRows { shown: shown.to_vec(), rows: Vec::new() }))
    }

    /// Handles a message.
    pub fn message(&mut self, message: &Message<'_>) {
        self.0.message(message);
    }

    /// Handles a gap or a reset, or writes the rows of a packet. Times of the handler plus `epoch_ns` are
    /// nanoseconds since 1970.
    pub fn event(&mut self, event: &Event, epoch_ns: u64, out: &mut Vec<u8>) {
        self.0.event(event);
        if let Event::Packet { received_ns, .. } = event {
            self.0.news().write(received_ns.saturating_add(epoch_ns), out);
        }
    }
}

impl ShownRows {
    fn shows(&self, shown: Shown) -> bool {
        self.shown.contains(&shown)
    }

    /// Writes the rows of the packet that arrived at `time_ns` since 1970.
    fn write(&mut self, time_ns: u64, out: &mut Vec<u8>) {
        for mut row in self.rows.drain(..) {
            for (name, cell) in &mut row {
                if *name == "time" {
                    *cell = Cell::Number(time_ns);
                }
            }
            row::push_json(out, &row);
        }
    }
}

impl LineNews for ShownRows {
    fn best_changed(&mut self, _instrument: Instrument, name: &str, series: &Series) {
        if self.shows(Shown::Bbo) {
            self.rows.push(bbo_row(name, series));
        }
    }

    fn freshness_changed(&mut self, name: &str, series: &Series) {
        if self.shows(Shown::Events) {
            self.rows.push(state_row(name, series));
        }
    }

    fn told(&mut self, told: &MarketEvent<'_>, instruments: &Instruments) {
        match told {
            MarketEvent::Trade(trade) if self.shows(Shown::Trades) => {
                self.rows.push(event::trade(0, instruments.name(trade.instrument), trade));
            }
            told if self.shows(Shown::Events) => {
                self.rows.extend(event::event(0, told, instruments));
            }
            _ => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        if self.shows(Shown::Events) {
            self.rows.push(event::gap(0, gap));
        }
    }

    fn reset(&mut self, seq_num: u64) {
        if self.shows(Shown::Events) {
            self.rows.push(event::reset(0, seq_num));
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
