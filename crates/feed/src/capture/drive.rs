//! Drives a handler by capture time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::lines::LineMap;
use super::merge::MergedPacket;
use crate::handler::{FeedLine, PacketHandler};

/// Most destinations without a line that are counted separately; packets to others are counted
/// together.
pub const OTHER_DESTINATIONS_MAX: usize = 1024;

/// Packets of one line in the captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrivenCounters {
    /// Packets handed to the handler.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that the capture truncated: they are not passed on, so they are lost on this line.
    pub truncated: u64,
}

/// Packets that belong to no line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherPackets {
    /// Datagrams by destination.
    pub by_destination: BTreeMap<SocketAddr, u64>,
    /// Datagrams to destinations beyond [`OTHER_DESTINATIONS_MAX`].
    pub beyond: u64,
    /// Packets of captures that record no destination.
    pub without_destination: u64,
    /// Pieces of byte streams: TCP, or a raw file.
    pub pieces: u64,
}

/// Hands captured packets to a [`PacketHandler`], with the capture's times as the clock.
///
/// No clock is read: the same captures give the same calls. Timers fire before a packet that was
/// captured at or after their time. The clock does not go back: a packet with a time before that of
/// an earlier one takes the earlier one's time.
#[derive(Clone, Debug)]
pub struct CaptureDriver {
    lines: LineMap,
    now_ns: u64,
    counters: Vec<(FeedLine, DrivenCounters)>,
    others: OtherPackets,
}

impl CaptureDriver {
    /// Creates a driver of these lines, at time 0.
    pub fn new(lines: LineMap) -> Self {
        let counters = lines.sources().map(|source| (source, DrivenCounters::default())).collect();
        Self { lines, now_ns: 0, counters, others: OtherPackets::default() }
    }

    /// Returns the time of the last packet, in nanoseconds since 1970.
    pub const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the counters of each line.
    pub fn counters(&self) -> impl Iterator<Item = (FeedLine, DrivenCounters)> {
        self.counters.iter().copied()
    }

    /// Returns the counters of packets that belong to no line.
    pub const fn others(&self) -> &OtherPackets {
        &self.others
    }

    /// Returns whether any packet belonged to a line.
    pub fn has_matched(&self) -> bool {
        self.counters.iter().any(|(_, line)| line.packets > 0 || line.truncated > 0)
    }

    /// Returns whether a packet belongs to a line.
    pub fn takes(&self, merged: &MergedPacket<'_>) -> bool {
        merged.packet.stream.is_none() && self.lines.source(merged).is_some()
    }

    /// Fires the timers that are due by `to_ns`. The clock does not go back.
    pub fn advance_to<H: PacketHandler<S>, S: ?Sized>(
        &mut self,
        to_ns: u64,
        handler: &mut H,
        sink: &mut S,
    ) {
        self.advance(to_ns.max(self.now_ns), handler, sink);
    }

    /// Fires the timers that are due, then hands on the packet if it belongs to a line and is
    /// whole.
    pub fn handle_packet<H: PacketHandler<S>, S: ?Sized>(
        &mut self,
        merged: &MergedPacket<'_>,
        handler: &mut H,
        sink: &mut S,
    ) {
        let packet = &merged.packet;
        let source = self.lines.source(merged);
        let counters = self.counters.iter_mut().find(|(line, _)| Some(*line) == source);
        let (Some((source, counters)), None) = (counters, packet.stream) else {
            return self.others.count(merged);
        };
        let source = *source;
        if packet.is_truncated() {
            counters.truncated += 1;
            return;
        }
        counters.packets += 1;
        counters.bytes += packet.bytes.len() as u64;
        let received_ns = merged.time_ns.max(self.now_ns);
        self.advance(received_ns, handler, sink);
        handler.handle_packet(received_ns, source, packet.bytes, sink);
    }

    /// Fires the timers that are due within `hold_ns` of the last packet, and later ones while
    /// packets are held or snapshots wait for the lines, so that all held packets are delivered.
    /// Other timers, such as those of silent lines, do not fire: the end of a capture is not
    /// silence.
    pub fn finish<H: PacketHandler<S>, S: ?Sized>(
        &mut self,
        hold_ns: u64,
        handler: &mut H,
        sink: &mut S,
    ) {
        let end_ns = self.now_ns.saturating_add(hold_ns);
        loop {
            let due_ns = handler.poll_timeout().filter(|due_ns| *due_ns <= end_ns);
            let due_ns = due_ns.into_iter().chain(handler.poll_waiting()).min();
            // Timers that are already due fire below, once. A timer whose time never advances would
            // keep this loop running for ever.
            let Some(due_ns) = due_ns.filter(|due_ns| *due_ns > self.now_ns) else { break };
            self.advance(due_ns, handler, sink);
        }
        self.advance(end_ns.max(self.now_ns), handler, sink);
        handler.finish(sink);
    }

    fn advance<H: PacketHandler<S>, S: ?Sized>(
        &mut self,
        to_ns: u64,
        handler: &mut H,
        sink: &mut S,
    ) {
        handler.fire_due(self.now_ns, to_ns, sink);
        self.now_ns = to_ns;
    }
}

impl OtherPackets {
    /// Returns the number of all packets counted.
    pub fn packets(&self) -> u64 {
        let by_destination: u64 = self.by_destination.values().sum();
        by_destination + self.beyond + self.without_destination + self.pieces
    }

