//! `tickwire fix soak`: runs many sessions for a long time, both sides in one process, and checks that
//! nothing is lost.

use super::kills;
use super::order::{ClOrdId, Order};
use super::report::ReportRoom;
use super::server::{Server, ServerPlan};
use super::sessions::SessionArgs;
use crate::failure::{Failure, Outcome};
use crate::units::{TimeSpan, span_in};
use clap::{Args, ValueEnum};
use std::collections::HashMap;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tickwire_fix::UtcTimestamp;
use tickwire_fix_engine::{
    Application, Backoff, BoxStore, Engine, EngineOptions, InitiatorOptions, SessionKey, Sessions,
};
use tickwire_fix_session::{
    BeginString, DisconnectReason, MemoryStore, MessageDelivery, Now, OutgoingHeader, SessionEvent,
    SessionId, SessionRole,
};
use tickwire_net::clock::monotonic_ns;
use tickwire_net::histogram::{self, LatencySummary};
use tickwire_net::{HostError, Stop};
use tickwire_telemetry::metrics::Metrics;

/// Run many sessions and check that nothing is lost and that memory does not grow
///
/// Server and clients run in one process, each on its own thread, and communicate over loopback.
/// With --kill-every they are processes that are killed; at the end the records of both sides are
/// compared.
#[derive(Debug, Args)]
pub struct FixSoakArgs {
    /// Number of sessions. Default: 100, or 4 with --kill-every
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sessions: Option<u32>,
    /// Orders per second and session
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: u32,
    /// Time to run
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = span_in("1s"..="720h"))]
    time: TimeSpan,
    /// Kill the server or a client (kill -9) at about this interval and restart it. Orders and
    /// reports are in files of --store, which must be empty, or of a temporary folder
    #[arg(long, value_name = "TIME", value_parser = span_in("10ms"..="1h"))]
    kill_every: Option<TimeSpan>,
    /// Random seed of the kills
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kill_every")]
    seed: u64,
    #[command(flatten)]
    session: SessionArgs,
}

/// Default number of sessions, in one process and in processes that are killed.
const SESSIONS: u32 = 100;
const SESSIONS_KILLED: u32 = 4;
/// Bytes of messages that an in-memory session keeps.
const KEPT_MAX: usize = 256 << 10;
/// Maximum growth of memory in bytes after the first tenth of the time.
const GROWTH_MAX: u64 = 32 << 20;

/// Progress of one client session.
#[derive(Clone, Copy, Debug, Default)]
struct ClientProgress {
    sent: u64,
    finished: u64,
    next_ns: u64,
    /// Time at which the newest order was sent.
    sent_ns: u64,
    awaits: bool,
}

/// All clients.
struct Clients {
    progress: HashMap<SessionKey, ClientProgress>,
    interval_ns: u64,
    until_ns: u64,
    reports: u64,
    round_trips: hdrhistogram::Histogram<u64>,
    failures: u64,
    stop: Stop,
}

impl Application for Clients {
    fn handle_message(&mut self, session: SessionKey, delivery: MessageDelivery<'_, BoxStore>) {
        let Some(progress) = self.progress.get_mut(&session) else { return };
        let Ok(report) = ReportRoom::default().read(&delivery.message) else {
            self.failures += 1;
            return;
        };
        self.reports += 1;
        progress.finished += u64::from(report.is_last);
        if std::mem::take(&mut progress.awaits) {
            let taken = monotonic_ns().saturating_sub(progress.sent_ns);
            histogram::record(&mut self.round_trips, taken);
        }
    }

    fn handle_session_event(&mut self, _: SessionKey, notice: &SessionEvent) {
        let is_fine = matches!(
            notice,
            SessionEvent::LoggedOn
                | SessionEvent::Handled
                | SessionEvent::Reset { .. }
                | SessionEvent::ResendRequested { .. }
        );
        let is_end = matches!(notice, SessionEvent::Disconnect(DisconnectReason::LoggedOut { .. }))
            && (self.stop.is_set() || monotonic_ns() >= self.until_ns);
        self.failures += u64::from(!is_fine && !is_end);
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        let is_over = now.steady_ns >= self.until_ns;
        let mut next_ns = u64::MAX;
        for (key, progress) in &mut self.progress {
            if is_over || !sessions.session(*key).is_some_and(|session| session.is_logged_on()) {
                continue;
            }
            while progress.next_ns <= now.steady_ns {
                progress.next_ns =
                    progress.next_ns.max(now.steady_ns.saturating_sub(1_000_000_000));
                progress.next_ns += self.interval_ns;
                let order = Order::seeded(1, progress.sent + 1);
                let time = UtcTimestamp::from_unix_nanos(now.wall_ns);
                let head = OutgoingHeader::new("D");
                progress.sent_ns = monotonic_ns();
                let id = ClOrdId::new(order.number);
                let message = order.message(&id, time);
                let sent = sessions.send_fields(*key, now, &head, |w| message.encode_fields(w));
                match sent {
                    Ok(_) => {
                        progress.sent += 1;
                        progress.awaits = progress.sent == progress.finished + 1;
                    }
                    Err(_) => self.failures += 1,
                }
            }
            next_ns = next_ns.min(progress.next_ns);
        }
        let all_done = self.progress.values().all(|done| done.finished == done.sent);
        if is_over && all_done {
            self.stop.set();
        }
        Some(next_ns.min(now.steady_ns + 10_000_000))
    }
}

/// Sets a flag when it is dropped.
struct StopOnDrop<'s>(&'s Stop);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Returns resident memory in bytes; 0 if it cannot be determined.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

