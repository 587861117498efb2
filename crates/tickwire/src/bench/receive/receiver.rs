//! The receivers that are compared, and the two applications that use them.

use super::feed::BenchFeed;
use crate::failure::Failure;
use clap::ValueEnum;
use nix::poll::{PollFd, PollFlags, ppoll};
use std::fmt;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tickwire_fast::Message;
use tickwire_feed::arbiter::Line;
use tickwire_feed::handler::{Delivery, Dynamic, FeedLine, Handler, Sink};
use tickwire_feed::market::NoBooks;
use tickwire_host::{Stop, Wait};
use tickwire_net::multicast::{ReceiveMethod, Receiver, ReceiverOptions, interface_index};
use tickwire_net::packets::PacketSource;
use tickwire_net::packets::ring::{PacketRing, RingOptions};
use tickwire_net::packets::socket::SocketPackets;
#[cfg(feature = "xdp")]
use tickwire_net::packets::xdp::{Mode, XdpOptions, XdpPackets};
use tickwire_net::reception::Reception;

/// Longest single wait; the thread checks after each one whether it must stop.
const WAIT_MAX: Duration = Duration::from_millis(10);
/// AF_XDP frames per queue, 128 MiB: room for the bursts that arrive while the reader is descheduled.
#[cfg(feature = "xdp")]
const FRAMES: u32 = 1 << 16;

/// How packets are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReceiverKind {
    /// A socket, one packet per call, busy-polling
    Recvmsg,
    /// A socket, 32 packets per call, blocking
    Recvmmsg,
    /// A socket, 32 packets per call, busy-polling
    Spinning,
    /// A packet ring (TPACKET_V3), blocking
    Ring,
    /// AF_XDP, blocking
    #[cfg(feature = "xdp")]
    Xdp,
}

impl fmt::Display for ReceiverKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Recvmsg => "recvmsg, spinning",
            Self::Recvmmsg => "recvmmsg, blocking",
            Self::Spinning => "recvmmsg, spinning",
            Self::Ring => "TPACKET_V3, blocking",
            #[cfg(feature = "xdp")]
            Self::Xdp => "AF_XDP, blocking",
        })
    }
}

impl ReceiverKind {
    const fn wait(self) -> Wait {
        match self {
            Self::Recvmsg | Self::Spinning => Wait::Spin,
            _ => Wait::Block,
        }
    }

    /// Returns true if the receiver can feed a handler. The others, which take one packet per call or get their
    /// blocks late, are measured for comparison only.
    pub const fn has_handler(self) -> bool {
        !matches!(self, Self::Recvmsg | Self::Ring)
    }
}

/// Work per received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketWork {
    /// Packets are counted and their first bytes read.
    Bare,
    /// Packets are arbitrated and decoded.
    Handler,
}

impl fmt::Display for PacketWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bare => "bare loop",
            Self::Handler => "handler",
        })
    }
}

/// Open receivers of all lines.
pub enum OpenReceivers {
    Bare { kind: ReceiverKind, lines: Vec<Box<dyn PacketSource>> },
    Handler(Box<Reception<Handler<Dynamic, NoBooks>, CountingSink>>),
}

/// Counts decoded messages.
#[derive(Debug, Default)]
pub struct CountingSink {
    messages: u64,
}

impl Sink<Message> for CountingSink {
    fn handle_message(&mut self, _: &Delivery, message: &Message) {
        black_box(message);
        self.messages += 1;
    }
}

impl OpenReceivers {
    /// Opens the receivers in the namespace of this thread.
    pub fn open(
        kind: ReceiverKind,
        application: PacketWork,
        feed: &BenchFeed,
        lines: usize,
    ) -> Result<Self, Failure> {
        match application {
            PacketWork::Bare => {
                let lines = (0..lines).map(|line| packets(kind, line)).collect::<Result<_, _>>()?;
                Ok(Self::Bare { kind, lines })
            }
            PacketWork::Handler => {
                let failed = |error: tickwire_net::HostError| Failure::Usage(error.to_string());
                let mut reception = Reception::new(kind.wait()).map_err(failed)?;
                let mut inputs = Vec::new();
                for (line, name) in (0..lines).zip(Line::ALL) {
                    let receiver =
                        Receiver::open(BenchFeed::endpoint(line), options(kind)).map_err(failed)?;
                    inputs.push((FeedLine::Incremental(name), receiver));
                }
                let (handler, sink) = (feed.handler()?, CountingSink::default());
                reception.add_channel(handler, sink, inputs).map_err(failed)?;
                Ok(Self::Handler(Box::new(reception)))
            }
        }
    }

