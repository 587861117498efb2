//! One JSON object per message.

use crate::json::{JsonPlan, push_hex, push_string, push_unsigned};
use crate::{Fields, Header, MessageWriter};
use std::io::{self, Write};
use std::sync::Arc;
use tickwire_fast::{Message, Program};

/// Writes `{"channel": .., "pkt": .., "pre": .., "off": .., "len": .., "time": .., "source": ..,
/// "destination": .., "line": .., "t": .., "n": .., "msg": {..}}` lines.
///
/// Members that the header does not have are omitted. `t` is the template's id, or `null` if it has
/// none; `n` is its name.
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
    fields: Fields,
    /// Layout for the program of the last message.
    plan: Option<(Arc<Program>, JsonPlan)>,
}

impl<W: Write> JsonLines<W> {
    /// Creates a writer to `out`, which should be buffered: each line is one write.
    pub const fn new(out: W) -> Self {
        Self::with_fields(out, Fields::all())
    }

    /// Creates a writer to `out` that writes only these fields.
    pub const fn with_fields(out: W, fields: Fields) -> Self {
        Self { out, line: Vec::new(), fields, plan: None }
    }
}

impl<W: Write> MessageWriter for JsonLines<W> {
    fn write_message(&mut self, header: &Header<'_>, message: &Message) -> io::Result<()> {
        self.line.clear();
        push_header(&mut self.line, header);
        let plan = match &mut self.plan {
            Some((program, plan)) if Arc::ptr_eq(program, message.program()) => plan,
            plan => {
                let program = message.program();
                &mut plan.insert((program.clone(), JsonPlan::of(program, &self.fields))).1
            }
        };
        plan.push_message(&mut self.line, message);
        self.line.extend_from_slice(b"}\n");
        self.out.write_all(&self.line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Appends the beginning of an object, up to the members of the message.
fn push_header(out: &mut Vec<u8>, header: &Header<'_>) {
    out.push(b'{');
    if let Some(channel) = header.channel {
        out.extend_from_slice(b"\"channel\": ");
        push_string(out, channel);
        out.extend_from_slice(b", ");
    }
    if let Some(packet) = header.packet {
        out.extend_from_slice(b"\"pkt\": ");
        push_unsigned(out, packet);
        out.extend_from_slice(b", ");
    }
    if let Some(preamble) = header.preamble {
        out.extend_from_slice(b"\"pre\": \"");
        push_hex(out, preamble);
        out.extend_from_slice(b"\", ");
    }
    if let Some(offset) = header.offset {
        out.extend_from_slice(b"\"off\": ");
        push_unsigned(out, offset);
        out.extend_from_slice(b", ");
    }
    if let Some(len) = header.len {
        out.extend_from_slice(b"\"len\": ");
        push_unsigned(out, len as u64);
        out.extend_from_slice(b", ");
    }
    if let Some(time) = header.time_ns {
        out.extend_from_slice(b"\"time\": ");
        push_unsigned(out, time);
        out.extend_from_slice(b", ");
    }
    // Writing to a vector does not fail, and addresses need no escaping.
    if let Some(source) = header.source {
        let _ = write!(out, "\"source\": \"{source}\", ");
    }
    if let Some(destination) = header.destination {
        let _ = write!(out, "\"destination\": \"{destination}\", ");
    }
    if let Some(line) = header.line {
        out.extend_from_slice(b"\"line\": ");
        push_string(out, line);
        out.extend_from_slice(b", ");
    }
}
