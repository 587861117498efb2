//! `tickwire publish`: decodes packets, converts messages to samples and writes them to the bus.

mod args;
mod echoes;
mod engine;
mod metrics;
mod report;
mod samples;
mod sources;

pub use args::PublishArgs;

use crate::console::tell;
use crate::distribution::{self, TransportParticipants, refused};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{check_cpu, reset_policy, with_reset_template};
use echoes::{Echoing, Heard, Listeners};
use engine::{Publishing, StampingEngine, Times};
use metrics::PublishMetrics;
use report::PublishReport;
use samples::SampleConverter;
use sources::Monitored;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tickwire_distribution::{Outlets, TopicSet};
use tickwire_fast::Decoder;
use tickwire_feed::handler::{Dynamic, Handler, HandlerOptions};
use tickwire_feed::market::NoBooks;
use tickwire_feed::recovery::RecoveryOptions;
use tickwire_monitor::ExplanationSettings;
use tickwire_net::Stop;
use tickwire_net::log::Logged;

/// The feed handler of this command.
type FeedHandler = Handler<StampingEngine<Dynamic>, NoBooks>;

/// The sink of the feed handler.
type PublishSink = Logged<Publishing>;

/// The end of the feed, and the packets that were lost before they reached the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PublicationEnd {
    end: FeedEnd,
    /// Packets that did not fit into the receive buffers.
    dropped_by_kernel: u64,
    /// Packets longer than a socket or the arbiter accepts.
    too_long: u64,
}

/// Reason for the end of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedEnd {
    /// The exchange sent the Done message.
    Done,
    /// The file ended.
    File,
    /// The user stopped it, or the middleware failed.
    Stopped,
}

/// The metrics of this command, before it runs.
#[cfg(test)]
pub fn metrics() -> PublishMetrics {
    PublishMetrics::new(&tickwire_distribution::market::market_sets())
}

