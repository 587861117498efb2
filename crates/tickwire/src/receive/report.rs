//! What came, as a table and as JSON.

use super::Feed;
use super::sink::End;
use crate::failure::Failure;
use crate::files;
use crate::options::{recorded_json, recorded_text};
use crate::table::{Align, Table};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use tickwire_feed::arbiter::LineCounters;
use tickwire_feed::capture::{CaptureDriver, OtherPackets};
use tickwire_feed::handler::{Engine, InputCounters, Source};
use tickwire_feed::market::{Adapt, BookAdapter};
use tickwire_net::histogram::Summary;
use tickwire_net::multicast::{Receiver, ReceiverCounters};
use tickwire_net::process::resident_bytes;
use tickwire_net::record::RecordCounters;

/// Destinations without a line that the table names.
const OTHERS_SHOWN_MAX: usize = 20;

/// Where packets came from.
pub enum Inputs<'r> {
    /// Sockets.
    Sockets {
        /// The lines with their sockets.
        lines: Vec<(Source, &'r Receiver)>,
        /// Times that decoding took.
        decoding: &'r Histogram<u64>,
        /// One message and one packet in this many were measured.
        measure_every: u32,
    },
    /// Captures.
    Captures(&'r CaptureDriver),
}

/// What a socket says.
struct Socket {
    counters: ReceiverCounters,
    receive_buffer_bytes: usize,
    delay: Summary,
}

/// What one line brought.
struct Line {
    source: Source,
    packets: u64,
    bytes: u64,
    /// Packets that the capture cut short.
    truncated: u64,
    socket: Option<Socket>,
    input: InputCounters,
    arbitrated: Option<LineCounters>,
}

/// Everything that was counted.
pub struct Report<'r, E> {
    lines: Vec<Line>,
    handler: &'r Feed<E>,
    others: Option<&'r OtherPackets>,
    decoding: Option<Summary>,
    /// One message and one packet in this many were measured.
    measure_every: u32,
    end: Option<End>,
    fresh_books: usize,
    books: usize,
    resident_bytes: [Option<u64>; 2],
    recording: Option<RecordCounters>,
}

