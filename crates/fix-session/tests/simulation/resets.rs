//! Resets at any time: by one side, the other or both at once, before the Logon is answered, after
//! a Logout, or by agreement while disconnected; or one side continues with a higher number.
//! Messages sent before a reset may be lost; those sent after the last one arrive once and in
//! order.

use super::MS;
use super::kept::Kept;
use super::side::Side;
use fastrand::Rng;
use tickwire_fix_session::{Config, Now, Session, SessionRole, Store};

/// Messages that each side sends after the last reset.
const LAST: u64 = 5;

struct World {
    random: Rng,
    now: Now,
    sides: [Side; 2],
    connected: bool,
    /// Remaining resets and disconnections.
    troubles: u64,
    total: u64,
}

impl World {
    fn new(seed: u64, tweak: fn(&mut Config)) -> Self {
        let mut random = Rng::with_seed(seed);
        let mut sides =
            [Side::new(SessionRole::Acceptor, tweak), Side::new(SessionRole::Initiator, tweak)];
        for side in &mut sides {
            side.session = Some(Session::new(side.config.clone(), Kept::Memory.open("")));
        }
        let (troubles, total) = (10 + random.u64(..20), 60 + random.u64(..100));
        let now = Now { wall_ns: 1_700_000_000_000 * MS, steady_ns: 5 };
        Self { random, now, sides, connected: false, troubles, total }
    }

    fn is_done(&self) -> bool {
        let has_all = |side: &Side| side.got.last() == Some(&self.total);
        self.troubles == 0 && self.sides.iter().all(has_all)
    }

    fn disconnect(&mut self) {
        self.connected = false;
        for side in &mut self.sides {
            side.session().handle_disconnected(self.now);
        }
        // By agreement, at the end of a day.
        if self.troubles > 0 && self.random.u64(..4) == 0 {
            for side in &mut self.sides {
                side.reset(self.now);
            }
        }
    }

    fn connect(&mut self) {
        self.now = self.now.plus(self.random.u64(..1000) * MS);
        for side in &mut self.sides {
            side.wire.clear();
            side.session().handle_connected(self.now);
        }
        self.connected = true;
    }

    /// Resets the numbers or breaks the connection. Returns true if the connection holds.
    fn trouble(&mut self) -> bool {
        let at = self.random.u64(..2) as usize;
        self.troubles -= 1;
        match self.random.u64(..8) {
            0..=2 => self.sides[at].reset(self.now),
            3 => self.sides.iter_mut().for_each(|side| side.reset(self.now)),
            4 => {
                let side = &mut self.sides[at];
                let skipped = side.session().store().next_sender() + 1 + self.random.u64(..50);
                if side.session().skip_to(self.now, skipped) {
                    side.lost_max = side.sent;
                }
            }
            5 if self.sides[at].session().is_logged_on() => {
                self.sides[at].session().logout(self.now, "enough");
            }
            _ => return false,
        }
        true
    }

    /// Lets one side send, receive and answer. Returns true if the connection holds.
    fn turn(&mut self, at: usize) -> bool {
        let Self { random, now, sides, troubles, total, .. } = self;
        let now = *now;
        let (left, right) = sides.split_at_mut(1);
        let (side, other) =
            if at == 0 { (&mut left[0], &mut right[0]) } else { (&mut right[0], &mut left[0]) };
        let last = if *troubles == 0 { *total } else { *total - LAST };
        if side.sent < last && random.u64(..3) == 0 {
            side.send(now);
        }
        side.session().handle_timeout(now);
        let arrived = (random.u64(..400) as usize).min(other.wire.len());
        let bytes: Vec<u8> = other.wire.drain(..arrived).collect();
        let closes = side.handle(now, &bytes);
        assert!(side.transmit(now, random.u64(..2000) as usize), "memory takes all");
        !closes
    }
}

/// Simulates a seed; returns the number of resets that reached a side with messages in flight.
fn simulate(seed: u64, tweak: fn(&mut Config)) -> u64 {
    let mut world = World::new(seed, tweak);
    for step in 0.. {
        assert!(step < 100_000, "no end; seed {seed}");
        if world.is_done() {
            break;
        }
        world.now = world.now.plus(world.random.u64(..20) * MS);
        if !world.connected {
            world.connect();
        }
        let is_troubled = world.troubles > 0 && world.random.u64(..20) == 0;
        let mut holds = !is_troubled || world.trouble();
        for at in 0..2 {
            holds = holds && world.turn(at);
        }
        if !holds {
            world.disconnect();
        }
    }
    for (at, side) in world.sides.iter().enumerate() {
        let other = &world.sides[1 - at];
        assert!(side.got.is_sorted_by(|one, next| one < next), "seed {seed}");
        let mut promised = other.lost_max + 1..=world.total;
        let lost = promised.find(|number| side.got.binary_search(number).is_err());
        assert_eq!(lost, None, "seed {seed}");
    }
    world.sides.iter().map(|side| side.resets_in_flight).sum()
}

/// Returns the number of seeds to simulate, from `SIMULATION_SEEDS` if it is set.
pub fn seeds() -> u64 {
    std::env::var("SIMULATION_SEEDS").map_or(60, |seeds| seeds.parse().expect("a number"))
}

#[test]
fn numbers_begin_anew_at_any_time_and_what_follows_is_not_lost() {
    let in_flight: u64 = (0..seeds()).map(|seed| simulate(seed, |_| {})).sum();
    assert!(in_flight > 0, "no reset by a logged-on peer met messages in flight");
}

#[test]
fn numbers_begin_anew_with_small_buffers_and_requests() {
    for seed in 0..seeds() {
        let tweak = |config: &mut Config| {
            config.resend_request_max = 3;
            config.limits.held_max = 2;
            config.limits.transmit_len_max = 300;
            config.next_expected_seq_num = true;
        };
        simulate(seed, tweak);
    }
}
