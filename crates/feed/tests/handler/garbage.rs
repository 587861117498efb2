//! Random input: nothing panics, memory stays bounded, and nothing is forgotten or counted twice.

use proptest::prelude::*;
use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, ArbiterOutput, Gap, Line, UnexpectedPolicy};
use tickwire_feed::book::{
    Amount, BookUpdate, Level, LevelAction, OrderAction, OrderId, PriceAction, Side,
};
use tickwire_feed::market::{
    BookKind, Clear, ClearScope, Definition, Instrument, InstrumentKey, LevelName, Snapshot,
    SnapshotFragment, SnapshotLevel, Status, StatusScope, Update,
};
use tickwire_feed::recovery::{BookKinds, Continuity, Recovery, RecoveryOptions, StaleReason};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..40, any::<u64>(), Just(u64::MAX), Just(u64::MAX / 2)]
}

fn arbiter_options() -> impl Strategy<Value = ArbiterOptions> {
    let unexpected = prop_oneof![
        Just(UnexpectedPolicy::Drop),
        (0_u32..4).prop_map(|packets_min| UnexpectedPolicy::Follow { packets_min })
    ];
    let limits = (0_usize..20, 0_usize..20, 0_u64..30, 0_usize..30);
    (number(), limits, unexpected, proptest::option::of(number())).prop_map(
        |(hold_ns, (held, bytes, ahead_max, behind_max), unexpected, first_seq_num)| {
            ArbiterOptions {
                hold_ns,
                packets_held_max: held,
                packet_bytes_max: bytes,
                ahead_max,
                behind_max,
                unexpected,
                first_seq_num,
                reorder_ns: hold_ns / 2,
                skew_ns: hold_ns,
                ..Default::default()
            }
        },
    )
}

/// One action on an arbiter.
#[derive(Clone, Debug)]
enum Step {
    Packet(u64, Line, u64, usize),
    Timeout(u64),
    Reset(u64),
    Advance(u64),
    Poll,
}

fn step() -> impl Strategy<Value = Step> {
    let line = prop_oneof![Just(Line::A), Just(Line::B)];
    prop_oneof![
        8 => (number(), line, number(), 0_usize..24)
            .prop_map(|(now_ns, line, seq_num, len)| Step::Packet(now_ns, line, seq_num, len)),
        1 => number().prop_map(Step::Timeout),
        1 => number().prop_map(Step::Reset),
        1 => (0_u64..6).prop_map(Step::Advance),
        6 => Just(Step::Poll),
    ]
}

/// More timeouts than waits can follow one another without a packet.
const TIMEOUTS_MAX: usize = 16;

/// The outputs of an arbiter, checked.
#[derive(Default)]
struct Outputs {
    /// The number of the next output, unless a reset precedes it.
    expected: Option<u64>,
    /// Packets delivered, rejected ones included.
    delivered: u64,
}

impl Outputs {
    /// Checks an output: numbers must be consecutive between resets. Packets of odd length are to
    /// be rejected; returns true for these.
    fn take(&mut self, output: ArbiterOutput<'_>) -> bool {
        let (first, count, is_bad) = match output {
            ArbiterOutput::Deliver { seq_num, packet, .. } => {
                self.delivered += 1;
                (seq_num, 1, packet.len() % 2 == 1)
            }
            ArbiterOutput::Gap(gap) => {
                assert!(gap.count > 0);
                (gap.first, gap.count, false)
            }
            ArbiterOutput::Reset { seq_num } => {
                self.expected = Some(seq_num);
                return false;
            }
        };
        assert_eq!(first, self.expected.unwrap_or(first));
        self.expected = Some(first + count);
        is_bad
    }

    /// Rejects the last packet; if a copy is expected, its number is delivered once more.
    fn reject(&mut self, arbiter: &mut Arbiter) {
        if arbiter.reject() {
            self.expected = self.expected.map(|next| next - 1);
        }
    }

    fn poll_all(&mut self, arbiter: &mut Arbiter) {
        while let Some(output) = arbiter.poll_output() {
            if self.take(output) {
                self.reject(arbiter);
            }
        }
    }
}

/// Steps on few numbers, at times that mostly grow slowly: copies, rejections and waits meet.
fn crowded_step() -> impl Strategy<Value = Step> {
    let line = prop_oneof![Just(Line::A), Just(Line::B)];
    let now_ns = prop_oneof![8 => 0_u64..40, 1 => 60_000_000_000_u64..60_000_000_040];
    prop_oneof![
        12 => (now_ns.clone(), line, 0_u64..5, 0_usize..4)
            .prop_map(|(now_ns, line, seq_num, len)| Step::Packet(now_ns, line, seq_num, len)),
        2 => now_ns.prop_map(Step::Timeout),
        1 => (0_u64..5).prop_map(Step::Reset),
        1 => (0_u64..4).prop_map(Step::Advance),
        4 => Just(Step::Poll),
    ]
}