impl<'r, E: Engine> Report<'r, E>
where
    BookAdapter: Adapt<E::Message>,
{
    /// The counters as they are now; `resident_at_start` is the memory that was in use then.
    pub fn new(
        inputs: Inputs<'r>,
        handler: &'r Feed<E>,
        end: Option<End>,
        resident_at_start: Option<u64>,
    ) -> Self {
        let recovery = handler.recovery();
        let (lines, others, decoding) = match inputs {
            Inputs::Sockets { lines, decoding, measure_every } => {
                let line = |(source, socket)| Line::of_socket(source, socket, handler);
                let lines = lines.into_iter().map(line).collect();
                (lines, None, Some((Summary::from(decoding), measure_every)))
            }
            Inputs::Captures(driver) => {
                let lines = driver.counters().map(|(source, counters)| Line {
                    packets: counters.packets,
                    bytes: counters.bytes,
                    truncated: counters.truncated,
                    ..Line::new(source, handler)
                });
                (lines.collect(), Some(driver.others()), None)
            }
        };
        Self {
            lines,
            handler,
            others,
            measure_every: decoding.map_or(0, |(_, every)| every),
            decoding: decoding.map(|(decoding, _)| decoding),
            end,
            fresh_books: recovery.states().0,
            books: recovery.instruments().len(),
            resident_bytes: [resident_at_start, resident_bytes()],
            recording: None,
        }
    }

    /// Adds what was recorded.
    pub fn set_recording(&mut self, recording: Option<RecordCounters>) {
        self.recording = recording;
    }

    /// Whether packets were not decoded or not recorded, or snapshots showed books to be wrong.
    pub fn is_flawed(&self) -> bool {
        let truncated = self.lines.iter().any(|line| line.truncated > 0);
        let unrecorded = self.recording.map_or(0, |recording| recording.unrecorded);
        self.not_decoded() + unrecorded > 0
            || truncated
            || self.handler.recovery().counters().mismatches > 0
    }

    /// Packets of all feeds that were not decoded. One that another line's copy took the place of
    /// is not among them.
    fn not_decoded(&self) -> u64 {
        let counters = self.handler.counters();
        let replacements = self.lines.iter().filter_map(|line| line.arbitrated.as_ref());
        let replacements: u64 = replacements.map(|line| line.replacement).sum();
        let malformed: u64 = self.lines.iter().map(Line::malformed).sum();
        counters.messages.undecodable.saturating_sub(replacements)
            + counters.snapshots.undecodable
            + malformed
    }

    /// Writes the table to standard output unless it is to be left out, and JSON to the file if one
    /// is named; JSON alone if that is standard output too.
    /// With `to_stderr` the table goes to standard error.
    pub fn write(
        &self,
        json: Option<&Path>,
        is_quiet: bool,
        to_stderr: bool,
    ) -> Result<(), Failure> {
        if let Some(path) = json {
            let mut out = files::create(Some(path))?;
            writeln!(out, "{:#}", self.to_json())?;
            out.flush()?;
        }
        if !is_quiet && json.is_none_or(|path| !files::is_standard(path)) {
            let mut text = Vec::new();
            self.write_table(&mut text)?;
            if to_stderr {
                io::stderr().lock().write_all(&text)?;
            } else {
                let mut out = files::create(None)?;
                out.write_all(&text)?;
                out.flush()?;
            }
        }
        Ok(())
    }

    fn write_table(&self, out: &mut impl Write) -> Result<(), Failure> {
        write!(out, "{}", self.lines_table())?;
        writeln!(out)?;
        if self.decoding.is_some() {
            write!(out, "{}", self.times_table())?;
            if self.measure_every > 1 {
                let every = self.measure_every;
                writeln!(out, "Times are those of one packet and one message in {every}.")?;
            }
            writeln!(out)?;
        }
        self.write_totals(out)
    }

    fn times_table(&self) -> Table {
        let names = ["count", "mean", "stdev", "p50", "p99", "p99.9", "max"];
        let right = names.map(|name| (name, Align::Right));
        let mut times = Table::new(&[&[("time in us", Align::Left)][..], &right].concat());
        for line in &self.lines {
            if let Some(socket) = &line.socket {
                times.row(time_cells(&format!("in the kernel, {}", line.source), &socket.delay));
            }
        }
        if let Some(decoding) = &self.decoding {
            times.row(time_cells("decode a message", decoding));
        }
        times
    }

    fn lines_table(&self) -> Table {
        let names = [
            "received",
            "first",
            "duplicate",
            "replaced",
            "late",
            "lost",
            "unexpected",
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
                line.packets.to_string(),
                arbitrated(|line| line.first),
                arbitrated(|line| line.duplicate),
                arbitrated(|line| line.replacement),
                arbitrated(|line| line.late),
                arbitrated(|line| line.lost),
                arbitrated(|line| line.unexpected),
                arbitrated(|line| line.out_of_order),
                line.malformed().to_string(),
                line.dropped().to_string(),
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
        if let Some(recording) = &self.recording {
            writeln!(out, "{}", recorded_text(recording))?;
        }
        if let [Some(start), Some(end)] = self.resident_bytes {
            let kib = |bytes: u64| bytes >> 10;
            writeln!(out, "Memory: {} KiB at the start, {} KiB at the end", kib(start), kib(end))?;
        }
        for line in self.lines.iter().filter(|line| line.truncated > 0) {
            let (source, truncated) = (line.source, line.truncated);
            writeln!(
                out,
                "{source}: the capture cut {truncated} packets short; they are not decoded"
            )?;
        }
        if let Some(others) = self.others {
            write_others(others, out)?;
        }
        if self.is_nothing_decoded() {
            writeln!(
                out,
                "Nothing was decoded: is --framing that of the feed, and are the templates its own?"
            )?;
        }
        if self.end.is_none() {
            writeln!(out, "Stopped by a signal.")?;
        }
        Ok(())
    }

    /// Whether packets came and each of them was malformed or could not be decoded.
    fn is_nothing_decoded(&self) -> bool {
        let counters = self.handler.counters();
        let decoded = counters.messages.decoded + counters.snapshots.decoded;
        let received: u64 = self.lines.iter().map(|line| line.packets).sum();
        received > 0 && decoded == 0 && self.not_decoded() > 0
    }

    fn to_json(&self) -> Value {
        let arbiter = self.handler.arbiter().counters();
        let counters = self.handler.counters();
        let recovery = self.handler.recovery().counters();
        let lines: Vec<Value> = self.lines.iter().map(Line::to_json).collect();
        let [at_start, at_end] = self.resident_bytes;
        let mut value = json!({
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
            "resident_bytes": { "start": at_start, "end": at_end },
            "end": match self.end {
                Some(End::Done) => "done",
                Some(End::Idle) => "idle",
                Some(End::Messages) => "messages",
                Some(End::Captures) => "captures",
                None => "signal",
            },
            "lines": lines,
        });
        if let Some(decoding) = &self.decoding {
            value["decode_us"] = time_json(decoding);
            value["measure_every"] = self.measure_every.into();
        }
        if let Some(recording) = &self.recording {
            value["recording"] = recorded_json(recording);
        }
        if let Some(others) = self.others {
            value["others"] = others_json(others);
        }
        value
    }
}

impl Line {
    /// What the handler counted of a line.
    fn new<E: Engine>(source: Source, handler: &Feed<E>) -> Self
    where
        BookAdapter: Adapt<E::Message>,
    {
        let counters = handler.counters();
        let (input, arbitrated) = match source {
            Source::Incremental(line) => {
                (counters.lines[line.index()], Some(handler.arbiter().line_counters(line)))
            }
            Source::Snapshot(line) => (counters.snapshot_lines[line.index()], None),
        };
        Self { source, packets: 0, bytes: 0, truncated: 0, socket: None, input, arbitrated }
    }

    fn of_socket<E: Engine>(source: Source, receiver: &Receiver, handler: &Feed<E>) -> Self
    where
        BookAdapter: Adapt<E::Message>,
    {
        let counters = receiver.counters();
        let socket = Socket {
            counters,
            receive_buffer_bytes: receiver.receive_buffer_bytes(),
            delay: Summary::from(receiver.delays()),
        };
        let (packets, bytes) = (counters.packets, counters.bytes);
        Self { packets, bytes, socket: Some(socket), ..Self::new(source, handler) }
    }

    fn dropped(&self) -> u64 {
        self.socket.as_ref().map_or(0, |socket| socket.counters.dropped_by_kernel)
    }

    /// Packets longer than the limit, of the socket or the arbiter.
    fn too_long(&self) -> u64 {
        let of_socket = self.socket.as_ref().map_or(0, |socket| socket.counters.too_long);
        of_socket + self.arbitrated.map_or(0, |line| line.too_long)
    }

    /// Packets that are not as the framing says.
    fn malformed(&self) -> u64 {
        self.input.malformed + self.input.no_seq_num + self.too_long()
    }

    fn to_json(&self) -> Value {
        let mut value = json!({
            "line": self.source.to_string(),
            "received": self.packets,
            "bytes": self.bytes,
            "too_long": self.too_long(),
            "malformed": self.input.malformed,
            "no_seq_num": self.input.no_seq_num,
            "unnumbered": self.input.unnumbered,

        });
        match &self.socket {
            Some(socket) => {
                value["batches"] = socket.counters.batches.into();
                value["dropped_by_kernel"] = socket.counters.dropped_by_kernel.into();
                value["receive_buffer_bytes"] = socket.receive_buffer_bytes.into();
                value["delay_us"] = time_json(&socket.delay);
            }
            None => value["truncated"] = self.truncated.into(),
        }
        if let (Some(line), Value::Object(members)) = (&self.arbitrated, &mut value) {
            let counts = [
                ("first", line.first),
                ("duplicate", line.duplicate),
                ("replacement", line.replacement),
                ("late", line.late),
                ("lost", line.lost),
                ("old_epoch", line.old_epoch),
                ("unexpected", line.unexpected),
                ("put_aside", line.put_aside),
                ("differing", line.differing),
                ("out_of_order", line.out_of_order),
            ];
            members.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
        }
        value
    }
}

/// Names the destinations without a line.
fn write_others(others: &OtherPackets, out: &mut impl Write) -> Result<(), Failure> {
    for (address, packets) in others.by_destination.iter().take(OTHERS_SHOWN_MAX) {
        writeln!(out, "{packets} packets to {address} belong to no configured line")?;
    }
    let rest: u64 = others.by_destination.values().skip(OTHERS_SHOWN_MAX).sum();
    let rest = rest + others.beyond;
    if rest > 0 {
        writeln!(out, "{rest} packets to other destinations belong to no configured line")?;
    }
    if others.without_destination > 0 {
        let packets = others.without_destination;
        writeln!(
            out,
            "{packets} packets without addresses belong to no line: name it with --capture-line"
        )?;
    }
    if others.pieces > 0 {
        writeln!(out, "{} TCP segments passed over", others.pieces)?;
    }
    Ok(())
}

fn others_json(others: &OtherPackets) -> Value {
    let destinations = others.by_destination.iter();
    let destinations: Vec<Value> = destinations
        .map(|(address, packets)| json!({ "destination": address, "packets": packets }))
        .collect();
    json!({
        "destinations": destinations,
        "beyond": others.beyond,
        "without_destination": others.without_destination,
        "tcp": others.pieces,
    })
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
        "Snapshots differ from books: is --books the way in which the feed names levels, and --depth, \
         if given, that of its books?",
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
