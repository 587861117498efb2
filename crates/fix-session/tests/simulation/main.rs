//! Two sessions over a simulated network with simulated time. Connections break at any byte,
//! processes stall for minutes or die with all uncommitted data, stores fail at any write; still
//! every message arrives once, in order and unchanged.

mod adversary;
mod content;
mod kept;
mod resets;
mod side;
#[path = "../watched/mod.rs"]
mod watched;

use kept::{Fault, Kept};
use proptest::prelude::*;
use side::Side;
use tickwire_fix_session::{Config, Now, Session, SessionRole};
use tickwire_testing::Choices;

const MS: u64 = 1_000_000;

/// Runs one seed; panics if a message is lost, duplicated, changed or out of order.
fn simulate(seed: u64, kept: &Kept, tweak: fn(&mut Config), breaks: u64) {
    simulate_with(Choices::seeded(seed), kept, tweak, breaks, 0);
}

/// As [`simulate`], with occasional stalls of up to `stall_s` seconds.
fn simulate_with(
    mut random: Choices,
    kept: &Kept,
    tweak: fn(&mut Config),
    breaks: u64,
    stall_s: u64,
) {
    let choices = format!("{random:?}");
    let mut sides =
        [Side::new(SessionRole::Acceptor, tweak), Side::new(SessionRole::Initiator, tweak)];
    for (side, name) in sides.iter_mut().zip(["a", "i"]) {
        side.session = Some(Session::new(side.config.clone(), kept.open(name)));
    }
    let mut now = Now { wall_ns: 1_700_000_000_000 * MS, steady_ns: 5 };
    let (mut connected, mut broken, total) = (false, 0, 60 + random.below(100));
    for step in 0.. {
        assert!(step < 400_000, "no end; {choices}");
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
            // A process may die after it handled input and before it committed.
            if broken < breaks && random.below(60) == 0 {
                broken += 1;
                connected = false;
                if kept.is_on_disk() && random.below(2) == 0 {
                    side.restart(kept, if at == 0 { "a" } else { "i" });
                }
                break;
            }
            if !side.transmit(now, random.below(2000) as usize) {
                // Nothing that the store refused has been sent: the process restarts.
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
        assert_eq!(side.got, expected, "{choices}");
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
        simulate_with(Choices::seeded(seed), &Kept::Memory, tweak, 12, 600);
    }
}

#[test]
fn stores_fail_at_every_write_and_nothing_is_lost() {
    // Each write in turn is the first to fail; later ones fail at random.
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
    fn any_course_of_events_loses_nothing(
        tape in proptest::collection::vec(any::<u16>(), 0..4000),
        breaks in 0_u64..20,
    ) {
        // The seed takes over after the tape, so that the run makes progress.
        simulate_with(Choices::tape_then_seed(tape, 0), &Kept::Memory, |_| {}, breaks, 0);
    }
}
