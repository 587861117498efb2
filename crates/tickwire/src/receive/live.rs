//! Reception from sockets, with channels distributed over threads.

use super::described::DescribedChannel;
use super::handler::{ChannelHandler, FeedChannel, FeedSink};
use super::late::LateWatch;
use super::monitoring;
use super::nothing::NothingWatch;
use super::reload::Reload;
use super::report::{ChannelReport, Inputs, ReceiveReport};
use super::{ReceiveArgs, ReceiveSession, pin};
use crate::distribution::TopicMetrics;
use crate::failure::{Failure, Outcome};
use crate::options::{ServedMonitor, metrics_of};
use std::thread::{self, JoinHandle};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::FeedLine;
use tickwire_monitor::{MessageTimes, MonitorBuilder};
use tickwire_net::clock::monotonic_ns;
use tickwire_net::log::{DifferingWatch, Logged};
use tickwire_net::multicast::{Endpoint, Receiver};
use tickwire_net::process::resident_bytes;
use tickwire_net::reception::{LoopState, Reception};
use tickwire_telemetry::metrics::{FeedCounts, FeedMetrics, LoopMetrics, Metrics, ReplayMetrics};

type FeedReception = Reception<Box<dyn ChannelHandler>, FeedSink>;

/// The channels of one thread.
struct Loop<'s> {
    reception: FeedReception,
    /// One entry for each channel of the reception.
    watched: Vec<LiveChannel<'s>>,
    metrics: LoopMetrics,
    /// Counts of the topics that all channels publish; only the first loop has them.
    topics: Option<TopicMetrics>,
}

/// State of a live channel besides its reception.
struct LiveChannel<'s> {
    described: &'s DescribedChannel,
    reload: Option<Reload>,
    differing: DifferingWatch,
    late: LateWatch,
    nothing: NothingWatch,
    /// True if hardware time stamps were requested and their presence has not been checked yet.
    awaits_stamps: bool,
    /// Thread that checks the framing with the first packets.
    judging: Option<JoinHandle<()>>,
    published: FeedMetrics,
    times: MessageTimes,
    replayed: Option<ReplayMetrics>,
}

