//! The loop that drives a feed handler from sockets.
//!
//! A [`Reception`] holds a [`Receiver`] for each line of a channel. [`Reception::run`] hands their
//! packets to a [`Handler`] in the order in which the kernel received them, whatever the order in
//! which the sockets are read, so that a line whose socket is read later is not judged late. It waits
//! blocking, or spins: lower latency for a CPU kept busy.

use std::time::Duration;

use tickwire_feed::handler::{Adapt, Engine, Handler, Sink, Source};

use crate::clock::{KernelTimes, monotonic_ns};
use crate::multicast::{Receiver, wait_readable};
use crate::{Error, Stop};

/// How a loop waits for packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Sleeping in the kernel.
    #[default]
    Block,
    /// Looking again and again.
    Spin,
}

/// Longest wait in one piece, so that a stop is noticed.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// Most packets handed on before the loop looks at its stop and its observer.
const PACKETS_A_ROUND: usize = 4096;

/// Least time between two looks of the observer while packets come.
const OBSERVE_NS: u64 = 100_000_000;

/// The sockets of one channel. See the [module](self).
#[derive(Debug)]
pub struct Reception {
    sources: Vec<Source>,
    receivers: Vec<Receiver>,
    /// When each socket was asked last: what came before then has been taken, unless its batch was
    /// full.
    asked_ns: Vec<u64>,
    wait: Wait,
    times: KernelTimes,
    observed_ns: u64,
}

/// What an observer is shown.
#[derive(Debug)]
pub struct View<'v, E, A> {
    /// The sockets.
    pub reception: &'v Reception,
    /// The handler.
    pub handler: &'v Handler<E, A>,
    /// The time on the monotonic clock.
    pub now_ns: u64,
    /// Whether nothing more had arrived.
    pub is_idle: bool,
}

impl Reception {
    /// A loop over these receivers, at most [`RECEIVERS_MAX`](crate::multicast::RECEIVERS_MAX) if it
    /// blocks.
    pub fn new(inputs: impl IntoIterator<Item = (Source, Receiver)>, wait: Wait) -> Self {
        let (sources, receivers): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
        let asked_ns = vec![0; receivers.len()];
        Self { sources, receivers, asked_ns, wait, times: KernelTimes::new(), observed_ns: 0 }
    }

    /// The receivers with what they carry.
    pub fn inputs(&self) -> impl Iterator<Item = (Source, &Receiver)> {
        self.sources.iter().copied().zip(&self.receivers)
    }

    /// Receives until `stop` is set. `observe` is called when there is nothing to do, and every tenth
    /// of a second while packets come: to publish counters, or to decide to stop.
    ///
    /// # Errors
    /// What the system says of a socket.
    pub fn run<E, A, S>(
        &mut self,
        handler: &mut Handler<E, A>,
        sink: &mut S,
        stop: &Stop,
        mut observe: impl FnMut(&mut S, View<'_, E, A>),
    ) -> Result<(), Error>
    where
        E: Engine,
        A: Adapt<E::Message>,
        S: Sink<E::Message>,
    {
        while !stop.is_set() {
            let now_ns = monotonic_ns();
            self.times.refresh(now_ns);
            let is_idle = !self.fill_all()?;
            if self.hand_on(handler, sink)? {
                // Everything received before has been handed in.
                let asked_ns = self.asked_ns.iter().min().copied();
                handler.handle_timeout(asked_ns.unwrap_or(now_ns), sink);
            }
            if is_idle || now_ns.saturating_sub(self.observed_ns) >= OBSERVE_NS {
                self.observed_ns = now_ns;
                observe(sink, View { reception: self, handler, now_ns, is_idle });
            }
            if is_idle {
                self.wait(handler.poll_timeout(), now_ns)?;
            }
        }
        Ok(())
    }

    /// Takes a batch from every socket whose last is used up; returns whether there is anything.
    fn fill_all(&mut self) -> Result<bool, Error> {
        self.fill_where(|receiver, _| receiver.front_ns().is_none())?;
        Ok(self.earliest().is_some())
    }

    /// Takes a batch from every socket that is so, given when it was asked last. Returns whether any
    /// was.
    fn fill_where(&mut self, is_so: impl Fn(&Receiver, u64) -> bool) -> Result<bool, Error> {
        let mut is_any = false;
        for (receiver, asked_ns) in self.receivers.iter_mut().zip(&mut self.asked_ns) {
            if is_so(receiver, *asked_ns) {
                is_any = true;
                *asked_ns = monotonic_ns();
                receiver.fill(&self.times)?;
            }
        }
        Ok(is_any)
    }

    /// Hands on the batches, merged by the kernel's times. Before a packet is handed on, a socket
    /// whose batch is used up is asked again if it may hold an earlier one: its batch was full, or
    /// it was asked before the packet came. Returns whether all sockets were found empty.
    fn hand_on<E: Engine, A: Adapt<E::Message>>(
        &mut self,
        handler: &mut Handler<E, A>,
        sink: &mut impl Sink<E::Message>,
    ) -> Result<bool, Error> {
        for _ in 0..PACKETS_A_ROUND {
            let front = self.earliest();
            let may_hold_earlier = |receiver: &Receiver, asked_ns: u64| {
                let is_before = front.is_some_and(|(front_ns, _)| asked_ns < front_ns);
                receiver.front_ns().is_none() && (receiver.was_full() || is_before)
            };
            if self.fill_where(may_hold_earlier)? {
                continue;
            }
            let Some((_, index)) = front else { return Ok(true) };
            let (Some(receiver), Some(&source)) =
                (self.receivers.get_mut(index), self.sources.get(index))
            else {
                break;
            };
            if let Some(datagram) = receiver.take(&self.times) {
                handler.handle_packet(datagram.received_ns, source, datagram.bytes, sink);
            }
        }
        Ok(false)
    }

    /// When the earliest packet in hand came, and at which receiver.
    fn earliest(&self) -> Option<(u64, usize)> {
        let fronts = self.receivers.iter().enumerate();
        fronts.filter_map(|(index, receiver)| Some((receiver.front_ns()?, index))).min()
    }

    fn wait(&self, timeout_ns: Option<u64>, now_ns: u64) -> Result<(), Error> {
        match self.wait {
            Wait::Spin => std::hint::spin_loop(),
            Wait::Block => {
                let left_ns = timeout_ns.map(|ns| ns.saturating_sub(now_ns));
                let left = left_ns.map_or(WAIT_MAX, Duration::from_nanos).min(WAIT_MAX);
                wait_readable(&self.receivers, left)?;
            }
        }
        Ok(())
    }
}