/// Takes steps, and checks that numbers are consecutive and each packet is counted once.
fn run_arbiter(options: ArbiterOptions, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut arbiter = Arbiter::new(options);
    let mut outputs = Outputs::default();
    for step in steps {
        match step {
            Step::Packet(now_ns, line, seq_num, len) => {
                let output = arbiter.handle_packet(now_ns, line, seq_num, &[7; 24][..len]);
                if output.is_some_and(|output| outputs.take(output)) {
                    outputs.reject(&mut arbiter);
                }
            }
            Step::Timeout(now_ns) => arbiter.handle_timeout(now_ns),
            Step::Reset(seq_num) => arbiter.reset(seq_num),
            Step::Advance(count) => {
                let before = arbiter.next_seq_num();
                arbiter.advance_to(before.unwrap_or(0).saturating_add(count));
                if arbiter.next_seq_num() != before {
                    outputs.expected = arbiter.next_seq_num();
                }
            }
            Step::Poll => {
                outputs.poll_all(&mut arbiter);
                let is_forgotten = arbiter.packets_held() > 0 && arbiter.poll_timeout().is_none();
                prop_assert!(!is_forgotten, "a packet waits without a time");
            }
        }
        prop_assert!(arbiter.packets_held() <= 2 * options.packets_held_max.max(1) + 2);
    }
    outputs.poll_all(&mut arbiter);
    // A timeout may end one wait and begin another, a few times.
    for _ in 0..TIMEOUTS_MAX {
        arbiter.handle_timeout(u64::MAX);
        outputs.poll_all(&mut arbiter);
    }
    prop_assert_eq!(arbiter.packets_held(), 0);
    prop_assert_eq!(arbiter.poll_timeout(), None);
    let counters = Line::ALL.map(|line| arbiter.line_counters(line));
    for c in counters {
        let taken = c.first + c.replacement;
        let fates = taken
            + c.duplicate
            + c.late
            + c.unexpected
            + c.old_epoch
            + c.excluded
            + c.too_long
            + c.not_polled;
        prop_assert_eq!(c.received, fates);
    }
    let first: u64 = counters.iter().map(|c| c.first).sum();
    let replacement: u64 = counters.iter().map(|c| c.replacement).sum();
    prop_assert_eq!(first, arbiter.counters().delivered);
    prop_assert_eq!(first + replacement, outputs.delivered);
    Ok(())
}

proptest! {
    #[test]
    fn an_arbiter_survives_anything(
        options in arbiter_options(),
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        run_arbiter(options, steps)?;
    }

    #[test]
    fn an_arbiter_survives_copies_of_few_numbers(
        options in arbiter_options(),
        hold_ns in 0_u64..40,
        steps in proptest::collection::vec(crowded_step(), 0..60),
    ) {
        let options = ArbiterOptions {
            hold_ns,
            reorder_ns: hold_ns / 2,
            skew_ns: hold_ns,
            packet_bytes_max: 20,
            first_seq_num: None,
            ..options
        };
        run_arbiter(options, steps)?;
    }
}

fn level() -> impl Strategy<Value = Level> {
    (0_i64..6, any::<i32>()).prop_map(|(mantissa, exponent)| Level {
        price: Amount { mantissa, exponent },
        size: Amount::integer(mantissa),
        orders: None,
    })
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Bid), Just(Side::Offer)]
}

fn kind() -> impl Strategy<Value = BookKind> {
    prop_oneof![4 => Just(BookKind::Outright), 1 => Just(BookKind::Implied)]
}

fn order_id() -> impl Strategy<Value = OrderId> {
    (0_u64..6).prop_map(OrderId::number)
}

fn change() -> impl Strategy<Value = BookUpdate> {
    let action = (0_u8..5, level()).prop_map(|(action, level)| match action {
        0 => LevelAction::New(level),
        1 => LevelAction::Change(level),
        2 => LevelAction::Delete,
        3 => LevelAction::DeleteThru,
        _ => LevelAction::DeleteFrom,
    });
    let by_price =
        prop_oneof![Just(PriceAction::New), Just(PriceAction::Change), Just(PriceAction::Delete)];
    let by_order = (0_u8..3, side(), level()).prop_map(|(action, side, level)| {
        let Level { price, size, .. } = level;
        match action {
            0 => OrderAction::New { side, price, size },
            1 => OrderAction::Change { price: Some(price), size: Some(size) },
            _ => OrderAction::Remove,
        }
    });
    prop_oneof![
        4 => (side(), 0_u32..5, action)
            .prop_map(|(side, level, action)| BookUpdate::ByLevel { side, level, action }),
        2 => (side(), by_price, level())
            .prop_map(|(side, action, level)| BookUpdate::ByPrice { side, action, level }),
        2 => (order_id(), by_order).prop_map(|(id, action)| BookUpdate::ByOrder { id, action }),
        1 => Just(BookUpdate::Clear),
        1 => Just(BookUpdate::Other),
    ]
}

