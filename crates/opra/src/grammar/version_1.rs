//! The actions for packets of version 1.03.

use tickwire_dsparser::{ActionError, ActionId, ActionValue, Host};

use super::{ACTION_FIELD, ACTION_PMAP, MESSAGE_LENGTH, REFUSED, message_end};
use crate::packet::PacketFrame;
use crate::record::OpraRecord;
use crate::{OpraEntry, OpraMessage, OpraSummary, OpraVersion, reference};

/// The host of the grammar. The reference decoder decodes each message once all its items have
/// arrived.
pub(super) struct Version1Actions<'a, V> {
    packet: &'a [u8],
    record: &'a mut OpraRecord,
    entries: &'a mut Vec<OpraEntry>,
    visit: &'a mut V,
    pub summary: OpraSummary,
    start: usize,
    end: usize,
    /// Offset after the last item handed out.
    items_end: usize,
}

impl<'a, V: FnMut(OpraMessage<'_>)> Version1Actions<'a, V> {
    /// Creates the actions at the start of `packet`.
    pub fn new(
        packet: &'a [u8],
        record: &'a mut OpraRecord,
        entries: &'a mut Vec<OpraEntry>,
        visit: &'a mut V,
        summary: OpraSummary,
    ) -> Self {
        record.reset();
        // The first length byte follows the start byte.
        Self { packet, record, entries, visit, summary, start: 0, end: 1, items_end: 1 }
    }

    /// Returns the offset of the next length byte.
    pub fn next_message(&self) -> usize {
        if self.items_end == self.end { self.end } else { self.start - 1 }
    }

    fn length(&mut self, byte: u8, offset: usize) -> Result<ActionValue, ActionError> {
        if offset != self.next_message() {
            return Err(REFUSED);
        }
        self.start = offset + 1;
        self.end = message_end(self.packet, self.start, byte)?;
        self.items_end = self.start;
        Ok(ActionValue((self.end - self.start) as u64))
    }

    /// Takes the presence map or a field; items must be contiguous.
    fn item(&mut self, len: usize, offset: usize) -> Result<ActionValue, ActionError> {
        if offset != self.items_end {
            return Err(REFUSED);
        }
        self.items_end = offset + len;
        if self.items_end == self.end {
            self.message()?;
        }
        Ok(ActionValue::default())
    }

    fn message(&mut self) -> Result<(), ActionError> {
        let index = self.summary.messages;
        let frame = PacketFrame { index: index as usize, start: self.start, end: self.end };
        let version = OpraVersion::V1;
        reference::decode_message(self.packet, frame, version, self.record, self.entries)
            .map_err(|_| REFUSED)?;
        let (record, entries, offset) = (&*self.record, &*self.entries, self.start as u32);
        let message = OpraMessage { record, entries, text: self.packet, version, index, offset };
        if index == 0 {
            self.summary.first_seq_num = message.seq_num();
        }
        (self.visit)(message);
        self.summary.messages += 1;
        Ok(())
    }
}

impl<V: FnMut(OpraMessage<'_>)> Host for Version1Actions<'_, V> {
    fn execute(
        &mut self,
        action: ActionId,
        bytes: &[u8],
        offset: usize,
    ) -> Result<ActionValue, ActionError> {
        match (action, bytes) {
            (MESSAGE_LENGTH, [byte]) => self.length(*byte, offset),
            (ACTION_PMAP | ACTION_FIELD, _) => self.item(bytes.len(), offset),
            _ => Err(REFUSED),
        }
    }
}
