//! One feed from the exchange to the subscriber.

use super::place::DemoPlace;
use super::process::ChildProcess;
use super::report::FeedReports;
use crate::failure::Failure;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ChildStdin;
use std::thread::JoinHandle;
use std::time::Duration;
use tickwire_exchange::{ExchangeError, Generator, Options};
use tickwire_feed::Endian;
use tickwire_feed::capture::PrefixedWriter;
use tickwire_net::Stop;

/// Time within which a process must be ready or have ended.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for the last packets to arrive.
const GRACE: Duration = Duration::from_secs(3);

/// Parameters of a chain.
#[derive(Clone, Debug)]
pub struct FeedProcessesPlan {
    /// Name of the feed.
    pub name: &'static str,
    /// The value of `--transport` that carries the samples.
    pub transport: &'static str,
    /// Options of the exchange.
    pub options: Options,
    /// Packets a second.
    pub packets_per_second: u64,
    /// Percent of packets that each line loses.
    pub loss: f64,
    /// Seed of the faults.
    pub seed: u64,
    /// True if the subscriber echoes.
    pub echo: bool,
}

/// The processes of one feed.
pub struct FeedProcesses {
    name: &'static str,
    transport: &'static str,
    // Fields are dropped in this order: the sender first.
    multicaster: ChildProcess,
    publisher: ChildProcess,
    subscriber: ChildProcess,
    exchange: JoinHandle<Result<u64, ExchangeError>>,
    reports: [PathBuf; 3],
    place: DemoPlace,
}

impl FeedProcesses {
    /// Starts the subscriber, then the publisher once the subscriber is ready, and the multicaster last.
    pub fn start(plan: &FeedProcessesPlan, stop: &Stop) -> Result<Self, Failure> {
        let place = DemoPlace::find()?;
        let templates = place.write("templates.xml", plan.options.feed.templates())?;
        let reports =
            ["multicaster", "publisher", "subscriber"].map(|n| place.file(&format!("{n}.json")));
        let [sent, published, received] = reports.clone().map(|path| path.display().to_string());
        let bus = format!(
            "--transport {} --domain {} --shm-directory {} --end-with-input",
            plan.transport,
            place.domain,
            place.channels.display()
        );
        let bus = if plan.echo { bus } else { format!("{bus} --no-echo") };
        let [apart, together] = cpu_options();
        let lines = format!("-a {} -p {} --line-b", place.group, place.port);

        let words = format!("subscribe {bus}{together} --force --json");
        let subscriber = ChildProcess::start("subscriber", arguments(&words, &[&received]))?;
        subscriber.wait_line("Subscribed", PATIENCE, stop)?;

        // The longest message has a few hundred bytes. With this sample size, rings hold four times as many samples
        // as by default, so that a subscriber that gets no CPU time for a second loses nothing.
        let room = if plan.transport == "shm" { " --shm-sample 4KiB" } else { "" };
        let words = format!(
            "publish {bus}{room} {lines}{apart} --reset packet --subscribers 1 --force --json"
        );
        let rest = [&published, "-t", &templates.display().to_string()];
        let publisher = ChildProcess::start("publisher", arguments(&words, &rest))?;
        // Line A, then B.
        publisher.wait_line("Listening", PATIENCE, stop)?;
        publisher.wait_line("Listening", PATIENCE, stop)?;

        let faults = format!(
            "--loss {} --duplicate 1 --reorder 1 --seed {} --rate {}",
            plan.loss, plan.seed, plan.packets_per_second
        );
        let words = format!(
            "multicast -f - --input-format u32be {lines} {faults}{together} --force --json"
        );
        let mut multicaster = ChildProcess::start("multicaster", arguments(&words, &[&sent]))?;
        let input = multicaster.take_input();
        let options = plan.options.clone();
        let exchange = std::thread::spawn(move || make(&options, input));
        let FeedProcessesPlan { name, transport, .. } = *plan;
        Ok(Self { name, transport, multicaster, publisher, subscriber, exchange, reports, place })
    }

    /// Process ids of the publisher and the subscriber.
    pub fn ids(&self) -> [u32; 2] {
        [self.publisher.id(), self.subscriber.id()]
    }

    /// True if all packets have been sent, or the publisher has exited.
    pub fn is_sent(&mut self) -> Result<bool, Failure> {
        Ok(self.multicaster.status()?.is_some() || self.publisher.status()?.is_some())
    }

    /// Waits for the end of the feed and collects the counters of the processes. If the user stops this
    /// process, it stops the others in order and collects their counters so far.
    pub fn finish(mut self, stop: &Stop) -> Result<FeedReports, Failure> {
        while !self.is_sent()? && !stop.is_set() {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The publisher ends at the Done message. If both lines lost that message, the publisher is
        // asked to stop.
        let never = Stop::new();
        if !self.publisher.wait(GRACE, stop)? {
            self.publisher.stop();
            self.publisher.wait(PATIENCE, &never)?;
        }
        if !self.subscriber.wait(GRACE, stop)? {
            self.subscriber.stop();
            self.subscriber.wait(PATIENCE, &never)?;
        }
        if stop.is_set() {
            self.multicaster.interrupt();
        }
        // The multicaster's exit also ends the exchange thread, whose pipe is then closed.
        if !self.multicaster.wait(GRACE, &never)? {
            return Err(Failure::Usage("the multicaster did not end".to_owned()));
        }
        let generated = match self.exchange.join() {
            Ok(Ok(messages)) => messages,
            Ok(Err(error)) => return Err(Failure::Data(format!("the exchange: {error}"))),
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let [sent, published, received] =
            self.reports.each_ref().map(|path| self.place.read_json(path).unwrap_or_default());
        let Self { name, transport, .. } = self;
        Ok(FeedReports { name, transport, generated, sent, published, received })
    }
}

/// The `--cpu` options of the publisher and of the processes before and after it; empty if there is only one
/// CPU.
fn cpu_options() -> [String; 2] {
    match super::two_cpus() {
        Some(cpus) => cpus.map(|cpu| format!(" --cpu {cpu}")),
        None => [String::new(), String::new()],
    }
}

fn arguments<'a>(words: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    words.split(' ').chain(rest.iter().copied()).collect()
}

/// Generates the packets of the feed and writes them to the multicaster; returns the number of
/// messages.
fn make(options: &Options, input: Option<ChildStdin>) -> Result<u64, ExchangeError> {
    let Some(input) = input else { return Ok(0) };
    let mut out = PrefixedWriter::new(BufWriter::new(input), Endian::Big);
    let mut generator = Generator::new(options)?;
    let mut messages = 0;
    while let Some(packet) = generator.next_packet()? {
        if out.write_packet(&packet.bytes).is_err() {
            // The multicaster was stopped.
            break;
        }
        messages += packet.messages.len() as u64;
    }
    Ok(messages)
}
