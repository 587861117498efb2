//! Two sessions over a simulated network with simulated time: connections break at any byte, time stands still for
//! minutes, processes die with everything that was not committed, stores fail at any write, and still every message
//! arrives once, in order, and with the bytes that it had.

mod content;
mod kept;

use content::{check_body, dictionaries, write_body};
use kept::{Fault, Kept};
use proptest::prelude::*;
use tickwire_fix::Tag;
use tickwire_fix_session::{
    BeginString, Config, Event, Head, Notice, Now, Role, Session, SessionId, Store, Why,
};

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }
}

const MS: u64 = 1_000_000;

type BoxStore = Box<dyn Store>;

/// One side: its session, what the application sent, and what it got.
struct Side {
    config: Config,
    session: Option<Session<BoxStore>>,
    sent: u64,
    got: Vec<u64>,
    /// Bytes on their way to the other side.
    wire: Vec<u8>,
}

impl Side {
    fn new(role: Role, tweak: fn(&mut Config)) -> Self {
        let (sender, target) = match role {
            Role::Acceptor => ("A", "I"),
            Role::Initiator => ("I", "A"),
        };
        let mut config = Config::new(role, SessionId::new(BeginString::Fix44, sender, target));
        config.dictionaries = Some(dictionaries());
        tweak(&mut config);
        Self { config, session: None, sent: 0, got: Vec::new(), wire: Vec::new() }
    }

    fn session(&mut self) -> &mut Session<BoxStore> {
        self.session.as_mut().expect("started")
    }

    fn send(&mut self, now: Now) {
        let number = self.sent + 1;
        let sent = self.session().send(now, &Head::new("U1"), |writer| write_body(writer, number));
        sent.expect("accepted");
        self.sent = number;
    }

    /// Begins again with what the store has kept; what the application sent beyond that, it sends again.
    fn restart(&mut self, kept: &Kept, name: &str) {
        self.session = None;
        kept.damage(name);
        let mut session = Session::new(self.config.clone(), kept.open(name));
        let newest = session.store().next_sender();
        let mut last = Vec::new();
        let found = (1..newest).rev().find(|seq_num| {
            last.clear();
            session.store_mut().read(*seq_num, &mut last).expect("reads")
        });
        self.sent = found.map_or(0, |_| content::number_of(&last));
        self.session = Some(session);
    }

    /// Handles what arrived; returns whether the connection is to be closed.
    fn handle(&mut self, now: Now, bytes: &[u8]) -> bool {
        let Self { session, got, .. } = self;
        let session = session.as_mut().expect("started");
        session.handle_bytes(bytes);
        let mut closes = false;
        while let Some(event) = session.poll_event(now) {
            match event {
                Event::Application(delivery) => {
                    let number = delivery.message.field(Tag(148)).expect("there").uint();
                    let number = number.expect("a number");
                    check_body(&delivery.message, number);
                    // The application knows by the number what it has handled already.
                    if got.last().is_some_and(|last| number <= *last) {
                        assert!(delivery.poss_dup, "{number} came twice without PossDupFlag");
                    } else {
                        got.push(number);
                    }
                }
                Event::Logon(request) => request.accept(),
                Event::Notice(Notice::Disconnect(why)) => {
                    assert!(
                        matches!(why, Why::Silence | Why::LogonTimeout),
                        "the protocol itself failed: {why:?}"
                    );
                    closes = true;
                }
                Event::Notice(notice) => assert!(
                    !matches!(
                        notice,
                        Notice::Garbled | Notice::Garbage { .. } | Notice::Rejected { .. }
                    ),
                    "{notice:?}"
                ),
            }
        }
        closes
    }

    /// Commits, and puts at most `len_max` bytes on the wire; returns whether the store works.
    fn transmit(&mut self, now: Now, len_max: usize) -> bool {
        let Self { session, wire, .. } = self;
        let session = session.as_mut().expect("started");
        let Ok(bytes) = session.poll_transmit(now) else { return false };
        let len = bytes.len().min(len_max);
        wire.extend_from_slice(&bytes[..len]);
        session.handle_transmitted(len);
        true
    }
}

/// Runs one seed; panics if a message is lost, doubled, changed or out of order.
fn simulate(seed: u64, kept: &Kept, tweak: fn(&mut Config), breaks: u64) {
    simulate_with(seed, kept, tweak, breaks, 0);
}

