//! Epochs against a model: what each line brings is made up from a seed, so it is known which packets are
//! in time, which epoch each one is of, and what must come out.

use std::collections::{BTreeMap, BTreeSet};

use tickwire_feed::arbiter::{Arbiter, ArbiterOptions, Line, Output};

use super::random::Random;

const SLOT_NS: u64 = 10_000;
const HOLD_NS: u64 = 2_000_000;
/// A delayed packet comes so many slots late at most, far inside the hold time.
const DELAY_SLOTS_MAX: u64 = 8;
/// An epoch has more packets than any is late by.
const EPOCH_MIN: u64 = 100;

/// A packet: its bytes are the epoch, the number and where a reset goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    epoch: u64,
    seq_num: u64,
    /// The first number of the next epoch, if this packet has a SequenceReset; 0 if not.
    reset_to: u64,
}

impl Sent {
    fn bytes(&self) -> Vec<u8> {
        let words = [self.epoch, self.seq_num, self.reset_to];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut words = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        let mut word = || words.next().unwrap();
        Self { epoch: word(), seq_num: word(), reset_to: word() }
    }
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: u64,
    line: Line,
    sent: Sent,
}

/// How the lines of a seed behave.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    lost_percent: u64,
    duplicate_percent: u64,
    delayed_percent: u64,
    skew_ns: u64,
}

/// What is sent in a seed: epochs of a few hundred packets, each ended by a reset to 1, forward or to
/// some number of the old epoch.
fn feed(random: &mut Random, epochs: u64) -> Vec<Sent> {
    let mut feed = Vec::new();
    let mut first = 1 + random.below(50);
    for epoch in 0..epochs {
        let count = EPOCH_MIN + random.below(300);
        let last = first + count - 1;
        let next = match random.below(3) {
            0 => 1,
            1 => last + 2 + random.below(5_000),
            // Not so near that late packets could be of either epoch.
            _ => 1 + random.below(last.saturating_sub(200).max(1)),
        };
        for seq_num in first..=last {
            let is_reset = seq_num == last && epoch + 1 < epochs;
            feed.push(Sent { epoch, seq_num, reset_to: if is_reset { next } else { 0 } });
        }
        first = next;
    }
    feed
}

fn arrivals(random: &mut Random, feed: &[Sent], weathers: [Weather; 2]) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    for (line, weather) in Line::ALL.into_iter().zip(weathers) {
        for (slot, sent) in (1_u64..).zip(feed) {
            if random.chance(weather.lost_percent) {
                continue;
            }
            for _ in 0..1 + u64::from(random.chance(weather.duplicate_percent)) {
                let is_delayed = random.chance(weather.delayed_percent);
                let delay = if is_delayed { random.below(DELAY_SLOTS_MAX + 1) } else { 0 };
                let at_ns = (slot + delay) * SLOT_NS + weather.skew_ns;
                arrivals.push(Arrival { at_ns, line, sent: *sent });
            }
        }
    }
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    arrivals
}

/// What came out.
#[derive(Default)]
struct Received {
    delivered: Vec<Sent>,
    /// Epoch at the time, first number and count.
    gaps: Vec<(u64, u64, u64)>,
    resets: u64,
}

impl Received {
    /// Takes an output; returns where the epoch that begins after it starts.
    fn take(&mut self, output: Output<'_>) -> Option<u64> {
        match output {
            Output::Deliver { seq_num, packet, .. } => {
                let sent = Sent::parse(packet.bytes());
                assert_eq!(sent.seq_num, seq_num);
                self.delivered.push(sent);
                return Some(sent.reset_to).filter(|to| *to > 0);
            }
            Output::Gap(gap) => {
                let epoch = self.delivered.last().map_or(0, |sent| sent.epoch);
                self.gaps.push((epoch, gap.first, gap.count));
            }
            Output::Reset { .. } => self.resets += 1,
        }
        None
    }

    fn poll(&mut self, arbiter: &mut Arbiter) {
        loop {
            let Some(output) = arbiter.poll_output() else { return };
            let reset_to = self.take(output);
            if let Some(to) = reset_to {
                arbiter.reset(to);
            }
        }
    }
}

