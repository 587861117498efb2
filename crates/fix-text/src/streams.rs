//! FIX messages in the TCP streams of a capture.

use crate::found::FoundMessage;
use std::collections::BTreeMap;
use tickwire_feed::capture::Packet;
use tickwire_fix::{FixFramer, FixLimits, FramerStep};

/// Maximum number of streams with buffered bytes.
const FLOWS_MAX: usize = 4096;
/// First bytes of a message.
const BEGIN: &[u8] = b"8=FIX";

/// Takes the packets of a capture, and passes on the messages of its streams.
#[derive(Debug, Default)]
pub struct FixStreams {
    flows: BTreeMap<u64, FixStream>,
    /// Number of lost bytes already reported.
    told: u64,
}

impl FixStreams {
    /// Takes a packet, and passes on the messages that end in it, with a description of their
    /// position.
    ///
    /// # Errors
    /// The error of `handle`.
    pub fn take<E>(
        &mut self,
        packet: &Packet<'_>,
        handle: &mut impl FnMut(&str, FoundMessage<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let flows = &mut self.flows;
        let flow = packet.stream.map_or(0, |position| position.flow);
        if flows.len() >= FLOWS_MAX
            && !flows.contains_key(&flow)
            && let Some((flow, stream)) = flows.pop_first()
        {
            stream.end(&mut |found| {
                handle(&format!("stream {flow}, dropped to make room for others"), found)
            })?;
        }
        let (record, ends) = (packet.record, (packet.source, packet.destination));
        let place = match ends {
            (Some(from), Some(to)) => format!("record {record}, {from} to {to}"),
            _ => format!("record {record}"),
        };
        let lost = packet.stream.map_or(0, |position| position.lost_bytes);
        self.told += lost;
        if lost > 0 {
            let stream = flows.remove(&flow).unwrap_or_default();
            let within = if stream.begins_message() { ", within a message" } else { "" };
            let text = format!("{lost} bytes of the stream are missing before it{within}");
            handle(&place, FoundMessage::Broken(text))?;
        }
        let stream = flows.entry(flow).or_default();
        stream.bytes.extend_from_slice(packet.bytes);
        stream.take(&mut |found| handle(&place, found))
    }

    /// Ends all streams of a capture in which `lost_bytes` bytes are missing.
    ///
    /// # Errors
    /// The error of `handle`.
    pub fn end<E>(
        self,
        lost_bytes: u64,
        handle: &mut impl FnMut(&str, FoundMessage<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (flow, stream) in self.flows {
            let place = format!("end of stream {flow}");
            stream.end(&mut |found| handle(&place, found))?;
        }
        let untold = lost_bytes.saturating_sub(self.told);
        if untold > 0 {
            let text = format!(
                "{untold} bytes of streams are missing at their ends or precede their beginnings"
            );
            handle("end of the capture", FoundMessage::Broken(text))?;
        }
        Ok(())
    }
}

/// The bytes of a stream that are not yet parsed.
#[derive(Debug, Default)]
struct FixStream {
    bytes: Vec<u8>,
    framer: FixFramer,
}

impl FixStream {
    /// Passes on whole messages, and keeps the rest.
    fn take<E>(
        &mut self,
        handle: &mut impl FnMut(FoundMessage<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = 0;
        while at < self.bytes.len() {
            match self.framer.step(&self.bytes[at..]) {
                FramerStep::Message(message) => {
                    let (bytes, is_completed) = (message, false);
                    handle(FoundMessage::Message { bytes, notes: &[], is_completed })?;
                    at += message.len();
                }
                FramerStep::Garbage(len) => {
                    let garbage = &self.bytes[at..at + len];
                    // Logs have other text between messages; only bytes that begin like a message
                    // are reported.
                    if garbage.starts_with(BEGIN) {
                        handle(FoundMessage::Broken(broken(garbage)))?;
                    }
                    at += len.max(1);
                }
                FramerStep::NeedMore(_) => break,
            }
        }
        self.bytes.drain(..at);
        Ok(())
    }

    fn begins_message(&self) -> bool {
        self.bytes.starts_with(BEGIN)
    }

    /// Passes on the rest as broken if it begins like a message.
    fn end<E>(self, handle: &mut impl FnMut(FoundMessage<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.begins_message() {
            return Ok(());
        }
        let len = self.bytes.len();
        handle(FoundMessage::Broken(format!(
            "truncated: the data ends after {len} bytes of a message"
        )))
    }
}

/// Returns the error of bytes that begin like a message.
fn broken(garbage: &[u8]) -> String {
    let start = String::from_utf8_lossy(&garbage[..garbage.len().min(40)]).replace('\u{1}', "|");
    let len_max = FixLimits::default().message_len_max;
    format!(
        "not a message: expected 8=FIX..., 9= with a length of at most {len_max}; found {start}"
    )
}
