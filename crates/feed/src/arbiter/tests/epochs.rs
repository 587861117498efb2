//! Packets around a reset, and their epochs.

use super::*;

/// Packet `seq_num` of an epoch, as text: `e0n5`.
fn bytes(epoch: u8, seq_num: u64) -> Vec<u8> {
    format!("e{epoch}n{seq_num}").into_bytes()
}

/// An arbiter, and for each epoch the packet with its SequenceReset: its number, and the next
/// number.
struct Day {
    arbiter: Arbiter,
    resets: Vec<(u64, u64)>,
}

impl Day {
    /// A day on line A alone, unless `lines` says otherwise.
    fn new(resets: &[(u64, u64)], lines: [bool; 2]) -> Self {
        let options = ArbiterOptions {
            lines,
            reorder_ns: 100,
            packets_held_max: 64,
            behind_max: 256,
            reorder_max: 8,
            first_seq_num: Some(1),
            ..options()
        };
        Self { arbiter: Arbiter::new(options), resets: resets.to_vec() }
    }

    /// Hands in packets of line A at `now_ns`; returns the output.
    fn bring(&mut self, now_ns: u64, packets: &[(u8, u64)]) -> String {
        self.bring_on(now_ns, Line::A, packets)
    }

    fn bring_on(&mut self, now_ns: u64, line: Line, packets: &[(u8, u64)]) -> String {
        let mut text = Vec::new();
        for &(epoch, seq_num) in packets {
            let bytes = bytes(epoch, seq_num);
            if let Some(output) = self.arbiter.handle_packet(now_ns, line, seq_num, &bytes[..]) {
                let reset_to = told(&self.resets, output, &mut text);
                if let Some(to) = reset_to {
                    self.arbiter.reset(to);
                }
            }
            self.poll(&mut text);
        }
        text.join(" ")
    }

    fn poll(&mut self, text: &mut Vec<String>) {
        while let Some(output) = self.arbiter.poll_output() {
            let reset_to = told(&self.resets, output, text);
            if let Some(to) = reset_to {
                self.arbiter.reset(to);
            }
        }
    }

    fn wait(&mut self, until_ns: u64) -> String {
        self.arbiter.handle_timeout(until_ns);
        let mut text = Vec::new();
        self.poll(&mut text);
        text.join(" ")
    }

    /// Checks that the counters of a line add up to the packets that it sent.
    fn counters(&self, line: Line) -> LineCounters {
        let c = self.arbiter.line_counters(line);
        let fates = c.first + c.replacement + c.duplicate + c.late + c.old_epoch + c.unexpected;
        assert_eq!(c.received, fates + c.excluded + c.too_long + c.not_polled);
        c
    }
}

/// Handles an output; returns the next number if the packet carries a reset.
fn told(resets: &[(u64, u64)], output: ArbiterOutput<'_>, text: &mut Vec<String>) -> Option<u64> {
    match output {
        ArbiterOutput::Deliver { seq_num, packet, .. } => {
            let name = String::from_utf8(packet.bytes().to_vec()).expect("text");
            let epoch = usize::from(packet.bytes()[1] - b'0');
            text.push(name);
            resets.get(epoch).filter(|(at, _)| *at == seq_num).map(|(_, to)| *to)
        }
        ArbiterOutput::Gap(gap) => {
            text.push(format!("G{}+{}", gap.first, gap.count));
            None
        }
        ArbiterOutput::Reset { seq_num } => {
            text.push(format!("R{seq_num}"));
            None
        }
    }
}

const ALONE: [bool; 2] = [true, false];

fn packets(epoch: u8, range: std::ops::RangeInclusive<u64>) -> Vec<(u8, u64)> {
    range.map(|seq_num| (epoch, seq_num)).collect()
}

/// Packet 29 arrives after the reset and the first packet of the next epoch: it is nearer to the
/// old epoch.
#[test]
fn a_packet_that_the_reset_overtook_is_waited_for_and_delivered_before_it() {
    let mut day = Day::new(&[(30, 1)], ALONE);
    day.bring(0, &packets(0, 1..=28));
    assert_eq!(day.bring(10, &[(0, 30), (1, 1)]), "");
    assert_eq!(day.bring(20, &[(0, 29)]), "e0n29 e0n30 R1 e1n1");
    assert_eq!(day.bring(30, &[(1, 2)]), "e1n2");
    assert_eq!(day.counters(Line::A).first, 32);
}