impl ReceiveSession<'_> {
    /// Receives all channels from sockets until they end.
    pub(super) fn receive_live(&self) -> Result<Outcome, Failure> {
        let resident_at_start = resident_bytes();
        self.args.metrics.check_beside(&self.args.monitor)?;
        let metrics = metrics_of("receive");
        let threads = self.threads()?;
        let spans = self.args.spans.start("receive", &metrics)?;
        let mut monitor = self.args.monitor.builder_with("receive", spans.as_ref());
        let loops =
            (0..threads).map(|index| self.make_loop(index, threads, &metrics, &mut monitor));
        let mut loops = loops.collect::<Result<Vec<_>, Failure>>()?;
        if let (Some(first), Some(bus)) = (loops.first_mut(), &self.bus) {
            first.topics = Some(bus.metrics(&metrics, monitor.as_mut()));
        }
        let exporter = self.args.metrics.serve(&metrics)?;
        let monitor = self.args.monitor.serve(monitor, metrics.routes())?;
        let is_served = monitor.as_ref().is_some_and(ServedMonitor::is_served);
        let received = self.run(&mut loops, exporter.is_some() || is_served);
        // The spans are dropped last, because dropping the monitor ends its open spans.
        drop((exporter, monitor, spans));
        let recordings: Vec<_> =
            loops.iter_mut().filter_map(|of| of.reception.finish_recording()).collect();
        let mut shown = Ok(());
        for Loop { reception, watched, .. } in &mut loops {
            for (channel, watched) in reception.channels_mut().iter_mut().zip(watched) {
                let FeedChannel { handler, sink, .. } = channel;
                sink.finish();
                shown = shown.and(sink.inner_mut().finish(handler.view().recovery));
                watched.described.warn_of_doubt(&handler.first_packets().take());
                watched.finish();
            }
        }
        let mut report =
            ReceiveReport::new(self.reports(&loops), self.ending.end(), resident_at_start);
        recordings.into_iter().for_each(|recording| report.add_recording(recording));
        let tables = self.out.finish_tables();
        // Subscribers are told how the feed ended even if an output failed.
        let is_dropped = self.finish_publishing(shown.is_err() || received.is_err())?;
        shown?;
        tables?;
        self.write(&report)?;
        received?;
        Ok(Outcome::flawed_if(is_dropped || report.is_flawed()))
    }

    /// Number of threads, at most one per channel.
    fn threads(&self) -> Result<usize, Failure> {
        let threads = usize::from(self.args.threads).min(self.channels.len());
        self.check_cpus(threads).map(|()| threads)
    }

    /// Creates the loop of a thread, with every `threads`th channel.
    fn make_loop(
        &self,
        index: usize,
        threads: usize,
        metrics: &Metrics,
        monitor: &mut Option<MonitorBuilder>,
    ) -> Result<Loop<'_>, Failure> {
        let mut reception = Reception::new(self.args.wait()).map_err(failed)?;
        let mut watched = Vec::new();
        for described in self.channels.iter().skip(index).step_by(threads) {
            let inputs = open(&described.args)?;
            let sources = inputs.iter().map(|(source, _)| *source);
            let of_channel = LiveChannel::new(described, sources, metrics)?;
            // The handler's times are those of the monotonic clock.
            let epoch_ns = reception.epoch_ns();
            let tap = monitor.as_mut().map(|monitor| {
                let LiveChannel { published, times, .. } = &of_channel;
                monitoring::add_channel(monitor, described, &inputs, published, times, epoch_ns)
            });
            watched.push(of_channel);
            let sink = self.sink(described, epoch_ns)?.with_tap(tap.transpose()?);
            let sink = Logged::new(sink);
            let sink = sink.channel(described.args.label());
            let handler = described.handler(described.replay()?)?;
            reception.add_channel(handler, sink, inputs).map_err(failed)?;
        }
        let thread = (threads > 1).then(|| index.to_string());
        let labels: Vec<Option<&str>> =
            watched.iter().map(|watched| watched.described.args.label()).collect();
        let line = |channel: usize, source: FeedLine| match labels.get(channel).copied().flatten() {
            Some(label) => format!("{label} {source}"),
            None => source.to_string(),
        };
        self.args.record.start(&mut reception, thread.as_deref(), line)?;
        let metrics = LoopMetrics::new(metrics, thread.as_deref());
        Ok(Loop { reception, watched, metrics, topics: None })
    }

    /// Runs all loops until they end, the first on this thread. If one fails, the others are ended.
    fn run(&self, loops: &mut [Loop<'_>], is_served: bool) -> Result<(), Failure> {
        thread::scope(|scope| {
            let run = |(index, of): (usize, &mut Loop<'_>)| {
                let ended = pin(self.args, index).and_then(|()| of.run(self, is_served));
                self.stop.set();
                ended
            };
            let mut loops = loops.iter_mut().enumerate();
            let first = loops.next();
            let others: Vec<_> = loops.map(|of| scope.spawn(move || run(of))).collect();
            let first = first.map_or(Ok(()), run);
            let others = others.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            others.fold(first, Result::and)
        })
    }

    /// The reports of all channels, in the order in which they are named.
    fn reports<'r>(&'r self, loops: &'r [Loop<'_>]) -> Vec<ChannelReport<'r>> {
        let of = |index: usize| {
            let of = loops.get(index % loops.len())?;
            let channel = of.reception.channels().get(index / loops.len())?;
            let inputs = Inputs::Sockets {
                lines: channel.inputs().collect(),
                decoding: channel.handler.decode_times(),
                measure_every: self.args.measure_every,
            };
            let name = self.channels.get(index)?.args.label();
            let replay = channel.handler.replay();
            let (view, events) = (channel.handler.view(), channel.sink.events());
            Some(ChannelReport::new(name, inputs, view, events, replay))
        };
        (0..self.channels.len()).filter_map(of).collect()
    }
}

impl Loop<'_> {
    fn run(&mut self, session: &ReceiveSession<'_>, is_served: bool) -> Result<(), Failure> {
        let Self { reception, watched, metrics, topics } = self;
        let received = reception.run(&session.stop, |reception, moment| {
            let is_due = watched
                .iter_mut()
                .zip(reception.channels_mut())
                .fold(false, |is_due, (watched, channel)| {
                    watched.observe(moment, channel, is_served) || is_due
                });
            if is_due {
                metrics.publish(reception);
                if let (Some(topics), Some(bus)) = (&mut *topics, &session.bus) {
                    bus.publish_metrics(topics);
                }
            }
        });
        // Changes since the last publication, such as gaps that snapshots filled.
        let now_ns = monotonic_ns();
        reception.channels_mut().iter_mut().for_each(|of| monitoring::publish(now_ns, of));
        received.map_err(failed)
    }
}

impl<'s> LiveChannel<'s> {
    fn new(
        described: &'s DescribedChannel,
        sources: impl Iterator<Item = FeedLine>,
        metrics: &Metrics,
    ) -> Result<Self, Failure> {
        let label = described.args.label();
        let has_replay = described.args.replay_service()?.is_some();
        let help = |what: &str| format!("Time to {what}, of one message in --measure-every");
        let labels: Vec<(&str, &str)> = label.map(|name| ("channel", name)).into_iter().collect();
        Ok(Self {
            described,
            reload: Reload::start(described)?,
            differing: DifferingWatch::new(label),
            late: LateWatch::default(),
            nothing: NothingWatch::default(),
            awaits_stamps: described.args.hardware_stamps,
            judging: None,
            replayed: has_replay.then(|| ReplayMetrics::new(metrics, label)),
            published: FeedMetrics::new(metrics, label, sources),
            times: MessageTimes {
                decode: metrics.distribution("decode_time", &help("decode a message"), &labels),
                books: Some(metrics.distribution(
                    "book_time",
                    &help("apply a message to the books"),
                    &labels,
                )),
                publish: described.args.bus.publishing.publish.then(|| {
                    let what =
                        "Time to write the samples of a book or an event, one in --measure-every";
                    metrics.distribution("publish_time", what, &labels)
                }),
            },
        })
    }

