//! The client's application: sends orders, receives reports and serves the menu.

use super::super::dialect::MessageDialect;
use super::super::journal::Journal;
use super::super::menu::{HELP, Menu, MenuCommand};
use super::super::order::{ClOrdId, Order, number_of};
use super::super::report::{ReceivedReport, ReportRoom};
use super::status::{ClientStatus, TradingCounts};
use crate::failure::{Failure, Outcome};
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError};
use tickwire_fix::UtcTimestamp;
use tickwire_fix_engine::{
    Application, BoxStore, FixMetrics, SessionKey, Sessions, session_event_text,
};
use tickwire_fix_session::{
    Config, DisconnectReason, MessageDelivery, Now, OutgoingHeader, SendError, SessionEvent,
};
use tickwire_net::Stop;
use tickwire_net::clock::monotonic_ns;
use tickwire_net::histogram;
use tickwire_telemetry::metrics::Distribution;

/// Interval at which the menu's input is read, in nanoseconds.
const MENU_NS: u64 = 10_000_000;
/// Number of send times that are remembered for measuring round trips.
const MOMENTS: usize = 1 << 20;

/// Settings from the command line.
#[derive(Clone, Debug)]
pub struct ClientPlan {
    pub seed: u64,
    pub batch: u64,
    pub interval_ns: Option<u64>,
    pub window: Option<u64>,
    pub reliable: bool,
    pub orders: Option<u64>,
    /// Longest time without a Logon or a report, if orders are given.
    pub timeout_ns: u64,
    pub journal: Option<PathBuf>,
}

/// Sends orders and counts reports.
pub struct Client {
    plan: ClientPlan,
    key: Option<SessionKey>,
    dialect: MessageDialect,
    input: Option<Receiver<String>>,
    menu: Menu,
    /// State that is shown beside the menu.
    status: ClientStatus,
    stop: Stop,
    journal: Option<Journal>,
    /// Orders made ahead.
    preloaded: VecDeque<Order>,
    /// Number of the last order created.
    made: u64,
    /// Orders still to be sent; preloaded ones go first.
    to_send: u64,
    next_send_ns: u64,
    /// Number and send time of each order, indexed by number modulo [`MOMENTS`].
    moments: Vec<(u64, u64)>,
    /// Orders sent by this process.
    sent: u64,
    /// Orders sent by this process and earlier ones.
    sent_ever: u64,
    finished: u64,
    /// Number of the last order of earlier runs. Only a journal knows which of their orders are
    /// finished.
    unknown: u64,
    reports: u64,
    repeated: u64,
    read_ns: u64,
    round_trips: Histogram<u64>,
    /// Time of the last Logon or report on the steady clock; set by the first turn.
    heard_ns: Option<u64>,
    /// Number of Logons and reports at `heard_ns`.
    heard: u64,
    logons: u64,
    wants_logout: bool,
    is_done: bool,
    is_logged_on: bool,
    /// The reason why the last connection ended or was not established.
    end: Option<String>,
    failure: Option<Failure>,
    /// Error that interrupted the message log.
    log_failure: Option<String>,
    metrics: Option<ClientMetrics>,
}

/// Metrics of the client.
pub struct ClientMetrics {
    pub sessions: FixMetrics,
    pub round_trips: Distribution,
}

impl Client {
    pub fn new(
        plan: ClientPlan,
        input: Option<Receiver<String>>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let journal = plan.journal.as_deref().map(Journal::open).transpose()?;
        let finished = journal.as_ref().map_or(0, Journal::finished);
        Ok(Self {
            wants_logout: plan.orders.is_some(),
            plan,
            key: None,
            dialect: MessageDialect::Fix42,
            input,
            menu: Menu::default(),
            status: ClientStatus::default(),
            stop,
            journal,
            preloaded: VecDeque::new(),
            made: 0,
            to_send: 0,
            next_send_ns: 0,
            moments: vec![(0, 0); MOMENTS],
            sent: 0,
            sent_ever: 0,
            finished,
            unknown: 0,
            reports: 0,
            repeated: 0,
            read_ns: 0,
            round_trips: histogram::latency(),
            heard_ns: None,
            heard: 0,
            logons: 0,
            is_done: false,
            is_logged_on: false,
            end: None,
            failure: None,
            log_failure: None,
            metrics: None,
        })
    }

