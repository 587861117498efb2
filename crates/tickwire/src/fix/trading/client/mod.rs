//! `tickwire fix client`: sends orders and counts execution reports.

mod application;
mod status;

use super::dialect::MessageDialect;
use super::menu;
use super::order::number_of;
use super::sessions::SessionArgs;
use super::times::{Codec, print_round_trips};
use crate::distribution::{ParentArgs, stop_on_signals};
use crate::failure::{Failure, Outcome};
use crate::options::metrics_of;
use crate::units::TimeSpan;
use application::{Client, ClientMetrics, ClientPlan};
use clap::Args;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use tickwire_fix::Tag;
use tickwire_fix_engine::{Backoff, Engine, FixMetrics, InitiatorOptions, SessionKey};
use tickwire_fix_session::{BeginString, SessionId, SessionRole, Store};
use tickwire_net::HostError;
use tickwire_net::histogram::LatencySummary;

/// Options that a settings file replaces.
const REPLACED: [&str; 7] =
    ["address", "sender", "target", "store", "validate", "heartbeat", "reconnect"];

/// Send orders to `tickwire fix server` and count its execution reports
///
/// Without --orders a menu controls the client: N, a, b, l, n, p, x and ? for help. x logs out and
/// exits. l, or the end of standard input, does so once every order has its reports: each order of
/// this run, or with --journal each order in the store.
///
/// At the end the client prints the times of encoding, decoding and round trips.
#[derive(Debug, Args)]
pub struct ClientArgs {
    /// Address of the server
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:11002")]
    address: SocketAddr,
    /// SenderCompID
    #[arg(long, value_name = "ID", default_value = "DLD_TEX")]
    sender: String,
    /// TargetCompID
    #[arg(long, value_name = "ID", default_value = "TEX_DLD")]
    target: String,
    /// Use the first session of a settings file in QuickFIX's format, which replaces ADDRESS, --sender, --target,
    /// --store, --validate, --heartbeat and --reconnect. Orders are those of its BeginString or
    /// DefaultApplVerID
    #[arg(long, value_name = "FILE", conflicts_with_all = REPLACED)]
    config: Option<PathBuf>,
    /// Send this many orders, wait for all reports, log out and exit, without a menu. Orders of
    /// earlier runs in the same store are included in the count; this needs --journal in each run
    #[arg(long, value_name = "N")]
    orders: Option<u64>,
    /// With --orders: exit with an error if an expected Logon or report does not arrive for this
    /// long. With --reliable, the time to reconnect counts too
    #[arg(long, value_name = "TIME", default_value = "1m")]
    timeout: TimeSpan,
    /// Encode this many orders before connecting
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    preload: u64,
    /// Orders to send before received messages are read
    #[arg(short = 'u', long, value_name = "N", default_value_t = 500)]
    batch: u64,
    /// Orders per second. Default: as fast as possible
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Most open orders; 1 measures single round trips
    #[arg(long, value_name = "N")]
    window: Option<u64>,
    /// Reconnect after a disconnection; without --store messages can be lost
    #[arg(short, long)]
    reliable: bool,
    /// Record every execution report in this file, so that none is handled twice
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Time before the first attempt to reconnect
    #[arg(long, value_name = "TIME", default_value = "1s")]
    reconnect: TimeSpan,
    /// Random seed; the same seed gives the same orders
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    parent: ParentArgs,
}

