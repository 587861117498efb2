//! Creates the handler of a scenario.

use crate::arrivals::Played;
use crate::scenario::Scenario;
use tickwire_exchange::day::{BookForm, Heartbeats};
use tickwire_fast::TemplateSet;
use tickwire_feed::handler::{FeedEngine, Handler, HandlerOptions, Sequencing};
use tickwire_feed::market::{Adapt, AdapterOptions, BookModel, MarketDataAdapter};
use tickwire_feed::recovery::{BookKinds, Continuity, RecoveryOptions};

/// Number of heartbeat intervals without a packet after which a line counts as silent. Without
/// heartbeats the default applies, which is longer than any pause.
const SILENT_INTERVALS: u64 = 5;

/// Creates the handler that a scenario describes, with engines from `engine`.
pub(crate) fn handler<E: FeedEngine>(
    scenario: &Scenario,
    played: &Played,
    mut engine: impl FnMut() -> E,
) -> Handler<E, MarketDataAdapter>
where
    MarketDataAdapter: Adapt<E::Message>,
{
    let day = &scenario.day;
    let framing = day.wire_framing();
    let set = TemplateSet::parse(played.day.templates()).expect("templates of the exchange");
    let sequencing = Sequencing::derive(&framing, &set, None).expect("MsgSeqNum");
    let mut arbiter = sequencing.arbiter_options();
    arbiter.lines = scenario.lines.map(|faults| faults.is_some());
    arbiter.hold_ns = scenario.handler.hold_ns;
    // The checks refer to the hold time, whichever lines are alive.
    arbiter.reorder_ns = scenario.handler.hold_ns;
    arbiter.skew_ns = scenario.handler.skew_ns;
    // The handler accepts a line that was never compared if the other one is silent. So with a
    // wrong line, no line must count as silent.
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
    let heartbeat_ns = scenario.handler.heartbeat_ns;
    let sequence = sequencing.source;
    let options = HandlerOptions { framing, sequence, arbiter, recovery, heartbeat_ns };
    // Templates with all fields do not reveal how the feed identifies book entries.
    let model = day.has_unused_fields.then_some(match day.books {
        BookForm::Levels { .. } => BookModel::ByLevel,
        BookForm::Prices { .. } => BookModel::ByPrice,
        BookForm::Orders => BookModel::ByOrder,
    });
    let adapter_options = AdapterOptions { model, ..AdapterOptions::default() };
    let adapter = MarketDataAdapter::new(played.day.program().clone(), &adapter_options);
    let handler = Handler::new(options, &mut engine, adapter).expect("a feed that can be handled");
    if scenario.handler.replay.is_some() { handler.with_replay(engine()) } else { handler }
}
