//! What came, as a table and as JSON.

use super::Feed;
use super::books::MaybeBooks;
use super::sink::{Counting, End};
use crate::failure::Failure;
use crate::files;
use crate::table::{Align, Table};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use tickwire_feed::arbiter::LineCounters;
use tickwire_feed::handler::{Adapt, Engine, InputCounters, Source};
use tickwire_net::histogram::Summary;
use tickwire_net::multicast::{Receiver, ReceiverCounters};
use tickwire_net::process::resident_bytes;
use tickwire_net::reception::Reception;

/// What one line brought.
struct Line {
    source: Source,
    socket: ReceiverCounters,
    receive_buffer_bytes: usize,
    input: InputCounters,
    arbitrated: Option<LineCounters>,
    delay: Summary,
}

/// Everything that was counted.
pub struct Report<'r, E> {
    lines: Vec<Line>,
    handler: &'r Feed<E>,
    end: Option<End>,
    fresh_books: usize,
    books: usize,
    resident_bytes: [Option<u64>; 2],
}

impl<'r, E: Engine> Report<'r, E>
where
    MaybeBooks: Adapt<E::Message>,
{
    /// The counters as they are now; `resident_at_start` is the memory that was in use then.
    pub fn new(
        reception: &Reception,
        handler: &'r Feed<E>,
        sink: &Counting,
        resident_at_start: Option<u64>,
    ) -> Self {
        let recovery = handler.recovery();
        let is_fresh = |id: &_| recovery.book(*id).is_ok();
        Self {
            lines: reception
                .inputs()
                .map(|(source, socket)| line(source, socket, handler))
                .collect(),
            handler,
            end: sink.end(),
            fresh_books: recovery.instruments().filter(is_fresh).count(),
            books: recovery.instruments().count(),
            resident_bytes: [resident_at_start, resident_bytes()],
        }
    }

    /// Writes the table to standard output, and JSON to the file if one is named; JSON alone if that
    /// is standard output too.
    pub fn write(&self, json: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = json {
            let mut out = files::create(Some(path))?;
            writeln!(out, "{:#}", self.to_json())?;
            out.flush()?;
        }
        if json.is_none_or(|path| !files::is_standard(path)) {
            let mut out = files::create(None)?;
            self.write_table(&mut out)?;
            out.flush()?;
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        write!(out, "{}", self.lines_table())?;
        writeln!(out)?;
        let mut times = Table::new(&[
            ("time in us", Align::Left),
            ("count", Align::Right),
            ("mean", Align::Right),
            ("stdev", Align::Right),
            ("p50", Align::Right),
            ("p99", Align::Right),
            ("p99.9", Align::Right),
            ("max", Align::Right),
        ]);
        for line in &self.lines {
            times.row(time_cells(&format!("in the kernel, {}", line.source), &line.delay));
        }
        times.row(time_cells("decode a message", &Summary::from(self.handler.engine().times())));
        write!(out, "{times}")?;
        writeln!(out)?;
        self.write_totals(out)
    }

    fn lines_table(&self) -> Table {
        let names = [
            "received",
            "won",
            "duplicate",
            "instead",
            "late",
            "lost",
            "foreign",
            "disorder",
            "malformed",
            "dropped",
        ];
        let right = names.map(|name| (name, Align::Right));
        let mut table = Table::new(&[&[("line", Align::Left)][..], &right].concat());
        for line in &self.lines {
            let arbitrated = |count: fn(&LineCounters) -> u64| {
                line.arbitrated.as_ref().map_or("-".to_owned(), |line| count(line).to_string())
            };
            table.row(vec![
                line.source.to_string(),
                line.socket.packets.to_string(),
                arbitrated(|line| line.won),
                arbitrated(|line| line.duplicate),
                arbitrated(|line| line.substitute),
                arbitrated(|line| line.late),
                arbitrated(|line| line.lost),
                arbitrated(|line| line.foreign),
                arbitrated(|line| line.out_of_order),
                line.malformed().to_string(),
                line.socket.dropped_by_kernel.to_string(),
            ]);
        }
        table
    }

    fn write_totals(&self, out: &mut impl Write) -> Result<(), Failure> {
        let arbiter = self.handler.arbiter().counters();
        let counters = self.handler.counters();
        let (gaps, missing) = (arbiter.gaps, arbiter.gap_seq_nums);
        writeln!(
            out,
            "{} messages in {} packets; {missing} numbers missing in {gaps} gaps; {} packets not \
             decoded, {} of unknown templates",
            counters.messages.decoded,
            arbiter.delivered,
            counters.messages.undecodable,
            counters.messages.unknown_template,
        )?;
        let recovery = self.handler.recovery().counters();
        if self.books > 0 {
            writeln!(
                out,
                "{} of {} books fresh; {} updates; {} recoveries; {} snapshots equal, {} not",
                self.fresh_books,
                self.books,
                recovery.applied,
                recovery.recovered,
                recovery.verified,
                recovery.mismatches,
            )?;
            if let Some(hint) = mismatch_hint(recovery.mismatches) {
                writeln!(out, "{hint}")?;
            }
        }
        if let [Some(start), Some(end)] = self.resident_bytes {
            let kib = |bytes: u64| bytes >> 10;
            writeln!(out, "Memory: {} KiB at the start, {} KiB at the end", kib(start), kib(end))?;
        }
        if self.end.is_none() {
            writeln!(out, "Stopped by a signal.")?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let arbiter = self.handler.arbiter().counters();
        let counters = self.handler.counters();
        let recovery = self.handler.recovery().counters();
        let lines: Vec<Value> = self.lines.iter().map(Line::to_json).collect();
        let [at_start, at_end] = self.resident_bytes;
        json!({
            "messages": counters.messages.decoded,
            "packets": arbiter.delivered,
            "gaps": arbiter.gaps,
            "missing": arbiter.gap_seq_nums,
            "resets": arbiter.resets,
            "undecodable": counters.messages.undecodable,
            "unknown_template": counters.messages.unknown_template,
            "snapshots": counters.snapshots.decoded,
            "books": {
                "known": self.books,
                "fresh": self.fresh_books,
                "applied": recovery.applied,
                "recovered": recovery.recovered,
                "verified": recovery.verified,
                "mismatches": recovery.mismatches,
            },
            "decode_us": time_json(&Summary::from(self.handler.engine().times())),
            "resident_bytes": { "start": at_start, "end": at_end },
            "end": match self.end {
                Some(End::Done) => "done",
                Some(End::Idle) => "idle",
                Some(End::Messages) => "messages",
                None => "signal",
            },
            "lines": lines,
        })
    }
}

fn line<E: Engine>(source: Source, receiver: &Receiver, handler: &Feed<E>) -> Line
where
    MaybeBooks: Adapt<E::Message>,
{
    let counters = handler.counters();
    let (input, arbitrated) = match source {
        Source::Incremental(line) => {
            (counters.lines[line.index()], Some(handler.arbiter().line_counters(line)))
        }
        Source::Snapshot(line) => (counters.snapshot_lines[line.index()], None),
    };
    Line {
        source,
        socket: receiver.counters(),
        receive_buffer_bytes: receiver.receive_buffer_bytes(),
        input,
        arbitrated,
        delay: Summary::from(receiver.delays()),
    }
}

impl Line {
    /// Packets longer than the limit, of the socket or the arbiter.
    fn too_long(&self) -> u64 {
        self.socket.too_long + self.arbitrated.map_or(0, |line| line.too_long)
    }

    /// Packets that are not as the framing says.
    fn malformed(&self) -> u64 {
        self.input.malformed + self.input.no_seq_num + self.too_long()
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "line": self.source.to_string(),
            "received": self.socket.packets,
            "bytes": self.socket.bytes,
            "batches": self.socket.batches,
            "dropped_by_kernel": self.socket.dropped_by_kernel,
            "too_long": self.too_long(),
            "malformed": self.input.malformed,
            "no_seq_num": self.input.no_seq_num,
            "unnumbered": self.input.unnumbered,
            "old_numbering": self.input.old_numbering,
            "receive_buffer_bytes": self.receive_buffer_bytes,
            "delay_us": time_json(&self.delay),
        });
        if let (Some(line), Value::Object(members)) = (&self.arbitrated, &mut value) {
            let counts = [
                ("won", line.won),
                ("duplicate", line.duplicate),
                ("substitute", line.substitute),
                ("late", line.late),
                ("lost", line.lost),
                ("foreign", line.foreign),
                ("out_of_order", line.out_of_order),
            ];
            members.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        }
        value
    }
}

