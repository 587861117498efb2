//! `tickwire receive`: the feed handler over sockets or captures.

mod args;
mod captures;
mod faults;
mod live;
mod offline;
mod reload;
mod report;
mod show;
mod showing;
mod sink;

pub use args::ReceiveArgs;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{reset_policy, with_reset_template};
use args::EngineChoice;
use report::Report;
use show::{Printer, ShowOptions};
use showing::Showing;
use sink::{Counting, Named};
use std::sync::Arc;
use tickwire_fast::rt::{self, Templates};
use tickwire_fast::{CompileOptions, Decoder, DecoderOptions, Engine as DynamicEngine, Program};
use tickwire_fast_generated::{WithModule, with_module};
use tickwire_feed::handler::{Dynamic, Engine, Generated, Handler, HandlerOptions, SeqNumField};
use tickwire_feed::market::{Adapt, BookAdapter};
use tickwire_net::{Stop, affinity};

type Feed<E> = Handler<E, BookAdapter>;

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<Outcome, Failure> {
    let args = &args.over_channel()?;
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))?;
    }
    let set = files::read_templates(args.templates()?)?;
    let framing = match args.framing.is_auto() && args.captures.is_any() {
        true => args.framing.find(args.captures.sample()?.packets(), &set, "captures")?,
        false => args.framing.framing()?,
    };
    let signature = set.signature();
    let set = with_reset_template(set, &framing);
    let sequencing = args.sequencing(&framing, &set)?;
    let program = Arc::new(files::compile(set, &CompileOptions::default())?);
    let dynamic = match args.engine {
        EngineChoice::Scalar => DynamicEngine::Scalar,
        EngineChoice::Wide => DynamicEngine::Wide,
        EngineChoice::Compiled => DynamicEngine::Compiled,
        EngineChoice::Dynamic | EngineChoice::Generated => DynamicEngine::Automatic,
    };
    let decoding =
        DecoderOptions { engine: dynamic, ..args.decoder.options(reset_policy(&framing)) };
    let books = BookAdapter::new(&program, args.book_choice(), &args.instrument_key);
    let options = args.options(framing, &sequencing, &books)?;
    let show = args.show.options()?;
    if show.is_some() && args.json.as_deref().is_some_and(files::is_standard) {
        return Err(Failure::Usage(
            "--show and --json - both write to standard output: name a file for --json".to_owned(),
        ));
    }
    let feed =
        Described { args, show, stop, program, options, decoding, seq_num: sequencing.field };
    if args.engine != EngineChoice::Generated {
        let engine = |program: &Arc<Program>, seq_num: &SeqNumField| {
            Dynamic::new(Decoder::with_options(program.clone(), feed.decoding), seq_num)
        };
        return feed.receive(engine);
    }
    let name = files::name_of(args.templates()?);
    let received = with_module(&signature, feed);
    received.unwrap_or_else(|| {
        Err(Failure::Usage(format!(
            "--engine generated: no code is built in for {name}, template set {signature}; receive it \
             with --engine dynamic, or generate code with `tickwire templates generate` for a program \
             of your own"
        )))
    })
}

/// A feed, and how it is to be decoded.
struct Described<'a> {
    args: &'a ReceiveArgs,
    show: Option<ShowOptions>,
    stop: Stop,
    program: Arc<Program>,
    options: HandlerOptions,
    decoding: DecoderOptions,
    seq_num: SeqNumField,
}

impl WithModule for Described<'_> {
    type Output = Result<Outcome, Failure>;

    fn with<T: Templates>(self) -> Self::Output {
        // Templates that are not the module's are decoded dynamically: a reset template that the
        // framing needs, and those of a file that changed.
        self.receive(|program, seq_num| {
            let decoder = rt::Decoder::<T>::adopting(program.clone(), self.decoding);
            Generated::new(decoder.expect("the program has all fields"), seq_num)
        })
    }
}

impl Described<'_> {
    /// Receives the feed until it ends, from captures or from sockets. `engine` makes one for a
    /// program, whose messages have their number in a field.
    fn receive<E: Engine<Message: Named>>(
        &self,
        engine: impl Fn(&Arc<Program>, &SeqNumField) -> E,
    ) -> Result<Outcome, Failure>
    where
        BookAdapter: Adapt<E::Message>,
    {
        match self.args.captures.is_any() {
            true => self.receive_captures(|| engine(&self.program, &self.seq_num)),
            false => self.receive_live(engine),
        }
    }

    fn books(&self, program: &Arc<Program>) -> BookAdapter {
        BookAdapter::new(program, self.args.book_choice(), &self.args.instrument_key)
    }

    /// The sink of a reception. `epoch_ns` makes times of the handler nanoseconds since 1970.
    fn sink(&self, epoch_ns: u64) -> Result<Showing, Failure> {
        let printer = self
            .show
            .clone()
            .map(|show| Printer::new(show, &self.program, self.decoding.limits, epoch_ns));
        let counting = Counting::new(self.args, self.stop.clone());
        Ok(Showing::new(counting, printer.transpose()?, self.stop.clone()))
    }

    /// Writes the report where it belongs.
    fn write<E: Engine>(&self, report: &Report<'_, E>) -> Result<(), Failure>
    where
        BookAdapter: Adapt<E::Message>,
    {
        report.write(self.args.json.as_deref(), self.args.quiet, self.show.is_some())
    }
}
