//! The loop that drives packet handlers from sockets.
//!
//! A [`Reception`] has channels, each with a [`PacketHandler`], its sink, and a [`Receiver`] per
//! line. [`Reception::run`] passes the packets of a channel to its handler in the order in which
//! the kernel received them, whatever the order of the reads. A line whose socket is read later is
//! therefore not considered late. Any number of channels share a thread; to use more cores, run one
//! reception per thread. [`Wait`] controls how the loop waits.

mod channel;

pub use channel::Channel;
pub use tickwire_host::Wait;

use std::time::Duration;

use tickwire_feed::handler::{FeedLine, PacketHandler};
use tickwire_host::{WaitPolicy, WaitStep};

use crate::clock::{KernelTimes, monotonic_ns};
use crate::multicast::{Poller, Receiver};
use crate::record::{
    RecordCounters, RecordError, RecordOptions, RecordedLine, Recorder, TapError, TapRecorder,
};
use crate::{HostError, Stop};

/// Longest single wait, so that a stop is noticed.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Least time between two calls of the observer while packets arrive, in nanoseconds.
const OBSERVE_NS: u64 = 100_000_000;

/// Up to this many sockets, a spinning loop reads them one by one: that is cheaper than epoll.
const SPIN_DIRECTLY_MAX: usize = 4;

/// Channels received by one loop. See the [module](self).
#[derive(Debug)]
pub struct Reception<H, S> {
    channels: Vec<Channel<H, S>>,
    /// Number of sockets of all channels.
    sockets: usize,
    poller: Poller,
    waiting: WaitPolicy,
    taking: ReceptionContext,
    /// Records on a thread beside the reception.
    tap: Option<TapRecorder>,
    observed_ns: u64,
}

/// State that the sockets of all channels share.
#[derive(Debug)]
struct ReceptionContext {
    times: KernelTimes,
    recorder: Option<Recorder>,
    /// Packets passed on.
    packets: u64,
}

/// State of the loop when an observer is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopState {
    /// The time on the monotonic clock.
    pub now_ns: u64,
    /// True if all packets that had arrived have been processed.
    pub is_idle: bool,
}

impl<H: PacketHandler<S>, S> Reception<H, S> {
    /// Creates a loop without channels.
    ///
    /// # Errors
    /// [`SystemOperation::Open`](crate::SystemOperation::Open) with the operating system's error.
    pub fn new(wait: Wait) -> Result<Self, HostError> {
        let taking = ReceptionContext { times: KernelTimes::new(), recorder: None, packets: 0 };
        let (channels, poller) = (Vec::new(), Poller::new()?);
        let waiting = WaitPolicy::new(wait);
        Ok(Self { channels, sockets: 0, poller, waiting, taking, tap: None, observed_ns: 0 })
    }

    /// Adds a channel and returns its index, from 0. Handlers of different types can share a loop
    /// as `Box<dyn PacketHandler<S>>`.
    ///
    /// # Errors
    /// [`SystemOperation::Wait`](crate::SystemOperation::Wait) if the system cannot wait for one more socket.
    pub fn add_channel(
        &mut self,
        handler: H,
        sink: S,
        inputs: impl IntoIterator<Item = (FeedLine, Receiver)>,
    ) -> Result<usize, HostError> {
        let channel = Channel::new(handler, sink, inputs, self.sockets);
        let index = self.channels.len();
        for (socket, (_, receiver)) in channel.inputs().enumerate() {
            self.poller.add(receiver, SocketToken { channel: index, socket }.into())?;
            self.sockets += 1;
        }
        self.channels.push(channel);
        Ok(index)
    }

    /// Returns the channels, in the order in which they were added.
    pub fn channels(&self) -> &[Channel<H, S>] {
        &self.channels
    }

    /// Returns the channels, for access to their handlers and sinks.
    pub fn channels_mut(&mut self) -> &mut [Channel<H, S>] {
        &mut self.channels
    }

    /// Returns the system time at which the monotonic clock was 0, in nanoseconds since 1970. A
    /// packet's time in its handler plus this value is the kernel's time stamp, until the system
    /// clock is stepped.
    pub const fn epoch_ns(&self) -> u64 {
        self.taking.times.epoch_ns()
    }

    /// Returns how many steps of the system clock were detected; see [`KernelTimes`].
    pub const fn clock_steps(&self) -> u64 {
        self.taking.times.steps()
    }

