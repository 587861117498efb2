//! SendingTimes of the current session, which show the session of a replayed packet.

/// The earliest and the latest SendingTime of some messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendingTimes {
    pub(super) earliest: u64,
    pub(super) latest: u64,
}

impl SendingTimes {
    const fn at(time: u64) -> Self {
        Self { earliest: time, latest: time }
    }

    /// Extends the range, if there is one, by one more time.
    pub(super) fn extended(times: Option<Self>, time: u64) -> Self {
        let Self { earliest, latest } = times.unwrap_or(Self::at(time));
        Self { earliest: earliest.min(time), latest: latest.max(time) }
    }
}

/// Session of a replayed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplaySession {
    /// A session before that of the lines.
    Past,
    /// The session of the lines.
    Current,
    /// The current or the next session: its time is later than any on the lines.
    CurrentOrNext,
}

/// SendingTimes of the messages delivered in the current session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionTimes {
    /// SendingTime of the last message of the previous session.
    past: Option<u64>,
    /// Number of the first delivered packet: packets with lower numbers may have been sent before
    /// it.
    first: Option<u64>,
    /// A lower bound: with several sender threads or damaged times, the first message may have a
    /// later time than the following ones.
    earliest: Option<u64>,
    /// SendingTime of the message delivered last; a single damaged time is overwritten by the next.
    last: Option<u64>,
    /// Messages with a SendingTime, in all sessions.
    told: u64,
}

impl SessionTimes {
    /// Returns the number of messages with a SendingTime so far.
    pub(super) const fn told(&self) -> u64 {
        self.told
    }

    /// Records a delivered message and the number of its packet.
    pub(super) fn note(&mut self, seq_num: Option<u64>, time: u64) {
        self.first = self.first.or(seq_num);
        self.past = self.past.map(|past| past.min(time));
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        self.last = Some(time);
        self.told += 1;
    }

    /// Begins a session: earlier times belong to the past.
    pub(super) const fn begin_session(&mut self) {
        *self = Self { past: self.last, first: None, earliest: None, ..*self };
    }

    /// Returns the session of the packet of this number, whose messages were sent at `times`.
    pub(super) fn session_of(&self, seq_num: u64, times: Option<SendingTimes>) -> ReplaySession {
        let Some(times) = times else { return ReplaySession::Current };
        let is_after_first = self.first.is_none_or(|first| seq_num >= first);
        let bound = if is_after_first { self.earliest.max(self.past) } else { self.past };
        if bound.is_some_and(|bound| times.earliest < bound) {
            ReplaySession::Past
        } else if self.last.is_some_and(|last| times.latest <= last) {
            ReplaySession::Current
        } else {
            ReplaySession::CurrentOrNext
        }
    }
}
