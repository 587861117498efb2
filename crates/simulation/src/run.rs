//! Runs a scenario through a handler.

use crate::arrivals::{Played, play};
use crate::checker::Checker;
use crate::decodable::Decodable;
use crate::reception::{ReceiveTimes, receive};
use crate::replay::ReplayService;
use crate::scenario::{Scenario, SimulationEngine};
use crate::setup::handler;
use std::fmt;
use tickwire_exchange::ExchangeError;
use tickwire_exchange::day::UpdatePosition;
use tickwire_fast::{Decoder, DecoderOptions, TemplateSet, generated};
use tickwire_fast_generated::exchange_day;
use tickwire_feed::handler::{Dynamic, FeedEngine, Generated, Handler, Sequencing};
use tickwire_feed::market::{Adapt, MarketDataAdapter};

/// Number of packets between two checks of all books; books that a message changed are checked
/// immediately.
const CHECK_EVERY: usize = 16;

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulationReport {
    /// Packets handed to the handler.
    pub packets: u64,
    /// Packets of updates delivered.
    pub delivered: u64,
    /// Fresh books compared with the truth.
    pub books_checked: u64,
    /// Books that became fresh by snapshots or updates.
    pub recovered: u64,
    /// Lost packets of updates that the replay server resent.
    pub replayed: u64,
}

/// A broken guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Seed of the scenario.
    pub seed: u64,
    /// The last message delivered, or number reported lost.
    pub position: Option<UpdatePosition>,
    /// Description of the violation.
    pub what: String,
    /// The handler's last outputs before the violation, latest last.
    pub recent: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}, after {:?}: {}", self.seed, self.position, self.what)?;
        self.recent.iter().try_for_each(|told| write!(f, "\n    {told}"))
    }
}

impl std::error::Error for Violation {}

/// Runs a scenario and checks it.
///
/// # Errors
/// The first [`Violation`].
pub fn run(scenario: &Scenario) -> Result<SimulationReport, Violation> {
    run_through(scenario, false)
}

/// Like [`run`], and prints the arriving packets and the handler's output.
///
/// # Errors
/// The first [`Violation`].
pub fn trace(scenario: &Scenario) -> Result<SimulationReport, Violation> {
    run_through(scenario, true)
}

fn run_through(scenario: &Scenario, is_traced: bool) -> Result<SimulationReport, Violation> {
    let failed = |error: ExchangeError| Violation {
        seed: scenario.seed,
        position: None,
        what: format!("the day cannot be played: {error}"),
        recent: Vec::new(),
    };
    let played = play(scenario).map_err(failed)?;
    let checker = Checker::new(scenario, &played, is_traced);
    let set = TemplateSet::parse(played.day.templates()).expect("templates of the exchange");
    let field =
        Sequencing::derive(&scenario.day.wire_framing(), &set, None).expect("MsgSeqNum").field;
    let reset = scenario.day.wire_framing().reset_policy().into();
    let options = DecoderOptions::default().reset(reset);
    let program = || played.day.program().clone();
    match scenario.handler.engine {
        SimulationEngine::Dynamic => {
            let engine = || Dynamic::new(Decoder::with_options(program(), options), &field);
            drive(scenario, &played, handler(scenario, &played, engine), checker)
        }
        SimulationEngine::Generated => {
            let decoder = || {
                generated::ModuleDecoder::<exchange_day::Templates>::adopting(program(), options)
            };
            let engine = || Generated::new(decoder().expect("all fields"), &field);
            drive(scenario, &played, handler(scenario, &played, engine), checker)
        }
    }
}

/// Passes every packet to a handler when it arrives.
fn drive<E: FeedEngine<Message: Decodable>>(
    scenario: &Scenario,
    played: &Played,
    mut handler: Handler<E, MarketDataAdapter>,
    mut checker: Checker<'_>,
) -> Result<SimulationReport, Violation>
where
    MarketDataAdapter: Adapt<E::Message>,
{
    let setup = scenario.handler.replay.as_ref();
    let mut replay = setup.map(|setup| ReplayService::new(played, setup, scenario.seed));
    let received = receive(scenario, &played.incoming);
    for (index, (incoming, times)) in played.incoming.iter().zip(&received).enumerate() {
        handle_timeouts(times.taken_ns, &mut handler, replay.as_mut(), &mut checker);
        checker.trace(incoming);
        let ReceiveTimes { received_ns, .. } = *times;
        handler.handle_packet(received_ns, incoming.source, &incoming.bytes, &mut checker);
        checker.note_arrival(handler.arbiter(), handler.recovery());
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
        None => Ok(SimulationReport {
            packets: played.incoming.len() as u64,
            delivered: checker.delivered.len() as u64,
            books_checked: checker.books_checked,
            recovered: handler.recovery().counters().recovered,
            replayed: replay.map_or(0, |replay| replay.counters().replayed),
        }),
    }
}

/// Handles the timers of handler and replay up to `now_ns`, each at its time.
fn handle_timeouts<E: FeedEngine<Message: Decodable>>(
    now_ns: u64,
    handler: &mut Handler<E, MarketDataAdapter>,
    mut replay: Option<&mut ReplayService<'_>>,
    checker: &mut Checker<'_>,
) where
    MarketDataAdapter: Adapt<E::Message>,
{
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
