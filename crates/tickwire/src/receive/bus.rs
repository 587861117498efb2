//! Publishing of `receive --publish`: the books and events of all channels.

use super::show::ShownKinds;
use crate::console::tell;
use crate::distribution::{DeliveryArgs, OutletError, Outlets, Places, PublishTransport, refused};
use crate::failure::Failure;
use crate::units::{Span, span_in};
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_distribution::market::{MarketSamples, Origin, market_sets};
use tickwire_feed::market::MarketEvent;
use tickwire_feed::recovery::{BookChange, Recovery};
use tickwire_net::Stop;

/// Publishing of books and events.
#[derive(Clone, Debug, clap::Args)]
pub struct BusArgs {
    /// Publish best prices, books, trades, status and definitions over DDS or shared memory, on the
    /// topics BookTop, Book, Trade, Status and Definition, keyed by instrument.
    #[arg(long, help_heading = "Publishing")]
    pub publish: bool,
    /// Name of the feed in the samples.
    #[arg(long, value_name = "NAME", default_value = "", help_heading = "Publishing")]
    source_name: String,
    /// Levels per side to publish. Default: the whole book.
    #[arg(long, value_name = "LEVELS", help_heading = "Publishing")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    publish_depth: Option<u32>,
    /// Subscribers to wait for before the first packet. Default: 1 for captures, 0 for groups.
    #[arg(long, value_name = "COUNT", help_heading = "Publishing")]
    subscribers: Option<u32>,
    /// Longest wait for subscribers: until they connect, until they make room, and until they have
    /// received everything.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span_in("0"..="1h"))]
    #[arg(help_heading = "Publishing")]
    patience: Span,
    /// With --publish, the transport: "dds", for this host and others; "shm", shared memory, for
    /// this host only; or "both".
    #[arg(
        long,
        value_name = "TRANSPORT",
        default_value_t,
        value_enum,
        help_heading = "Publishing"
    )]
    transport: PublishTransport,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

/// The publisher of all channels; clones share it.
#[derive(Clone)]
pub struct Bus {
    outlets: Arc<Mutex<Outlets>>,
    args: BusArgs,
}

impl Bus {
    /// Joins and waits for subscribers, if anything is to be published.
    pub fn join(args: &BusArgs, is_captured: bool, stop: &Stop) -> Result<Option<Self>, Failure> {
        if !args.publish {
            return Ok(None);
        }
        let patience = args.patience.duration();
        let places = Places::join(&args.delivery, args.transport)?;
        let outlets =
            Outlets::new(&places, &args.delivery, &market_sets(), is_captured, patience, stop)?;
        let count = args.subscribers.unwrap_or(u32::from(is_captured));
        if !outlets.wait(count, false, patience, stop)? && !stop.is_set() {
            tracing::warn!("not {count} subscribers after {patience:?}: publishing anyway");
        }
        Ok(Some(Self { outlets: Arc::new(Mutex::new(outlets)), args: args.clone() }))
    }

    /// Returns the publisher of one channel. `epoch_ns` is added to the times of its handler.
    pub fn channel(&self, name: Option<&str>, epoch_ns: u64, kinds: ShownKinds) -> BusChannel {
        let args = &self.args;
        let name = name.unwrap_or_default();
        BusChannel {
            bus: self.clone(),
            samples: MarketSamples::new(&args.source_name, name, args.publish_depth),
            origin: Origin::default(),
            kinds,
            epoch_ns,
            failure: None,
        }
    }

    /// Tells the subscribers that the feed is complete, or was stopped early. Returns whether samples did not
    /// reach a subscriber.
    pub fn finish(&self, is_whole: bool) -> Result<bool, Failure> {
        let mut outlets = self.outlets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_acknowledged = outlets.finish(is_whole, self.args.patience.duration())?;
        let counters = outlets.counters();
        let (written, dropped) = (counters.written(), counters.dropped);
        tell!("tickwire: {written} samples published, {dropped} dropped");
        if !is_acknowledged {
            tell!("tickwire: not all subscribers acknowledged everything within --patience");
        }
        Ok(dropped > 0 || !is_acknowledged || !outlets.failed().is_empty())
    }
}

/// Publishes the books and events of one channel.
pub struct BusChannel {
    bus: Bus,
    samples: MarketSamples,
    /// Origin of the current message.
    origin: Origin,
    /// Kinds of books that are published.
    kinds: ShownKinds,
    epoch_ns: u64,
    failure: Option<OutletError>,
}

impl BusChannel {
    /// Sets the message from which the following books and events originate.
    pub fn note(&mut self, seq_num: Option<u64>, sending_time: Option<u64>) {
        self.origin.seq_num = seq_num;
        self.origin.sending_time = sending_time;
    }

    /// Publishes a book that changed.
    pub fn book(&mut self, change: &BookChange, recovery: &Recovery) {
        if !self.kinds.shows(change.kind) {
            return;
        }
        self.origin.received_ns = recovery.now_ns().saturating_add(self.epoch_ns);
        self.with(|samples, outlets, origin| {
            samples.publish_book(outlets, change, recovery, origin)
        });
    }

    /// Publishes an event that was received at `handler_ns`.
    pub fn event(&mut self, handler_ns: u64, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.origin.received_ns = handler_ns.saturating_add(self.epoch_ns);
        self.with(|samples, outlets, origin| {
            samples.publish_event(outlets, event, recovery, origin)
        });
    }

    fn with(
        &mut self,
        publish: impl FnOnce(&mut MarketSamples, &mut Outlets, &Origin) -> Result<(), OutletError>,
    ) {
        let mut outlets = self.bus.outlets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = publish(&mut self.samples, &mut outlets, &self.origin) {
            self.failure.get_or_insert(error);
        }
    }

    /// True if the transport rejected a sample, after which reception must end.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The error of the transport, if it rejected a sample.
    pub fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take().map(|error| refused(&error))
    }
}
