//! The dictionaries of a channel or stream.

use tickwire_fast::Decoder;
use tickwire_feed::framing::detect::{RestartWatch, ValueCheck};

use crate::channels::lose_dictionaries;

/// The dictionaries of a channel or stream: those of its decoder, and those of its checks.
pub(crate) struct CheckedDictionaries<'h> {
    pub(crate) decoder: &'h mut Decoder,
    pub(crate) check: Option<&'h mut ValueCheck>,
    pub(crate) watch: Option<&'h mut RestartWatch>,
}

impl CheckedDictionaries<'_> {
    pub(crate) fn begin_packet(&mut self) {
        self.decoder.begin_packet();
        if let Some(check) = &mut self.check {
            check.begin_packet();
        }
    }

    /// Waits for a reset, because bytes of the feed are lost.
    pub(crate) fn lose(&mut self) {
        lose_dictionaries(self.decoder);
        self.lose_check();
    }

    /// Makes the checks wait for a reset, because the decoder failed and waits for one.
    pub(crate) fn lose_check(&mut self) {
        if let Some(check) = &mut self.check {
            check.lose_dictionaries();
        }
        if let Some(watch) = &mut self.watch {
            watch.clear();
        }
    }
}
