//! `tickwire receive`: the feed handler over sockets.

mod args;
mod books;
mod report;
mod sink;

pub use args::ReceiveArgs;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::options::{reset_policy, with_reset_template};
use books::MaybeBooks;
use report::Report;
use sink::Counting;
use std::sync::Arc;
use tickwire_fast::{CompileOptions, Decoder};
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{Dynamic, Handler, Source};
use tickwire_net::log::Logged;
use tickwire_net::metrics::{FeedMetrics, Metrics};
use tickwire_net::multicast::{Endpoint, Receiver};
use tickwire_net::process::resident_bytes;
use tickwire_net::reception::{Reception, View};
use tickwire_net::timed::Timed;
use tickwire_net::{Stop, affinity};

type Feed = Handler<Timed<Dynamic>, MaybeBooks>;

/// Runs the command.
pub fn run(args: &ReceiveArgs) -> Result<Outcome, Failure> {
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    if let Some(cpu) = args.cpu {
        affinity::pin_current_thread(cpu)
            .map_err(|error| Failure::Usage(format!("cannot run on CPU {cpu}: {error}")))?;
    }
    let mut handler = handler(args)?;
    let mut reception = reception(args)?;
    let metrics = Metrics::new();
    let mut published = FeedMetrics::new(&metrics, reception.inputs().map(|(source, _)| source));
    let times = metrics.distribution("decode_time", "Time to decode a message", &[]);
    let exporter = args.metrics.serve(&metrics)?;
    let mut sink = Logged::new(Counting::new(args, stop.clone()));
    let resident_at_start = resident_bytes();
    let received = reception.run(&mut handler, &mut sink, &stop, |sink, view: View<'_, _, _>| {
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

fn handler(args: &ReceiveArgs) -> Result<Feed, Failure> {
    let framing = args.framing.framing()?;
    let set = with_reset_template(files::read_templates(&args.templates)?, &framing);
    let options = args.options(framing, &set)?;
    let seq_num = args.seq_num_field_in(&set);
    let program = Arc::new(files::compile(set, &CompileOptions::default())?);
    let decoder_options = args.decoder.options(reset_policy(&framing));
    let engine = || {
        let decoder = Decoder::with_options(program.clone(), decoder_options);
        Timed::new(Dynamic::new(decoder, &seq_num))
    };
    let books = MaybeBooks::new(&program, args.naming());
    Handler::new(options, engine, books).map_err(|error| Failure::Usage(error.to_string()))
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
