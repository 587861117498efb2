//! One JSON object a message.

use super::{Output, Place};
use crate::json::{Form, push_hex, push_record, push_string, push_unsigned};
use std::io::{self, Write};
use std::time::Duration;
use tickwire_fast::Message;

/// Writes `{"pkt": .., "pre": .., "off": .., "len": .., "t": .., "n": .., "msg": {..}}` lines.
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    /// Creates an output that writes to `out`, which should gather what it is given.
    pub fn new(out: W) -> Self {
        Self { out, line: Vec::new() }
    }
}

impl<W: Write> Output for JsonLines<W> {
    fn message(&mut self, place: &Place<'_>, message: &Message) -> io::Result<()> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"pkt\": ");
        push_unsigned(line, place.packet);
        line.extend_from_slice(b", \"pre\": \"");
        push_hex(line, place.preamble);
        line.extend_from_slice(b"\", \"off\": ");
        push_unsigned(line, place.offset);
        line.extend_from_slice(b", \"len\": ");
        push_unsigned(line, place.len as u64);
        line.extend_from_slice(b", \"t\": ");
        match message.template_id() {
            Some(id) => push_unsigned(line, u64::from(id.0)),
            None => line.extend_from_slice(b"null"),
        }
        line.extend_from_slice(b", \"n\": ");
        push_string(line, message.template_name());
        line.extend_from_slice(b", \"msg\": ");
        push_record(line, message.root(), Form::Named);
        line.extend_from_slice(b"}\n");
        self.out.write_all(line)
    }

    fn finish(&mut self, _time: Option<Duration>) -> io::Result<()> {
        self.out.flush()
    }
}