/// An update without its instrument.
#[derive(Clone, Debug)]
struct Entry {
    kind: BookKind,
    seq_num: u64,
    rpt_seq: Option<u64>,
    depth: Option<u32>,
    change: BookUpdate,
}

/// A snapshot that owns its levels, without its instrument.
#[derive(Clone, Debug)]
struct Taken {
    line: usize,
    last_seq_num: u64,
    rpt_seq: Option<u64>,
    sending_time: Option<u64>,
    seq_num: Option<u64>,
    fragment: SnapshotFragment,
    depth: Option<u32>,
    levels: Vec<SnapshotLevel>,
}

/// One action on a recovery; instruments are named by a number.
#[derive(Clone, Debug)]
enum RecoveryInput {
    Update(u64, Entry),
    Snapshot(u64, Taken),
    Gap(Gap),
    Progress(u64),
    Clear(Option<&'static [u8]>, u64),
    Define(u64, [Option<u32>; 2]),
    Status(Option<u64>, u64),
    SequenceReset(Option<u64>),
    Reset,
    Silence(bool),
    Time(u64),
    OtherOnSnapshotFeed(usize, Option<u64>),
    LossOnSnapshotFeed(usize),
    End(bool),
}

fn small() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0_u64..12, 1 => any::<u64>()]
}

fn maybe_small() -> impl Strategy<Value = Option<u64>> {
    proptest::option::weighted(0.9, small())
}

fn depth() -> impl Strategy<Value = Option<u32>> {
    proptest::option::weighted(0.2, prop_oneof![6 => 0_u32..5, 1 => any::<u32>()])
}

fn entry() -> impl Strategy<Value = Entry> {
    (kind(), small(), maybe_small(), depth(), change()).prop_map(
        |(kind, seq_num, rpt_seq, depth, change)| Entry { kind, seq_num, rpt_seq, depth, change },
    )
}

fn snapshot_level() -> impl Strategy<Value = SnapshotLevel> {
    let name = prop_oneof![
        4 => (0_u32..4).prop_map(LevelName::Level),
        2 => Just(LevelName::Price),
        1 => order_id().prop_map(LevelName::Order),
    ];
    (kind(), side(), name, level()).prop_map(|(kind, side, name, content)| SnapshotLevel {
        kind,
        side,
        name,
        content,
    })
}

fn taken() -> impl Strategy<Value = Taken> {
    let fragment = prop_oneof![
        3 => Just(SnapshotFragment::Whole),
        1 => Just(SnapshotFragment::Middle),
        1 => Just(SnapshotFragment::Last)
    ];
    let numbers = (small(), maybe_small(), maybe_small(), maybe_small());
    let levels = proptest::collection::vec(snapshot_level(), 0..4);
    (0_usize..3, numbers, fragment, depth(), levels).prop_map(
        |(line, (last_seq_num, rpt_seq, sending_time, seq_num), fragment, depth, levels)| Taken {
            line,
            last_seq_num,
            rpt_seq,
            sending_time,
            seq_num,
            fragment,
            depth,
            levels,
        },
    )
}

fn told() -> impl Strategy<Value = RecoveryInput> {
    let number = || 0_u64..4;
    let field = || prop_oneof![Just(None), Just(Some(&b"S"[..])), Just(Some(&b"X"[..]))];
    prop_oneof![
        16 => (number(), entry()).prop_map(|(number, entry)| RecoveryInput::Update(number, entry)),
        8 => (number(), taken()).prop_map(|(number, taken)| RecoveryInput::Snapshot(number, taken)),
        2 => (small(), small()).prop_map(|(first, count)| RecoveryInput::Gap(Gap { first, count })),
        4 => small().prop_map(RecoveryInput::Progress),
        1 => (field(), small()).prop_map(|(field, seq_num)| RecoveryInput::Clear(field, seq_num)),
        1 => (number(), [depth(), depth()]).prop_map(|(number, depth)| RecoveryInput::Define(number, depth)),
        1 => (proptest::option::of(number()), 0_u64..30)
            .prop_map(|(number, code)| RecoveryInput::Status(number, code)),
        1 => maybe_small().prop_map(RecoveryInput::SequenceReset),
        1 => Just(RecoveryInput::Reset),
        1 => any::<bool>().prop_map(RecoveryInput::Silence),
        2 => prop_oneof![0_u64..2_000_000_000, any::<u64>()].prop_map(RecoveryInput::Time),
        1 => (0_usize..3, maybe_small())
            .prop_map(|(line, seq_num)| RecoveryInput::OtherOnSnapshotFeed(line, seq_num)),
        1 => (0_usize..3).prop_map(RecoveryInput::LossOnSnapshotFeed),
        8 => any::<bool>().prop_map(RecoveryInput::End),
    ]
}

