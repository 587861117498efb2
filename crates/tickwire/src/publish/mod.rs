//! `tickwire publish`: packets decoded, made into samples, written to the bus.

mod args;
mod echoes;
mod engine;
mod metrics;
mod report;
mod samples;
mod sources;

pub use args::PublishArgs;

use crate::console::tell;
use crate::distribution::{self, Latencies, dds_failure};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{reset_policy, with_reset_template};
use echoes::{Echoes, Listener};
use engine::{Publishing, Stamped, Times};
use metrics::PublishMetrics;
use report::Report;
use samples::Samples;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_dds::CycloneParticipant;
use tickwire_distribution::{Publisher, TopicSet};
use tickwire_fast::{Decoder, DecoderOptions};
use tickwire_feed::handler::{Dynamic, Handler, HandlerOptions};
use tickwire_feed::market::NoBooks;
use tickwire_feed::recovery::RecoveryOptions;
use tickwire_net::log::Logged;
use tickwire_net::{Stop, affinity};

/// The feed handler of this command.
type FeedHandler = Handler<Stamped<Dynamic>, NoBooks>;

/// What the feed handler hands messages to.
type FeedSink = Logged<Publishing>;

/// How the feed ended, and what the kernel dropped before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ended {
    end: End,
    /// Packets that did not fit into the receive buffers.
    dropped_by_kernel: u64,
    /// Packets longer than a socket or the arbiter takes.
    too_long: u64,
}

/// How the feed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The exchange sent the Done message.
    Done,
    /// The file ended.
    File,
    /// The user stopped it, or the middleware failed.
    Stopped,
}

/// The metrics of this command before it runs.
#[cfg(test)]
pub fn metrics() -> PublishMetrics {
    PublishMetrics::new(&tickwire_distribution::market::market_sets())
}

/// Runs the command.
pub fn run(args: &PublishArgs) -> Result<Outcome, Failure> {
    let args = &args.over_channel()?;
    args.check_json()?;
    args.check_samples()?;
    let stop = distribution::stop_on_signals(&args.parent)?;
    let framing = args.framing.framing()?;
    let set = with_reset_template(args.templates.read()?, &framing);
    let sequencing = args.sequencing(&framing, &set)?;
    let program = Arc::new(files::compile(set, &args.compile_options())?);
    let samples = Samples::bind(args, &program)?;
    let sets = samples.sets().to_vec();
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))?;
    }

    let times = Rc::new(Times::default());
    let options = DecoderOptions {
        machine_code: args.machine_code(),
        ..args.decoder.checked_options(reset_policy(&framing), &program)?
    };
    let engine = || {
        let decoder = Decoder::with_options(program.clone(), options);
        Stamped::new(Dynamic::new(decoder, &sequencing.field), times.clone())
    };
    let arbiter = args.arbiter(&sequencing, &framing);
    let options = HandlerOptions {
        framing,
        arbiter,
        sequence: sequencing.source.clone(),
        recovery: RecoveryOptions::default(),
        heartbeat_ns: Some(arbiter.silent_after_ns),
    };
    let mut handler = Handler::new(options, engine, NoBooks)
        .map_err(|error| Failure::Usage(format!("the feed cannot be handled: {error}")))?;

    // Before anybody waits for subscribers: a name that is wrong is told at once.
    let file = args.file.as_deref().map(|path| args.open(path)).transpose()?;
    let (publisher, echoes) = match args.empty_builder {
        true => (None, None),
        false => join(args, &sets, &stop)?,
    };
    let mut publishing = Logged::new(Publishing::new(samples, publisher, times));
    let metrics = PublishMetrics::new(&sets);
    let exporter = args.metrics.serve(metrics.all())?;
    let started = Instant::now();
    let ended = sources::run(args, file, &mut handler, &mut publishing, &metrics, &stop)?;
    let elapsed = started.elapsed();
    let mut publishing = publishing.into_inner();
    if let Some(error) = publishing.failure() {
        return Err(dds_failure(&error));
    }
    let (echoes, is_acknowledged) = finish(args, ended.end, &mut publishing, echoes, &stop)?;
    let report = Report {
        args,
        handler: &handler,
        publishing: &publishing,
        sets: &sets,
        elapsed,
        ended,
        echoes,
        is_acknowledged,
    };
    report.write()?;
    drop(exporter);
    Ok(Outcome::flawed_if(report.is_flawed()))
}

/// Makes writers and the readers of echoes, and waits for subscribers.
fn join(
    args: &PublishArgs,
    sets: &[TopicSet],
    stop: &Stop,
) -> Result<(Option<Publisher<CycloneParticipant>>, Option<Echoes>), Failure> {
    let patience = args.patience();
    let participant = args.dds.join()?;
    let delivery = args.dds.delivery(args.file.is_some());
    let fail = |error: tickwire_dds::Error| dds_failure(&error);
    // Before the subscribers come, so that both directions are made at the same time.
    let listener = match args.no_echo {
        true => None,
        false => Some(Listener::new(&participant, sets, &delivery).map_err(fail)?),
    };
    let over = stop.clone();
    let publisher = Publisher::new(&participant, sets, &delivery, patience, move || over.is_set())
        .map_err(fail)?;
    let count = args.subscribers();
    // Few want every template.
    let is_matched = match args.of_templates() {
        true => publisher.wait_subscribers(count, patience),
        false => publisher.wait_matched(count, patience),
    };
    let is_matched = is_matched.map_err(fail)?;
    if !is_matched && !stop.is_set() {
        tell!(
            "tickwire: not {count} subscribers on all topics after {patience:?}: publishing all the \
             same; both sides need the same --domain, --partition, --topics and --network"
        );
    }
    let timeout = if count > 0 && is_matched { patience } else { Duration::ZERO };
    let echoes = listener.map(|listener| listener.start(timeout, stop)).transpose();
    let echoes = echoes.map_err(fail)?;
    Ok((Some(publisher), echoes))
}

/// The echoes that arrived, and the round trips.
type Heard = Option<(Latencies, u64)>;

/// Tells the subscribers that this was all, or that it was stopped before, and waits for their echoes. Also
/// says whether they have it.
fn finish(
    args: &PublishArgs,
    end: End,
    publishing: &mut Publishing,
    echoes: Option<Echoes>,
    stop: &Stop,
) -> Result<(Heard, bool), Failure> {
    let fail = |error: tickwire_dds::Error| dds_failure(&error);
    let Some(publisher) = publishing.publisher_mut() else { return Ok((None, true)) };
    let is_whole = end != End::Stopped;
    let said = match is_whole {
        true => distribution::say(args.json.as_deref(), "Writing Done token."),
        false => Ok(()),
    };
    let is_acknowledged = publisher.finish(is_whole, args.patience()).map_err(fail)?;
    // Only now: subscribers are to know the end even where nobody reads this.
    said?;
    let written = publisher.counters().written();
    let heard = echoes.map(|echoes| echoes.finish(written, stop)).transpose().map_err(fail)?;
    Ok((heard, is_acknowledged))
}
