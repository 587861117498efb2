//! `tickwire receive`: the feed handler over sockets or captures.

mod args;
mod bus;
mod captures;
mod described;
mod doubt;
mod handler;
mod handling;
mod instrument_key;
mod late;
mod live;
mod monitoring;
mod nothing;
mod offline;
mod reload;
mod report;
pub mod show;
mod showing;
mod sink;
mod timed;

pub use args::ReceiveArgs;
pub use monitoring::{line, socket_facts};

use crate::distribution::stop_on_signals;
use crate::failure::{Failure, Outcome};
use crate::files;
use described::DescribedChannel;
use report::ReceiveReport;
use show::{ChannelPrinter, ReceiveOutput, ShowOptions, ShownFeed, ShownTables};
use showing::Showing;
use sink::{EndWatch, Ending};
use tickwire_net::{Stop, affinity};

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<Outcome, Failure> {
    let stop = stop_on_signals(&args.parent)?;
    let channels = args.of_channels()?;
    let captures = args.count_captures(&channels)?;
    let channels: Result<Vec<DescribedChannel>, Failure> =
        channels.into_iter().map(|channel| DescribedChannel::new(channel, captures)).collect();
    let session = ReceiveSession::new(args, channels?, stop)?;
    match session.channels.iter().any(|channel| channel.args.captures.is_any()) {
        true => session.receive_captures(),
        false => session.receive_live(),
    }
}

/// Pins this thread to the `index`th CPU of the command line, if it names any.
fn pin(args: &ReceiveArgs, index: usize) -> Result<(), Failure> {
    let Some(cpu) = args.cpu.get(index) else { return Ok(()) };
    affinity::pin_current_thread(*cpu)
        .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))
}

/// All channels and their shared state.
struct ReceiveSession<'a> {
    args: &'a ReceiveArgs,
    channels: Vec<DescribedChannel>,
    show: Option<ShowOptions>,
    out: ReceiveOutput,
    bus: Option<bus::MarketBus>,
    stop: Stop,
    ending: Ending,
}

impl<'a> ReceiveSession<'a> {
    fn new(
        args: &'a ReceiveArgs,
        channels: Vec<DescribedChannel>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        args.check_json(channels.iter().map(|channel| &channel.args))?;
        let show = args.show.options()?;
        let is_json_out = args.json.as_deref().is_some_and(files::is_standard);
        let tables = show.as_ref().and_then(|show| show.tables.as_deref());
        if show.is_some() && tables.is_none() && is_json_out {
            return Err(Failure::Usage(
                "--show and --json - both write to standard output: name a file for --json"
                    .to_owned(),
            ));
        }
        let several = channels.len() > 1;
        let is_captured = channels.iter().all(|channel| channel.args.captures.is_any());
        let out = match (&show, tables) {
            (Some(show), Some(directory)) => {
                let rotates = (!is_captured).then_some(show.tables_rotate_time);
                ReceiveOutput::with_tables(ShownTables::create(
                    directory,
                    &show.shown,
                    several,
                    rotates,
                )?)
            }
            _ => ReceiveOutput::default(),
        };
        if let Some(show) = &show {
            if several {
                show.check_several()?;
            }
            show::push_heading(show, several, &out);
        }
        let ending = Ending::new(args, stop.clone(), channels.len());
        let bus = bus::MarketBus::join(&args.bus, is_captured, &stop)?;
        Ok(Self { bus, args, channels, show, out, stop, ending })
    }

    /// Creates the sink of a channel. Times of its handler plus `epoch_ns` are nanoseconds since 1970.
    fn sink(&self, channel: &DescribedChannel, epoch_ns: u64) -> Result<Showing, Failure> {
        let printer = self.show.clone().map(|show| {
            let feed = ShownFeed {
                program: &channel.program,
                framing: &channel.options.framing,
                limits: channel.decoding.limits,
                replays: channel.replays(),
                kinds: channel.args.shown_kinds(),
            };
            ChannelPrinter::new(show, channel.args.label(), self.out.clone(), &feed, epoch_ns)
        });
        let showing = Showing::new(EndWatch::new(self.ending.clone()), printer.transpose()?);
        let showing = showing.publishing(self.bus.as_ref().map(|bus| {
            let kinds = channel.args.shown_kinds();
            bus.channel(channel.args.label(), epoch_ns, kinds, channel.args.measure_every)
        }));
        Ok(showing)
    }

    /// Refuses a number of CPUs that differs from the number of threads.
    fn check_cpus(&self, threads: usize) -> Result<(), Failure> {
        match self.args.cpu.len() {
            0 => Ok(()),
            cpus if cpus == threads => Ok(()),
            cpus => Err(Failure::Usage(format!(
                "--cpu names {cpus} CPUs for {threads} threads: name one each"
            ))),
        }
    }

    /// Announces to subscribers, if there are any, that the feed has ended, or that the reception `failed` or was stopped
    /// before; returns true if samples were lost.
    fn finish_publishing(&self, failed: bool) -> Result<bool, Failure> {
        if let Some(bus) = &self.bus {
            let has_ended = !self.stop.is_set() || self.ending.end().is_some();
            return bus.finish(has_ended && !failed);
        }
        Ok(false)
    }

    /// Writes the report to the requested outputs.
    fn write(&self, report: &ReceiveReport<'_>) -> Result<(), Failure> {
        report.write(self.args.json.as_deref(), self.args.quiet, self.show.is_some())
    }
}
