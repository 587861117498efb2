//! Checks whether the first packets of a channel fit its framing and reset policy.

use std::sync::Arc;
use tickwire_fast::Program;
use tickwire_feed::framing::Framing;
use tickwire_feed::framing::detect::doubt;
use tickwire_feed::handler::Source;

/// Packets that are examined.
const PACKETS: usize = 200;

/// The first packets of a line, to judge the framing by.
#[derive(Debug, Default)]
pub struct FirstPackets {
    /// The line of the first packet.
    source: Option<Source>,
    packets: Vec<Vec<u8>>,
    is_over: bool,
}

impl FirstPackets {
    /// Keeps a packet, if it is among the first of its line.
    #[inline]
    pub fn note(&mut self, source: Source, packet: &[u8]) {
        if self.is_over || !matches!(source, Source::Incremental(_)) {
            return;
        }
        if *self.source.get_or_insert(source) == source && self.packets.len() < PACKETS {
            self.packets.push(packet.to_vec());
        }
    }

    /// The packets, once, as soon as there are enough of them.
    pub fn take_full(&mut self) -> Option<Vec<Vec<u8>>> {
        (self.packets.len() >= PACKETS).then(|| self.take())
    }

    /// The packets, once; none after that.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        self.is_over = true;
        std::mem::take(&mut self.packets)
    }
}

/// Logs where values or errors are those of another framing or reset policy. Takes a while: not for a
/// thread that receives.
pub fn warn(label: Option<&str>, packets: &[Vec<u8>], program: &Arc<Program>, framing: &Framing) {
    if let Some(doubt) = doubt(packets, program.set(), framing) {
        let separator = if label.is_some() { ": " } else { "" };
        tracing::warn!("{}{separator}{doubt}", label.unwrap_or_default());
    }
}