/// Runs the command.
pub fn run(args: &PublishArgs) -> Result<Outcome, Failure> {
    let args = &args.over_channel()?;
    args.check_json()?;
    args.check_samples()?;
    check_cpu(args.cpu)?;
    args.metrics.check_beside(&args.monitor)?;
    let stop = distribution::stop_on_signals(&args.parent)?;
    let framing = args.framing.framing()?;
    let set = with_reset_template(args.templates.read()?, &framing);
    let sequencing = args.sequencing(&framing, &set)?;
    let program = Arc::new(files::compile(set, &args.compile_options())?);
    let samples = SampleConverter::bind(args, &program)?;
    let sets = samples.sets().to_vec();

    let times = Rc::new(Times::default());
    let decoding =
        args.decoder.checked_options(reset_policy(&framing), &program)?.tier_up(args.tier_up());
    let engine = || {
        let decoder = Decoder::with_options(program.clone(), decoding);
        StampingEngine::new(Dynamic::new(decoder, &sequencing.field), times.clone())
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

    // Opened before subscribers are awaited, so that a wrong name is reported at once.
    let file = args.file.as_deref().map(|path| args.open(path)).transpose()?;
    let places = match args.empty_builder {
        true => None,
        false => Some(TransportParticipants::join(&args.delivery, args.transport)?),
    };
    let (publisher, echoes) = match &places {
        None => (None, Vec::new()),
        Some(places) => {
            let (outlets, echoes) = join(args, places, &sets, &stop)?;
            (Some(outlets), echoes)
        }
    };
    let mut publishing = Logged::new(Publishing::new(samples, publisher, times));
    let mut metrics = PublishMetrics::new(&sets);
    let exporter = args.metrics.serve(metrics.all())?;
    let monitored = match args.monitor.builder("publish") {
        Some(mut builder) => {
            let transport = places.as_ref().map_or("nothing", TransportParticipants::name);
            metrics.tell_monitor(&mut builder, transport, &sets);
            let explaining = ExplanationSettings::new(program.set().clone(), decoding, framing);
            let explaining = explaining.map_err(Failure::Usage)?;
            Some(Monitored { builder, explaining, silent_after_ns: arbiter.silent_after_ns })
        }
        None => None,
    };
    let started = Instant::now();
    let ended =
        sources::run(args, file, &mut handler, &mut publishing, &mut metrics, monitored, &stop);
    let elapsed = started.elapsed();
    let mut publishing = publishing.into_inner();
    let refusal = publishing.failure().map(refused);
    let ended = match ended.and_then(|ended| refusal.map_or(Ok(ended), Err)) {
        Ok(ended) => ended,
        Err(failure) => {
            tell_stopped(&mut publishing, args.patience());
            return Err(failure);
        }
    };
    let (echoes, is_acknowledged) = finish(args, ended.end, &mut publishing, echoes, &stop)?;
    let report = PublishReport {
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

/// Creates the writers and the readers of echoes, and waits for subscribers.
fn join(
    args: &PublishArgs,
    places: &TransportParticipants,
    sets: &[TopicSet],
    stop: &Stop,
) -> Result<(Outlets, Vec<Echoing>), Failure> {
    let patience = args.patience();
    // Created before the subscribers connect, so that both directions are matched at the same time.
    let listeners = match args.no_echo {
        true => None,
        false => Some(Listeners::new(places, &args.delivery, sets)?),
    };
    // With a file, publishing waits for slow subscribers. With a pipe or with lines the sender sets
    // the pace, so publishing does not wait.
    let all = args.file.as_ref().is_some_and(|path| path.is_file());
    let outlets = places.outlets(&args.delivery, sets, all, patience, stop)?;
    let count = args.subscribers();
    // A subscriber of generated types seldom wants every template.
    let is_matched = places.wait(&outlets, count, !args.of_templates(), patience, stop)?;
    if !is_matched && !stop.is_set() {
        tell!(
            "tickwire: fewer subscribers than {count} on all topics after {patience:?}: publishing anyway; \
             both sides need the same --domain, --partition, --topics, --network and --transport"
        );
    }
    let present = (count > 0 && is_matched).then(|| outlets.subscribers()).transpose();
    let present = present.map_err(|error| refused(&error))?;
    let echoes = listeners.map(|listeners| listeners.start(present, patience, stop)).transpose()?;
    Ok((outlets, echoes.unwrap_or_default()))
}

/// Tells the subscribers that a broken feed was stopped.
fn tell_stopped(publishing: &mut Publishing, patience: Duration) {
    let Some(publisher) = publishing.publisher_mut() else { return };
    if let Err(why) = publisher.finish(false, patience) {
        tracing::error!("cannot announce to subscribers that the feed is stopped: {why}");
    }
}

/// Tells the subscribers that the feed is complete, or was stopped early, and waits for their echoes. Also
/// returns whether all subscribers acknowledged the end.
fn finish(
    args: &PublishArgs,
    end: FeedEnd,
    publishing: &mut Publishing,
    echoes: Vec<Echoing>,
    stop: &Stop,
) -> Result<(Vec<Heard>, bool), Failure> {
    let Some(publisher) = publishing.publisher_mut() else { return Ok((Vec::new(), true)) };
    let is_whole = end != FeedEnd::Stopped;
    let said = match is_whole {
        true => distribution::say(args.json.as_deref(), "Writing Done token."),
        false => Ok(()),
    };
    let is_acknowledged = publisher.finish(is_whole, args.patience());
    let is_acknowledged = is_acknowledged.map_err(|error| refused(&error))?;
    // Checked only now: subscribers learn of the end even if standard output is closed.
    said?;
    let written = |transport| {
        let all = publisher.by_transport();
        let found = all.into_iter().find(|(name, _)| *name == transport);
        found.map_or(&[][..], |(_, counters)| &counters.written)
    };
    let heard = echoes.into_iter().map(|one| {
        let written = written(one.transport);
        let patience = if stop.is_set() { Duration::ZERO } else { args.patience() };
        one.finish(written, patience)
    });
    Ok((heard.collect::<Result<_, _>>()?, is_acknowledged))
}
