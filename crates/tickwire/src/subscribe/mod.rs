//! `tickwire subscribe`: counts, times and echoes samples from the bus.

mod market;
mod metrics;
mod record;
mod report;
mod show;
mod transport;

use crate::console::tell;
use crate::distribution::{DeliveryArgs, Latencies, refused, template_samples};
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{self, MetricsArgs, MonitorArgs, TemplateArgs, check_cpu, pin_to};
use crate::output;
use crate::units::{TimeSpan, span_in};
use metrics::SubscribeMetrics;
use record::Recorder;
use report::SubscribeReport;
use show::Shower;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tickwire_distribution::fill::filled_sets;
use tickwire_distribution::market::market_sets;
use tickwire_distribution::{
    DeliverySettings, Participant, SampleArrival, Subscriber, SubscriberOptions, TopicSet,
};
use tickwire_fast::CompileOptions;
use tickwire_host::clock::monotonic_ns;
use tickwire_host::{Stop, WaitPolicy, WaitStep};
use tickwire_shm_transport::PublisherSearch;
use transport::{SelectedTransport, SubscribeTransport};

/// Longest sleep of the loop.
const TICK: Duration = Duration::from_millis(20);

/// Receive samples from DDS or shared memory, echo them to the publisher and print their latency.
///
/// Receives orders (Quote, New, Change, Remove), market data (MarketData, QuoteRequest) and the
/// samples of `receive --publish` for any feed (BookTop, Book, Trade, Status, Definition), until a
/// publisher announces the end of its feed. Publishers may come and go.
///
/// Exit status 1: samples were lost, or the number lost is unknown. A publisher announces the
/// number of its samples when it ends, so the number lost is unknown if a publisher was killed or
/// is still running at the end. With --best-effort, samples missing before the first received one
/// may have been lost, or written before this command started.
#[derive(Debug, clap::Args)]
pub struct SubscribeArgs {
    /// Do not echo samples.
    #[arg(long, alias = "noecho")]
    no_echo: bool,
    /// Only samples of these topics: Quote, New, Change, Remove, MarketData, QuoteRequest, BookTop,
    /// Book, Trade, Status, Definition. Default: all.
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    topic: Vec<String>,
    #[command(flatten)]
    templates: TemplateArgs,
    /// With --templates: the key field, as on the publisher.
    #[arg(long, value_name = "FIELD", requires = "templates")]
    key: Option<String>,
    /// With --templates: only samples of this template, by name or id; needed where the publisher
    /// needs it. May be repeated.
    #[arg(long, value_name = "NAME|ID", requires = "templates")]
    template: Vec<String>,
    /// With --templates: only these fields, by name. Default: all.
    #[arg(long, value_name = "FIELD,..", value_delimiter = ',', requires = "templates")]
    fields: Option<Vec<String>>,
    /// Print each sample as a line of JSON, those of any feed (BookTop, Book, Trade, Status,
    /// Definition) with the members that `receive --show` prints; the table of times goes to
    /// standard error.
    #[arg(long)]
    show: bool,
    /// Write samples to Parquet files in this directory, one folder per topic. Only in programs
    /// built with --features columns; --show writes JSON lines in every program.
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
    /// With --record: most rows per file. Default: 1,000,000.
    #[arg(long, value_name = "ROWS", requires = "record")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    record_rows: Option<u64>,
    /// With --record: longest time for which a file is written before it is complete. A killed
    /// recorder loses the samples of this time and the files that wait for the disk.
    #[arg(long, value_name = "TIME", requires = "record", default_value = "10m")]
    #[arg(value_parser = span_in("1s"..="24h"))]
    record_time: TimeSpan,
    /// Conflate: take only the last sample of each key, at most this many times per second. Skipped
    /// samples do not count as lost.
    #[arg(long, value_name = "PER SECOND")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_rate: Option<u32>,
    /// Busy-poll while no samples arrive: lower latency, one CPU fully used. With a time, such as
    /// 50us, busy-poll for this time after the last sample, then sleep.
    #[arg(long, value_name = "TIME")]
    spin: Option<Option<TimeSpan>>,
    /// Continue when a publisher announces the end of its feed.
    #[arg(long)]
    stay: bool,
    /// Transport: "dds"; "shm", shared memory; or "auto": shared memory if a publisher of one of the
    /// topics runs on this host when the command starts, or appears there before any publisher over
    /// DDS; otherwise DDS. A line of output names the choice.
    #[arg(long, value_name = "TRANSPORT", default_value = "auto")]
    transport: SubscribeTransport,
    #[command(flatten)]
    delivery: DeliveryArgs,
    /// CPU of the thread that takes the samples, counted from 0. Threads of DDS run on any CPU.
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,
    #[command(flatten)]
    metrics: MetricsArgs,
    #[command(flatten)]
    monitor: MonitorArgs,
    /// Write counters and times to this file as JSON; with - to standard output, without the table.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Replace the --json file if it exists.
    #[arg(long, requires = "json")]
    force: bool,
    #[command(flatten)]
    parent: crate::distribution::ParentArgs,
}

