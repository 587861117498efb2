//! The requested faults occur, and no others.

use super::*;
use proptest::prelude::*;

/// Sends packets 0 to `count`, one per `gap_ns`, and returns the output with its times.
fn run(faults: Faults, seed: u64, count: u32, gap_ns: u64) -> (Vec<(u64, u32)>, FaultCounters) {
    let mut injector = Injector::new(faults, seed);
    let mut out = Vec::new();
    let drain = |injector: &mut Injector, now_ns: u64, out: &mut Vec<(u64, u32)>| {
        while let Some(packet) = injector.poll_packet(now_ns) {
            out.push((now_ns, u32::from_be_bytes(packet.try_into().unwrap())));
        }
    };
    for number in 0..count {
        let now_ns = u64::from(number) * gap_ns;
        while let Some(due_ns) = injector.poll_timeout().filter(|&due_ns| due_ns < now_ns) {
            drain(&mut injector, due_ns, &mut out);
        }
        injector.handle_packet(now_ns, &number.to_be_bytes());
        drain(&mut injector, now_ns, &mut out);
    }
    while let Some(due_ns) = injector.poll_timeout() {
        drain(&mut injector, due_ns, &mut out);
    }
    assert_eq!(injector.packets_waiting(), 0);
    (out, injector.counters())
}

fn numbers(out: &[(u64, u32)]) -> Vec<u32> {
    out.iter().map(|(_, number)| *number).collect()
}

#[test]
fn without_faults_packets_pass_at_once_and_in_order() {
    let (out, counters) = run(Faults::default(), 1, 100, 10);
    let expected: Vec<_> = (0..100).map(|number| (u64::from(number) * 10, number)).collect();
    assert_eq!(out, expected);
    assert_eq!(counters, FaultCounters { taken: 100, sent: 100, ..Default::default() });
}

#[test]
fn losses_and_copies_are_as_many_as_their_chances_say() {
    let faults = Faults { loss: 0.01, duplicate: 0.02, ..Default::default() };
    let (out, counters) = run(faults, 7, 100_000, 10);
    assert!((900..1_100).contains(&counters.lost), "{counters:?}");
    assert!((1_850..2_150).contains(&counters.duplicated), "{counters:?}");
    assert_eq!(counters.sent, 100_000 - counters.lost + counters.duplicated);
    assert_eq!(counters.sent, out.len() as u64);
    assert!(numbers(&out).is_sorted());
}

#[test]
fn one_chance_leaves_the_other_faults_where_they_were() {
    let lossy = Faults { loss: 0.05, ..Default::default() };
    let (lost, _) = run(lossy, 3, 2_000, 10);
    let (both, _) = run(Faults { duplicate: 0.5, ..lossy }, 3, 2_000, 10);
    let mut both = numbers(&both);
    both.dedup();
    assert_eq!(both, numbers(&lost));
    let (other, _) = run(lossy, 4, 2_000, 10);
    assert_ne!(other, lost);
}

#[test]
fn lines_lose_the_same_packet_as_often_as_chance_has_it() {
    let lost = |seed, line| {
        let faults = Faults { loss: 0.05, ..Default::default() };
        let (out, _) = run(faults, line_seed(seed, line), 40_000, 10);
        let sent: std::collections::BTreeSet<u32> = numbers(&out).into_iter().collect();
        (0..40_000).filter(move |number| !sent.contains(number)).collect::<Vec<_>>()
    };
    for seed in 0..8 {
        let (a, b) = (lost(seed, 0), lost(seed, 1));
        let on_both = a.iter().filter(|number| b.contains(number)).count();
        // 100 expected; four deviations are 40.
        assert!((60..140).contains(&on_both), "seed {seed}: {on_both}");
    }
}

