//! The sockets of one channel, merged by the kernel's times.

use tickwire_feed::handler::{FeedLine, PacketHandler};

use super::ReceptionContext;
use crate::HostError;
use crate::multicast::Receiver;

/// Most packets passed on before other channels, the stop flag and the observer are served.
const PACKETS_A_TURN: usize = 1024;

/// A handler with its sink and its sockets.
#[derive(Debug)]
pub struct Channel<H, S> {
    /// The handler.
    pub handler: H,
    /// Receives the output of the handler.
    pub sink: S,
    sockets: Vec<ChannelSocket>,
    /// The latest time passed to the handler.
    now_ns: u64,
}

#[derive(Debug)]
struct ChannelSocket {
    source: FeedLine,
    receiver: Receiver,
    /// Index of the line among those of a recording.
    line: usize,
    /// True if the operating system reported packets that no batch contains yet.
    is_ready: bool,
    /// All packets that arrived before this time have been read, unless the last batch was full.
    asked_ns: u64,
}

impl ChannelSocket {
    fn fill(&mut self, taking: &mut ReceptionContext) -> Result<(), HostError> {
        self.receiver.fill(&mut taking.times)?;
        self.is_ready = false;
        self.asked_ns = self.receiver.asked_ns();
        Ok(())
    }

    /// Records that the socket was empty at `looked_ns`.
    fn look(&mut self, looked_ns: u64) {
        self.asked_ns = self.asked_ns.max(looked_ns);
    }

    fn has_packet(&self) -> bool {
        self.receiver.front_ns().is_some()
    }

    /// True if packets are left, or probably follow a full batch.
    fn has_more(&self) -> bool {
        self.has_packet() || self.receiver.may_have_more()
    }
}

impl<H, S> Channel<H, S> {
    /// Returns the lines with their receivers.
    pub fn inputs(&self) -> impl Iterator<Item = (FeedLine, &Receiver)> {
        self.sockets.iter().map(|socket| (socket.source, &socket.receiver))
    }
}

impl<H: PacketHandler<S>, S> Channel<H, S> {
    pub(super) fn new(
        handler: H,
        sink: S,
        inputs: impl IntoIterator<Item = (FeedLine, Receiver)>,
        first_line: usize,
    ) -> Self {
        let sockets = (first_line..).zip(inputs).map(|(line, (source, receiver))| ChannelSocket {
            source,
            receiver,
            line,
            is_ready: false,
            asked_ns: 0,
        });
        Self { handler, sink, sockets: sockets.collect(), now_ns: 0 }
    }

    pub(super) fn set_ready(&mut self, socket: usize) {
        if let Some(socket) = self.sockets.get_mut(socket) {
            socket.is_ready = true;
        }
    }

    pub(super) fn set_all_ready(&mut self) {
        self.sockets.iter_mut().for_each(|socket| socket.is_ready = true);
    }

