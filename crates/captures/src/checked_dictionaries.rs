//! The dictionaries of a channel or stream.

use tickwire_fast::Decoder;

use crate::channels::lose_dictionaries;
use crate::session_check::SessionCheck;

/// The dictionaries of a channel or stream: those of its decoder, and those of its check.
pub(crate) struct CheckedDictionaries<'h> {
    pub(crate) decoder: &'h mut Decoder,
    pub(crate) check: &'h mut SessionCheck,
}

impl CheckedDictionaries<'_> {
    pub(crate) fn begin_packet(&mut self) {
        self.decoder.begin_packet();
        self.check.begin_packet();
    }

    /// Marks all values as unknown until the next reset, because bytes of the feed are lost.
    pub(crate) fn lose(&mut self) {
        lose_dictionaries(self.decoder);
        self.check.lose_dictionaries();
    }
}