    /// Waits for the check of the framing, if it is running.
    fn finish(&mut self) {
        if let Some(judging) = self.judging.take() {
            // The thread only logs; a panic in it does not affect the feed.
            let _ = judging.join();
        }
    }

    /// Serves a channel between packets and returns whether its metrics were published.
    fn observe(&mut self, moment: LoopState, channel: &mut FeedChannel, is_served: bool) -> bool {
        let LoopState { now_ns, is_idle } = moment;
        let packets = channel.inputs().map(|(_, socket)| socket.packets()).sum();
        if self.awaits_stamps && packets > 0 {
            self.awaits_stamps = false;
            warn_without_stamps(channel);
        }
        channel.sink.write_held_back(now_ns);
        let label = self.described.args.label();
        let endpoints = channel.inputs().map(|(source, socket)| (source, socket.endpoint()));
        self.nothing.observe(now_ns, packets, label, endpoints);
        let sink = channel.sink.inner_mut();
        sink.counting_mut().observe(now_ns, is_idle, packets);
        if is_idle {
            sink.rest(now_ns);
        }
        let arbiter = channel.handler.view().arbiter;
        self.differing.observe(now_ns, || Line::ALL.map(|line| arbiter.line_counters(line)));
        self.late.observe(label, arbiter);
        if let Some(reload) = &self.reload
            && let Some((program, sequencing)) = reload.poll()
        {
            reload.log(channel.handler.replace(&program, &sequencing));
        }
        if let Some(packets) = channel.handler.first_packets().take_full() {
            // On another thread, because packets keep arriving.
            self.judging = Some(self.described.warn_of_doubt_beside(packets));
        }
        let is_monitor_due =
            channel.sink.inner_mut().tap_mut().is_some_and(|tap| tap.is_due(now_ns));
        // The monitor is published together with the metrics, so that both show the same counts.
        let is_due = is_monitor_due || is_served && self.published.is_due(now_ns);
        if is_monitor_due {
            monitoring::publish(now_ns, channel);
        }
        if is_due && self.published.times_are_due(now_ns) {
            let measured = channel.sink.inner_mut().publish_times();
            if let Some((times, measured)) = self.times.publish.as_ref().zip(measured) {
                times.publish(measured);
            }
        }
        if is_due {
            let (inputs, events) = (channel.inputs().collect(), channel.sink.events());
            let handler = channel.handler.view();
            if self.published.times_are_due(now_ns) {
                self.times.decode.publish(channel.handler.decode_times());
                if let Some(times) = &self.times.books {
                    times.publish(channel.handler.book_times());
                }
            }
            self.published.publish(now_ns, &FeedCounts { inputs, handler, events });
            if let (Some(metrics), Some(replay)) = (&self.replayed, channel.handler.replay()) {
                metrics.publish(&replay.counters());
            }
        }
        is_due
    }
}

/// Warns of lines whose first packets have no hardware time stamp.
fn warn_without_stamps(channel: &FeedChannel) {
    for (source, receiver) in channel.inputs() {
        let counters = receiver.counters();
        if counters.packets > 0 && counters.hardware_stamps == 0 {
            tracing::warn!(
                "{source}: the network card gives no time stamps; the kernel's are used (hwstamp_ctl -r 1 may turn them on)"
            );
        }
    }
}

fn failed(error: tickwire_net::HostError) -> Failure {
    Failure::Usage(error.to_string())
}

/// Opens the sockets of all lines of a channel.
fn open(args: &ReceiveArgs) -> Result<Vec<(FeedLine, Receiver)>, Failure> {
    let channel = args.label().map_or_else(String::new, |label| format!("{label}: "));
    let open = |(source, endpoint): (FeedLine, Endpoint)| {
        let options = args.receiver_options();
        let receiver =
            Receiver::open(endpoint, options).map_err(|error| Failure::Usage(error.to_string()))?;
        let (given, wanted) = (receiver.receive_buffer_bytes(), options.receive_buffer_bytes);
        if given < wanted {
            tracing::warn!(
                "{channel}{source}: the kernel gives a receive buffer of {given} bytes, not {wanted}: \
                 raise net.core.rmem_max"
            );
        }
        tracing::info!("{channel}{source}: {endpoint}");
        Ok((source, receiver))
    };
    args.endpoints()?.sources().map(open).collect()
}