#[test]
fn a_packet_declared_lost_in_an_epoch_is_not_delivered_in_the_next() {
    let mut day = Day::new(&[(30, 20)], ALONE);
    day.bring(0, &packets(0, 1..=28));
    assert_eq!(day.bring(10, &[(0, 30)]), "");
    assert_eq!(day.wait(110), "G29+1 e0n30 R20");
    assert_eq!(day.bring(120, &[(1, 20), (1, 21), (0, 29)]), "e1n20 e1n21");
    let next = day.bring(130, &packets(1, 22..=30));
    assert_eq!(next, "e1n22 e1n23 e1n24 e1n25 e1n26 e1n27 e1n28 e1n29 e1n30");
    assert_eq!(day.counters(Line::A).old_epoch, 1);
}

#[test]
fn a_copy_of_an_old_packet_is_not_the_first_of_the_new_epoch() {
    let mut day = Day::new(&[(3, 1)], ALONE);
    day.bring(0, &packets(0, 1..=2));
    assert_eq!(day.bring(10, &[(0, 3)]), "e0n3 R1");
    assert_eq!(day.bring(20, &[(0, 1), (1, 1)]), "e1n1");
    assert_eq!(day.counters(Line::A).old_epoch, 1);
}

/// The first packet of the next epoch waits longer than the hold time for the reset, which waits for number 29.
#[test]
fn packets_that_come_before_the_reset_is_seen_are_delivered_behind_it() {
    for to in [1, 5_000] {
        let mut day = Day::new(&[(30, to)], ALONE);
        day.bring(0, &packets(0, 1..=27));
        assert_eq!(day.bring(10, &[(1, to)]), "");
        assert_eq!(day.bring(40, &[(0, 28), (0, 30)]), "e0n28");
        let expected = format!("G29+1 e0n30 R{to} e1n{to}");
        assert_eq!(day.wait(140), expected);
        assert_eq!(day.bring(150, &[(1, to + 1)]), format!("e1n{}", to + 1));
    }
}

/// Number 1 of the old epoch was declared lost, so a packet 1 may belong to either epoch.
#[test]
fn a_late_packet_may_be_of_the_next_epoch() {
    let mut day = Day::new(&[(6, 1)], ALONE);
    day.bring(0, &packets(0, 2..=4));
    assert_eq!(day.wait(100), "G1+1 e0n2 e0n3 e0n4");
    assert_eq!(day.bring(110, &[(0, 6), (1, 1)]), "");
    assert_eq!(day.counters(Line::A).late, 1);
    assert_eq!(day.wait(210), "G5+1 e0n6 R1 e1n1");
    assert_eq!(day.counters(Line::A).late, 0);
}

/// Late packets of the old epoch that are kept are not delivered in the next one.
#[test]
fn a_late_packet_stays_in_its_epoch_when_the_next_begins() {
    let mut day = Day::new(&[(8, 1)], ALONE);
    day.bring(0, &[(0, 1), (0, 3)]);
    assert_eq!(day.wait(100), "G2+1 e0n3");
    assert_eq!(day.bring(110, &[(0, 2)]), "");
    assert_eq!(day.bring(120, &packets(0, 4..=8)), "e0n4 e0n5 e0n6 e0n7 e0n8 R1");
    assert_eq!(day.bring(130, &packets(1, 1..=3)), "e1n1 e1n2 e1n3");
    assert_eq!(day.counters(Line::A).old_epoch, 1);
}

/// Line B lost number 1 of the old epoch, which line A delivered, so its next packet 1 is not a
/// differing copy.
#[test]
fn a_number_that_only_the_other_line_brought_is_not_its_copy_where_a_line_goes_back() {
    let mut day = Day::new(&[(6, 1)], [true; 2]);
    day.bring(0, &packets(0, 1..=5));
    day.bring_on(10, Line::B, &packets(0, 2..=5));
    assert_eq!(day.bring_on(20, Line::B, &[(1, 1)]), "");
    assert_eq!(day.bring_on(30, Line::B, &[(0, 6)]), "e0n6 R1 e1n1");
    assert_eq!(day.bring(40, &[(0, 6), (1, 1), (1, 2)]), "e1n2");
    assert_eq!(day.counters(Line::B).differing, 0);
}