/// Runs `tickwire fix client`.
pub fn run(args: &ClientArgs) -> Result<Outcome, Failure> {
    let failed = |error: HostError| Failure::Usage(error.to_string());
    if args.reliable && args.session.store.is_none() && args.config.is_none() {
        return Err(Failure::Usage("--reliable needs --store FOLDER to lose nothing".to_owned()));
    }
    let stop = stop_on_signals(&args.parent)?;
    let input = if args.orders.is_none() { Some(menu::read_input()) } else { None };
    let plan = ClientPlan {
        seed: args.seed,
        batch: args.batch.max(1),
        interval_ns: args.rate.map(|rate| 1_000_000_000 / u64::from(rate.max(1))),
        window: args.window,
        reliable: args.reliable,
        orders: args.orders,
        timeout_ns: args.timeout.nanoseconds(),
        journal: args.journal.clone(),
    };
    let mut client = Client::new(plan, input, stop.clone())?;
    client.preload(args.preload);
    let metrics = metrics_of("fix client");
    let _exporter = args.session.metrics.serve(&metrics)?;
    let help = "Time from an order to its first execution report";
    let round_trips = metrics.distribution("fix_round_trip", help, &[]);
    client.publish_with(ClientMetrics { sessions: FixMetrics::new(&metrics), round_trips });
    let mut engine = Engine::new(args.session.engine_options(), client).map_err(failed)?;
    let (key, dialect) = match &args.config {
        None => (add_session(&mut engine, args)?, MessageDialect::Fix42),
        Some(path) => {
            let (configured, dialect) =
                args.session.configure(&mut engine, path, SessionRole::Initiator)?;
            if let Some(error) = configured.unopened.first() {
                return Err(Failure::Usage(format!("{}: {error}", path.display())));
            }
            let none = || Failure::Usage(format!("{}: no initiator", path.display()));
            (configured.sessions.first().copied().ok_or_else(none)?, dialect)
        }
    };
    let last = match engine.sessions_mut().session_mut(key) {
        Some(session) => last_order(session.store_mut())?,
        None => 0,
    };
    if args.orders.is_some() && args.journal.is_none() && last > 0 {
        let text = format!(
            "--orders: the store has orders of earlier runs, up to number {last}, and without \
             --journal it is unknown which of them are complete; use another store, or --journal \
             FILE from the first run on"
        );
        return Err(Failure::Usage(text));
    }
    engine.application_mut().begin(key, last, dialect);
    engine.run(&stop).map_err(failed)?;
    let mut codec = Codec::default();
    if let Some(session) = engine.sessions().session(key) {
        codec.add(session.counters());
    }
    let client = engine.application();
    codec.decode_ns += client.read_ns();
    let reported = report(client, &codec);
    // An error of the session takes precedence over a report that cannot be written.
    let outcome = client.outcome()?;
    reported?;
    Ok(outcome)
}

fn report(client: &Client, codec: &Codec) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} NewOrderSingle msgs sent", client.sent())?;
    writeln!(out, "{} ExecutionReport msgs received", client.reports())?;
    codec.print(&mut out, "client")?;
    print_round_trips(&mut out, "client", &LatencySummary::from(client.round_trips()))?;
    Ok(())
}

/// Adds the session that the command line describes.
fn add_session(engine: &mut Engine<Client>, args: &ClientArgs) -> Result<SessionKey, Failure> {
    let id = SessionId::new(BeginString::Fix42, &args.sender, &args.target);
    let config = args.session.config(SessionRole::Initiator, id.clone())?;
    let store = args.session.open_store(&id)?;
    let mut options = InitiatorOptions::new(args.address);
    let first = args.reconnect.duration();
    options.backoff = Backoff { first, longest: first.saturating_mul(30) };
    if args.reliable {
        options.backoff = Backoff::fixed(first);
    }
    let added = engine.add_initiator(config, store, options);
    added.map_err(|error| Failure::Usage(error.to_string()))
}

/// Returns the number of the last order in a store; 0 if there is none.
fn last_order(store: &mut dyn Store) -> Result<u64, Failure> {
    let mut bytes = Vec::new();
    let mut reader = tickwire_fix::Reader::new();
    for seq_num in (1..store.next_sender()).rev() {
        bytes.clear();
        let found = store.read_next(seq_num, &mut bytes);
        if found.map_err(|error| Failure::Usage(error.to_string()))? != Some(seq_num) {
            continue;
        }
        let message = reader.decode(&bytes).ok();
        let cl_ord_id = message.as_ref().and_then(|message| message.field(Tag(11)));
        if let Some(number) = cl_ord_id.and_then(|field| number_of(field.value)) {
            return Ok(number);
        }
    }
    Ok(0)
}