impl SubscribeArgs {
    /// The topics to read: everything that `publish` may write, restricted by the options.
    fn sets(&self) -> Result<Vec<TopicSet>, Failure> {
        let mut sets = match self.templates.is_any() {
            true => {
                let set = self.templates.read()?;
                let options = CompileOptions::default().fields(self.fields.clone());
                let program = files::compile(set, &options)?;
                let samples = template_samples(&program, self.key.as_deref(), &self.template)?;
                samples.sets().to_vec()
            }
            false => {
                let mut sets = filled_sets(self.delivery.securities());
                sets.extend(market_sets());
                sets
            }
        };
        if let Some(wanted) =
            self.topic.iter().find(|name| !sets.iter().any(|set| set.name == **name))
        {
            let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
            let names = names.join(", ");
            return Err(Failure::Usage(format!("--topic {wanted}: there are {names}")));
        }
        sets.retain(|set| self.topic.is_empty() || self.topic.contains(&set.name));
        Ok(sets)
    }
}

/// The metrics of this command, before it runs.
#[cfg(test)]
pub fn metrics() -> SubscribeMetrics {
    SubscribeMetrics::new(&market_sets())
}

/// Runs the command.
pub fn run(args: &SubscribeArgs) -> Result<Outcome, Failure> {
    output::check_all(&[args.json.as_deref()], args.force, &[])?;
    check_cpu(args.cpu)?;
    args.metrics.check_beside(&args.monitor)?;
    let stop = crate::distribution::stop_on_signals(&args.parent)?;
    let sets = args.sets()?;
    let record = args.record.as_deref();
    let recorder = record.map(|directory| {
        Recorder::new(directory, args.record_rows, args.record_time.duration(), &sets)
    });
    let mut subscription = Subscription {
        shower: args.show.then(|| Shower::new(&sets)),
        recorder: recorder.transpose()?,
        latencies: Latencies::default(),
        metrics: SubscribeMetrics::new(&sets),
        sets,
        args,
        stop,
    };
    let exporter = args.metrics.serve(subscription.metrics.all())?;
    let mut chosen = transport::choose(args.transport, &args.delivery, &subscription.sets)?;
    let mut builder = args.monitor.builder("subscribe");
    if let Some(builder) = &mut builder {
        subscription.metrics.tell_monitor(builder, chosen.name(), &subscription.sets);
    }
    let monitor = args.monitor.serve(builder, subscription.metrics.all().routes())?;
    let (report, recorded) = loop {
        let text = subscribed_text(args, &chosen);
        let is_echoing = is_echoing(args, &chosen);
        let ended = match &mut chosen {
            SelectedTransport::Dds(elsewhere) => {
                let (place, delivery) = (args.delivery.join_dds()?, args.delivery.over_dds(false));
                let search = elsewhere.as_mut().map(|elsewhere| &mut elsewhere.search);
                subscription.over(&place, &delivery, is_echoing, &text, search)?
            }
            SelectedTransport::Shm(place) => {
                let delivery = args.delivery.over_shm();
                subscription.over(&place.participant, &delivery, is_echoing, &text, None)?
            }
        };
        match ended {
            Some(ended) => break ended,
            None => chosen = SelectedTransport::Shm(args.delivery.join_shm()),
        }
    };
    report.write(args.json.as_deref(), args.show)?;
    drop((exporter, monitor));
    recorded?;
    Ok(Outcome::flawed_if(report.is_flawed()))
}

fn is_echoing(args: &SubscribeArgs, chosen: &SelectedTransport) -> bool {
    !args.no_echo && !chosen.is_of_another_user()
}

/// Returns the line that tells the user which transport is used, and that the command is
/// subscribed.
fn subscribed_text(args: &SubscribeArgs, chosen: &SelectedTransport) -> String {
    match is_echoing(args, chosen) || args.no_echo {
        true => format!("Subscribed {chosen}; waiting for samples."),
        false => format!(
            "Subscribed {chosen}, without echoes, because the channels are another user's; waiting for samples."
        ),
    }
}

/// The report, and the result of the recording.
type ReportAndRecording = (SubscribeReport, Result<(), Failure>);

struct Subscription<'a> {
    args: &'a SubscribeArgs,
    sets: Vec<TopicSet>,
    stop: Stop,
    shower: Option<Shower>,
    recorder: Option<Recorder>,
    latencies: Latencies,
    metrics: SubscribeMetrics,
}