/// As [`simulate`]; now and then time stands still for up to `stall_s` seconds.
fn simulate_with(seed: u64, kept: &Kept, tweak: fn(&mut Config), breaks: u64, stall_s: u64) {
    let mut random = Random(seed);
    let mut sides = [Side::new(Role::Acceptor, tweak), Side::new(Role::Initiator, tweak)];
    for (side, name) in sides.iter_mut().zip(["a", "i"]) {
        side.session = Some(Session::new(side.config.clone(), kept.open(name)));
    }
    let mut now = Now { wall_ns: 1_700_000_000_000 * MS, steady_ns: 5 };
    let (mut connected, mut broken, total) = (false, 0, 60 + random.below(100));
    for step in 0.. {
        assert!(step < 400_000, "no end; seed {seed}");
        now = now.plus(random.below(20) * MS);
        if stall_s > 0 && random.below(100) == 0 {
            now = now.plus(random.below(stall_s) * 1000 * MS);
        }
        let done = sides.iter().all(|side| side.sent == total)
            && sides[0].got.len() as u64 == total
            && sides[1].got.len() as u64 == total;
        if done && broken >= breaks {
            break;
        }
        if !connected {
            now = now.plus(random.below(1000) * MS);
            for side in &mut sides {
                side.wire.clear();
                side.session().handle_connected(now);
            }
            connected = true;
        }
        for at in 0..2 {
            let (left, right) = sides.split_at_mut(1);
            let (side, other) =
                if at == 0 { (&mut left[0], &mut right[0]) } else { (&mut right[0], &mut left[0]) };
            if side.sent < total && random.below(3) == 0 {
                (0..1 + random.below(5).min(total - side.sent - 1)).for_each(|_| side.send(now));
            }
            side.session().handle_timeout(now);
            let arrived = (random.below(400) as usize).min(other.wire.len());
            let bytes: Vec<u8> = other.wire.drain(..arrived).collect();
            let closes = side.handle(now, &bytes);
            // A process may die between what it handled and what it committed.
            if broken < breaks && random.below(60) == 0 {
                broken += 1;
                connected = false;
                if kept.is_on_disk() && random.below(2) == 0 {
                    side.restart(kept, if at == 0 { "a" } else { "i" });
                }
                break;
            }
            if !side.transmit(now, random.below(2000) as usize) {
                // Nothing of what the store did not take has left: the process begins again.
                side.restart(kept, if at == 0 { "a" } else { "i" });
                connected = false;
                break;
            }
            connected &= !closes;
        }
        if !connected {
            for side in &mut sides {
                if side.session().is_connected() {
                    side.session().handle_disconnected(now);
                }
            }
        }
    }
    for side in &sides {
        let expected: Vec<u64> = (1..=total).collect();
        assert_eq!(side.got, expected, "seed {seed}");
    }
}

fn folder(seed: u64) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("tickwire-simulation-{}-{seed}", std::process::id()))
}

#[test]
fn connections_break_and_nothing_is_lost() {
    for seed in 0..60 {
        simulate(seed, &Kept::Memory, |_| {}, 12);
    }
}

#[test]
fn processes_die_and_nothing_is_lost() {
    for seed in 0..20 {
        let folder = folder(seed);
        simulate(seed, &Kept::Disk(folder.clone()), |_| {}, 12);
        let _ = std::fs::remove_dir_all(folder);
    }
}

#[test]
fn what_the_peer_expects_next_is_sent_without_being_asked_for() {
    for seed in 100..130 {
        simulate(seed, &Kept::Memory, |config| config.next_expected_seq_num = true, 12);
    }
}

#[test]
fn small_requests_and_small_buffers_lose_nothing() {
    for seed in 200..230 {
        let tweak = |config: &mut Config| {
            config.resend_request_max = 3;
            config.limits.held_max = 2;
            config.limits.transmit_len_max = 300;
        };
        simulate(seed, &Kept::Memory, tweak, 12);
    }
}

#[test]
fn minutes_of_delay_lose_nothing() {
    for seed in 300..330 {
        let tweak = |config: &mut Config| {
            config.heartbeat_s = 3600;
            config.latency_max_s = None;
        };
        simulate_with(seed, &Kept::Memory, tweak, 12, 600);
    }
}

#[test]
fn stores_fail_at_every_write_and_nothing_is_lost() {
    // Write after write is the first that fails, then others by chance.
    for first in 0..100 {
        for fault in [Fault::Full, Fault::Sync, Fault::Torn, Fault::Flipped] {
            let folder = folder(1000 + first);
            let kept = Kept::failing(folder.clone(), fault, first);
            simulate(400 + first, &kept, |_| {}, 4);
            assert!(kept.failures() > 0, "{fault:?} {first}");
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_seed_loses_nothing(seed in any::<u64>(), breaks in 0_u64..20) {
        simulate(seed, &Kept::Memory, |_| {}, breaks);
    }
}