    /// Sets the session, the number of the last order that was sent earlier, and how the session writes orders.
    pub fn begin(&mut self, key: SessionKey, last: u64, dialect: MessageDialect) {
        self.key = Some(key);
        self.dialect = dialect;
        self.sent_ever = last;
        if self.journal.is_none() {
            (self.unknown, self.finished) = (last, last);
        }
        self.made += last;
        for order in &mut self.preloaded {
            *order = Order::seeded(self.plan.seed, order.number + last);
        }
        if let Some(orders) = self.plan.orders {
            self.to_send = orders.saturating_sub(last);
        }
    }

    /// Sets the metrics to publish to.
    pub fn publish_with(&mut self, metrics: ClientMetrics) {
        self.metrics = Some(metrics);
    }

    /// Makes orders ahead.
    pub fn preload(&mut self, count: u64) {
        for _ in 0..count {
            let order = self.make();
            self.preloaded.push_back(order);
        }
        if count > 0 {
            self.print(&format!("{} NewOrderSingle msgs preloaded.\n", self.preloaded.len()));
        }
    }

    pub const fn sent(&self) -> u64 {
        self.sent
    }

    pub const fn reports(&self) -> u64 {
        self.reports
    }

    pub const fn read_ns(&self) -> u64 {
        self.read_ns
    }

    pub const fn round_trips(&self) -> &Histogram<u64> {
        &self.round_trips
    }

