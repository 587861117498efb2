//! One JSON object per message.

use crate::json::{Members, Plan, push_hex, push_string, push_unsigned};
use crate::{Fields, Header, MessageWriter};
use std::fmt::Display;
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
    plan: Option<(Arc<Program>, Plan)>,
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
        let mut members = Members::begin(&mut self.line);
        push_header(&mut members, header);
        match message.template_id() {
            Some(id) => push_unsigned(members.member("t"), u64::from(id.0)),
            None => members.member("t").extend_from_slice(b"null"),
        }
        push_string(members.member("n"), message.template_name());
        let plan = match &mut self.plan {
            Some((program, plan)) if Arc::ptr_eq(program, message.program()) => plan,
            plan => {
                let program = message.program();
                &mut plan.insert((program.clone(), Plan::of(program, &self.fields))).1
            }
        };
        plan.push(members.member("msg"), message.root());
        members.end();
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn push_header(members: &mut Members<'_>, header: &Header<'_>) {
    if let Some(channel) = header.channel {
        push_string(members.member("channel"), channel);
    }
    if let Some(packet) = header.packet {
        push_unsigned(members.member("pkt"), packet);
    }
    if let Some(preamble) = header.preamble {
        let out = members.member("pre");
        out.push(b'"');
        push_hex(out, preamble);
        out.push(b'"');
    }
    if let Some(offset) = header.offset {
        push_unsigned(members.member("off"), offset);
    }
    if let Some(len) = header.len {
        push_unsigned(members.member("len"), len as u64);
    }
    if let Some(time) = header.time_ns {
        push_unsigned(members.member("time"), time);
    }
    if let Some(source) = header.source {
        push_displayed(members.member("source"), source);
    }
    if let Some(destination) = header.destination {
        push_displayed(members.member("destination"), destination);
    }
    if let Some(line) = header.line {
        push_string(members.member("line"), line);
    }
}

fn push_displayed(out: &mut Vec<u8>, value: impl Display) {
    out.push(b'"');
    // Writing to a vector does not fail, and addresses need no escaping.
    let _ = write!(out, "{value}");
    out.push(b'"');
}
