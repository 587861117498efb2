//! Assigns snapshots to sessions.

use crate::market::Snapshot;

/// End of a session, as far as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SessionEnd {
    /// Start of the next session, on the clock of the handler.
    at_ns: u64,
    /// Numbers of the session that were seen: from `first` to before `end`.
    first: u64,
    end: u64,
    /// SendingTime of the SequenceReset, if one was seen.
    sending_time: Option<u64>,
}

/// Watches the numbers of the incremental feed by session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SessionTracker {
    /// The number after the last one delivered or declared lost; `None` before the first.
    next: Option<u64>,
    /// The first number seen in this session.
    first: u64,
    ended: Option<SessionEnd>,
    /// SendingTime of a SequenceReset whose session has not begun yet.
    reset_sent: Option<u64>,
    has_times: bool,
    /// The last SendingTime of the lines in this session.
    sent: Option<u64>,
}

impl SessionTracker {
    /// Sets whether messages of the lines have a SendingTime.
    pub(super) const fn set_times(&mut self, has_times: bool) {
        self.has_times = has_times;
    }

    pub(super) const fn has_times(&self) -> bool {
        self.has_times
    }

    /// Records the SendingTime of a message of the lines. The last time counts, not the latest,
    /// because a wrong late time would count for ever.
    pub(super) fn note_sent(&mut self, sending_time: u64) {
        self.sent = Some(sending_time);
    }

    /// Returns the last SendingTime of the lines; 0 before the first.
    #[inline]
    pub(super) fn sent(&self) -> u64 {
        self.sent.unwrap_or(0)
    }

    /// True if a message was sent later than the last known time of the lines: a reset that the
    /// lines have not shown may lie between.
    pub(super) fn is_later(&self, sending_time: Option<u64>) -> bool {
        self.has_times && sending_time.is_some_and(|time| self.sent.is_none_or(|sent| sent <= time))
    }

    /// Records that every number below `next` was delivered or declared lost. The first call of a
    /// session gives its first seen number.
    #[inline]
    pub(super) fn advance(&mut self, next: u64) {
        match &mut self.next {
            Some(known) => *known = next.max(*known),
            None => {
                self.next = Some(next);
                self.first = next;
            }
        }
    }

    /// Returns the number after the last one that counts as sent; 0 before the first.
    pub(super) fn position(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    /// True if the feed is received from its start: the first number seen is 1.
    #[inline]
    pub(super) fn is_from_start(&self) -> bool {
        self.next.is_some() && self.first <= 1 && self.ended.is_none()
    }

    /// True if anything has arrived in this session.
    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn note_reset_message(&mut self, sending_time: Option<u64>) {
        self.reset_sent = sending_time;
        self.sent = sending_time.or(self.sent);
    }

    /// Begins a session.
    pub(super) fn begin(&mut self, now_ns: u64) {
        let sending_time = self.reset_sent.take();
        self.ended = match (self.next.take(), self.ended) {
            (Some(end), _) => {
                Some(SessionEnd { at_ns: now_ns, first: self.first, end, sending_time })
            }
            // Two resets in a row: snapshots from before the first may still arrive.
            (None, Some(ended)) => Some(SessionEnd { at_ns: now_ns, sending_time, ..ended }),
            (None, None) => None,
        };
        // Times of day restart.
        self.sent = sending_time;
    }

    /// True if a snapshot that arrived at `now_ns` belongs to this session. For `skew_ns` after a
    /// reset, a snapshot that may belong to the previous session does not, unless its SendingTime
    /// proves it.
    pub(super) fn is_current(&self, snapshot: &Snapshot<'_>, now_ns: u64, skew_ns: u64) -> bool {
        let Some(ended) = self.ended else { return true };
        // If messages with earlier times than the reset arrived after it, the reset's time cannot
        // separate the sessions.
        let reset = ended.sending_time.filter(|reset| self.sent.is_none_or(|sent| sent >= *reset));
        if let (Some(sent), Some(reset)) = (snapshot.sending_time, reset)
            && sent != reset
        {
            return sent > reset;
        }
        // A snapshot may be older than the first number seen, but not by much more than the range
        // of seen numbers.
        let watched = ended.end.saturating_sub(ended.first);
        let first = ended.first.saturating_sub(watched);
        let was_used = (first..ended.end).contains(&snapshot.last_seq_num);
        !was_used || now_ns >= ended.at_ns.saturating_add(skew_ns)
    }
}
