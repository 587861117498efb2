//! Observations of the attacked side: used sequence numbers, messages on the wire, delivered
//! messages.

use std::collections::BTreeMap;
use tickwire_fix::{FixFramer, FramerStep, Reader, Tag};

/// Observations of one side.
#[derive(Default)]
pub struct Watch {
    /// Numbers of the application's messages by MsgSeqNum, since the last reset.
    pub sent: BTreeMap<u64, u64>,
    /// Messages that a reset discarded.
    pub given_up: Vec<u64>,
    /// Numbers of all delivered messages.
    delivered: Vec<u64>,
    /// MsgSeqNum of the last message delivered and the next one expected, since the last reset.
    last_delivered: u64,
    expected: u64,
    /// Bytes on the wire that are not a complete message yet.
    wire: Vec<u8>,
    /// MsgSeqNum of the last new message on this connection.
    last_new: u64,
    /// Application messages on the wire by MsgSeqNum, since the last reset.
    seen: BTreeMap<u64, u64>,
    /// True if its last Logon on this connection announces a reset.
    pub awaits_reset: bool,
}

impl Watch {
    pub fn connected(&mut self) {
        self.wire.clear();
        self.last_new = 0;
        self.awaits_reset = false;
    }

    pub fn note_sent(&mut self, seq_num: u64, number: u64) {
        if self.sent.keys().next_back().is_some_and(|last| *last >= seq_num) {
            // The event of the reset has not arrived yet.
            self.note_reset();
        }
        self.sent.insert(seq_num, number);
    }

    pub fn note_reset(&mut self) {
        self.given_up.extend(std::mem::take(&mut self.sent).into_values());
        self.seen.clear();
        (self.last_delivered, self.expected) = (0, 0);
    }

    pub fn note_expected(&mut self, seq_num: u64) {
        assert!(seq_num >= self.expected, "{seq_num} is expected after {}", self.expected);
        self.expected = seq_num;
    }

    pub fn note_delivered(&mut self, seq_num: u64, number: Option<u64>) {
        assert!(seq_num > self.last_delivered, "{seq_num} after {}", self.last_delivered);
        self.last_delivered = seq_num;
        if let Some(number) = number {
            assert!(!self.delivered.contains(&number), "{number} twice");
            self.delivered.push(number);
        }
    }

    /// Examines the messages that the peer receives.
    pub fn note_bytes(&mut self, bytes: &[u8]) {
        self.wire.extend_from_slice(bytes);
        let wire = std::mem::take(&mut self.wire);
        let (mut framer, mut reader) = (FixFramer::default(), super::reader());
        let mut at = 0;
        while let FramerStep::Message(found) = framer.step(&wire[at..]) {
            at += found.len();
            self.note_message(&mut reader, found);
        }
        self.wire = wire[at..].to_vec();
    }

    fn note_message(&mut self, reader: &mut Reader, bytes: &[u8]) {
        let message = reader.decode(bytes).expect("ours are right");
        let number = |tag| message.field(Tag(tag)).and_then(|field| field.uint().ok());
        let seq_num = number(34).expect("there");
        let is_again = message.field(Tag(43)).is_some();
        let is_reset = message.field(Tag(141)).is_some();
        if !is_again {
            assert!(is_reset || seq_num > self.last_new, "{seq_num} after {}", self.last_new);
            self.last_new = seq_num;
        }
        if is_reset {
            self.seen.clear();
        }
        if message.msg_type() == b"A" {
            self.awaits_reset = is_reset;
        }
        match message.msg_type() {
            b"U1" => {
                super::super::content::check_body(&message, number(148).expect("there"));
                let before = self.seen.insert(seq_num, number(148).expect("there"));
                assert!(before.is_none_or(|before| Some(before) == number(148)), "{seq_num} twice");
                assert!(before.is_none() || is_again, "{seq_num} again without PossDupFlag");
            }
            b"4" if message.field(Tag(123)).is_some() => {
                let filled = seq_num..number(36).expect("there");
                let lost = self.seen.range(filled).next();
                assert!(lost.is_none(), "{lost:?} filled over");
            }
            _ => {}
        }
    }
}