    /// Returns how the run ended.
    pub fn outcome(&self) -> Result<Outcome, Failure> {
        match (&self.failure, &self.log_failure) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(text)) => Err(Failure::Data(text.clone())),
            (None, None) => Ok(Outcome::Clean),
        }
    }

    fn make(&mut self) -> Order {
        self.made += 1;
        Order::seeded(self.plan.seed, self.made)
    }

    fn fail(&mut self, text: String) {
        self.end_with(Failure::Data(text));
    }

    fn end_with(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.stop.set();
    }

    /// Prints text for the user at the menu.
    fn print(&mut self, text: &str) {
        let mut out = anstream::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.end_with(error.into());
        }
    }

    /// Shows changes of state to the user at the menu.
    fn show(&mut self, sessions: &Sessions, key: SessionKey, now: Now) {
        let (Some(_), Some(session)) = (&self.input, sessions.session(key)) else { return };
        let peer = sessions.peer(key).map(|peer| peer.to_string()).unwrap_or_default();
        let preloaded = self.preloaded.len() as u64;
        let counts = TradingCounts { sent: self.sent, preloaded, reports: self.reports };
        for line in self.status.changes(session, &peer, counts, now) {
            self.print(&format!("{line}\n"));
        }
    }

    fn take_commands(&mut self, sessions: &mut Sessions, now: Now) {
        loop {
            let line = match self.input.as_ref().map(Receiver::try_recv) {
                Some(Ok(line)) => line,
                Some(Err(TryRecvError::Disconnected)) => {
                    self.input = None;
                    return;
                }
                _ => return,
            };
            match self.menu.line(&line) {
                Ok(command) => self.obey(command, sessions, now),
                Err(text) => self.print(text),
            }
        }
    }

    fn obey(&mut self, command: MenuCommand, sessions: &mut Sessions, _: Now) {
        let session = self.key.and_then(|key| sessions.session(key));
        let is_logged_on = session.is_some_and(|session| session.is_logged_on());
        match command {
            MenuCommand::Help => self.print(HELP),
            MenuCommand::Send(count) => self.send_later(count, is_logged_on),
            MenuCommand::SendPreloaded => {
                self.send_later(self.preloaded.len() as u64, is_logged_on)
            }
            MenuCommand::Batch(count) => {
                self.preload(count);
                self.send_later(count, is_logged_on);
            }
            MenuCommand::Preload(count) => self.preload(count),
            MenuCommand::Logout => {
                self.wants_logout = true;
                if !is_logged_on {
                    self.print("not logged on yet: logs out after the Logon\n");
                }
            }
            MenuCommand::Exit => {
                self.is_done = true;
                self.stop.set();
            }
        }
    }

    fn send_later(&mut self, count: u64, is_logged_on: bool) {
        self.to_send += count;
        if !is_logged_on {
            self.print("not logged on yet: orders wait for the Logon\n");
        }
    }

    /// True if an order may be sent now.
    fn may_send(&self, now_ns: u64) -> bool {
        let unfinished = self.sent_ever.saturating_sub(self.finished);
        self.to_send > 0
            && self.plan.window.is_none_or(|window| unfinished < window)
            && (self.plan.interval_ns.is_none() || now_ns >= self.next_send_ns)
    }

    fn send_some(&mut self, sessions: &mut Sessions, key: SessionKey, now: Now) {
        for _ in 0..self.plan.batch {
            if !self.may_send(now.steady_ns) {
                return;
            }
            let order = match self.preloaded.pop_front() {
                Some(order) => order,
                None => self.make(),
            };
            let time = UtcTimestamp::from_unix_nanos(now.wall_ns);
            let moment = (order.number, monotonic_ns());
            let id = ClOrdId::new(order.number);
            let head = OutgoingHeader::new("D");
            let sent = match self.dialect {
                MessageDialect::Fix42 => {
                    let message = order.message(&id, time);
                    sessions.send_fields(key, now, &head, |w| message.encode_fields(w))
                }
                dialect => {
                    sessions.send(key, now, &head, |out| order.write(dialect, &id, time, out))
                }
            };
            match sent {
                Ok(_) => {}
                Err(SendError::QueueFull) => return self.preloaded.push_front(order),
                Err(error) => return self.fail(format!("an order was not sent: {error}")),
            }
            self.moments[order.number as usize % MOMENTS] = moment;
            self.sent += 1;
            self.sent_ever = order.number;
            self.to_send -= 1;
            if let Some(interval_ns) = self.plan.interval_ns {
                self.next_send_ns =
                    self.next_send_ns.max(now.steady_ns - interval_ns.min(now.steady_ns));
                self.next_send_ns += interval_ns;
            }
        }
    }

    const fn was_logged_on(&self) -> bool {
        self.logons > 0
    }

    /// Ends the run when neither a Logon nor a report has arrived for too long. Returns the time of the next
    /// check.
    fn check_silence(&mut self, config: &Config, now: Now) -> u64 {
        let now_ns = now.steady_ns;
        let heard = self.logons + self.reports + self.repeated;
        let open = self.sent_ever.saturating_sub(self.finished);
        // Between two orders of --rate the server may be silent.
        let may_be_silent = self.is_logged_on && open == 0 && self.to_send > 0;
        if self.heard_ns.is_none() || heard != self.heard || may_be_silent {
            self.heard_ns = Some(now_ns);
            self.heard = heard;
        }
        let until_ns = self.heard_ns.unwrap_or(now_ns).saturating_add(self.plan.timeout_ns);
        if now_ns >= until_ns && !self.stop.is_set() {
            let text = match (self.is_logged_on, self.was_logged_on()) {
                (true, _) => format!(
                    "the server has sent no report within --timeout: {open} orders are open"
                ),
                (false, was_logged_on) => {
                    let lost = if was_logged_on { "the connection was lost, and " } else { "" };
                    let what = match config.schedule_wait(now.wall_ns) {
                        Some(wait) => format!("the session is {wait}, longer than --timeout"),
                        None => {
                            let end = self.end.as_ref().map(|end| format!(": {end}"));
                            let end = end.unwrap_or_default();
                            format!("the server has not answered the Logon within --timeout{end}")
                        }
                    };
                    format!("{lost}{what}")
                }
            };
            self.fail(text);
        }
        until_ns
    }

    fn handle_report(&mut self, delivery: &MessageDelivery<'_, BoxStore>) {
        let started = monotonic_ns();
        let read = match self.dialect {
            MessageDialect::Fix42 => {
                ReportRoom::default().read(&delivery.message).map_err(|error| error.to_string())
            }
            _ => ReceivedReport::read_fields(&delivery.message)
                .map_err(|tag| format!("field {tag} is missing")),
        };
        let ended = monotonic_ns();
        self.read_ns += ended.saturating_sub(started);
        let report = match read {
            Ok(report) => report,
            Err(error) => {
                let text = String::from_utf8_lossy(delivery.message.bytes()).replace('\u{1}', "|");
                return self.fail(format!("an execution report cannot be read: {error}: {text}"));
            }
        };
        if let Some(journal) = &mut self.journal {
            match journal.add(report.exec_id, report.is_last) {
                Ok(true) => {}
                Ok(false) if delivery.poss_dup => {
                    self.repeated += 1;
                    return;
                }
                Ok(false) => {
                    let id = String::from_utf8_lossy(report.exec_id).into_owned();
                    return self
                        .fail(format!("execution report {id} arrived twice without PossDupFlag"));
                }
                Err(error) => return self.fail(format!("cannot write the journal {error}")),
            }
        }
        self.reports += 1;
        let number = number_of(report.cl_ord_id);
        self.finished += u64::from(report.is_last && number > Some(self.unknown));
        if let Some(number) = number {
            let moment = &mut self.moments[number as usize % MOMENTS];
            if moment.0 == number {
                histogram::record(&mut self.round_trips, started.saturating_sub(moment.1));
                moment.0 = 0;
            }
        }
    }
}

