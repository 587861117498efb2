//! The loop over the messages of a packet, shared by all engines.

use super::portable::BlockState;
use super::tables::base_of;
use super::{BottomUpDecoder, Padded};
use crate::packet::{PacketFrame, frame};
use crate::record::OpraRecord;
use crate::reference;
use crate::{Field, OpraError, OpraMessage, OpraSummary, OpraVersion};

/// The longest message that an engine decodes, in bytes: its end must be a bit of a 64-bit mask.
pub(crate) const LEN_MAX: usize = 63;

/// The result of decoding a message.
#[derive(PartialEq, Eq)]
pub(crate) enum RecordOutcome {
    /// The record contains the message.
    Done,
    /// The engine does not support this shape of message; the record is unchanged.
    Unusual,
    /// The message is invalid; the record's contents are unspecified.
    Wrong,
}

/// A packet of version 2.0 with a decoded header. The decoder's padded copy holds its bytes too.
pub(crate) struct PacketJob<'a> {
    pub packet: &'a [u8],
    /// Offset of the first length byte.
    pub offset: usize,
    pub summary: OpraSummary,
}

/// Decodes the messages of a packet with `engine`. The engine receives the padded packet, the
/// message's frame, the state carried between messages, and the record.
#[inline(always)]
pub(crate) fn run(
    decoder: &mut BottomUpDecoder,
    job: PacketJob<'_>,
    engine: impl Fn(&Padded, PacketFrame, &mut BlockState, &mut OpraRecord) -> RecordOutcome,
    mut visit: impl FnMut(OpraMessage<'_>),
) -> Result<OpraSummary, OpraError> {
    let BottomUpDecoder { record, entries, padded, .. } = decoder;
    let PacketJob { packet, mut offset, mut summary } = job;
    let mut state = BlockState::new();
    while let Some(found) = frame(packet, offset, summary.messages as usize)? {
        match engine(padded, found, &mut state, record) {
            RecordOutcome::Done => {}
            RecordOutcome::Unusual => {
                reference::decode_message(packet, found, OpraVersion::V2, record, entries)?;
                state.base = base_of(record.number(Field::Category));
            }
            RecordOutcome::Wrong => {
                return reference::decode(packet, summary.messages, record, entries, visit);
            }
        }
        let view = OpraMessage {
            record,
            entries,
            text: packet,
            version: OpraVersion::V2,
            index: summary.messages,
            offset: found.start as u32,
        };
        if summary.messages == 0 {
            summary.first_seq_num = view.seq_num();
        }
        visit(view);
        summary.messages += 1;
        offset = found.end;
    }
    Ok(summary)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::generate;
    use crate::packet::open;
    use std::cell::Cell;

    /// Decodes a trace. Returns the number of messages that the engine decoded, called unusual, and
    /// called wrong.
    pub(crate) fn outcomes(
        engine: impl Fn(&Padded, PacketFrame, &mut BlockState, &mut OpraRecord) -> RecordOutcome,
    ) -> [u32; 3] {
        let counts = [const { Cell::new(0) }; 3];
        let mut decoder = BottomUpDecoder::new();
        for packet in generate::trace(OpraVersion::V2, 3, 5000).unwrap() {
            let (version, header, offset) = open(&packet).unwrap();
            let summary = OpraSummary { version, header, messages: 0, first_seq_num: None };
            decoder.padded[..packet.len()].copy_from_slice(&packet);
            decoder.record.reset();
            let counted =
                |padded: &Padded, frame, state: &mut BlockState, record: &mut OpraRecord| {
                    let outcome = engine(padded, frame, state, record);
                    let count = match outcome {
                        RecordOutcome::Done => &counts[0],
                        RecordOutcome::Unusual => &counts[1],
                        RecordOutcome::Wrong => &counts[2],
                    };
                    count.set(count.get() + 1);
                    outcome
                };
            run(&mut decoder, PacketJob { packet: &packet, offset, summary }, counted, |_| {})
                .unwrap();
        }
        counts.map(|count| count.get())
    }

    #[test]
    fn the_portable_engine_decodes_the_messages_of_a_trace_itself() {
        let [done, unusual, wrong] = outcomes(super::super::portable::message);
        assert!(done >= 5000 && unusual + wrong == 0, "{done} {unusual} {wrong}");
    }
}