    /// Records every datagram from now on. Each socket added before becomes an interface of the
    /// recording, named by the index of its channel and its source.
    ///
    /// # Errors
    /// [`RecordError`] if the first file cannot be created.
    pub fn record(
        &mut self,
        options: &RecordOptions,
        name: impl Fn(usize, FeedLine) -> String,
    ) -> Result<(), RecordError> {
        let channels = self.channels.iter().enumerate();
        let lines = channels.flat_map(|(index, channel)| {
            let inputs = channel.inputs().map(move |(source, receiver)| (index, source, receiver));
            inputs.map(|(index, source, receiver)| RecordedLine {
                name: name(index, source),
                endpoint: receiver.endpoint(),
            })
        });
        let lines: Vec<_> = lines.collect();
        if options.from_rings {
            match TapRecorder::start(options, &lines) {
                Ok(tap) => {
                    self.tap = Some(tap);
                    return Ok(());
                }
                Err(TapError::Record(error)) => return Err(error),
                Err(TapError::Ring(error)) => tracing::warn!(
                    "cannot record from packet rings ({error}; CAP_NET_RAW is needed): recording the packets of the sockets"
                ),
            }
        }
        self.taking.recorder = Some(Recorder::start(options, &lines)?);
        Ok(())
    }

    /// Returns the counters of the recording, if datagrams are recorded.
    pub fn recorded(&self) -> Option<RecordCounters> {
        let of_sockets = self.taking.recorder.as_ref().map(Recorder::counters);
        of_sockets.or_else(|| self.tap.as_ref().map(TapRecorder::counters))
    }

    /// Ends the recording, if there is one: writes all received datagrams, and returns the
    /// counters.
    pub fn finish_recording(&mut self) -> Option<RecordCounters> {
        if let Some(recorder) = &mut self.taking.recorder {
            recorder.finish();
        }
        if let Some(tap) = &mut self.tap {
            tap.finish();
        }
        let recorded = self.recorded();
        (self.taking.recorder, self.tap) = (None, None);
        recorded
    }

    /// Receives until `stop` is set. Calls `observe` whenever all packets that had arrived have
    /// been processed, and every tenth of a second while packets arrive, for example to publish
    /// counters or to decide to stop.
    ///
    /// # Errors
    /// The operating system's error of a socket.
    pub fn run(
        &mut self,
        stop: &Stop,
        mut observe: impl FnMut(&mut Self, LoopState),
    ) -> Result<(), HostError> {
        let mut is_idle = false;
        while !stop.is_set() {
            // Taken before the wait: a socket that is not ready after it was empty at this time.
            let polled_ns = monotonic_ns();
            let timeout = if is_idle { self.timeout(polled_ns) } else { Duration::ZERO };
            self.poll(timeout)?;
            let packets = self.taking.packets;
            is_idle = self.hand_on(polled_ns)?;
            if self.taking.packets != packets {
                self.waiting.arrived();
            }
            let now_ns = monotonic_ns();
            if let Some(recorder) = &mut self.taking.recorder {
                recorder.flush(now_ns);
            }
            if is_idle || now_ns.saturating_sub(self.observed_ns) >= OBSERVE_NS {
                self.observed_ns = now_ns;
                observe(self, LoopState { now_ns, is_idle });
            }
        }
        Ok(())
    }

    /// Waits, then marks the readable sockets.
    fn poll(&mut self, timeout: Duration) -> Result<(), HostError> {
        let is_spinning = timeout.is_zero() && self.waiting.wait() != Wait::Block;
        if is_spinning && self.sockets <= SPIN_DIRECTLY_MAX {
            self.channels.iter_mut().for_each(Channel::set_all_ready);
            return Ok(());
        }
        for token in self.poller.wait(timeout)?.map(SocketToken::from) {
            if let Some(channel) = self.channels.get_mut(token.channel) {
                channel.set_ready(token.socket);
            }
        }
        Ok(())
    }

    /// Processes each channel in turn; returns true if all packets that had arrived have been
    /// processed.
    fn hand_on(&mut self, polled_ns: u64) -> Result<bool, HostError> {
        let mut is_idle = true;
        for channel in &mut self.channels {
            is_idle &= channel.hand_on(&mut self.taking, polled_ns)?;
        }
        Ok(is_idle)
    }

    /// Returns how long to wait for packets.
    fn timeout(&mut self, now_ns: u64) -> Duration {
        if self.waiting.next(|| now_ns) == WaitStep::Look {
            return Duration::ZERO;
        }
        let due_ns = self.channels.iter().filter_map(|channel| channel.handler.poll_timeout());
        let left_ns = due_ns.min().map(|due_ns| due_ns.saturating_sub(now_ns));
        left_ns.map_or(WAIT_MAX, Duration::from_nanos).min(WAIT_MAX)
    }
}

/// Identifies a socket of a channel in events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SocketToken {
    channel: usize,
    socket: usize,
}

/// A process has fewer than 2^32 sockets.
impl From<SocketToken> for u64 {
    fn from(token: SocketToken) -> Self {
        (token.channel as Self) << 32 | token.socket as Self
    }
}

impl From<u64> for SocketToken {
    fn from(token: u64) -> Self {
        Self { channel: (token >> 32) as usize, socket: (token & u64::from(u32::MAX)) as usize }
    }
}
