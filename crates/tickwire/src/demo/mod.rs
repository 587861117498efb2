//! `tickwire demo`: generates, encodes, decodes, checks and times two feeds; then runs the whole chain live.

mod live;
mod measure;
mod monitored;
mod restarted;
mod rounds;
mod sessions;
mod topics;

use crate::failure::{Failure, Outcome};
use crate::files;
use crate::output;
use crate::table::{Align, TextTable};
use crate::units::{TimeSpan, span_in};
use measure::{DemoFeed, FeedTimes};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickwire_exchange::Options;

/// Names of the feeds.
const FEEDS: [&str; 2] = ["Simple", "Complex"];

/// Demonstrate the codecs and the whole chain from a simulated exchange to a subscriber.
///
/// First the command generates, encodes and decodes two feeds, checks every value and prints the
/// speed. Simple has order messages in packets of 1024 bytes, with a dictionary reset before each
/// packet. Complex has market data with several entries per message and one message per packet.
///
/// Then each feed runs live on loopback. A multicaster sends lines A and B, which both lose
/// packets. A publisher arbitrates the lines, decodes the feed and publishes it, over DDS and then
/// over shared memory. A subscriber receives the samples and echoes them. The same seed gives the
/// same feed and the same losses.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Messages per feed.
    #[arg(long, value_name = "COUNT", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    messages: u32,
    /// Random seed of the feeds.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Also write the feeds and their template files to this directory, for use with other
    /// commands.
    #[arg(long, value_name = "DIRECTORY")]
    save: Option<PathBuf>,
    /// Messages per feed in the live part; 0 skips it.
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, help_heading = "Live")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    live_messages: u64,
    /// Messages per second.
    #[arg(long, value_name = "COUNT", default_value_t = 2_000, help_heading = "Live")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: u64,
    /// Packets lost on each line, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, help_heading = "Live")]
    loss: f64,
    /// Only run a feed whose lines lose packets, a FIX session, and topics over each transport, and
    /// show all of them live in a browser at this port of the loopback interface, until Ctrl-C.
    #[arg(long, value_name = "PORT", help_heading = "Monitor")]
    monitor: Option<u16>,
    /// Packets that one sending process of --monitor sends; for tests.
    #[arg(long, value_name = "COUNT", hide = true, requires = "monitor", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    monitor_round: u32,
    /// Only run the simple feed at --rate for this time, and print losses and memory use.
    #[arg(long, value_name = "TIME", help_heading = "Live", value_parser = span_in("1s"..="24h"))]
    soak: Option<TimeSpan>,
    /// Write the live table and the counters to this file as JSON.
    #[arg(long, value_name = "FILE", help_heading = "Live")]
    json: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(args: &DemoArgs) -> Result<Outcome, Failure> {
    if let Some(port) = args.monitor {
        return monitored::run(port, args.seed, args.monitor_round);
    }
    if !(0.0..=100.0).contains(&args.loss) {
        return Err(Failure::Usage("--loss: a percentage is from 0 to 100".to_owned()));
    }
    check_outputs(args, args.json.as_deref())?;
    let stop = tickwire_net::Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch Ctrl-C: {error}")))?;
    if let Some(time) = args.soak {
        return live::soak(args, time.duration().as_secs(), &stop);
    }
    codecs(args)?;
    if args.live_messages == 0 || stop.is_set() {
        return Ok(Outcome::flawed_if(stop.is_set()));
    }
    let live = live::run(args, &stop)?;
    crate::distribution::write_json(&live.to_json(), args.json.as_deref())?;
    let mut out = files::create(None)?;
    write!(out, "\n{live}")?;
    if stop.is_set() {
        writeln!(out, "Stopped before the end.")?;
    }
    out.flush()?;
    Ok(Outcome::flawed_if(stop.is_set() || live.is_flawed()))
}

/// Refuses two outputs of the same name, and an existing output file unless replacing is requested.
fn check_outputs(args: &DemoArgs, json: Option<&Path>) -> Result<(), Failure> {
    let saved = |directory: &PathBuf| -> Vec<PathBuf> {
        FEEDS.into_iter().flat_map(|feed| saved_files(directory, feed)).collect()
    };
    let saved: Vec<PathBuf> = args.save.iter().flat_map(saved).collect();
    let outputs: Vec<Option<&Path>> =
        saved.iter().map(|path| Some(path.as_path())).chain([json]).collect();
    output::check_all(&outputs, args.force, &[])
}