fn drive(arbiter: &mut Arbiter, arrivals: &[Arrival]) -> Received {
    let mut received = Received::default();
    let timeouts = |arbiter: &mut Arbiter, received: &mut Received, until_ns: u64| {
        while let Some(at_ns) = arbiter.poll_timeout().filter(|&at_ns| at_ns < until_ns) {
            arbiter.handle_timeout(at_ns);
            received.poll(arbiter);
        }
    };
    for &Arrival { at_ns, line, sent } in arrivals {
        timeouts(arbiter, &mut received, at_ns);
        let bytes = sent.bytes();
        let next = arbiter.handle_packet(at_ns, line, sent.seq_num, &bytes[..]);
        if let Some(to) = next.and_then(|output| received.take(output)) {
            arbiter.reset(to);
        }
        received.poll(arbiter);
        if let Some(event) = arbiter.poll_event() {
            panic!("{event:?} at {at_ns}: {line:?} {sent:?}, next {:?}", arbiter.next_seq_num());
        }
    }
    timeouts(arbiter, &mut received, u64::MAX);
    received
}

/// Nothing twice, in order, and nothing but what was sent in the epoch of its turn.
fn check_order(received: &Received) {
    let delivered = &received.delivered;
    for pair in delivered.windows(2) {
        assert!(pair[0] < pair[1], "{:?} before {:?}", pair[0], pair[1]);
    }
}

fn check_counters(arbiter: &Arbiter, arrivals: &[Arrival]) {
    for line in Line::ALL {
        let c = arbiter.line_counters(line);
        let fates = c.first + c.replacement + c.duplicate + c.late + c.old_epoch;
        assert_eq!(c.received, fates + c.unexpected + c.put_aside + c.too_long + c.not_polled);
        assert_eq!(c.received, arrivals.iter().filter(|a| a.line == line).count() as u64);
        assert_eq!(c.differing, 0, "all copies are equal");
    }
    assert_eq!(arbiter.packets_held(), 0);
}

/// Packets of which a copy came within the hold time of the first packet behind it, on a line that had
/// not shown the next epoch for longer.
fn in_time(arrivals: &[Arrival], feed: &[Sent]) -> BTreeSet<Sent> {
    let mut first_ns: BTreeMap<Sent, u64> = BTreeMap::new();
    for arrival in arrivals {
        first_ns.entry(arrival.sent).or_insert(arrival.at_ns);
    }
    let mut behind_ns = u64::MAX;
    let mut in_time = BTreeSet::new();
    for sent in feed.iter().rev() {
        let Some(&at_ns) = first_ns.get(sent) else { continue };
        if at_ns <= behind_ns.saturating_add(HOLD_NS) {
            in_time.insert(*sent);
        }
        behind_ns = behind_ns.min(at_ns);
    }
    in_time
}

/// Lines that skew by up to 30 s around resets, both directions, where every reset packet comes on the
/// line that leads.
pub fn run_skewed(seed: u64) {
    let mut random = Random::new(seed);
    let epochs = 1 + random.below(5);
    let feed = feed(&mut random, epochs);
    let skew_max_ns = [0, 1_000_000, 1_900_000, 3_000_000, 1_000_000_000, 30_000_000_000];
    let skew_max_ns = skew_max_ns[random.below(6) as usize];
    let skew_ns = random.below(skew_max_ns + 1);
    let lagging = Line::ALL[random.below(2) as usize];
    // Where the lag is within the hold time, both lines may lose packets, the reset too.
    let is_close = skew_ns + 2 * DELAY_SLOTS_MAX * SLOT_NS < HOLD_NS;
    let losses = [0, 0, 1, 5];
    let mut weathers = [Weather::default(); 2];
    for (line, weather) in Line::ALL.into_iter().zip(&mut weathers) {
        let may_lose = line == lagging || is_close;
        *weather = Weather {
            lost_percent: if may_lose { losses[random.below(4) as usize] } else { 0 },
            duplicate_percent: random.below(10),
            delayed_percent: random.below(30),
            skew_ns: if line == lagging { skew_ns } else { 0 },
        };
    }
    let arrivals = arrivals(&mut random, &feed, weathers);
    let options = ArbiterOptions {
        hold_ns: HOLD_NS,
        skew_ns: 31_000_000_000,
        first_seq_num: feed.first().map(|sent| sent.seq_num),
        ..Default::default()
    };
    let mut arbiter = Arbiter::new(options);
    let received = drive(&mut arbiter, &arrivals);
    check_order(&received);
    check_counters(&arbiter, &arrivals);
    let delivered: BTreeSet<Sent> = received.delivered.iter().copied().collect();
    let missing: Vec<Sent> = in_time(&arrivals, &feed).difference(&delivered).copied().collect();
    assert!(missing.is_empty(), "{missing:?} came in time; {weathers:?}");
}