fn time_cells(name: &str, summary: &Summary) -> Vec<String> {
    let micros = |ns: f64| format!("{:.2}", ns / 1e3);
    vec![
        name.to_owned(),
        summary.count.to_string(),
        micros(summary.mean_ns),
        micros(summary.stdev_ns),
        micros(summary.p50_ns as f64),
        micros(summary.p99_ns as f64),
        micros(summary.p999_ns as f64),
        micros(summary.max_ns as f64),
    ]
}

fn time_json(summary: &Summary) -> Value {
    json!({
        "count": summary.count,
        "mean": summary.mean_ns / 1e3,
        "stdev": summary.stdev_ns / 1e3,
        "p50": summary.p50_ns as f64 / 1e3,
        "p99": summary.p99_ns as f64 / 1e3,
        "p99.9": summary.p999_ns as f64 / 1e3,
        "max": summary.max_ns as f64 / 1e3,
    })
}

/// What to look at where snapshots showed books to be wrong.
fn mismatch_hint(mismatches: u64) -> Option<&'static str> {
    (mismatches > 0).then_some(
        "Snapshots differ from books: is --depth that of the feed's own books, and --books the way \
         in which it names levels?",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_that_differ_lead_to_the_options_of_books() {
        assert_eq!(mismatch_hint(0), None);
        assert!(mismatch_hint(3).is_some_and(|hint| hint.contains("--depth")));
    }
}
