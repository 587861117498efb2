//! `tickwire receive`: the feed handler over sockets.

mod args;
mod books;
mod report;
mod sink;

pub use args::ReceiveArgs;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{reset_policy, with_reset_template};
use args::EngineChoice;
use books::MaybeBooks;
use report::Report;
use sink::Counting;
use sink::Named;
use std::sync::Arc;
use tickwire_fast::rt::{self, Templates};
use tickwire_fast::{CompileOptions, Decoder, DecoderOptions, Engine as DynamicEngine, Program};
use tickwire_fast_generated::{WithModule, with_module};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{
    Adapt, Dynamic, Engine, Generated, Handler, HandlerOptions, SeqNumField, Source,
};
use tickwire_feed::recovery::MarketDataAdapter;
use tickwire_net::log::Logged;
use tickwire_net::metrics::{FeedMetrics, Metrics};
use tickwire_net::multicast::{Endpoint, Receiver};
use tickwire_net::process::resident_bytes;
use tickwire_net::reception::{Reception, View};
use tickwire_net::timed::Timed;
use tickwire_net::{Stop, affinity};

type Feed<E> = Handler<Timed<E>, MaybeBooks>;

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("--cpu {cpu}: {error}")))?;
    }
    let framing = args.framing.framing()?;
    let set = files::read_templates(&args.templates)?;
    let signature = set.signature();
    let set = with_reset_template(set, &framing);
    let (options, seq_num) = (args.options(framing, &set)?, args.seq_num_field_in(&set));
    let program = Arc::new(files::compile(set, &CompileOptions::default())?);
    let dynamic = match args.engine {
        EngineChoice::Scalar => DynamicEngine::Scalar,
        EngineChoice::Wide => DynamicEngine::Wide,
        EngineChoice::Compiled => DynamicEngine::Compiled,
        EngineChoice::Dynamic | EngineChoice::Generated => DynamicEngine::Automatic,
    };
    let decoding =
        DecoderOptions { engine: dynamic, ..args.decoder.options(reset_policy(&framing)) };
    let feed = Described { args, stop, program, options, decoding, seq_num };
    if args.engine != EngineChoice::Generated {
        let decoder = || Decoder::with_options(feed.program.clone(), feed.decoding);
        let engine = || Dynamic::new(decoder(), &feed.seq_num);
        return feed.receive(engine);
    }
    let received = with_module(&signature, feed);
    received.unwrap_or_else(|| {
        Err(Failure::Usage(format!(
            "--engine generated: no code is built in for {}, template set {signature}; receive it \
             with --engine dynamic, or generate code with `tickwire templates generate` for a program \
             of your own",
            args.templates.display()
        )))
    })
}

/// A feed, and how it is to be decoded.
struct Described<'a> {
    args: &'a ReceiveArgs,
    stop: Stop,
    program: Arc<Program>,
    options: HandlerOptions,
    decoding: DecoderOptions,
    seq_num: SeqNumField,
}

impl WithModule for Described<'_> {
    type Output = Result<Outcome, Failure>;

    fn with<T: Templates>(self) -> Self::Output {
        // A reset template that the framing needs is not the module's: it is decoded dynamically.
        let decoder = || {
            let decoder = rt::Decoder::<T>::adopting(self.program.clone(), self.decoding);
            decoder.expect("the program has all fields")
        };
        self.receive(|| Generated::new(decoder(), &self.seq_num))
    }
}

impl Described<'_> {
    /// Receives the feed until it ends.
    fn receive<E: Engine<Message: Named>>(
        &self,
        mut engine: impl FnMut() -> E,
    ) -> Result<Outcome, Failure>
    where
        MarketDataAdapter: Adapt<E::Message>,
    {
        let Self { args, stop, .. } = self;
        let books = MaybeBooks::new(&self.program, args.naming());
        let mut handler: Feed<E> =
            Handler::new(self.options.clone(), || Timed::new(engine()), books)
                .map_err(|error| Failure::Usage(error.to_string()))?;
        let mut reception = reception(args)?;
        let metrics = Metrics::new();
        let mut published =
            FeedMetrics::new(&metrics, reception.inputs().map(|(source, _)| source));
        let times = metrics.distribution("decode_time", "Time to decode a message", &[]);
        let exporter = args.metrics.serve(&metrics)?;
        let mut sink = Logged::new(Counting::new(args, stop.clone()));
        let resident_at_start = resident_bytes();
        let received =
            reception.run(&mut handler, &mut sink, stop, |sink, view: View<'_, _, _>| {
                sink.inner_mut().observe(view.now_ns, view.is_idle, view.reception);
                if exporter.is_some() {
                    published.publish(&view, |handler| times.publish(handler.engine().times()));
                }
            });
        drop(exporter);
        let report = Report::new(&reception, &handler, sink.inner(), resident_at_start);
        report.write(args.json.as_deref())?;
        received.map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(Outcome::Clean)
    }
}

fn reception(args: &ReceiveArgs) -> Result<Reception, Failure> {
    let endpoints = args.endpoints()?;
    let feeds = [
        Some((Source::Incremental(Line::A), endpoints.a)),
        endpoints.b.map(|endpoint| (Source::Incremental(Line::B), endpoint)),
        endpoints.snapshots.map(|endpoint| (Source::Snapshot(Line::A), endpoint)),
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
    let inputs = feeds.into_iter().flatten().map(open).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Reception::new(inputs, args.wait()))
}