    /// Receives until `expected` packets have arrived or `stop` is set; counts the packets in `received`.
    pub fn run(&mut self, stop: &Stop, expected: u64, received: &AtomicU64) -> Result<(), Failure> {
        match self {
            Self::Bare { kind, lines } => {
                run_bare(*kind, lines, stop, expected, received);
                Ok(())
            }
            Self::Handler(reception) => {
                let over = Stop::new();
                let observed = over.clone();
                let run = reception.run(&over, |reception, _| {
                    let inputs = reception.channels().iter().flat_map(|channel| channel.inputs());
                    let count = inputs.map(|(_, receiver)| receiver.packets()).sum();
                    received.store(count, Ordering::Relaxed);
                    if count >= expected || stop.is_set() {
                        observed.set();
                    }
                });
                run.map_err(|error| Failure::Usage(error.to_string()))
            }
        }
    }

    /// Returns the number of decoded messages; `None` if the application does not decode.
    pub fn messages(&self) -> Option<u64> {
        match self {
            Self::Bare { .. } => None,
            Self::Handler(reception) => {
                reception.channels().first().map(|channel| channel.sink.messages)
            }
        }
    }
}

fn run_bare(
    kind: ReceiverKind,
    lines: &mut [Box<dyn PacketSource>],
    stop: &Stop,
    expected: u64,
    received: &AtomicU64,
) {
    let mut total = 0;
    while total < expected && !stop.is_set() {
        let before = total;
        for packets in lines.iter_mut() {
            let Ok(count) = packets.receive() else { continue };
            for index in 0..count {
                black_box(
                    packets.datagram(index).and_then(|(_, buffer)| buffer.first_chunk::<8>()),
                );
            }
            total += count as u64;
        }
        if total > before {
            received.store(total, Ordering::Relaxed);
        } else if kind.wait() == Wait::Block {
            let descriptors = lines.iter().map(|packets| packets.descriptor());
            let mut descriptors: Vec<_> =
                descriptors.map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)).collect();
            // A signal ends the wait early. The lines are checked either way.
            let _ = ppoll(&mut descriptors, Some(WAIT_MAX.into()), None);
        }
    }
}

#[cfg_attr(
    not(feature = "xdp"),
    allow(unused_variables, reason = "the other back end is left out")
)]
fn options(kind: ReceiverKind) -> ReceiverOptions {
    let back_end = match kind {
        #[cfg(feature = "xdp")]
        ReceiverKind::Xdp => ReceiveMethod::Xdp(xdp_options()),
        _ => ReceiveMethod::Socket,
    };
    ReceiverOptions { back_end, ..ReceiverOptions::default() }
}

/// Generic mode: the XDP program runs after the driver, on the receiver's CPU, as with a card. In the driver of a
/// virtual cable it would run on the sender's CPU, whatever CPU the network stack is set to.
#[cfg(feature = "xdp")]
fn xdp_options() -> XdpOptions {
    XdpOptions { frames: FRAMES, mode: Some(Mode::Generic), ..XdpOptions::default() }
}

/// Opens the receiver of a line.
fn packets(kind: ReceiverKind, line: usize) -> Result<Box<dyn PacketSource>, Failure> {
    let endpoint = BenchFeed::endpoint(line);
    let failed = |error: &dyn fmt::Display| Failure::Usage(format!("{kind}: {error}"));
    let socket = SocketPackets::open(endpoint, ReceiverOptions::default())
        .map_err(|error| failed(&error))?;
    let interface = || interface_index(endpoint.interface).map_err(|error| failed(&error));
    Ok(match kind {
        ReceiverKind::Recvmsg => Box::new(socket.batch_max(1)),
        ReceiverKind::Recvmmsg | ReceiverKind::Spinning => Box::new(socket),
        ReceiverKind::Ring => {
            let ring = PacketRing::open(interface()?, endpoint.into(), RingOptions::default());
            Box::new(ring.map_err(|error| failed(&error))?)
        }
        #[cfg(feature = "xdp")]
        ReceiverKind::Xdp => {
            let packets =
                XdpPackets::open(interface()?, endpoint.into(), xdp_options(), Box::new(socket));
            Box::new(packets.map_err(|error| failed(&error))?)
        }
    })
}
