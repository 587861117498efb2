//! Finds messages of another session in a channel or stream.

use tickwire_feed::framing::detect::{RestartWatch, ValueCheck};

/// Check of the messages of a channel or stream whose dictionaries persist.
#[derive(Clone, Debug, Default)]
pub(crate) enum SessionCheck {
    /// No check.
    #[default]
    None,
    /// Checks that the bytes of each message confirm its values.
    Values(Box<ValueCheck>),
    /// Checks that sequence numbers do not go back.
    SeqNums(Box<RestartWatch>),
}

impl SessionCheck {
    /// Begins a packet.
    pub(crate) fn begin_packet(&mut self) {
        if let Self::Values(check) = self {
            check.begin_packet();
        }
    }

    /// Waits for a reset, because the dictionaries are unknown.
    pub(crate) fn lose_dictionaries(&mut self) {
        match self {
            Self::None => {}
            Self::Values(check) => check.lose_dictionaries(),
            Self::SeqNums(watch) => watch.clear(),
        }
    }

    /// Resets all dictionaries.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::None => {}
            Self::Values(check) => check.reset(),
            Self::SeqNums(watch) => watch.clear(),
        }
    }
}