    fn count(&mut self, merged: &MergedPacket<'_>) {
        let packet = &merged.packet;
        let is_full = self.by_destination.len() >= OTHER_DESTINATIONS_MAX;
        *match packet.destination {
            _ if packet.stream.is_some() => &mut self.pieces,
            None => &mut self.without_destination,
            Some(address) if is_full && !self.by_destination.contains_key(&address) => {
                &mut self.beyond
            }
            Some(address) => self.by_destination.entry(address).or_default(),
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CaptureOptions, CaptureReader, Merge, PcapWriter};
    use super::*;
    use crate::arbiter::Line;

    const A: &str = "239.1.1.1:5000";
    const B: &str = "239.1.1.2:5001";
    const OTHER: &str = "239.9.9.9:9";

    /// Records its calls; a timer is due 10 ns after each packet.
    #[derive(Default)]
    struct Recorder {
        due_ns: Option<u64>,
    }

    impl PacketHandler<Vec<String>> for Recorder {
        fn handle_packet(
            &mut self,
            ns: u64,
            source: FeedLine,
            packet: &[u8],
            sink: &mut Vec<String>,
        ) {
            sink.push(format!("{ns} {source} {}", packet[0]));
            self.due_ns = Some(ns + 10);
        }

        fn handle_timeout(&mut self, now_ns: u64, sink: &mut Vec<String>) {
            sink.push(format!("{now_ns} timeout"));
            self.due_ns = None;
        }

        fn poll_timeout(&self) -> Option<u64> {
            self.due_ns
        }
    }

    /// A timer that is always due.
    struct Restless;

    impl PacketHandler<u64> for Restless {
        fn handle_packet(&mut self, _: u64, _: FeedLine, _: &[u8], _: &mut u64) {}

        fn handle_timeout(&mut self, _: u64, timeouts: &mut u64) {
            *timeouts += 1;
        }

        fn poll_timeout(&self) -> Option<u64> {
            Some(1)
        }
    }

    /// Something waits until a time, as reported by the timer; other timers are later.
    #[derive(Default)]
    struct Waiting {
        until_ns: Option<u64>,
    }

    impl PacketHandler<Vec<u64>> for Waiting {
        fn handle_packet(&mut self, ns: u64, _: FeedLine, _: &[u8], _: &mut Vec<u64>) {
            self.until_ns = Some(ns + 500);
        }

        fn handle_timeout(&mut self, now_ns: u64, sink: &mut Vec<u64>) {
            sink.push(now_ns);
            self.until_ns = None;
        }

        fn poll_timeout(&self) -> Option<u64> {
            Some(self.until_ns.unwrap_or(9_000))
        }

        fn poll_waiting(&self) -> Option<u64> {
            self.until_ns
        }
    }

    fn capture(packets: &[(u64, &str, u8)]) -> Merge<std::io::Cursor<Vec<u8>>> {
        let mut writer = PcapWriter::new(Vec::new()).unwrap();
        let source = "10.0.0.1:1".parse().unwrap();
        for (time_ns, destination, payload) in packets {
            let destination = destination.parse().unwrap();
            writer.write_datagram(*time_ns, source, destination, &[*payload]).unwrap();
        }
        let file = std::io::Cursor::new(writer.into_inner());
        Merge::new([CaptureReader::open(file, CaptureOptions::new()).unwrap()])
    }

    fn driver() -> CaptureDriver {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let lines = LineMap::new()
            .destination(address(A), FeedLine::Incremental(Line::A))
            .destination(address(B), FeedLine::Incremental(Line::B));
        CaptureDriver::new(lines)
    }

    fn drive<H: PacketHandler<S>, S>(
        packets: &[(u64, &str, u8)],
        mut handler: H,
        sink: &mut S,
    ) -> CaptureDriver {
        let (mut merge, mut driver) = (capture(packets), driver());
        while let Some(merged) = merge.next_packet().unwrap() {
            driver.handle_packet(&merged, &mut handler, sink);
        }
        driver.finish(10, &mut handler, sink);
        driver
    }

    #[test]
    fn timers_fire_by_capture_time_and_packets_of_others_are_counted() {
        let mut calls = Vec::new();
        let packets =
            [(100, A, 1), (105, B, 2), (107, OTHER, 9), (120, A, 3), (119, B, 4), (121, OTHER, 9)];
        let driver = drive(&packets, Recorder::default(), &mut calls);
        let expected = [
            "100 line A 1",
            "105 line B 2",
            "115 timeout",
            "120 line A 3",
            "120 line B 4",
            "130 timeout",
        ];
        assert_eq!(calls, expected);
        assert_eq!(driver.others().by_destination[&OTHER.parse().unwrap()], 2);
        assert_eq!(driver.others().packets(), 2);
        assert!(driver.counters().all(|(_, line)| line.packets == 2 && line.bytes == 2));
    }

    #[test]
    fn what_waits_at_the_end_is_let_go_at_its_time_and_later_timers_do_not_fire() {
        let mut fired = Vec::new();
        let driver = drive(&[(100, A, 1)], Waiting::default(), &mut fired);
        assert_eq!((fired, driver.now_ns()), (vec![600], 600));
    }

    #[test]
    fn a_timer_that_stays_due_does_not_stall() {
        let mut timeouts = 0;
        drive(&[(100, A, 1), (200, A, 2)], Restless, &mut timeouts);
        assert!((3..=6).contains(&timeouts), "{timeouts}");
    }
}