impl Application for Client {
    fn handle_message(&mut self, _: SessionKey, delivery: MessageDelivery<'_, BoxStore>) {
        if delivery.message.msg_type() == b"8" {
            self.handle_report(&delivery);
        }
    }

    fn handle_session_event(&mut self, _: SessionKey, notice: &SessionEvent) {
        if let SessionEvent::Disconnect(_) = notice {
            self.end = session_event_text(notice).map(|(_, _, text)| text);
        }
        match notice {
            SessionEvent::LoggedOn => {
                self.is_logged_on = true;
                self.logons += 1;
                self.end = None;
            }
            SessionEvent::RejectReceived { text, seq_num } => {
                self.fail(format!("the server rejected message {seq_num}: {text}"));
            }
            SessionEvent::Rejected { seq_num, reason, .. } => {
                let reason = reason.text();
                self.fail(format!("message {seq_num} of the server was rejected: {reason}"));
            }
            SessionEvent::Disconnect(DisconnectReason::SeqNum) if !self.plan.reliable => {
                // The cause of a disconnection may be reported after the disconnection.
                let text = "the server's MsgSeqNum is not the expected one; if one side was reset, \
                            reset the other too";
                self.failure = Some(Failure::Data(text.to_owned()));
                self.stop.set();
            }
            SessionEvent::Disconnect(DisconnectReason::Store(text))
            | SessionEvent::StoreFailed { text } => {
                // The cause of a disconnection may be reported after the disconnection.
                self.failure = Some(Failure::Data(text.clone()));
                self.stop.set();
            }
            _ => {}
        }
    }

    fn handle_log_failure(&mut self, _: SessionKey, error: &io::Error) {
        self.log_failure.get_or_insert(format!("the message log was interrupted: {error}"));
    }

    fn handle_connection_failure(&mut self, _: SessionKey, text: &str) {
        self.end = Some(text.to_owned());
    }

    fn handle_disconnected(&mut self, _: SessionKey) {
        self.is_logged_on = false;
        if self.is_done {
            self.stop.set();
        } else if !self.plan.reliable {
            let end = self.end.as_deref();
            let text = match self.was_logged_on() {
                _ if self.stop.is_set() => "stopped by a signal".to_owned(),
                true => {
                    let end = end.unwrap_or("the connection was lost; is the server running?");
                    format!("{end} (--reliable reconnects)")
                }
                false => {
                    format!("no Logon was received: {}", end.unwrap_or("the connection ended"))
                }
            };
            self.fail(text);
        }
    }

    fn handle_turn(&mut self, sessions: &mut Sessions, now: Now) -> Option<u64> {
        self.take_commands(sessions, now);
        if let Some(metrics) = &mut self.metrics
            && metrics.sessions.publish(sessions, now)
        {
            metrics.round_trips.publish(&self.round_trips);
        }
        let key = self.key?;
        self.show(sessions, key, now);
        let is_logged_on = sessions.session(key).is_some_and(|session| session.is_logged_on());
        let mut wake_ns = self.input.as_ref().map(|_| now.steady_ns + MENU_NS);
        if self.plan.orders.is_some() {
            let session = sessions.session(key);
            wake_ns = session.map(|session| self.check_silence(session.config(), now));
        }
        if is_logged_on {
            self.send_some(sessions, key, now);
            let is_finished = self.to_send == 0 && self.finished >= self.sent_ever;
            if self.wants_logout && is_finished && !self.is_done {
                self.is_done = true;
                if let Some(session) = sessions.session_mut(key) {
                    session.logout(now, "");
                }
            }
            if self.may_send(now.steady_ns) {
                wake_ns = Some(now.steady_ns);
            } else if self.to_send > 0 && self.plan.interval_ns.is_some() {
                let next_ns = self.next_send_ns.max(now.steady_ns + 1);
                wake_ns = Some(wake_ns.map_or(next_ns, |at| at.min(next_ns)));
            }
        }
        wake_ns
    }
}
