//! `tickwire fix server`: answers orders with execution reports.

use super::dialect::{APPL_VER_ID, MessageDialect, PlainOrder};
use super::order::OrderRoom;
use super::report::{Ids, reports};
use super::sessions::SessionArgs;
use super::spans::SessionSpans;
use super::times::Codec;
use super::watch::{MESSAGES_MAX, SessionMonitor};
use crate::console;
use crate::distribution::{ParentArgs, stop_on_signals};
use crate::failure::{Failure, Outcome};
use crate::options::{AdminArgs, AdminToken, MonitorArgs, ServedMonitor, SpanArgs, metrics_of};
use clap::Args;
use hdrhistogram::Histogram;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use tickwire_feed::counted;
use tickwire_fix::{BusinessRejectReason, SessionRejectReason, Tag};
use tickwire_fix_engine::{
    AcceptorOptions, Access, Application, BoxStore, Engine, FixMetrics, Rate, RefusedConnection,
    SessionKey, Sessions, TemplateSession,
};
use tickwire_fix_session::{
    BeginString, DisconnectReason, MemoryStore, MessageDelivery, Now, OutgoingHeader, Refusal,
    SessionEvent, SessionId, SessionRole,
};
use tickwire_net::clock::monotonic_ns;
use tickwire_net::histogram;
use tickwire_net::{HostError, Stop};
use tickwire_telemetry::http::HttpServer;
use tickwire_telemetry::metrics::{Distribution, Metrics};

/// Options that a settings file replaces.
const REPLACED: [&str; 6] = ["port", "address", "sender", "store", "validate", "heartbeat"];

/// Answer the orders of `tickwire fix client` with a reject, a cancel, or a confirmation and fills
///
/// The answer is chosen at random from a seed. Any SenderCompID is accepted. At the end the server
/// prints the times of encoding and decoding.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Port to listen on; 0 chooses a free port
    #[arg(long, value_name = "N", default_value_t = 11_002)]
    port: u16,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// SenderCompID
    #[arg(long, value_name = "ID", default_value = "TEX_DLD")]
    sender: String,
    /// Random seed; the same seed gives the same answers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    parent: ParentArgs,
    /// Use the sessions of a settings file in QuickFIX's format, which replaces --port, --address, --sender,
    /// --store, --validate and --heartbeat. Reports are those of the session's BeginString, or of the
    /// ApplVerID of an order
    #[arg(long, value_name = "FILE", conflicts_with_all = REPLACED)]
    config: Option<PathBuf>,
    /// Exit when the first counterparty has logged out
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    monitor: MonitorArgs,
    #[command(flatten)]
    spans: SpanArgs,
}

/// Answers orders.
pub struct Server {
    seed: u64,
    ids: Ids,
    /// Time spent on reading the fields of orders.
    read_ns: u64,
    orders: u64,
    reports: u64,
    /// Set when a counterparty logs out, if that ends the server.
    once: Option<Stop>,
    /// The first error on this side: of a message that was not sent, a store or a log.
    failure: Option<String>,
    metrics: FixMetrics,
    /// Times from the arrival of an order to the last report on it.
    answers: Histogram<u64>,
    answer_times: Distribution,
    all_metrics: Metrics,
    /// Passes the sessions to the monitor, if there is one.
    watch: Option<SessionMonitor>,
    /// Exports spans of the sessions, if requested.
    traced: Option<SessionSpans>,
    /// Serves metrics until dropped.
    _exporter: Option<HttpServer>,
}

impl Application for Server {
    fn handle_message(&mut self, _: SessionKey, mut delivery: MessageDelivery<'_, BoxStore>) {
        if delivery.message.msg_type() != b"D" {
            let reason = BusinessRejectReason::UnsupportedMessageType;
            self.note(delivery.reject_business(reason, None, None).err());
            return;
        }
        let started = monotonic_ns();
        let version = delivery.config().default_appl_ver_id.as_deref();
        let answered = match MessageDialect::of_message(&delivery.message, version) {
            MessageDialect::Fix42 => self.answer_typed(started, &mut delivery),
            dialect => self.answer_by_fields(dialect, started, &mut delivery),
        };
        match answered {
            Ok(()) => {
                self.orders += 1;
                histogram::record(&mut self.answers, monotonic_ns().saturating_sub(started));
            }
            Err((reason, tag)) => self.note(delivery.reject(reason, tag).err()),
        }
    }

    fn handle_administration(&mut self, key: SessionKey, text: &str) {
        if let Some(watch) = &mut self.watch {
            watch.administration(key, text);
        }
    }