/// The files of a saved feed: its templates and its packets.
fn saved_files(directory: &Path, feed: &str) -> [PathBuf; 2] {
    ["xml", "bin"].map(|extension| directory.join(format!("{}.{extension}", feed.to_lowercase())))
}

/// Runs the first part, which needs no other process and no socket.
fn codecs(args: &DemoArgs) -> Result<(), Failure> {
    // Done is the last of the messages.
    let messages = u64::from(args.messages) - 1;
    let seed = args.seed;
    let [simple, complex] = FEEDS;
    let feeds = [
        DemoFeed::new(simple, &Options { messages, seed, ..Options::simple() })?,
        DemoFeed::new(complex, &Options { messages, seed, ..Options::complex() })?,
    ];
    if let Some(directory) = &args.save {
        save(&feeds, directory)?;
    }
    let mut out = files::create(None)?;
    let mut table = table();
    for feed in &feeds {
        match feed.measure() {
            Ok(measured) => table.row(cells(feed, &measured)),
            Err(text) => {
                out.flush()?;
                return Err(Failure::Data(format!(
                    "{} feed, seed {}: {text}; please report this with the seed",
                    feed.name, args.seed
                )));
            }
        }
    }
    write!(out, "{table}")?;
    writeln!(out)?;
    writeln!(
        out,
        "Every value of every message was decoded as it was generated (seed {}).",
        args.seed
    )?;
    writeln!(
        out,
        "ns and MB/s: decoding, one thread, the best of several passes; vs FIX: the same"
    )?;
    writeln!(out, "fields as FIX tag=value text, in bytes, against FAST.")?;
    writeln!(out)?;
    write_next(&mut out, args)?;
    out.flush()?;
    Ok(())
}

fn table() -> TextTable {
    let names = [
        "feed",
        "messages",
        "entries",
        "bytes",
        "encode ns/msg",
        "ns/message",
        "ns/entry",
        "MB/s",
        "vs FIX",
    ];
    let columns: Vec<_> = names
        .into_iter()
        .map(|name| (name, if name == "feed" { Align::Left } else { Align::Right }))
        .collect();
    TextTable::new(&columns)
}

fn cells(feed: &DemoFeed, measured: &FeedTimes) -> Vec<String> {
    let ns = measured.decode.as_nanos() as f64;
    let per = |count: u64| match count {
        0 => "-".to_owned(),
        count => format!("{:.1}", ns / count as f64),
    };
    let encode_ns = measured.encode.as_nanos() as f64 / measured.messages as f64;
    vec![
        feed.name.to_owned(),
        measured.messages.to_string(),
        measured.entries.to_string(),
        measured.bytes.to_string(),
        format!("{encode_ns:.1}"),
        per(measured.messages),
        per(measured.entries),
        format!("{:.0}", measured.bytes as f64 / measured.decode.as_secs_f64() / 1e6),
        format!("{:.1}x", measured.fix_bytes as f64 / measured.bytes as f64),
    ]
}

fn save(feeds: &[DemoFeed], directory: &Path) -> Result<(), Failure> {
    let create = |error| Failure::file("create", directory.display(), &error);
    std::fs::create_dir_all(directory).map_err(create)?;
    for feed in feeds {
        let contents = [feed.templates.as_bytes(), &feed.file()];
        for (path, content) in saved_files(directory, feed.name).into_iter().zip(contents) {
            let mut out = files::create(Some(&path))?;
            out.write_all(content)?;
            out.flush()?;
        }
    }
    Ok(())
}

fn write_next(out: &mut impl Write, args: &DemoArgs) -> Result<(), Failure> {
    let directory = args.save.as_ref().map_or("feed".into(), |path| path.display().to_string());
    writeln!(out, "Where to go next:")?;
    if args.save.is_none() {
        writeln!(
            out,
            "  tickwire demo --save {directory}    writes these feeds and their templates"
        )?;
    }
    let complex = format!("-t {directory}/complex.xml --reset packet");
    writeln!(out, "  tickwire decode {directory}/complex.bin {complex} --limit 2")?;
    writeln!(out, "  tickwire explain {directory}/complex.bin {complex} --packet 0")?;
    writeln!(
        out,
        "  tickwire decode {directory}/simple.bin -t {directory}/simple.xml --reset packet --format summary"
    )?;
    writeln!(out, "  tickwire templates show {directory}/complex.xml")?;
    Ok(())
}
