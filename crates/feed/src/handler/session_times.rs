//! SendingTimes of the session that the lines are in: they tell of which session a replayed packet is.

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

    /// Extends times, if there are any, by one more.
    pub(super) fn extended(times: Option<Self>, time: u64) -> Self {
        let Self { earliest, latest } = times.unwrap_or(Self::at(time));
        Self { earliest: earliest.min(time), latest: latest.max(time) }
    }
}

/// The session of a replayed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplaySession {
    /// One before that of the lines.
    Past,
    /// That of the lines.
    Current,
    /// The current or the next one: its time is later than the lines have shown.
    CurrentOrNext,
}

/// SendingTimes of the messages delivered in the current session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionTimes {
    /// A lower bound: sender threads and damaged times may put the first message above later ones.
    earliest: Option<u64>,
    /// That of the message delivered last, so that one damaged time does not last.
    last: Option<u64>,
}

impl SessionTimes {
    /// Notes a message that was delivered.
    pub(super) fn note(&mut self, time: u64) {
        self.earliest = Some(self.earliest.map_or(time, |earliest| earliest.min(time)));
        self.last = Some(time);
    }

    /// A session begins: what was sent before is of the past.
    pub(super) const fn begin_session(&mut self) {
        self.earliest = self.last;
    }

    /// Returns the session of a packet whose messages were sent at `times`.
    pub(super) fn session_of(&self, times: Option<SendingTimes>) -> ReplaySession {
        let Some(times) = times else { return ReplaySession::Current };
        if self.earliest.is_some_and(|earliest| times.earliest < earliest) {
            ReplaySession::Past
        } else if self.last.is_some_and(|last| times.latest <= last) {
            ReplaySession::Current
        } else {
            ReplaySession::CurrentOrNext
        }
    }
}