    fn handle_session_event(&mut self, key: SessionKey, notice: &SessionEvent) {
        if let Some(watch) = &mut self.watch {
            watch.event(key, notice);
        }
        if let Some(traced) = &mut self.traced {
            traced.event(key, notice);
        }
        match (notice, &self.once) {
            (SessionEvent::Disconnect(DisconnectReason::LoggedOut { .. }), Some(stop)) => {
                stop.set()
            }
            (
                SessionEvent::Disconnect(DisconnectReason::Store(text))
                | SessionEvent::StoreFailed { text },
                _,
            ) => {
                self.fail(text.clone());
            }
            _ => {}
        }
    }

    fn handle_log_failure(&mut self, _: SessionKey, error: &io::Error) {
        self.fail(format!("a message log was interrupted: {error}"));
    }

    fn handle_refused(&mut self, refused: &RefusedConnection<'_>) {
        // The store is the only reason why this peer was not admitted, so the operator must know. The event
        // log limits the rate of these lines.
        if refused.refusal == Refusal::Store {
            self.fail(refused.text.to_owned());
        }
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        if self.metrics.publish(sessions, now) {
            self.answer_times.publish(&self.answers);
            if let Some(watch) = &mut self.watch {
                watch.publish(sessions, now);
            }
        }
        self.traced.as_mut().and_then(|traced| traced.turn(sessions, now.steady_ns))
    }
}

/// Reason for rejecting an order, with the tag of the field at fault.
type OrderReject = (SessionRejectReason, Option<Tag>);

impl Server {
    /// Reports on an order of FIX 4.2, by its generated types.
    fn answer_typed(
        &mut self,
        started_ns: u64,
        delivery: &mut MessageDelivery<'_, BoxStore>,
    ) -> Result<(), OrderReject> {
        let mut room = OrderRoom::default();
        let read = room.read(&delivery.message);
        self.read_ns += monotonic_ns().saturating_sub(started_ns);
        let (order, seq_num) = (read?, delivery.seq_num);
        for (index, report) in reports(self.seed, seq_num, order.quantity).iter().enumerate() {
            self.ids.set(seq_num, index);
            let message = report.message(&order, &self.ids);
            let sent = delivery
                .send_fields(&OutgoingHeader::new("8"), |writer| message.encode_fields(writer));
            self.reports += u64::from(sent.is_ok());
            self.note(sent.err());
        }
        Ok(())
    }

    /// Reports on an order of another version, field by field. ApplVerID is that of the order.
    fn answer_by_fields(
        &mut self,
        dialect: MessageDialect,
        started_ns: u64,
        delivery: &mut MessageDelivery<'_, BoxStore>,
    ) -> Result<(), OrderReject> {
        let read = PlainOrder::read(&delivery.message);
        self.read_ns += monotonic_ns().saturating_sub(started_ns);
        let (order, seq_num) = (read?, delivery.seq_num);
        let version = delivery.message.field(APPL_VER_ID).map(|field| (field.tag, field.value));
        let head = OutgoingHeader { msg_type: "8", fields: version.as_slice() };
        for (index, report) in reports(self.seed, seq_num, order.quantity).iter().enumerate() {
            self.ids.set(seq_num, index);
            let sent = delivery.send(&head, |out| report.write(dialect, &order, &self.ids, out));
            self.reports += u64::from(sent.is_ok());
            self.note(sent.err());
        }
        Ok(())
    }

    fn note(&mut self, error: Option<tickwire_fix_session::SendError>) {
        if let Some(error) = error {
            self.fail(format!("a message was not sent: {error}"));
        }
    }

    fn fail(&mut self, text: String) {
        self.failure.get_or_insert(text);
    }
}

/// Parameters of a server.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    pub address: SocketAddr,
    pub sender: String,
    pub seed: u64,
    /// Bytes of messages that an in-memory session keeps; `None` uses the store's default.
    pub kept_max: Option<usize>,
}

impl Server {
    /// Creates an engine that listens, answers and counts in `metrics`; returns it with its address.
    pub fn listen(
        plan: &ServerPlan,
        session: &SessionArgs,
        once: Option<Stop>,
        metrics: &Metrics,
    ) -> Result<(Engine<Self>, SocketAddr), Failure> {
        let failed = |error: HostError| Failure::Usage(error.to_string());
        let mut engine = Self::engine(plan.seed, session, once, metrics)?;
        let mut options = AcceptorOptions::new(plan.address);
        options.connection_rate = Rate { per_second: 10_000 };
        options.connection_rate_per_address = Rate { per_second: 10_000 };
        options.logon_rate = Rate { per_second: 10_000 };
        let (kept_max, sender, session) = (plan.kept_max, plan.sender.clone(), session.clone());
        let template = Box::new(move |id: &SessionId| {
            if id.begin_string != BeginString::Fix42 || id.sender_comp_id != sender {
                return None;
            }
            let access = Access::default();
            let mut config = session.config(SessionRole::Acceptor, id.clone()).ok()?;
            if let (None, Some(kept_max)) = (&session.store, kept_max) {
                config.limits.backlog_bytes_max = kept_max as u64 / 2;
                let store = MemoryStore::with_bytes_max(kept_max);
                let open = move || Ok((Box::new(store) as BoxStore, None));
                return Some(TemplateSession { config, access, open: Box::new(open) });
            }
            let (session, id) = (session.clone(), id.clone());
            let open = move || match session.open_store(&id) {
                Ok(store) => Ok((store, None)),
                Err(Failure::Usage(text) | Failure::Data(text)) => Err(text),
                Err(Failure::OutputClosed) => Err("the output is closed".to_owned()),
            };
            Some(TemplateSession { config, access, open: Box::new(open) })
        });
        let listener = engine.listen(options).map_err(failed)?;
        let set = engine.set_template(listener, template);
        set.map_err(|error| Failure::Usage(error.to_string()))?;
        let address = engine.address(listener).unwrap_or(plan.address);
        Ok((engine, address))
    }

