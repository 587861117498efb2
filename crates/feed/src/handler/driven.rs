//! The interface between a handler and the loop that drives it.

use super::{Adapt, FeedEngine, FeedLine, Handler, Sink};

/// A handler that a loop drives with packets and time, over sockets or captures.
///
/// [`Handler`] is one. A feed with its own codec or its own order of lines implements this trait to
/// use the same loops. `S` receives the output. Times are nanoseconds of one clock and do not go
/// back.
pub trait PacketHandler<S: ?Sized> {
    /// Handles a packet of `source` that was received at `received_ns`.
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S);

    /// Fires the timers due at `now_ns`. All packets received before must have been passed in.
    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S);

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout); `None` if no
    /// timer is set.
    fn poll_timeout(&self) -> Option<u64>;

    /// Returns the time at which the next waiting packet or snapshot is released; `None` if none
    /// waits. Other timers, such as those of silent lines, are left out: the end of a capture is
    /// not silence.
    fn poll_waiting(&self) -> Option<u64> {
        None
    }

    /// Fires the timers that are due by `to_ns`, each at its own time, so that results depend on
    /// the times at which packets were received, not on the time of this call. The previous call
    /// ended at `from_ns`.
    fn fire_due(&mut self, from_ns: u64, to_ns: u64, sink: &mut S) {
        let mut last_ns = None;
        while let Some(due_ns) = self.poll_timeout().filter(|due_ns| *due_ns <= to_ns) {
            // A timer whose time does not advance fires once, at the end of the interval.
            let at_ns = if last_ns == Some(due_ns) { to_ns } else { due_ns.max(from_ns) };
            self.handle_timeout(at_ns, sink);
            if at_ns == to_ns && self.poll_timeout() == Some(due_ns) {
                break;
            }
            last_ns = Some(due_ns);
        }
    }

    /// Reports the end of the captures.
    fn finish(&mut self, _sink: &mut S) {}
}

impl<E: FeedEngine, A: Adapt<E::Message>, S: Sink<E::Message>> PacketHandler<S> for Handler<E, A> {
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S) {
        Handler::handle_packet(self, received_ns, source, packet, sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S) {
        Handler::handle_timeout(self, now_ns, sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        Handler::poll_timeout(self)
    }

    fn poll_waiting(&self) -> Option<u64> {
        let arbiter = self.arbiter();
        let held = arbiter.poll_timeout().filter(|_| arbiter.packets_held() > 0);
        held.into_iter().chain(self.recovery().poll_timeout()).min()
    }

    fn finish(&mut self, sink: &mut S) {
        Handler::finish(self, sink);
    }
}

impl<S: ?Sized, H: PacketHandler<S> + ?Sized> PacketHandler<S> for Box<H> {
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S) {
        (**self).handle_packet(received_ns, source, packet, sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S) {
        (**self).handle_timeout(now_ns, sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        (**self).poll_timeout()
    }

    fn poll_waiting(&self) -> Option<u64> {
        (**self).poll_waiting()
    }

    fn finish(&mut self, sink: &mut S) {
        (**self).finish(sink);
    }
}
