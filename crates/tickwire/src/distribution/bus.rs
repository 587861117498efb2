//! Publishes what a command receives. All channels or lines share one publisher.

use super::{DeliveryArgs, PublishTransport, TransportParticipants, refused};
use crate::console::tell;
use crate::failure::Failure;
use crate::units::{TimeSpan, span_in};
use std::sync::{Arc, Mutex, PoisonError};
use tickwire_distribution::{OutletError, Outlets, TopicSet};
use tickwire_feed::counted;
use tickwire_net::Stop;

/// Options for publishing received data.
#[derive(Clone, Debug, clap::Args)]
pub struct BusArgs {
    /// Publish the received data over DDS or shared memory, keyed by instrument: best prices
    /// (BookTop), trades (Trade), status (Status); for feeds with books and definitions, also
    /// Book and Definition.
    #[arg(long, help_heading = "Publishing")]
    pub publish: bool,
    /// Name of the feed in the samples.
    #[arg(long, value_name = "NAME", default_value = "", help_heading = "Publishing")]
    #[arg(requires = "publish")]
    source_name: String,
    /// Subscribers to wait for before the first packet. Default: 1 for captures, 0 for groups.
    #[arg(long, value_name = "COUNT", help_heading = "Publishing", requires = "publish")]
    subscribers: Option<u32>,
    /// Longest wait for subscribers: until they connect, until they make room, and until they have
    /// received everything.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span_in("0"..="1h"))]
    #[arg(help_heading = "Publishing", requires = "publish")]
    patience: TimeSpan,
    /// With --publish, the transport: "dds", for this host and others; "shm", shared memory, for
    /// this host only; or "both".
    #[arg(long, value_name = "TRANSPORT", default_value_t, value_enum)]
    #[arg(help_heading = "Publishing", requires = "publish")]
    transport: PublishTransport,
    #[command(flatten)]
    delivery: PublishedDelivery,
}

impl BusArgs {
    /// Name of the feed in the samples.
    pub fn source_name(&self) -> &str {
        &self.source_name
    }
}

/// Options of delivery, each of which requires `--publish`.
#[derive(Clone, Debug)]
struct PublishedDelivery(DeliveryArgs);

impl clap::Args for PublishedDelivery {
    fn augment_args(command: clap::Command) -> clap::Command {
        let own = DeliveryArgs::augment_args(clap::Command::new("delivery"));
        command.args(own.get_arguments().cloned().map(|argument| argument.requires("publish")))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for PublishedDelivery {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        DeliveryArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

/// The publisher; clones share it.
#[derive(Clone)]
pub struct Bus {
    outlets: Arc<Mutex<Outlets>>,
    /// Name of the transports in the monitor.
    transport: &'static str,
    args: BusArgs,
}

impl Bus {
    /// Joins the transports and waits for subscribers; `None` without `--publish`.
    pub fn join(
        args: &BusArgs,
        sets: &[TopicSet],
        is_captured: bool,
        stop: &Stop,
    ) -> Result<Option<Self>, Failure> {
        if !args.publish {
            return Ok(None);
        }
        let patience = args.patience.duration();
        let PublishedDelivery(delivery) = &args.delivery;
        let places = TransportParticipants::join(delivery, args.transport)?;
        let outlets = places.outlets(delivery, sets, is_captured, patience, stop)?;
        let count = args.subscribers.unwrap_or(u32::from(is_captured));
        if !places.wait(&outlets, count, false, patience, stop)? && !stop.is_set() {
            tracing::warn!(
                "fewer subscribers than {count} (--subscribers) after {patience:?}: publishing anyway; \
                 both sides need the same --transport, --domain, --partition, --topics and --network"
            );
        }
        let (outlets, transport) = (Arc::new(Mutex::new(outlets)), places.name());
        Ok(Some(Self { outlets, transport, args: args.clone() }))
    }

    /// Returns the name of the transports in the monitor.
    pub const fn transport(&self) -> &'static str {
        self.transport
    }

    /// Calls `publish` with the publisher, which is locked meanwhile: one channel publishes at a time.
    pub fn with(
        &self,
        publish: impl FnOnce(&mut Outlets) -> Result<(), OutletError>,
    ) -> Result<(), OutletError> {
        publish(&mut self.outlets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the subscribers that the feed is complete or was stopped early. Returns true if samples did not reach a
    /// subscriber.
    pub fn finish(&self, is_whole: bool) -> Result<bool, Failure> {
        let mut outlets = self.outlets.lock().unwrap_or_else(PoisonError::into_inner);
        let is_acknowledged = outlets.finish(is_whole, self.args.patience.duration());
        let is_acknowledged = is_acknowledged.map_err(|error| refused(&error))?;
        let counters = outlets.counters();
        let (written, dropped) = (counters.written(), counters.dropped);
        tell!("tickwire: {} published, {dropped} dropped", counted(written, "sample"));
        if !is_acknowledged {
            tell!("tickwire: not all subscribers acknowledged everything within --patience");
        }
        Ok(dropped > 0 || !is_acknowledged || !outlets.failed().is_empty())
    }
}
