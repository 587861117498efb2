//! Tables of the input's messages by template and by destination.

use crate::table::{Align, TextTable};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tickwire_fast::{FieldValue, Message, Program, Record};
use tickwire_text::Header;

/// Most destinations that are counted separately; all further ones are counted in one row.
const DESTINATIONS_MAX: usize = 1024;

/// Counts messages by template, and by destination if there are several. Prints tables at the end.
pub struct TemplateSummary<W> {
    out: W,
    program: Arc<Program>,
    counts: Vec<TemplateCount>,
    by_destination: BTreeMap<Option<SocketAddr>, DestinationCount>,
    /// The destination of the last packet, and the counters of the latest consecutive packets to it,
    /// which `by_destination` does not include yet.
    current: (Option<SocketAddr>, DestinationCount),
}

/// Counters of one destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DestinationCount {
    packets: u64,
    messages: u64,
    bytes: u64,
}

/// Counters of one template.
#[derive(Clone, Copy, Debug, Default)]
struct TemplateCount {
    messages: u64,
    entries: u64,
    bytes: u64,
    len_min: usize,
    len_max: usize,
}

impl TemplateCount {
    fn add(&mut self, entries: u64, len: usize) {
        self.len_min = if self.messages == 0 { len } else { self.len_min.min(len) };
        self.len_max = self.len_max.max(len);
        self.messages += 1;
        self.entries += entries;
        self.bytes += len as u64;
    }

    fn total(counts: &[Self]) -> Self {
        let seen = counts.iter().filter(|count| count.messages > 0);
        seen.fold(Self::default(), |total, count| Self {
            messages: total.messages + count.messages,
            entries: total.entries + count.entries,
            bytes: total.bytes + count.bytes,
            len_min: if total.messages == 0 {
                count.len_min
            } else {
                total.len_min.min(count.len_min)
            },
            len_max: total.len_max.max(count.len_max),
        })
    }
}

impl<W: Write> TemplateSummary<W> {
    /// Creates a summary of messages of `program`.
    pub fn new(out: W, program: Arc<Program>) -> Self {
        let counts = vec![TemplateCount::default(); program.templates().len()];
        let current = (None, DestinationCount::default());
        Self { out, program, counts, by_destination: BTreeMap::new(), current }
    }

    /// Counts a packet.
    pub fn count_packet(&mut self, destination: Option<SocketAddr>) {
        self.received(destination).packets += 1;
    }

    /// Counts a message.
    pub fn count(&mut self, message: &Message, header: &Header<'_>) {
        let len = header.len.unwrap_or_default();
        let entries = entries_of(message.root());
        self.counts[message.template_index()].add(entries, len);
        let received = self.received(header.destination);
        received.messages += 1;
        received.bytes += len as u64;
    }

    fn received(&mut self, destination: Option<SocketAddr>) -> &mut DestinationCount {
        if self.current.0 != destination {
            self.add_current();
            self.current.0 = destination;
        }
        &mut self.current.1
    }

    /// Adds the counters of the last destination to those of its earlier packets.
    fn add_current(&mut self) {
        let (destination, received) = (self.current.0, std::mem::take(&mut self.current.1));
        if received == DestinationCount::default() {
            return;
        }
        let is_full = self.by_destination.len() >= DESTINATIONS_MAX;
        let is_known = self.by_destination.contains_key(&destination);
        let counted_as = if is_full && !is_known { None } else { destination };
        let total = self.by_destination.entry(counted_as).or_default();
        total.packets += received.packets;
        total.messages += received.messages;
        total.bytes += received.bytes;
    }

    /// Prints the tables, and the speed if `time` was measured.
    pub fn finish(&mut self, time: Option<Duration>) -> io::Result<()> {
        self.add_current();
        let mut table = TextTable::new(&[
            ("template", Align::Left),
            ("id", Align::Right),
            ("messages", Align::Right),
            ("entries", Align::Right),
            ("bytes", Align::Right),
            ("min", Align::Right),
            ("mean", Align::Right),
            ("max", Align::Right),
        ]);
        for (template, count) in self.program.templates().iter().zip(&self.counts) {
            if count.messages > 0 {
                let id = template.id.map(|id| id.to_string()).unwrap_or_default();
                table.row(count_cells(template.name.to_string(), id, count));
            }
        }
        table.rule();
        let total = TemplateCount::total(&self.counts);
        table.row(count_cells("total".to_owned(), String::new(), &total));
        self.out.write_all(table.to_string().as_bytes())?;
        if self.by_destination.len() > 1 {
            write!(self.out, "\n{}", self.destinations())?;
        }
        if let Some(time) = time.filter(|time| total.messages > 0 && !time.is_zero()) {
            writeln!(
                self.out,
                "decoded and counted in {:.1} ms: {:.0} ns/message, {:.0} MB/s",
                time.as_secs_f64() * 1e3,
                time.as_nanos() as f64 / total.messages as f64,
                total.bytes as f64 / time.as_secs_f64() / 1e6
            )?;
        }
        self.out.flush()
    }
}

impl<W> TemplateSummary<W> {
    fn destinations(&self) -> TextTable {
        let columns = ["packets", "messages", "bytes"].map(|name| (name, Align::Right));
        let mut table = TextTable::new(&[&[("destination", Align::Left)][..], &columns].concat());
        for (destination, received) in &self.by_destination {
            let name = destination.map_or("others".to_owned(), |address| address.to_string());
            let DestinationCount { packets, messages, bytes } = *received;
            let counts = [packets, messages, bytes].map(|count| count.to_string());
            table.row([name].into_iter().chain(counts).collect());
        }
        table
    }
}

fn count_cells(name: String, id: String, count: &TemplateCount) -> Vec<String> {
    let mean = count.bytes as f64 / count.messages.max(1) as f64;
    vec![
        name,
        id,
        count.messages.to_string(),
        count.entries.to_string(),
        count.bytes.to_string(),
        count.len_min.to_string(),
        format!("{mean:.1}"),
        count.len_max.to_string(),
    ]
}

/// Number of entries of all sequences of a record, including those inside entries.
pub fn entries_of(record: Record<'_>) -> u64 {
    let of_value = |value| match value {
        FieldValue::Group(inner) | FieldValue::Dynamic(_, inner) => entries_of(inner),
        FieldValue::Sequence(entries) => {
            let inside = match entries.entry(0) {
                Some(entry) if has_inner(entry) => entries.iter().map(entries_of).sum(),
                _ => 0,
            };
            entries.len() as u64 + inside
        }
        _ => 0,
    };
    let layouts = record.layouts().iter().enumerate();
    let inner = layouts.filter(|(_, field)| field.field_type.is_none());
    inner.map(|(index, _)| of_value(record.value(index))).sum()
}

/// True if a record has fields that are not scalar.
fn has_inner(record: Record<'_>) -> bool {
    record.layouts().iter().any(|field| field.field_type.is_none())
}
