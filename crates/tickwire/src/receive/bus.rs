//! Implements `receive --publish`: publishes the books and events of all channels.

use super::show::ShownKinds;
use crate::distribution::{Bus, BusArgs, TopicMetrics, refused};
use crate::failure::Failure;
use hdrhistogram::Histogram;
use tickwire_distribution::market::{ChangeOrigin, MarketSamples, market_sets};
use tickwire_distribution::{OutletError, Outlets};
use tickwire_feed::market::MarketEvent;
use tickwire_feed::recovery::{BookChange, Recovery};
use tickwire_monitor::MonitorBuilder;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::{Stop, histogram};
use tickwire_telemetry::metrics::Metrics;

/// Publishing of books and events.
#[derive(Clone, Debug, clap::Args)]
pub struct MarketBusArgs {
    #[command(flatten)]
    pub publishing: BusArgs,
    /// Levels per side to publish. Default: the whole book.
    #[arg(long, value_name = "LEVELS", help_heading = "Publishing", requires = "publish")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    publish_depth: Option<u32>,
}

/// The publisher of all channels.
pub struct MarketBus {
    bus: Bus,
    args: MarketBusArgs,
}

impl MarketBus {
    /// Joins the transports and waits for subscribers; `None` without `--publish`.
    pub fn join(
        args: &MarketBusArgs,
        is_captured: bool,
        stop: &Stop,
    ) -> Result<Option<Self>, Failure> {
        let bus = Bus::join(&args.publishing, &market_sets(), is_captured, stop)?;
        Ok(bus.map(|bus| Self { bus, args: args.clone() }))
    }

    /// Returns the publisher of one channel. `epoch_ns` is added to the times of its handler. Measures
    /// the writing of one book or event in `every`; 0 measures none.
    pub fn channel(
        &self,
        name: Option<&str>,
        epoch_ns: u64,
        kinds: ShownKinds,
        every: u32,
    ) -> BusChannel {
        let MarketBusArgs { publishing, publish_depth } = &self.args;
        let samples =
            MarketSamples::new(publishing.source_name(), name.unwrap_or_default(), *publish_depth);
        let origin = ChangeOrigin::default();
        BusChannel {
            bus: self.bus.clone(),
            samples,
            origin,
            kinds,
            epoch_ns,
            failure: None,
            every,
            left: u32::from(every > 0),
            times: histogram::latency(),
        }
    }

    /// Registers the metrics of the topics, and adds these to the monitor if there is one.
    pub fn metrics(&self, all: &Metrics, monitor: Option<&mut MonitorBuilder>) -> TopicMetrics {
        let sets = market_sets();
        let mut metrics = TopicMetrics::new(all, &sets);
        if let Some(monitor) = monitor {
            metrics.tell_monitor(monitor, self.bus.transport(), &sets);
        }
        metrics
    }

    /// Publishes the counts of the topics.
    pub fn publish_metrics(&self, metrics: &mut TopicMetrics) {
        let publish = |outlets: &mut Outlets| {
            metrics.publish(outlets, &[]);
            Ok(())
        };
        // The closure does not fail.
        let _ = self.bus.with(publish);
    }

    /// As [`Bus::finish`].
    pub fn finish(&self, is_whole: bool) -> Result<bool, Failure> {
        self.bus.finish(is_whole)
    }
}

/// Publishes the books and events of one channel.
pub struct BusChannel {
    bus: Bus,
    samples: MarketSamples,
    /// Origin of the current message.
    origin: ChangeOrigin,
    /// Kinds of books that are published.
    kinds: ShownKinds,
    epoch_ns: u64,
    failure: Option<OutletError>,
    /// One in this many books and events is measured.
    every: u32,
    /// Books and events until the next measured one.
    left: u32,
    times: Histogram<u64>,
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

    /// Publishes an event received at `handler_ns` of the handler's clock.
    pub fn event(&mut self, handler_ns: u64, event: &MarketEvent<'_>, recovery: &Recovery) {
        self.origin.received_ns = handler_ns.saturating_add(self.epoch_ns);
        self.with(|samples, outlets, origin| {
            samples.publish_event(outlets, event, recovery.instruments(), origin)
        });
    }

    fn with(
        &mut self,
        publish: impl FnOnce(&mut MarketSamples, &mut Outlets, &ChangeOrigin) -> Result<(), OutletError>,
    ) {
        let is_measured = self.left == 1;
        self.left = if is_measured { self.every } else { self.left.saturating_sub(1) };
        let before_ns = is_measured.then(monotonic_ns);
        let Self { bus, samples, origin, .. } = self;
        match bus.with(|outlets| publish(samples, outlets, origin)) {
            Ok(()) => {
                if let Some(before_ns) = before_ns {
                    let time_ns = monotonic_ns().saturating_sub(before_ns);
                    histogram::record(&mut self.times, time_ns);
                }
            }
            Err(error) => {
                self.failure.get_or_insert(error);
            }
        }
    }

    /// Returns the measured times to write the samples of a book or an event, in nanoseconds. A wait
    /// for other channels' samples is included.
    pub const fn times(&self) -> &Histogram<u64> {
        &self.times
    }

    /// True if the transport rejected a sample, after which reception must end.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Returns the error of the transport, if it rejected a sample.
    pub fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take().map(|error| refused(&error))
    }
}
