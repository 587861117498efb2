//! Receiving from sockets.

use super::reload::Reload;
use super::report::{Inputs, Report};
use super::sink::Named;
use super::{Described, Feed, ReceiveArgs};
use crate::failure::{Failure, Outcome};
use std::sync::Arc;
use tickwire_fast::Program;
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{Engine, Handler, Replacement, SeqNumField, Source};
use tickwire_feed::market::{Adapt, BookAdapter};
use tickwire_net::log::{DifferingWatch, Logged};
use tickwire_net::metrics::{FeedCounts, FeedMetrics, LoopMetrics, Metrics};
use tickwire_net::multicast::{Endpoint, Receiver};
use tickwire_net::process::resident_bytes;
use tickwire_net::reception::{Moment, Reception};
use tickwire_net::timed::Timed;

impl Described<'_> {
    /// Receives the feed from sockets until it ends.
    pub(super) fn receive_live<E: Engine<Message: Named>>(
        &self,
        engine: impl Fn(&Arc<Program>, &SeqNumField) -> E,
    ) -> Result<Outcome, Failure>
    where
        BookAdapter: Adapt<E::Message>,
    {
        let Self { args, stop, .. } = self;
        let timed = |program: &Arc<Program>, seq_num: &SeqNumField| {
            Timed::new(engine(program, seq_num), args.measure_every)
        };
        let first = || timed(&self.program, &self.seq_num);
        let books = self.books(&self.program);
        let handler: Feed<Timed<E>> = Handler::new(self.options.clone(), first, books)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let reload = Reload::start(self)?;
        let inputs = open(args)?;
        let metrics = Metrics::new();
        let sources = inputs.iter().map(|(source, _)| *source);
        let mut published = FeedMetrics::new(&metrics, None, sources);
        let of_loop = LoopMetrics::new(&metrics);
        let help = "Time to decode a message, of one message in --measure-every";
        let times = metrics.distribution("decode_time", help, &[]);
        let exporter = args.metrics.serve(&metrics)?;
        let fail = |error: tickwire_net::Error| Failure::Usage(error.to_string());
        let mut reception = Reception::new(args.wait()).map_err(fail)?;
        // Times of the handler are of the monotonic clock.
        let sink = Logged::new(self.sink(reception.epoch_ns())?);
        let index = reception.add_channel(handler, sink, inputs).map_err(fail)?;
        args.record.start(&mut reception, |_, source| source.to_string())?;
        let mut differing = DifferingWatch::default();
        let resident_at_start = resident_bytes();
        let received = reception.run(stop, |reception, moment| {
            let Moment { now_ns, is_idle } = moment;
            let channel = &mut reception.channels_mut()[index];
            let packets = channel.inputs().map(|(_, socket)| socket.counters().packets).sum();
            let sink = channel.sink.inner_mut();
            sink.counting_mut().observe(now_ns, is_idle, packets);
            if is_idle {
                sink.flush();
            }
            let arbiter = channel.handler.arbiter();
            differing.observe(now_ns, || Line::ALL.map(|line| arbiter.line_counters(line)));
            if let Some(reload) = &reload
                && let Some((program, sequencing)) = reload.poll()
            {
                let engine = || timed(&program, &sequencing.field);
                let (books, source) = (self.books(&program), sequencing.source.clone());
                let replacement = Replacement::new(engine, books, source);
                reload.log(channel.handler.replace(replacement));
            }
            if exporter.is_some() && published.is_due(now_ns) {
                let inputs = channel.inputs().collect();
                let (handler, events) = (&channel.handler, channel.sink.events());
                published.publish(now_ns, &FeedCounts { inputs, handler, events });
                times.publish(channel.handler.engine().times());
                of_loop.publish(reception);
            }
        });
        drop(exporter);
        let recording = reception.finish_recording().map(|recorder| recorder.counters());
        let channel = &mut reception.channels_mut()[index];
        channel.sink.inner_mut().finish(channel.handler.recovery())?;
        let inputs = Inputs::Sockets {
            lines: channel.inputs().collect(),
            decoding: channel.handler.engine().times(),
            measure_every: args.measure_every,
        };
        let end = channel.sink.inner().counting().end();
        let mut report = Report::new(inputs, &channel.handler, end, resident_at_start);
        report.set_recording(recording);
        self.write(&report)?;
        received.map_err(fail)?;
        Ok(Outcome::flawed_if(report.is_flawed()))
    }
}

/// Opens the sockets of all lines.
fn open(args: &ReceiveArgs) -> Result<Vec<(Source, Receiver)>, Failure> {
    let endpoints = args.endpoints()?;
    let feeds = [
        Some((Source::Incremental(Line::A), endpoints.a)),
        endpoints.b.map(|endpoint| (Source::Incremental(Line::B), endpoint)),
        endpoints.snapshots.map(|endpoint| (Source::Snapshot(Line::A), endpoint)),
        endpoints.snapshots_b.map(|endpoint| (Source::Snapshot(Line::B), endpoint)),
    ];
    let open = |(source, endpoint): (Source, Endpoint)| {
        let options = args.receiver_options();
        let receiver =
            Receiver::open(endpoint, options).map_err(|error| Failure::Usage(error.to_string()))?;
        let (given, wanted) = (receiver.receive_buffer_bytes(), options.receive_buffer_bytes);
        if given < wanted {
            tracing::warn!(
                "{source}: the kernel gives a receive buffer of {given} bytes, not {wanted}: raise \
                 net.core.rmem_max"
            );
        }
        tracing::info!("{source}: {endpoint}");
        Ok((source, receiver))
    };
    feeds.into_iter().flatten().map(open).collect()
}