/// The instrument of a number; instrument 3 has a key of two fields.
fn instrument(recovery: &mut Recovery, number: u64) -> Option<Instrument> {
    recovery.instrument(match number {
        3 => InstrumentKey::Text(b"A\x1FS"),
        number => InstrumentKey::Number(number),
    })
}

fn tell(recovery: &mut Recovery, told: &RecoveryInput) {
    match told.clone() {
        RecoveryInput::Update(number, entry) => {
            let Some(instrument) = instrument(recovery, number) else { return };
            let Entry { kind, seq_num, rpt_seq, depth, change } = entry;
            let update = Update { instrument, kind, seq_num, rpt_seq, depth, change };
            recovery.handle_update(&update);
        }
        RecoveryInput::Snapshot(number, taken) => {
            let Some(instrument) = instrument(recovery, number) else { return };
            let Taken { last_seq_num, rpt_seq, sending_time, seq_num, fragment, depth, .. } = taken;
            recovery.handle_snapshot(
                taken.line,
                &Snapshot {
                    instrument,
                    last_seq_num,
                    rpt_seq,
                    sending_time,
                    seq_num,
                    fragment,
                    depth,
                    levels: &taken.levels,
                },
            );
        }
        RecoveryInput::Gap(gap) => recovery.handle_gap(gap),
        RecoveryInput::Progress(next) => recovery.handle_progress(next),
        RecoveryInput::Clear(field, seq_num) => {
            let scope = match field {
                Some(text) => ClearScope::Field { index: 1, text },
                None => ClearScope::Channel,
            };
            recovery.handle_clear(&Clear { scope, seq_num });
        }
        RecoveryInput::Define(number, depth) => {
            let Some(instrument) = instrument(recovery, number) else { return };
            recovery.define(instrument, &Definition { depth, ..Default::default() });
        }
        RecoveryInput::Status(number, code) => {
            let scope = match number.and_then(|number| instrument(recovery, number)) {
                Some(instrument) => StatusScope::Instrument(instrument),
                None => StatusScope::Channel,
            };
            recovery.handle_status(&Status { scope, code });
        }
        RecoveryInput::SequenceReset(sending_time) => recovery.note_sequence_reset(sending_time),
        RecoveryInput::Reset => recovery.handle_reset(),
        RecoveryInput::Silence(is_silent) => recovery.handle_silence(is_silent),
        RecoveryInput::Time(now_ns) => recovery.set_time(now_ns),
        RecoveryInput::OtherOnSnapshotFeed(line, seq_num) => {
            recovery.note_other_on_snapshot_feed(line, seq_num);
        }
        RecoveryInput::LossOnSnapshotFeed(line) => recovery.note_loss_on_snapshot_feed(line),
        RecoveryInput::End(continues) => recovery.end_message(continues),
    }
}

proptest! {
    #[test]
    fn a_recovery_survives_anything(
        (by_rpt_seq, natural_refresh, has_implied, checks) in any::<(bool, bool, bool, bool)>(),
        depth in proptest::option::of(1_u32..4),
        told in proptest::collection::vec(told(), 0..200),
    ) {
        let options = RecoveryOptions {
            continuity: if by_rpt_seq { Continuity::RptSeq } else { Continuity::SeqNum },
            depth,
            kinds: if has_implied { BookKinds::OutrightAndImplied } else { BookKinds::Outright },
            checks,
            instruments_max: 3,
            updates_held_max: 4,
            updates_held_total_max: 7,
            natural_refresh,
            ..Default::default()
        };
        let mut recovery = Recovery::new(options);
        for told in told.iter().chain([&RecoveryInput::End(false)]) {
            tell(&mut recovery, told);
            prop_assert!(recovery.updates_held() <= 7);
            prop_assert!(recovery.instruments().len() <= 3);
            if !matches!(told, RecoveryInput::End(false)) {
                continue;
            }
            while let Some(change) = recovery.next_change() {
                prop_assert_eq!(change.state, recovery.state(change.instrument));
            }
            for instrument in recovery.instruments().iter() {
                let book = recovery.book(instrument, BookKind::Outright);
                let stale = |reason| Err::<(), StaleReason>(reason);
                prop_assert_eq!(book.map(|_| ()).or_else(stale), recovery.state(instrument));
                if let (Ok(book), Some(depth)) = (book, depth) {
                    let is_by_level = book.depth() == Some(depth);
                    prop_assert!(is_by_level, "the depth that was set stays");
                }
            }
        }
    }
}