/// A line may show an epoch without its reset, and with packets out of order.
#[test]
fn an_epoch_without_a_reset_begins_with_its_lowest_number_although_it_came_second() {
    let mut day = Day::new(&[], ALONE);
    day.bring(0, &packets(0, 1..=60));
    assert_eq!(day.bring(10, &[(1, 2), (1, 1), (1, 3), (1, 4)]), "");
    assert_eq!(day.wait(200), "R1 e1n1 e1n2 e1n3 e1n4");
}

/// Numbers 25 to 29 of the old epoch are lost; after the reset the line is silent until number 25 of the new one.
#[test]
fn a_number_lost_in_the_old_epoch_is_new_where_nothing_can_be_that_late() {
    let mut day = Day::new(&[(30, 1)], ALONE);
    day.bring(0, &packets(0, 1..=24));
    assert_eq!(day.bring(10, &[(0, 30)]), "");
    assert_eq!(day.wait(110), "G25+5 e0n30 R1");
    assert_eq!(day.bring(300, &[(1, 25)]), "");
    assert_eq!(day.wait(400), "G1+24 e1n25");
}

/// Line A has lost the first packet of the new epoch; only line B sends it.
#[test]
fn an_epoch_without_a_reset_begins_with_the_lowest_number_of_both_lines() {
    let mut day = Day::new(&[], [true; 2]);
    day.bring(0, &packets(0, 1..=60));
    day.bring_on(0, Line::B, &packets(0, 1..=60));
    assert_eq!(day.bring(10, &[(1, 2), (1, 3), (1, 4)]), "");
    assert_eq!(day.bring_on(20, Line::B, &[(1, 1)]), "");
    assert_eq!(day.wait(200), "R1 e1n1 e1n2 e1n3 e1n4");
}

/// Line B sends another channel, whose numbers are lower. While line A continues, this is no reset.
#[test]
fn what_one_line_shows_is_no_reset_while_the_other_goes_on() {
    let mut day = Day::new(&[], [true; 2]);
    day.bring(0, &packets(0, 1..=60));
    day.bring_on(0, Line::B, &packets(0, 1..=60));
    assert_eq!(day.bring_on(10, Line::B, &[(1, 2), (1, 3), (1, 4)]), "");
    assert_eq!(day.bring(20, &packets(0, 61..=62)), "e0n61 e0n62");
    assert_eq!(day.wait(200), "");
    assert_eq!(day.bring(210, &packets(0, 63..=64)), "e0n63 e0n64");
    assert_eq!(day.bring_on(220, Line::B, &packets(0, 61..=65)), "e0n65");
}

/// Line B restarts its numbers while line A is still behind: packets of the next epoch fill all
/// room.
#[test]
fn a_line_far_ahead_begins_an_epoch_that_the_other_has_not_come_to() {
    let mut day = Day::new(&[], [true; 2]);
    day.bring_on(0, Line::B, &packets(0, 1..=300));
    assert_eq!(day.bring(10, &packets(0, 1..=150)), "");
    let mut told = Vec::new();
    for step in 1..=70 {
        told.push(day.bring_on(10 + step, Line::B, &[(1, step)]));
        told.push(day.bring(10 + step, &[(0, 150 + step)]));
    }
    told.push(day.bring(90, &packets(0, 221..=300)));
    told.push(day.bring(100, &packets(1, 1..=70)));
    told.push(day.bring(110, &[(1, 71)]));
    told.retain(|told| !told.is_empty());
    let all: Vec<String> = (1..=71).map(|seq_num| format!("e1n{seq_num}")).collect();
    assert_eq!(told.join(" "), format!("R1 {}", all.join(" ")));
    assert_eq!(day.counters(Line::A).old_epoch, 300 - 213);
}

#[test]
fn a_packet_that_announces_an_epoch_before_any_has_begun_is_not_used() {
    let mut arbiter = Fed::new(options());
    assert!(!arbiter.handle_epoch_start(0, Line::A, 1, 1_u64.to_be_bytes().as_slice()));
    arbiter.handle_timeout(100);
    assert_eq!(poll_all(&mut arbiter), "");
    assert_eq!(arbiter.packets_held(), 0);
    assert_eq!(packet(&mut arbiter, 110, Line::A, 1), "D1a");
}