    /// Passes on the packets that have arrived. Sockets that are not ready were empty at
    /// `polled_ns`. Returns true if all sockets were found empty.
    pub(super) fn hand_on(
        &mut self,
        taking: &mut ReceptionContext,
        polled_ns: u64,
    ) -> Result<bool, HostError> {
        let is_all_taken = |socket: &ChannelSocket| !socket.is_ready && !socket.has_more();
        if self.sockets.iter().all(is_all_taken) {
            self.sockets.iter_mut().for_each(|socket| socket.look(polled_ns));
            if self.handler.poll_timeout().is_some_and(|due_ns| due_ns <= polled_ns) {
                self.handle_timeout(polled_ns);
            }
            return Ok(true);
        }
        self.fill_ready(taking, polled_ns)?;
        for _ in 0..PACKETS_A_TURN {
            if !self.hand_on_one(taking)? {
                // Everything received before has been passed to the handler.
                let asked_ns = self.sockets.iter().map(|socket| socket.asked_ns).min();
                self.handle_timeout(asked_ns.unwrap_or(polled_ns));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a batch from every ready socket whose last batch is used up. The first packet of such
    /// a batch arrived before the system checked which sockets are ready. All other sockets were
    /// empty then, and need not be polled for earlier packets.
    fn fill_ready(
        &mut self,
        taking: &mut ReceptionContext,
        polled_ns: u64,
    ) -> Result<(), HostError> {
        let mut looked_ns = polled_ns;
        let is_to_fill = |socket: &&mut ChannelSocket| socket.is_ready && !socket.has_packet();
        for socket in self.sockets.iter_mut().filter(is_to_fill) {
            socket.fill(taking)?;
            looked_ns = looked_ns.max(socket.receiver.front_ns().unwrap_or(0));
        }
        for socket in self.sockets.iter_mut().filter(|socket| !socket.is_ready) {
            socket.look(looked_ns);
        }
        Ok(())
    }

    /// Passes on the packet that arrived first. If another socket may hold an earlier one, because
    /// its batch is used up and was full, or because it was read before the packet arrived, reads
    /// that socket instead. Returns true if it passed on a packet or read a socket.
    fn hand_on_one(&mut self, taking: &mut ReceptionContext) -> Result<bool, HostError> {
        let fronts = self.sockets.iter().enumerate();
        let fronts =
            fronts.filter_map(|(index, socket)| Some((socket.receiver.front_ns()?, index)));
        let front = fronts.min();
        let mut is_asked = false;
        for socket in self.sockets.iter_mut().filter(|socket| !socket.has_packet()) {
            let is_before = front.is_some_and(|(front_ns, _)| socket.asked_ns < front_ns);
            if socket.is_ready || socket.receiver.may_have_more() || is_before {
                socket.fill(taking)?;
                is_asked = true;
            }
        }
        if is_asked {
            return Ok(true);
        }
        let Some((_, index)) = front else { return Ok(false) };
        let Some(socket) = self.sockets.get_mut(index) else { return Ok(false) };
        if let Some(datagram) = socket.receiver.take() {
            taking.packets += 1;
            let received_ns = self.now_ns.max(datagram.received_ns);
            if let Some(recorder) = &mut taking.recorder {
                // The handler's time, not the kernel's: a timer that fired after the kernel stamped
                // the packet must also fire before it when the recording is replayed.
                let recorded_ns = received_ns.wrapping_add(taking.times.epoch_ns());
                recorder.record(socket.line, recorded_ns, datagram.bytes);
            }
            let Self { handler, sink, now_ns, .. } = self;
            // Timers fire as in captures: replaying a recording gives the same output as live
            // reception.
            handler.fire_due(*now_ns, received_ns, sink);
            *now_ns = received_ns;
            handler.handle_packet(received_ns, socket.source, datagram.bytes, sink);
        }
        Ok(true)
    }

    fn handle_timeout(&mut self, now_ns: u64) {
        let now_ns = self.now_ns.max(now_ns);
        self.handler.fire_due(self.now_ns, now_ns, &mut self.sink);
        self.now_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use tickwire_feed::arbiter::Line;
    use tickwire_feed::capture::{CaptureOptions, CaptureReader};

    use super::*;
    use crate::clock::{KernelTimes, SECOND_NS, monotonic_ns};
    use crate::multicast::{Endpoint, ReceiverOptions, Sender, SenderOptions, wait_readable};
    use crate::record::{RecordOptions, RecordedLine, Recorder};

    /// Collects the times of its packets.
    struct Times(Vec<u64>);

    impl PacketHandler<()> for Times {
        fn handle_packet(&mut self, received_ns: u64, _: FeedLine, _: &[u8], (): &mut ()) {
            self.0.push(received_ns);
        }

        fn handle_timeout(&mut self, _: u64, (): &mut ()) {}

        fn poll_timeout(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn a_packet_stamped_before_the_latest_timeout_is_recorded_with_its_time_in_the_handler() {
        let [high, low] = (std::process::id() as u16).to_be_bytes();
        let endpoint = Endpoint::loopback(Ipv4Addr::new(239, 253, high, low), 20_990);
        let receiver = Receiver::open(endpoint, ReceiverOptions::default()).unwrap();
        let directory =
            std::env::temp_dir().join(format!("tickwire-channel-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let line = RecordedLine { name: "line A".to_owned(), endpoint };
        let recorder = Recorder::start(&RecordOptions::new(&directory), &[line]).unwrap();
        let mut taking =
            ReceptionContext { times: KernelTimes::new(), recorder: Some(recorder), packets: 0 };
        let sender = Sender::open(endpoint, SenderOptions::default()).unwrap();
        sender.send(b"packet").unwrap();
        let receivers = [receiver];
        assert!(wait_readable(&receivers, Duration::from_secs(10)).unwrap());

        let inputs = receivers.map(|receiver| (FeedLine::Incremental(Line::A), receiver));
        let mut channel = Channel::new(Times(Vec::new()), (), inputs, 0);
        // The kernel has stamped the packet, and a timeout is processed before the socket is read.
        let timeout_ns = monotonic_ns() + SECOND_NS;
        channel.handle_timeout(timeout_ns);
        channel.set_all_ready();
        channel.hand_on(&mut taking, monotonic_ns()).unwrap();
        assert_eq!(channel.handler.0, [timeout_ns]);

        taking.recorder.as_mut().unwrap().finish();
        let file = fs::read(directory.join("record-000001.pcapng")).unwrap();
        let mut reader = CaptureReader::open(&file[..], CaptureOptions::new()).unwrap();
        let recorded_ns = reader.next_packet().unwrap().unwrap().timestamp_ns.unwrap();
        assert_eq!(recorded_ns - taking.times.epoch_ns(), timeout_ns);
        fs::remove_dir_all(directory).unwrap();
    }
}