#[test]
fn overtaken_packets_are_at_most_so_many_places_late() {
    let faults = Faults { reorder: 0.3, reorder_max: 8, ..Default::default() };
    let (out, counters) = run(faults, 11, 20_000, 10);
    let numbers = numbers(&out);
    let mut highest = 0;
    let mut furthest = 0;
    for &number in &numbers {
        highest = highest.max(number);
        furthest = furthest.max(highest - number);
    }
    // The distance of numbers is bounded by the packets that passed, plus the overtaken ones among
    // them.
    assert!(counters.reordered > 5_000 && !numbers.is_sorted());
    assert!((8..=32).contains(&furthest), "{furthest}");
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn an_overtaken_packet_does_not_wait_for_ever() {
    let faults =
        Faults { reorder: 1.0, reorder_max: 1, reorder_wait_ns: 100, ..Default::default() };
    let (out, _) = run(faults, 1, 3, 1_000);
    assert_eq!(out, [(100, 0), (1_100, 1), (2_100, 2)]);
}

#[test]
fn delayed_packets_stay_in_order() {
    let faults = Faults { delay_ns: 1_000, jitter_ns: 500, ..Default::default() };
    let (out, _) = run(faults, 5, 1_000, 10);
    assert!(numbers(&out).is_sorted() && out.len() == 1_000);
    for (at_ns, number) in out {
        let held_ns = at_ns - u64::from(number) * 10;
        assert!((1_000..=1_500).contains(&held_ns), "{held_ns}");
    }
}

#[test]
fn what_waits_is_bounded() {
    let mut injector = Injector::new(Faults { delay_ns: u64::MAX, ..Default::default() }, 1);
    for _ in 0..PACKETS_WAITING_MAX + 10 {
        injector.handle_packet(1, b"x");
    }
    assert_eq!(injector.packets_waiting(), PACKETS_WAITING_MAX);
    assert_eq!(injector.counters().overflowed, 10);
}

fn faults() -> impl Strategy<Value = Faults> {
    let chance = || prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    (chance(), chance(), chance(), 0..20_u32, 0..200_u64, 0..200_u64, 0..200_u64).prop_map(
        |(loss, duplicate, reorder, reorder_max, reorder_wait_ns, delay_ns, jitter_ns)| Faults {
            loss,
            duplicate,
            reorder,
            reorder_max,
            reorder_wait_ns,
            delay_ns,
            jitter_ns,
            ..Faults::default()
        },
    )
}

proptest! {
    #[test]
    fn every_packet_is_sent_once_twice_or_lost(faults in faults(), seed: u64, gap_ns in 0..50_u64) {
        let (out, counters) = run(faults, seed, 200, gap_ns);
        let mut copies = [0_u32; 200];
        for (_, number) in &out {
            copies[*number as usize] += 1;
        }
        let count = |wanted| copies.iter().filter(|&&copies| copies == wanted).count() as u64;
        prop_assert_eq!((count(0), count(2)), (counters.lost, counters.duplicated));
        prop_assert_eq!(count(0) + count(1) + count(2), 200);
        prop_assert_eq!(counters.sent, out.len() as u64);
        prop_assert!(out.iter().map(|(at_ns, _)| at_ns).is_sorted());
        let longest_ns = faults.delay_ns + faults.jitter_ns + faults.reorder_wait_ns;
        for (at_ns, number) in &out {
            prop_assert!(*at_ns <= u64::from(*number) * gap_ns + longest_ns);
        }
        prop_assert_eq!(run(faults, seed, 200, gap_ns).0, out);
    }
}

fn window(start_ns: u64, end_ns: u64) -> Option<FaultWindow> {
    Some(FaultWindow { start_ns, end_ns })
}

#[test]
fn drift_grows_and_falls_and_keeps_the_order() {
    let faults = Faults { drift_ns: 1_000, drift_period_ns: 4_000, ..Default::default() };
    let (out, _) = run(faults, 1, 800, 10);
    assert!(numbers(&out).is_sorted() && out.len() == 800);
    let held = |number: usize| out[number].0 - number as u64 * 10;
    assert_eq!([held(0), held(100), held(200), held(400), held(600)], [0, 500, 1_000, 0, 1_000]);
}

#[test]
fn late_packets_are_passed_by_those_behind_them_and_move_no_other_fault() {
    let lossy = Faults { loss: 0.1, ..Default::default() };
    let late = Faults { late: 0.05, late_ns: 5_000, ..lossy };
    let (out, counters) = run(late, 9, 2_000, 10);
    assert!((70..130).contains(&counters.late), "{counters:?}");
    let held = out.iter().filter(|(at_ns, number)| *at_ns == u64::from(*number) * 10 + 5_000);
    assert_eq!(held.count() as u64, counters.late);
    let mut sorted = numbers(&out);
    assert!(!sorted.is_sorted());
    sorted.sort_unstable();
    assert_eq!(sorted, numbers(&run(lossy, 9, 2_000, 10).0));
}

#[test]
fn a_silent_line_sends_nothing_and_the_other_faults_stay_where_they_were() {
    let lossy = Faults { loss: 0.1, ..Default::default() };
    let silent = Faults { silence: window(1_000, 2_000), ..lossy };
    let (out, counters) = run(silent, 2, 1_000, 10);
    assert_eq!(counters.silenced, 100);
    let is_heard = |number: &u32| !(100..200).contains(number);
    let expected: Vec<u32> =
        numbers(&run(lossy, 2, 1_000, 10).0).into_iter().filter(is_heard).collect();
    assert_eq!(numbers(&out), expected);
}

#[test]
fn a_wrong_line_carries_the_other_channel_in_its_window_alone() {
    let faults = Faults { wrong_line: window(100, 200), ..Default::default() };
    let own: Vec<[u8; 1]> = (0..30).map(|number| [number]).collect();
    let other: Vec<[u8; 1]> = (100..130).map(|number| [number]).collect();
    let sent = |packets: &'static [[u8; 1]]| {
        (0..).zip(packets).map(|(n, bytes)| SentPacket { sent_ns: 1_000 + n * 10, bytes }).collect()
    };
    let line = ScheduledLine { packets: sent(own.leak()), other: sent(other.leak()), faults };
    let arrived: Vec<u8> =
        schedule(&[line], &[], 1).iter().map(|arrival| arrival.bytes[0]).collect();
    let expected: Vec<u8> = (0..10).chain(110..120).chain(20..30).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn lines_are_merged_by_their_time_and_clocks_step() {
    let packets: Vec<[u8; 1]> = (0..20).map(|number| [number]).collect();
    let sent = || (0..).zip(&packets).map(|(n, bytes)| SentPacket { sent_ns: 100 + n * 10, bytes });
    let line = |delay_ns| ScheduledLine {
        packets: sent().collect(),
        other: Vec::new(),
        faults: Faults { delay_ns, ..Default::default() },
    };
    let steps = [ClockStep { at_ns: 150, by_ns: -1_000 }, ClockStep { at_ns: 200, by_ns: 70 }];
    let arrivals = schedule(&[line(0), line(35)], &steps, 1);
    assert_eq!(arrivals.len(), 40);
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at_ns));
    for arrival in &arrivals {
        let at_ns = 100 + u64::from(arrival.bytes[0]) * 10 + [0, 35][arrival.line];
        assert_eq!(arrival.at_ns, at_ns);
        let stamp_ns = match at_ns {
            ..150 => at_ns,
            150..200 => 0,
            _ => 70,
        };
        assert_eq!(arrival.stamp_ns, stamp_ns);
    }
}
