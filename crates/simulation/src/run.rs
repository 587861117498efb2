//! Runs a scenario through a handler.

use crate::arrivals::{Played, play};
use crate::checker::Checker;
use crate::reception::{Received, receive};
use crate::replay::ReplayService;
use crate::scenario::Scenario;
use std::fmt;
use std::sync::Arc;
use tickwire_exchange::Error;
use tickwire_exchange::day::{Heartbeats, Moment};
use tickwire_fast::{Decoder, DecoderOptions, Program, TemplateSet};
use tickwire_feed::handler::{Dynamic, Handler, HandlerOptions, Sequencing};
use tickwire_feed::market::{AdapterOptions, MarketDataAdapter};
use tickwire_feed::recovery::{BookKinds, Continuity, RecoveryOptions};

/// Packets between two checks of all books; those that a message changed are checked at once.
const CHECK_EVERY: usize = 16;

/// Heartbeat intervals without a packet that make a line silent; without heartbeats the default counts, longer than any
/// pause.
const SILENT_INTERVALS: u64 = 5;

/// What a run went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets handed to the handler.
    pub packets: u64,
    /// Packets of updates delivered.
    pub delivered: u64,
    /// Fresh books compared with the truth.
    pub books_checked: u64,
    /// Books that became fresh by snapshots or updates.
    pub recovered: u64,
    /// Lost packets of updates that the replay server sent again.
    pub replayed: u64,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Seed of the scenario.
    pub seed: u64,
    /// The last message delivered, or number lost.
    pub position: Option<Moment>,
    /// What is wrong.
    pub what: String,
    /// The last things that the handler told before, the latest last.
    pub recent: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, after {:?}: {}", self.seed, self.position, self.what)?;
        self.recent.iter().try_for_each(|told| write!(f, "\n    {told}"))
    }
}

impl std::error::Error for Violation {}

/// Plays a scenario and checks it.
///
/// # Errors
/// The first [`Violation`].
pub fn run(scenario: &Scenario) -> Result<Report, Violation> {
    run_through(scenario, false)
}

/// Does the same, and prints what comes in and what the handler tells.
///
/// # Errors
/// The first [`Violation`].
pub fn trace(scenario: &Scenario) -> Result<Report, Violation> {
    run_through(scenario, true)
}

fn run_through(scenario: &Scenario, is_traced: bool) -> Result<Report, Violation> {
    let failed = |error: Error| Violation {
        seed: scenario.seed,
        position: None,
        what: format!("the day cannot be played: {error}"),
        recent: Vec::new(),
    };
    let played = play(scenario).map_err(failed)?;
    let mut checker = Checker::new(scenario, &played, is_traced);
    let mut handler = handler(scenario, &played);
    let setup = scenario.handler.replay.as_ref();
    let mut replay = setup.map(|setup| ReplayService::new(&played, setup, scenario.seed));
    let received = receive(scenario, &played.incoming);
    for (index, (incoming, times)) in played.incoming.iter().zip(&received).enumerate() {
        handle_timeouts(times.taken_ns, &mut handler, replay.as_mut(), &mut checker);
        checker.trace(incoming);
        let Received { received_ns, .. } = *times;
        handler.handle_packet(received_ns, incoming.source, &incoming.bytes, &mut checker);
        if let Some(replay) = &mut replay {
            replay.take_lost(times.taken_ns, &mut handler, &mut checker);
        }
        if index % CHECK_EVERY == 0 {
            checker.check_all(handler.recovery());
        }
        if let Some(violation) = checker.violation.take() {
            return Err(violation);
        }
    }
    let end_ns = played.incoming.last().map_or(0, |incoming| incoming.at_ns);
    let quiet_ns = end_ns + scenario.handler.hold_ns + scenario.handler.skew_ns;
    handle_timeouts(quiet_ns, &mut handler, replay.as_mut(), &mut checker);
    checker.check_all(handler.recovery());
    checker.check_deliveries();
    checker.check_events();
    checker.check_end(handler.recovery());
    checker.check_lines(handler.arbiter());
    match checker.violation.take() {
        Some(violation) => Err(violation),
        None => Ok(Report {
            packets: played.incoming.len() as u64,
            delivered: checker.delivered.len() as u64,
            books_checked: checker.books_checked,
            recovered: handler.recovery().counters().recovered,
            replayed: replay.map_or(0, |replay| replay.counters().replayed),
        }),
    }
}

/// Acts on the timers of handler and replay up to `now_ns`, each at its own time.
fn handle_timeouts(
    now_ns: u64,
    handler: &mut Handler<Dynamic, MarketDataAdapter>,
    mut replay: Option<&mut ReplayService<'_>>,
    checker: &mut Checker<'_>,
) {
    loop {
        let of_replay = replay.as_ref().and_then(|replay| replay.poll_timeout());
        let of_handler = handler.poll_timeout();
        let Some(due_ns) = [of_handler, of_replay].into_iter().flatten().min() else { return };
        if due_ns > now_ns {
            return;
        }
        if of_handler == Some(due_ns) {
            handler.handle_timeout(due_ns, checker);
        }
        if let Some(replay) = &mut replay {
            if of_replay == Some(due_ns) {
                replay.handle_timeout(due_ns, handler, checker);
            }
            replay.take_lost(due_ns, handler, checker);
        }
    }
}

fn handler(scenario: &Scenario, played: &Played) -> Handler<Dynamic, MarketDataAdapter> {
    let day = &scenario.day;
    let framing = day.wire_framing();
    let set = TemplateSet::parse(played.day.templates()).expect("templates of the exchange");
    let sequencing = Sequencing::derive(&framing, &set, None).expect("MsgSeqNum");
    let program: Arc<Program> = played.day.program().clone();
    let mut arbiter = sequencing.arbiter_options();
    arbiter.lines = scenario.lines.map(|faults| faults.is_some());
    arbiter.hold_ns = scenario.handler.hold_ns;
    // The promise is about the hold time, whichever lines are alive.
    arbiter.reorder_ns = scenario.handler.hold_ns;
    arbiter.skew_ns = scenario.handler.skew_ns;
    // A line of another channel that was never compared stands in for one that is silent: none is here.
    let is_wrong = scenario.lines.iter().flatten().any(|line| line.wrong_line.is_some());
    if day.heartbeats != Heartbeats::None && !is_wrong {
        arbiter.silent_after_ns = SILENT_INTERVALS * day.heartbeat_interval_ns;
    }
    arbiter.first_seq_num = scenario.handler.is_told_first.then_some(day.first_seq_num);
    let recovery = RecoveryOptions {
        continuity: if day.has_rpt_seq { Continuity::RptSeq } else { Continuity::SeqNum },
        depth: day.depth_of(0).filter(|_| scenario.handler.is_told_depth),
        kinds: match day.has_implied {
            true => BookKinds::OutrightAndImplied,
            false => BookKinds::Outright,
        },
        ..RecoveryOptions::default()
    };
    let options = HandlerOptions {
        framing,
        sequence: sequencing.source.clone(),
        arbiter,
        recovery,
        heartbeat_ns: scenario.handler.heartbeat_ns,
    };
    let engine = || {
        let reset = framing.reset_policy().into();
        let options = DecoderOptions { reset, ..DecoderOptions::default() };
        Dynamic::new(Decoder::with_options(program.clone(), options), &sequencing.field)
    };
    let adapter = MarketDataAdapter::new(program.clone(), &AdapterOptions::default());
    let handler = Handler::new(options, engine, adapter).expect("a feed that can be handled");
    if scenario.handler.replay.is_some() { handler.with_replay(engine()) } else { handler }
}
