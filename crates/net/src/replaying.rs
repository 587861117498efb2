//! A feed handler whose gaps are filled by a TCP replay service.

use tickwire_feed::handler::{FeedEngine, FeedLine, Handler, PacketHandler, ReplayLoss, Sink};
use tickwire_feed::market::Adapt;

use crate::tcp_replay::{Replayed, TcpReplay};

/// Time between two polls of the replay service while gaps are open, in nanoseconds.
const POLL_NS: u64 = 1_000_000;

/// Most replayed messages handled at a time, so that packets of the lines do not wait.
const MESSAGES_A_ROUND: usize = 256;

/// A handler with its replay service, driven by a loop like a plain handler.
#[derive(Debug)]
pub struct Replaying<E, A> {
    handler: Handler<E, A>,
    replay: TcpReplay,
    /// Number of requested gaps.
    open: usize,
    now_ns: u64,
}

impl<E: FeedEngine, A: Adapt<E::Message>> Replaying<E, A> {
    /// Connects `replay` to `handler`; `engine` decodes replayed messages.
    pub fn new(handler: Handler<E, A>, engine: E, replay: TcpReplay) -> Self {
        Self { handler: handler.with_replay(engine), replay, open: 0, now_ns: 0 }
    }

    /// Returns the handler.
    pub const fn handler(&self) -> &Handler<E, A> {
        &self.handler
    }

    /// Returns the handler, for example to replace its templates.
    pub const fn handler_mut(&mut self) -> &mut Handler<E, A> {
        &mut self.handler
    }

    /// Returns the replay service, for its counters and for new days.
    pub const fn replay(&self) -> &TcpReplay {
        &self.replay
    }

    /// Returns how many requested gaps are not done.
    pub const fn open_gaps(&self) -> usize {
        self.open
    }

    fn pump(&mut self, now_ns: u64, sink: &mut impl Sink<E::Message>) {
        self.now_ns = self.now_ns.max(now_ns);
        while let Some(lost) = self.handler.poll_lost() {
            match lost {
                ReplayLoss::Gap(gap) => match self.replay.request(gap) {
                    Ok(()) => self.open += 1,
                    Err(reason) => {
                        tracing::warn!("{} messages from {} on: {reason}", gap.count, gap.first);
                        sink.handle_replay_abandoned(gap, reason);
                        self.handler.handle_replay_done(gap, sink);
                    }
                },
                ReplayLoss::Reset => {
                    self.open = 0;
                    // If the queue is full, the next request announces the epoch.
                    let _ = self.replay.begin_epoch();
                }
            }
        }
        for _ in 0..MESSAGES_A_ROUND {
            if self.open == 0 {
                return;
            }
            match self.replay.poll() {
                Some(Replayed::Abandoned { gap, reason }) => {
                    sink.handle_replay_abandoned(gap, reason)
                }
                Some(Replayed::Done(gap)) => {
                    self.open -= 1;
                    self.handler.handle_replay_done(gap, sink);
                }
                Some(Replayed::Message { seq_num, bytes }) => {
                    self.handler.handle_replayed(self.now_ns, seq_num, &bytes, sink);
                }
                None => return,
            }
        }
    }
}

impl<E: FeedEngine, A: Adapt<E::Message>, S: Sink<E::Message>> PacketHandler<S>
    for Replaying<E, A>
{
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S) {
        self.handler.handle_packet(received_ns, source, packet, sink);
        self.pump(received_ns, sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S) {
        self.handler.handle_timeout(now_ns, sink);
        self.pump(now_ns, sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        let look_ns = (self.open > 0).then(|| self.now_ns.saturating_add(POLL_NS));
        self.handler.poll_timeout().into_iter().chain(look_ns).min()
    }

    fn poll_waiting(&self) -> Option<u64> {
        PacketHandler::<S>::poll_waiting(&self.handler)
    }
}

/// A handler with or without a replay service.
#[derive(Debug)]
pub enum DrivenHandler<E, A> {
    /// No replay service.
    Alone(Handler<E, A>),
    /// Gaps are filled by a replay service.
    Replaying(Replaying<E, A>),
}

impl<E: FeedEngine, A: Adapt<E::Message>> DrivenHandler<E, A> {
    /// Returns the handler.
    pub const fn handler(&self) -> &Handler<E, A> {
        match self {
            Self::Alone(handler) => handler,
            Self::Replaying(replaying) => replaying.handler(),
        }
    }

    /// Returns the handler, for example to add instruments or templates.
    pub const fn handler_mut(&mut self) -> &mut Handler<E, A> {
        match self {
            Self::Alone(handler) => handler,
            Self::Replaying(replaying) => replaying.handler_mut(),
        }
    }

    /// Returns the replay service, if there is one.
    pub const fn replay(&self) -> Option<&TcpReplay> {
        match self {
            Self::Alone(_) => None,
            Self::Replaying(replaying) => Some(replaying.replay()),
        }
    }
}

impl<E: FeedEngine, A: Adapt<E::Message>, S: Sink<E::Message>> PacketHandler<S>
    for DrivenHandler<E, A>
{
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S) {
        match self {
            Self::Alone(handler) => handler.handle_packet(received_ns, source, packet, sink),
            Self::Replaying(replaying) => {
                replaying.handle_packet(received_ns, source, packet, sink);
            }
        }
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S) {
        match self {
            Self::Alone(handler) => handler.handle_timeout(now_ns, sink),
            Self::Replaying(replaying) => replaying.handle_timeout(now_ns, sink),
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        match self {
            Self::Alone(handler) => handler.poll_timeout(),
            Self::Replaying(replaying) => PacketHandler::<S>::poll_timeout(replaying),
        }
    }

    fn poll_waiting(&self) -> Option<u64> {
        PacketHandler::<S>::poll_waiting(self.handler())
    }

    fn finish(&mut self, sink: &mut S) {
        match self {
            Self::Alone(handler) => handler.finish(sink),
            Self::Replaying(replaying) => PacketHandler::<S>::finish(replaying, sink),
        }
    }
}
