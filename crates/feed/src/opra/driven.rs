//! OPRA lines in the loops that drive handlers.

use tickwire_opra::OpraMessage;

use super::{LineHandler, OpraEvent};
use crate::handler::{FeedLine, PacketHandler};

/// Receives the messages of an OPRA line, in order and once.
pub trait OpraSink {
    /// A message.
    fn handle_message(&mut self, message: &OpraMessage<'_>);

    /// A packet whose messages have been passed on, a gap or a reset.
    fn handle_event(&mut self, event: &OpraEvent);
}

impl LineHandler {
    fn poll_all(&mut self, sink: &mut impl OpraSink) {
        while let Some(event) = self.poll_event(|message| sink.handle_message(&message)) {
            sink.handle_event(&event);
        }
    }
}

/// OPRA has no snapshot feed; a source selects the A or the B side by its line.
impl<S: OpraSink> PacketHandler<S> for LineHandler {
    fn handle_packet(&mut self, received_ns: u64, source: FeedLine, packet: &[u8], sink: &mut S) {
        let (FeedLine::Definitions(side) | FeedLine::Incremental(side) | FeedLine::Snapshot(side)) =
            source;
        let visit = |message: OpraMessage<'_>| sink.handle_message(&message);
        if let Some(event) = self.handle_packet_in_place(received_ns, side, packet, visit) {
            sink.handle_event(&event);
        }
        self.poll_all(sink);
    }

    fn handle_timeout(&mut self, now_ns: u64, sink: &mut S) {
        Self::handle_timeout(self, now_ns);
        self.poll_all(sink);
    }

    fn poll_timeout(&self) -> Option<u64> {
        Self::poll_timeout(self)
    }
}