impl FixSoakArgs {
    fn kill_plan(&self, kill_every: TimeSpan) -> kills::KillPlan {
        let temporary =
            || std::env::temp_dir().join(format!("tickwire-fix-soak-{}", std::process::id()));
        let fsync = self.session.fsync.to_possible_value();
        kills::KillPlan {
            clients: self.sessions.unwrap_or(SESSIONS_KILLED),
            rate: self.rate.max(1),
            time: self.time.duration(),
            kill_every: kill_every.duration(),
            seed: self.seed,
            fsync: fsync.map_or_else(String::new, |value| value.get_name().to_owned()),
            folder: self.session.store.clone().unwrap_or_else(temporary),
        }
    }
}

/// Runs `tickwire fix soak`.
pub fn run(args: &FixSoakArgs) -> Result<Outcome, Failure> {
    let failed = |error: HostError| Failure::Usage(error.to_string());
    let stop = Stop::on_signals()
        .map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")))?;
    if let Some(kill_every) = args.kill_every {
        return kills::run(&args.kill_plan(kill_every), &stop);
    }
    let sessions = args.sessions.unwrap_or(SESSIONS);
    let mut session = args.session.clone();
    let server_folder = session.store.as_ref().map(|folder| folder.join("server"));
    let client_folder = session.store.as_ref().map(|folder| folder.join("client"));
    session.store = server_folder;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let plan = ServerPlan { address, sender: "SOAK".to_owned(), seed: 1, kept_max: Some(KEPT_MAX) };
    let (mut server, address) = Server::listen(&plan, &session, None, &Metrics::new())?;
    session.store = client_folder;

    let clients = Clients {
        progress: HashMap::new(),
        interval_ns: 1_000_000_000 / u64::from(args.rate.max(1)),
        until_ns: monotonic_ns() + args.time.nanoseconds(),
        reports: 0,
        round_trips: histogram::latency(),
        failures: 0,
        stop: stop.clone(),
    };
    let mut engine = Engine::new(EngineOptions::default(), clients).map_err(failed)?;
    for number in 0..sessions {
        let id = SessionId::new(BeginString::Fix42, format!("CLIENT{number}"), "SOAK");
        let mut config = session.config(SessionRole::Initiator, id.clone())?;
        if session.store.is_none() {
            config.limits.backlog_bytes_max = KEPT_MAX as u64 / 2;
        }
        let store: BoxStore = match session.store {
            Some(_) => session.open_store(&id)?,
            None => Box::new(MemoryStore::with_bytes_max(KEPT_MAX)),
        };
        let mut options = InitiatorOptions::new(address);
        options.backoff = Backoff::fixed(Duration::from_millis(100));
        let added = engine.add_initiator(config, store, options);
        let key = added.map_err(|error| Failure::Usage(error.to_string()))?;
        // The sessions' send times are spread over the interval.
        let offset = u64::from(number) * engine.application().interval_ns / u64::from(sessions);
        let next_ns = monotonic_ns() + offset;
        engine
            .application_mut()
            .progress
            .insert(key, ClientProgress { next_ns, ..ClientProgress::default() });
    }
    let mut out = std::io::stdout().lock();
    let server_stop = Stop::new();
    let memory = std::thread::scope(|scope| -> Result<Vec<u64>, Failure> {
        let serving = scope.spawn(|| server.run(&server_stop));
        // Stops the server on an early return too, because the scope waits for its thread.
        let _stopping = StopOnDrop(&server_stop);
        let mut samples = Vec::new();
        let step_ns = args.time.nanoseconds().max(10_000_000_000) / 10;
        let mut next_ns = monotonic_ns() + step_ns;
        while !stop.is_set() && !serving.is_finished() {
            engine.turn(Duration::from_millis(10)).map_err(failed)?;
            if monotonic_ns() >= next_ns {
                next_ns += step_ns;
                samples.push(resident());
                let sent: u64 = engine.application().progress.values().map(|done| done.sent).sum();
                let memory = samples.last().copied().unwrap_or(0) >> 20;
                writeln!(out, "{sent} orders sent, {memory} MiB resident")?;
            }
        }
        // The server reads the last acknowledgements before it answers the Logout of each client.
        engine.shutdown().map_err(failed)?;
        server_stop.set();
        serving
            .join()
            .map_err(|_| Failure::Data("the server's thread ended".to_owned()))?
            .map_err(failed)?;
        Ok(samples)
    })?;
    report(&mut out, engine.application(), server.application(), &memory)
}

fn report(
    out: &mut dyn Write,
    clients: &Clients,
    server: &Server,
    memory: &[u64],
) -> Result<Outcome, Failure> {
    let sent: u64 = clients.progress.values().map(|done| done.sent).sum();
    let finished: u64 = clients.progress.values().map(|done| done.finished).sum();
    let found = LatencySummary::from(&clients.round_trips);
    let growth = memory.iter().max().zip(memory.first()).map_or(0, |(most, first)| most - first);
    writeln!(
        out,
        "{sent} orders sent, {} received; {} reports sent, {} received; {finished} orders finished",
        server.orders(),
        server.reports(),
        clients.reports
    )?;
    super::times::print_round_trips(out, "soak", &found)?;
    writeln!(out, "memory grew by {} KiB after the first tenth", growth >> 10)?;
    let is_whole =
        sent == server.orders() && server.reports() == clients.reports && finished == sent;
    if !is_whole || clients.failures > 0 {
        let text = format!("messages were lost, or {} errors occurred", clients.failures);
        return Err(Failure::Data(text));
    }
    Ok(Outcome::flawed_if(growth > GROWTH_MAX))
}