    fn engine(
        seed: u64,
        session: &SessionArgs,
        once: Option<Stop>,
        metrics: &Metrics,
    ) -> Result<Engine<Self>, Failure> {
        let help = "Time from reading an order to queueing its last report";
        let server = Self {
            seed,
            ids: Ids::default(),
            read_ns: 0,
            orders: 0,
            reports: 0,
            once,
            failure: None,
            metrics: FixMetrics::new(metrics),
            answers: histogram::latency(),
            answer_times: metrics.distribution("fix_answer", help, &[]),
            all_metrics: metrics.clone(),
            watch: None,
            traced: None,
            _exporter: session.metrics.serve(metrics)?,
        };
        Engine::new(session.engine_options(), server)
            .map_err(|error| Failure::Usage(error.to_string()))
    }

    pub const fn orders(&self) -> u64 {
        self.orders
    }

    pub const fn reports(&self) -> u64 {
        self.reports
    }
}

/// Serves the monitor of an engine if requested; its page can administer the sessions.
fn monitor(
    args: &MonitorArgs,
    engine: &mut Engine<Server>,
    token: Option<&AdminToken>,
) -> Result<Option<ServedMonitor>, Failure> {
    let Some((mut builder, token)) = args.builder("fix server").zip(token) else {
        return Ok(None);
    };
    let administration = engine.handle().admin_routes(token.token().clone());
    args.administer(&mut builder, administration, token)?;
    engine.sessions_mut().keep_tails(MESSAGES_MAX);
    let server = engine.application_mut();
    let watch = server.watch.insert(SessionMonitor::default());
    builder.set_fix(watch.panel());
    let metrics = server.all_metrics.routes();
    args.serve(Some(builder), metrics)
}

/// Runs `tickwire fix server`.
pub fn run(args: &ServerArgs) -> Result<Outcome, Failure> {
    let stop = stop_on_signals(&args.parent)?;
    let plan = ServerPlan {
        address: SocketAddr::from((args.address, args.port)),
        sender: args.sender.clone(),
        seed: args.seed,
        kept_max: None,
    };
    let once = args.once.then(|| stop.clone());
    let metrics = metrics_of("fix server");
    // Before anything listens: a wrong address ends the command.
    let spans = args.spans.start("fix server", &metrics)?;
    args.session.metrics.check_beside(&args.monitor)?;
    let session = &SessionArgs { is_watched: args.monitor.is_wanted(), ..args.session.clone() };
    let (mut engine, addresses) = match &args.config {
        None => {
            let (engine, address) = Server::listen(&plan, session, once, &metrics)?;
            (engine, vec![address])
        }
        Some(path) => {
            let mut engine = Server::engine(args.seed, session, once, &metrics)?;
            let (configured, _) = session.configure(&mut engine, path, SessionRole::Acceptor)?;
            (engine, configured.addresses)
        }
    };
    let mut out = std::io::stdout().lock();
    for address in addresses {
        writeln!(out, "{}", console::line("INFO", format_args!("listening on {address}")))?;
    }
    out.flush()?;
    let token = args.admin.token(args.monitor.is_wanted())?;
    let _administration = args.admin.serve(&engine.handle(), token.as_ref())?;
    let _monitor = monitor(&args.monitor, &mut engine, token.as_ref())?;
    engine.application_mut().traced =
        spans.as_ref().map(|spans| SessionSpans::new(spans.sink().clone()));
    engine.run(&stop).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut codec = Codec::default();
    for session in engine.sessions().keys().filter_map(|key| engine.sessions().session(key)) {
        codec.add(session.counters());
    }
    let server = engine.application();
    codec.decode_ns += server.read_ns;
    let orders = counted(server.orders, "order");
    let reports = counted(server.reports, "execution report");
    writeln!(out, "{orders} received, {reports} sent")?;
    codec.print(&mut out, "server")?;
    match &server.failure {
        Some(failure) => Err(Failure::Data(failure.clone())),
        None => Ok(Outcome::Clean),
    }
}
