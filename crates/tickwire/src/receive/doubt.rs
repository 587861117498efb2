//! Checks whether the first packets of a channel fit its framing and reset policy.

use std::sync::Arc;
use tickwire_fast::Program;
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::doubt;
use tickwire_feed::handler::FeedLine;

/// Number of packets that are examined.
const PACKETS: usize = 200;

/// The first packets of a line, used to check the framing.
#[derive(Debug, Default)]
pub struct FirstPackets {
    /// The line of the first packet.
    source: Option<FeedLine>,
    packets: Vec<Vec<u8>>,
    is_over: bool,
}

impl FirstPackets {
    /// Stores a packet if it is among the first of its line.
    #[inline]
    pub fn note(&mut self, source: FeedLine, packet: &[u8]) {
        if self.is_over || !matches!(source, FeedLine::Incremental(_)) {
            return;
        }
        if *self.source.get_or_insert(source) == source && self.packets.len() < PACKETS {
            self.packets.push(packet.to_vec());
        }
    }

    /// Returns the packets once, as soon as there are enough.
    pub fn take_full(&mut self) -> Option<Vec<Vec<u8>>> {
        (self.packets.len() >= PACKETS).then(|| self.take())
    }

    /// Returns the packets once, and none after that.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        self.is_over = true;
        std::mem::take(&mut self.packets)
    }
}

/// Logs a warning if values or errors fit another framing or reset policy better. This takes a while and must
/// not run on a receiving thread.
pub fn warn(label: Option<&str>, packets: &[Vec<u8>], program: &Arc<Program>, framing: &Framing) {
    if let Some(doubt) = doubt(packets, program.set(), framing) {
        let separator = if label.is_some() { ": " } else { "" };
        tracing::warn!("{}{separator}{doubt}", label.unwrap_or_default());
    }
}
