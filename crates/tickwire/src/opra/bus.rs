//! Publishes OPRA lines: best prices, trades and status of each series.

use super::best::{BestPrices, LineNews, SeriesBestPrices, Stale};
use super::show::OpraEventKind;
use crate::distribution::{Bus, BusArgs};
use crate::failure::Failure;
use crate::output::OutputArgs;
use tickwire_distribution::market::{ChangeOrigin, MarketSamples};
use tickwire_distribution::{OutletError, Outlets};
use tickwire_feed::book::{Amount, Level};
use tickwire_feed::market::{
    BookKind, ExchangeTime, Instrument, Instruments, MarketEvent, Status, Trade, TradeAction,
};
use tickwire_feed::opra::OpraEvent;
use tickwire_opra::OpraMessage;

/// Refuses an output file into which nothing would be written: with `--publish`, only `--show` prints.
pub fn check_output(
    bus: &BusArgs,
    show: &[OpraEventKind],
    output: &OutputArgs,
) -> Result<(), Failure> {
    match (bus.publish && show.is_empty(), output.path()) {
        (true, Some(_)) => Err(Failure::Usage(
            "--output: with --publish alone nothing is printed; add --show, or leave out --output"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Publishes the market events of one line.
pub struct LineBus {
    bus: Bus,
    prices: BestPrices<PacketNews>,
    samples: MarketSamples,
    /// Offset that converts times of the handler to nanoseconds since 1970.
    epoch_ns: u64,
    failure: Option<OutletError>,
}

/// Events of the current packet, kept until its receive time is known.
#[derive(Default)]
struct PacketNews {
    /// Sequence number of the current message.
    seq_num: Option<u64>,
    news: Vec<(Option<u64>, News)>,
}

/// An event to publish.
enum News {
    Best { instrument: Instrument, best: [Option<Level>; 2], stale: Option<Stale> },
    Trade(Sale),
    Status(Status),
}

/// A last sale. OPRA has one condition per trade.
struct Sale {
    instrument: Instrument,
    action: TradeAction,
    price: Option<Amount>,
    size: Option<Amount>,
    time: ExchangeTime,
    condition: Option<u8>,
}

impl LineBus {
    /// Creates the publisher of a line; its number, from 1, becomes the name of the channel.
    pub fn new(bus: Bus, source_name: &str, line: u16, epoch_ns: u64) -> Self {
        Self {
            bus,
            prices: BestPrices::new(PacketNews::default()),
            samples: MarketSamples::new(source_name, &line.to_string(), None),
            epoch_ns,
            failure: None,
        }
    }

    /// Handles a message.
    pub fn message(&mut self, message: &OpraMessage<'_>) {
        self.prices.news().seq_num = message.seq_num();
        self.prices.message(message);
    }

    /// Handles an event of the reception and publishes the pending market events. `now_ns` is the time of gaps and
    /// resets, which have no packet.
    pub fn event(&mut self, event: &OpraEvent, now_ns: u64) {
        let handler_ns = match event {
            OpraEvent::Packet { received_ns, .. } => *received_ns,
            OpraEvent::Gap(_) | OpraEvent::Reset { .. } => now_ns,
        };
        self.prices.news().seq_num = None;
        self.prices.event(event);
        let received_ns = handler_ns.saturating_add(self.epoch_ns);
        let Self { bus, prices, samples, failure, .. } = self;
        if let Err(error) = bus.with(|outlets| publish(outlets, prices, samples, received_ns)) {
            failure.get_or_insert(error);
        }
    }

    /// Returns the error with which the transport rejected a sample; reception should then end.
    pub fn failure(&self) -> Option<&OutletError> {
        self.failure.as_ref()
    }
}

fn publish(
    outlets: &mut Outlets,
    prices: &mut BestPrices<PacketNews>,
    samples: &mut MarketSamples,
    received_ns: u64,
) -> Result<(), OutletError> {
    let (pending, instruments) = prices.news_and_instruments();
    for (seq_num, news) in pending.news.drain(..) {
        let origin = ChangeOrigin { seq_num, sending_time: None, received_ns };
        match news {
            News::Best { instrument, best, stale } => {
                let key = (instrument, BookKind::Outright);
                let best = best.each_ref().map(Option::as_ref);
                let (name, stale) = (instruments.name(instrument), stale.map_or("", Stale::label));
                samples.publish_top(outlets, key, name, best, stale, &origin)?;
            }
            News::Trade(sale) => {
                let Sale { instrument, action, price, size, time, condition } = sale;
                let (id, aggressor, conditions) = (None, None, condition.as_slice());
                let trade =
                    Trade { instrument, action, price, size, time, id, aggressor, conditions };
                let event = MarketEvent::Trade(trade);
                samples.publish_event(outlets, &event, instruments, &origin)?;
            }
            News::Status(status) => {
                let event = MarketEvent::Status(status);
                samples.publish_event(outlets, &event, instruments, &origin)?;
            }
        }
    }
    Ok(())
}

impl LineNews for PacketNews {
    fn best_changed(&mut self, instrument: Instrument, _name: &str, series: &SeriesBestPrices) {
        let SeriesBestPrices { best, stale, .. } = *series;
        self.news.push((self.seq_num, News::Best { instrument, best, stale }));
    }

    fn told(&mut self, event: &MarketEvent<'_>, _instruments: &Instruments) {
        let news = match *event {
            MarketEvent::Trade(Trade {
                instrument, action, price, size, time, conditions, ..
            }) => {
                let condition = conditions.first().copied();
                News::Trade(Sale { instrument, action, price, size, time, condition })
            }
            MarketEvent::Status(status) => News::Status(status),
            _ => return,
        };
        self.news.push((self.seq_num, news));
    }
}