impl Subscription<'_> {
    /// Subscribes over one transport, announces it with `text` and takes samples to the end, as
    /// [`run`](Self::run) does. Returns `None` if no publisher arrived and there is one `elsewhere`.
    fn over<P: Participant>(
        &mut self,
        participant: &P,
        delivery: &DeliverySettings,
        is_echoing: bool,
        text: &str,
        elsewhere: Option<&mut PublisherSearch>,
    ) -> Result<Option<ReportAndRecording>, Failure> {
        let args = self.args;
        let options = SubscriberOptions {
            some_topics: !args.topic.is_empty(),
            echo: is_echoing,
            every: args.max_rate.map(|rate| Duration::from_secs(1) / rate),
        };
        let subscriber = Subscriber::new(participant, &self.sets, delivery, &options);
        let mut subscriber = subscriber.map_err(|error| refused(&error))?;
        pin_to(args.cpu)?;
        match args.show {
            true => tell!("{text}"),
            false => crate::distribution::say(args.json.as_deref(), text)?,
        }
        self.run(&mut subscriber, elsewhere)
    }

    /// Takes samples to the end. Returns the report and the result of the recording, which is completed
    /// whatever else fails.
    fn run<P: Participant>(
        &mut self,
        subscriber: &mut Subscriber<P>,
        elsewhere: Option<&mut PublisherSearch>,
    ) -> Result<Option<ReportAndRecording>, Failure> {
        let taken = self.take_all(subscriber, elsewhere);
        if matches!(taken, Ok(None)) {
            return Ok(None);
        }
        let recorded = self.recorder.take().map_or(Ok(()), Recorder::finish);
        let elapsed = taken?.unwrap_or_default();
        let (ledger, stations) = (subscriber.ledger(), subscriber.stations());
        let is_stopped = self.stop.is_set();
        let report =
            SubscribeReport::of(&self.sets, ledger, stations, &self.latencies, elapsed, is_stopped);
        let report = report.map_err(|error: P::Error| refused(&error))?;
        Ok(Some((report, recorded.map_err(Failure::from))))
    }

    /// Takes samples until the feed is done or the process is stopped. Returns the time from the first to the last
    /// sample; `None` if no publisher was found here and there is one `elsewhere`.
    fn take_all<P: Participant>(
        &mut self,
        subscriber: &mut Subscriber<P>,
        mut elsewhere: Option<&mut PublisherSearch>,
    ) -> Result<Option<Duration>, Failure> {
        let row = self.latencies.add("one way, shared clock");
        let (mut first, mut last) = (None, Instant::now());
        let mut waiting = WaitPolicy::new(options::wait(self.args.spin));
        let fail = |error: P::Error| refused(&error);
        loop {
            let Self { shower, recorder, latencies, .. } = self;
            let mut failed = None;
            let take = |arrival: &SampleArrival<'_>| {
                if let Some(age_ns) = arrival.age_ns() {
                    latencies.record(row, age_ns);
                }
                let shown = shower.as_mut().map_or(Ok(()), |shower| shower.show(arrival));
                let mut recorded = || recorder.as_mut().map_or(Ok(()), |to| to.record(arrival));
                if let Err(error) = shown.and_then(|()| recorded()) {
                    failed.get_or_insert(error);
                }
            };
            let count = match waiting.next(monotonic_ns) {
                WaitStep::Look => subscriber.poll(take),
                WaitStep::Sleep => subscriber.receive(TICK, take),
            };
            let count = count.map_err(fail)?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.complete_due()?;
            }
            if count > 0 {
                waiting.arrived();
                last = Instant::now();
                first.get_or_insert(last);
            } else if let Some(shower) = &mut self.shower {
                shower.flush()?;
            }
            for id in subscriber.take_gone() {
                tracing::warn!(
                    "publisher {id} disappeared without announcing its end: its last samples may be lost"
                );
            }
            for (id, topics) in subscriber.take_others() {
                let id = id.map_or_else(|| "of this process".to_owned(), |id| id.to_string());
                tracing::warn!(
                    "publisher {id} has ended and wrote to none of the topics that this command reads, but to {} other \
                     topics ({}): both sides need the same --topics, and --topic must name published topics",
                    topics.len(),
                    topics.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ")
                );
            }
            for why in subscriber.take_refusals() {
                tracing::warn!("{why}");
            }
            self.metrics.publish(subscriber, &self.latencies);
            let is_over = subscriber.is_over() && !self.args.stay && count == 0;
            if self.stop.is_set() || is_over {
                break;
            }
            if let Some(search) = &mut elsewhere
                && search.should_move(subscriber).map_err(fail)?
            {
                return Ok(None);
            }
        }
        if let Some(shower) = &mut self.shower {
            shower.flush()?;
        }
        Ok(Some(first.map_or(Duration::ZERO, |first| last - first)))
    }
}
