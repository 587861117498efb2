//! Market events of OPRA lines as they occur: best prices, trades, statistics, status.

use super::best::{BestPrices, LineNews, SeriesBestPrices, Stale};
use crate::receive::show::event;
use crate::receive::show::row::{self, MemberRow, MemberValue};
use clap::ValueEnum;
use tickwire_feed::arbiter::Gap;
use tickwire_feed::book::Level;
use tickwire_feed::market::{Instrument, Instruments, MarketEvent};
use tickwire_feed::opra::OpraEvent;
use tickwire_opra::OpraMessage;

/// The kinds of market events of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OpraEventKind {
    /// Best bid and offer of a series, at each change.
    Bbo,
    /// Last sales.
    Trades,
    /// Fresh and stale best prices, gaps, resets, statistics, status.
    Events,
}

/// Converts the messages of a line to rows.
pub struct MarketRows(BestPrices<ShownRows>);

struct ShownRows {
    shown: Vec<OpraEventKind>,
    /// Rows of the current packet, whose time is not known yet.
    rows: Vec<MemberRow>,
}

impl MarketRows {
    /// The state of a line before its first message.
    pub fn new(shown: &[OpraEventKind]) -> Self {
        Self(BestPrices::new(ShownRows { shown: shown.to_vec(), rows: Vec::new() }))
    }

    /// Handles a message.
    pub fn message(&mut self, message: &OpraMessage<'_>) {
        self.0.message(message);
    }

    /// Handles a gap or a reset, or writes the rows of a packet. Times of the handler plus `epoch_ns` are
    /// nanoseconds since 1970.
    pub fn event(&mut self, event: &OpraEvent, epoch_ns: u64, out: &mut Vec<u8>) {
        self.0.event(event);
        if let OpraEvent::Packet { received_ns, .. } = event {
            self.0.news().write(received_ns.saturating_add(epoch_ns), out);
        }
    }
}

impl ShownRows {
    fn shows(&self, shown: OpraEventKind) -> bool {
        self.shown.contains(&shown)
    }

    /// Writes the rows of the packet that arrived at `time_ns` since 1970.
    fn write(&mut self, time_ns: u64, out: &mut Vec<u8>) {
        for mut row in self.rows.drain(..) {
            for (name, cell) in &mut row {
                if *name == "time" {
                    *cell = MemberValue::Number(time_ns);
                }
            }
            row::push_json(out, &row);
        }
    }
}

impl LineNews for ShownRows {
    fn best_changed(&mut self, _instrument: Instrument, name: &str, series: &SeriesBestPrices) {
        if self.shows(OpraEventKind::Bbo) {
            self.rows.push(bbo_row(name, series));
        }
    }

    fn freshness_changed(&mut self, name: &str, series: &SeriesBestPrices) {
        if self.shows(OpraEventKind::Events) {
            self.rows.push(state_row(name, series));
        }
    }

    fn told(&mut self, told: &MarketEvent<'_>, instruments: &Instruments) {
        match told {
            MarketEvent::Trade(trade) if self.shows(OpraEventKind::Trades) => {
                self.rows.push(event::trade(0, instruments.name(trade.instrument), trade));
            }
            told if self.shows(OpraEventKind::Events) => {
                self.rows.extend(event::event(0, told, instruments));
            }
            _ => {}
        }
    }

    fn gap(&mut self, gap: Gap) {
        if self.shows(OpraEventKind::Events) {
            self.rows.push(event::gap(0, gap));
        }
    }

    fn reset(&mut self, seq_num: u64) {
        if self.shows(OpraEventKind::Events) {
            self.rows.push(event::reset(0, seq_num));
        }
    }
}

fn state_row(name: &str, series: &SeriesBestPrices) -> MemberRow {
    let event = if series.stale.is_some() { "stale" } else { "fresh" };
    vec![
        ("event", MemberValue::Text(event.to_owned())),
        ("time", MemberValue::Null),
        ("instrument", MemberValue::Text(name.to_owned())),
        ("kind", MemberValue::Text("outright".to_owned())),
        ("reason", MemberValue::text(series.stale.map(Stale::label))),
    ]
}

fn bbo_row(name: &str, series: &SeriesBestPrices) -> MemberRow {
    let state = if series.stale.is_some() { "stale" } else { "fresh" };
    let cell = |level: &Option<Level>| {
        level.map_or(MemberValue::Null, |level| {
            MemberValue::Level(level.price.to_string(), level.size.to_string(), level.orders)
        })
    };
    let [bid, offer] = &series.best;
    vec![
        ("time", MemberValue::Null),
        ("instrument", MemberValue::Text(name.to_owned())),
        ("state", MemberValue::Text(state.to_owned())),
        ("reason", MemberValue::text(series.stale.map(Stale::label))),
        ("kind", MemberValue::Text("outright".to_owned())),
        ("bid", cell(bid)),
        ("offer", cell(offer)),
    ]
}
